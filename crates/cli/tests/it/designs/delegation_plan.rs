//! "The delegation plan": a team with roles, structured results, limits and figures per role.

use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use super::{Play, Row, holds};

const SURFACE: [&str; 2] = ["--surface", "delegate"];

fn delegate(mut arguments: Value, wanted: &'static [&'static str]) -> Row {
    arguments.as_object_mut().unwrap().entry("task").or_insert(json!("Do it."));
    (Turn::call("delegate_to_agent", arguments), wanted)
}

#[test]
fn a_team_delegates_by_its_rules_and_reports_in_json() {
    let task = json!({"name": "ann", "role": "coder", "task": "Mend main.py.", "context_files": ["main.py"],
                      "success_criteria": "It says bye."});
    let main = vec![
        delegate(task, &["\"status\":\"completed\"", "no such file"]),
        delegate(
            json!({"role": "scribe"}),
            &["there is no role \"scribe\"", "planner", "coder", "tester", "reviewer", "debugger"],
        ),
    ];
    let ann = vec![
        delegate(
            json!({"role": "reviewer"}),
            &["this agent may not delegate to reviewer: it may delegate to tester"],
        ),
        delegate(json!({"name": "tom", "role": "tester"}), &["\"status\":\"completed\""]),
    ];
    let report = "SUMMARY: Mended.\nCHANGES: None.\nEVIDENCE: gone.py:3\nRISKS: None.\nBLOCKERS: None.\nSUGGESTIONS:\n- rest";
    let played =
        Play::new(vec![("main", main), ("ann", ann)]).saying("ann", &[report.to_string()]).run(&SURFACE);
    let told: Value = serde_json::from_str(&played.results_of("main")[0]).unwrap();
    let keys: Vec<&String> = told.as_object().unwrap().keys().collect();
    let contract = [
        "status",
        "facts",
        "summary",
        "details",
        "files_modified",
        "files_created",
        "tests_run",
        "tests_passed",
        "warnings",
        "suggestions",
        "iteration_count",
        "duration_ms",
        "receipt",
    ];
    assert_eq!(keys, contract);
    assert_eq!((&told["summary"], &told["suggestions"]), (&json!("Mended."), &json!(["rest"])));
    assert_eq!(told["warnings"], json!(["cites `gone.py:3`: there is no such file"]), "results are checked");
    // What it knows of itself and of its task.
    let knows =
        ["You are ann, a coder sub-agent of main (depth 1/2; 30 turns", "You may delegate to tester."];
    holds(&played.system_of("ann"), &knows);
    holds(
        &played.first_of("ann")["messages"][1].to_string(),
        &["Mend main.py.", "print('hi')", "It says bye."],
    );
    holds(
        &played.system_of("tom"),
        &["You are tom, a tester sub-agent of ann (depth 2/2", "You cannot delegate."],
    );
    // What each role cost.
    let stats: Value = serde_json::from_str(&played.person.posse(&["stats", "--json"]).stdout).unwrap();
    let cost = |role: &str| {
        let row = stats["roles"].as_array().unwrap().iter().find(|row| row["key"] == role).unwrap();
        row["cost_usd"].as_f64().unwrap()
    };
    assert!(cost("coder") > 0.0 && cost("tester") > 0.0, "{stats}");
}

#[test]
fn several_work_side_by_side_and_time_runs_out_under_one_name() {
    let both = Turn::call("delegate_to_agent", json!({"name": "ann", "role": "coder", "task": "One."}))
        .and_call("delegate_to_agent", json!({"name": "bob", "role": "tester", "task": "Two."}));
    let completed: &[&str] = &["\"status\":\"completed\""];
    Play::new(vec![]).first(both, &[completed, completed]).run(&SURFACE);

    let read = Turn::call("handle_read", json!({"handle": "ann:json", "jsonpath": "$.status"}));
    let main = vec![
        delegate(json!({"name": "ann", "role": "coder", "max_time_s": 1}), &["\"status\":\"timeout\""]),
        (read, &["\"timeout\""]),
    ];
    let sleep = (Turn::call("shell", json!({"command": "sleep 60"})), &[] as &[&str]);
    let mut play = Play::new(vec![("main", main), ("ann", vec![sleep])]);
    play.expected.retain(|(name, _)| *name == "main");
    play.run(&SURFACE);
}

#[test]
fn agent_files_take_the_keys_of_the_settings_file() {
    let front = "display_name: The Lead\nmodel_id: fake\ncan_delegate: true\nallowed_delegations: [tester]\nmax_duration_ms: 90000\nmax_iterations: 5";
    let main = vec![delegate(json!({"name": "ann", "role": "foreman"}), &["completed"])];
    let ann = vec![
        delegate(
            json!({"role": "coder"}),
            &["this agent may not delegate to coder: it may delegate to tester"],
        ),
        delegate(json!({"role": "tester"}), &["completed"]),
    ];
    let lead = "---\nname: main\ndescription: Leads.\ndelegates_to: foreman, tester\n---\nLead.\n";
    let project = Fixture::new().file("main.py", "").git();
    let play = Play::in_project(project, vec![("main", main), ("ann", ann)]).role("foreman", front);
    std::fs::write(play.person.config().with_file_name("agents").join("main.md"), lead).unwrap();
    let played = play.run(&SURFACE);
    holds(&played.system_of("ann"), &["5 turns", "90 s", "You may delegate to tester."]);
    let shown = played.person.posse(&["agents", "show", "foreman", "--json"]).events().remove(0);
    assert_eq!((&shown["display_name"], &shown["model"]), (&json!("The Lead"), &json!("fake")));
}
