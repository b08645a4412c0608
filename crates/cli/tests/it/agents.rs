//! `posse agents`: roles are listed, shown, checked and begun.

use posse_testkit::Fixture;
use serde_json::Value;

use crate::posse::{Person, text};
use crate::terminal::in_terminal_of;

fn agent(name: &str, more: &str) -> String {
    format!("---\nname: {name}\ndescription: about {name}\n{more}---\nGo on.\n")
}

fn person(project: Fixture) -> Person {
    Person::with_project([], project.git())
}

#[test]
fn roles_are_listed_in_words_and_as_json() {
    let project = Fixture::new()
        .file(".claude/agents/db.md", agent("db-expert", "tools: Read, Grep\nmodel: fake\nmaxTurns: 7\n"))
        .file(".posse/agents/page.md", "nothing here")
        .file(".posse/agents/bad.md", "---\nname: open\n");
    let person = person(project);
    let list = person.posse(&["agents", "list"]);
    assert_eq!(list.code, Some(0), "{list:#?}");
    insta::assert_snapshot!(list.stdout);
    let narrow = in_terminal_of(80, &person, "agents list", &[("NO_COLOR", "1")]);
    let narrow = String::from_utf8(narrow).unwrap();
    assert!(narrow.lines().all(|line| line.trim_end().chars().count() <= 80), "{narrow}");
    person.configure_more("[rights]\nnetwork = \"full\"\n");
    person.posse(&["agents", "list"]).says("read, write, full shell, network");

    let json = person.posse(&["agents", "list", "--json"]).events();
    assert_eq!(json.len(), 9);
    assert_eq!((&json[8]["name"], &json[8]["budget"]["turns"]), (&Value::from("db-expert"), &Value::from(7)));
    assert!(json.iter().all(|role| role.get("prompt").is_none()));
    assert_eq!(person.posse(&["agents", "list", "--all", "--json"]).events().len(), 15);
}

#[test]
fn one_role_is_shown_with_everything() {
    let person = person(Fixture::new().file(
        ".posse/agents/x.md",
        "---\nname: loud\ndescription: \"red \\e[31mtext\"\ntools: Read, mcp__git\ndelegates_to: explore\non: gpu-1\n---\nA\u{1b}[2Jprompt",
    ));
    let shown = person.posse(&["agents", "show", "EXPLORER"]);
    for part in [
        "explore\n",
        "aliases    explorer, exploration",
        "may        read, shell to inspect here; at most read, shell to inspect, network",
        "but not edit, edit_file, task:*",
        "delegates  none",
        "model      its parent's",
        "You answer a question about this code",
    ] {
        shown.says(part);
    }
    let shown = person.posse(&["agents", "show", "loud"]);
    for part in [
        "red \\u{1b}[31mtext",
        "\nA\\u{1b}[2Jprompt",
        "tools      mcp__git, mcp__git__*, read_file",
        "delegates  explore",
        "runs on    gpu-1",
    ] {
        shown.says(part);
    }
    assert!(!shown.stdout.contains('\u{1b}'), "{shown:#?}");
    person.posse(&["agents", "show", "planner"]).says("15 turns, 3 min");
    person.posse(&["agents", "show", "custom"]).says("those that the task lists");
    assert_eq!(person.posse(&["agents", "show", "tester", "--json"]).events()[0]["name"], "verifier");

    let unknown = person.posse(&["agents", "show", "exploer"]);
    assert_eq!(unknown.code, Some(2));
    for part in ["\"exploer\"", "did you mean explore?", "general (worker, default, general-purpose)", "loud"]
    {
        unknown.says(part);
    }
}

#[test]
fn check_tells_the_file_the_line_and_the_fault() {
    let project = Fixture::new()
        .file("good/a.md", agent("a", ""))
        .file("good/b.md", agent("b", "color: red\nodd: 1\ntools: Read, Bash(git:*)\n"))
        .file("bad/c.md", "---\nname: c\n")
        .file(".claude/agents/d.md", agent("d", ""))
        .file(".claude/agents/e.md", agent("e:f", ""));
    let person = person(project);
    let good = person.posse(&["agents", "check", "good"]);
    assert_eq!(good.code, Some(0), "warnings are no failure: {good:#?}");
    assert_eq!(
        good.stdout.lines().map(|line| line.split(": ").next().unwrap()).collect::<Vec<_>>(),
        ["good/b.md:5", "good/b.md:6", "2 files checked"]
    );
    let verbose = person.posse(&["agents", "check", "--verbose", "good"]);
    verbose.says("good/b.md:4: the key \"color\" is not used");

    let bad = person.posse(&["agents", "check", "good/a.md", "bad"]);
    assert_eq!(bad.code, Some(1));
    bad.says("bad/c.md:1: broken: the front matter");
    bad.says("2 files checked: 1 broken, 0 warnings.");

    let all = person.posse(&["agents", "check"]);
    assert_eq!(all.code, Some(1));
    all.says("e.md:2: broken: \"e:f\" cannot be a role's name");
    all.says("2 files checked: 1 broken, 0 warnings.");
    let missing = person.posse(&["agents", "check", "nowhere"]);
    assert_eq!(missing.code, Some(2));
    missing.says("nowhere");
}

#[test]
fn a_new_file_is_good_and_never_replaces_one() {
    let person = person(Fixture::new());
    let new = person.posse(&["agents", "new", "db-expert", "--description", "Knows: \"SQL\""]);
    assert_eq!(new.code, Some(0), "{new:#?}");
    new.says(".posse/agents/db-expert.md");
    new.says("  check  posse agents check\n  allow  posse trust\n");
    let checked = person.posse(&["agents", "check"]);
    assert!(checked.stdout.ends_with("1 file checked: 0 broken, 1 warning.\n"), "{checked:#?}");
    checked.says("db-expert.md:1: its text is still the template's: say how the agent works");
    person.posse(&["agents", "show", "db_expert"]).says("Knows: \"SQL\"");

    let before = person.file(".posse/agents/db-expert.md");
    let again = person.posse(&["agents", "new", "db-expert"]);
    assert_eq!(again.code, Some(2));
    again.says("already there");
    assert_eq!(person.file(".posse/agents/db-expert.md"), before);

    let own = person.posse(&["agents", "new", "explore", "--user"]);
    own.says("replaces explore");
    let path = person.config().with_file_name("agents").join("explore.md");
    assert!(path.is_file(), "{}", text(&path));
    assert_eq!(person.posse(&["agents", "new", "explore", "--user"]).code, Some(2));
    for name in ["../x", "a/b", "a:b", "-x", "a b", "", "*"] {
        let ran = person.posse(&["agents", "new", "--", name]);
        assert_eq!(ran.code, Some(2), "{name:?}: {ran:#?}");
    }
}

#[test]
fn the_persons_folders_are_read_too() {
    let person = person(Fixture::new().file(".claude/agents/mine.md", agent("mine", "model: theirs\n")));
    let home = person.config().parent().unwrap().to_path_buf();
    for (path, name) in
        [("agents/one.md", "one"), (".claude/agents/two.md", "two"), (".claude/agents/mine.md", "mine")]
    {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, agent(name, "files: read\n")).unwrap();
    }
    let json = person.posse(&["agents", "list", "--json"]).events();
    let names = json[8..].iter().map(|role| role["name"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(names, ["one", "mine", "two"]);
    let mine = &json[9];
    assert_eq!((&mine["model"], &mine["grant"]["files"]), (&Value::from("theirs"), &Value::from("read")));
    assert!(mine["origin"]["project"].as_str().unwrap().ends_with(".claude/agents/mine.md"), "{mine}");
}

#[cfg(unix)]
#[test]
fn a_new_file_does_not_leave_the_project() {
    let person = person(Fixture::new().file("main.py", "x"));
    let outside = Fixture::new();
    std::os::unix::fs::symlink(outside.path(), person.project.path().join(".posse")).unwrap();
    assert_eq!(person.posse(&["agents", "new", "x"]).code, Some(2));
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_session_begins_with_what_a_project_did_to_roles() {
    let project = Fixture::new()
        .file(".claude/agents/explore.md", agent("explore", "maxTurns: 45000\n"))
        .file(".posse/agents/odd.md", agent("odd", "deny: Bash\nversion: 2\n"));
    let person = Person::with_project(
        [posse_testkit::Turn::text("Done."), posse_testkit::Turn::text("Done.")],
        project.git(),
    );
    let (replaced, closed) = (
        "explore.md: the project's file replaces the prompt of the built-in role \"explore\"",
        "odd.md: the key \"deny\" is not known and looks like a right or a limit, so this role may only read",
    );
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says(replaced);
    ran.says(closed);
    assert!(!ran.stderr.contains("version"), "{ran:#?}");
    for args in [&["agents", "list"][..], &["agents", "check"]] {
        let said = person.posse(args);
        said.says("replaces the prompt of the built-in role");
        said.says("so this role may only read");
    }
    let roles = person.posse(&["agents", "list", "--json"]).events();
    let role = |name: &str| roles.iter().find(|role| role["name"] == name).unwrap();
    assert_eq!(
        (&role("odd")["grant"]["files"], &role("odd")["grant"]["shell"]),
        (&"read".into(), &"none".into())
    );
    // Whoever trusts the file has seen its words.
    assert_eq!(person.posse(&["trust", "--yes"]).code, Some(0));
    let ran = person.posse(&["run", "go"]);
    assert!(!ran.stderr.contains("replaces the prompt") && ran.stderr.contains("may only read"), "{ran:#?}");
}
