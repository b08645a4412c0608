//! The to-do list, the agents, and all about each of them.

use posse_protocol::SessionId;
use posse_terminal::{Key, KeyCode, TextLine};
use posse_view::{SessionView, words};

use super::ViewStep;
use crate::effect::ChatFound;

/// The work of a session.
#[derive(Debug)]
pub struct WorkView {
    session: SessionId,
}

impl WorkView {
    pub(crate) fn new(session: SessionId) -> Self {
        Self { session }
    }

    pub(crate) fn key(&mut self, key: &Key, _: Option<&SessionView>, _: (usize, usize), _: u64) -> ViewStep {
        if key.code == KeyCode::Escape { ViewStep::Close } else { ViewStep::Stay }
    }

    pub(crate) fn paste(&mut self, _: &str) {}

    pub(crate) fn found(&mut self, _: ChatFound) {}

    pub(crate) fn rows(
        &self,
        view: Option<&SessionView>,
        (columns, rows): (usize, usize),
        now_ms: u64,
    ) -> (Vec<TextLine>, Option<(usize, usize)>) {
        let mut out = vec![TextLine::plain(&self.session.to_string()).cut(columns)];
        let agents = view.into_iter().flat_map(|view| view.agents.iter());
        out.extend(agents.map(|agent| {
            TextLine::plain(&format!("{} {}", agent.name, words::now(agent, now_ms))).cut(columns)
        }));
        out.resize(rows, TextLine::default());
        (out, None)
    }
}
