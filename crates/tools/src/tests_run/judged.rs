//! What is known of a command or a text so far. Plain data.

use posse_protocol::CommandWork;
use posse_protocol::visible::one_line;

use super::shell::ShellState;
use crate::limits::HIDDEN_BY_CHARS_MAX;
use crate::runner_family::RunnerFamily;

/// What the output of a command says about its tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Worth {
    /// It is the runner's own, all or the end of it.
    Whole,
    /// A selection of the runner's: failures in it are failures, and the rest says nothing.
    Part,
    /// Something else may have written it.
    Nothing,
}

/// Why an exit code alone does not say that tests passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// It may have selected no test at all: a filter.
    Selects(String),
    /// Something that is not known to be harmless: an option, a variable.
    Strange(String),
}

/// What is known of a text so far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Judged {
    pub(super) family: Option<RunnerFamily>,
    /// Whether only a name says that these are tests.
    pub(super) by_name: bool,
    /// What keeps the exit code from being that of the tests.
    pub(super) hidden_by: Option<String>,
    pub(super) doubt: Option<Doubt>,
    pub(super) output: Worth,
    /// Whether all of it only says something: `echo`, `true`, `exit`.
    pub(super) idle: bool,
    /// Whether a program in it is one that only running tells.
    pub(super) unsure: bool,
    /// What else it does.
    pub(super) work: Vec<CommandWork>,
    /// Files of the workspace that say what its tests are.
    pub(super) files: Vec<String>,
    /// What came before its tests and may have written such a file.
    pub(super) written_by: Option<String>,
}

impl Judged {
    pub(super) const NOTHING: Self = Self {
        family: None,
        by_name: false,
        hidden_by: None,
        doubt: None,
        output: Worth::Whole,
        idle: true,
        unsure: false,
        work: Vec::new(),
        files: Vec::new(),
        written_by: None,
    };

    /// Runs tests.
    pub(super) fn tests(family: RunnerFamily) -> Self {
        Self { family: Some(family), idle: false, ..Self::NOTHING }
    }

    /// Does something that is not known, and may print anything.
    pub(super) fn unknown() -> Self {
        Self { output: Worth::Nothing, idle: false, work: vec![CommandWork::Other], ..Self::NOTHING }
    }

    /// Adds what was found beside it.
    pub(super) fn add(&mut self, other: Self) {
        self.family = match (self.family, other.family) {
            (Some(one), Some(another)) if one != another => Some(RunnerFamily::Any),
            (one, another) => one.or(another),
        };
        self.by_name |= other.by_name;
        self.hidden_by = self.hidden_by.take().or(other.hidden_by);
        self.doubt = match (self.doubt.take(), other.doubt) {
            (Some(Doubt::Selects(_)), Some(strange @ Doubt::Strange(_))) => Some(strange),
            (one, another) => one.or(another),
        };
        self.output = self.output.max(other.output);
        self.idle &= other.idle;
        self.unsure |= other.unsure;
        for work in other.work {
            self.does(work);
        }
        for file in other.files {
            self.explained_by(&file);
        }
        self.written_by = self.written_by.take().or(other.written_by);
    }

    /// Takes in what was written before it; and, if it may write itself, tells those that follow.
    pub(super) fn after(
        &mut self,
        written_by: Option<String>,
        writes: impl FnOnce() -> Option<String>,
        shell: &ShellState<'_>,
    ) {
        if self.family.is_some() {
            self.written_by = self.written_by.take().or(written_by);
        } else if let Some(by) = writes() {
            shell.writes(&by);
        }
    }

    /// A file says what its tests are, if it has any.
    pub(super) fn explained_by(&mut self, file: &str) {
        if self.family.is_some() && !self.files.iter().any(|known| known == file) {
            self.files.push(file.to_owned());
        }
    }

    pub(super) fn does(&mut self, work: CommandWork) {
        if !self.work.contains(&work) {
            self.work.push(work);
        }
    }

    /// Something makes the exit code one that is not theirs.
    pub(super) fn hide(&mut self, by: impl FnOnce() -> String) {
        if self.family.is_some() && self.hidden_by.is_none() {
            self.hidden_by = Some(shown(&by()));
        }
    }

    /// Another program may have run in the runner's place: neither the exit code nor the output is theirs.
    pub(super) fn distrust(&mut self, by: impl FnOnce() -> String) {
        self.hide(by);
        if self.family.is_some() {
            self.output = Worth::Nothing;
        }
    }

    pub(super) fn doubt(&mut self, doubt: Option<Doubt>) {
        if self.family.is_some() && doubt.is_some() {
            let other = Self { doubt, ..Self::NOTHING };
            let idle = self.idle;
            self.add(other);
            self.idle = idle;
        }
    }
}

pub(super) fn shown(text: &str) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { '…' } else { c }).collect();
    one_line(&plain, HIDDEN_BY_CHARS_MAX)
}
