//! The skills that agents find, as the person looks at them.

use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use serde_json::json;

use crate::crew::REPORT;
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

fn bash(line: &str) -> Turn {
    Turn::call("bash", json!({"command": line}))
}

/// Two agents ask for the skill agent at once; it saves a skill with something in it that a terminal would act on.
fn learning(request: &Captured) -> Turn {
    let request = request.json();
    let replies = request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "assistant").count();
    let start = |name: &str| format!("task:general -p 'Learn.' --name {name}");
    match (asker(&request).as_str(), replies) {
        ("main", 0) => bash(&start("ann")).and_call("bash", json!({"command": start("bob")})),
        ("main", 1) => bash("write notes.txt 'Wear gloves.'"),
        ("main", 2) => bash("edit notes.txt gloves mittens"),
        ("main", 3) => bash("cd . && write root tty1"),
        ("main", 4) => bash("skill:load porcupines"),
        ("main", _) => Turn::text("Done."),
        ("ann", 0) => bash("task:skill:search -p 'how to hold porcupines' -d 'find one'"),
        ("bob", 0) => bash("task:skill:enhance -p \"${session-id}\" -d 'learn from it'"),
        ("skill-1", _)
            if request.to_string().contains("Improve skills")
                && !request.to_string().contains("[skill:save]") =>
        {
            bash("skill:save porcupines -d 'How to hold them' --body 'With gloves.\u{1b}[2J'")
        }
        _ => Turn::text(REPORT),
    }
}

#[test]
fn a_skill_that_was_written_unattended_waits_for_the_person() {
    let model = FakeModel::by_rule_blocking(learning);
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    person.posse(&["skills", "review"]).says("No drafts wait for you.");
    let ran = person.posse(&["run", "--surface", "shell", "--approval", "auto", "--json", "Learn from this"]);
    let finished = |name: &str| {
        let events = ran.events();
        let of = |event: &serde_json::Value| {
            event["type"] == "tool_finished" && event["text"].as_str().is_some_and(|text| text.contains(name))
        };
        events.iter().any(of)
    };
    assert_eq!(person.file("notes.txt"), "Wear mittens.");
    for part in ["skill-1 (skill)", "Usage: write PATH TEXT", "Kept as a draft", "porcupines is a draft"] {
        assert!(finished(part), "{part}: {ran:#?}");
    }
    let view = person.model.requests().iter().any(|request| {
        asker(&request.json()) == "skill-1"
            && request.json().to_string().contains("| person: Learn from this")
    });
    assert!(view, "the skill agent is told what happened");
    let skill = person.project.path().join(".posse/skills/porcupines/SKILL.md");
    assert!(!skill.exists());
    person.posse(&["skills", "list"]).says("1 draft waits for you; see: posse skills review");
    let list = person.posse(&["skills", "review"]);
    list.says("porcupines  project  How to hold them");
    let shown = person.posse(&["skills", "review", "porcupines"]);
    shown.says("With gloves.");
    shown.says("posse skills review porcupines --accept");
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:#?}");
    let json = &person.posse(&["skills", "review", "porcupines", "--json"]).events()[0];
    assert_eq!((&json["key"], &json["scope"]), (&"porcupines".into(), &"project".into()));
    assert_eq!(person.posse(&["skills", "review", "hedgehogs", "--accept"]).code, Some(2));
    person
        .posse(&["skills", "review", "porcupines", "--accept"])
        .says("porcupines is a skill now: .posse/skills/porcupines/SKILL.md");
    assert!(std::fs::read_to_string(skill).unwrap().contains("With gloves."));
    person.posse(&["skills", "review"]).says("No drafts wait for you.");
    person.posse(&["skills", "list"]).says("porcupines  project  How to hold them");
    // The same once more, and this time it is thrown away.
    let again = person.posse(&["run", "--surface", "shell", "--approval", "auto", "Learn from this"]);
    again.says("draft for posse skills review: skill_save .posse/skills/porcupines/SKILL.md");
    person.posse(&["skills", "review", "porcupines"]).says("replaces");
    person.posse(&["skills", "review", "porcupines", "--reject"]).says("1 draft of porcupines rejected.");
    person.posse(&["skills", "review", "--json"]);
    person.posse(&["skills", "review"]).says("No drafts wait for you.");
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
