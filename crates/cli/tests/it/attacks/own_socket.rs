//! X6, over the socket: no command reaches the socket of the Posse that runs it, wherever the data directory is, so no
//! agent answers its own question or raises its mode. Without confinement each attempt is answered.

use std::sync::{Arc, Mutex};

use posse_testkit::attacks;

use super::player::{Actor, Level, Moment, Play, not_made, play, short};
use super::{ESCAPED, settle};

/// Attempts that there must be at least.
const ATTEMPTS: usize = 27;

/// Where the data directory is, as a command in the workspace sees it.
const BESIDE: &str = "../data";
const INSIDE: &str = "private/data";

/// Plays all attempts; gives back those that were answered, and what was not even tried.
fn reach(mut as_whom: Play, data: &'static str) -> (usize, Vec<&'static str>, Vec<String>) {
    as_whom.words.push(("@OWN@", data.to_string()));
    as_whom.env.push(("POSSE_HOME".to_string(), format!("@WS@/{data}")));
    as_whom.before = format!("mkdir -p {data}");
    let heard: Arc<Mutex<(Vec<&str>, Vec<String>)>> = Arc::default();
    let noted = Arc::clone(&heard);
    let attempts = attacks::own_socket();
    let count = attempts.len();
    let played = play(as_whom, attempts, move |world, attempt, moment| {
        let Moment::After(answer, _) = moment else { return };
        let mut noted = noted.lock().unwrap();
        if answer.contains(ESCAPED) {
            noted.0.push(attempt.name);
        } else if let Some(why) = not_made(answer) {
            noted.1.push(format!("{}: {why}", attempt.name));
        } else {
            noted.1.push(format!("{}: not answered: {}", attempt.name, short(answer)));
        }
        for left in ["name", "session", "s", "p", "h", "h2", "late"] {
            let _ = std::fs::remove_file(world.at("workspace").join(left));
        }
    });
    assert_eq!(played.ran.code, Some(0), "{:#?}", played.ran);
    assert_eq!(played.made, count);
    let (answered, others) = std::mem::take(&mut *heard.lock().unwrap());
    (count, answered, others)
}

fn withstand(level: Level, actor: Actor, data: &'static str, rights: &'static str) {
    // Nobody is asked: the sandbox alone has to hold.
    let flags = vec!["--approval", "full"];
    let (made, answered, others) = reach(Play { rights, flags, ..Play::new(level, actor) }, data);
    let mut faults: Vec<String> = answered.into_iter().map(|name| format!("{name} was answered")).collect();
    faults.extend(others.into_iter().filter(|other| other.contains("not made")));
    settle(&format!("own socket, {level:?}, {actor:?}, {data}, {rights}"), made, ATTEMPTS, &faults);
}

const NETWORK: &str = "network = \"full\"";

#[test]
fn no_command_reaches_the_socket_by_full_shell() {
    withstand(Level::Full, Actor::Main, BESIDE, "");
}

#[test]
fn no_command_reaches_the_socket_in_the_workspace() {
    withstand(Level::Full, Actor::Main, INSIDE, "");
}

#[test]
fn no_command_reaches_the_socket_with_the_network() {
    withstand(Level::Full, Actor::Main, INSIDE, NETWORK);
}

#[test]
fn no_command_reaches_the_socket_by_inspect_shell() {
    withstand(Level::Inspect, Actor::Main, INSIDE, NETWORK);
}

#[test]
fn no_command_reaches_the_socket_at_depth_3() {
    withstand(Level::Verify, Actor::Depth3, INSIDE, NETWORK);
}

/// Without confinement every attempt is answered: what a person lets out of the sandbox can reach the socket.
#[test]
fn every_attempt_on_the_socket_is_a_real_one() {
    let flags = vec!["--no-sandbox", "--approval", "full"];
    let play = Play { flags, ..Play::new(Level::Full, Actor::Main) };
    let (made, answered, others) = reach(play, INSIDE);
    assert_eq!((answered.len(), others), (made, Vec::new()), "{answered:?}");
}
