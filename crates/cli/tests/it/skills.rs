//! The skills that agents find, as the person looks at them.

use posse_testkit::{Fixture, Turn};

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
