//! What a model is told about its sub-agents: receipts, states, reports. Text of another agent is always quoted.

use std::fmt::Write as _;
use std::sync::Arc;

use posse_delegate::{Node, Tree};
use posse_protocol::{AgentId, ToolOutcome};
use posse_report::ToldReport;
use posse_surface::{AgentCommand, Shape};

use crate::agents::finished::FinishedAgent;
use crate::agents::start::StartedAgent;
use crate::crew::Crew;
use crate::limits::{BYTES_PER_TOKEN, ROSTER_MAX, STATUS_PAGE};

/// Why one need not ask again.
pub(crate) const NO_POLLING: &str =
    "Reports come by themselves: go on with other work, or use wait if there is none.";

/// What a command came to.
pub(crate) struct CallAnswer {
    pub(crate) outcome: ToolOutcome,
    /// Whose reports it holds.
    pub(crate) delivered: Vec<AgentId>,
}

impl CallAnswer {
    pub(crate) fn ok(text: impl Into<String>) -> Self {
        Self { outcome: ToolOutcome::ok(text), delivered: Vec::new() }
    }

    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self { outcome: ToolOutcome::error(text), delivered: Vec::new() }
    }
}

/// What a command is about, for people.
pub(crate) fn title(command: &AgentCommand) -> String {
    match command {
        AgentCommand::Start { task, .. } => {
            format!("{}: {}", task.role.as_deref().unwrap_or("general"), task.title)
        }
        AgentCommand::Wait { agents, .. } if agents.is_empty() => "wait for all".to_string(),
        AgentCommand::Wait { agents, .. } => format!("wait for {}", agents.join(", ")),
        AgentCommand::Status { agent, .. } => format!("status {}", agent.as_deref().unwrap_or("of all")),
        AgentCommand::Message { agent, text, .. } => format!("message {agent}: {text}"),
        AgentCommand::Eval { agent, message, .. } => {
            format!("session {agent} {}", message.as_deref().unwrap_or_default())
        }
        AgentCommand::Cancel { agent } => format!("cancel {agent}"),
        AgentCommand::Close { agent } => format!("close {agent}"),
        AgentCommand::Merge { agent } => format!("merge {agent}"),
        AgentCommand::Read { handle, .. } => format!("read {handle}"),
        AgentCommand::Tell { to, text } => format!("message {}: {text}", to.as_deref().unwrap_or("all")),
        AgentCommand::Board(_) => "board".to_string(),
        AgentCommand::Run(call) => call.name.clone(),
        AgentCommand::Help(_) => "help".to_string(),
    }
}

/// The receipt of a start.
pub(crate) fn started(started: &StartedAgent) -> String {
    let mut limits = Vec::new();
    limits.extend(started.budget.turns.map(|turns| format!("{turns} turns")));
    limits.extend(started.budget.tokens.map(|tokens| format!("{tokens} tokens")));
    limits.extend(started.budget.time_ms.map(|ms| format!("{} s", ms / 1000)));
    let StartedAgent { name, role, model, queued, ahead, .. } = started;
    let state = match (queued, ahead) {
        (false, _) => "is at work".to_string(),
        (true, 0) => "waits for its turn, next in the queue".to_string(),
        (true, ahead) => format!("waits for its turn, {ahead} ahead of it"),
    };
    format!("{name} {state} (role {role}, model {model}, {}). Its report comes by itself.", limits.join(", "))
}

/// The receipt of a follow-up; what was said before stays under the old agent's new name.
pub(crate) fn followed_up(again: &StartedAgent, before: &str) -> String {
    let started = started(again);
    format!(
        "{} takes its conversation up again; its earlier report is now {before}:report. {started}",
        again.name
    )
}

/// What one agent came to, as its parent is told.
pub(crate) fn report(crew: &Crew, finished: &Arc<FinishedAgent>, shape: Shape) -> String {
    let tokens =
        crew.delegation.as_ref().map_or(crate::limits::RESULT_TOKENS, |d| d.sub_agents.result_tokens);
    let name = crew.name(finished.id);
    let handle = format!("{name}:report");
    let told = ToldReport {
        name: &name,
        role: &finished.role,
        title: &finished.title,
        report: &finished.report,
        bytes_max: tokens * BYTES_PER_TOKEN,
        handle: &handle,
    };
    match shape {
        Shape::Receipt | Shape::Text => posse_report::to_text(&told),
        Shape::Summary => posse_report::spawn_text(&told),
        Shape::Json => posse_report::to_json_text(&told),
    }
}

/// The state of some agents, a page at a time; pages count from 1.
pub(crate) fn status(tree: &Tree, ids: &[AgentId], page: u32) -> String {
    if ids.is_empty() {
        return "You have no agents at work.".to_string();
    }
    let page = page.max(1);
    let from = (page as usize - 1).saturating_mul(STATUS_PAGE).min(ids.len());
    let to = (from + STATUS_PAGE).min(ids.len());
    let mut text = String::new();
    for node in ids[from..to].iter().filter_map(|id| tree.node(*id)) {
        let _ = writeln!(text, "{}", line(node));
    }
    if to < ids.len() {
        let _ = writeln!(text, "{} more: ask for page {}.", ids.len() - to, page + 1);
    }
    text.push_str(NO_POLLING);
    text
}

/// The sub-agents of an agent, for when it forgets its conversation: those at work, and those whose reports can be read.
pub(crate) fn roster(tree: &Tree, id: AgentId) -> Option<String> {
    let children = tree.node(id).map(|node| node.children.clone()).unwrap_or_default();
    let (ended, open): (Vec<&Node>, Vec<&Node>) =
        children.iter().rev().filter_map(|id| tree.node(*id)).partition(|node| node.state.is_settled());
    let mut lines = open.into_iter().take(ROSTER_MAX).map(line).collect::<Vec<_>>();
    let told = |node: &Node| {
        let read = if node.delivered { "told" } else { "comes by itself" };
        format!(
            "{} ({}) {}: {}; its report {read}, and is {}:report",
            node.name,
            node.role,
            node.word(),
            node.title,
            node.name
        )
    };
    lines.extend(ended.into_iter().take(ROSTER_MAX).map(told));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn line(node: &Node) -> String {
    let turns = match node.budget.turns {
        Some(max) => format!("turn {}/{max}", node.spent.turns),
        None => format!("turn {}", node.spent.turns),
    };
    let seconds = node.spent.time_ms / 1000;
    format!(
        "{} ({}) {}, {turns}, {} tokens, {seconds} s: {}",
        node.name,
        node.role,
        node.word(),
        node.tokens,
        node.title
    )
}
