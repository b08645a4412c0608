//! Promise T1: the tree is right. The real tree and the real agents, driven as the engine drives them but without a
//! clock, sockets or tasks: a seed decides what models say, which tools fail, who is stopped and how time jumps.
//!
//! `POSSE_SOAK_SEEDS=1000000` runs more seeds; `POSSE_SEED=17` runs one, which is how a failure is looked at.

mod invariants;
mod model;
mod tools;
mod world;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use world::World;

/// Seeds that run on every submission.
const SEEDS: u64 = 10_000;
/// No seed comes near it; one that does hangs.
const STEPS_MAX: usize = 20_000;

/// What happened how often.
type Tally = BTreeMap<&'static str, u64>;

/// Runs one seed to its end, looking at everything after each step.
fn simulate(seed: u64) -> Tally {
    let mut world = World::new(seed);
    for _ in 0..STEPS_MAX {
        let moved = world.step();
        invariants::after_a_step(&mut world);
        if !moved {
            invariants::at_the_end(&world);
            return world.tally;
        }
    }
    panic!("not over after {STEPS_MAX} steps");
}

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok().map(|text| text.parse().expect("a number of seeds, or a seed"))
}

/// Every kind of thing that has to happen for the seeds to mean something.
const HAPPENED: [&str; 25] = [
    "admitted",
    "cancelled",
    "compacted",
    "completed",
    "continued",
    "delivered",
    "failed",
    "freed",
    "idle",
    "interrupted",
    "never began",
    "out_of_money",
    "out_of_tokens",
    "out_of_turns",
    "parked",
    "queued",
    "refused",
    "returned",
    "steps",
    "stopped",
    "timed_out",
    "told",
    "turned down",
    "waited",
    "woken",
];

#[test]
fn the_tree_is_right_for_every_seed() {
    if let Some(seed) = number("POSSE_SEED") {
        eprintln!("{:#?}", simulate(seed));
        return;
    }
    let seeds = number("POSSE_SOAK_SEEDS").unwrap_or(SEEDS).max(SEEDS);
    // Each seed is one thread's work from end to end; several threads only share the seeds out.
    let threads = std::thread::available_parallelism().map_or(2, |count| count.get() as u64);
    let (mut ran, mut tally) = (0, Tally::new());
    std::thread::scope(|scope| {
        let every = |first: u64| {
            move || (first..seeds).step_by(threads as usize).map(checked).fold((0, Tally::new()), both)
        };
        let parts = (0..threads).map(|first| scope.spawn(every(first))).collect::<Vec<_>>();
        for part in parts {
            (ran, tally) =
                both((ran, std::mem::take(&mut tally)), part.join().expect("a seed broke an invariant"));
        }
    });
    assert_eq!(ran, seeds);
    let missing = HAPPENED.iter().filter(|what| tally.get(*what).is_none_or(|times| *times < 100));
    assert_eq!(missing.collect::<Vec<_>>(), Vec::<&&str>::new(), "too rare to have been tried: {tally:?}");
}

/// How many seeds, and what happened in them.
fn both((ran, mut tally): (u64, Tally), (more, others): (u64, Tally)) -> (u64, Tally) {
    for (what, times) in others {
        *tally.entry(what).or_default() += times;
    }
    (ran + more, tally)
}

fn checked(seed: u64) -> (u64, Tally) {
    let one = catch_unwind(AssertUnwindSafe(|| (1, simulate(seed))));
    one.unwrap_or_else(|_| panic!("seed {seed} broke an invariant: POSSE_SEED={seed} replays it"))
}
