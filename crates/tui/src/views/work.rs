//! The work of a session: the to-do list, the agents, and all about each of them.

mod details;
mod keys;
mod tree;

use posse_protocol::{AgentId, Event, SessionId};
use posse_terminal::{Editor, Ink, Key, KeyCode, Look, TextLine};
use posse_view::{AgentView, SessionView, words};

use self::tree::{TreeRow, tree};
use super::ViewStep;
use super::frame::{Panes, fitted, keys_row, selected, title_row};
use super::input::{input_line, pasted_into};
use super::pager::Pager;
use super::preview::PreviewPane;
use super::scroll::first_shown;
use super::transcript::TranscriptView;
use crate::effect::{ChatEffect, ChatFound};
use crate::limits::{
    BESIDE_COLUMNS_MIN, ROW_DETAILS_COLUMNS_MIN, STACKED_ROWS_MIN, TREE_ONE_ROW_COLUMNS_MIN,
};

/// Rows that are not panes: the title and the keys.
const OWN_ROWS: usize = 2;
/// Percent of the columns that the tree has beside the details.
const TREE_PERCENT: u16 = 55;
/// The keys: as many are shown as there is room for.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "transcript"),
    ("?", "keys"),
    ("Esc", "back"),
    ("m", "write"),
    ("x", "stop"),
    ("d", "diff"),
    ("u", "undo"),
    ("g", "merge"),
    ("↑↓", "select"),
];
/// All keys, explained.
const HELP: &[(&str, &str)] = &[
    ("↑ ↓ j k", "select an agent"),
    ("Home End", "the first, the last"),
    ("PgUp PgDn", "scroll the details"),
    ("Tab ← →", "list or details, on small screens"),
    ("Enter", "read its transcript, running or finished"),
    ("m", "write to it: it reads that at its next turn"),
    ("x x", "stop it and all below it"),
    ("d", "what it and those below it changed"),
    ("u", "take back what it and those below it changed, after a preview"),
    ("g", "merge its branch, after a preview"),
    ("Esc q", "back"),
];

/// The work of a session.
#[derive(Debug)]
pub struct WorkView {
    session: SessionId,
    /// The selected agent; the main agent where none is.
    agent: Option<AgentId>,
    level: WorkLevel,
    /// Whether the details are shown, where there is room for one pane only.
    shows_details: bool,
    /// Rows of the details that are scrolled past.
    details_from: usize,
    /// The agent that the next `x` stops.
    armed: Option<AgentId>,
    /// What is being fetched.
    wanted: Option<Wanted>,
    note: Option<String>,
}

/// What lies over the list.
#[derive(Debug)]
enum WorkLevel {
    List,
    Help,
    /// Words for an agent.
    Write {
        name: Option<String>,
        editor: Box<Editor>,
    },
    Transcript(Box<TranscriptView>),
    Diff(Box<Pager>),
    Change(Box<PreviewPane>),
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wanted {
    Transcript { agent: AgentId, title: String },
    Diff(Option<String>),
}

impl WorkView {
    /// The work of a session, its main agent selected.
    pub(crate) fn new(session: SessionId) -> Self {
        Self {
            session,
            agent: None,
            level: WorkLevel::List,
            shows_details: false,
            details_from: 0,
            armed: None,
            wanted: None,
            note: None,
        }
    }

    /// A key was pressed.
    pub(crate) fn key(
        &mut self,
        key: &Key,
        view: Option<&SessionView>,
        size: (usize, usize),
        now_ms: u64,
    ) -> ViewStep {
        self.note = None;
        let step = match &mut self.level {
            WorkLevel::List => return self.list_key(key, view, size, now_ms),
            WorkLevel::Help => {
                self.level = WorkLevel::List;
                return ViewStep::Stay;
            }
            WorkLevel::Write { .. } => return self.write_key(key),
            WorkLevel::Transcript(transcript) => transcript.key(key, size),
            WorkLevel::Diff(pager) => pager.key(key, size),
            WorkLevel::Change(_) => return self.change_key(key, size),
        };
        if matches!(step, ViewStep::Close) {
            self.level = WorkLevel::List;
            return ViewStep::Stay;
        }
        step
    }

    /// Text was pasted.
    pub(crate) fn paste(&mut self, text: &str) {
        match &mut self.level {
            WorkLevel::Write { editor, .. } => pasted_into(editor, text),
            WorkLevel::Transcript(transcript) => transcript.paste(text),
            WorkLevel::Diff(pager) => pager.paste(text),
            WorkLevel::List | WorkLevel::Help | WorkLevel::Change(_) => {}
        }
    }

    /// What was asked for was found.
    pub(crate) fn found(&mut self, found: ChatFound) -> Vec<ChatEffect> {
        match found {
            ChatFound::Events(session, Some(agent), events) if session == self.session => {
                let wanted = |wanted: &mut Wanted| matches!(wanted, Wanted::Transcript { agent: one, .. } if *one == agent);
                if let Some(Wanted::Transcript { title, .. }) = self.wanted.take_if(wanted) {
                    let transcript = TranscriptView::new(&title, session, Some(agent), &events);
                    self.level = WorkLevel::Transcript(Box::new(transcript));
                }
            }
            ChatFound::Diff(name, diff)
                if self.wanted.take_if(|wanted| *wanted == Wanted::Diff(name.clone())).is_some() =>
            {
                self.level = WorkLevel::Diff(Box::new(Pager::of_diff(name.as_deref(), &diff)));
            }
            ChatFound::Preview(request, preview) => {
                if let WorkLevel::Change(pane) = &mut self.level {
                    pane.found(&request, &preview);
                }
            }
            _ => {}
        }
        Vec::new()
    }

    /// Something that was asked for could not be done.
    pub(crate) fn failed(&mut self, why: &str) {
        if let WorkLevel::Change(pane) = &mut self.level {
            pane.failed(why);
        }
        self.wanted = None;
        self.note = Some(why.replace('\n', " "));
    }

    /// Something happened in the session.
    pub(crate) fn happened(&mut self, event: &Event) {
        if let WorkLevel::Transcript(transcript) = &mut self.level {
            transcript.happened(event);
        }
    }

    /// Which row is selected.
    fn selected_row(&self, rows: &[TreeRow<'_>]) -> usize {
        rows.iter().position(|row| Some(row.agent.id) == self.agent).unwrap_or(0)
    }

    fn selected_agent<'a>(&self, view: Option<&'a SessionView>) -> Option<&'a AgentView> {
        let view = view?;
        self.agent.and_then(|id| view.agents.get(id)).or_else(|| tree(view).first().map(|row| row.agent))
    }

    /// The rows of the screen, and where the cursor is.
    pub(crate) fn rows(
        &self,
        view: Option<&SessionView>,
        size: (usize, usize),
        now_ms: u64,
    ) -> (Vec<TextLine>, Option<(usize, usize)>) {
        let (columns, height) = size;
        let body = (columns, height.saturating_sub(OWN_ROWS));
        let mut rows = vec![title_row(&title(view), columns)];
        let mut cursor = None;
        let mut bottom = match &self.note {
            Some(note) => TextLine::of(&format!(" {note}"), Ink::Warning).cut(columns),
            None => keys_row(KEYS, columns),
        };
        match &self.level {
            WorkLevel::Transcript(transcript) => return transcript.rows(size),
            WorkLevel::Diff(pager) => return pager.rows(size),
            WorkLevel::Help => {
                rows.extend(HELP.iter().map(|(key, means)| {
                    TextLine::of(&format!(" {key:<11}"), Look::of(Ink::Accent).bold())
                        .with(means, Look::PLAIN)
                }));
                bottom = keys_row(&[("any key", "back")], columns);
            }
            WorkLevel::Change(pane) => {
                rows.extend(pane.rows(body));
                let keys: &[_] = &[("y", "does it"), ("↑↓", "scroll"), ("Esc", "leaves everything as it is")];
                bottom = keys_row(if pane.is_known() { keys } else { &keys[2..] }, columns);
            }
            WorkLevel::Write { name, editor } => {
                rows.extend(self.panes(view, body, now_ms));
                let label = format!(" to {}: ", name.as_deref().unwrap_or("main"));
                let (line, column) = input_line(&label, editor, columns);
                (bottom, cursor) = (line, Some((height.saturating_sub(1), column)));
            }
            WorkLevel::List => rows.extend(self.panes(view, body, now_ms)),
        }
        rows = fitted(rows, (columns, height.saturating_sub(1)));
        rows.push(bottom);
        (fitted(rows, size), cursor)
    }

    /// The tree and the details: beside each other, one above the other, or one of them.
    fn panes(&self, view: Option<&SessionView>, size: (usize, usize), now_ms: u64) -> Vec<TextLine> {
        let Some(view) = view else { return vec![TextLine::of("there is no session", Ink::Quiet)] };
        let rows = tree(view);
        if rows.is_empty() {
            return vec![TextLine::of("nobody has begun yet", Ink::Quiet)];
        }
        let at = self.selected_row(&rows);
        let list = |size: (usize, usize)| list(&rows, at, view, size, now_ms);
        let about = |size: (usize, usize)| {
            let lines = details::details(rows[at].agent, rows[at].number, view, size.0, now_ms);
            let from = self.details_from.min(lines.len().saturating_sub(size.1.max(1)));
            lines.into_iter().skip(from).collect::<Vec<_>>()
        };
        if size.0 >= BESIDE_COLUMNS_MIN {
            let panes = Panes::beside(size, TREE_PERCENT);
            return panes.joined(list(panes.first), about(panes.second));
        }
        if size.0 >= ROW_DETAILS_COLUMNS_MIN && size.1 >= STACKED_ROWS_MIN {
            let panes = Panes::above(size, size.1 / 2);
            return panes.stacked(list(panes.first), about(panes.second));
        }
        if self.shows_details { about(size) } else { list(size) }
    }
}

/// What there is in all.
fn title(view: Option<&SessionView>) -> String {
    let Some(view) = view else { return "Work".to_owned() };
    let mut parts = vec![format!("Work · {}", view.title.as_deref().unwrap_or("no title yet"))];
    parts.push(words::counted(view.agents.len() as u64, "agent"));
    let at_work =
        view.agents.iter().filter(|agent| !agent.has_ended() && agent.doing != posse_view::Activity::Nothing);
    parts.push(format!("{} at work", at_work.count()));
    parts.extend(
        view.in_all
            .usage
            .total_tokens()
            .map(|tokens| format!("{} tokens", crate::short_number::short(tokens))),
    );
    parts.extend(view.in_all.cost_usd.map(|usd| words::cost(usd, view.in_all.cost_unknown > 0)));
    parts.join(" · ")
}

/// The to-do list and as much of the tree as there is room for, around the selected agent.
fn list(
    rows: &[TreeRow<'_>],
    at: usize,
    view: &SessionView,
    (columns, height): (usize, usize),
    now_ms: u64,
) -> Vec<TextLine> {
    let mut lines = view.main().map(|main| tree::todo(main, height / 3)).unwrap_or_default();
    if !lines.is_empty() {
        lines.push(TextLine::default());
    }
    let in_one = columns >= TREE_ONE_ROW_COLUMNS_MIN;
    let each = if in_one { 1 } else { 2 };
    let room = height.saturating_sub(lines.len()).div_ceil(each).max(1);
    // The last one may have its first row only; the selected one is seen whole.
    let whole = (height.saturating_sub(lines.len()) / each).max(1);
    let first = first_shown(at, rows.len(), whole);
    for (number, row) in rows.iter().enumerate().skip(first).take(room) {
        let of_agent = row.lines(columns, now_ms, in_one);
        if number == at {
            lines.extend(of_agent.iter().map(|line| selected(line, columns)));
        } else {
            lines.extend(of_agent);
        }
    }
    lines
}

fn is_plain(key: &Key, c: char) -> bool {
    key.code == KeyCode::Char(c) && !key.ctrl && !key.alt
}
