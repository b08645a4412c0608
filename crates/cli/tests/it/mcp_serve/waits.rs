//! Clients without the extension: a bounded wait, progress, forms, and the tools that go on from there.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use super::talk::Talk;
use crate::posse::{Person, eventually};

/// The span of a client.
const SPAN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn a_task_is_waited_for_and_its_checked_report_comes_back() {
    let go = Arc::new(AtomicBool::new(false));
    let gone = Arc::clone(&go);
    let model = FakeModel::by_rule_blocking(move |request| {
        let request = request.json();
        let first = request["messages"].as_array().unwrap().iter().all(|one| one["role"] != "assistant");
        let start =
            json!({ "description": "a look", "prompt": "Look around.", "name": "ann", "role": "explore" });
        match (asker(&request).as_str(), first) {
            ("main", true) => Turn::call("agent", start)
                .and_call("write_file", json!({ "path": "new.txt", "content": "one\n" })),
            ("main", false) => Turn::text("I wrote new.txt and ran all tests; they pass."),
            _ => Turn::text("## Summary\nNothing here.").after(&gone),
        }
    });
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    let mut talk = Talk::older(&person, &["--approval", "edit"], json!({}));
    let listed = talk.ask("tools/list", json!({}))["result"].clone();
    let names = listed["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect::<Vec<_>>();
    assert_eq!(names, ["run_task", "status", "message", "answer", "report", "cancel"]);
    let call = json!({ "name": "run_task", "arguments": { "prompt": "Write new.txt" }, "_meta": { "progressToken": "p", "traceparent": SPAN } });
    let (line, id) = talk.request("tools/call", call);
    talk.send(&line);
    let told = talk.next();
    assert_eq!(
        (&told["method"], &told["params"]["progressToken"]),
        (&json!("notifications/progress"), &json!("p")),
        "{told}"
    );
    go.store(true, Ordering::SeqCst);
    let answer = std::iter::repeat_with(|| talk.next()).find(|message| message["id"] == id).unwrap();
    let result = answer["result"].clone();
    let look = &result["structuredContent"];
    assert_eq!((&result["isError"], &look["state"]), (&json!(false), &json!("completed")), "{result}");
    let agents =
        look["agents"].as_array().unwrap().iter().map(|one| (&one["name"], &one["parent"], &one["role"]));
    let (main, ann) =
        ((json!("main"), Value::Null, json!("main")), (json!("ann"), json!("main"), json!("explore")));
    assert_eq!(agents.collect::<Vec<_>>(), [(&main.0, &main.1, &main.2), (&ann.0, &ann.1, &ann.2)]);
    assert!(look["tokens"].as_u64().unwrap() > 0 && look["cost_usd"].as_f64().unwrap() > 0.0, "{look}");
    let report = &look["report"];
    assert_eq!(report["files_modified"], json!(["new.txt"]), "{report}");
    assert!(report["warnings"].to_string().contains("tests"), "no tests ran, and that is told: {report}");
    assert_eq!(person.file("new.txt"), "one\n");
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("1 of 1 sub-agent done") && text.contains("I wrote new.txt"), "{text}");
    let task = look["task"].as_str().unwrap().to_owned();
    assert!(
        talk.tool("report", json!({ "task": task }))["structuredContent"]["report"]["receipt"]["usage"]
            .is_object()
    );

    let events = person.posse(&["sessions", "export", &task, "--format", "jsonl"]).events();
    assert_eq!(events[0]["traceparent"], SPAN, "{}", events[0]);

    // It rests, so more can be said; then it is stopped.
    let again =
        talk.tool("message", json!({ "task": task, "text": "and once more" }))["structuredContent"].clone();
    assert!(again["state"] == "working" || again["state"] == "completed", "{again}");
    talk.until(&task, "completed");
    assert!(person.model.requests().last().unwrap().json().to_string().contains("and once more"));
    talk.tool("cancel", json!({ "task": task }));
    // Its process may take a moment to be gone.
    eventually("the end of the process", || {
        talk.refused("message", json!({ "task": task, "text": "more" })).contains("has ended")
    });
    assert_eq!(talk.end(), Some(0));
}

#[test]
fn a_wait_has_a_bound_and_the_task_goes_on() {
    let go = Arc::new(AtomicBool::new(false));
    let person = Person::new([Turn::text("At last.").after(&go)]);
    let mut talk = Talk::newest(&person, &["--wait", "1s"], json!({}));
    let since = Instant::now();
    let look = talk.tool("run_task", json!({ "prompt": "Take your time" }))["structuredContent"].clone();
    assert!(since.elapsed() >= Duration::from_secs(1), "{look}");
    assert_eq!(look["state"], "working", "{look}");
    assert!(look["next"].as_str().unwrap().contains("Call status or report"), "{look}");
    let task = look["task"].as_str().unwrap().to_owned();
    // A client that is gone loses nothing.
    assert_eq!(talk.end(), Some(0));
    go.store(true, Ordering::SeqCst);
    let mut again = Talk::newest(&person, &[], json!({}));
    again.until(&task, "completed");
    let report = again.tool("report", json!({ "task": task }));
    assert_eq!(report["structuredContent"]["report"]["summary"], "At last.", "{report}");
    person.posse(&["stop", &task]);
}

fn ask_person() -> Turn {
    Turn::call("ask_person", json!({ "question": "Which colour?" }))
}

#[test]
fn questions_reach_the_clients_person_or_are_answered_by_tool() {
    let turns = [
        ask_person(),
        Turn::text("One."),
        ask_person(),
        Turn::text("Two."),
        ask_person(),
        Turn::text("Three."),
    ];
    let person = Person::new(turns);
    let run = json!({ "name": "run_task", "arguments": { "prompt": "Choose" } });

    let mut forms = Talk::older(&person, &[], json!({ "elicitation": {} }));
    let result = forms.ask_filling("tools/call", run.clone(), Some("teal"))["result"].clone();
    assert_eq!(result["structuredContent"]["report"]["summary"], "One.", "{result}");
    assert_eq!(forms.others[0]["params"]["message"], "main asks: Which colour?");

    let mut alone = Talk::newest(&person, &[], json!({ "elicitation": { "form": {} } }));
    let asked = alone.tool("run_task", run["arguments"].clone());
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let key = asked["inputRequests"].as_object().unwrap().keys().next().unwrap().clone();
    let mut more = run.clone();
    more["requestState"] = asked["requestState"].clone();
    more["inputResponses"] = json!({ key: { "action": "accept", "content": { "answer": "plum" } } });
    let result = alone.ask("tools/call", more)["result"].clone();
    assert_eq!(result["structuredContent"]["report"]["summary"], "Two.", "{result}");
    assert_eq!(result["structuredContent"]["task"], asked["requestState"]);

    let mut plain = Talk::older(&person, &[], json!({}));
    let look = plain.tool("run_task", run["arguments"].clone())["structuredContent"].clone();
    assert_eq!(
        (&look["state"], &look["questions"][0]["question"]),
        (&json!("input_required"), &json!("Which colour?"))
    );
    let (task, key) = (look["task"].as_str().unwrap().to_owned(), look["questions"][0]["key"].clone());
    let wrong = plain.refused("answer", json!({ "task": task, "question": "1", "answer": "x" }));
    assert!(wrong.contains("no open question \"1\""), "{wrong}");
    plain.tool("answer", json!({ "task": task, "question": key, "answer": "mauve" }));
    plain.until(&task, "completed");
    let told = person.model.requests().iter().map(|request| request.json().to_string()).collect::<String>();
    assert!(["teal", "plum", "mauve"].iter().all(|word| told.contains(word)));
}
