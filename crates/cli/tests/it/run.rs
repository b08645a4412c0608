//! `posse run`: prompts in, answers, events and exit codes out.

use posse_protocol::{StopReason, Usage};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::posse::{Person, eventually, signal, text};

fn write_hello() -> Vec<Turn> {
    vec![
        Turn::call("write_file", json!({"path": "hello.txt", "content": "hello\n"})),
        Turn::text("I wrote it."),
    ]
}

#[test]
fn a_task_is_done_on_every_protocol() {
    for protocol in ["chat", "responses", "anthropic"] {
        let person = Person::new(write_hello());
        let endpoint = person.model.base_url();
        person.configure(&format!(
            "[models.fake]\nendpoint = \"{endpoint}\"\nprotocol = \"{protocol}\"\nmodel = \"fake-model\"\n"
        ));
        let ran = person.posse(&["run", "create a file hello.txt that says hello"]);
        assert_eq!(ran.code, Some(0), "{protocol}: {ran:#?}");
        assert_eq!(person.file("hello.txt"), "hello\n", "{protocol}");
        assert_eq!(ran.stdout, "I wrote it.\n", "{protocol}: standard output is the answer alone");
        ran.says("• write_file hello.txt (+1 -0)");
        ran.says("completed · 2 turns · 1 tool call · 220 tokens");
        ran.says("changed  1 file changed (+1 -0): hello.txt (+1 line, new file)");
        ran.says("model: fake");
    }
}

/// What a quiet run says beside an answer that took nothing but words.
const NOTHING_DONE: &str =
    "posse: measured: no commands run; no tests run; no commits; no sub-agents; no files changed\n";

#[test]
fn the_prompt_may_come_from_standard_input() {
    for args in [&["run", "-q"][..], &["run", "-q", "-"]] {
        let person = Person::new([Turn::text("ok")]);
        let ran = person.posse_with_stdin(args, b"what is this?\n");
        assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "ok\n", NOTHING_DONE));
        assert!(String::from_utf8_lossy(&person.model.requests()[0].body).contains("what is this?"));
    }
}

#[test]
fn what_is_piped_in_goes_with_the_prompt() {
    let person = Person::new([Turn::text("ok")]);
    let ran = person.posse_with_stdin(&["run", "-q", "explain this"], b"the diff\n");
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), NOTHING_DONE));
    let messages = person.model.requests()[0].json()["messages"].to_string();
    assert!(messages.contains("explain this\\n\\nthe diff"), "{messages}");

    // A pipe that stays open does not hang it.
    let person = Person::new([Turn::text("ok")]);
    let mut child =
        person.command(&["run", "explain this"]).stdin(std::process::Stdio::piped()).spawn().unwrap();
    let held_open = child.stdin.take();
    let ran = crate::posse::Ran::from(child.wait_with_output().unwrap());
    drop(held_open);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "ok\n"));
    ran.says("standard input did not end within a second");
}

#[test]
fn signals_work_while_nobody_reads() {
    let text = "words ".repeat(3000);
    let person =
        Person::new((0..40).map(|n| Turn::text(&text).and_call("grep", json!({"pattern": format!("{n}")}))));
    // The pipe is never read: it fills, and the program waits in a write.
    let mut child = person.spawn(&["run", "--json", "go"]);
    eventually("some turns were made", || person.model.calls() >= 4);
    signal(&child, "INT");
    std::thread::sleep(std::time::Duration::from_millis(300));
    if child.try_wait().unwrap().is_none() {
        signal(&child, "INT");
    }
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_limit_on_money_needs_a_price_and_a_recording_a_new_file() {
    let person = Person::new([]);
    let endpoint = person.model.base_url();
    person.configure(&format!(
        "[models.m]\nendpoint = \"{endpoint}\"\nmodel = \"m\"\n[limits]\nmax_cost_usd = 1.0\n"
    ));
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("the price of m is not known");

    let person = Person::new([]);
    let ran = person.posse(&["run", "--record", "main.py", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    assert_eq!(person.file("main.py"), "print('hi')\n");
}

#[test]
fn prompts_that_are_none() {
    let person = Person::new([]);
    person.posse_with_stdin(&["run"], b" \n").says("the prompt is empty");
    person.posse_with_stdin(&["run"], b"\xff\xfe").says("not UTF-8");
    person.posse_with_stdin(&["run"], &vec![b'x'; 5 << 20]).says("longer than");
    assert_eq!(person.posse(&["run", " "]).code, Some(2));
    assert_eq!(person.model.calls(), 0);
}

#[test]
fn json_is_every_event_in_order_and_nothing_else() {
    let person = Person::new(write_hello());
    let ran = person.posse(&["run", "--json", "go"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let events = ran.events();
    let types = events.iter().map(|e| e["type"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(
        types,
        [
            "session_started",
            "agent_started",
            "told",
            "turn_started",
            "replied",
            "tool_started",
            "changed",
            "tool_finished",
            "turn_started",
            "replied",
            "agent_settled"
        ]
    );
    for (index, event) in events.iter().enumerate() {
        assert_eq!(event["seq"], json!(index + 1));
        assert_eq!(event["parent"], json!(null));
        assert!(event["session"].is_string() && event["agent"].is_string());
    }
    let report = &events[10]["report"];
    assert_eq!(report["ending"], json!({"status": "completed"}));
    assert_eq!(report["text"], "I wrote it.");
    assert_eq!(report["receipt"]["usage"]["input_tokens"], 200);
    assert_eq!(report["receipt"]["cost_usd"], json!(0.00024));
    let file = json!({"path": "hello.txt", "created": true, "lines_added": 1, "lines_removed": 0});
    assert_eq!(report["receipt"]["files"], json!([file]));
}

#[test]
fn exit_codes_tell_how_it_ended() {
    let looking = |n: usize| Turn::call("list_files", json!({"depth": n % 5 + 1}));
    let cases = [
        ("completed", vec![Turn::text("done")], vec!["run", "go"], 0, "completed"),
        (
            "refused",
            vec![Turn::text("no").stop(StopReason::Refusal)],
            vec!["run", "go"],
            1,
            "the model refused",
        ),
        ("empty", vec![Turn::empty(), Turn::empty()], vec!["run", "go"], 1, "empty reply twice"),
        (
            "bad key",
            vec![Turn::status_body(401, json!({"error": {"message": "nope"}}))],
            vec!["run", "go"],
            1,
            "key",
        ),
        (
            "out of turns",
            vec![looking(1), looking(2), Turn::text("so far")],
            vec!["run", "--max-turns", "2", "go"],
            4,
            "out of turns",
        ),
        (
            "out of tokens",
            vec![looking(1), Turn::text("so far")],
            vec!["run", "--max-tokens", "100", "go"],
            4,
            "out of tokens",
        ),
        ("no such model", vec![], vec!["run", "-m", "nope", "go"], 2, "there is no model \"nope\""),
        ("no such flag", vec![], vec!["run", "--nope", "go"], 2, "--nope"),
        ("no such folder", vec![], vec!["run", "-C", "nowhere", "go"], 2, "cannot open the folder nowhere"),
        ("bad time", vec![], vec!["run", "--max-time", "soon", "go"], 2, "90s"),
    ];
    for (name, turns, args, code, says) in cases {
        let person = Person::new(turns);
        let ran = person.posse(&args);
        assert_eq!(ran.code, Some(code), "{name}: {ran:#?}");
        ran.says(says);
    }
}

#[test]
fn time_runs_out_in_the_middle_of_a_command() {
    let person =
        Person::new([Turn::call("shell", json!({"command": "sleep 60"})), Turn::text("I had to stop.")]);
    let ran = person.posse(&["run", "--max-time", "1s", "go"]);
    assert_eq!(ran.code, Some(4), "{ran:#?}");
    ran.says("out of time");
    assert_eq!(ran.stdout, "I had to stop.\n");
}

#[test]
fn no_model_is_a_short_block_at_once() {
    let person = Person::new([]);
    person.configure("");
    // Whatever runs on this machine must not be found: the usual ports are moved or refused by an empty network.
    let ran = crate::posse::Ran::from(
        std::process::Command::new("unshare")
            .args(["--net", "--map-root-user", "--user", env!("CARGO_BIN_EXE_posse"), "run", "go"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("POSSE_HOME", person.data_dir())
            .env("POSSE_CONFIG", person.config())
            .output()
            .unwrap(),
    );
    assert_eq!(ran.code, Some(3), "{ran:#?}");
    let config = person.config().display().to_string();
    let want = format!(
        "posse: no model found\n  \
         with a key       export ANTHROPIC_API_KEY=…  (or OPENAI_, DEEPSEEK_, OPENROUTER_)\n  \
         on this machine  ollama serve  (or llama.cpp, LM Studio, vLLM)\n  \
         your own         [models.NAME] in {config}\n  \
         just look        posse demo\n"
    );
    assert_eq!(ran.stderr, want);
}

#[test]
fn a_provider_is_found_by_its_key_and_a_moved_endpoint() {
    let person = Person::new([Turn::text("found")]);
    person.configure("");
    let mut command = person.command(&["run", "-q", "go"]);
    let ran =
        command.env("ANTHROPIC_API_KEY", "sk-test-123").env("ANTHROPIC_BASE_URL", person.model.base_url());
    let ran = crate::posse::Ran::from(ran.output().unwrap());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "found\n"), "{ran:#?}");
    let request = &person.model.requests()[0];
    assert_eq!(request.header("x-api-key"), Some("sk-test-123"));
    assert!(request.path.ends_with("/messages"));
}

#[test]
fn ctrl_c_stops_cleanly_and_twice_leaves_at_once() {
    // In the middle of a command: the command dies, the end is on record as cancelled.
    let person = Person::new([Turn::call("shell", json!({"command": "touch started; sleep 60"}))]);
    let child = person.spawn(&["run", "go"]);
    eventually("the command started", || person.project.path().join("started").exists());
    signal(&child, "INT");
    let ran = crate::posse::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:#?}");
    ran.says("stopping …");
    ran.says("stopped: what was done so far stays");
    person.posse(&["sessions", "list"]).says("stopped");

    // In the middle of a reply that never ends.
    let person = Person::new([Turn::text("one two three four").stall_after(2)]);
    let child = person.spawn(&["run", "go"]);
    eventually("the request came", || person.model.calls() == 1);
    signal(&child, "TERM");
    let ran = crate::posse::Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ran.code, Some(130), "{ran:#?}");
}

#[test]
fn record_then_replay_then_a_diff() {
    let person =
        Person::new([Turn::call("read_file", json!({"path": "main.py"})), Turn::text("It prints hi.")]);
    let tape = text(&person.data_dir().with_file_name("tape.jsonl"));
    let recorded = person.posse(&["run", "--record", &tape, "what does it print?"]);
    assert_eq!(recorded.code, Some(0), "{recorded:#?}");

    person.configure(&format!("[models.tape]\nprotocol = \"replay\"\ncassette = \"{tape}\"\n"));
    let replayed = person.posse(&["run", "what does it print?"]);
    assert_eq!((replayed.code, replayed.stdout.as_str()), (Some(0), "It prints hi.\n"), "{replayed:#?}");
    assert_eq!(person.model.calls(), 2, "the replay asked nobody");

    let other = person.posse(&["run", "what does it do?"]);
    assert_eq!(other.code, Some(1));
    other.says("-what does it print?");
    other.says("+what does it do?");
}

#[test]
fn usage_that_is_not_reported_is_not_zero() {
    let person = Person::new([Turn::text("done").no_usage()]);
    person.posse(&["run", "go"]).says("tokens not reported");
    let person = Person::new([Turn::text("done").usage(Usage {
        input_tokens: Some(1000),
        cached_tokens: Some(800),
        output_tokens: Some(5),
        ..Usage::default()
    })]);
    person.posse(&["run", "go"]).says("1,005 tokens (800 cached)");
}

#[test]
fn a_reader_that_goes_away_stops_the_agent() {
    let person = Person::new((0..50).map(|n| Turn::call("list_files", json!({"depth": n % 3 + 1}))));
    let mut child = person.spawn(&["run", "--json", "go"]);
    drop(child.stdout.take());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130), "stopped, not completed");
    assert!(person.model.calls() < 50, "it did not go on unseen");
}

#[test]
fn text_from_the_model_cannot_drive_the_terminal() {
    let person = Person::new([Turn::text("\u{1b}[2J\u{1b}]0;owned\u{7}done")]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.stdout, "\\u{1b}[2J\\u{1b}]0;owned\\u{7}done\n");
}

#[test]
fn project_notes_reach_the_model_and_the_closest_wins() {
    let project = posse_testkit::Fixture::new()
        .file("AGENTS.md", "top notes")
        .file("sub/CLAUDE.md", "sub notes")
        .file("sub/deep/x.txt", "")
        .git();
    let person = Person::with_project([Turn::text("ok"), Turn::text("ok")], project);
    person.posse(&["run", "-C", "sub/deep", "go"]);
    person.posse(&["run", "go"]);
    let bodies = person
        .model
        .requests()
        .iter()
        .map(|r| String::from_utf8_lossy(&r.body).into_owned())
        .collect::<Vec<_>>();
    assert!(bodies[0].contains("sub notes") && !bodies[0].contains("top notes"));
    assert!(bodies[1].contains("top notes") && !bodies[1].contains("sub notes"));
}

#[test]
fn two_models_need_a_choice() {
    let first = FakeModel::start_blocking();
    first.push(Turn::text("from the first"));
    let person = Person::new([]);
    let (a, b) = (first.base_url(), person.model.base_url());
    let models = format!(
        "[models.a]\nendpoint = \"{a}\"\nmodel = \"m\"\n[models.b]\nendpoint = \"{b}\"\nmodel = \"m\"\n"
    );
    person.configure(&models);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("several models are configured (a, b)");
    person.configure(&format!("model = \"a\"\n{models}"));
    assert_eq!(person.posse(&["run", "-q", "go"]).stdout, "from the first\n");
}
