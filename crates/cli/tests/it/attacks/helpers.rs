//! X9: programs that Posse starts on its own account are its own: nothing planted runs in their place or by way of them,
//! they write nothing outside, and none of what they could read there is told.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_testkit::attacks::{self, Plant};
use posse_testkit::{FakeModel, Turn};
use serde_json::{Value, json};

use super::player::short;
use super::snapshot::Snapshot;
use super::world::{PATH, World};
use super::{SECRET, in_parallel, settle};

/// What the set-ups are written with. The library leaves the mark in git alone: Posse itself is the person's to start.
const TOOLS: &str = r#"
plant() { mkdir -p "$(dirname "$1")"; printf '#!/bin/sh\n: > @MARK@\ncat @OUT@/file.txt >&2\nexit 1\n' > "$1"; chmod 755 "$1"; }
library() { printf '%s\n' '#define _GNU_SOURCE' '#include <errno.h>' '#include <fcntl.h>' '#include <string.h>' \
  '__attribute__((constructor)) static void begin(void) { if (!strcmp(program_invocation_short_name, "git")) open("@MARK@", O_CREAT | O_WRONLY, 0600); }' \
  'unsigned la_version(unsigned version) { return version; }' > "$1.c"; cc -shared -fPIC -o "$1" "$1.c"; }
"#;

/// What the model does: everything that has Posse call git, in the main agent and by a sub-agent with a checkout. It calls
/// none itself: commands see what is outside, and may tell it.
fn turns() -> Vec<Turn> {
    let call = |tool: &str, arguments: Value| Turn::call(tool, arguments);
    let start = json!({"action": "start", "name": "ann", "role": "general", "prompt": "write it down",
                       "isolation": "worktree", "background": false});
    vec![
        call("shell", json!({"command": "echo more >> src/b.txt"})),
        call("write_file", json!({"path": "src/new.txt", "content": "new\n"})),
        call("agent", start),
        call("shell", json!({"command": "echo child > src/child.txt"})),
        Turn::text("SUMMARY: it is written down."),
        call("agent", json!({"action": "merge", "name": "ann"})),
        Turn::text("All is done here."),
    ]
}

/// What the person does around that.
const VISITS: &[&[&str]] = &[
    &["run", "go"],
    &["merge", "ann"],
    &["diff"],
    &["undo"],
    &["sessions", "export", "last", "--format", "json"],
];

fn marker(world: &World) -> PathBuf {
    world.at("marker")
}

fn fill(world: &World, text: &str) -> String {
    let mark = marker(world).display().to_string();
    world.fill(text, "/tmp").replace("@MARK@", &mark).replace("@PATH@", PATH)
}

/// Plants it, and forgets what the planting itself set off.
fn set_up(world: &World, plant: &Plant) {
    let ran = world.shell(&fill(world, &format!("{TOOLS}\nset -e\n{}", plant.set_up)));
    assert_eq!(ran.code, Some(0), "the set-up of {}: {ran:#?}", plant.name);
    let _ = std::fs::remove_file(marker(world));
}

fn environment(world: &World, plant: &Plant) -> Vec<(String, String)> {
    // A value may hold the separator itself: only what looks like a variable begins a new one.
    let mut variables: Vec<(String, String)> = Vec::new();
    for part in plant.environment.unwrap_or_default().split(';').filter(|part| !part.is_empty()) {
        match part
            .split_once('=')
            .filter(|(name, _)| name.chars().all(|c| c.is_ascii_uppercase() || "_0123456789".contains(c)))
        {
            Some((name, value)) => variables.push((name.to_string(), fill(world, value))),
            None => variables.last_mut().unwrap().1.push_str(&format!(";{}", fill(world, part))),
        }
    }
    variables
}

/// What changed that is not in the workspace. Posse's own folder is not looked at.
fn outside(world: &World, before: &Snapshot) -> Vec<String> {
    let changed = world.snapshot().changed_since(before);
    let own = [world.at("workspace"), world.at("data")];
    let theirs = |path: &String| !own.iter().any(|own| Path::new(path).starts_with(own));
    changed.into_iter().filter(theirs).collect()
}

/// Every file of Posse's own folder that holds the secret.
fn told_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(told_in(&path));
        } else if std::fs::read(&path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(SECRET)) {
            found.push(path.display().to_string());
        }
    }
    found
}

/// When something is planted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Before,
    /// After the first turn has begun.
    Meanwhile,
}

fn visit(plant: &Plant, when: When) -> Vec<String> {
    let turns = std::sync::Mutex::new(turns().into_iter());
    let world: Arc<std::sync::OnceLock<World>> = Arc::default();
    let (for_model, planted) = (Arc::clone(&world), *plant);
    let first = std::sync::Once::new();
    let model = FakeModel::by_rule_blocking(move |_| {
        if when == When::Meanwhile {
            first.call_once(|| set_up(for_model.wait(), &planted));
        }
        turns.lock().unwrap().next().unwrap_or_else(|| Turn::text("There is nothing left to do."))
    });
    let endpoint = model.base_url();
    let made = World::new(&format!("[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\n"));
    let world = world.get_or_init(|| made);
    if when == When::Before {
        set_up(world, plant);
    }
    let variables = environment(world, plant);
    let mut before = world.snapshot();
    let mut faults = Vec::new();
    for args in VISITS {
        let output = world.command(args).envs(variables.clone()).env("POSSE_LOG", "trace").output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        let mut note =
            |what: String| faults.push(format!("{}: posse {}: {what}", plant.name, args.join(" ")));
        if marker(world).exists() {
            note(format!("something planted was run: {}", short(&said)));
            let _ = std::fs::remove_file(marker(world));
        }
        // What was planted in the meantime is not what was written.
        if when == When::Meanwhile && args[0] == "run" {
            before = world.snapshot();
        }
        let changed = outside(world, &before);
        if !changed.is_empty() {
            note(format!("changed {changed:?}"));
        }
        if said.contains(SECRET) {
            note(format!("told what stands outside: {}", short(&said)));
        }
        if said.contains("panicked") || output.status.code().is_none() {
            note(short(&said));
        }
        // Where only the way to git is wrong, the right one does its work.
        if plant.environment.is_some() && args[0] == "run" {
            let merged = std::fs::read_to_string(world.at("workspace/src/child.txt")).unwrap_or_default();
            if merged != "child\n" {
                note(format!("the sub-agent's work did not come in: {}", short(&said)));
            }
        }
    }
    let asked = model.requests();
    if asked.len() < 4 {
        faults.push(format!("{}: only {} requests were made", plant.name, asked.len()));
    }
    if asked.iter().any(|request| String::from_utf8_lossy(&request.body).contains(SECRET)) {
        faults.push(format!("{}: what stands outside reached the model", plant.name));
    }
    faults
        .extend(told_in(&world.at("data")).into_iter().map(|file| format!("{}: told in {file}", plant.name)));
    faults
}

/// How many tests share the plants, so that they can run side by side.
const PARTS: usize = 6;

fn withstand(part: usize) {
    let plants: Vec<Plant> = attacks::helpers().into_iter().skip(part).step_by(PARTS).collect();
    let faults = in_parallel(plants, 2, |plant| visit(&plant, When::Before));
    let made = faults.len();
    settle("plants for our own programs", made, 13, &faults.into_iter().flatten().collect::<Vec<_>>());
}

#[test]
fn our_own_programs_are_ours() {
    withstand(0);
}

#[test]
fn our_own_programs_are_ours_in_the_second_part() {
    withstand(1);
}

#[test]
fn our_own_programs_are_ours_in_the_third_part() {
    withstand(2);
}

#[test]
fn our_own_programs_are_ours_in_the_fourth_part() {
    withstand(3);
}

#[test]
fn our_own_programs_are_ours_in_the_fifth_part() {
    withstand(4);
}

#[test]
fn our_own_programs_are_ours_in_the_sixth_part() {
    withstand(5);
}

/// An agent plants it while Posse is at work.
#[test]
fn what_is_planted_meanwhile_changes_nothing() {
    let in_workspace = |plant: &Plant| {
        let planted = plant.set_up;
        plant.environment.is_some_and(|environment| environment.contains("PATH="))
            && !planted.contains("@OUT@")
    };
    let plants: Vec<Plant> = attacks::helpers().into_iter().filter(in_workspace).collect();
    let faults = in_parallel(plants, 2, |plant| visit(&plant, When::Meanwhile));
    let made = faults.len();
    settle("plants in the meantime", made, 14, &faults.into_iter().flatten().collect::<Vec<_>>());
}

/// Each plant does its damage where nobody takes care: what does none by itself proves nothing.
#[test]
fn plants_are_real_ones() {
    let with_control: Vec<Plant> =
        attacks::helpers().into_iter().filter(|plant| plant.control.is_some()).collect();
    let harmless = in_parallel(with_control, 2, |plant| {
        let world = World::new("");
        set_up(&world, &plant);
        let before = world.snapshot();
        let variables = environment(&world, &plant);
        let exports: String =
            variables.iter().map(|(name, value)| format!("export {name}='{value}'\n")).collect();
        let ran = world.shell(&format!("{exports}{}", fill(&world, plant.control.unwrap_or_default())));
        let told = ran.stdout.contains(SECRET) || ran.stderr.contains(SECRET);
        let harm = marker(&world).exists() || told || !outside(&world, &before).is_empty();
        (!harm).then(|| format!("{}: does no harm by itself: {}", plant.name, short(&format!("{ran:?}"))))
    });
    let made = harmless.len();
    settle("plants without care", made, 70, &harmless.into_iter().flatten().collect::<Vec<_>>());
}
