//! Every worked example plays from its cassette and does what its README says.

use serde_json::{Value, json};

use crate::scripted::{Played, Scripted, outcomes};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

fn play(name: &str) -> Played {
    let played = Scripted::in_folder(format!("{FOLDER}/{name}")).play();
    played.no_warnings();
    played
}

/// The files that an agent changed, by its receipt.
fn changed<'a>(played: &'a Played, agent: &str) -> Vec<(&'a str, bool)> {
    let files = played.report(agent)["receipt"]["files"].as_array().unwrap();
    files.iter().map(|file| (file["path"].as_str().unwrap(), file["created"] == true)).collect()
}

#[test]
fn tests_for_a_change() {
    let played = play("tests-for-a-change");
    assert_eq!(
        outcomes(&played.agents),
        [("general-1", "general", "completed", 3), ("main", "main", "completed", 4)]
    );
    assert_eq!(changed(&played, "general-1"), [("tests/test_auth.py", true)]);
    assert_eq!(played.report("general-1")["receipt"]["tests"]["counts"], json!({"run": 5, "passed": 5}));
    assert!(played.results("main")[2].contains("5 of 5 passed"), "{:?}", played.results("main"));
    assert!(played.person.file("src/auth.py").contains("if now - issued_at > MAX_AGE_S:"));
    assert!(played.answer().contains("all 5 pass"));
}

#[test]
fn review_with_another_model() {
    let played = play("review-with-another-model");
    assert_eq!(
        outcomes(&played.agents),
        [("main", "main", "completed", 2), ("strict-reviewer-1", "strict-reviewer", "completed", 2)]
    );
    let models = ["main", "strict-reviewer-1"].map(|name| {
        let agent = &played.agents[name];
        (agent["requested_model"].as_str(), agent["model"].as_str())
    });
    assert_eq!(models, [(None, Some("recorded")), (Some("strict"), Some("strict"))]);
    assert_eq!(changed(&played, "main"), []);
    assert!(played.answer().contains("refuse `cents <= 0`"));
}

#[test]
fn same_fix_over_twelve_files() {
    let played = play("same-fix-over-twelve-files");
    assert_eq!(played.agents.len(), 13);
    let time = |agent: &Value, key: &str| agent[key].as_u64().unwrap();
    let mut files = Vec::new();
    let mut workers = Vec::new();
    for (name, agent) in played.agents.iter().filter(|(name, _)| *name != "main") {
        assert_eq!((&agent["status"], &agent["turns"]), (&json!("completed"), &json!(3)), "{name}");
        files.extend(changed(&played, name));
        workers.push((time(agent, "started_at_ms"), time(agent, "ended_at_ms")));
    }
    files.sort_unstable();
    files.dedup();
    assert_eq!(files.len(), 12, "{files:?}");
    for (file, _) in files {
        assert!(played.person.file(file).contains("log.warning("), "{file}");
    }
    workers.sort_unstable();
    assert!(workers.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two overlapped: {workers:?}");
    assert!(played.answer().starts_with("All twelve files"));
}

#[test]
fn research_in_the_background() {
    let played = play("research-in-the-background");
    let explorer = &played.agents["explore-1"];
    assert_eq!((&explorer["status"], &explorer["turns"]), (&json!("completed"), &json!(3)));
    let results = played.results("main");
    assert!(results[0].starts_with("explore-1 is at work"), "the start does not wait: {results:?}");
    let delivered = |event: &&Value| event["type"] == "reports_delivered";
    assert_eq!(played.events.iter().filter(delivered).count(), 1, "the report comes once");
    assert!(played.answer().contains("`jobs/retry.py:10-11`"));
}

#[test]
fn commit_title() {
    let played = play("commit-title");
    assert_eq!(
        outcomes(&played.agents),
        [("general-1", "general", "completed", 1), ("main", "main", "completed", 2)]
    );
    let id = &played.agents["general-1"]["agent"];
    let started = played.events.iter().find(|e| e["agent"] == *id && e["type"] == "agent_started").unwrap();
    assert_eq!(started["budget"]["turns"], 2);
    assert_eq!(played.answer(), "Refuse tokens that are older than an hour");
}

/// Files to copy, with nothing to play.
const TO_COPY: [&str; 1] = ["workers"];

/// Each example is in the table, says how to run it, and has nothing that its test does not play.
#[test]
fn every_example_is_told_of() {
    let table = std::fs::read_to_string(format!("{FOLDER}/README.md")).unwrap();
    let mut names = Vec::new();
    for entry in std::fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        assert!(table.contains(&format!("[{name}]({name}/README.md)")), "{name} is not in the table");
        let readme = std::fs::read_to_string(path.join("README.md")).unwrap();
        if TO_COPY.contains(&name.as_str()) {
            continue;
        }
        let script = std::fs::read(path.join("script.json")).unwrap();
        let script: Value = serde_json::from_slice(&script).unwrap();
        for part in [
            format!("cp -r examples/{name}/files "),
            format!("--config examples/{name}/posse.toml run -C "),
            format!("\"{}\"", script["prompt"].as_str().unwrap()),
        ] {
            assert!(readme.contains(&part), "{name}/README.md does not say {part}");
        }
        names.push(name);
    }
    assert_eq!(names.len(), 5);
}
