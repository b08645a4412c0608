//! X10: nothing is left behind that other programs run or obey by themselves, by file tools or by commands, at the root of
//! the workspace and deep in it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use posse_testkit::attacks::{self, Attempt};
use serde_json::json;

use super::player::{Actor, By, Level, Moment, Play, not_made, play, short};
use super::world::World;
use super::{in_parallel, settle};

/// What is written.
const EVIL: &str = "evil-5d1c";
/// How deep it is tried as well.
const DEEP: &str = "packages/app/inner/";

/// Where an attempt is made: set-ups make their folders at the root.
fn places(attempt: &Attempt) -> Vec<String> {
    let deep = attempt.set_up.is_none().then(|| format!("{DEEP}{}", attempt.attack));
    [attempt.attack.to_string()].into_iter().chain(deep).collect()
}

/// Whether something of what was written is there: in the file, or as a folder that was moved to its place.
fn is_left(path: &Path) -> bool {
    let holds = |path: &Path| std::fs::read_to_string(path).is_ok_and(|text| text.contains(EVIL));
    holds(path) || holds(&path.join("x"))
}

fn left(world: &World, attempt: &Attempt) -> Vec<String> {
    let mut places = places(attempt);
    places.retain(|place| is_left(&world.at("workspace").join(place)));
    places
}

/// A command that writes a path in every way there is.
fn command(path: &str) -> String {
    let folder = Path::new(path).parent().and_then(Path::to_str).unwrap_or_default();
    let above = if folder.is_empty() { "." } else { folder };
    // The folder that is protected may be one above: moved there as a whole, with what it holds.
    let top = path.strip_prefix(DEEP).unwrap_or(path);
    let first = top.split('/').next().unwrap_or(top);
    let at = format!("{}{first}", if path.starts_with(DEEP) { DEEP } else { "" });
    let rest = top.strip_prefix(first).unwrap_or_default();
    let moved = match rest.trim_start_matches('/') {
        "" => format!("mkdir moved && echo {EVIL} > moved/x && mv -T moved {at}"),
        rest => format!("mkdir -p moved/$(dirname {rest}) && echo {EVIL} > moved/{rest} && mv -T moved {at}"),
    };
    format!(
        "mkdir -p {DEEP} {above}; echo {EVIL} > {path}; echo {EVIL} > src/new && mv -f src/new {path}; \
         echo {EVIL} > src/new && ln -f src/new {path}; rm -f src/new; {moved}; rm -rf moved; echo {EVIL} > {path}; true"
    )
}

/// Whether an attempt is on what something else names, which is there before the session.
fn is_named(attempt: &Attempt) -> bool {
    attempt.name.starts_with('=')
}

/// Tries all of one kind, and says which were left.
fn withstand(mut play_as: Play, attempts: Vec<Attempt>, named: bool, say: &str) {
    let mut attempts: Vec<Attempt> =
        attempts.into_iter().filter(|attempt| is_named(attempt) == named).collect();
    let committed = if named { 15 } else { 200 };
    if named {
        let set_ups: Vec<&str> = attempts.iter_mut().filter_map(|attempt| attempt.set_up.take()).collect();
        play_as.before = set_ups.join(" && ");
    }
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&faults);
    let (by, count) = (play_as.by, attempts.len());
    let known = attacks::later();
    let played = play(play_as, attempts, move |world, attempt, moment| {
        let Moment::After(answer, _) = moment else { return };
        let Some(meant) = known.iter().find(|known| known.name == attempt.name) else { return };
        let left = left(world, meant);
        let mut faults = noted.lock().unwrap();
        if !left.is_empty() {
            faults.push(format!("{}: {} ({})", attempt.name, left.join(", "), short(answer)));
        }
        if by != By::Tool
            && let Some(why) = not_made(answer)
        {
            faults.push(format!("{}: {why}", attempt.name));
        }
        // What was there before the session is to stay.
        if !named {
            world.restore();
        }
    });
    assert_eq!(played.ran.code, Some(0), "{:#?}", played.ran);
    settle(&format!("later, {say}"), played.made, count.max(committed), &faults.lock().unwrap());
}

/// Each path as a call of a file tool.
fn by_tool() -> Vec<Attempt> {
    let mut all = Vec::new();
    for attempt in attacks::later() {
        for path in places(&attempt) {
            let attack = json!({"path": path, "content": EVIL}).to_string().leak();
            all.push(Attempt { kind: "write_file", attack, ..attempt });
        }
    }
    all
}

/// Each path as a command.
fn by_command() -> Vec<Attempt> {
    let each = attacks::later().into_iter().map(|attempt| {
        let lines: Vec<String> = places(&attempt).iter().map(|path| command(path)).collect();
        Attempt { attack: lines.join("; ").leak(), ..attempt }
    });
    each.collect()
}

fn by(by: By, actor: Actor) -> Play {
    Play { by, ..Play::new(Level::Full, actor) }
}

#[test]
fn nothing_is_left_to_run_later_by_file_tools() {
    withstand(by(By::Tool, Actor::Main), by_tool(), false, "file tools");
}

#[test]
fn nothing_is_left_to_run_later_by_file_tools_at_depth_3() {
    withstand(by(By::Tool, Actor::Depth3), by_tool(), false, "file tools, depth 3");
}

#[test]
fn nothing_is_left_to_run_later_by_commands() {
    withstand(by(By::Shell, Actor::Main), by_command(), false, "commands");
}

#[test]
fn nothing_is_left_to_run_later_by_commands_at_depth_3() {
    withstand(by(By::Shell, Actor::Depth3), by_command(), false, "commands, depth 3");
}

#[test]
fn nothing_is_left_to_run_later_in_the_background() {
    withstand(by(By::Background, Actor::Main), by_command(), false, "background");
}

#[test]
fn what_something_else_names_is_not_written_either() {
    withstand(by(By::Tool, Actor::Main), by_tool(), true, "named, file tools");
    withstand(by(By::Shell, Actor::Main), by_command(), true, "named, commands");
    withstand(by(By::Background, Actor::Main), by_command(), true, "named, background");
    withstand(by(By::Shell, Actor::Depth3), by_command(), true, "named, depth 3");
}

/// Where nothing holds it, each is written.
#[test]
fn every_later_attempt_is_a_real_one() {
    let attempts: Vec<(Attempt, Attempt)> = attacks::later().into_iter().zip(by_command()).collect();
    let count = attempts.len();
    let worlds: Vec<Mutex<World>> = (0..2).map(|_| Mutex::new(World::new(""))).collect();
    let harmless = in_parallel(attempts, 2, |(meant, attempt)| {
        let world = worlds.iter().find_map(|world| world.try_lock().ok()).expect("a world for each lane");
        let ran = attempt.set_up.map(|set_up| world.shell(set_up));
        assert!(ran.is_none_or(|ran| ran.code == Some(0)), "{}", attempt.name);
        // The last of its ways takes away what the others did.
        let plain: Vec<String> = places(&meant)
            .iter()
            .map(|path| format!("mkdir -p $(dirname {path}); rm -rf {path}; echo {EVIL} > {path}"))
            .collect();
        let ran = world.shell(&plain.join("; "));
        let left = left(&world, &meant);
        world.restore();
        (left.len() < places(&meant).len()).then(|| format!("{}: does no harm: {ran:?}", meant.name))
    });
    let harmless: Vec<String> = harmless.into_iter().flatten().collect();
    settle("later attempts without confinement", count, 215, &harmless);
}
