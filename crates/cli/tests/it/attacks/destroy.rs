//! In mode auto, a command that would destroy what undo does not bring back asks first. Nobody is there to be asked, so
//! nothing may be gone.

use std::sync::{Arc, Mutex};

use posse_testkit::attacks::{self, Attempt};
use serde_json::json;

use super::player::{Actor, By, Level, Moment, Play, play, short};
use super::world::World;
use super::{in_parallel, settle};

/// What there is to be lost.
const SET_UP: &str = "printf '/out/\\n/more/\\n' > .gitignore; mkdir -p out more; echo kept > out/built; echo kept > more/built; \
     truncate -s 30M big.bin; ln -sfn out/built link; mkdir -p t/out; echo evil > t/out/built; tar cf a.tar -C t .; rm -r t";

/// How large the file is that is too large.
const LARGE_BYTES: u64 = 30 * 1024 * 1024;

/// Each line with its set-up.
fn table() -> Vec<Attempt> {
    let with = |attempt: Attempt| {
        let set_up = format!("{SET_UP}; {}", attempt.set_up.unwrap_or("true"));
        Attempt { set_up: Some(set_up.leak()), ..attempt }
    };
    attacks::destroy().into_iter().map(with).collect()
}

/// What is not as it was.
fn lost(world: &World) -> Vec<&'static str> {
    let holds = |path: &str| std::fs::read_to_string(world.at(path)).is_ok_and(|text| text == "kept\n");
    let is_link = |path: &str| world.at(path).symlink_metadata().is_ok_and(|found| found.is_symlink());
    let mut lost: Vec<&str> = ["workspace/out/built", "workspace/more/built"]
        .into_iter()
        .filter(|path| !holds(path) || is_link(path))
        .collect();
    let large = world.at("workspace/big.bin").metadata().is_ok_and(|found| found.len() == LARGE_BYTES);
    lost.extend((!large).then_some("workspace/big.bin"));
    lost
}

fn withstand(actor: Actor, background: bool) {
    let faults: Arc<Mutex<Vec<String>>> = Arc::default();
    let noted = Arc::clone(&faults);
    let as_call = |attempt: Attempt| {
        let call = json!({"command": attempt.attack, "background": background}).to_string();
        Attempt { kind: "shell", attack: call.leak(), ..attempt }
    };
    let attempts: Vec<Attempt> = table().into_iter().map(as_call).collect();
    let play_as = Play { by: By::Tool, ..Play::new(Level::Full, actor) };
    let played = play(play_as, attempts, move |world, attempt, moment| {
        let Moment::After(answer, _) = moment else { return };
        let note = |what: String| noted.lock().unwrap().push(format!("{}: {what}", attempt.name));
        let lost = lost(world);
        if !lost.is_empty() {
            note(format!("lost {} ({})", lost.join(", "), short(answer)));
        }
        if !answer.contains("undo does not hold here") {
            note(format!("was not asked about ({})", short(answer)));
        }
        world.restore();
    });
    let mut faults = std::mem::take(&mut *faults.lock().unwrap());
    if played.ran.code != Some(0) {
        faults.push(format!("posse ended with {:?}: {}", played.ran.code, played.ran.stderr));
    }
    settle(&format!("destroy, {actor:?}, background {background}"), played.made, 71, &faults);
}

#[test]
fn nothing_is_destroyed_for_good_unasked() {
    withstand(Actor::Main, false);
}

#[test]
fn nothing_is_destroyed_for_good_unasked_in_the_background() {
    withstand(Actor::Main, true);
}

#[test]
fn nothing_is_destroyed_for_good_unasked_at_depth_3() {
    withstand(Actor::Depth3, false);
}

/// Where nobody asks, each does its damage.
#[test]
fn every_destroying_line_is_a_real_one() {
    let worlds: Vec<Mutex<World>> = (0..2).map(|_| Mutex::new(World::new(""))).collect();
    let attempts = table();
    let count = attempts.len();
    let harmless = in_parallel(attempts, 2, |attempt| {
        let world = worlds.iter().find_map(|world| world.try_lock().ok()).expect("a world for each lane");
        let tmp = world.at("tmp").display().to_string();
        let set_up = world.shell(&world.fill(attempt.set_up.unwrap_or("true"), &tmp));
        assert_eq!((set_up.code, lost(&world)), (Some(0), vec![]), "{}: {set_up:?}", attempt.name);
        let ran = world.shell(&world.fill(attempt.attack, &tmp));
        let lost = lost(&world);
        world.restore();
        lost.is_empty().then(|| format!("{}: does no harm: {ran:?}", attempt.name))
    });
    let harmless: Vec<String> = harmless.into_iter().flatten().collect();
    settle("destroying lines without anybody who asks", count, 71, &harmless);
}
