//! todo: the agent's own list, replaced as a whole. It changes nothing in the world.

use std::fmt::Write as _;

use posse_protocol::visible::one_line;
use posse_protocol::{CallKind, Effect, Needs, ToolOutcome};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{context::Context, failure::ToolFailure, limits, tool::Tool};

/// Keep a to-do list for work of several steps. Send the whole list each time.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Todo {
    items: Vec<Item>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with text and status")]
struct Item {
    #[serde(alias = "content", alias = "title", alias = "task")]
    text: String,
    status: Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Status {
    #[serde(alias = "todo")]
    Pending,
    #[serde(alias = "in_progress")]
    Doing,
    #[serde(alias = "completed")]
    Done,
}

impl Tool for Todo {
    const NAME: &'static str = "todo";
    const KIND: CallKind = CallKind::Think;
    const NEEDS: Needs =
        Needs { files: posse_protocol::Files::None, shell: posse_protocol::Shell::None, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] =
        &[("todos", "items"), ("tasks", "items"), ("list", "items"), ("plan", "items")];

    fn about(&self) -> String {
        let done = self.items.iter().filter(|item| item.status == Status::Done).count();
        let doing = self.items.iter().find(|item| item.status == Status::Doing);
        let now = doing.map(|item| format!(": {}", item.text)).unwrap_or_default();
        format!("{done} of {} done{now}", self.items.len())
    }

    async fn run(self, _context: Context) -> Result<ToolOutcome, ToolFailure> {
        if self.items.len() > limits::TODO_ITEMS_MAX {
            return Err(ToolFailure(format!(
                "the list is too long; keep it to {} items",
                limits::TODO_ITEMS_MAX
            )));
        }
        let mut list = String::new();
        for item in &self.items {
            let mark = match item.status {
                Status::Pending => ' ',
                Status::Doing => '>',
                Status::Done => 'x',
            };
            let _ = writeln!(list, "[{mark}] {}", one_line(item.text.trim(), limits::TODO_ITEM_CHARS_MAX));
        }
        list.truncate(list.trim_end().len());
        let left = self.items.iter().filter(|item| item.status != Status::Done).count();
        let text = format!("The list is kept: {} items, {left} not done.", self.items.len());
        Ok(ToolOutcome::ok(text).with(Effect::Todo { text: list }))
    }
}
