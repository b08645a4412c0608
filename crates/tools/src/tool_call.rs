//! tool_call: calls a tool of a server by its name. Rights and rules are about that tool, not about this one.

use posse_policy::Act;
use posse_protocol::{CallKind, Files, Grant, Needs, Shell, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::{
    Knowledge, OutsideCall, OutsideOffer, context::Context, failure::ToolFailure, outside::no_servers,
    tool::Tool,
};

/// Call a tool that tools_find has found.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamedCall {
    pub(crate) name: String,
    #[schemars(with = "Option<Map<String, Value>>")]
    pub(crate) arguments: Option<Value>,
}

impl NamedCall {
    /// What a call of this tool gives another, if it is that one that it names.
    pub(crate) fn of(written: &str, name: &str) -> Option<String> {
        let call: Self = serde_json::from_str(written).ok()?;
        (call.name == name)
            .then(|| call.given().map(|given| Value::Object(given).to_string()).unwrap_or_default())
    }

    /// What it is given. Some models encode it twice.
    fn given(&self) -> Result<Map<String, Value>, String> {
        let wrong = || "`arguments` has to be an object.".to_owned();
        match &self.arguments {
            None | Some(Value::Null) => Ok(Map::new()),
            Some(Value::Object(given)) => Ok(given.clone()),
            Some(Value::String(text)) => serde_json::from_str(text).map_err(|_| wrong()),
            Some(_) => Err(wrong()),
        }
    }
}

impl Tool for NamedCall {
    const NAME: &'static str = "tool_call";
    const KIND: CallKind = CallKind::Other;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("tool", "name"), ("tool_name", "name"), ("args", "arguments"), ("input", "arguments")];

    fn offer(knowledge: &Knowledge) -> Option<String> {
        matches!(knowledge.outside.as_ref()?.offer(), OutsideOffer::Looked(_)).then(String::new)
    }

    fn is_there(knowledge: &Knowledge) -> bool {
        knowledge.outside.is_some()
    }

    fn read_only() -> bool {
        false
    }

    fn check(&self) -> Result<(), String> {
        self.given().map(drop)
    }

    fn about(&self) -> String {
        let given = self.given().ok().filter(|given| !given.is_empty());
        given.map(|given| Value::Object(given).to_string()).unwrap_or_default()
    }

    fn act(&self, _grant: &Grant) -> Act {
        Act::Outside { destroys: false }
    }

    fn outside(&self) -> Option<String> {
        Some(self.name.clone())
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        let outside = context.knowledge.outside.as_ref().ok_or_else(no_servers)?;
        let arguments = Value::Object(self.given().map_err(ToolFailure)?);
        let result = outside.call(OutsideCall {
            name: self.name,
            arguments,
            agent: context.owner,
            judged_unknown: context.judged_unknown,
            questions: context.questions,
            traceparent: context.traceparent,
        });
        Ok(result.await.into())
    }
}
