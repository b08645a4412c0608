//! Tests, commands, commits and sub-agents that are said to have been there and were not, or ended otherwise.

use posse_protocol::{CommandRun, CommandWork, Receipt, Report, TestVerdict, TestsSeen};

use super::Facts;
use crate::{
    claims::{ClaimedWork, Claims, Others, Tests},
    limits,
};

fn commands_in_all(receipt: &Receipt) -> u32 {
    receipt.commands_total.saturating_add(receipt.below.commands)
}

/// The commands that ran, if all of them are known.
fn all_commands(receipt: &Receipt) -> Option<&[CommandRun]> {
    let listed = receipt.commands.len() as u64 >= u64::from(receipt.commands_total);
    (listed && receipt.below.commands == 0).then_some(&receipt.commands)
}

/// Whether all that ran is known, and none of it does more than look.
fn only_looked(receipt: &Receipt) -> bool {
    all_commands(receipt).is_some_and(|all| all.iter().all(CommandRun::only_looks))
}

pub(super) fn untrue_tests(report: &Report, said: &Tests) -> Option<String> {
    let receipt = &report.receipt;
    if !said.pass {
        return None;
    }
    let seen: Vec<&TestsSeen> = receipt.tests.iter().chain(&receipt.tests_below).collect();
    if seen.is_empty() {
        let why = if commands_in_all(receipt) == 0 { "no command was run" } else { "no tests were run" };
        return only_looked(receipt).then(|| format!("says that tests pass: {why}"));
    }
    let passed = |tests: &TestsSeen| tests.verdict() == TestVerdict::Passed;
    let some_passed = receipt.commands.iter().filter_map(TestsSeen::of).any(|tests| passed(&tests));
    // Who tells of failures tells the truth; who speaks of some tests may mean another run.
    if seen.iter().any(|tests| passed(tests)) || said.admits_failure || (!said.all && some_passed) {
        return too_many(receipt, said, &seen);
    }
    let last = seen.first()?;
    match (last.verdict(), last.counts, last.exit_code) {
        (TestVerdict::Failed, Some(counts), _) if counts.passed < counts.run => {
            Some(format!("says that tests pass: {} of {} failed", counts.run - counts.passed, counts.run))
        }
        (TestVerdict::Failed, _, Some(code)) => {
            Some(format!("says that tests pass: `{}` ended with exit code {code}", short(&last.command)))
        }
        (TestVerdict::NoneRan, _, _) if !some_passed => {
            Some(format!("says that tests pass: `{}` ran none", short(&last.command)))
        }
        _ => None,
    }
}

/// More tests than were ever counted.
fn too_many(receipt: &Receipt, said: &Tests, seen: &[&TestsSeen]) -> Option<String> {
    let wanted = said.count?;
    all_commands(receipt)?;
    let runs = receipt.commands.iter().filter_map(TestsSeen::of);
    let mut counts: Vec<Option<u32>> = runs.map(|tests| tests.counts.map(|counts| counts.run)).collect();
    if counts.is_empty() {
        counts = seen.iter().map(|tests| tests.counts.map(|counts| counts.run)).collect();
    }
    let counted: u64 = counts.into_iter().map(|count| count.map(u64::from)).sum::<Option<u64>>()?;
    (u64::from(wanted) > counted).then(|| format!("says that {wanted} tests pass: {counted} were counted"))
}

fn short(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(limits::COMMAND_SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

pub(super) fn untrue_commands(report: &Report, said: &Claims) -> Vec<String> {
    let receipt = &report.receipt;
    let mut warnings = Vec::new();
    let none = commands_in_all(receipt) == 0;
    let why = if none { "no command was run" } else { "no such command was run" };
    for what in &said.commands.ran {
        let first = what.split_whitespace().next().unwrap_or_default();
        let named = receipt.commands.iter().any(|run| run.command.contains(first));
        // A test run that is said to have passed was warned about already.
        let told = said.tests.pass && what.to_lowercase().contains("test");
        if only_looked(receipt) && !named && !told {
            warnings.push(format!("says it ran `{}`: {why}", short(what)));
        }
    }
    for work in &said.commands.went_well {
        if only_looked(receipt) {
            if warnings.is_empty() {
                warnings.push(format!("says that {} went well: {why}", work.name()));
            }
        } else if let Some(run) =
            last_of(receipt, *work).filter(|run| run.failed() && !said.tests.admits_failure)
        {
            let how =
                run.exit_code.map_or("was killed".to_owned(), |code| format!("ended with exit code {code}"));
            warnings.push(format!("says that {} went well: `{}` {how}", work.name(), short(&run.command)));
        }
    }
    warnings
}

/// The last command that did such work, if all that ran is known.
fn last_of(receipt: &Receipt, work: ClaimedWork) -> Option<&CommandRun> {
    all_commands(receipt)?.iter().rev().find(|run| run.work.contains(&work.measured()))
}

pub(super) fn untrue_commits(report: &Report, said: &Others, facts: &dyn Facts) -> Vec<String> {
    let receipt = &report.receipt;
    let mut warnings = Vec::new();
    let Some(all) = all_commands(receipt) else { return warnings };
    let ran = |word: &str| all.iter().any(|run| run.command.contains(word));
    if said.committed && receipt.commits_total == 0 && !ran("commit") && !facts.commits_for_it() {
        warnings.push("says it committed: no commit was made".to_owned());
    } else if said.committed
        && receipt.commits_total > 0
        && receipt.commits.len() as u64 >= u64::from(receipt.commits_total)
    {
        let wrong = said
            .ids
            .iter()
            .filter(|id| !receipt.commits.iter().any(|commit| commit.id.starts_with(id.as_str())));
        // An id that was amended away is not among them.
        let wrong = wrong.filter(|_| !ran("--amend") && !ran("rebase"));
        warnings.extend(
            wrong
                .take(1)
                .map(|id| format!("says it committed `{id}`: there is no such commit among those it made")),
        );
    }
    if said.pushed && !ran("push") && !all.iter().any(may_push) {
        warnings.push("says it pushed: no push was run".to_owned());
    }
    warnings
}

/// Whether a command may send commits: a script, a task runner.
fn may_push(run: &CommandRun) -> bool {
    let known = !run.work.is_empty() || run.tests.is_some();
    !known || run.work.iter().any(|work| matches!(work, CommandWork::Push | CommandWork::Other))
}

pub(super) fn untrue_agents(report: &Report, said: &Others) -> Option<String> {
    let none = report.receipt.below.agents == 0 && report.receipt.children_total == 0;
    (said.delegated && none).then(|| "says a sub-agent worked for it: none was started".to_owned())
}
