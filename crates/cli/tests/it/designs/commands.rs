//! "Everything is a shell command": one tool, in which agents, skills and files are commands.

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use super::{Play, holds};
use crate::dialects::bash;

const SURFACE: [&str; 2] = ["--surface", "shell"];
const FINE: &[&str] = &["I looked at it and it is fine."];

#[test]
fn agents_skills_and_files_are_commands() {
    let main = vec![
        (
            bash("task:explore --prompt 'Look.' --description 'look' --name ann --model fake --max_turns 9"),
            FINE,
        ),
        (bash("task:general -p 'Look.' -d look --name bob"), FINE),
        (bash("task:skill:search -p 'hedgehogs'"), &["skill-1 (skill)"]),
        (bash("task:skill:enhance -p \"${session-id}\" -d learn"), &["skill-1 (skill)"]),
        (bash("skill:load hedgehogs"), &["Wear mittens."]),
        (bash("skill:search hedgehogs"), &["task:skill:search"]),
        (bash("skill:enhance hedgehogs"), &["task:skill:enhance"]),
        (bash("read main.py"), &["print('hi')"]),
        (bash("write 'a b.txt' 'it'\\''s \"one\"'"), &["[write]"]),
        (bash("edit 'a b.txt' one two"), &["[edit]"]),
        (bash("read \"a b.txt\""), &["it's \"two\""]),
        (bash("glob '*.py'"), &["main.py"]),
        (bash("grep hi"), &["main.py\n1:print('hi')"]),
        (bash("cat main.py | wc -l"), &["1"]),
        (bash("read --help"), &["Usage: read PATH"]),
        (bash("task:explore --help"), &["Usage: task:ROLE --prompt TEXT"]),
        (
            bash("help"),
            &["task:ROLE --prompt", "skill:load KEY", "write PATH", "grep PATTERN", "all but task:skill:*"],
        ),
        (bash("echo 'task:explore -p x'"), &["task:explore -p x"]),
    ];
    let explore = vec![
        (bash("task:general -p x"), &["This agent may not use task:general."] as &[&str]),
        (bash("write c.txt x"), &["This agent may not use write."]),
        (bash("edit main.py hi x"), &["This agent may not use edit."]),
        (bash("help"), &["read PATH"]),
    ];
    let bob = vec![(bash("write made.txt x"), &["[write]"] as &[&str])];
    let skill =
        vec![(bash("task:skill:search -p x"), &["This agent may not use task:skill:search."] as &[&str])];
    let skills = "---\nname: hedgehogs\ndescription: How to hold them.\n---\nWear mittens.\n";
    let project = Fixture::new()
        .file("main.py", "print('hi')\n")
        .file(".posse/skills/hedgehogs/SKILL.md", skills)
        .git();
    let scripts = vec![("main", main), ("ann", explore), ("bob", bob), ("skill-1", skill)];
    let played = Play::in_project(project, scripts).run(&SURFACE);
    assert_eq!(played.tools_of("main"), ["bash"]);
    let text = played.first_of("main")["tools"][0]["function"]["description"].as_str().unwrap().to_string();
    holds(&text, &["task:ROLE", "explore, plan (all but task:*, edit, write)", "hedgehogs"]);
    holds(&played.system_of("ann"), &["You are ann, a explore sub-agent of main", "9 turns"]);
    let help = played.results_of("ann").pop().unwrap();
    assert!(!help.contains("task:") && !help.contains("\nwrite "), "only what it may use: {help}");
    // The one skill agent was asked again rather than started anew.
    let agents = played.person.posse(&["tasks", "--json"]).events();
    let asked = agents.iter().filter(|one| one["role"] == "skill").map(|one| one["continues"].is_string());
    assert_eq!(asked.collect::<Vec<_>>(), [false, true], "{agents:#?}");
    assert_eq!(played.person.file("made.txt"), "x");
    assert!(!played.person.project.path().join("c.txt").exists());
}

#[test]
fn several_are_waited_for_at_once_and_only_results_are_kept_if_so_wished() {
    let both = bash("task:explore -p one --name ann")
        .and_call("bash", json!({"command": "task:explore -p two --name bob"}));
    let ann = vec![(bash("read main.py"), &["print('hi')"] as &[&str])];
    for (settings, kept) in [("", true), ("[sub_agents]\nrecord = \"result\"\n", false)] {
        let wanted: [&[&str]; 2] = [&["ann (explore)", "it is fine"], &["bob (explore)", "it is fine"]];
        let play = Play::new(vec![("ann", ann.clone())]).settings(settings);
        let played = play.first(both.clone(), &wanted).run(&SURFACE);
        let events = played.person.posse(&["sessions", "show", "--json"]).events();
        let ann = &played.agents()["ann"]["agent"];
        let of_ann = |kind: &str| events.iter().any(|event| event["agent"] == *ann && event["type"] == kind);
        assert_eq!((of_ann("tool_finished"), of_ann("agent_settled")), (kept, true), "{settings}");
    }
}

#[test]
fn those_who_ask_for_the_one_skill_agent_at_the_same_time_queue() {
    let wanted: &[&str] = &["skill-1 (skill)", "it is fine"];
    let both = bash("task:skill:search -p hedgehogs")
        .and_call("bash", json!({"command": "task:skill:search -p porcupines"}));
    let played = Play::new(vec![]).first(both, &[wanted, wanted]).run(&SURFACE);
    let agents = played.person.posse(&["tasks", "--json"]).events();
    let asked = agents.iter().filter(|one| one["role"] == "skill").map(|one| one["continues"].is_string());
    assert_eq!(asked.collect::<Vec<_>>(), [false, true], "{agents:#?}");
}

#[test]
fn a_role_includes_and_excludes_commands() {
    let main = vec![
        (bash("task:careful -p Look. --name ann"), FINE),
        (bash("help"), &["careful", "(all but task:*, edit, write, grep)"]),
    ];
    let ann = vec![
        (bash("write c.txt x"), &["This agent may not use write."] as &[&str]),
        (bash("grep hi"), &["This agent may not use grep."]),
        (bash("task:explore -p x"), &["This agent may not use task:explore."]),
        (bash("read main.py"), &["print('hi')"]),
        (bash("echo x > c.txt; cat c.txt"), &["x"]),
    ];
    let front = "include: all\nexclude: [\"task:*\", \"edit\", \"write\", \"grep\"]";
    let played = Play::new(vec![("main", main), ("ann", ann)]).role("careful", front).run(&SURFACE);
    assert!(!played.person.project.path().join("c.txt").exists(), "what its commands write does not last");

    // The same file on another surface.
    let start = json!({"role": "careful", "name": "ann", "prompt": "Look.", "background": false});
    let played =
        Play::new(vec![("main", vec![(Turn::call("agent", start), FINE)])]).role("careful", front).run(&[]);
    super::offers(
        &played.tools_of("ann"),
        &["read_file", "shell"],
        &["agent", "write_file", "edit_file", "grep"],
    );
}
