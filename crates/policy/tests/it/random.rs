//! Random grants from small alphabets, so that their rules often meet, and a count of what they allow.

use std::collections::BTreeSet;

use fastrand::Rng;
use posse_policy::{delegates_to, may_write, passes, reaches};
use posse_protocol::{Approval, Files, Grant, NameRules, Network, PathRules, Shell};

pub(crate) const APPROVALS: [Approval; 5] =
    [Approval::Plan, Approval::Ask, Approval::Edit, Approval::Auto, Approval::Full];
const HOSTS: &[&str] = &["a", "b"];
const NAMES: &[&str] =
    &["read", "edit", "git_log", "ask_person", "session_end", "browser_open", "computer", "x"];
const PATTERNS: &[&str] = &["*", "read", "ed*", "*_*", "git_*", "ask_person", "", "browser_*"];
/// Paths for entries of rules: also such that no path lies in.
const ENTRIES: &[&str] = &["", ".", "a", "b", "a/b", "a/b/c", "b/c", "ab", "..", "/a", "a//b", "./a"];
/// Paths to be written: also such that may never be.
pub(crate) const PATHS: &[&str] = &[
    "a", "b", "a/b", "a/bc", "a/b/c", "a/b/c/d", "b/c", "ab", "ab/c", "c", "", ".", "..", "/a", "a//b",
    "a/../b",
];

/// Runs a property on many seeds and says which one it does not hold for.
pub(crate) fn for_each_seed(seeds: u64, property: impl Fn(&mut Rng) + std::panic::RefUnwindSafe) {
    let mut count = 0;
    for seed in 0..seeds {
        let held = std::panic::catch_unwind(|| property(&mut Rng::with_seed(seed)));
        if let Err(cause) = held {
            println!("seed {seed}");
            std::panic::resume_unwind(cause);
        }
        count += 1;
    }
    assert_eq!(count, seeds);
}

/// Some of these; each with a chance of one in so many.
fn some(rng: &mut Rng, of: &[&str], one_in: u8) -> BTreeSet<String> {
    of.iter().filter(|_| rng.u8(0..one_in) == 0).map(|&one| one.to_owned()).collect()
}

fn layers(rng: &mut Rng, of: &[&str]) -> BTreeSet<BTreeSet<String>> {
    (0..rng.u8(0..3)).map(|_| some(rng, of, 3)).collect()
}

fn names(rng: &mut Rng) -> NameRules {
    NameRules { allow: layers(rng, PATTERNS), deny: some(rng, &PATTERNS[1..], 8) }
}

pub(crate) fn paths(rng: &mut Rng) -> PathRules {
    // Mostly entries that mean something: one that does not closes everything.
    let entries = if rng.u8(0..4) == 0 { ENTRIES } else { &ENTRIES[..8] };
    PathRules { roots: layers(rng, entries), except: some(rng, &entries[2..], 8) }
}

fn grant(rng: &mut Rng) -> Grant {
    let hosts = some(rng, HOSTS, 2);
    Grant {
        files: [Files::None, Files::Read, Files::Write][rng.usize(0..3)],
        writes: paths(rng),
        shell: [Shell::None, Shell::Inspect, Shell::Verify, Shell::Full][rng.usize(0..4)],
        network: match rng.u8(0..3) {
            0 => Network::Full,
            1 if !hosts.is_empty() => Network::Hosts(hosts),
            _ => Network::None,
        },
        tools: names(rng),
        delegates: names(rng),
        approval: APPROVALS[rng.usize(0..5)],
    }
}

/// Grants to pick from, each with what it allows: pairs are many even where grants are few.
pub(crate) fn pool() -> Vec<(Grant, u64)> {
    let one = |seed| {
        let grant = grant(&mut Rng::with_seed(seed));
        let rights = rights(&grant);
        (grant, rights)
    };
    (0..4_000).map(one).collect()
}

/// Everything that a grant allows, one bit each. What can be done counts, not how it is written.
pub(crate) fn rights(grant: &Grant) -> u64 {
    let files = [Files::Read, Files::Write].map(|level| grant.files >= level);
    let writes = PATHS[..10].iter().map(|path| may_write(&grant.writes, path));
    let shell = [Shell::Inspect, Shell::Verify, Shell::Full].map(|level| grant.shell >= level);
    let hosts = HOSTS.iter().chain(&["other"]).map(|host| reaches(&grant.network, host));
    let tools = NAMES.iter().map(|tool| passes(&grant.tools, tool));
    let roles = NAMES[..3].iter().map(|role| delegates_to(grant, role));
    let approval = APPROVALS.map(|mode| grant.approval >= mode);
    let all = files.into_iter().chain(writes).chain(shell).chain(hosts).chain(tools).chain(roles);
    all.chain(approval).fold(0, |bits, allowed| bits << 1 | u64::from(allowed))
}
