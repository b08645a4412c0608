//! write_file: a whole file, but never over something the agent has not seen.

use posse_protocol::{CallKind, Effect, FileChange, Files, Needs, Shell, ToolOutcome};
use posse_workspace::{Expect, Kind, Stamp, WorkspaceError, WorkspacePath, text};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Preview, Rewrite, context::Context, failure::ToolFailure, limits, lookup::place, preview::content,
    tool::Tool,
};

/// Write a whole file: a new one, or one that you have read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WriteFile {
    path: String,
    content: String,
}

impl Tool for WriteFile {
    const NAME: &'static str = "write_file";
    const KIND: CallKind = CallKind::Edit;
    const NEEDS: Needs = Needs { files: Files::Write, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("file_path", "path"),
        ("filepath", "path"),
        ("filename", "path"),
        ("file", "path"),
        ("contents", "content"),
        ("text", "content"),
        ("file_text", "content"),
    ];

    fn about(&self) -> String {
        self.path.clone()
    }

    fn path(&self) -> Option<&str> {
        Some(&self.path)
    }

    fn preview(&self, context: &Context) -> Option<Preview> {
        let before = place(&context.workspace, &self.path).and_then(|path| content(context, &path));
        Some(match before {
            Ok(before) => Preview::of(before, self.content.as_bytes()),
            Err(failed) => Preview::of_failure(None, &failed),
        })
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, _| self.write(context)).await
    }
}

impl WriteFile {
    fn write(&self, context: &Context) -> Result<ToolOutcome, ToolFailure> {
        let path = place(&context.workspace, &self.path)?;
        let (old, expect) = match context.workspace.look(&path)? {
            None => (Vec::new(), Expect::Absent),
            Some((Kind::File, stamp)) => {
                seen_or_empty(context, &path, stamp)?;
                let (old, stamp) = context.workspace.read(&path, limits::EDIT_BYTES_MAX)?;
                if old == self.content.as_bytes() {
                    context.seen.written(&path, stamp);
                    return Ok(ToolOutcome::ok(format!("{path} already has exactly this content.")));
                }
                (old, Expect::Unchanged(stamp))
            }
            Some((kind, _)) => return Err(WorkspaceError::NotAFile { path: path.to_string(), kind }.into()),
        };
        let written = context.workspace.write_atomic(&path, self.content.as_bytes(), expect)?;
        context.seen.written(&path, written.stamp);
        let before = (!written.created).then(|| old.clone());
        context.rewrites.push(Rewrite::of(
            &context.workspace,
            &path,
            before,
            self.content.clone().into_bytes(),
        ));
        let (lines_added, lines_removed) = text::line_changes(&old, self.content.as_bytes());
        let verb = if written.created { "Created" } else { "Replaced" };
        let text = format!("{verb} {path} (+{lines_added} -{lines_removed} lines).");
        let change =
            FileChange { path: path.to_string(), created: written.created, lines_added, lines_removed };
        Ok(ToolOutcome::ok(text).with(Effect::File(change)))
    }
}

fn seen_or_empty(context: &Context, path: &WorkspacePath, stamp: Stamp) -> Result<(), ToolFailure> {
    match context.seen.last(path) {
        Some(seen) if seen == stamp => Ok(()),
        _ if stamp.bytes() == 0 => Ok(()),
        Some(_) => Err(WorkspaceError::Changed { path: path.to_string() }.into()),
        None => Err(unseen(context, path, stamp)),
    }
}

/// What is there, so that the next call can be made with it; what is long has to be read.
fn unseen(context: &Context, path: &WorkspacePath, stamp: Stamp) -> ToolFailure {
    let there = format!("{path} is already there and you have not seen what is in it; nothing was written.");
    let read = context.workspace.read(path, limits::UNSEEN_BYTES_MAX).ok();
    let shown = read.filter(|(bytes, read)| *read == stamp && !text::is_binary(bytes));
    let Some(shown) = shown.and_then(|(bytes, _)| String::from_utf8(bytes).ok()) else {
        return ToolFailure(format!("{there} Call read_file on it, then change a part with edit_file."));
    };
    context.seen.read(path, stamp);
    let shown = shown.trim_end();
    ToolFailure(format!(
        "{there} It is:\n{shown}\nChange a part of it with edit_file, or call write_file again."
    ))
}
