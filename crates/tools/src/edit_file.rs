//! edit_file: replacement of the one place that fits, in a file that is still as the agent knows it.
//!
//! Exact text comes first. Where it is not there, white space and copied line numbers are forgiven if one place alone fits
//! then; everything else is refused with the lines that were probably meant.

use posse_protocol::{CallKind, Effect, FileChange, Files, Needs, Shell, ToolOutcome};
use posse_workspace::{
    Expect, Stop, WorkspaceError, WorkspacePath, nearest_lines, replace_loosely, replace_numbered,
    text::{self, ReplaceError, Replaced},
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Preview, Rewrite,
    context::Context,
    failure::ToolFailure,
    limits,
    lookup::{explained, place},
    preview::content,
    show::{numbered, plain_lines},
    tool::Tool,
};

/// Replace exact text in a file. old_text must occur exactly once, unless replace_all.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditFile {
    path: String,
    /// Copied exactly, with indentation, without line numbers.
    old_text: String,
    /// To add lines, repeat old_text first.
    new_text: String,
    replace_all: Option<bool>,
}

impl Tool for EditFile {
    const NAME: &'static str = "edit_file";
    const KIND: CallKind = CallKind::Edit;
    const NEEDS: Needs = Needs { files: Files::Write, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("file_path", "path"),
        ("filepath", "path"),
        ("filename", "path"),
        ("file", "path"),
        ("old_string", "old_text"),
        ("old_str", "old_text"),
        ("old", "old_text"),
        ("search", "old_text"),
        ("new_string", "new_text"),
        ("new_str", "new_text"),
        ("new", "new_text"),
        ("replace", "new_text"),
        ("all", "replace_all"),
    ];

    fn about(&self) -> String {
        self.path.clone()
    }

    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn preview(&self, context: &Context) -> Option<Preview> {
        let read =
            place(&context.workspace, &self.path).and_then(|path| Ok((content(context, &path)?, path)));
        Some(match read {
            Ok((before, path)) => match self.edited(&path, before.as_deref().unwrap_or_default()) {
                Ok((edited, _)) => Preview::of(before, &edited.bytes),
                Err(failed) => Preview::of_failure(before, &failed),
            },
            Err(failed) => Preview::of_failure(None, &failed),
        })
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, stop| self.edit(context, stop)).await
    }
}

impl EditFile {
    fn edit(&self, context: &Context, stop: &Stop) -> Result<ToolOutcome, ToolFailure> {
        let path = place(&context.workspace, &self.path)?;
        let read = context.workspace.read(&path, limits::EDIT_BYTES_MAX);
        let (old, stamp) = read.map_err(|error| explained(&context.workspace, &error, stop))?;
        if context.seen.last(&path).is_some_and(|seen| seen != stamp) {
            return Err(WorkspaceError::Changed { path: path.to_string() }.into());
        }
        let (edited, forgiven) = self.edited(&path, &old)?;
        if context.seen.last(&path).is_none() && (self.cuts_words(&old) || self.cuts_line(&old)) {
            return Err(self.blind(&path, &old, edited.first_line));
        }
        let written = context.workspace.write_atomic(&path, &edited.bytes, Expect::Unchanged(stamp))?;
        context.seen.written(&path, written.stamp);
        context.rewrites.push(Rewrite::of(
            &context.workspace,
            &path,
            Some(old.clone()),
            edited.bytes.clone(),
        ));
        let (lines_added, lines_removed) = text::line_changes(&old, &edited.bytes);
        let places = if edited.count == 1 { String::new() } else { format!(" in {} places", edited.count) };
        let first = edited.first_line.saturating_sub(2).max(1);
        let last = edited.first_line + self.new_text.lines().count() + 1;
        let snippet = numbered(&String::from_utf8_lossy(&edited.bytes), first, last);
        let text = format!(
            "Edited {path}{places} (+{lines_added} -{lines_removed} lines{forgiven}). Now:\n{snippet}"
        );
        let change = FileChange { path: path.to_string(), created: false, lines_added, lines_removed };
        Ok(ToolOutcome::ok(text).with(Effect::File(change)))
    }

    /// The file as it would be, and what of the old text was forgiven.
    fn edited(&self, path: &WorkspacePath, old: &[u8]) -> Result<(Replaced, &'static str), ToolFailure> {
        if text::is_binary(old) {
            let kind = text::binary_kind(old);
            return Err(ToolFailure(format!("{path} is not text ({kind}); edit_file cannot change it")));
        }
        if self.is_done(old) {
            return Err(ToolFailure(format!(
                "new_text is in {path} already; nothing was changed. If nothing else is to be done, answer."
            )));
        }
        let all = self.replace_all.unwrap_or(false);
        if !all && let Some(edited) = self.without_line(old) {
            return Ok((edited, ""));
        }
        let edited = text::replace(old, &self.old_text, &self.new_text, all).map(|edited| (edited, ""));
        let edited = match edited {
            Err(ReplaceError::NotFound) if !all => self.forgiven(old),
            edited => edited,
        };
        edited.map_err(|error| self.advice(path, old, &error))
    }

    /// The file without whole lines, where these are replaced by nothing: an empty line in their place is not meant.
    fn without_line(&self, old: &[u8]) -> Option<Replaced> {
        if !self.new_text.is_empty() || self.old_text.trim().is_empty() || self.old_text.ends_with('\n') {
            return None;
        }
        let file = String::from_utf8_lossy(old);
        let mut found = file.match_indices(&self.old_text);
        let (at, _) = found.next().filter(|_| found.next().is_none())?;
        let begins = at == 0 || file[..at].ends_with('\n');
        let line = format!("{}\n", self.old_text);
        begins.then(|| text::replace(old, &line, "", false).ok()).flatten()
    }

    /// The same where the old text is not there as it was written.
    fn forgiven(&self, old: &[u8]) -> Result<(Replaced, &'static str), ReplaceError> {
        match replace_numbered(old, &self.old_text, &self.new_text) {
            Err(ReplaceError::NotFound) => replace_loosely(old, &self.old_text, &self.new_text)
                .map(|edited| (edited, "; white space differed")),
            edited => edited.map(|edited| (edited, "; line numbers left out")),
        }
    }

    fn advice(&self, path: &WorkspacePath, file: &[u8], error: &ReplaceError) -> ToolFailure {
        ToolFailure(match error {
            ReplaceError::EmptyOld => {
                "old_text is empty; to add lines, give the line before them as old_text, and that line with \
                 the new ones after it as new_text"
                    .to_owned()
            }
            ReplaceError::NoChange => {
                "old_text and new_text are the same, so nothing was changed; old_text is what stands in the \
                 file now, new_text what shall stand there instead"
                    .to_owned()
            }
            ReplaceError::NotUnique { lines } => {
                let shown: Vec<String> = lines.iter().take(10).map(ToString::to_string).collect();
                format!(
                    "old_text is in {path} {} times, on lines {}{}; call edit_file again with replace_all true to \
                     change them all, or with lines around it until it is unique",
                    lines.len(),
                    shown.join(", "),
                    if lines.len() > shown.len() { ", …" } else { "" }
                )
            }
            ReplaceError::NotFound => {
                format!("old_text is not in {path}; nothing was changed. {}", self.closest(file))
            }
        })
    }

    /// Whether the old text begins or ends within a word or number of the file.
    fn cuts_words(&self, file: &[u8]) -> bool {
        let file = String::from_utf8_lossy(file);
        let joined = |one: Option<char>, other: Option<char>| {
            one.is_some_and(char::is_alphanumeric) && other.is_some_and(char::is_alphanumeric)
        };
        file.match_indices(&self.old_text).any(|(at, found)| {
            let (before, after) = (file[..at].chars().next_back(), file[at + found.len()..].chars().next());
            joined(before, found.chars().next()) || joined(found.chars().next_back(), after)
        })
    }

    /// Whether it deletes part of a line.
    fn cuts_line(&self, file: &[u8]) -> bool {
        let file = String::from_utf8_lossy(file);
        let whole = |at: usize, found: &str| {
            let (before, after) = (&file[..at], &file[at + found.len()..]);
            let begins = before.is_empty() || before.ends_with('\n');
            begins && (after.is_empty() || after.starts_with(['\n', '\r']) || found.ends_with('\n'))
        };
        self.new_text.is_empty() && file.match_indices(&self.old_text).any(|(at, found)| !whole(at, found))
    }

    /// Whether lines were added before that the call would add once more.
    fn is_done(&self, file: &[u8]) -> bool {
        let file = String::from_utf8_lossy(file);
        let adds = self.new_text.len() > self.old_text.len() && self.new_text.contains(&self.old_text);
        adds && !self.old_text.is_empty()
            && self.new_text.trim_end().contains('\n')
            && file.matches(&self.old_text).count() == self.new_text.matches(&self.old_text).count()
            && file.contains(&self.new_text)
    }

    /// Why a guess is not taken: whoever has read the file would have written the whole of it.
    fn blind(&self, path: &WorkspacePath, file: &[u8], line: usize) -> ToolFailure {
        let file = String::from_utf8_lossy(file);
        let last = line + self.old_text.lines().count().saturating_sub(1);
        ToolFailure(format!(
            "old_text is only part of what stands in {path}, which you have not read; nothing was changed. There it says:\n{}\n\
             Call edit_file again with old_text copied from there.",
            plain_lines(&file, line, last)
        ))
    }

    /// What was probably meant, to be copied.
    fn closest(&self, file: &[u8]) -> String {
        if self.old_text.contains('\u{fffd}') {
            return "The file has bytes there that are not UTF-8; choose text without \u{fffd}.".to_owned();
        }
        let file = String::from_utf8_lossy(file);
        let (what, lines) = match nearest_lines(&file, &self.old_text) {
            Some(near) if near.only_white_space => {
                ("Only white space differs here", plain_lines(&file, near.first_line, near.last_line))
            }
            Some(near) => ("The closest is", plain_lines(&file, near.first_line, near.last_line)),
            None if file.lines().count() <= limits::SNIPPET_LINES_MAX => {
                ("The whole file is", plain_lines(&file, 1, limits::SNIPPET_LINES_MAX))
            }
            None => return "Nothing in it is close; call read_file on it first.".to_owned(),
        };
        format!(
            "{what}:\n{lines}\nCall edit_file again with old_text copied from there, or answer if that is what was wanted."
        )
    }
}
