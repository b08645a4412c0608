//! What a call would change, for the person who is asked about it. Looks, and changes nothing.

use posse_protocol::limits::PREVIEW_BYTES_MAX;
use posse_workspace::{Kind, WorkspaceError, WorkspacePath, text, unified};

use crate::{context::Context, failure::ToolFailure, limits};

/// What a call would change as things are now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// A diff, or why nothing would be changed.
    pub text: String,
    /// What is there now; none if nothing is.
    before: Option<Vec<u8>>,
}

impl Preview {
    pub(crate) fn of(before: Option<Vec<u8>>, after: &[u8]) -> Self {
        let old = before.as_deref().unwrap_or_default();
        let text = if text::is_binary(old) {
            let (kind, bytes) = (text::binary_kind(old), old.len());
            format!("{kind} of {bytes} bytes is replaced by:\n{}", unified(b"", after))
        } else if before.as_deref() == Some(after) {
            "nothing is changed: the file has exactly this content\n".to_owned()
        } else if before.is_none() && after.is_empty() {
            "an empty file is made\n".to_owned()
        } else {
            unified(old, after)
        };
        Self { text: capped(text), before }
    }

    /// The same for a call that cannot do what it is asked.
    pub(crate) fn of_failure(before: Option<Vec<u8>>, failed: &ToolFailure) -> Self {
        // What follows is for the model that calls.
        let why = failed.0.lines().next().unwrap_or_default().split("; nothing was changed").next();
        Self { text: capped(format!("nothing would be changed: {}\n", why.unwrap_or_default())), before }
    }

    /// Whether what would be changed is still as it was for another look.
    pub fn still(&self, earlier: &Self) -> bool {
        self.before == earlier.before
    }
}

/// The content of a file, none if there is none yet.
pub(crate) fn content(context: &Context, path: &WorkspacePath) -> Result<Option<Vec<u8>>, ToolFailure> {
    match context.workspace.look(path)? {
        None => Ok(None),
        Some((Kind::File, _)) => Ok(Some(context.workspace.read(path, limits::EDIT_BYTES_MAX)?.0)),
        Some((kind, _)) => Err(WorkspaceError::NotAFile { path: path.to_string(), kind }.into()),
    }
}

/// Start and end of what is very long, cut at lines where there are some.
fn capped(text: String) -> String {
    if text.len() <= PREVIEW_BYTES_MAX {
        return text;
    }
    let side = PREVIEW_BYTES_MAX / 2;
    let head = &text[..text.floor_char_boundary(side)];
    let tail = &text[text.ceil_char_boundary(text.len() - side)..];
    let (head, tail) = (
        head.rfind('\n').map_or(head, |at| &head[..=at]),
        tail.find('\n').map_or(tail, |at| &tail[at + 1..]),
    );
    let left_out = &text[head.len()..text.len() - tail.len()];
    let (lines, bytes) = (left_out.lines().count(), left_out.len());
    format!("{head}\n({lines} lines of {bytes} bytes are left out here)\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_is_told_and_very_long_ones_from_both_ends() {
        let cases = [
            (None, "", "an empty file is made\n"),
            (None, "a\n", "@@ -0,0 +1,1 @@\n+a\n"),
            (Some("a\n"), "a\n", "nothing is changed: the file has exactly this content\n"),
            (Some("\0"), "a\n", "binary data of 1 bytes is replaced by:\n@@ -0,0 +1,1 @@\n+a\n"),
            (Some("a\n"), "", "@@ -1,1 +0,0 @@\n-a\n"),
        ];
        for (before, after, want) in cases {
            let before = before.map(|before: &str| before.as_bytes().to_vec());
            assert_eq!(Preview::of(before, after.as_bytes()).text, want);
        }
        let long = (0..100_000).map(|n| format!("line {n}\n")).collect::<String>();
        for long in [long, "x".repeat(PREVIEW_BYTES_MAX * 2)] {
            let text = Preview::of(None, long.as_bytes()).text;
            assert!(text.len() <= PREVIEW_BYTES_MAX + 100 && text.contains("are left out here)\n"));
        }
        let (one, other) = (Preview::of(None, b"a"), Preview::of(Some(Vec::new()), b"a"));
        assert!(one.still(&Preview::of(None, b"b")) && !one.still(&other));
    }
}
