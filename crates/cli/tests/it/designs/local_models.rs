//! "Sub-agents for local models": one call that waits, returns the final text and what changed.

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use super::{Play, Row, holds, offers};

const SURFACE: [&str; 2] = ["--surface", "spawn"];

fn spawn(arguments: serde_json::Value, wanted: &'static [&'static str]) -> Row {
    (Turn::call("spawn_task", arguments), wanted)
}

fn write(path: &str) -> Turn {
    Turn::call("write_file", json!({"path": path, "content": "one\ntwo\n"}))
}

#[test]
fn a_task_has_a_history_of_its_own_and_its_changes_are_its_parents() {
    let task = json!({"name": "ann", "task": "Write it.", "context_files": ["main.py", "gone.py"], "model": "fake",
                      "max_iterations": 3, "max_tokens": 99});
    let wanted: &[&str] = &[
        "[sub-agent ann] Completed: \"Write it.\"",
        "Files modified: new.txt (+2 lines, new file)",
        "Measured: no commands run; no tests run; no commits; no sub-agents",
        "it is fine",
    ];
    let main = vec![
        (
            Turn::call("read_file", json!({"path": "main.py"})).and_text("A secret thought."),
            &["hi"] as &[&str],
        ),
        spawn(task, wanted),
        (Turn::call("read_file", json!({"path": "new.txt"})), &["two"]),
    ];
    let settings = "[sub_agents]\nsystem_prompt = \"Be brief.\"\n";
    let ann = vec![(write("new.txt"), &["new.txt"] as &[&str])];
    let project = Fixture::new().file("main.py", "print('hi')\n").file("AGENTS.md", "Tabs, please.").git();
    let played =
        Play::in_project(project, vec![("main", main), ("ann", ann)]).settings(settings).run(&SURFACE);
    let system = played.system_of("ann");
    holds(&system, &["Be brief.", "Tabs, please.", "3 turns, 65536 tokens", "You cannot delegate."]);
    let first = played.first_of("ann");
    assert_eq!((&first["max_tokens"], first["messages"].as_array().unwrap().len()), (&json!(99), 2));
    let told = first["messages"].to_string();
    holds(&told, &["Write it.", "print('hi')", "gone.py"]);
    assert!(!told.contains("A secret thought."), "{told}");
    offers(&played.tools_of("ann"), &["read_file", "write_file", "shell"], &["spawn_task"]);
    // What was changed below is the parent's, too.
    let agents = played.agents();
    holds(agents["main"]["facts"].as_str().unwrap(), &["1 file changed (+2 -0): new.txt"]);
    let tokens = |name: &str, of: &str| agents[name][of]["input_tokens"].as_u64().unwrap();
    let whole = agents["main"]["subtree"]["usage"]["input_tokens"].as_u64().unwrap();
    assert_eq!(whole, tokens("main", "usage") + tokens("ann", "usage"));
}

#[test]
fn notes_last_and_those_of_sub_agents_say_so() {
    let remember = || Turn::call("remember", json!({"text": "Ann likes tabs.", "kind": "decision"}));
    let ann = || vec![(remember(), &[] as &[&str])];
    for (settings, there) in [("", true), ("[sub_agents]\ninherit_memory = false\n", false)] {
        let main = vec![spawn(json!({"name": "ann", "task": "Note it."}), &["it is fine"])];
        let played = Play::new(vec![("main", main), ("ann", ann())]).settings(settings).run(&SURFACE);
        assert_eq!(played.tools_of("ann").contains(&"remember".to_string()), there, "{settings}");
        let notes = played.person.posse(&["memory", "list", "--json"]).events();
        let kinds: Vec<&str> = notes.iter().map(|note| note["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, if there { vec!["sub_agent_result"] } else { vec![] }, "{notes:?}");
    }
}

#[test]
fn a_long_report_is_summed_up_here_and_cut_elsewhere_and_the_rest_is_behind_a_handle() {
    let evidence = "- main.py:1 something that was found\n".repeat(600);
    let long = format!("SUMMARY: Much.\nEVIDENCE:\n{evidence}RISKS: It may rain.\nBLOCKERS: No key.");
    let read = Turn::call("handle_read", json!({"handle": "ann:report", "count": true}));
    // Here its own model sums it up, once.
    let summed: &[&str] = &[
        "Completed with blockers",
        "| In short: it prints hi.",
        "| RISKS: It may rain.",
        "| BLOCKERS: No key.",
        "Summed up by the agent itself. All of its words: handle_read ann:report",
    ];
    let main = vec![spawn(json!({"name": "ann", "task": "Look."}), summed), (read.clone(), &["604 lines"])];
    let play = Play::new(vec![("main", main)]);
    let words = [long.clone(), "In short: it prints hi.".to_string()];
    let played = play.saying("ann", &words).run(&SURFACE);
    assert_eq!(played.requests_of("ann").len(), 2, "once");
    assert!(played.results_of("main")[0].len() <= 8_000);
    // Elsewhere it is cut inside its sections.
    let cut: &[&str] =
        &["| SUMMARY: Much.", "RISKS: It may rain.", "BLOCKERS: No key.", "[…]", "handle_read ann:report"];
    let start = Turn::call("agent", json!({"name": "ann", "description": "look", "prompt": "Look."}));
    let main = vec![(start, cut), (read, &["604 lines"])];
    let played = Play::new(vec![("main", main)]).saying("ann", &words).run(&["--surface", "task"]);
    assert_eq!(played.requests_of("ann").len(), 1);
    assert!(played.results_of("main")[0].len() <= 8_000);
}
