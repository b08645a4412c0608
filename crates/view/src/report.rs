//! What an agent came to, as it is shown: the facts in words, what does not hold, and a summary instead of all its words.

use posse_protocol::{Denial, Ending, Report};
use posse_report::{Fact, facts};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::text::cut;

/// A report without its whole text and receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReportView {
    /// How it ended.
    pub ending: Ending,
    /// Whether the agent's words name something that was in the way.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub blocked: bool,
    /// What it came to, in the agent's own words where there are any, cut.
    pub summary: String,
    /// What was measured, one of each kind, always in the same order.
    pub facts: Vec<Fact>,
    /// What the words say and the facts do not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What else there is to know about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Calls that were not allowed, of the agent and of those below it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<Denial>,
}

impl ReportView {
    pub(crate) fn of(report: &Report) -> Self {
        let cut_all =
            |texts: &[String]| texts.iter().map(|text| cut(text, limits::MESSAGE_CHARS_MAX)).collect();
        Self {
            ending: report.ending.clone(),
            blocked: report.blocked,
            summary: cut(&posse_report::summary(report), limits::SUMMARY_CHARS_MAX),
            facts: facts(&report.receipt),
            warnings: cut_all(&report.warnings),
            notes: cut_all(&report.notes),
            denied: report.receipt.denied.iter().map(shortened).collect(),
        }
    }

    /// All facts on one line.
    pub fn facts_line(&self) -> String {
        self.facts.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// What is told beside its words: the warnings, then the notes.
    pub fn remarks(&self) -> impl Iterator<Item = &String> {
        self.warnings.iter().chain(&self.notes)
    }
}

/// A denial whose texts are cut: a command can be long.
fn shortened(denial: &Denial) -> Denial {
    let short = |text: &str| cut(text, limits::TEXT_CHARS_MAX);
    Denial {
        agent: short(&denial.agent),
        tool: short(&denial.tool),
        what: short(&denial.what),
        reason: short(&denial.reason),
    }
}
