//! What keys do in the view of the work.

use posse_engine::{ChangeRequest, UndoExtent, UndoRequest};
use posse_terminal::{Key, KeyCode};
use posse_view::{AgentView, BranchView, SessionView};

use super::super::ViewStep;
use super::super::input::typed_into;
use super::super::preview::PreviewPane;
use super::details::details;
use super::tree::tree;
use super::{Wanted, WorkLevel, WorkView, is_plain};
use crate::effect::{ChatEffect, ChatQuery, SteerCommand};

impl WorkView {
    pub(super) fn list_key(
        &mut self,
        key: &Key,
        view: Option<&SessionView>,
        size: (usize, usize),
        now_ms: u64,
    ) -> ViewStep {
        if !is_plain(key, 'x') {
            self.armed = None;
        }
        if key.ctrl && key.code == KeyCode::Char('t') {
            return ViewStep::Close;
        }
        if key.ctrl || key.alt {
            return ViewStep::Stay;
        }
        match key.code {
            KeyCode::Escape | KeyCode::Char('q') if self.shows_details => self.shows_details = false,
            KeyCode::Escape | KeyCode::Char('q') => return ViewStep::Close,
            KeyCode::Char('?') => self.level = WorkLevel::Help,
            KeyCode::Tab | KeyCode::Left | KeyCode::Right => self.shows_details = !self.shows_details,
            KeyCode::PageDown | KeyCode::PageUp => self.scroll_details(key.code, view, size, now_ms),
            KeyCode::Down | KeyCode::Char('j') => self.select(view, |at, last| (at + 1).min(last)),
            KeyCode::Up | KeyCode::Char('k') => self.select(view, |at, _| at.saturating_sub(1)),
            KeyCode::Home => self.select(view, |_, _| 0),
            KeyCode::End => self.select(view, |_, last| last),
            _ => {
                if let Some(agent) = self.selected_agent(view) {
                    return self.agent_key(key, agent);
                }
            }
        }
        ViewStep::Stay
    }

    fn select(&mut self, view: Option<&SessionView>, to: impl FnOnce(usize, usize) -> usize) {
        let rows = view.map(tree).unwrap_or_default();
        let at = to(self.selected_row(&rows), rows.len().saturating_sub(1));
        self.agent = rows.get(at).map(|row| row.agent.id).or(self.agent);
        self.details_from = 0;
    }

    fn scroll_details(
        &mut self,
        code: KeyCode,
        view: Option<&SessionView>,
        size: (usize, usize),
        now_ms: u64,
    ) {
        let page = (size.1 / 3).max(1);
        self.details_from = match code {
            KeyCode::PageUp => self.details_from.saturating_sub(page),
            _ => {
                let rows = view.zip(self.selected_agent(view));
                let count =
                    rows.map_or(0, |(view, agent)| details(agent, 0, view, size.0.max(1), now_ms).len());
                (self.details_from + page).min(count.saturating_sub(1))
            }
        };
    }

    fn agent_key(&mut self, key: &Key, agent: &AgentView) -> ViewStep {
        let is_main = agent.parent.is_none();
        let name = (!is_main).then(|| agent.name.clone());
        match key.code {
            KeyCode::Enter => {
                let title = agent.title.as_deref().map(|title| format!(" · {title}")).unwrap_or_default();
                self.wanted = Some(Wanted::Transcript {
                    agent: agent.id,
                    title: format!("Transcript of {}{title}", agent.name),
                });
                self.note = Some("reading …".to_owned());
                let query = ChatQuery::Events { session: self.session, agent: Some(agent.id) };
                return ViewStep::Do(vec![ChatEffect::Query(query)]);
            }
            KeyCode::Char('m') if agent.has_ended() && !is_main => {
                self.note = Some(format!("{} has ended: tell the agent that started it", agent.name));
            }
            KeyCode::Char('m') => self.level = WorkLevel::Write { name, editor: Box::default() },
            KeyCode::Char('x') => return self.stop(agent, name),
            KeyCode::Char('d') => {
                self.wanted = Some(Wanted::Diff(name.clone()));
                self.note = Some("reading …".to_owned());
                return ViewStep::Do(vec![ChatEffect::Query(ChatQuery::Diff(name))]);
            }
            KeyCode::Char('u') => {
                let extent = UndoExtent::Agent(agent.name.clone());
                let undo = UndoRequest { extent, paths: Vec::new(), hunks: Vec::new() };
                return self.preview(ChangeRequest::Undo(undo));
            }
            KeyCode::Char('g') if agent.branch.as_ref().is_some_and(BranchView::is_open) => {
                return self.preview(ChangeRequest::Merge { agent: agent.name.clone() });
            }
            KeyCode::Char('g') => self.note = Some(format!("{} has no branch to merge", agent.name)),
            _ => {}
        }
        ViewStep::Stay
    }

    /// Stops an agent, the second time it is wanted.
    fn stop(&mut self, agent: &AgentView, name: Option<String>) -> ViewStep {
        if agent.has_ended() {
            self.note = Some(format!("{} has ended", agent.name));
            return ViewStep::Stay;
        }
        if self.armed.take() != Some(agent.id) {
            self.armed = Some(agent.id);
            let below = if agent.open_children > 0 { " and all below it" } else { "" };
            self.note = Some(format!("x again stops {}{below}", agent.name));
            return ViewStep::Stay;
        }
        self.note = Some(format!("stopping {} …", agent.name));
        let command = name.map_or(SteerCommand::StopTurn, SteerCommand::StopAgent);
        ViewStep::Do(vec![ChatEffect::Steer(command)])
    }

    fn preview(&mut self, request: ChangeRequest) -> ViewStep {
        let (pane, effect) = PreviewPane::ask(request);
        self.level = WorkLevel::Change(Box::new(pane));
        ViewStep::Do(vec![effect])
    }

    /// A key while words for an agent are typed.
    pub(super) fn write_key(&mut self, key: &Key) -> ViewStep {
        let WorkLevel::Write { name, editor } = &mut self.level else { return ViewStep::Stay };
        match key.code {
            KeyCode::Escape => self.level = WorkLevel::List,
            KeyCode::Enter => {
                let (text, agent) = (editor.text().trim().to_owned(), name.take());
                self.level = WorkLevel::List;
                if !text.is_empty() {
                    let to = agent.as_deref().unwrap_or("main");
                    self.note = Some(format!("{to} reads it at its next turn"));
                    return ViewStep::Do(vec![ChatEffect::Steer(SteerCommand::Tell { agent, text })]);
                }
            }
            _ => typed_into(editor, key),
        }
        ViewStep::Stay
    }

    /// A key while a change is previewed.
    pub(super) fn change_key(&mut self, key: &Key, size: (usize, usize)) -> ViewStep {
        let WorkLevel::Change(pane) = &mut self.level else { return ViewStep::Stay };
        match key.code {
            KeyCode::Escape => self.level = WorkLevel::List,
            KeyCode::Char('q') if !key.ctrl => self.level = WorkLevel::List,
            _ if is_plain(key, 'y') && pane.is_known() => {
                let request = pane.request.clone();
                self.level = WorkLevel::List;
                return ViewStep::Do(vec![ChatEffect::Change(request)]);
            }
            _ => pane.key(key, (size.0, size.1.saturating_sub(super::OWN_ROWS))),
        }
        ViewStep::Stay
    }
}
