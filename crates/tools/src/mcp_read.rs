//! mcp_read: reads a resource of a server, or the rest of a long result, by its handle.

use posse_policy::Act;
use posse_protocol::{CallKind, Files, Grant, Needs, Shell, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Knowledge, OutsideHandle, OutsideOffer, context::Context, failure::ToolFailure, outside::no_servers,
    tool::Tool,
};

/// Read a resource or the rest of a result.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct McpRead {
    handle: String,
    offset: Option<u32>,
}

impl McpRead {
    /// What is judged and what is read: models write blanks around it.
    fn handle(&self) -> &str {
        self.handle.trim()
    }

    /// The server that it reads from; none where it reads on in a result.
    fn server(&self) -> Option<&str> {
        let (server, _) = self.handle().split_once(':')?;
        Some(server)
    }
}

impl Tool for McpRead {
    const NAME: &'static str = "mcp_read";
    const KIND: CallKind = CallKind::Read;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("uri", "handle"), ("resource", "handle"), ("start", "offset")];

    fn offer(knowledge: &Knowledge) -> Option<String> {
        matches!(knowledge.outside.as_ref()?.offer(), OutsideOffer::Each(_)).then(String::new)
    }

    fn is_there(knowledge: &Knowledge) -> bool {
        knowledge.outside.is_some()
    }

    fn about(&self) -> String {
        self.handle().to_owned()
    }

    fn act(&self, _grant: &Grant) -> Act {
        match self.server() {
            Some(_) => Act::Outside { destroys: false },
            None => Act::Read,
        }
    }

    fn outside(&self) -> Option<String> {
        Some(format!("mcp__{}__read_resource", self.server()?))
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        let outside = context.knowledge.outside.as_ref().ok_or_else(no_servers)?;
        let (handle, agent) = (self.handle().to_owned(), context.owner);
        let offset = self.offset.unwrap_or_default() as usize;
        let (questions, traceparent) = (context.questions, context.traceparent);
        let read = OutsideHandle { handle, offset, agent, questions, traceparent };
        Ok(outside.read(read).await.into())
    }
}
