//! Adds up what tools did. Only effects that tools measured count, never an agent's words.

use std::collections::BTreeMap;

use posse_agent::Agent;
use posse_protocol::{
    AgentId, Below, ChildEnded, CommandRun, CommitMade, Denial, Effect, FileChange, Receipt, TestFileChange,
    TestFileDelta, TestsSeen, limits,
};
use posse_report::{is_for_tests, is_test_setting};

/// What an agent's sub-agents did and used, as far as they have ended.
#[derive(Clone, Default)]
pub(crate) struct Inherited {
    pub(crate) below: Below,
    pub(crate) files: Vec<FileChange>,
    pub(crate) not_certain: Vec<FileChange>,
    pub(crate) denied: Vec<Denial>,
    pub(crate) tests: Option<TestsSeen>,
    pub(crate) test_files: Vec<TestFileChange>,
    pub(crate) commits: Vec<CommitMade>,
    pub(crate) commits_total: u32,
    /// In the order of their starts, so that a recording can be played back.
    pub(crate) children: BTreeMap<AgentId, ChildEnded>,
    pub(crate) children_total: u32,
    /// How often others have changed files where the agent works.
    pub(crate) edits: u64,
}

impl Inherited {
    /// Adds a child that has ended.
    pub(crate) fn add(&mut self, id: AgentId, child: ChildEnded, receipt: &Receipt) {
        receipt.files_in_all().iter().for_each(|file| file.add_to(&mut self.files));
        receipt.files_not_certain.iter().for_each(|file| file.add_to(&mut self.not_certain));
        self.denied.extend(receipt.denied.iter().cloned());
        self.denied.truncate(limits::RECEIPT_DENIALS_MAX);
        if let Some(tests) = receipt.tests_in_all() {
            let by = tests.by.clone().unwrap_or_else(|| child.name.clone());
            self.tests = Some(TestsSeen { by: Some(by), ..tests.clone() });
        }
        self.test_files.extend(receipt.test_files.iter().cloned());
        self.test_files.truncate(limits::RECEIPT_TEST_FILES_MAX);
        self.commits.extend(receipt.commits.iter().cloned());
        let more = self.commits.len().saturating_sub(limits::RECEIPT_COMMITS_MAX);
        self.commits.drain(..more);
        self.commits_total = self.commits_total.saturating_add(receipt.commits_total);
        self.children_total = self.children_total.saturating_add(1);
        if self.children.len() < limits::RECEIPT_CHILDREN_MAX {
            self.children.insert(id, child);
        }
    }
}

/// The effects of one agent so far.
#[derive(Clone, Default)]
pub(crate) struct Effects {
    files: Vec<FileChange>,
    not_certain: Vec<FileChange>,
    commands: Vec<CommandRun>,
    commands_total: u32,
    commands_failed: u32,
    last_command: Option<CommandRun>,
    /// Of the last command that ran some: the state in which the work is handed over.
    tests: Option<TestsSeen>,
    /// How often others had changed files when they ran.
    edits_before_tests: u64,
    test_files: BTreeMap<String, TestFileDelta>,
    commits: Vec<CommitMade>,
    commits_total: u32,
    denied: Vec<Denial>,
}

impl Effects {
    /// Adds what calls did, in order. `edits` is how often others have changed files where the agent works. Says whether
    /// these did.
    pub(crate) fn add(&mut self, effects: &[Effect], edits: u64) -> bool {
        let mut edited = false;
        for effect in effects {
            match effect {
                Effect::File(change) => {
                    change.add_to(&mut self.files);
                    edited |= self.edited(&change.path);
                }
                Effect::NotCertain(change) => {
                    change.add_to(&mut self.not_certain);
                    edited |= self.edited(&change.path);
                }
                Effect::Command(run) => self.ran(run, edits),
                Effect::Background { command } => self.started(command),
                Effect::TestFile(delta) => self.test_file(delta),
                Effect::Commit(commit) => self.committed(commit),
                Effect::Denied(denial) => self.denied.push(denial.clone()),
                Effect::Todo { .. } | Effect::Noted(_) => {}
            }
        }
        edited
    }

    /// A file is another than when tests last ran; not one that tools make beside their work.
    fn edited(&mut self, path: &str) -> bool {
        let made = |part: &str| GENERATED.contains(&part) || part.ends_with(".pyc");
        if path.split('/').any(made) {
            return false;
        }
        self.tests.iter_mut().for_each(|tests| tests.edited_after = true);
        true
    }

    fn ran(&mut self, run: &CommandRun, edits: u64) {
        self.commands_failed = self.commands_failed.saturating_add(run.failed().into());
        let run = self.with_own_files(run);
        self.tests_of(&run, edits);
        self.listed(run);
    }

    fn tests_of(&mut self, run: &CommandRun, edits: u64) {
        if let Some(tests) = TestsSeen::of(run) {
            self.tests = Some(tests);
            self.edits_before_tests = edits;
        }
    }

    /// A command whose tests are what a file says that the agent itself has changed.
    fn with_own_files(&self, run: &CommandRun) -> CommandRun {
        let mut run = run.clone();
        if let (Some(mut seen), Some(tests)) = (TestsSeen::of(&run), &mut run.tests) {
            seen.changed(|path| is_among(path, &self.files));
            (tests.own, tests.counts) = (seen.own, seen.counts);
        }
        run
    }

    fn started(&mut self, command: &str) {
        self.listed(CommandRun { command: command.to_string(), ..CommandRun::default() });
    }

    fn listed(&mut self, run: CommandRun) {
        self.commands_total = self.commands_total.saturating_add(1);
        if self.commands.len() < limits::RECEIPT_COMMANDS_MAX {
            self.commands.push(run.clone());
        }
        self.last_command = Some(run);
    }

    /// A command that went on beside the agent has ended.
    pub(crate) fn background_ended(&mut self, run: &CommandRun, edits: u64) {
        let run = &self.with_own_files(run);
        let open = |known: &&mut CommandRun| known.command == run.command && known.exit_code.is_none();
        self.commands.iter_mut().rev().find(open).into_iter().for_each(|known| *known = run.clone());
        self.last_command.iter_mut().filter(open).for_each(|known| *known = run.clone());
        // One that was stopped with the agent did what it was there for.
        let failed = run.exit_code.is_some() && run.failed();
        self.commands_failed = self.commands_failed.saturating_add(failed.into());
        self.tests_of(run, edits);
    }

    fn test_file(&mut self, delta: &TestFileDelta) {
        let room = self.test_files.len() < limits::RECEIPT_TEST_FILES_MAX;
        match self.test_files.get_mut(&delta.path) {
            Some(known) => {
                known.deleted = delta.deleted;
                known.tests = known.tests.saturating_add(delta.tests);
                known.assertions = known.assertions.saturating_add(delta.assertions);
                known.skips = known.skips.saturating_add(delta.skips);
            }
            None if room => {
                self.test_files.insert(delta.path.clone(), delta.clone());
            }
            None => {}
        }
    }

    fn committed(&mut self, commit: &CommitMade) {
        if self.commits.iter().any(|known| known.id == commit.id) {
            return;
        }
        self.commits_total = self.commits_total.saturating_add(1);
        self.commits.push(commit.clone());
        if self.commits.len() > limits::RECEIPT_COMMITS_MAX {
            self.commits.remove(0);
        }
    }

    /// Paths of the files changed.
    pub(crate) fn changed(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    pub(crate) fn receipt(mut self, agent: &Agent, mut inherited: Inherited) -> Receipt {
        let spent = agent.spent();
        // What one of them changed, another may have run.
        let changed: Vec<FileChange> = self.files.iter().chain(&inherited.files).cloned().collect();
        for tests in self.tests.iter_mut().chain(&mut inherited.tests) {
            tests.changed(|path| is_among(path, &changed));
        }
        let ran_by = run_by_changed(self.tests.as_ref().or(inherited.tests.as_ref()), &changed);
        inherited.not_certain.iter().for_each(|file| file.add_to(&mut self.not_certain));
        self.denied.extend(inherited.denied);
        self.denied.truncate(limits::RECEIPT_DENIALS_MAX);
        if let Some(tests) = self.tests.as_mut().filter(|_| inherited.edits > self.edits_before_tests) {
            tests.edited_after = true;
        }
        let mut test_files: Vec<TestFileChange> = self.test_files.into_values().filter_map(lost).collect();
        test_files.extend(inherited.test_files);
        let new = ran_by.into_iter().filter(|file| !test_files.iter().any(|known| known.path == file.path));
        let new: Vec<TestFileChange> = new.collect();
        test_files.splice(..0, new);
        test_files.truncate(limits::RECEIPT_TEST_FILES_MAX);
        let mut commits = inherited.commits;
        commits.extend(self.commits);
        commits.drain(..commits.len().saturating_sub(limits::RECEIPT_COMMITS_MAX));
        Receipt {
            turns: spent.turns,
            tool_calls: agent.tool_calls(),
            usage: spent.usage,
            cost_usd: spent.cost_usd,
            duration_ms: spent.time_ms,
            below: inherited.below,
            files: self.files,
            files_below: inherited.files,
            files_not_certain: self.not_certain,
            not_covered: Vec::new(),
            commands: self.commands,
            commands_total: self.commands_total,
            commands_failed: self.commands_failed,
            last_command: self.last_command,
            tests: self.tests,
            tests_below: inherited.tests,
            test_files,
            commits,
            commits_total: self.commits_total.saturating_add(inherited.commits_total),
            children: inherited.children.into_values().collect(),
            children_total: inherited.children_total,
            denied: self.denied,
            branch: None,
        }
    }
}

fn is_among(path: &str, files: &[FileChange]) -> bool {
    files.iter().any(|file| file.path == path)
}

/// The files that say what the tests run, as far as they were changed and are not settings, of which only some lines are
/// about tests.
fn run_by_changed(tests: Option<&TestsSeen>, changed: &[FileChange]) -> Vec<TestFileChange> {
    let files = tests.map(|tests| tests.files.as_slice()).unwrap_or_default();
    let said = files.iter().filter(|path| !is_test_setting(path));
    let said = said.filter_map(|path| changed.iter().find(|file| file.path == *path));
    said.map(|file| TestFileChange {
        path: file.path.clone(),
        created: file.created,
        ..TestFileChange::default()
    })
    .collect()
}

/// Folders and files that tools make beside their work.
const GENERATED: &[&str] = &[
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".nox",
    "target",
    "node_modules",
    "htmlcov",
    "coverage",
    ".coverage",
    ".nyc_output",
];

/// What a test file has lost in the end; none if it came and went.
fn lost(delta: TestFileDelta) -> Option<TestFileChange> {
    let fewer = |more: i32| u32::try_from(more.saturating_neg()).unwrap_or(0);
    let change = TestFileChange {
        created: delta.created,
        deleted: delta.deleted,
        tests_removed: fewer(delta.tests),
        assertions_removed: fewer(delta.assertions),
        skips_added: u32::try_from(delta.skips).unwrap_or(0),
        path: delta.path,
    };
    let lost = change.tests_removed > 0 || change.assertions_removed > 0 || change.skips_added > 0;
    let came_and_went = change.created && change.deleted;
    (!came_and_went && (lost || is_for_tests(&change.path))).then_some(change)
}
