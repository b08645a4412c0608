//! What is hidden in the workspace stays hidden: by `deny` rules about reading, and in a home by what it is.

use std::sync::{Arc, Mutex};

use posse_testkit::attacks::{self, Attempt};
use serde_json::Value;

use super::player::{Actor, By, Level, Moment, Play, play, short};
use super::world::World;
use super::{SECRET, settle};

const RULES: &str =
    "[approval]\ndeny = [\"read_file(.env)\", \"Read(pkg/private/*)\", \"read_file(**/*.pem)\"]\n";

/// The attempts where the workspace is a home, or the others.
fn table(home: bool) -> Vec<Attempt> {
    attacks::hidden().into_iter().filter(|attempt| attempt.name.starts_with("home") == home).collect()
}

/// The same with harmless work in between: whoever makes only calls that are refused is stopped.
fn with_breaks(attempts: Vec<Attempt>) -> Vec<Attempt> {
    let breaks = |(number, attempt): (usize, Attempt)| {
        let attack: &'static str = Box::leak(format!("{{\"command\":\"echo {number}\"}}").into_boxed_str());
        [attempt, Attempt { name: "break", kind: "shell", set_up: None, attack }]
    };
    attempts.into_iter().enumerate().flat_map(breaks).collect()
}

fn withstand(home: bool, level: Level, actor: Actor, committed: usize) {
    let mut as_whom = Play { by: By::Tool, ..Play::new(level, actor) };
    if home {
        as_whom.flags = vec!["--workspace-is-home"];
        as_whom.env = vec![("HOME".to_string(), "@WS@".to_string())];
    } else {
        as_whom.more = RULES;
    }
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&faults);
    let played = play(as_whom, with_breaks(table(home)), move |world, attempt, moment| {
        if let Moment::After(answer, _) = moment {
            let copied = std::fs::read_to_string(world.at("workspace/copy")).unwrap_or_default();
            if answer.contains(SECRET) || copied.contains(SECRET) {
                noted.lock().unwrap().push(format!("{}: told: {}", attempt.name, short(answer)));
            }
        }
    });
    let mut faults = std::mem::take(&mut *faults.lock().unwrap());
    if played.ran.code != Some(0) {
        faults.push(format!("posse ended with {:?}: {}", played.ran.code, played.ran.stderr));
    }
    settle(&format!("hidden, home {home}, {level:?}, {actor:?}"), played.made / 2, committed, &faults);
}

#[test]
fn what_a_rule_hides_is_read_by_nobody() {
    for (level, actor) in [
        (Level::Full, Actor::Main),
        (Level::Verify, Actor::Main),
        (Level::Inspect, Actor::Main),
        (Level::Full, Actor::Depth3),
        (Level::Full, Actor::Apart),
    ] {
        withstand(false, level, actor, 45);
    }
}

#[test]
fn a_home_as_workspace_hides_what_homes_hide() {
    for (level, actor) in [
        (Level::Full, Actor::Main),
        (Level::Verify, Actor::Main),
        (Level::Inspect, Actor::Main),
        (Level::Full, Actor::Depth3),
    ] {
        withstand(true, level, actor, 28);
    }
}

/// Without confinement every command tells what it is after.
#[test]
fn every_attempt_on_what_is_hidden_is_a_real_one() {
    let mut tried = 0;
    for home in [false, true] {
        let world = World::new("");
        let fill = |text: &str| {
            world.fill(text, "/tmp").replace("~/", &format!("{}/", world.at("workspace").display()))
        };
        for attempt in table(home) {
            if let Some(set_up) = attempt.set_up {
                assert_eq!(world.shell(&fill(set_up)).code, Some(0), "{}", attempt.name);
            }
            if attempt.kind == "shell" {
                let arguments: Value = serde_json::from_str(&fill(attempt.attack)).unwrap();
                let ran = world.shell(arguments["command"].as_str().unwrap());
                assert!(ran.stdout.contains(SECRET), "{}: {ran:#?}", attempt.name);
                tried += 1;
            }
        }
    }
    assert_eq!(tried, 33);
}

/// A home, the root and what holds homes are no workspace unless the person says so.
#[test]
fn a_home_is_no_workspace_by_itself() {
    let world = World::new("[models.fake]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n");
    let home = world.at("home").display().to_string();
    let base = world.base().display().to_string();
    let link = world.at("tmp/link");
    std::os::unix::fs::symlink(world.at("home"), &link).unwrap();
    let cases = [
        (home.as_str(), "is your home folder"),
        (link.to_str().unwrap(), "is your home folder"),
        (&base, "holds home folders"),
        ("/", "is the root of the file system"),
        ("/home", ""),
        (&format!("{home}/.ssh"), "holds credentials or histories"),
    ];
    for (folder, part) in cases {
        for flags in [&[][..], &["--no-sandbox"], &["--approval", "full"]] {
            let ran = world.posse(&[&["run", "-C", folder], flags, &["go"]].concat());
            assert!(ran.code == Some(2) && ran.stderr.contains(part), "{folder}: {ran:#?}");
            assert!(part.is_empty() || ran.stderr.contains("--workspace-is-home"), "{folder}: {ran:#?}");
        }
    }
    let listed = world.posse(&["sessions", "list"]);
    assert!(!listed.stdout.contains("go"), "no session was begun: {listed:#?}");
    // A session that was begun with the flag needs it again.
    let ran = world.posse(&["run", "-C", &home, "--workspace-is-home", "--max-time", "1s", "go"]);
    assert!(!ran.stderr.contains("is your home folder"), "{ran:#?}");
    let output = world.command(&["resume", "last", "more"]).current_dir(&home).output().unwrap();
    let ran = crate::posse::Ran::from(output);
    assert!(ran.stderr.contains("is your home folder"), "{ran:#?}");
}
