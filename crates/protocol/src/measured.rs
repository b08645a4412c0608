//! Single facts of a receipt: commands, tests, test files, commits, sub-agents. All are measured, none is said.

use serde::{Deserialize, Serialize};

use crate::Ending;

/// One command that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandRun {
    /// The command text.
    pub command: String,
    /// Its exit code; `None` if it was killed.
    pub exit_code: Option<i32>,
    /// What is known of its tests, if it is a command that runs tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<RanTests>,
}

impl CommandRun {
    /// Whether it was killed, or ended with another exit code than 0.
    pub fn failed(&self) -> bool {
        self.exit_code != Some(0)
    }
}

/// How many tests a runner says it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestRun {
    /// Tests run.
    pub run: u32,
    /// Tests passed.
    pub passed: u32,
}

/// What is known of the tests of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RecordedTests")]
pub struct RanTests {
    /// How many, where the runner's own output says so.
    pub counts: Option<TestRun>,
    /// What in the command keeps its exit code from being that of the tests, such as `| tail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<String>,
}

/// The last tests that were seen. A record from before commands were told apart has counts only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "RecordedTests")]
pub struct TestsSeen {
    /// The sub-agent that ran them, if it was not the agent itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The command that ran them; empty if it is not known.
    pub command: String,
    /// Its exit code; `None` if it was killed.
    pub exit_code: Option<i32>,
    /// How many, where the runner's own output says so.
    pub counts: Option<TestRun>,
    /// What in the command keeps its exit code from being that of the tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<String>,
    /// Whether a file was changed after them.
    pub edited_after: bool,
}

/// How tests ended, as far as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestVerdict {
    /// They ran to their end, and none failed.
    Passed,
    /// Some failed, or the command that ran them did.
    Failed,
    /// There were none to run.
    NoneRan,
    /// They were stopped, or the command hides how they ended.
    Unknown,
}

impl TestsSeen {
    /// The tests of a command that ran some.
    pub fn of(run: &CommandRun) -> Option<Self> {
        let tests = run.tests.as_ref()?;
        Some(Self {
            by: None,
            command: run.command.clone(),
            exit_code: run.exit_code,
            counts: tests.counts,
            hidden_by: tests.hidden_by.clone(),
            edited_after: false,
        })
    }

    /// How they ended. A failing exit is a failure whatever the output says.
    pub fn verdict(&self) -> TestVerdict {
        let counts_decide = self.command.is_empty() || self.hidden_by.is_some();
        match (self.counts, self.exit_code) {
            (Some(counts), _) if counts.passed < counts.run => TestVerdict::Failed,
            (Some(counts), _) if counts_decide && counts.run > 0 => TestVerdict::Passed,
            (Some(_), _) if counts_decide => TestVerdict::NoneRan,
            (None, _) if counts_decide => TestVerdict::Unknown,
            (Some(TestRun { run: 0, .. }), Some(0)) => TestVerdict::NoneRan,
            (_, Some(0)) => TestVerdict::Passed,
            (_, Some(_)) => TestVerdict::Failed,
            (_, None) => TestVerdict::Unknown,
        }
    }
}

/// Tests as they are on record: in earlier records only their counts.
#[derive(Deserialize)]
#[serde(untagged)]
enum RecordedTests {
    Counts(TestRun),
    Seen {
        #[serde(default)]
        by: Option<String>,
        #[serde(default)]
        command: String,
        #[serde(default)]
        exit_code: Option<i32>,
        #[serde(default)]
        counts: Option<TestRun>,
        #[serde(default)]
        hidden_by: Option<String>,
        #[serde(default)]
        edited_after: bool,
    },
}

impl From<RecordedTests> for TestsSeen {
    fn from(recorded: RecordedTests) -> Self {
        match recorded {
            RecordedTests::Counts(counts) => Self { counts: Some(counts), ..Self::default() },
            RecordedTests::Seen { by, command, exit_code, counts, hidden_by, edited_after } => {
                Self { by, command, exit_code, counts, hidden_by, edited_after }
            }
        }
    }
}

impl From<RecordedTests> for RanTests {
    fn from(recorded: RecordedTests) -> Self {
        let TestsSeen { counts, hidden_by, .. } = recorded.into();
        Self { counts, hidden_by }
    }
}

/// A test file that was changed, and what it lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFileChange {
    /// Relative to the workspace, `/` between parts.
    pub path: String,
    /// Whether it was not there before.
    #[serde(default)]
    pub created: bool,
    /// Whether it is gone.
    #[serde(default)]
    pub deleted: bool,
    /// How many tests fewer it has.
    pub tests_removed: u32,
    /// How many assertions fewer it has.
    pub assertions_removed: u32,
    /// How many marks that skip a test it has gained.
    pub skips_added: u32,
}

/// What one change does to a test file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFileDelta {
    /// Relative to the workspace, `/` between parts.
    pub path: String,
    /// Whether it was not there before.
    pub created: bool,
    /// Whether it is gone.
    pub deleted: bool,
    /// How many tests more it has.
    pub tests: i32,
    /// How many assertions more it has.
    pub assertions: i32,
    /// How many marks that skip a test more it has.
    pub skips: i32,
}

/// A commit that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitMade {
    /// Its id, in full.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// A sub-agent that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnded {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: String,
    /// How it ended.
    pub ending: Ending,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn earlier_records_of_tests_have_counts_only() {
        let counts = Some(TestRun { run: 5, passed: 4 });
        let seen: TestsSeen = serde_json::from_str(r#"{"run":5,"passed":4}"#).unwrap();
        assert_eq!(seen, TestsSeen { counts, ..TestsSeen::default() });
        assert_eq!(seen.verdict(), TestVerdict::Failed);
        let run: CommandRun =
            serde_json::from_str(r#"{"command":"x","exit_code":0,"tests":{"run":5,"passed":4}}"#).unwrap();
        assert_eq!(run.tests, Some(RanTests { counts, hidden_by: None }));
        for run in [RanTests::default(), RanTests { counts, hidden_by: Some("| tail".into()) }] {
            let text = serde_json::to_string(&run).unwrap();
            assert_eq!(serde_json::from_str::<RanTests>(&text).unwrap(), run, "{text}");
        }
    }

    #[test]
    fn a_verdict_needs_an_exit_code_or_the_runners_counts() {
        use TestVerdict::{Failed, NoneRan, Passed, Unknown};
        // Counts, exit code, whether that is hidden.
        let cases = [
            (None, Some(0), false, Passed),
            (Some((5, 5)), Some(0), false, Passed),
            (Some((5, 5)), Some(1), false, Failed),
            (Some((5, 4)), Some(0), false, Failed),
            (Some((0, 0)), Some(0), false, NoneRan),
            (None, Some(101), false, Failed),
            (None, None, false, Unknown),
            (None, Some(0), true, Unknown),
            (None, Some(1), true, Unknown),
            (Some((5, 5)), Some(0), true, Passed),
            (Some((5, 4)), Some(0), true, Failed),
            (Some((0, 0)), Some(0), true, NoneRan),
        ];
        for (counts, exit_code, hidden, wanted) in cases {
            let counts = counts.map(|(run, passed)| TestRun { run, passed });
            let hidden_by = hidden.then(|| "| tail".to_owned());
            let command = "cargo test".to_owned();
            let seen = TestsSeen { command, exit_code, counts, hidden_by, ..TestsSeen::default() };
            assert_eq!(seen.verdict(), wanted, "{seen:?}");
        }
    }
}
