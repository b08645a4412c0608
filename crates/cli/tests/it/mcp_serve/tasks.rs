//! Tasks as the extension has them: durable before the answer, asked and answered, cancelled with the whole tree, and there
//! again after the server is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_testkit::{FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use super::talk::{Talk, with_tasks};
use crate::posse::{Person, eventually};

fn ask_person() -> Turn {
    Turn::call("ask_person", json!({ "question": "Which colour?", "choices": ["red", "blue"] }))
}

fn begun(talk: &mut Talk, arguments: Value) -> String {
    let begun = talk.tool("run_task", arguments);
    assert_eq!(begun["resultType"], "task", "{begun}");
    assert!(begun["createdAt"].as_str().unwrap().starts_with("20"), "{begun}");
    begun["taskId"].as_str().unwrap().to_owned()
}

#[test]
fn a_task_asks_survives_its_server_is_answered_and_completes() {
    let person = Person::new([ask_person(), Turn::text("It is blue.")]);
    let mut talk = Talk::newest(&person, &[], with_tasks());
    let found = talk.ask("server/discover", json!({}));
    assert!(
        found["result"]["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"].is_object(),
        "{found}"
    );
    let task = begun(&mut talk, json!({ "prompt": "Choose a colour" }));
    let listed = person.posse(&["sessions", "list", "--json"]).stdout;
    assert!(listed.contains(&task), "the id is the session's, and it is on record: {listed}");
    let asked = talk.until_task(&task, "input_required");
    let (key, request) = asked["inputRequests"].as_object().unwrap().iter().next().unwrap();
    assert_eq!(request["method"], "elicitation/create", "{asked}");
    assert_eq!(request["params"]["message"], "main asks: Which colour?", "{asked}");
    assert!(asked["statusMessage"].as_str().unwrap().starts_with("1 question open"), "{asked}");
    talk.kill();

    let mut again = Talk::newest(&person, &[], with_tasks());
    assert_eq!(again.until_task(&task, "input_required")["inputRequests"], asked["inputRequests"]);
    let mut answers = json!({ "0": { "action": "accept", "content": {} } });
    answers[key] = json!({ "action": "accept", "content": { "answer": "blue" } });
    let taken = again.ask("tasks/update", json!({ "taskId": task, "inputResponses": answers }));
    assert_eq!(taken["result"]["resultType"], "complete", "what is not open is passed over: {taken}");
    let done = again.until_task(&task, "completed");
    assert_eq!(done["result"]["isError"], false, "{done}");
    assert_eq!(done["result"]["structuredContent"]["report"]["summary"], "It is blue.", "{done}");
    let told = person.model.requests()[1].json().to_string();
    assert!(told.contains("blue"), "{told}");
    let ended = again.ask("tasks/cancel", json!({ "taskId": task }));
    assert_eq!(ended["result"]["resultType"], "complete", "it has ended, and stays so: {ended}");
    assert_eq!(again.until_task(&task, "completed")["taskId"], task.as_str());
    assert_eq!(again.end(), Some(0));
    person.posse(&["stop", &task]);
}

#[test]
fn cancelling_a_task_stops_its_whole_tree() {
    let hang = Arc::new(AtomicBool::new(false));
    let hangs = Arc::clone(&hang);
    let model = FakeModel::by_rule_blocking(move |request| {
        let request = request.json();
        let first = request["messages"].as_array().unwrap().iter().all(|one| one["role"] != "assistant");
        let start =
            |name: &str| json!({ "action": "start", "name": name, "role": "general", "prompt": "Do it." });
        match (asker(&request).as_str(), first) {
            ("main", true) => Turn::call("agent", start("ann")).and_call("agent", start("bob")),
            ("main", false) => Turn::text("They are at it."),
            ("ann", _) => Turn::text("## Summary\nDone."),
            _ => Turn::text("never").after(&hangs),
        }
    });
    let person = Person::with_model(model, Fixture::new().file("main.py", ""));
    let mut talk = Talk::newest(&person, &[], with_tasks());
    let task = begun(&mut talk, json!({ "prompt": "Share it out" }));
    eventually("one of two done", || {
        let found = talk.ask("tasks/get", json!({ "taskId": task }))["result"].clone();
        assert_eq!(found["status"], "working", "{found}");
        found["statusMessage"].as_str().unwrap().starts_with("1 of 2 sub-agents done")
    });
    let cancelled = talk.ask("tasks/cancel", json!({ "taskId": task }));
    assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
    assert_eq!(talk.until_task(&task, "cancelled")["taskId"], task.as_str());
    let look = talk.until(&task, "cancelled");
    let states = look["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| (one["name"].as_str().unwrap(), one["state"].as_str().unwrap()));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [("main", "cancelled"), ("ann", "completed"), ("bob", "cancelled")]
    );
    let wrong = talk.ask("tasks/get", json!({ "taskId": "01a1eead-0000-7000-8000-000000000000" }));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    hang.store(true, Ordering::SeqCst);
}

#[test]
fn who_listens_to_a_task_hears_of_its_changes() {
    let go = Arc::new(AtomicBool::new(false));
    let person = Person::new([Turn::text("Heard.").after(&go)]);
    let mut talk = Talk::newest(&person, &[], with_tasks());
    let task = begun(&mut talk, json!({ "prompt": "Go" }));
    let wanted = json!({ "notifications": { "taskIds": [task, "not-one"] } });
    let (line, subscription) = talk.request("subscriptions/listen", wanted);
    talk.send(&line);
    assert_eq!(talk.next()["method"], "notifications/subscriptions/acknowledged");
    let first = talk.next();
    assert_eq!(
        (&first["method"], &first["params"]["status"]),
        (&json!("notifications/tasks"), &json!("working")),
        "{first}"
    );
    assert_eq!(first["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], subscription, "{first}");
    go.store(true, Ordering::SeqCst);
    let last = loop {
        let told = talk.next();
        assert_eq!(told["params"]["taskId"], task.as_str(), "{told}");
        if told["params"]["status"] != "working" {
            break told;
        }
    };
    assert_eq!(last["params"]["result"]["structuredContent"]["report"]["summary"], "Heard.", "{last}");
}

#[test]
fn a_client_of_the_older_era_gets_a_result_whatever_it_declares() {
    let person = Person::new([Turn::text("Done.")]);
    let mut talk =
        Talk::older(&person, &[], json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } }));
    let result = talk.tool("run_task", json!({ "prompt": "Go" }));
    assert_eq!(result["structuredContent"]["state"], "completed", "{result}");
    assert!(result["resultType"].is_null() && result["taskId"].is_null(), "{result}");
    let task = result["structuredContent"]["task"].as_str().unwrap().to_owned();
    assert_eq!(
        talk.until_task(&task, "completed")["taskId"],
        task.as_str(),
        "tasks can be asked about all the same"
    );
}

#[test]
fn what_a_budget_ends_is_an_answer_and_what_breaks_is_none() {
    let person = Person::new([
        Turn::status(400),
        Turn::call("read_file", json!({ "path": "main.py" })),
        Turn::text("So far."),
    ]);
    let mut talk = Talk::newest(&person, &[], with_tasks());
    let broken = begun(&mut talk, json!({ "prompt": "Try" }));
    let broken = talk.until_task(&broken, "failed");
    assert_eq!(broken["error"]["code"], -32603, "{broken}");
    assert!(broken["result"].is_null(), "{broken}");
    let spent = begun(&mut talk, json!({ "prompt": "Read", "budget": { "max_turns": 1 } }));
    let spent = talk.until_task(&spent, "completed");
    assert_eq!(spent["result"]["isError"], true, "{spent}");
    assert_eq!(spent["result"]["structuredContent"]["agents"][0]["state"], "resting", "{spent}");
    assert_eq!(spent["result"]["structuredContent"]["state"], "failed", "{spent}");
}
