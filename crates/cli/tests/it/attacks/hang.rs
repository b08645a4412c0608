//! P2: a command that waits for somebody, or never ends, is back by its deadline.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_testkit::attacks;

use super::player::{Actor, Level, Moment, Play, not_made, play};
use super::{in_parallel, settle};

const DEADLINE_MS: u64 = 1_000;
/// Only to tell a hang from a busy machine; what it really takes is printed.
const HANGS_AFTER: Duration = Duration::from_secs(15);

#[test]
fn commands_that_wait_come_back_by_their_deadline() {
    let attempts = attacks::hang();
    let (count, lanes) = (attempts.len(), 4);
    let groups: Vec<_> = attempts.chunks(count.div_ceil(lanes)).map(<[_]>::to_vec).collect();
    let results = in_parallel(groups, lanes, |group| {
        let noted: Arc<Mutex<(Vec<String>, Duration)>> = Arc::default();
        let notes = Arc::clone(&noted);
        let as_whom = Play { timeout_ms: DEADLINE_MS, ..Play::new(Level::Full, Actor::Main) };
        let played = play(as_whom, group, move |world, attempt, moment| {
            let Moment::After(answer, took) = moment else { return };
            let mut notes = notes.lock().unwrap();
            notes.1 = notes.1.max(took);
            if took > HANGS_AFTER {
                notes.0.push(format!("{}: took {took:?}", attempt.name));
            }
            notes.0.extend(not_made(answer).map(|why| format!("{}: {why}", attempt.name)));
            world.restore();
        });
        assert_eq!(played.ran.code, Some(0), "{:#?}", played.ran);
        let notes = noted.lock().unwrap().clone();
        (played.made, notes)
    });
    let made = results.iter().map(|(made, _)| made).sum();
    let longest = results.iter().map(|(_, notes)| notes.1).max().unwrap_or_default();
    println!("deadline {DEADLINE_MS} ms, the longest took {} ms", longest.as_millis());
    let faults: Vec<String> = results.into_iter().flat_map(|(_, notes)| notes.0).collect();
    settle("hang", made, count.max(40), &faults);
}
