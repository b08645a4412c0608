//! What a new agent knows: files within their caps, a digest, some turns, or all of its parent's conversation.

use posse_model::Protocol;
use posse_testkit::{FakeModel, Fixture, Turn};
use serde_json::{Value, json};

use crate::crew::{REPORT, Stage, last_text};
use crate::follow::{holds, wait};

/// What a child is told first, when it is started like this after main has read a file.
async fn first_words(files: Fixture, arguments: Value) -> String {
    let main = vec![
        Turn::call("read_file", json!({"path": "a.txt"})).and_text("Let me read a.txt."),
        Turn::call("agent", arguments).and_text("Somebody should check it."),
        wait(),
        Turn::text("Done."),
    ];
    let mut stage = Stage::new([("main", main), ("explore-1", vec![Turn::text(REPORT)])]).await;
    stage.files = files;
    let ran = stage.run("Is a.txt right?").await;
    assert_eq!(ran.ended("explore-1"), "completed");
    last_text(&stage.requests_of("explore-1")[0].json())
}

fn files() -> Fixture {
    Fixture::new().file("a.txt", "alpha\n")
}

#[tokio::test]
async fn context_files_are_included_cut_or_listed_with_the_reason() {
    let long = "0123456789".repeat(1_000);
    let mut fixture = files().file("long.txt", &long).file("binary.dat", [0, 159, 146, 150, 0, 1]);
    let mut paths =
        ["a.txt", "long.txt", "binary.dat", "../outside.txt", "missing.txt"].map(String::from).to_vec();
    for n in 6..=13 {
        fixture = fixture.file(&format!("small-{n}.txt"), format!("small {n}\n"));
        paths.push(format!("small-{n}.txt"));
    }
    assert_eq!(paths.len(), 13);
    let arguments = json!({"action": "start", "role": "explore", "prompt": "Check.", "context_files": paths});
    let told = first_words(fixture, arguments).await;
    let (included, skipped) = told.split_once("Not included: ").unwrap();
    let mut want = "Check.\n\n<file from=\"a.txt\">\n| alpha\n| \n</file>\n".to_string();
    let cut = "… cut after 4000 characters; read the file for the rest";
    want += &format!("<file from=\"long.txt\">\n| {}\n| {cut}\n</file>\n", &long[..4_000]);
    for n in 6..=12 {
        want += &format!("<file from=\"small-{n}.txt\">\n| small {n}\n| \n</file>\n");
    }
    assert_eq!(included, want);
    let reasons = skipped.split("; ").collect::<Vec<_>>();
    assert_eq!(reasons[0], "binary.dat (not text)");
    assert!(reasons[1].starts_with("../outside.txt (") && reasons[1].contains("outside"), "{skipped}");
    holds(skipped, &["missing.txt (missing.txt is not there", "small-13.txt (more than 12 files)"]);
}

#[tokio::test]
async fn context_files_have_a_cap_together() {
    let mut fixture = files();
    let mut paths = Vec::new();
    for n in 1..=7 {
        fixture = fixture.file(&format!("{n}.txt"), n.to_string().repeat(4_000));
        paths.push(format!("{n}.txt"));
    }
    let arguments = json!({"action": "start", "role": "explore", "prompt": "Check.", "context_files": paths});
    let told = first_words(fixture, arguments).await;
    assert_eq!(told.matches("<file from=").count(), 6);
    assert!(
        told.ends_with("Not included: 7.txt (the files before fill the 24000 characters there are)"),
        "{told}"
    );
}

#[tokio::test]
async fn criteria_and_deliverables_are_told() {
    let arguments = json!({
        "action": "start", "role": "explore", "prompt": "Check.", "success_criteria": "all checked",
        "deliverables": ["a.txt"],
    });
    let want = "Check.\n\nIt is done when: all checked\n\nFiles that must be there at the end: a.txt";
    assert_eq!(first_words(files(), arguments).await, want);
}

#[tokio::test]
async fn a_summary_says_in_short_what_the_parent_does() {
    let arguments = json!({"action": "start", "role": "explore", "prompt": "Check.", "context": "summary"});
    let want = "Check.\n\nWhat your parent is doing, in short:\n<digest from=\"parent\">\n| Task:\n\
                | Is a.txt right?\n| \n| Said so far:\n| Let me read a.txt.\n</digest>\n\
                <said from=\"parent\">\n| Somebody should check it.\n</said>";
    assert_eq!(first_words(files(), arguments).await, want);
}

#[tokio::test]
async fn selected_turns_are_quoted() {
    let arguments = json!({
        "action": "start", "role": "explore", "prompt": "Check.", "context": "selective", "context_turns": [1],
    });
    let told = first_words(files(), arguments).await;
    holds(
        &told,
        &[
            "Check.\n\nFrom your parent's conversation:\n<turn from=\"1\">\n| Let me read a.txt.\n\
             | [calls read_file {\"path\":\"a.txt\"}]\n</turn>\n<turn from=\"1\">\n| [result] ",
            "alpha",
        ],
    );
    assert!(!told.contains("Is a.txt right?"), "{told}");
}

/// Whoever made the mistake is told of it, not the agent that would begin without them.
#[tokio::test]
async fn turns_that_are_not_there_start_nothing() {
    let selected = |turns: Value| {
        let task =
            json!({"role": "explore", "prompt": "Check.", "context": "selective", "context_turns": turns});
        Turn::call("agent", task)
    };
    let main = vec![selected(json!([1])), selected(json!([1, 9])), selected(json!([0])), Turn::text("Done.")];
    let stage = Stage::new([("main", main)]).await;
    let ran = stage.run("go").await;
    let results = ran.results_of("main");
    let said = [
        "There are no turns 1 in your conversation: it has none yet; put what it needs",
        "There are no turns 9 in your conversation: it has turn 1.",
        "There are no turns 0 in your conversation: it has turns 1 to 2.",
    ];
    assert_eq!(results.len(), said.len());
    for ((ok, text), said) in results.iter().zip(said) {
        assert!(!ok && text.starts_with(said), "{text}");
    }
    assert!(ran.agents().is_empty());
}

#[tokio::test]
async fn a_fork_with_another_model_has_the_same_messages_in_its_own_protocol() {
    let other = FakeModel::with([Turn::text(REPORT)]).await;
    let fork = json!({"action": "start", "role": "review", "prompt": "Grade it.", "context": "fork", "model": "other"});
    let main = vec![
        Turn::call("read_file", json!({"path": "a.txt"})),
        Turn::call("agent", fork),
        wait(),
        Turn::text("Done."),
    ];
    let mut stage = Stage::new([("main", main)]).await;
    let mut config = stage.config("other");
    (config.protocol, config.base_url) = (Protocol::Anthropic, other.base_url());
    stage.others = vec![config];
    let ran = stage.run("Is a.txt right?").await;
    assert_eq!(ran.ended("review-1"), "completed");
    let (parent, requests) = (stage.requests_of("main")[1].json(), other.requests());
    let [request] = &requests[..] else { panic!("{requests:?}") };
    assert!(request.path.ends_with("/messages"), "{}", request.path);
    let child = request.json();
    assert!(
        child["system"]
            .to_string()
            .contains(parent["messages"][0]["content"].as_str().unwrap().lines().next().unwrap())
    );
    let names =
        child["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_string());
    assert_eq!(names.collect::<Vec<_>>(), crate::follow::offered(&parent));
    let messages = child["messages"].as_array().unwrap();
    let roles = messages.iter().map(|message| message["role"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(roles, ["user", "assistant", "user", "user"]);
    holds(&messages[0].to_string(), &["Is a.txt right?"]);
    holds(&messages[1].to_string(), &["tool_use", "read_file"]);
    holds(&messages[2].to_string(), &["tool_result", "alpha"]);
    holds(&messages[3].to_string(), &["You are review-1, a review sub-agent of main", "Grade it."]);
}
