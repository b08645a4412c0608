//! Agents as a tree: who is under whom, and one line an agent with what it used. Pure; it must not know where the
//! rows come from.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use posse_engine::record::{AgentRow, SessionRow, Totals, subtree_totals};
use posse_protocol::Usage;

use super::summary::short;
use crate::output::{Style, columns, counted, duration, grouped, one_line};

/// Levels that are indented; what is deeper stands under the deepest of them.
const LEVELS_INDENTED_MAX: usize = 12;
/// Columns that the names and titles get, even where the figures then do not fit.
const NAME_COLUMNS_MIN: usize = 24;
/// Characters of an error that are shown.
const ERROR_CHARS_MAX: usize = 100;

/// One node in the order of drawing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Branch {
    /// Which node.
    pub(crate) index: usize,
    /// What leads to it: `├ `, `│ └ `; nothing for a root.
    pub(crate) stem: String,
}

/// Puts nodes, given as themselves and their parents, under one another, children in the given order. A node whose
/// parent is not among them is a root. Every node is there once, even where the parents form a circle.
pub(crate) fn arranged<Id: Copy + Eq + Hash>(nodes: &[(Id, Option<Id>)]) -> Vec<Branch> {
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
            branches.push(Branch { index, stem });
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

/// The tree of a session, one line an agent, none wider than `width` as far as names and figures allow.
pub(crate) fn agents(style: Style, rows: &[AgentRow], width: usize, now_ms: u64) -> String {
    let totals = subtree_totals(rows);
    let nodes = rows.iter().map(|row| (row.id, row.parent)).collect::<Vec<_>>();
    let lines = arranged(&nodes).into_iter().map(|Branch { index, stem }| {
        let row = &rows[index];
        let whole = totals.get(&row.id).copied().filter(|totals| totals.agents > 1);
        (stem, row, figures(row, whole, now_ms))
    });
    let lines = lines.collect::<Vec<_>>();
    let widest = lines.iter().map(|(_, _, figures)| columns(figures)).max().unwrap_or(0);
    let name_max = width.saturating_sub(widest + 5).max(NAME_COLUMNS_MIN);
    let named = lines.iter().map(|(stem, row, _)| {
        let room = name_max.saturating_sub(columns(stem));
        let name = one_line(&name(row), room.max(4));
        (columns(stem) + columns(&name), name)
    });
    let named = named.collect::<Vec<_>>();
    let left = named.iter().map(|(taken, _)| *taken).max().unwrap_or(0);
    let mut text = String::new();
    for ((stem, row, figures), (taken, name)) in lines.iter().zip(named) {
        let pad = " ".repeat(left.saturating_sub(taken));
        let figures = one_line(figures, width.saturating_sub(left + 4).max(1));
        let line =
            format!("{}{} {name}{pad}  {}", style.dim(stem), mark(style, &row.status), style.dim(&figures));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// What to say of a session that was interrupted: how many agents had not ended, and how to go on.
pub(crate) fn interrupted(session: &SessionRow, rows: &[AgentRow]) -> Option<String> {
    let open = rows.iter().filter(|row| row.status == "interrupted").count();
    (session.status == "interrupted" || open > 0).then(|| {
        let open =
            if open == 1 { "1 agent does not run".to_string() } else { format!("{open} agents do not run") };
        // One that is at work goes on by itself.
        let go_on = match session.status.as_str() {
            "running" => String::new(),
            _ => format!("; posse resume {}", short(session.id)),
        };
        format!("interrupted: {open} now{go_on}")
    })
}

fn name(row: &AgentRow) -> String {
    let role = if row.name.starts_with(&row.role) { String::new() } else { format!(" ({})", row.role) };
    let title = row.title.as_deref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
    format!("{}{role}{title}", row.name)
}

fn mark(style: Style, status: &str) -> String {
    match status {
        "completed" => style.green("✓"),
        "cancelled" => style.yellow("■"),
        "running" => style.cyan("●"),
        "interrupted" => style.yellow("‖"),
        "needs_person" => style.yellow("?"),
        "pending" | "queued" => style.dim("…"),
        _ => style.red("✗"),
    }
}

/// What an agent used, and what it used together with those below it where there are some.
fn figures(row: &AgentRow, whole: Option<Totals>, now_ms: u64) -> String {
    let mut parts = Vec::new();
    if row.status != "completed" {
        parts.push(row.status.replace('_', " "));
    }
    match worked_ms(row, now_ms) {
        Some(worked_ms) => {
            parts.push(counted(row.turns, "turn"));
            parts.push(counted(row.tool_calls, "tool call"));
            // Nobody was there to see when its process ended.
            parts.extend((row.status != "interrupted").then(|| duration(worked_ms)));
            parts.push(tokens(row.usage, whole.map(|whole| whole.usage)));
        }
        None if row.ended_at_ms.is_some() => parts.push("before it began".to_string()),
        None => {}
    }
    let own = row.cost_usd.map(|usd| cost(usd, row.cost_unknown));
    let in_all = whole.and_then(|whole| Some(cost(whole.cost_usd?, whole.cost_unknown > 0)));
    let in_all = in_all.filter(|in_all| Some(in_all) != own.as_ref()).map(|cost| format!("{cost} in all"));
    match (own, in_all) {
        (Some(own), Some(in_all)) => parts.push(format!("{own} ({in_all})")),
        (own, in_all) => parts.extend(own.or(in_all)),
    }
    if let Some(error) = row.error.as_deref().filter(|_| row.status != "completed") {
        parts.push(one_line(error, ERROR_CHARS_MAX));
    }
    parts.join(" · ")
}

/// What something cost; at least, where not all of it is known.
pub(crate) fn cost(usd: f64, more: bool) -> String {
    format!("{}${usd:.4}", if more { "≥ " } else { "" })
}

/// How long it worked; until now for one that is at work. None if it never began.
pub(crate) fn worked_ms(row: &AgentRow, now_ms: u64) -> Option<u64> {
    let started = row.started_at_ms?;
    let until = if row.status == "running" { now_ms.max(row.last_at_ms) } else { row.last_at_ms };
    Some(row.duration_ms.unwrap_or_else(|| until.saturating_sub(started)))
}

fn tokens(own: Usage, whole: Option<Usage>) -> String {
    let own = own.total_tokens();
    let text = own.map_or_else(|| "? tokens".to_string(), |total| counted(total, "token"));
    match whole.and_then(Usage::total_tokens).filter(|whole| Some(*whole) != own) {
        Some(whole) => format!("{text} ({} in all)", grouped(whole)),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::{AgentId, Budget};

    use super::*;

    type Node = (u32, Option<u32>);
    type Found<'a> = (usize, &'a str);

    fn id(n: u32) -> AgentId {
        format!("00000000-0000-7000-8000-{n:012}").parse().unwrap()
    }

    fn row(n: u32, parent: Option<u32>, name: &str, status: &str) -> AgentRow {
        AgentRow {
            id: id(n),
            parent: parent.map(id),
            name: name.to_string(),
            role: name.split('-').next().unwrap_or_default().to_string(),
            depth: 0,
            title: parent.map(|_| format!("task of {name}")),
            status: status.to_string(),
            requested_model: None,
            model: None,
            model_id: None,
            context: None,
            continues: None,
            budget: Budget::UNLIMITED,
            turns: 3,
            retries: 0,
            tool_calls: 1,
            usage: Usage { input_tokens: Some(1_000), output_tokens: Some(20), ..Usage::default() },
            cost_usd: Some(0.01),
            cost_unknown: false,
            queued_at_ms: None,
            started_at_ms: Some(1_000),
            last_at_ms: 9_000,
            ended_at_ms: Some(9_000),
            duration_ms: Some(12_300),
            delivered: false,
            interrupted_at_ms: None,
            error: None,
        }
    }

    fn waiting(n: u32, parent: u32, name: &str, status: &str) -> AgentRow {
        AgentRow {
            turns: 0,
            usage: Usage::default(),
            cost_usd: None,
            started_at_ms: None,
            ended_at_ms: None,
            duration_ms: None,
            ..row(n, Some(parent), name, status)
        }
    }

    fn session() -> Vec<AgentRow> {
        vec![
            row(1, None, "main", "completed"),
            row(2, Some(1), "explore-1", "completed"),
            row(3, Some(2), "explore-2", "out_of_turns"),
            AgentRow { role: "coder".into(), ..row(4, Some(1), "alice", "cancelled") },
            AgentRow {
                duration_ms: None,
                ended_at_ms: None,
                cost_usd: None,
                ..row(5, Some(1), "coder-1", "running")
            },
            waiting(6, 5, "tester-1", "queued"),
            AgentRow { ended_at_ms: None, duration_ms: None, ..row(9, Some(5), "tester-9", "interrupted") },
            AgentRow { ended_at_ms: Some(1), ..waiting(7, 1, "tester-2", "cancelled") },
            AgentRow {
                error: Some("no\x1b[2J answer".into()),
                usage: Usage::default(),
                ..row(8, Some(1), "plan-1", "failed")
            },
        ]
    }

    #[test]
    fn a_session_is_drawn_as_a_tree() {
        let expected = "\
✓ main                               3 turns · 1 tool call · 12 s · 1,020 tokens (6,120 in all) · $0.0100 ($0.0600 in all)
├ ✓ explore-1 \"task of explore-1\"    3 turns · 1 tool call · 12 s · 1,020 tokens (2,040 in all) · $0.0100 ($0.0200 in all)
│ └ ✗ explore-2 \"task of explore-2\"  out of turns · 3 turns · 1 tool call · 12 s · 1,020 tokens · $0.0100
├ ■ alice (coder) \"task of alice\"    cancelled · 3 turns · 1 tool call · 12 s · 1,020 tokens · $0.0100
├ ● coder-1 \"task of coder-1\"        running · 3 turns · 1 tool call · 8.0 s · 1,020 tokens (2,040 in all) · $0.0100 in all
│ ├ … tester-1 \"task of tester-1\"    queued
│ └ ‖ tester-9 \"task of tester-9\"    interrupted · 3 turns · 1 tool call · 1,020 tokens · $0.0100
├ ■ tester-2 \"task of tester-2\"      cancelled · before it began
└ ✗ plan-1 \"task of plan-1\"          failed · 3 turns · 1 tool call · 12 s · ? tokens · $0.0100 · no\\u{1b}[2J answer
";
        assert_eq!(agents(Style::plain(), &session(), 160, 0), expected);
        assert_eq!(agents(Style::plain(), &[], 160, 0), "");
        // The clock of one that is at work goes on, and of nobody else.
        let later = agents(Style::plain(), &session(), 160, 3_600_000);
        let changed = expected.lines().zip(later.lines()).filter(|(now, later)| now != later);
        assert!(changed.map(|(now, _)| now.contains("● coder-1")).eq([true]), "{later}");
    }

    #[test]
    fn narrow_terminals_get_whole_lines_that_fit() {
        for width in [40, 60, 80, 100, 120] {
            let text = agents(Style::plain(), &session(), width, 0);
            assert_eq!(text.lines().count(), 9);
            for line in text.lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
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
