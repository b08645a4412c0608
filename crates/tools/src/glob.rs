//! glob: files by the pattern of their path.

use std::fmt::Write as _;

use posse_protocol::visible::one_line;
use posse_protocol::{CallKind, Files, Needs, Shell, ToolOutcome};
use posse_workspace::Stop;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    context::Context,
    failure::ToolFailure,
    limits,
    lookup::{explained, place_or_root},
    tool::Tool,
};

/// Find files by path pattern, such as **/test_*.py.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Glob {
    pattern: String,
    path: Option<String>,
}

impl Tool for Glob {
    const NAME: &'static str = "glob";
    const KIND: CallKind = CallKind::Search;
    const NEEDS: Needs = Needs { files: Files::Read, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("glob", "pattern"),
        ("glob_pattern", "pattern"),
        ("query", "pattern"),
        ("directory", "path"),
        ("dir", "path"),
        ("folder", "path"),
    ];

    fn about(&self) -> String {
        match &self.path {
            Some(path) => format!("{} in {path}", self.pattern),
            None => self.pattern.clone(),
        }
    }

    fn folder(&self) -> Option<&str> {
        self.path.as_deref()
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        context.blocking(move |context, stop| self.find(context, stop)).await
    }
}

impl Glob {
    fn find(&self, context: &Context, stop: &Stop) -> Result<ToolOutcome, ToolFailure> {
        let path = place_or_root(&context.workspace, self.path.as_deref())?;
        let found = context.workspace.glob(&self.pattern, &path, limits::GLOB_PATHS_MAX, stop);
        let found = found.map_err(|error| explained(&context.workspace, &error, stop))?;
        let lines: Vec<String> = found.paths.iter().map(|path| one_line(path.as_str(), 1_000)).collect();
        let mut text = lines.join("\n");
        let shown = found.paths.len() as u64;
        if found.total == 0 {
            text.push_str("No file has such a path. Ignored files are not searched. To find text inside files, call grep.");
        } else if shown < found.total {
            let _ = write!(text, "\n({shown} of {} shown; narrow the pattern)", found.total);
        }
        if found.cut.is_some() {
            text.push_str("\n(too many files to look at them all; search a smaller folder)");
        }
        Ok(ToolOutcome::ok(text))
    }
}
