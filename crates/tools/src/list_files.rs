//! list_files: what is in a folder, a few levels deep.

use std::fmt::Write as _;

use posse_protocol::visible::one_line;
use posse_protocol::{CallKind, Files, Needs, Shell, ToolOutcome};
use posse_workspace::{Kind, Stop};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    context::Context,
    failure::ToolFailure,
    limits,
    lookup::{explained, place_or_root},
    tool::Tool,
};

/// List a folder. Ignored and hidden files are left out.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ListFiles {
    path: Option<String>,
    depth: Option<u32>,
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const KIND: CallKind = CallKind::Search;
    const NEEDS: Needs = Needs { files: Files::Read, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("directory", "path"),
        ("dir", "path"),
        ("folder", "path"),
        ("dir_path", "path"),
        ("file_path", "path"),
        ("max_depth", "depth"),
    ];

    fn about(&self) -> String {
        self.path.clone().unwrap_or_else(|| ".".to_owned())
    }

    fn folder(&self) -> Option<&str> {
        self.path.as_deref()
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, stop| self.list(context, stop)).await
    }
}

impl ListFiles {
    fn list(&self, context: &Context, stop: &Stop) -> Result<ToolOutcome, ToolFailure> {
        let path = place_or_root(&context.workspace, self.path.as_deref())?;
        let depth = self.depth.unwrap_or(limits::LIST_DEPTH).clamp(1, limits::LIST_DEPTH_MAX) as usize;
        let (entries_max, folder_max) = (limits::LIST_ENTRIES_MAX, limits::LIST_FOLDER_ENTRIES_MAX);
        let listing = context.workspace.list(&path, depth, entries_max, folder_max, stop);
        let listing = listing.map_err(|error| explained(&context.workspace, &error, stop))?;
        let mut text = String::new();
        for found in &listing.entries {
            let mark = match found.kind {
                Kind::File => "",
                Kind::Folder => "/",
                Kind::Link => " (link)",
                Kind::Fifo | Kind::Socket | Kind::Device => " (special file)",
            };
            let _ = writeln!(text, "{}{mark}", one_line(found.path.as_str(), 1_000));
        }
        for (folder, count) in listing.left_out.iter().take(20) {
            let _ = writeln!(text, "({count} more in {})", one_line(folder.as_str(), 1_000));
        }
        if listing.cut.is_some() {
            text.push_str("(too much to look at all of it; list a smaller folder)\n");
        }
        if text.is_empty() {
            text.push_str("(nothing but ignored or hidden files, or empty)");
        }
        text.truncate(text.trim_end_matches('\n').len());
        Ok(ToolOutcome::ok(text))
    }
}
