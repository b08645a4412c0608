//! What git's subcommands that destroy something would reach.

use super::{Target, at, operands};
use crate::destroys::{git_subcommand, has_letter};
use crate::shell_text::UNKNOWN;

/// Subcommands that leave files alone, and change what git keeps.
const OF_HISTORY: [&str; 15] = [
    "gc",
    "prune",
    "prune-packed",
    "repack",
    "reflog",
    "replace",
    "update-ref",
    "symbolic-ref",
    "branch",
    "tag",
    "remote",
    "notes",
    "fetch",
    "lfs",
    "rebase",
];
/// Subcommands that remove more than git knows of: ignored files, and repositories in the folder.
const OF_ANYTHING: [&str; 3] = ["submodule", "sparse-checkout", "worktree"];

pub(super) fn targets(arguments: &[String], targets: &mut Vec<Target>) {
    let found = arguments
        .iter()
        .enumerate()
        .find(|(at, word)| !word.starts_with('-') && git_subcommand(word, &arguments[at + 1..]).is_some());
    let Some((at, name)) = found else { return };
    let (before, after) = (&arguments[..at], &arguments[at + 1..]);
    // Another folder or another repository.
    let elsewhere =
        |word: &String| ["-C", "--git-dir", "--work-tree"].iter().any(|option| word.starts_with(option));
    if name.contains(UNKNOWN) || before.iter().any(elsewhere) {
        return targets.push(Target::Anything);
    }
    let has = |wanted: &[&str]| after.iter().any(|word| wanted.contains(&word.as_str()));
    match name.as_str() {
        "push" => targets.push(Target::Elsewhere),
        "clean" => clean(after, targets),
        "stash" if has(&["-a", "--all"]) || has_letter(after, "a") => targets.push(Target::Anything),
        "stash" if has(&["-u", "--include-untracked"]) => targets.push(Target::Known(String::new())),
        "stash" => targets.extend([Target::Tracked(String::new()), Target::History]),
        name if OF_ANYTHING.contains(&name) => targets.push(Target::Anything),
        name if OF_HISTORY.contains(&name) => {
            targets.push(Target::History);
            targets.extend((name == "rebase").then(|| Target::Tracked(String::new())));
        }
        "rm" | "mv" => paths(after, targets),
        "checkout" | "restore" if after.iter().any(|word| word == "--") => paths(after, targets),
        _ => {
            targets.extend([Target::Tracked(String::new()), Target::History]);
            paths(after, targets);
        }
    }
}

fn paths(after: &[String], targets: &mut Vec<Target>) {
    targets.extend(operands(after).iter().map(|word| below(word, Target::Tracked)));
}

/// Of a folder git leaves alone what it ignores, or all that it does not track.
fn below(word: &str, what: fn(String) -> Target) -> Target {
    match at(word.trim_start_matches(":/"), false) {
        Target::Path { path, .. } if !path.contains(UNKNOWN) => what(path),
        other => other,
    }
}

fn clean(after: &[String], targets: &mut Vec<Target>) {
    let forced = after.iter().filter(|word| word.starts_with('-') && !word.starts_with("--"));
    let forced = forced.flat_map(|word| word.chars()).filter(|c| *c == 'f').count();
    let everything = has_letter(after, "xX") || forced > 1;
    // What is spared is no place.
    let spares = |at: usize| at > 0 && ["-e", "--exclude"].contains(&after[at - 1].as_str());
    let places =
        after.iter().enumerate().filter(|(at, word)| !spares(*at) && !word.starts_with("--exclude="));
    let named = operands(&places.map(|(_, word)| word.clone()).collect::<Vec<_>>());
    let here = [".".to_owned()];
    for place in if named.is_empty() { &here[..] } else { &named } {
        targets.push(if everything { at(place, false) } else { below(place, Target::Known) });
    }
}
