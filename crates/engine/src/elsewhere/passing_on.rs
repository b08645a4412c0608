//! What home has to say to an agent on a worker: messages, reports of its sub-agents, budgets, the mode. A worker that gets the agent
//! is told all of it that the agent has not taken in. It must not look at what a worker says.

use std::sync::Arc;

use posse_agent::Kin;
use posse_protocol::AgentId;

use super::RemoteDriver;
use crate::agents::finished::FinishedAgent;
use crate::delegation::answers;
use crate::remote::HostCommand;

impl RemoteDriver {
    pub(super) fn word_reports(&mut self, finished: &[Arc<FinishedAgent>]) {
        if finished.is_empty() {
            return;
        }
        let told = finished.iter().map(|done| answers::report(&self.crew, done, posse_surface::Shape::Text));
        let (text, agents) =
            (told.collect::<Vec<_>>().join("\n\n"), finished.iter().map(|done| done.id).collect());
        self.reports.push((text, agents));
        self.send_reports(self.reports.len() - 1);
    }

    fn send_reports(&mut self, from: usize) {
        if self.worker.is_none() {
            return;
        }
        let kin = self.kin(&[]);
        for (text, agents) in self.reports.iter().skip(from) {
            self.say(HostCommand::Reports { text: text.clone(), agents: agents.clone(), kin });
        }
    }

    /// How its sub-agents are, as it may know: those whose report is on its way to it have not ended for it.
    pub(super) fn kin(&self, but: &[AgentId]) -> Kin {
        let kin = self.crew.kin(self.who.id);
        let on_their_way =
            self.reports.iter().flat_map(|(_, ids)| ids).filter(|id| !but.contains(id)).count();
        Kin { live: kin.live + on_their_way, ..kin }
    }

    /// Passes on what has come for it.
    pub(super) fn pass_on(&mut self) {
        let mut interrupt = false;
        let interrupts = &mut self.interrupts;
        let news = self.crew.news(self.who.id, || {
            interrupt = interrupts.has_changed().unwrap_or(false);
            drop(interrupts.borrow_and_update());
        });
        for mail in news.mail {
            if self.worker.is_some() {
                self.say(HostCommand::mail(&mail, interrupt));
            }
            self.mail.push((mail, interrupt));
        }
        self.word_reports(&news.reports);
        if let Some((budget, _)) = self.crew.take_budget(self.who.id) {
            self.budget = budget;
            self.say(HostCommand::Budget { budget });
        }
        let moves = self.crew.take_moves(self.who.id);
        if self.worker.is_none() {
            return;
        }
        for (call, moved) in moves {
            self.say(HostCommand::ToBackground { call: call.clone() });
            self.moves.push((call, moved));
        }
        let kin = self.kin(&[]);
        let roster = self.crew.tree(|tree| answers::roster(tree, self.who.id));
        if self.told.0.as_ref() != Some(&(kin, roster.clone())) {
            self.told.0 = Some((kin, roster.clone()));
            self.say(HostCommand::Kin { kin, roster });
        }
        let mode = self.crew.approvals.mode_max();
        if let Some(approval) = mode.filter(|_| self.told.1 != mode) {
            self.told.1 = mode;
            self.say(HostCommand::Mode { approval });
        }
    }

    /// Says everything to a worker that has just got the agent, or has it from an earlier process of home. What it knows
    /// already changes nothing there.
    pub(super) fn begin_again(&mut self) {
        self.told = (None, None);
        self.say(HostCommand::Budget { budget: self.budget });
        for (mail, interrupt) in &self.mail {
            self.say(HostCommand::mail(mail, *interrupt));
        }
        self.send_reports(0);
        if self.stopped.is_some() {
            self.say(HostCommand::Cancel);
        }
    }
}
