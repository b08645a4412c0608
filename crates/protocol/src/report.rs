//! What comes back from an agent: its own words, and beside them the facts Posse measured.

use serde::{Deserialize, Serialize};

use crate::{Ending, Usage};

/// What one agent's work came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// The agent's last words; whatever there is of them when it did not end well.
    pub text: String,
    /// What was measured.
    pub receipt: Receipt,
}

/// The measured part of a report. Nothing in it is taken from an agent's words.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Files changed by the file tools, one entry a path.
    pub files: Vec<FileChange>,
    /// Commands run, in order; the first of them where there were many.
    pub commands: Vec<CommandRun>,
    /// How many commands ran in all.
    pub commands_total: u32,
}

/// One file that was created or changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// One command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command text.
    pub command: String,
    /// Its exit code; `None` if it was killed.
    pub exit_code: Option<i32>,
}
