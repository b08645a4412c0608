//! Single facts of a receipt: commands, tests, test files, commits, sub-agents. All are measured, none is said.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ending;

/// One command that was run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRun {
    /// The command text.
    pub command: String,
    /// Its exit code; `None` if it was killed.
    pub exit_code: Option<i32>,
    /// What is known of its tests, if it is a command that runs tests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tests: Option<RanTests>,
    /// What it does, by its words and the project's files; empty if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<CommandWork>,
}

/// A kind of work that commands do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommandWork {
    /// Looks at things, or only changes files.
    Look,
    /// Builds.
    Build,
    /// Lints.
    Lint,
    /// Checks types.
    Types,
    /// Formats.
    Format,
    /// Installs.
    Install,
    /// Makes a commit.
    Commit,
    /// Sends commits elsewhere.
    Push,
    /// Anything: a script, a program that nobody knows.
    #[serde(other)]
    Other,
}

impl CommandRun {
    /// Whether it was killed, or ended with another exit code than 0.
    pub fn failed(&self) -> bool {
        self.exit_code != Some(0)
    }

    /// Whether it is known to do nothing but look.
    pub fn only_looks(&self) -> bool {
        self.tests.is_none()
            && !self.work.is_empty()
            && self.work.iter().all(|work| *work == CommandWork::Look)
    }
}

/// How many tests a runner says it ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TestRun {
    /// Tests run.
    pub run: u32,
    /// Tests passed.
    pub passed: u32,
}

/// What is known of the tests of one command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "RecordedTests")]
pub struct RanTests {
    /// How many, where the runner's own output says so.
    pub counts: Option<TestRun>,
    /// What in the command keeps its exit code from being that of the tests, such as `| tail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hidden_by: Option<String>,
    /// Files of the workspace that say what the command runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether only the name of such a file says that these are tests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_name: bool,
    /// Whether that is so, and the agent changed the file: it says itself what its tests are.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The last tests that were seen. A record from before commands were told apart has counts only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
    /// Files of the workspace that say what the command runs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether only the name of such a file says that these are tests.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub by_name: bool,
    /// Whether that is so, and the agent changed the file.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
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
    /// A script that the agent changed itself ended well. What it tests is for it to say.
    Own,
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
            files: tests.files.clone(),
            by_name: tests.by_name,
            own: tests.own,
            edited_after: false,
        })
    }

    /// Takes in which files the agent has changed: a script of its own counts nothing.
    pub fn changed(&mut self, is_changed: impl Fn(&str) -> bool) {
        if self.by_name && self.files.iter().any(|file| is_changed(file)) {
            self.own = true;
            self.counts = self.counts.filter(|counts| counts.passed < counts.run);
        }
    }

    /// How they ended. A failing exit is a failure whatever the output says.
    pub fn verdict(&self) -> TestVerdict {
        if self.own && self.hidden_by.is_none() && self.counts.is_none() && self.exit_code == Some(0) {
            return TestVerdict::Own;
        }
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
#[derive(Deserialize, JsonSchema)]
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
        files: Vec<String>,
        #[serde(default)]
        by_name: bool,
        #[serde(default)]
        own: bool,
        #[serde(default)]
        edited_after: bool,
    },
}

impl From<RecordedTests> for TestsSeen {
    fn from(recorded: RecordedTests) -> Self {
        match recorded {
            RecordedTests::Counts(counts) => Self { counts: Some(counts), ..Self::default() },
            RecordedTests::Seen {
                by,
                command,
                exit_code,
                counts,
                hidden_by,
                files,
                by_name,
                own,
                edited_after,
            } => Self { by, command, exit_code, counts, hidden_by, files, by_name, own, edited_after },
        }
    }
}

impl From<RecordedTests> for RanTests {
    fn from(recorded: RecordedTests) -> Self {
        let TestsSeen { counts, hidden_by, files, by_name, own, .. } = recorded.into();
        Self { counts, hidden_by, files, by_name, own }
    }
}

/// A test file that was changed, and what it lost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommitMade {
    /// Its id, in full.
    pub id: String,
    /// The first line of its message.
    pub subject: String,
}

/// A sub-agent that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        assert_eq!(run.tests, Some(RanTests { counts, ..RanTests::default() }));
        let all = RanTests {
            counts,
            hidden_by: Some("| tail".into()),
            files: vec!["Makefile".into()],
            by_name: true,
            own: true,
        };
        for run in [RanTests::default(), all] {
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

    #[test]
    fn a_script_that_the_agent_changed_itself_proves_nothing() {
        use TestVerdict::{Failed, Own, Passed, Unknown};
        let seen = |exit_code, counts: Option<(u32, u32)>, by_name, hidden: bool| TestsSeen {
            command: "sh test.sh".into(),
            exit_code,
            counts: counts.map(|(run, passed)| TestRun { run, passed }),
            hidden_by: hidden.then(|| "; true".into()),
            files: vec!["test.sh".into()],
            by_name,
            ..TestsSeen::default()
        };
        let cases = [
            (seen(Some(0), Some((12, 12)), true, false), Own),
            (seen(Some(0), None, true, false), Own),
            (seen(Some(0), Some((12, 11)), true, false), Failed),
            (seen(Some(1), None, true, false), Failed),
            (seen(None, None, true, false), Unknown),
            (seen(Some(0), Some((12, 12)), true, true), Unknown),
            // A runner of the table counts, whoever wrote the file that calls it.
            (seen(Some(0), Some((12, 12)), false, false), Passed),
        ];
        for (mut seen, wanted) in cases {
            seen.changed(|file| file == "other.sh");
            assert!(!seen.own, "{seen:?}");
            seen.changed(|file| file == "test.sh");
            assert_eq!(seen.verdict(), wanted, "{seen:?}");
        }
    }
}
