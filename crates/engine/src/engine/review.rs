//! What a person has reviewed of a session's changes, hunk by hunk. A mark is about the lines of a hunk: it holds while they
//! move, and lapses when they change.

use std::collections::BTreeSet;

use posse_protocol::{EventKind, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::limits::{HUNK_ID_CHARS, HUNKS_MARKED_MAX};
use crate::record::journal::Journal;

/// A diff, and what was reviewed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewDiff {
    /// In unified form.
    pub diff: String,
    /// The branch that the changes are on, where they are not in the workspace: they can be merged, not undone.
    pub branch: Option<String>,
    /// Every hunk of it, in order.
    pub hunks: Vec<ReviewHunk>,
}

/// One hunk of a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewHunk {
    /// The nth file of the diff, from 0.
    pub file: usize,
    /// Its number in the file, from 1, as an undo takes it.
    pub hunk: u32,
    /// What it is marked by.
    pub id: String,
    /// Whether a person has reviewed it.
    pub reviewed: bool,
}

impl ReviewDiff {
    pub(crate) fn new(diff: String, branch: Option<String>, reviewed: &BTreeSet<String>) -> Self {
        let hunks = hunks(&diff, reviewed);
        Self { diff, branch, hunks }
    }
}

/// The hunks of a diff. A hunk's lines begin with a space, a sign or a backslash, so nothing in a file can pose as a header.
fn hunks(diff: &str, reviewed: &BTreeSet<String>) -> Vec<ReviewHunk> {
    let (mut found, mut files, mut number) = (Vec::new(), 0usize, 0u32);
    let mut header = String::new();
    let mut open: Option<String> = None;
    let mut close = |open: &mut Option<String>, files: usize, number: u32| {
        let Some(text) = open.take() else { return };
        let digest = Sha256::digest(text.as_bytes());
        let id: String = digest.iter().take(HUNK_ID_CHARS / 2).map(|byte| format!("{byte:02x}")).collect();
        let reviewed = reviewed.contains(&id);
        found.push(ReviewHunk { file: files.saturating_sub(1), hunk: number, id, reviewed });
    };
    for line in diff.lines() {
        match (line.as_bytes().first(), &mut open) {
            (Some(b' ' | b'+' | b'-' | b'\\'), Some(text)) => {
                text.push_str(line);
                text.push('\n');
            }
            _ if line.starts_with("diff --git ") => {
                close(&mut open, files, number);
                (files, number) = (files + 1, 0);
                header = line.to_owned();
            }
            _ if line.starts_with("@@ ") => {
                close(&mut open, files, number);
                number += 1;
                open = Some(format!("{header}\n"));
            }
            _ => close(&mut open, files, number),
        }
    }
    close(&mut open, files, number);
    found
}

impl Engine {
    /// Marks hunks as reviewed, or takes the marks back. Any process may do that, whoever runs the session.
    pub async fn review(
        &self,
        session: SessionId,
        hunks: Vec<String>,
        reviewed: bool,
    ) -> Result<(), EngineError> {
        let is_id =
            |hunk: &String| hunk.len() == HUNK_ID_CHARS && hunk.bytes().all(|byte| byte.is_ascii_hexdigit());
        if hunks.is_empty() || hunks.len() > HUNKS_MARKED_MAX || !hunks.iter().all(is_id) {
            let message = format!("1 to {HUNKS_MARKED_MAX} hunks are marked at once, by the ids of the diff");
            return Err(EngineError::Refused(message));
        }
        let row = self.read(move |engine| engine.find_session(&session.to_string())).await?;
        let agents = self.agents_of_session(row.id).await?;
        let main = agents.iter().find(|agent| agent.parent.is_none());
        let none = || EngineError::NotFound(format!("the session {session} has not begun"));
        let mut journal = Journal::new(self.parts.store.clone(), session, main.ok_or_else(none)?.id, None);
        journal.note(EventKind::Reviewed { hunks, reviewed });
        Ok(journal.durable().await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-diff --git a/q b/q\n+@@ -1 +1 @@\n@@ -9,1 +9,1 @@\n-old\n+new\ndiff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1,1 @@\n+old\n\\ No newline at end of file\n";

    #[test]
    fn hunks_are_numbered_per_file_and_known_by_their_lines() {
        let first = hunks(DIFF, &BTreeSet::new());
        let places: Vec<_> = first.iter().map(|hunk| (hunk.file, hunk.hunk, hunk.reviewed)).collect();
        assert_eq!(places, [(0, 1, false), (0, 2, false), (1, 1, false)]);
        let marked = BTreeSet::from([first[1].id.clone()]);
        let moved = DIFF.replace("@@ -9,1 +9,1 @@", "@@ -20,1 +21,1 @@");
        let again: Vec<_> = hunks(&moved, &marked).iter().map(|hunk| hunk.reviewed).collect();
        assert_eq!(again, [false, true, false], "the mark goes with the lines");
        let changed = DIFF.replace("+new", "+newer");
        assert!(hunks(&changed, &marked).iter().all(|hunk| !hunk.reviewed), "and lapses with them");
        let other_file = DIFF.replace("a/x b/x", "a/z b/z");
        assert!(hunks(&other_file, &marked).iter().all(|hunk| !hunk.reviewed));
    }
}
