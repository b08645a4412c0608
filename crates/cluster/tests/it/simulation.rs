//! C1: agents, workers and one home in a simulated world that loses, repeats, delays and reorders messages, cuts links, and
//! crashes both sides. Every seed is one world; a failure names it.

mod checks;
mod home;
mod network;
mod worker;
mod world;

use std::sync::atomic::{AtomicU64, Ordering};

use world::{Outcome, Sabotage, World};

/// How many seeds a run has; a soak has more.
fn seeds() -> u64 {
    std::env::var("POSSE_SOAK_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(10_000)
}

fn run_all(first: u64, count: u64, sabotage: Sabotage) -> (Outcome, Vec<(u64, String)>) {
    let next = AtomicU64::new(first);
    let threads = std::thread::available_parallelism().map_or(2, usize::from).min(8);
    let parts: Vec<_> = std::thread::scope(|scope| {
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                scope.spawn(|| {
                    let (mut sum, mut bad) = (Outcome::default(), Vec::new());
                    loop {
                        let seed = next.fetch_add(1, Ordering::Relaxed);
                        if seed >= first + count {
                            return (sum, bad);
                        }
                        match World::new(seed, sabotage).run() {
                            Ok(outcome) => sum.add(outcome),
                            Err(fault) => bad.push((seed, fault)),
                        }
                    }
                })
            })
            .collect();
        handles.into_iter().map(|handle| handle.join().unwrap()).collect()
    });
    let (mut sum, mut bad) = (Outcome::default(), Vec::new());
    for (part, faults) in parts {
        sum.add(part);
        bad.extend(faults);
    }
    bad.sort();
    (sum, bad)
}

#[test]
fn every_agent_settles_once_and_nothing_acknowledged_is_lost() {
    let count = seeds();
    let (sum, bad) = run_all(0, count, Sabotage::None);
    assert!(bad.is_empty(), "{} of {count} seeds failed, the first: {:?}", bad.len(), bad[0]);
    assert_eq!(sum.worlds, count);
    println!("{sum:?}");
    // The worlds are hard, but not so hard that nothing happens in them.
    assert!(sum.lost * 10 < sum.agents, "too many agents were lost: {sum:?}");
    for (what, number) in [
        ("epochs", sum.epochs),
        ("stale runs", sum.stale),
        ("results put aside", sum.aside),
        ("crashes of home", sum.home_crashes),
        ("crashes of workers", sum.worker_crashes),
        ("revived leases", sum.revived),
        ("full buffers", sum.full),
    ] {
        assert!(number * 50 > count, "only {number} {what} in {count} worlds");
    }
}

/// The simulator can fail: each broken rule is noticed.
#[test]
fn broken_rules_are_noticed() {
    let cases = [
        (Sabotage::IgnoresEpochs, "not what its epoch sent"),
        (Sabotage::FastHome, "acted after epoch"),
        (Sabotage::ConfirmsEarly, "acknowledged"),
        (Sabotage::SettlesTwice, "settled 2 times"),
        (Sabotage::NeverResends, "did not settle"),
        (Sabotage::ForgetsLeases, "acted after epoch"),
    ];
    assert_eq!(cases.len(), 6);
    for (sabotage, says) in cases {
        let (_, bad) = run_all(0, 1_000, sabotage);
        assert!(bad.iter().any(|(_, fault)| fault.contains(says)), "{sabotage:?}: {:?}", bad.first());
    }
}
