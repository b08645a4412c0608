//! Agents as a tree: who is under whom, and one line an agent with what it used. Pure; it must not know where the
//! view comes from.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use posse_protocol::AgentState;
use posse_view::{AgentView, SessionView, words};

use super::mark::mark;
use super::summary::short;
use crate::limits::{ERROR_CHARS_MAX, LEVELS_INDENTED_MAX, TREE_NAME_COLUMNS_MAX, WORKER_COLUMNS_MAX};
use crate::output::{Style, columns, counted, duration, one_line};
use crate::prose::parted;

/// One node in the order of drawing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TreeLine {
    /// Which node.
    pub(crate) index: usize,
    /// What leads to it: `├ `, `│ └ `; nothing for a root.
    pub(crate) stem: String,
}

/// Puts nodes, given as themselves and their parents, under one another, children in the given order. A node whose
/// parent is not among them is a root. Every node is there once, even where the parents form a circle.
pub(crate) fn arranged<Id: Copy + Eq + Hash>(nodes: &[(Id, Option<Id>)]) -> Vec<TreeLine> {
    let known: HashSet<Id> = nodes.iter().map(|(id, _)| *id).collect();
    let mut children: HashMap<Id, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (index, (_, parent)) in nodes.iter().enumerate() {
        match parent {
            Some(parent) if known.contains(parent) => children.entry(*parent).or_default().push(index),
            _ => roots.push(index),
        }
    }
    let mut seen = vec![false; nodes.len()];
    let mut branches = Vec::with_capacity(nodes.len());
    // Roots first; what no root leads to comes after, each as a root of its own.
    for root in roots.into_iter().chain(0..nodes.len()) {
        let mut open = vec![(root, String::new(), String::new(), 0)];
        while let Some((index, stem, indent, level)) = open.pop() {
            if std::mem::replace(&mut seen[index], true) {
                continue;
            }
            branches.push(TreeLine { index, stem });
            let below = children.get(&nodes[index].0).map_or(&[][..], Vec::as_slice);
            let deeper = level < LEVELS_INDENTED_MAX;
            for (place, child) in below.iter().enumerate().rev() {
                let last = place + 1 == below.len();
                let stem = format!("{indent}{}", if last { "└ " } else { "├ " });
                let more = if last { "  " } else { "│ " };
                let indent = if deeper { format!("{indent}{more}") } else { indent.clone() };
                open.push((*child, stem, indent, level + 1));
            }
        }
    }
    branches
}

/// One agent of a drawn tree.
struct Drawn<'a> {
    stem: String,
    agent: &'a AgentView,
    name: String,
    figures: Vec<String>,
}

/// The tree of a session: one line for each agent where all of them fit into `width`, else its figures in rows of their own
/// below it.
pub(crate) fn agents(style: Style, view: &SessionView, width: usize, now_ms: u64) -> String {
    let agents = view.agents.iter().collect::<Vec<_>>();
    let nodes = agents.iter().map(|agent| (agent.id, agent.parent)).collect::<Vec<_>>();
    let draw = |TreeLine { index, stem }| {
        let agent = agents[index];
        Drawn {
            stem,
            agent,
            name: one_line(&name(agent), TREE_NAME_COLUMNS_MAX),
            figures: figures(agent, now_ms),
        }
    };
    let drawn = arranged(&nodes).into_iter().map(draw).collect::<Vec<_>>();
    let taken = |one: &Drawn<'_>| columns(&one.stem) + columns(&one.name);
    let left = drawn.iter().map(taken).max().unwrap_or(0);
    let widest = drawn.iter().map(|one| columns(&one.figures.join(" · "))).max().unwrap_or(0);
    let mut text = String::new();
    for one in &drawn {
        let blocked = one.agent.report.as_ref().is_some_and(|report| report.blocked);
        let mark = mark(style, one.agent.state, blocked);
        if left + widest + 4 <= width {
            let pad = " ".repeat(left - taken(one));
            let figures = style.dim(&one.figures.join(" · "));
            let line = format!("{}{mark} {}{pad}  {figures}", style.dim(&one.stem), one.name);
            text.push_str(&format!("{}\n", line.trim_end()));
            continue;
        }
        let room = width.saturating_sub(columns(&one.stem) + 2);
        text.push_str(&format!("{}{mark} {}\n", style.dim(&one.stem), one_line(&one.name, room)));
        let below = one.stem.replace('├', "│").replace('└', " ");
        for row in parted("    ", &one.figures, width.saturating_sub(columns(&below))) {
            text.push_str(&style.dim(&format!("{below}{row}\n")));
        }
    }
    text
}

/// What to say of a session that was interrupted: how many agents had not ended, and how to go on.
pub(crate) fn interrupted(view: &SessionView) -> Option<String> {
    let left = words::interrupted(view.interrupted()?);
    // One that is at work goes on by itself.
    let session = view.session.filter(|_| view.state != AgentState::Running);
    Some(session.map_or(left.clone(), |session| format!("{left}; posse resume {}", short(session))))
}

fn name(agent: &AgentView) -> String {
    let role = if agent.name.starts_with(&agent.role) { String::new() } else { format!(" ({})", agent.role) };
    let title = agent.title.as_deref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
    format!("{}{role}{title}", agent.name)
}

/// What an agent used, and what it used together with those below it where there are some.
fn figures(agent: &AgentView, now_ms: u64) -> Vec<String> {
    let (own, in_all) = (agent.own, agent.in_all());
    let mut parts = Vec::new();
    if agent.state != AgentState::Completed {
        parts.push(words::state(agent.state).to_string());
    }
    parts.extend(words::on(agent).map(|on| one_line(&on, WORKER_COLUMNS_MAX)));
    match agent.worked_ms(now_ms) {
        Some(worked_ms) => {
            parts.push(counted(own.turns, "turn"));
            parts.push(counted(own.tool_calls, "tool call"));
            // Nobody was there to see when its process ended.
            parts.extend((agent.state != AgentState::Interrupted).then(|| duration(worked_ms)));
            parts.push(words::tokens_in_all(own.usage, in_all.usage));
        }
        None if agent.has_ended() => parts.push("before it began".to_string()),
        None => {}
    }
    parts.extend(words::cost_in_all(&own, &in_all));
    // Some errors say no more than the state.
    let error = agent.error.as_deref().filter(|error| *error != words::state(agent.state));
    parts.extend(
        error.filter(|_| agent.state != AgentState::Completed).map(|error| one_line(error, ERROR_CHARS_MAX)),
    );
    parts
}

#[cfg(test)]
mod tests {
    use posse_protocol::{Ending, Event, EventKind, Failure, Receipt, Reply, Usage};

    use super::super::sample::*;
    use super::*;

    type Node = (u32, Option<u32>);
    type Found<'a> = (usize, &'a str);

    const WORKED_MS: u64 = 8_000;

    fn role_of(name: &str) -> String {
        name.split('-').next().unwrap_or_default().replace("alice", "coder")
    }

    /// The events of an agent that has taken three turns and is at work.
    fn at_work(n: u32, parent: u32, name: &str, cost_usd: Option<f64>) -> Vec<Event> {
        let usage = Usage { input_tokens: Some(1_000), output_tokens: Some(20), ..Usage::default() };
        let reply = Reply { usage, ..Reply::default() };
        let replied = EventKind::Replied { turn: 1, reply, duration_ms: 5, cost_usd };
        let mut events = waiting(n, parent, name);
        events.extend(
            [started(0, None), turn(1), turn(2), turn(3), replied].map(|kind| event(n, parent, kind)),
        );
        if let EventKind::AgentStarted { role, .. } = &mut events[usize::from(parent > 0)].kind {
            *role = role_of(name);
        }
        let mut last = event(n, parent, tool_finished("c", ""));
        last.at_ms += WORKED_MS;
        events.push(last);
        events
    }

    /// One that has not begun.
    fn waiting(n: u32, parent: u32, name: &str) -> Vec<Event> {
        let mut admitted = admitted(name, 1, &format!("task of {name}"));
        if let EventKind::AgentAdmitted { role, .. } = &mut admitted {
            *role = role_of(name);
        }
        if parent > 0 { vec![event(n, parent, admitted)] } else { Vec::new() }
    }

    fn ends(n: u32, parent: u32, ending: Ending) -> Vec<Event> {
        let mut report = report(ending, "");
        report.receipt = Receipt { duration_ms: 12_300, ..Receipt::default() };
        vec![event(n, parent, EventKind::AgentSettled { report })]
    }

    fn failed() -> Ending {
        Ending::Failed { failure: Failure::Internal { message: "no\x1b[2J answer".into() } }
    }

    fn session() -> SessionView {
        let cost = Some(0.01);
        let mut plan = at_work(8, 1, "plan-1", cost);
        for event in &mut plan {
            if let EventKind::Replied { reply, .. } = &mut event.kind {
                reply.usage = Usage::default();
            }
        }
        let interrupted = EventKind::SessionInterrupted { agents: vec![id(9)], detached: false };
        let again = EventKind::SessionResumed { version: String::new(), sandboxed: true, traceparent: None };
        let events = [
            at_work(1, 0, "main", cost),
            at_work(2, 1, "explore-1", cost),
            at_work(3, 2, "explore-2", cost),
            at_work(4, 1, "alice", cost),
            at_work(5, 1, "coder-1", None),
            waiting(6, 5, "tester-1"),
            vec![event(6, 5, queued())],
            at_work(9, 5, "tester-9", cost),
            waiting(7, 1, "tester-2"),
            plan,
            vec![event(1, 0, interrupted), event(1, 0, again)],
            ends(3, 2, Ending::OutOfTurns),
            ends(2, 1, Ending::Completed),
            ends(4, 1, Ending::Cancelled),
            ends(7, 1, Ending::Cancelled),
            ends(8, 1, failed()),
            ends(1, 0, Ending::Completed),
        ];
        view(events.concat())
    }

    #[test]
    fn a_session_is_drawn_as_a_tree() {
        let expected = "\
✓ main                               3 turns · 1 tool call · 12 s · 1,020 tokens (6,120 in all) · $0.0100 (≥ $0.0600 in all)
├ ✓ explore-1 \"task of explore-1\"    3 turns · 1 tool call · 12 s · 1,020 tokens (2,040 in all) · $0.0100 ($0.0200 in all)
│ └ ✗ explore-2 \"task of explore-2\"  out of turns · 3 turns · 1 tool call · 12 s · 1,020 tokens · $0.0100
├ ■ alice (coder) \"task of alice\"    stopped · 3 turns · 1 tool call · 12 s · 1,020 tokens · $0.0100
├ ● coder-1 \"task of coder-1\"        running · 3 turns · 1 tool call · 8.0 s · 1,020 tokens (2,040 in all) · ≥ $0.0100 in all
│ ├ … tester-1 \"task of tester-1\"    queued
│ └ ‖ tester-9 \"task of tester-9\"    interrupted · 3 turns · 1 tool call · 1,020 tokens · $0.0100
├ ■ tester-2 \"task of tester-2\"      stopped · before it began
└ ✗ plan-1 \"task of plan-1\"          failed · 3 turns · 1 tool call · 12 s · tokens not reported · $0.0100 · no\\u{1b}[2J answer
";
        assert_eq!(agents(Style::plain(), &session(), 160, 0), expected);
        assert_eq!(agents(Style::plain(), &SessionView::default(), 160, 0), "");
        // The clock of one that is at work goes on, and of nobody else.
        let later = agents(Style::plain(), &session(), 160, STARTED_AT + 3_600_000);
        let changed = expected.lines().zip(later.lines()).filter(|(now, later)| now != later);
        assert!(changed.map(|(now, _)| now.contains("● coder-1")).eq([true]), "{later}");
    }

    #[test]
    fn narrow_terminals_get_the_figures_below_the_names() {
        for width in [40, 60, 80, 100, 120] {
            let text = agents(Style::plain(), &session(), width, 0);
            let shown = |part: &str| text.lines().filter(|line| line.contains(part)).count();
            assert_eq!((shown("task of"), shown("turns")), (8, 7), "{text}");
            for line in text.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
        let text = agents(Style::plain(), &session(), 60, 0);
        let first = "\
✓ main
    3 turns · 1 tool call · 12 s
    1,020 tokens (6,120 in all) · $0.0100 (≥ $0.0600 in all)
├ ✓ explore-1 \"task of explore-1\"
│     3 turns · 1 tool call · 12 s
│     1,020 tokens (2,040 in all) · $0.0100 ($0.0200 in all)
│ └ ✗ explore-2 \"task of explore-2\"
│       out of turns · 3 turns · 1 tool call · 12 s
│       1,020 tokens · $0.0100
";
        assert!(text.starts_with(first), "{text}");
    }

    #[test]
    fn nodes_are_arranged_each_once() {
        let cases: [(&[Node], &[Found<'_>]); 5] = [
            (&[], &[]),
            (&[(1, None), (2, Some(1)), (3, Some(1))], &[(0, ""), (1, "├ "), (2, "└ ")]),
            // In any order, and with a parent that is not there.
            (
                &[(3, Some(2)), (2, Some(1)), (1, None), (9, Some(8))],
                &[(2, ""), (1, "└ "), (0, "  └ "), (3, "")],
            ),
            (&[(1, Some(1))], &[(0, "")]),
            (&[(1, Some(2)), (2, Some(1)), (3, Some(1))], &[(0, ""), (1, "├ "), (2, "└ ")]),
        ];
        assert_eq!(cases.len(), 5);
        for (nodes, expected) in cases {
            let found = arranged(nodes);
            let found = found.iter().map(|b| (b.index, b.stem.as_str())).collect::<Vec<_>>();
            assert_eq!(found, expected, "{nodes:?}");
        }
        let chain = (1..=5_000).map(|n| (n, Some(n - 1))).collect::<Vec<Node>>();
        let longest = arranged(&chain).iter().map(|b| b.stem.chars().count()).max();
        assert_eq!(longest, Some((LEVELS_INDENTED_MAX + 1) * 2));
    }
}
