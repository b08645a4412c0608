//! What an agent returns: its own text, and the facts that Posse measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Branch, ChildEnded, CommandRun, CommitMade, Ending, TestFileChange, TestsSeen, Usage, limits};

/// The result of one agent's work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// The agent's last text; if it did not end well, as much as there is.
    pub text: String,
    /// A summary by the agent's model, if the text is longer than its reader takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub short: Option<String>,
    /// Whether the text names a blocker.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// What was measured.
    pub receipt: Receipt,
    /// Claims in the text that the facts do not support.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Other remarks: a checkout that could not be made, calls that were not counted. The text is not at fault, so these
    /// do not count as warnings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

impl Report {
    /// A report that is not checked yet.
    pub fn new(ending: Ending, text: impl Into<String>, receipt: Receipt) -> Self {
        let (warnings, notes) = (Vec::new(), Vec::new());
        Self { ending, text: text.into(), short: None, blocked: false, receipt, warnings, notes }
    }

    /// What is shown beside its text: the warnings, then the notes.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().chain(&self.notes)
    }

    /// How it ended, in words, with blockers: such a report does not count as a plain success.
    pub fn outcome(&self) -> String {
        match &self.ending {
            Ending::Completed if self.blocked => "completed with blockers".to_owned(),
            ending => ending.to_string(),
        }
    }

    /// Whether it did all it was asked to, as far as it says.
    pub fn is_success(&self) -> bool {
        self.ending == Ending::Completed && !self.blocked
    }
}

/// The measured part of a report. Nothing in it comes from the agent's text.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Receipt {
    /// Model calls made.
    pub turns: u32,
    /// Tool calls answered, failed ones included.
    pub tool_calls: u32,
    /// Tokens, as far as reported.
    pub usage: Usage,
    /// What it cost in US dollars, where the model's prices and the usage are known.
    pub cost_usd: Option<f64>,
    /// From start to end, without the time spent waiting for a person.
    pub duration_ms: u64,
    /// What its sub-agents used, all of them down to the last.
    #[serde(default)]
    pub below: Below,
    /// Files created and changed, by file tools or by commands, one entry a path.
    pub files: Vec<FileChange>,
    /// Files created and changed by its sub-agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_below: Vec<FileChange>,
    /// Files that changed while its commands ran, without a sign that those did it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files_not_certain: Vec<FileChange>,
    /// What could not be taken back where it worked, each in a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_covered: Vec<String>,
    /// Commands run, in order; the first of them where there were many.
    pub commands: Vec<CommandRun>,
    /// How many commands ran in all.
    pub commands_total: u32,
    /// How many of them failed or were killed.
    #[serde(default)]
    pub commands_failed: u32,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_command: Option<CommandRun>,
    /// The last tests that its own commands ran.
    #[serde(default)]
    pub tests: Option<TestsSeen>,
    /// The last tests that were run below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests_below: Option<TestsSeen>,
    /// Test files changed, by it or below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub test_files: Vec<TestFileChange>,
    /// Commits made, by it or below it, in order; the last of them where there were many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commits: Vec<CommitMade>,
    /// How many commits were made in all.
    #[serde(default)]
    pub commits_total: u32,
    /// The sub-agents it started itself, as they ended; the first of them where there were many.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<ChildEnded>,
    /// How many sub-agents it started itself.
    #[serde(default)]
    pub children_total: u32,
    /// Calls that were not allowed, of the agent and of those below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denial>,
    /// Where its work is, if it had a checkout of its own and changed something there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<Branch>,
}

/// A call that a rule, a person, or the absence of a person did not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Denial {
    /// The name of the agent that wanted it.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The command, path or address.
    pub what: String,
    /// Why not.
    pub reason: String,
}

impl FileChange {
    /// Adds a change to those known: one entry a path, within the limit.
    pub fn add_to(&self, known: &mut Vec<Self>) {
        if let Some(same) = known.iter_mut().find(|file| file.path == self.path) {
            same.lines_added = same.lines_added.saturating_add(self.lines_added);
            same.lines_removed = same.lines_removed.saturating_add(self.lines_removed);
        } else if known.len() < limits::RECEIPT_FILES_MAX {
            known.push(self.clone());
        }
    }
}

impl Receipt {
    /// The last tests seen: its own, or where it ran none, those below it.
    pub fn tests_in_all(&self) -> Option<&TestsSeen> {
        self.tests.as_ref().or(self.tests_below.as_ref())
    }

    /// Files changed by the agent and everything below it, one entry a path.
    pub fn files_in_all(&self) -> Vec<FileChange> {
        let mut files = self.files.clone();
        for file in &self.files_below {
            file.add_to(&mut files);
        }
        files
    }

    /// Tokens of the agent and everything below it, as far as reported.
    pub fn tokens_in_all(&self) -> Option<u64> {
        let mut usage = self.usage;
        usage.add(self.below.usage);
        usage.total_tokens()
    }

    /// What the agent and everything below it cost, as far as known.
    pub fn cost_in_all(&self) -> Option<f64> {
        match (self.cost_usd, self.below.cost_usd) {
            (None, None) => None,
            (own, below) => Some(own.unwrap_or(0.0) + below.unwrap_or(0.0)),
        }
    }
}

/// What the sub-agents of an agent used together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Below {
    /// How many there were.
    pub agents: u32,
    /// Model calls made.
    pub turns: u32,
    /// Tool calls answered.
    pub tool_calls: u32,
    /// Commands run.
    #[serde(default)]
    pub commands: u32,
    /// How many of them failed or were killed.
    #[serde(default)]
    pub commands_failed: u32,
    /// Tokens, as far as reported.
    pub usage: Usage,
    /// What it cost, as far as known.
    pub cost_usd: Option<f64>,
}

impl Below {
    /// Adds a child that has ended, with all that was below it.
    pub fn add(&mut self, child: &Receipt) {
        self.agents = self.agents.saturating_add(1).saturating_add(child.below.agents);
        self.turns = self.turns.saturating_add(child.turns).saturating_add(child.below.turns);
        self.tool_calls =
            self.tool_calls.saturating_add(child.tool_calls).saturating_add(child.below.tool_calls);
        self.commands =
            self.commands.saturating_add(child.commands_total).saturating_add(child.below.commands);
        self.commands_failed = self
            .commands_failed
            .saturating_add(child.commands_failed)
            .saturating_add(child.below.commands_failed);
        self.usage.add(child.usage);
        self.usage.add(child.below.usage);
        if let Some(cost) = child.cost_in_all() {
            self.cost_usd = Some(self.cost_usd.unwrap_or(0.0) + cost);
        }
    }
}

/// One file that was created or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Relative to the workspace, `/` between parts.
    pub path: String,
    /// Whether it was not there before.
    pub created: bool,
    /// Lines that are new.
    pub lines_added: u32,
    /// Lines that are gone.
    pub lines_removed: u32,
}
