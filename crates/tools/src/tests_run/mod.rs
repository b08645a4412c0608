//! What a command does, by its words and the project's files: whether it runs tests, and whether its exit code is theirs.
//! Pure but for those files, which are looked up by whoever asks. Errs towards not knowing: what is not understood proves
//! nothing.
//!
//! `script`, `simple` and `word` read a text as a shell does; `shell` goes through it, with `builtins`, `expand` and
//! `environment`; `command` finds out what a command runs, with `wrappers`, `interpreters`, `program_files`, `project`,
//! `make`, and the `table` of runners with their `options`.

mod builtins;
mod cannot_fail;
mod command;
mod environment;
mod expand;
mod interpreters;
mod judged;
mod looked;
mod make;
mod options;
mod program_files;
mod project;
mod script;
mod shell;
mod simple;
mod table;
#[cfg(test)]
mod tests;
mod word;
mod work;
mod wrappers;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use posse_protocol::{CommandWork, RanTests, TestRun};

use self::judged::{Doubt, Judged, Worth};
use self::looked::LookedFiles;
pub(crate) use self::looked::{Looked, Lookup};
use self::shell::ShellState;
use crate::limits::{TEST_FILES_NAMED_MAX, TEST_SCRIPT_STEPS_MAX};
use crate::test_output::{none_ran, some_ran, tests_in};

/// What a command is going to do, as far as it was understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Understood {
    command: String,
    judged: Judged,
    /// What was looked up for that.
    seen: BTreeMap<String, Looked>,
}

/// Finds out what a command line does.
pub(crate) fn understood(command: &str, lookup: Lookup<'_>) -> Understood {
    let (files, left, wrote) =
        (LookedFiles::new(lookup), Cell::new(TEST_SCRIPT_STEPS_MAX), RefCell::default());
    let judged = match script::read(command, 0) {
        Some(script) => shell::judge(&script, &mut ShellState::new(&files, &left, &wrote)),
        None => shell::not_read(command),
    };
    Understood { command: command.to_owned(), judged, seen: files.into_seen() }
}

/// What is known of a command that has ended.
pub(crate) struct Ended<'a> {
    pub(crate) output: &'a str,
    /// Whether nothing of the output was left out.
    pub(crate) whole: bool,
    /// Looks up files as they are now.
    pub(crate) lookup: Lookup<'a>,
    /// Whether it named a path in order to change it; none where that was not seen, or all it wrote is gone.
    pub(crate) touched: Option<&'a dyn Fn(&str) -> bool>,
}

impl Understood {
    /// What it does besides testing.
    pub(crate) fn work(&self) -> Vec<CommandWork> {
        self.judged.work.clone()
    }

    /// What became of its tests, if it runs some.
    pub(crate) fn tests(self, ended: &Ended<'_>) -> Option<RanTests> {
        let Ended { output, whole, .. } = *ended;
        let now = understood(&self.command, ended.lookup);
        let changed = self.changed(&now, ended);
        let judged = if self.judged.family.is_some() { self.judged } else { now.judged };
        let Judged { family, by_name, mut hidden_by, doubt, output: mut worth, mut files, .. } = judged;
        let family = family?;
        if let Some(by) = changed {
            hidden_by = hidden_by.or(Some(judged::shown(&by)));
            worth = Worth::Nothing;
        }
        if by_name && hidden_by.is_some() {
            // Only the script itself could say that all went well.
            worth = worth.max(Worth::Part);
        }
        let failed = |counts: &TestRun| counts.passed < counts.run;
        let counts = match worth {
            Worth::Whole => tests_in(family, output, whole),
            Worth::Part => tests_in(family, output, false).filter(failed),
            Worth::Nothing => None,
        };
        // Whoever says so, it makes nothing look better than it is.
        let counts = counts.or_else(|| none_ran(family, output));
        if counts.is_none() {
            hidden_by = hidden_by.or(match doubt {
                Some(Doubt::Selects(_)) if worth == Worth::Whole && some_ran(family, output) => None,
                Some(Doubt::Selects(by) | Doubt::Strange(by)) => Some(by),
                None => None,
            });
        }
        files.truncate(TEST_FILES_NAMED_MAX);
        Some(RanTests { counts, hidden_by, files, by_name, own: false })
    }

    /// What makes it possible that something else was run than was read: a file that says what runs is another one now, or
    /// was another one meanwhile.
    fn changed(&self, now: &Self, ended: &Ended<'_>) -> Option<String> {
        let same = |path: &&String| self.seen.get(*path) == now.seen.get(*path);
        let mut files = self.judged.files.iter().chain(&now.judged.files);
        if !files.clone().all(|path| same(&path)) || self.judged != now.judged {
            // One that says something else explains more than one that is not asked any more.
            let both = |path: &&String| self.seen.contains_key(*path) && now.seen.contains_key(*path);
            let mut others = self.seen.keys().chain(now.seen.keys()).filter(|path| !same(path));
            let other =
                others.clone().find(both).or_else(|| files.find(|path| !same(path))).or(others.next());
            return other.cloned().or(Some("its files".to_owned()));
        }
        let Some(touched) = ended.touched else {
            return self.judged.written_by.clone().filter(|_| !self.seen.is_empty());
        };
        let gone = self.seen.iter().filter(|(_, looked)| **looked == Looked::Missing);
        gone.map(|(path, _)| path).find(|path| touched(path)).cloned()
    }
}
