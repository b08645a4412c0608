//! X5: a repository that wants to act does not: nothing of it is run, nobody else is asked, nothing outside is read.

use std::path::Path;
use std::time::Instant;

use posse_testkit::attacks::{self, HostileRepository};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use super::world::World;
use super::{SECRET, in_parallel, settle};

/// Only to tell a hang from a busy machine.
const HANGS_AFTER_S: u64 = 60;

/// What the model does in a hostile repository: it reads, writes, runs a command, and delegates with a checkout.
fn turns() -> Vec<Turn> {
    let call = |tool: &str, arguments: Value| Turn::call(tool, arguments);
    vec![
        call("list_files", json!({})),
        call("read_file", json!({"path": "src/a.txt"})),
        call("grep", json!({"pattern": "alpha"})),
        call("edit_file", json!({"path": "src/a.txt", "old_text": "alpha", "new_text": "omega"})),
        call("write_file", json!({"path": "src/new.txt", "content": "new\n"})),
        call("shell", json!({"command": "echo more >> src/b.txt; ls"})),
        call("agent", json!({"prompt": "write it down", "isolation": "worktree", "background": false})),
        call("write_file", json!({"path": "src/child.txt", "content": "child\n"})),
        Turn::text("SUMMARY: it is written down."),
        Turn::text("All is done here."),
    ]
}

/// Everything a person may do in a repository they have just got.
const VISITS: &[&[&str]] = &[
    &["doctor"],
    &["agents", "check"],
    &["trust"],
    &["run", "go"],
    &["sessions", "show"],
    &["diff"],
    &["undo"],
];

/// The set-up with its traps filled in.
fn fill(world: &World, text: &str, trap: &str) -> String {
    world.fill(text, "/tmp").replace("@MARK@", &marker(world).display().to_string()).replace("@TRAP@", trap)
}

fn marker(world: &World) -> std::path::PathBuf {
    world.at("marker")
}

fn set_up(world: &World, repository: &HostileRepository, trap: &str) {
    let ran = world.shell(&fill(world, repository.set_up, trap));
    assert_eq!(ran.code, Some(0), "the set-up of {}: {ran:#?}", repository.name);
    remove(&marker(world));
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}

fn visit(repository: &HostileRepository) -> Vec<String> {
    let (model, trap) = (FakeModel::start_blocking(), FakeModel::start_blocking());
    turns().into_iter().for_each(|turn| model.push(turn));
    let endpoint = model.base_url();
    let world = World::new(&format!("[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\n"));
    set_up(&world, repository, &trap.base_url());
    let mut faults = Vec::new();
    for args in VISITS {
        let since = Instant::now();
        let ran = world.posse(args);
        let mut note =
            |what: &str| faults.push(format!("{}: posse {}: {what}", repository.name, args.join(" ")));
        if marker(&world).exists() {
            note("something was run");
            remove(&marker(&world));
        }
        if trap.connections() > 0 {
            note("the trap was asked");
        }
        if ran.stdout.contains(SECRET) || ran.stderr.contains(SECRET) {
            note("told what stands outside");
        }
        if ran.stderr.contains("panicked") || ran.code.is_none() {
            note(&format!("{ran:?}"));
        }
        if since.elapsed().as_secs() > HANGS_AFTER_S {
            note("hung");
        }
    }
    let told = |request: &posse_testkit::Captured| String::from_utf8_lossy(&request.body).contains(SECRET);
    if model.requests().iter().any(told) {
        faults.push(format!("{}: what stands outside reached the model", repository.name));
    }
    faults
}

#[test]
fn hostile_repositories_do_not_act() {
    let repositories = attacks::repositories();
    let faults = in_parallel(repositories, 3, |repository| visit(&repository));
    let made = faults.len();
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    settle("hostile repositories", made, 30, &faults);
}

/// A good repository is worked in to the end: the visits do what they are meant to do.
#[test]
fn a_good_repository_is_worked_in() {
    let model = FakeModel::start_blocking();
    turns().into_iter().for_each(|turn| model.push(turn));
    let endpoint = model.base_url();
    let world = World::new(&format!("[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\n"));
    let ran = world.posse(&["run", "go"]);
    assert_eq!((ran.code, model.turns_left()), (Some(0), 0), "{ran:#?}");
    let read = |path: &str| std::fs::read_to_string(world.at("workspace").join(path)).unwrap();
    assert_eq!((read("src/a.txt").as_str(), read("src/b.txt").as_str()), ("omega\n", "beta\nmore\n"));
    assert!(!world.at("workspace/src/child.txt").exists(), "the child worked in a checkout of its own");
}

/// The traps go off where nobody takes care.
#[test]
fn hostile_repositories_are_real_ones() {
    let with_control = attacks::repositories().into_iter().filter(|repository| repository.control.is_some());
    let harmless = in_parallel(with_control.collect(), 2, |repository: HostileRepository| {
        let world = World::new("");
        set_up(&world, &repository, "http://127.0.0.1:9/v1");
        let ran = world.shell(&fill(&world, repository.control.unwrap_or_default(), ""));
        (!marker(&world).exists()).then(|| format!("{}: its trap does not go off: {ran:?}", repository.name))
    });
    let made = harmless.len();
    settle("traps without care", made, 25, &harmless.into_iter().flatten().collect::<Vec<_>>());
}
