//! What every tool has, and how a call of it is read.

use std::{pin::Pin, sync::Arc};

use posse_policy::Act;
use posse_protocol::{CallKind, Files, FreeQuestion, Grant, Needs, ToolOutcome, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::Context;
use crate::failure::ToolFailure;
use crate::{Knowledge, Preview, arguments, schema};

/// One tool; the implementing type is its input.
pub(crate) trait Tool: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name the model calls.
    const NAME: &'static str;
    /// What kind of thing it does, for whoever shows it.
    const KIND: CallKind;
    /// What a grant must hold.
    const NEEDS: Needs;
    /// Other names that models use for its fields.
    const ALIASES: &'static [(&'static str, &'static str)];

    /// Whether it is offered to an agent that knows this much, and what is told of that after the description.
    fn offer(_knowledge: &Knowledge) -> Option<String> {
        Some(String::new())
    }

    /// Whether it can be called by an agent that knows this much, offered or not.
    fn is_there(knowledge: &Knowledge) -> bool {
        Self::offer(knowledge).is_some()
    }

    /// Whether a call leaves no trace, so that it may run beside others and is no step of work.
    fn read_only() -> bool {
        Self::NEEDS.read_only()
    }

    /// What is wrong with the arguments, beyond their shape.
    fn check(&self) -> Result<(), String> {
        Ok(())
    }

    /// What this call is about: the exact command, path or address.
    fn about(&self) -> String;

    /// What it would do, as far as approval goes.
    fn act(&self, _grant: &Grant) -> Act {
        match Self::NEEDS {
            Needs { files: Files::Write, .. } => Act::Edit,
            Needs { network: true, .. } => Act::Network,
            _ => Act::Read,
        }
    }

    /// Whether it leaves something for other projects of the person.
    fn for_all_projects(&self) -> bool {
        false
    }

    /// The tool from outside that it is about: rights and rules speak of that one.
    fn outside(&self) -> Option<String> {
        None
    }

    /// The path it works on, if it is one path.
    fn path(&self) -> Option<&str> {
        None
    }

    /// The folder that it searches, if it names one.
    fn folder(&self) -> Option<&str> {
        None
    }

    /// What it would change, for whoever has to allow it. Changes nothing.
    fn preview(&self, _context: &Context) -> Option<Preview> {
        None
    }

    /// Whether what it starts goes on after it.
    fn goes_on(&self) -> bool {
        false
    }

    /// What it asks the person, if it is a question and does nothing else.
    fn asks(&self) -> Option<FreeQuestion> {
        None
    }

    /// Does it.
    fn run(self, context: Context) -> impl Future<Output = Result<ToolOutcome, ToolFailure>> + Send;
}

pub(crate) type RunningCall = Pin<Box<dyn Future<Output = Result<ToolOutcome, ToolFailure>> + Send>>;

/// A call that has been read.
pub(crate) trait ReadCall: Send + Sync {
    fn about(&self) -> String;
    fn act(&self, grant: &Grant) -> Act;
    fn for_all_projects(&self) -> bool;
    fn outside(&self) -> Option<String>;
    fn path(&self) -> Option<&str>;
    fn folder(&self) -> Option<&str>;
    fn preview(&self, context: &Context) -> Option<Preview>;
    fn goes_on(&self) -> bool;
    fn asks(&self) -> Option<FreeQuestion>;
    fn start(self: Box<Self>, context: Context) -> RunningCall;
}

impl<T: Tool> ReadCall for T {
    fn about(&self) -> String {
        Tool::about(self)
    }

    fn act(&self, grant: &Grant) -> Act {
        Tool::act(self, grant)
    }

    fn for_all_projects(&self) -> bool {
        Tool::for_all_projects(self)
    }

    fn outside(&self) -> Option<String> {
        Tool::outside(self)
    }

    fn path(&self) -> Option<&str> {
        Tool::path(self)
    }

    fn folder(&self) -> Option<&str> {
        Tool::folder(self)
    }

    fn preview(&self, context: &Context) -> Option<Preview> {
        Tool::preview(self, context)
    }

    fn goes_on(&self) -> bool {
        Tool::goes_on(self)
    }

    fn asks(&self) -> Option<FreeQuestion> {
        Tool::asks(self)
    }

    fn start(self: Box<Self>, context: Context) -> RunningCall {
        Box::pin(self.run(context))
    }
}

/// Reads arguments by a schema.
type Reader = fn(&str, &Value) -> Result<Box<dyn ReadCall>, String>;

/// A tool in the list.
#[derive(Debug)]
pub(crate) struct ToolEntry {
    pub(crate) spec: ToolSpec,
    /// What kind of thing a call does.
    pub(crate) kind: CallKind,
    /// Whether a call leaves no trace.
    pub(crate) read_only: bool,
    offer: fn(&Knowledge) -> Option<String>,
    is_there: fn(&Knowledge) -> bool,
    read: Reader,
    aliases: &'static [(&'static str, &'static str)],
}

impl ToolEntry {
    pub(crate) fn of<T: Tool>() -> Self {
        let (description, schema) = schema::schema_of::<T>();
        let (name, schema) = (T::NAME.to_owned(), Arc::new(schema));
        let spec = ToolSpec { name, description, schema, needs: T::NEEDS };
        let read = |written: &str, schema: &Value| -> Result<Box<dyn ReadCall>, String> {
            let call = arguments::read::<T>(written, schema, T::ALIASES)?;
            call.check()?;
            Ok(Box::new(call))
        };
        let (kind, read_only, aliases) = (T::KIND, T::read_only(), T::ALIASES);
        Self { spec, kind, read_only, offer: T::offer, is_there: T::is_there, read, aliases }
    }

    /// Whether an agent that knows this much can call it.
    pub(crate) fn is_there(&self, knowledge: &Knowledge) -> bool {
        (self.is_there)(knowledge)
    }

    /// The tool as an agent is offered it that knows this much; `None` if it is not.
    pub(crate) fn offered(&self, knowledge: &Knowledge) -> Option<ToolSpec> {
        let more = (self.offer)(knowledge)?;
        let spec = self.spec.clone();
        Some(ToolSpec { description: spec.description + &more, ..spec })
    }

    /// A call's arguments under the names and in the types that the tool has for them.
    pub(crate) fn mended(&self, written: &str) -> Option<Value> {
        arguments::mended(written, &self.spec.schema, self.aliases).ok()
    }

    /// Reads a call's arguments.
    pub(crate) fn read(&self, written: &str) -> Result<Box<dyn ReadCall>, String> {
        (self.read)(written, &self.spec.schema)
    }
}
