//! What tasks came to, as `posse stats` tells it.

use posse_testkit::Turn;
use serde_json::json;

use crate::crew::Crew;
use crate::posse::{Person, Ran};

#[test]
fn figures_are_told_by_role_model_surface_and_week() {
    let crew = Crew::new();
    crew.let_go_on();
    let person = &crew.person;
    let ran = person.posse(&["run", "share it out"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = person.posse(&["stats"]);
    let text = &told.stdout;
    assert!(text.starts_with("3 tasks in "), "{text}");
    assert!(text.lines().next().unwrap().ends_with(": 100% completed"), "{text}");
    for part in
        ["role ", "model ", "delegates by ", "week of ", "general ", "main ", "fake-model ", "agent ", "$0.0"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(text.matches("tasks  success").count(), 4, "each table has a head: {text}");
    let stats = person.posse(&["stats", "--json"]).events().pop().unwrap();
    assert_eq!((&stats["total"]["tasks"], &stats["total"]["completed"]), (&json!(3), &json!(3)));
    assert_eq!(stats["roles"][0]["key"], "general");
    assert_eq!(stats["since_ms"], json!(null));

    let elsewhere = |args: &[&str]| Ran::from(person.command(args).current_dir("/").output().unwrap());
    let none = elsewhere(&["stats"]);
    none.says("No task has ended in /");
    none.says("posse stats --all counts all projects");
    elsewhere(&["stats", "--all", "--since", "1d"]).says("3 tasks in any project since ");
    assert_eq!(person.posse(&["stats", "--since", "yesterday"]).code, Some(2));
    person.posse(&["stats", "--since", "yesterday"]).says("write it like 30d");
}

#[test]
fn what_is_not_known_is_not_zero() {
    let person = Person::new([Turn::text("ok").no_usage(), Turn::empty(), Turn::empty()]);
    person.posse(&["stats"]).says("Start one: posse run");
    let endpoint = person.model.base_url();
    person.configure(&format!("[models.m]\nendpoint = \"{endpoint}\"\nmodel = \"free\"\n"));
    person.posse(&["run", "--no-agents", "go"]);
    person.posse(&["run", "--no-agents", "go"]);
    let told = person.posse(&["stats"]);
    for part in ["2 tasks in ", "50% completed", "1 failed", "the cost of 2 tasks is not known", "none "] {
        told.says(part);
    }
    assert!(!told.stdout.contains("$0"), "{told:#?}");
}

#[test]
fn the_main_agent_is_told_what_worked_here_if_that_is_wished() {
    let crew = Crew::new();
    crew.let_go_on();
    let person = &crew.person;
    let told = || {
        let before = person.model.calls();
        let ran = person.posse(&["run", "share it out"]);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        person.model.requests()[before].json()["messages"][0]["content"].as_str().unwrap().to_string()
    };
    assert!(!told().contains("100%"));
    assert!(!told().contains("100%"), "not unless it is wished");
    person.configure_more("[sub_agents]\nshow_record = true\n");
    let told = told();
    assert!(told.lines().any(|line| line.contains("general") && line.contains("100%")), "{told}");
}
