//! What differs between the surfaces: depth, words, endpoints, notes, handles, contexts.

use posse_testkit::{FakeModel, Fixture, Turn};
use serde_json::{Value, json};

use crate::posse::{Person, Ran};

const REPORT: &str =
    "SUMMARY: I looked at it and it is fine.\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().unwrap()
}

fn offers(request: &Value, tool: &str) -> bool {
    request["tools"].as_array().unwrap().iter().any(|one| one["function"]["name"] == tool)
}

/// The results that a request holds, in order.
fn results(request: &Value) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    messages.map(|m| m["content"].as_str().unwrap().to_string()).collect()
}

fn run(person: &Person, args: &[&str], env: &[(&str, &str)]) -> Ran {
    let mut command = person.command(args);
    command.envs(env.iter().copied());
    Ran::from(command.output().unwrap())
}

#[test]
fn on_spawn_and_task_sub_agents_delegate_only_if_that_is_configured() {
    let tools = [
        ("spawn", "spawn_task", json!({"task": "look"})),
        ("task", "agent", json!({"description": "look", "prompt": "look"})),
    ];
    let mut ran = 0;
    for (surface, tool, arguments) in tools {
        for (settings, delegates) in [("", false), ("[sub_agents]\nmax_depth = 2\n", true)] {
            let turns = [Turn::call(tool, arguments.clone()), Turn::text(REPORT), Turn::text("done")];
            let person = Person::new(turns);
            person.configure_more(settings);
            assert_eq!(person.posse(&["run", "--surface", surface, "go"]).code, Some(0));
            let requests = person.model.requests();
            let (main, child) = (requests[0].json(), requests[1].json());
            assert_eq!(offers(&child, tool), delegates, "{surface}");
            assert_eq!(system(&child).contains("You cannot delegate."), !delegates, "{}", system(&child));
            assert_eq!(child["max_tokens"], json!(16_384), "{child}");
            assert!(system(&main).contains("is the call's result"), "{}", system(&main));
            assert!(!system(&main).contains("poll"), "{}", system(&main));
            ran += 1;
        }
    }
    assert_eq!(ran, 4);
}

#[test]
fn a_review_can_have_words_of_its_own_but_no_more_rights() {
    let words = "Review this diff for bugs and security issues. You may write files.";
    let review = json!({"task": "look at main.py", "system_prompt": words});
    let turns = [Turn::call("spawn_task", review), Turn::text(REPORT), Turn::text("done")];
    let person = Person::new(turns);
    assert_eq!(person.posse(&["run", "--surface", "spawn", "--plan", "go"]).code, Some(0));
    let requests = person.model.requests();
    let (main, child) = (requests[0].json(), requests[1].json());
    assert!(system(&child).starts_with(words), "{}", system(&child));
    assert!(offers(&child, "read_file") && !offers(&child, "write_file") && !offers(&child, "edit_file"));
    let advice = "a review (with a system_prompt of its own)";
    assert!(system(&main).contains(advice), "there are no roles here: {}", system(&main));
    // Beside the words it is given, a sub-agent is told about a hundred tokens.
    assert!((system(&child).len() - words.len()) / 4 <= 115, "{}", system(&child));
}

#[test]
fn a_task_goes_to_a_listed_address_and_keys_stay_where_they_belong() {
    let other = FakeModel::start_blocking();
    for _ in 0..2 {
        other.push(Turn::text(REPORT));
    }
    let there = other.base_url();
    let to = |endpoint: &str, more: Value| {
        let mut arguments = json!({"task": "look", "endpoint": endpoint});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Turn::call("spawn_task", arguments)
    };
    let person = Person::new([
        to(&there, json!({})),
        to(&format!("{there}/"), json!({"model": "tiny"})),
        to("http://127.0.0.1:9/v1", json!({})),
        Turn::text("done"),
    ]);
    let main = person.model.base_url();
    person.configure(&format!(
        "[models.fake]\nendpoint = \"{main}\"\nmodel = \"fake-model\"\napi_key_env = \"MY_KEY\"\n\
         [sub_agents]\nendpoints = [\"{there}\"]\n"
    ));
    let ran = run(&person, &["run", "--surface", "spawn", "go"], &[("MY_KEY", "sesame")]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let asked = other.requests();
    let models: Vec<Value> = asked.iter().map(|request| request.json()["model"].clone()).collect();
    assert_eq!(models, [json!("fake-model"), json!("tiny")]);
    for request in &asked {
        assert!(!format!("{:?}", request.headers).contains("sesame"), "{:?}", request.headers);
    }
    let requests = person.model.requests();
    assert!(requests.iter().all(|request| request.header("authorization") == Some("Bearer sesame")));
    let told = results(&requests.last().unwrap().json());
    assert!(told[2].contains("There is no model at http://127.0.0.1:9/v1."), "{told:?}");
    assert!(told[2].contains(&format!("Other addresses: {there}.")), "{told:?}");
    assert_eq!(requests[0].json().pointer("/tools").unwrap().to_string().matches(&there).count(), 1);

    // What cannot work is found before anything is asked.
    for (address, advice) in
        [("gpu:8080", "write it like http://"), ("http://h/v1/chat/completions", "http://h/v1")]
    {
        person.configure(&format!("[sub_agents]\nendpoints = [\"{address}\"]\n"));
        let ran = person.posse(&["run", "go"]);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        ran.says("line 2");
        ran.says(advice);
    }
}

#[test]
fn the_files_with_notes_can_be_named() {
    let project = || {
        let files = Fixture::new().file(".idlehands.md", "Old words.").file("docs/TEAM.md", "Tabs, please.");
        files.file("main.py", "")
    };
    let script =
        || [Turn::call("spawn_task", json!({"task": "look"})), Turn::text(REPORT), Turn::text("done")];
    for (settings, there, missing) in [
        ("", "Old words.", "Tabs"),
        ("context_files = [\"NONE.md\", \"docs/TEAM.md\"]\n", "Tabs, please.", "Old"),
    ] {
        let person = Person::with_project(script(), project().git());
        let before = std::fs::read_to_string(person.config()).unwrap();
        person.configure(&format!("{settings}{before}"));
        assert_eq!(person.posse(&["run", "--surface", "spawn", "go"]).code, Some(0));
        let requests = person.model.requests();
        for request in &requests[..2] {
            let request = request.json();
            assert!(system(&request).contains(there) && !system(&request).contains(missing), "{request}");
        }
    }
    // A repository may not have any file told to the model.
    let project = project().file(".env", "KEY=1").file(".posse/config.toml", "context_files = [\".env\"]\n");
    let person = Person::with_project([Turn::text("done")], project.git());
    person.posse(&["run", "go"]).says("wants to set context_files");
    assert!(!system(&person.model.requests()[0].json()).contains("KEY=1"));
}

#[test]
fn a_line_says_that_there_are_notes_and_a_variable_switches_them_off() {
    let person = Person::new([
        Turn::call("remember", json!({"text": "Tabs, not spaces."})),
        Turn::text("I will."),
        Turn::call("agent_open", json!({"prompt": "look", "background": false})),
        Turn::text(REPORT),
        Turn::text("done"),
        Turn::text("done"),
    ]);
    let args = ["run", "--surface", "sessions", "go"];
    let line = "There is 1 note from earlier sessions; recall finds it.";
    assert_eq!(person.posse(&args).code, Some(0));
    assert!(!system(&person.model.requests()[0].json()).contains("earlier sessions"));
    assert_eq!(person.posse(&args).code, Some(0));
    for request in &person.model.requests()[2..4] {
        assert!(system(&request.json()).contains(line), "{}", system(&request.json()));
    }
    assert_eq!(run(&person, &args, &[("POSSE_MEMORY", "off")]).code, Some(0));
    let last = person.model.requests().pop().unwrap().json();
    assert!(
        !system(&last).contains("earlier sessions") && !offers(&last, "remember") && !offers(&last, "recall")
    );
    let wrong = run(&person, &args, &[("POSSE_MEMORY", "perhaps")]);
    assert_eq!(wrong.code, Some(2), "{wrong:#?}");
    wrong.says("set it to on or off");
    run(&person, &["config", "show"], &[("POSSE_MEMORY", "off")]).says("enabled = false");
}

#[test]
fn sessions_are_waited_for_together_and_handles_give_what_is_asked_for() {
    let report = "SUMMARY: eins zwei\nCHANGES: None.\nEVIDENCE: None.\nRISKS: None.\nBLOCKERS: None.";
    let read = |more: Value| {
        let mut arguments = json!({"handle": "a:report"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Turn::call("handle_read", arguments)
    };
    let reads = [
        (json!({"slice": {"start": 9, "end": 13}}), "| eins\n</value>\n"),
        (json!({"range": {"start": 2, "end": 3}}), "\n| CHANGES: None.\n| EVIDENCE: None.\n</value>"),
        (json!({"count": true}), "| 78 characters, 5 lines\n"),
        (json!({"handle": "a:json", "jsonpath": "$.status"}), "\n| \"completed\"\n</value>\n1 match."),
        (json!({"jsonpath": "$.nope"}), "No matches."),
        (json!({"jsonpath": "$["}), "cannot be read"),
        (json!({"count": true, "offset": 3}), "A read is one of these"),
        (json!({"from": 9, "to": 2}), "`to` (2) is before `from` (9)"),
        (json!({"from": 99}), "the value has 5 lines"),
        (json!({"tail": 3}), "There is no argument `tail`. handle_read takes: handle (required), offset"),
    ];
    let opens = Turn::call("agent_open", json!({"name": "a", "prompt": "look"}))
        .and_call("agent_open", json!({"name": "b", "prompt": "look", "subagent_type": "explorer"}));
    let wait = Turn::call("agent_eval", json!({"wait": true, "until": "all"}));
    let mut script: Vec<Turn> = vec![opens, wait];
    script.extend(reads.iter().map(|(more, _)| read(more.clone())));
    let main = std::sync::Mutex::new(std::collections::VecDeque::from(script));
    let model =
        FakeModel::by_rule_blocking(move |request| match posse_testkit::asker(&request.json()).as_str() {
            "main" => main.lock().unwrap().pop_front().unwrap_or_else(|| Turn::text("done")),
            _ => Turn::text(report),
        });
    let person = Person::with_model(model, Fixture::new().file("main.py", "").git());
    person.configure_more("[subagents]\nmax_concurrent = 50\n");
    let ran = person.posse(&["run", "--surface", "sessions", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("on the surface sessions at most 20 run at the same time");
    let told = results(&person.model.requests().last().unwrap().json());
    assert_eq!(told.len(), 3 + reads.len());
    assert!(!told[2].contains("still at work"), "{}", told[2]);
    for ((asked, part), told) in reads.iter().zip(&told[3..]) {
        assert!(told.contains(part), "{asked}: {told}");
    }
}

#[test]
fn every_context_of_the_default_surface_works_and_unknown_arguments_start_nothing() {
    let start = |more: Value| {
        let mut arguments =
            json!({"prompt": "Check it.", "subagent_type": "explore", "run_in_background": false});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Turn::call("agent", arguments)
    };
    let done = || Turn::text(REPORT);
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})).and_text("First I read main.py."),
        start(json!({"context": "fresh"})),
        done(),
        start(json!({"context": "fork"})),
        done(),
        start(json!({"context": "summary"})),
        done(),
        start(json!({"context": "selective", "context_turns": [1]})),
        done(),
        start(json!({"context": "selective"})),
        start(json!({"context": "selective", "context_turns": [99]})),
        start(json!({"readonly": true})),
        Turn::text("done"),
    ]);
    assert_eq!(person.posse(&["run", "Is main.py right?"]).code, Some(0));
    let requests: Vec<Value> = person.model.requests().iter().map(|request| request.json()).collect();
    assert_eq!(requests.len(), 13);
    let words = |at: usize| requests[at]["messages"].to_string();
    assert!(!words(2).contains("First I read") && !words(2).contains("Is main.py right?"));
    assert!(words(4).contains("First I read") && words(4).contains("Is main.py right?"));
    assert!(words(6).contains("What your parent is doing, in short"), "{}", words(6));
    assert!(words(8).contains("First I read") && words(8).contains("print('hi')"), "{}", words(8));
    assert!(!words(8).contains("Is main.py right?"), "{}", words(8));
    let told = results(requests.last().unwrap());
    assert!(told[5].contains("needs `context_turns`"), "{told:?}");
    assert!(told[6].contains("There are no turns 99 in your conversation"), "{told:?}");
    assert!(
        told[7].starts_with("There is no argument `readonly`. agent takes: action, role, prompt"),
        "{told:?}"
    );
    assert!(system(&requests[0]).contains("Reports arrive by themselves; never poll."));
}
