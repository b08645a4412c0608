//! Hooks as people use them: settings of another program, trust, and the commands to look at them.

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::Person;

fn settings(event: &str, matcher: &str, command: &str) -> String {
    json!({"hooks": {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}})
        .to_string()
}

fn write(person: &Person, path: &str, text: &str) {
    let path = person.project.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn own_settings(person: &Person, text: &str) {
    let folder = person.config().with_file_name(".claude");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("settings.json"), text).unwrap();
}

fn turns() -> [Turn; 2] {
    [Turn::call("write_file", json!({"path": "new.txt", "content": "a\n"})), Turn::text("Done.")]
}

#[test]
fn a_projects_hooks_run_after_trust_and_inside() {
    let person = Person::new(turns().into_iter().chain(turns()));
    write(&person, ".claude/settings.json", &settings("PostToolUse", "Write", "sh ./fmt.sh"));
    write(&person, "fmt.sh", "cat > /dev/null; echo formatted >> new.txt; touch \"$HOME/out\"\n");
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("has 1 hook; they do not run until you have looked at them: posse trust");
    assert_eq!(person.file("new.txt"), "a\n");
    let trusted = person.posse(&["trust", "--yes"]);
    trusted.says("its hooks run in the sandbox and without asking: PostToolUse: sh ./fmt.sh");
    std::fs::remove_file(person.project.path().join("new.txt")).unwrap();
    let ran = person.posse(&["run", "--json", "go"]);
    assert_eq!((ran.code, person.file("new.txt").as_str()), (Some(0), "a\nformatted\n"), "{ran:#?}");
    let hooks: Vec<_> = ran.events().into_iter().filter(|event| event["type"] == "hook_ran").collect();
    assert_eq!(hooks.len(), 1, "{hooks:?}");
    let (event, confined) = (&hooks[0]["hook_event"], &hooks[0]["confined"]);
    assert_eq!(
        (event, confined, &hooks[0]["decision"]),
        (&json!("PostToolUse"), &json!(true), &json!("nothing"))
    );
    assert!(!person.config().with_file_name("out").exists());
}

#[test]
fn the_persons_hooks_run_as_the_person() {
    let person = Person::new(turns());
    own_settings(
        &person,
        &settings("PreToolUse", "Write", "cat > \"$HOME/seen\"; echo 'not here' >&2; exit 2"),
    );
    let ran = person.posse(&["run", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!person.project.path().join("new.txt").exists());
    let seen = std::fs::read_to_string(person.config().with_file_name("seen")).unwrap();
    assert!(seen.contains(r#""tool_name":"Write""#) && seen.contains("/new.txt"), "{seen}");
    ran.says("not here");
}

#[test]
fn hooks_are_listed_and_tried() {
    let person = Person::new([]);
    person.posse(&["hooks", "list"]).says("No hooks.");
    own_settings(&person, &settings("PreToolUse", "Bash|Write", "echo 'never' >&2; exit 2"));
    write(&person, ".claude/settings.json", &settings("Stop", "", "sh ./stop.sh"));
    let listed = person.posse(&["hooks", "list"]);
    listed
        .says("PreToolUse          Bash|Write    echo 'never' >&2; exit 2  ~/.claude/settings.json (as you)");
    listed.says("(does not run before posse trust)");
    person.posse(&["trust", "--yes"]);
    let listed = person.posse(&["hooks", "list", "--json"]);
    let states: Vec<_> =
        listed.events().iter().map(|hook| (hook["trusted"].clone(), hook["confined"].clone())).collect();
    assert_eq!(states, [(json!(true), json!(false)), (json!(true), json!(true))]);
    let tried =
        person.posse(&["hooks", "test", "PreToolUse", "--tool", "Bash", "--input", r#"{"command": "ls"}"#]);
    assert_eq!(tried.code, Some(0), "{tried:#?}");
    for part in
        ["\"command\": \"ls\"", "exit code 2", "stderr: never", "decision: deny (never)", "1 hook ran."]
    {
        tried.says(part);
    }
    person
        .posse(&["hooks", "test", "PreToolUse", "--tool", "Read"])
        .says("No hook runs at PreToolUse for that");
    let wrong = person.posse(&["hooks", "test", "Nowhere"]);
    assert_ne!(wrong.code, Some(0));
    wrong.says("the events are PreToolUse, PermissionRequest,");
}
