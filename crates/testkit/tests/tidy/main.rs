//! The rules of the repository, as tests over its files.
//!
//! A rule is a function from a [`repo::Repo`] to findings. Each is held against this repository, and against a bad
//! sample that it must notice: a rule that notices nothing is no rule.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod arrows;
mod cycles;
mod names;
mod pages;
mod reach;
mod repo;
mod rust;
mod shape;
mod text;
mod usage;

use repo::Repo;

/// One rule of the repository.
struct Rule {
    name: &'static str,
    /// What is wrong, one line a finding, each saying where and what to do.
    find: fn(&Repo) -> Vec<String>,
    /// A repository that breaks the rule once.
    bad: fn() -> Repo,
    /// How the finding about it begins.
    says: &'static str,
}

/// name: module, rule, bad sample => what the rule says about the sample.
macro_rules! rules {
    ($($name:literal: $module:ident $find:ident $bad:ident => $says:literal;)*) => {
        &[$(Rule { name: $name, find: $module::$find, bad: $module::$bad, says: $says }),*]
    };
}

const RULES: &[Rule] = rules! {
    "arrows point one way": arrows direction bad_direction => "crates/store depends on engine";
    "testkit is for tests": arrows testkit bad_testkit => "crates/engine depends on testkit";
    "pure crates stay pure below": arrows purity bad_purity => "crates/agent brings tokio, through middle";
    "each library in its crate": arrows owners bad_owners => "crates/tools depends on rusqlite";
    "versions live in the root": arrows versions bad_versions => "crates/model gives serde";
    "lints are shared": arrows lints bad_lints => "crates/model does not";
    "the crates' README is true": arrows readme bad_readme => "crates/README.md says that agent builds on –";
    "no cycles between modules": cycles cycles bad_cycles => "crates/engine/src: crew → driver → crew is a cycle";
    "a type has a name of its own": names types bad_types => "crates/model/src/lib.rs defines Answer, and so does crates/policy";
    "limits live in limits": names limits bad_limits => "crates/model/src/lib.rs:2 has TURNS_MAX";
    "pure crates touch nothing": usage purity bad_purity => "crates/agent/src/lib.rs:3 uses std::fs";
    "processes only in sandbox": usage processes bad_processes => "crates/tools/src/lib.rs:2 uses std::process::Command";
    "unsafe only in sandbox": usage unsafe_code bad_unsafe_code => "crates/store/tests/it/main.rs:2 has unsafe";
    "unsafe is forbidden": usage forbid_unsafe bad_forbid_unsafe => "crates/store/src/lib.rs does not";
    "git only in workspace": usage git bad_git => "crates/engine/src/lib.rs:2 names the git program";
    "wire formats only at the edge": usage wire bad_wire => "crates/agent/src/lib.rs:2 has \"cache_control\"";
    "people see what is written": usage screens bad_screens => "crates/cli/src/trust.rs:3 uses io::stdout";
    "no path where agents write": usage by_path bad_by_path => "crates/tools/src/lib.rs:2 uses File::open";
    "environment only in setup": usage environment bad_environment => "crates/cli/src/main.rs:2 reads";
    "files are short": shape size bad_size => "crates/model/src/long.rs has 801 lines";
    "files open with their purpose": shape purpose bad_purpose => "crates/model/src/lib.rs does not open";
    "no test is ignored": shape ignored bad_ignored => "crates/model/tests/it/main.rs:2 ignores";
    "nothing is left to do": shape unfinished bad_unfinished => "crates/model/src/lib.rs:2 has todo!";
    "no file is forgotten": reach forgotten bad_forgotten => "crates/model/tests/it/lost.rs is named by no mod";
    "one test binary a crate": reach binaries bad_binaries => "crates/model/tests/second.rs makes";
    "requirements name tests": reach requirements bad_requirements => "docs/requirements.md names run::gone";
    "pages name files that are there": pages paths bad_paths => "docs/page.md names model/src/gone.rs";
    "pages name items that are there": pages items bad_items => "MAP.md names Model::calls, which the code does not define";
    "designs are played": reach designs bad_designs => "docs/requirements.md names no test through the binary for: it works";
    "prompts live in files": text prompts bad_prompts => "crates/engine/src/lib.rs:3 has a string of 401";
    "no host of a registry": text hosts bad_hosts => "docs/page.md:2 names";
    "no private path": text paths bad_paths => "scripts/x:1 names";
};

#[test]
fn the_repository_keeps_its_rules() {
    let repo = Repo::read();
    assert!(repo.crates.len() >= 11, "only {} crates found", repo.crates.len());
    let mut findings = Vec::new();
    for rule in RULES {
        findings.extend((rule.find)(&repo).into_iter().map(|finding| format!("[{}] {finding}", rule.name)));
    }
    for long in shape::long(&repo) {
        println!("note: {long}");
    }
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
}

#[test]
fn every_rule_notices_its_bad_sample() {
    assert_eq!(RULES.len(), 32);
    for Rule { name, find, bad, says } in RULES {
        let findings = find(&bad());
        assert_eq!(findings.len(), 1, "[{name}] {findings:#?}");
        assert!(findings[0].starts_with(says), "[{name}] said {:?}, not {says:?}", findings[0]);
    }
}
