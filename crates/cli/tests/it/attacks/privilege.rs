//! X3: no attempt gets at Posse's memory, environment and process, or at more of the kernel.

use std::sync::{Arc, Mutex};

use posse_testkit::attacks::{self, Attempt};

use super::player::{Actor, Level, Moment, Play, not_made, play, short};
use super::{ESCAPED, SECRET, settle};

/// Plays the attempts and tells which got through, and why one was not made.
fn answers(as_whom: Play, attempts: Vec<Attempt>) -> Vec<(&'static str, bool, String)> {
    let count = attempts.len();
    let answers: Arc<Mutex<Vec<_>>> = Arc::default();
    let noted = Arc::clone(&answers);
    let played = play(as_whom, attempts, move |world, attempt, moment| {
        if let Moment::After(answer, _) = moment {
            let through = answer.contains(ESCAPED) || answer.contains(SECRET);
            noted.lock().unwrap().push((attempt.name, through, answer.to_string()));
            let _ = std::fs::remove_file(world.at("workspace/k"));
        }
    });
    assert_eq!(played.ran.code, Some(0), "Posse is unharmed: {:#?}", played.ran);
    assert_eq!(played.made, count);
    let answers = std::mem::take(&mut *answers.lock().unwrap());
    assert_eq!(answers.len(), count);
    answers
}

fn withstand(level: Level, actor: Actor) {
    let answers = answers(Play::new(level, actor), attacks::privilege());
    let made = answers.len();
    let faults: Vec<String> = answers
        .into_iter()
        .filter_map(|(name, through, answer)| {
            let why =
                if through { Some(format!("got through: {}", short(&answer))) } else { not_made(&answer) };
            why.map(|why| format!("{name}: {why}"))
        })
        .collect();
    settle(&format!("privilege, {level:?}, {actor:?}"), made, 60, &faults);
}

#[test]
fn no_privilege_by_full_shell() {
    withstand(Level::Full, Actor::Main);
}

#[test]
fn no_privilege_by_inspect_shell() {
    withstand(Level::Inspect, Actor::Main);
}

#[test]
fn no_privilege_at_depth_3() {
    withstand(Level::Verify, Actor::Depth3);
}

/// Without confinement those get through that do not depend on the machine.
#[test]
fn privilege_attempts_are_real_ones() {
    let attempts: Vec<_> = attacks::privilege().into_iter().filter(|attempt| attempt.kind == "yes").collect();
    let play =
        Play { flags: vec!["--no-sandbox", "--approval", "full"], ..Play::new(Level::Full, Actor::Main) };
    let answers = answers(play, attempts);
    let made = answers.len();
    let faults: Vec<String> = answers
        .into_iter()
        .filter(|(_, through, _)| !through)
        .map(|(name, _, answer)| format!("{name}: does not get through by itself: {}", short(&answer)))
        .collect();
    settle("privilege attempts without confinement", made, 20, &faults);
}
