//! tools_find: looks for tools of servers by words, where there are too many to be offered.

use posse_policy::{Decision, decide_outside};
use posse_protocol::{CallKind, Files, Needs, Shell, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Knowledge, OutsideOffer, context::Context, failure::ToolFailure, mcp_read::no_servers, tool::Tool,
};

/// Find tools of these servers by words:
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolsFind {
    query: String,
}

impl Tool for ToolsFind {
    const NAME: &'static str = "tools_find";
    const KIND: CallKind = CallKind::Search;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("q", "query"), ("words", "query"), ("search", "query"), ("name", "query")];

    fn offer(knowledge: &Knowledge) -> Option<String> {
        match knowledge.outside.as_ref()?.offer() {
            OutsideOffer::Looked(servers) => Some(format!(" {}", servers.join("; "))),
            OutsideOffer::Each(_) => None,
        }
    }

    fn is_there(knowledge: &Knowledge) -> bool {
        knowledge.outside.is_some()
    }

    fn about(&self) -> String {
        self.query.trim().to_owned()
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        let outside = context.knowledge.outside.as_ref().ok_or_else(no_servers)?;
        let may = |name: &str| decide_outside(&context.grant, name) == Decision::Allow;
        Ok(ToolOutcome::ok(outside.find(&self.query, &may).await))
    }
}
