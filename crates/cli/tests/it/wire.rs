//! What a person sees of servers and providers: errors in lines, retries, names of models, sizes; and that no request is one
//! that providers refuse.

use std::fs;
use std::net::TcpListener;

use posse_testkit::{Captured, FakeModel, Fixture, Turn};
use serde_json::{Value, json};

use crate::posse::{Person, Ran};

/// A configuration with one model at the fake server, under this name and with these settings.
fn configured(person: &Person, name: &str, more: &str) {
    let endpoint = person.model.base_url();
    person.configure(&format!("[models.{name}]\nendpoint = \"{endpoint}\"\n{more}"));
}

/// What is said at the end, without the port and without the line about the record.
fn ended(person: &Person, ran: &Ran) -> String {
    let host = person.model.base_url().replace("http://", "").replace("/v1", "");
    let text = ran.stderr.replace(&host, "HOST");
    let begin = text.find('✗').unwrap_or_else(|| panic!("{ran:#?}"));
    text[begin..]
        .lines()
        .take_while(|line| !line.starts_with("  go on"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn errors_say_what_happened_what_was_said_and_what_to_do() {
    let error = |status: u16, code: &str, message: &str| {
        Turn::status_body(status, json!({"error": {"message": message, "code": code}}))
    };
    let page = "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body><hr>nginx</body></html>";
    let cases = [
        (
            error(401, "invalid_api_key", "Incorrect API key provided: sk-very-secret-0123456789."),
            "✗ HOST refused the key (401)\n  it said  Incorrect API key provided: [secret].\n  \
             do       check BADKEY, which [models.m] uses\n",
        ),
        (
            error(429, "insufficient_quota", "You exceeded your current quota."),
            "✗ the account at HOST is out of credit (429)\n  it said  You exceeded your current quota.\n  \
             do       add credit to the account of BADKEY, or use another model (-m NAME)\n",
        ),
        (
            error(404, "model_not_found", "The model `m404` does not exist"),
            "✗ HOST has no model `m404`; it has fake-model\n  it said  The model `m404` does not exist\n  \
             do       set `model` in [models.m] to one of these\n",
        ),
        (
            Turn::status_text(501, page),
            "✗ HOST cannot answer now (501)\n  it said  502 Bad Gateway\n  \
             do       try again later, or use another model (-m NAME)\n",
        ),
    ];
    let person = Person::new([]);
    configured(&person, "m", "model = \"m404\"\napi_key_env = \"BADKEY\"\n");
    assert_eq!(cases.len(), 4);
    for (turn, want) in cases {
        person.model.push(turn);
        let mut command = person.command(&["run", "go"]);
        let ran = Ran::from(command.env("BADKEY", "sk-very-secret-0123456789").output().unwrap());
        assert_eq!((ran.code, ended(&person, &ran).as_str()), (Some(1), want), "{ran:#?}");
        assert!(!ran.stderr.contains("tokens not reported"), "{ran:#?}");
    }
    // Typed in the events, and the same lines without anything else.
    person.model.push(error(402, "", "pay"));
    let mut command = person.command(&["run", "--json", "go"]);
    let ran = Ran::from(command.env("BADKEY", "sk-very-secret-0123456789").output().unwrap());
    let failed = ran.events().into_iter().find(|event| event["type"] == "model_failed").unwrap();
    assert_eq!(
        (&failed["error"]["kind"], &failed["error"]["said"]),
        (&json!("out_of_credit"), &json!("pay"))
    );
    person.model.push(error(401, "", "no"));
    let mut command = person.command(&["run", "-q", "go"]);
    let ran = Ran::from(command.env("BADKEY", "sk-very-secret-0123456789").output().unwrap());
    let lines: Vec<&str> = ran.stderr.lines().collect();
    assert_eq!(lines[1..], ["  it said  no", "  do       check BADKEY, which [models.m] uses"], "{ran:#?}");
}

#[test]
fn a_server_that_is_not_there_is_told_at_once_and_in_one_line() {
    let person = Person::new([]);
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    person.configure(&format!("[models.down]\nendpoint = \"http://127.0.0.1:{port}/v1\"\nmodel = \"x\"\n"));
    let ran = person.posse(&["run", "go"]);
    let said: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("connection refused")).collect();
    let want = [
        format!("127.0.0.1:{port}: connection refused; trying again"),
        format!("✗ no connection to 127.0.0.1:{port}: connection refused, after 2 tries"),
    ];
    assert_eq!((ran.code, said), (Some(1), want.iter().map(String::as_str).collect()), "{ran:#?}");
    ran.says("  do       start the server, or fix `endpoint` in [models.down]\n");
    // Several tries are one line, too.
    let person = Person::new((0..3).map(|_| Turn::status(503).retry_after("0")).chain([Turn::text("done")]));
    let ran = person.posse(&["run", "go"]);
    assert_eq!((ran.code, ran.stderr.matches("trying again").count()), (Some(0), 1), "{ran:#?}");
    ran.says("cannot answer now (503); trying again");
}

#[test]
fn what_is_too_large_is_told_with_numbers() {
    let person = Person::new([]);
    configured(&person, "fake", "model = \"fake-model\"\ncontext_window = 32768\n");
    let text = "abc ".repeat(1_000_000);
    let ran = person.posse_with_stdin(&["run", "sum it up"], text.as_bytes());
    let want = "posse: the piped text is about 1,000,000 tokens, fake takes 32,768; cut it, or put it in a file and let the agent read it\n";
    assert_eq!((ran.code, ran.stderr.as_str(), person.model.calls()), (Some(1), want, 0));
    // Where the window is not known, the server says so.
    configured(&person, "fake", "model = \"fake-model\"\n");
    let error = json!({"error": {"message": "prompt is too long: 99999 tokens", "code": 400}});
    person.model.push(Turn::status_body(400, error));
    let ran = person.posse_with_stdin(&["run", "sum it up"], &text.as_bytes()[..400_000]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("the conversation is about 10");
    ran.says("000 tokens, more than the model's context; give it less text, or put it in a file");
}

#[test]
fn doctor_compares_the_name_and_takes_it_from_the_same_places() {
    let person = Person::new([]);
    let endpoint = person.model.base_url();
    let one = |name: &str, model: &str| {
        format!("[models.{name}]\nendpoint = \"{endpoint}\"\nmodel = \"{model}\"\n")
    };
    person.configure(&format!(
        "model = \"good\"\n{}{}",
        one("good", "fake-model"),
        one("m404", "fake-modle")
    ));
    let ran = person.posse(&["doctor"]);
    ran.says("✓ model      good, one agent at a time");
    assert!(ran.stdout.starts_with("✓ ready: good (127.0.0.1:"), "{ran:#?}");
    let named = person.posse(&["doctor", "-m", "m404"]);
    let by_variable = Ran::from(person.command(&["doctor"]).env("POSSE_MODEL", "m404").output().unwrap());
    for ran in [named, by_variable] {
        assert_eq!(ran.code, Some(1), "{ran:#?}");
        ran.says("✗ model      m404: 127.0.0.1:");
        ran.says(" has no model `fake-modle`; it has fake-model\n");
        ran.says("→ set `model` in [models.m404] to one of these");
        assert!(!ran.stdout.contains("ready: m404"), "{ran:#?}");
    }
    person.configure("[models.down]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"x\"\n");
    let ran = person.posse(&["doctor"]);
    ran.says("down: no connection to 127.0.0.1:9: connection refused\n");
    ran.says("→ start the server, or fix `endpoint` in [models.down]");
    let ran = person.posse(&["doctor", "-m", "nosuch"]);
    assert_eq!(ran.code, Some(1));
    ran.says("there is no model \"nosuch\"");
}

/// What providers refuse in a request, if anything: descriptions, names, ids, arguments.
fn refused(request: &Value) -> Option<String> {
    let fine = |word: &str| {
        (1..=64).contains(&word.len()) && word.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
    };
    for tool in request["tools"].as_array().into_iter().flatten() {
        let function = &tool["function"];
        let chars = function["description"].as_str().unwrap_or_default().chars().count();
        if chars > 1_024 || !fine(function["name"].as_str().unwrap_or_default()) {
            return Some(format!("{}: {chars} characters", function["name"]));
        }
    }
    for message in request["messages"].as_array().into_iter().flatten() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let (id, name) = (&call["id"], &call["function"]["name"]);
            let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
            let is_object = serde_json::from_str::<serde_json::Map<String, Value>>(arguments).is_ok();
            if !fine(id.as_str().unwrap_or_default())
                || !fine(name.as_str().unwrap_or_default())
                || !is_object
            {
                return Some(call.to_string());
            }
        }
    }
    None
}

/// A server as strict as the strictest, which plays this script.
fn strict(script: Vec<Turn>) -> FakeModel {
    let script = std::sync::Mutex::new(script.into_iter());
    FakeModel::by_rule_blocking(move |request: &Captured| match refused(&request.json()) {
        Some(why) => Turn::status_body(400, json!({"error": {"message": format!("invalid: {why}")}})),
        None => script.lock().unwrap().next().unwrap_or_else(|| Turn::text("done")),
    })
}

#[test]
fn made_up_calls_do_not_end_a_session() {
    let long = "x".repeat(200);
    let script = vec![
        Turn::call("read file", json!({"path": "a"})).id("one id"),
        Turn::call("fs.read", json!("[1]")).id("a.b"),
        Turn::call("read_file", json!({"path": "main.py"})).id(long.as_str()),
        Turn::call("läs", json!("null")).and_call(long.as_str(), json!("{")).id("a:b"),
        Turn::call("read_file", json!({"path": "main.py"})).id("a.b"),
        Turn::text("done"),
    ];
    let person = Person::with_model(strict(script), Fixture::new().file("main.py", "print('hi')\n").git());
    let ran = person.posse(&["run", "go"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "done"), "{ran:#?}");
    let ran = person.posse(&["resume", "last", "and again"]);
    assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "done"), "{ran:#?}");
}

#[test]
fn no_description_is_too_long_on_any_surface_with_any_number_of_roles_and_skills() {
    let about = "Does the kind of work that its name says, and says what it has done. Use it often.";
    let person = Person::with_model(strict(Vec::new()), Fixture::new().git());
    let home = person.config().parent().unwrap().to_path_buf();
    for n in 0..300 {
        let (role, skill) = (home.join(".claude/agents"), home.join(format!(".claude/skills/skill-{n}")));
        fs::create_dir_all(&role).unwrap();
        fs::create_dir_all(&skill).unwrap();
        let head = |name: String| format!("---\nname: {name}\ndescription: {about}\n---\nDo it.\n");
        fs::write(role.join(format!("role-{n}.md")), head(format!("role-{n}"))).unwrap();
        fs::write(skill.join("SKILL.md"), head(format!("skill-{n}"))).unwrap();
    }
    let surfaces = ["agent", "sessions", "task", "spawn", "delegate", "shell"];
    for surface in surfaces {
        let ran = person.posse(&["run", "--team", "--surface", surface, "go"]);
        assert_eq!((ran.code, ran.stdout.trim()), (Some(0), "done"), "{surface}: {ran:#?}");
    }
    let requests = person.model.requests();
    assert_eq!(requests.len(), surfaces.len());
    for request in &requests[..5] {
        let text = String::from_utf8(request.body.clone()).unwrap();
        assert!(text.contains("skill-1") && text.contains("more: give a word as key"), "{text}");
    }
}

#[test]
fn answers_that_are_labelled_cut_or_counted_oddly_are_read() {
    // Bytes that are not UTF-8, under a label that is not a stream's.
    let chunk = |delta: &str, end: &str| {
        format!("data: {{\"choices\":[{{\"index\":0,\"delta\":{delta},\"finish_reason\":{end}}}]}}\n\n")
            .into_bytes()
    };
    let mut chat = chunk("{\"content\":\"a@b\"}", "null");
    chat.extend(chunk("{}", "\"stop\""));
    let at = chat.iter().position(|byte| *byte == b'@').unwrap();
    chat[at] = 0xff;
    // Numbers that come later and no end of the message, as behind proxies.
    let frames = [
        json!({"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 0, "output_tokens": 0}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "hi"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"input_tokens": 5000, "output_tokens": 90}}),
    ];
    let anthropic: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    let cases = [
        ("chat", Turn::labelled("application/json", chat), "a\u{fffd}b\n", json!(null)),
        ("anthropic", Turn::raw(anthropic), "hi\n", json!(5000)),
    ];
    for (protocol, turn, answer, tokens) in cases {
        let person = Person::new([turn]);
        configured(&person, "fake", &format!("model = \"m\"\nprotocol = \"{protocol}\"\n"));
        let ran = person.posse(&["run", "go"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), answer), "{ran:#?}");
        assert_eq!(person.posse(&["tasks", "--json"]).events()[0]["usage"]["input_tokens"], tokens);
    }
}

#[test]
fn what_was_said_goes_back_in_the_shape_of_the_published_types() {
    let looks = Turn::call("read_file", json!({"path": "main.py"})).and_text("I look.");
    let person = Person::new([looks, Turn::text("done")]);
    configured(&person, "fake", "model = \"m\"\nprotocol = \"responses\"\n");
    assert_eq!(person.posse(&["run", "go"]).code, Some(0));
    let request = person.model.requests()[1].json();
    let said = request["input"].as_array().unwrap().iter().find(|item| item["role"] == "assistant").unwrap();
    assert_eq!((&said["type"], &said["status"]), (&json!("message"), &json!("completed")));
    assert_eq!(said["content"], json!([{"type": "output_text", "text": "I look.", "annotations": []}]));
    assert!(said["id"].as_str().unwrap().starts_with("msg_"), "{said}");
}
