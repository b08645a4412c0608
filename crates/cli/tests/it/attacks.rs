//! What Posse has to withstand: the attempts in `testkit/attacks`, made by a model that means harm, against the real
//! binary in a world of canaries. Nothing is skipped: what could not be tried is a failure.
//!
//! Each table has its own module here. [`world`] is where they play, [`player`] is the model that makes the attempts.

#![allow(clippy::print_stdout, reason = "a suite says how much it tried")]

mod destroy;
mod files;
mod hang;
mod helpers;
mod hidden;
mod later;
mod leave;
mod mirror;
mod network;
mod orphans;
mod own_socket;
mod player;
mod privilege;
mod repositories;
mod secrets;
mod snapshot;
mod world;

/// What an attempt prints when it has got through.
const ESCAPED: &str = "ESCAPED";
/// What stands in files outside and in Posse's environment, and may not be told.
const SECRET: &str = "CANARY-7f3a9c51e2";

/// Says what went wrong, all of it, and how many attempts were made.
fn settle(what: &str, made: usize, committed: usize, faults: &[String]) {
    println!("{what}: {made} attempts made, {} got through", faults.len());
    assert!(
        made >= committed,
        "{what}: only {made} of {committed} attempts were made\n{}",
        faults.join("\n")
    );
    assert!(faults.is_empty(), "{what}: {} faults of {made}:\n{}", faults.len(), faults.join("\n"));
}

/// Does the same for every item, several at a time.
fn in_parallel<T: Send, R: Send>(items: Vec<T>, lanes: usize, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let queue = std::sync::Mutex::new(items.into_iter());
    let (queue, work) = (&queue, &work);
    std::thread::scope(|scope| {
        let lane = move || {
            let mut done = Vec::new();
            while let Some(item) = { queue.lock().unwrap().next() } {
                done.push(work(item));
            }
            done
        };
        let lanes: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    })
}
