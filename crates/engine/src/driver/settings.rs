//! What the person changes while a session runs: approval mode, model and reasoning effort count from the main agent's next
//! turn; what an agent may spend more counts at once.

use std::sync::Arc;

use posse_protocol::{Budget, EventKind};

use super::Driver;
use super::waiting::TimeLimit;
use crate::agents::offer::main_offer;
use crate::crew::mail::SettingsChange;

impl Driver {
    /// Takes in what the person wants of it, before its next step.
    pub(super) fn take_wishes(&mut self) {
        let id = self.who.id;
        if self.crew.is_to_close(id) {
            self.agent.set_stays(false);
        }
        if !self.agent.is_resting() && self.crew.take_compaction(id) {
            self.agent.compact_soon();
        }
        if let Some((budget, _)) = self.crew.take_budget(id) {
            self.agent.allow(budget);
            if !self.agent.is_closing() {
                self.time = TimeLimit::new(self.signals.clock.clone(), budget.time_ms);
            }
        }
        if let Some(change) = self.crew.take_settings(id) {
            self.change_settings(change);
        }
    }

    fn change_settings(&mut self, change: SettingsChange) {
        let SettingsChange { approval, model, effort } = change;
        if let Some(approval) = approval {
            self.gate.approval = approval;
            self.toolbox = self.toolbox.with_approval(approval);
            self.crew.tree(|tree| tree.set_approval(self.who.id, approval));
            self.looks |= self.toolbox.can_write();
        }
        let grant = self.crew.tree(|tree| tree.node(self.who.id).map(|node| node.grant.clone()));
        let Some(grant) = grant else { return };
        let is_other = model.is_some() || effort.is_some();
        let mut next = model.unwrap_or_else(|| self.conversation.model.clone());
        if let Some(effort) = &effort {
            next.model = next.model.with_effort(effort);
        }
        let offered = main_offer(&self.crew, &self.toolbox, &grant);
        // What is offered already stays: a call that is not allowed any more is refused, and the request begins as before.
        let is_known = offered.iter().all(|tool| self.conversation.tools.contains(tool));
        let tools = if is_known { Arc::clone(&self.conversation.tools) } else { offered.into() };
        if is_other || !is_known {
            self.conversation.catch_up(self.agent.conversation());
            self.conversation = self.conversation.encoded_anew(&next, tools);
            self.conversation.follow(self.agent.conversation());
            self.agent.change_model(self.conversation.settings(Budget::UNLIMITED, None, true));
        }
        if let Some(calls) = &mut self.calls {
            calls.change(next.clone(), grant.clone());
        }
        let config = next.model.config();
        self.journal.note(EventKind::SettingsChanged {
            model: config.name.clone(),
            model_id: config.model.clone(),
            effort,
            approval: grant.approval,
        });
    }
}
