//! The skills that agents find, as the person looks at them.

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::posse::Person;

#[test]
fn a_project_does_not_replace_a_skill_of_the_person() {
    let skill = |whose: &str| format!("---\nname: release\ndescription: The way of {whose}.\n---\nTag it.\n");
    let project = Fixture::new().file(".posse/skills/release/SKILL.md", skill("the project")).git();
    let person = Person::with_project([Turn::text("ok")], project);
    let own = person.config().with_file_name("skills").join("release");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(own.join("SKILL.md"), skill("the person")).unwrap();
    let list = person.posse(&["skills", "list"]);
    list.says("release  you      The way of the person.");
    list.says("release goes before the one in ");
    list.says(".posse/skills/release");
    let told = &person.posse(&["skills", "list", "--json"]).events()[0];
    assert_eq!((&told["from"], told["hides"].as_array().unwrap().len()), (&"you".into(), 1));
    person.posse(&["run", "go"]);
    let asked = person.model.requests()[0].json().to_string();
    assert!(asked.contains("The way of the person.") && !asked.contains("The way of the project."));
}

#[test]
fn skills_are_listed_and_shown() {
    let person = Person::new([]);
    person.posse(&["skills", "list"]).says("No skills here.");
    let project = Fixture::new()
        .file(
            ".posse/skills/release/SKILL.md",
            "---\nname: release\ndescription: How a release\x1b[2J is made.\n---\nTag it.\n",
        )
        .file(".posse/skills/release/references/more.md", "More.")
        .file(".claude/skills/plain/SKILL.md", "Only text.")
        .git();
    let person = Person::with_project([Turn::text("ok")], project);
    let list = person.posse(&["skills", "list"]);
    for part in ["release  project  How a release", "plain    project", "posse skills show"] {
        list.says(part);
    }
    assert!(!list.stdout.contains('\u{1b}'), "{list:#?}");
    let shown = person.posse(&["skills", "show", "release"]);
    for part in ["release\n", "references/more.md", "Tag it.", ".posse/skills/release"] {
        shown.says(part);
    }
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:#?}");
    let json = person.posse(&["skills", "show", "release", "--json"]).events();
    assert_eq!((&json[0]["key"], &json[0]["from"]), (&"release".into(), &"project".into()));
    assert_eq!(person.posse(&["skills", "list", "--json"]).events().len(), 2);
    let ran = person.posse(&["skills", "show", "relaese"]);
    assert_eq!(ran.code, Some(2));
    ran.says("did you mean release?");
    person.posse(&["run", "go"]);
    let asked = person.model.requests()[0].json().to_string();
    assert!(
        asked.contains("How a release") && !asked.contains("Tag it."),
        "models are told of it, not all of it"
    );
}

#[test]
fn scripts_of_the_persons_skills_run_and_their_texts_are_read_to_the_end() {
    let long = (0..4_000).map(|n| format!("Step {n}.\n")).collect::<String>();
    let text = |body: &str| format!("---\nname: x\ndescription: Says hello.\n---\n{body}");
    let load = |key: &str, offset: u64| json!({"key": key, "offset": offset});
    let folder = std::sync::Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let places = folder.clone();
    let answer = move |request: &posse_testkit::Captured| {
        let request = request.json();
        let results = request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
        let results = results.map(|m| m["content"].as_str().unwrap().to_string()).collect::<Vec<_>>();
        if results.is_empty() {
            return Turn::call("skill_load", load("hello", 0)).and_call("skill_load", load("own", 0));
        }
        let last = results.last().unwrap();
        if results.len() == 2 {
            let place = |text: &String| {
                let (_, rest) = text.split_once("Its files are in ").unwrap();
                rest.split(" (").next().unwrap().to_string()
            };
            *places.lock().unwrap() = results.iter().map(place).collect();
            let run =
                format!("for f in {}; do sh $f/scripts/hello.sh; done", places.lock().unwrap().join(" "));
            return Turn::call("shell", json!({"command": run, "timeout_ms": 20_000}));
        }
        match last.split_once("go on with offset ") {
            Some((_, at)) => {
                Turn::call("skill_load", load("own", at.split(')').next().unwrap().parse().unwrap()))
            }
            None if results.len() == 3 => Turn::call("skill_load", load("own", 0)),
            None => Turn::text("Done."),
        }
    };
    let project = Fixture::new().file("main.py", "print('hi')\n").git();
    let person = Person::with_model(posse_testkit::FakeModel::by_rule_blocking(answer), project);
    let home = person.config().parent().unwrap().to_path_buf();
    for (at, body) in [(".claude/skills/group/hello", "Run it."), ("skills/own", long.as_str())] {
        let at = home.join(at);
        std::fs::create_dir_all(at.join("scripts")).unwrap();
        std::fs::write(at.join("SKILL.md"), text(body)).unwrap();
        std::fs::write(at.join("scripts/hello.sh"), "echo hello from $0\n").unwrap();
    }
    std::fs::write(home.join("secret.txt"), "secret").unwrap();
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let requests = person.model.requests();
    let last = requests.last().unwrap().json();
    let results = last["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool");
    let results = results.map(|m| m["content"].as_str().unwrap()).collect::<Vec<_>>();
    for place in folder.lock().unwrap().iter() {
        assert!(results[2].contains(&format!("hello from {place}/scripts/hello.sh")), "{}", results[2]);
    }
    assert!(results.last().unwrap().contains("| Step 3999."), "the text is read to its end");
}
