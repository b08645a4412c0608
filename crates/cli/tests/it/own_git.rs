//! The git that Posse calls by itself: which one that is, and what it is asked of the person.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::posse::Person;

/// A program that passes everything on to the system's git.
fn pass_on(at: &Path) -> PathBuf {
    std::fs::create_dir_all(at.parent().unwrap()).unwrap();
    std::fs::write(at, "#!/bin/sh\nPATH=/usr/local/bin:/usr/bin:/bin exec git \"$@\"\n").unwrap();
    std::fs::set_permissions(at, std::fs::Permissions::from_mode(0o755)).unwrap();
    at.canonicalize().unwrap()
}

fn home(person: &Person) -> PathBuf {
    person.data_dir().parent().unwrap().to_path_buf()
}

#[test]
fn only_the_person_names_another_git() {
    let person = Person::new([]);
    let configured = std::fs::read_to_string(person.config()).unwrap();
    let set = |path: &Path| person.configure(&format!("{configured}[git]\npath = \"{}\"\n", path.display()));
    let (mine, elsewhere) = (pass_on(&home(&person).join("tools/git")), tempfile::tempdir().unwrap());
    // In the home folder it is not found, but may be named.
    let searched = |person: &Person| {
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", mine.parent().unwrap().display());
        String::from_utf8(person.command(&["doctor"]).env("PATH", path).output().unwrap().stdout).unwrap()
    };
    assert!(searched(&person).contains("✓ git") && !searched(&person).contains("tools/git"));
    set(&mine);
    assert!(searched(&person).contains("~/tools/git"), "{}", searched(&person));
    let other = pass_on(&elsewhere.path().join("bin/git"));
    set(&other);
    person.posse(&["doctor"]).says(other.to_str().unwrap());
    set(&pass_on(&person.project.path().join("bin/git")));
    person.posse(&["doctor"]).says("it is in a folder that agents may write");
    set(&person.config());
    person.posse(&["doctor"]).says("✗ git");
    set(Path::new("bin/git"));
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("path in [git] must be an absolute path");
}

#[test]
fn a_project_names_no_git_trusted_or_not() {
    let elsewhere = tempfile::tempdir().unwrap();
    let planted = pass_on(&elsewhere.path().join("bin/git"));
    let toml = format!("[git]\npath = \"{}\"\n", planted.display());
    let person = Person::with_project([], Fixture::new().file(".posse/config.toml", toml).git());
    for _ in 0..2 {
        let ran = person.posse(&["doctor"]);
        ran.says("wants to set git; only your own configuration can");
        ran.says("✓ git");
        assert!(!ran.stdout.contains(planted.to_str().unwrap()), "{ran:#?}");
        person.posse(&["trust", "--yes"]);
    }
}

/// Without git a session goes on; a sub-agent that was to work apart is told why it does not.
#[test]
fn without_git_sessions_go_on() {
    let start = json!({"action": "start", "name": "ann", "role": "general", "prompt": "Do it.",
                       "isolation": "worktree", "background": false});
    let turns = [
        Turn::call("shell", json!({"command": "echo x > made.txt"})),
        Turn::call("agent", start),
        Turn::text("SUMMARY: it is done."),
        Turn::text("All is done."),
    ];
    let person = Person::new(turns);
    person.configure_more("[git]\npath = \"/no/such/git\"\n");
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("the git that path in [git] names cannot be used: it is not there");
    assert_eq!(person.file("made.txt"), "x\n");
}

/// What commands are told of who commits, with this in the home folder and in the project.
fn committer(files: &[(&str, &str)]) -> String {
    let person = Person::new([
        Turn::call("shell", json!({"command": "echo \"by [$GIT_AUTHOR_NAME] [$GIT_COMMITTER_EMAIL]\""})),
        Turn::text("Told."),
    ]);
    let (home, project) = (home(&person), person.project.path().canonicalize().unwrap());
    for (path, text) in files {
        let path = match path.strip_prefix("project/") {
            Some(inside) => project.join(inside),
            None => home.join(path),
        };
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("@PROJECT@", project.to_str().unwrap())).unwrap();
    }
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = person.model.requests()[1].json().to_string();
    let (_, by) = told.rsplit_once("by [").unwrap();
    by.split_once("]\\n").or_else(|| by.split_once("]\"")).unwrap().0.replace("] [", " ")
}

#[test]
fn who_commits_is_read_from_the_persons_own_files() {
    const ME: &str = "[user]\n\tname = Me\n\temail = me@x.invalid\n";
    let cases: [(&[(&str, &str)], &str); 9] = [
        (&[(".gitconfig", ME)], "Me me@x.invalid"),
        (&[(".config/git/config", ME)], "Me me@x.invalid"),
        (&[(".config/git/config", ME), (".gitconfig", "[user]\n\tname = I\n")], "I me@x.invalid"),
        (&[(".gitconfig", "[include]\n\tpath = ~/more\n"), ("more", ME)], "Me me@x.invalid"),
        (
            &[(".gitconfig", "[includeIf \"gitdir:@PROJECT@/\"]\n\tpath = more\n"), ("more", ME)],
            "Me me@x.invalid",
        ),
        (&[(".gitconfig", "[includeIf \"gitdir:/no/such/\"]\n\tpath = more\n"), ("more", ME)], " "),
        (&[(".gitconfig", "[include]\n\tpath = @PROJECT@/more\n"), ("project/more", ME)], " "),
        (&[(".gitconfig", "[user]\n\tname = \"a\\nb\"\n\temail = me@x.invalid\n")], " "),
        (&[], " "),
    ];
    for (files, expected) in cases {
        assert_eq!(committer(files), expected, "{files:?}");
    }
}
