//! The agents of a session as a tree: children below their parents, in the order in which they came.

use std::collections::{HashMap, HashSet};

use posse_protocol::AgentId;
use posse_terminal::{Ink, Look, TextLine};
use posse_view::{AgentView, SessionView, TodoState, words};

use super::super::frame::state_ink;
use crate::limits::{SILENT_TOLD_AFTER_MS, TREE_INDENT_COLUMNS_MAX};
use crate::short_number::short;

/// An agent and how deep it stands.
pub(super) struct TreeRow<'a> {
    pub(super) agent: &'a AgentView,
    pub(super) depth: usize,
    /// Which of all it is, for its colour.
    pub(super) number: u8,
}

/// All agents. Those whose parent is not known stand at the top.
pub(super) fn tree(view: &SessionView) -> Vec<TreeRow<'_>> {
    let mut children: HashMap<Option<AgentId>, Vec<usize>> = HashMap::new();
    let agents: Vec<&AgentView> = view.agents.iter().collect();
    for (at, agent) in agents.iter().enumerate() {
        let parent = agent.parent.filter(|parent| view.agents.get(*parent).is_some());
        children.entry(parent).or_default().push(at);
    }
    let mut rows = Vec::with_capacity(agents.len());
    let mut seen = HashSet::new();
    let roots = children.get(&None).cloned().unwrap_or_default();
    // Agents that name each other as parents, which no session has, are in nobody's tree.
    let everybody = roots.into_iter().chain(0..agents.len()).rev();
    let mut open: Vec<(usize, usize)> = everybody.map(|at| (at, 0)).collect();
    while let Some((at, depth)) = open.pop() {
        if !seen.insert(at) {
            continue;
        }
        let agent = agents[at];
        rows.push(TreeRow { agent, depth, number: u8::try_from(at % 6).unwrap_or(0) });
        let below = children.get(&Some(agent.id)).into_iter().flatten().rev();
        open.extend(below.map(|child| (*child, depth + 1)));
    }
    rows
}

impl TreeRow<'_> {
    /// Its rows: one where everything fits into it, else two.
    pub(super) fn lines(&self, columns: usize, now_ms: u64, in_one: bool) -> Vec<TextLine> {
        let agent = self.agent;
        let indent = " ".repeat((self.depth * 2).min(TREE_INDENT_COLUMNS_MAX).min(columns / 4));
        let blocked = agent.report.as_ref().is_some_and(|report| report.blocked);
        let mut line = TextLine::plain(&indent)
            .with(&format!("{} ", words::mark(agent.state, blocked)), state_ink(agent.state, blocked))
            .with(&agent.name, Look::of(Ink::Agent(self.number)).bold());
        if let Some(title) = agent.title.as_deref().filter(|title| !title.is_empty()) {
            line.push(&format!("  {title}"), Look::PLAIN);
        }
        let model = agent.model.as_deref().unwrap_or("no model yet");
        let on = words::on(agent).map(|on| format!(" · {on}")).unwrap_or_default();
        let who = format!("{} · {model}{on}", agent.role);
        let mut parts = figures(agent, now_ms);
        if in_one {
            parts.extend(doing(agent, now_ms));
            line.push(&format!("  {who} · {}", parts.join(" · ")), Ink::Quiet);
            return vec![line.cut(columns)];
        }
        line.push(&format!("  {who}"), Ink::Quiet);
        // What it does may be long, and there is more to tell.
        let mut below = TextLine::plain(&format!("{indent}  "));
        below.append(TextLine::of(&doing(agent, now_ms).join(" · "), Look::PLAIN).cut(columns / 2));
        below.push(&format!(" · {}", parts.join(" · ")), Ink::Quiet);
        vec![line.cut(columns), below.cut(columns)]
    }
}

/// The turn, the time, the tokens and the money of an agent.
pub(super) fn figures(agent: &AgentView, now_ms: u64) -> Vec<String> {
    let mut parts = vec![words::turn(agent)];
    parts.extend(agent.worked_ms(now_ms).map(words::duration));
    let (own, all) = (agent.own.usage.total_tokens(), agent.in_all().usage.total_tokens());
    match (own, all) {
        (Some(own), Some(all)) if all != own => parts.push(format!("{} ({}) tokens", short(own), short(all))),
        (Some(tokens), _) | (None, Some(tokens)) => parts.push(format!("{} tokens", short(tokens))),
        (None, None) => {}
    }
    parts.extend(words::cost_in_all(&agent.own, &agent.in_all()));
    parts
}

/// What an agent does now and since when it is silent, or how it ended.
pub(super) fn doing(agent: &AgentView, now_ms: u64) -> Vec<String> {
    if agent.has_ended() {
        return vec![words::state(agent.state).to_owned()];
    }
    let doing = words::doing(&agent.doing).replace('\n', " ");
    let mut parts = vec![if doing.is_empty() { words::state(agent.state).to_owned() } else { doing }];
    let silent = agent.silent_ms(now_ms).filter(|silent| *silent > SILENT_TOLD_AFTER_MS);
    parts.extend(silent.map(|ms| format!("silent for {}", words::duration(ms))));
    parts
}

/// The to-do list of an agent in at most so many rows: from the first item that is not done.
pub(super) fn todo(agent: &AgentView, rows_max: usize) -> Vec<TextLine> {
    let items = &agent.todo;
    if items.is_empty() || rows_max < 2 {
        return Vec::new();
    }
    let done = items.iter().filter(|item| item.state == TodoState::Done).count();
    let head = TextLine::of("To do ", Look::of(Ink::Heading).bold());
    let mut lines = vec![head.with(&format!("{done} of {} done", items.len()), Ink::Quiet)];
    let room = rows_max - 1;
    let open = items.iter().position(|item| item.state != TodoState::Done).unwrap_or(items.len());
    let first = open.saturating_sub(1).min(items.len().saturating_sub(room));
    lines.extend(items.iter().skip(first).take(room).map(|item| {
        let (mark, look) = match item.state {
            TodoState::Pending => ("☐", Look::PLAIN),
            TodoState::Doing => ("▸", Look::of(Ink::Accent).bold()),
            TodoState::Done => ("✓", Look::of(Ink::Quiet)),
        };
        TextLine::of(&format!("{mark} {}", item.text), look)
    }));
    lines
}
