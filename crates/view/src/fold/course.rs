//! How a session and its agents come and go: begin, are interrupted, go on, end.

use posse_protocol::{AgentId, Budget, Event, EventKind, Report, Sender, title_of};

use super::short;
use crate::text::cut;
use crate::{Activity, AgentView, ReportView, SessionView, branches, limits};
use posse_protocol::AgentState;

impl SessionView {
    pub(super) fn begin(&mut self, kind: &EventKind) {
        let EventKind::SessionStarted {
            workspace,
            sandboxed,
            project,
            surface,
            coordinator,
            team,
            version: _,
            traceparent: _,
        } = kind
        else {
            return;
        };
        self.workspace.clone_from(workspace);
        // Older records that only know the workspace mean it.
        self.project.clone_from(if project.is_empty() { workspace } else { project });
        self.surface.clone_from(surface);
        (self.coordinator, self.team, self.sandboxed) = (*coordinator, *team, *sandboxed);
    }

    /// It has the title that it was given; without one it is called by its first prompt.
    pub(super) fn name(&mut self, title: &str) {
        let given = Some(short(title)).filter(|title| !title.is_empty());
        self.title = given.or_else(|| self.automatic_title.clone());
    }

    /// These agents had not ended. Nobody works for them now; what they asked is asked again when they go on.
    pub(super) fn interrupt(&mut self, agents: &[AgentId], at_ms: u64) {
        self.state = AgentState::Interrupted;
        for id in agents {
            self.withdraw_questions(*id, at_ms);
            let Some(agent) = self.agents.get_mut(*id).filter(|agent| !agent.has_ended()) else { continue };
            agent.state = AgentState::Interrupted;
            agent.interrupted_at_ms = Some(at_ms);
            agent.doing = Activity::Nothing;
            agent.clock.stop(at_ms);
        }
    }

    /// One that is known already stays as it is.
    pub(super) fn admit(&mut self, event: &Event) {
        let EventKind::AgentAdmitted {
            name,
            role,
            depth,
            title,
            requested_model,
            context,
            continues,
            brief: _,
        } = &event.kind
        else {
            return;
        };
        if self.agents.get(event.agent).is_some() {
            return;
        }
        self.add_agent(AgentView {
            title: Some(short(title)),
            requested_model: requested_model.as_deref().map(short),
            context: Some(*context),
            continues: *continues,
            ..AgentView::new(event, name, role, *depth)
        });
    }

    /// An agent begins, or is taken up again: then its figures go on.
    pub(super) fn start(&mut self, event: &Event) {
        let EventKind::AgentStarted { role, depth, model, model_id, budget, grant, system: _, checkout: _ } =
            &event.kind
        else {
            return;
        };
        if self.agents.get(event.agent).is_none() {
            self.add_agent(AgentView::new(event, role, role, *depth));
        }
        self.reopen(event);
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        agent.role = short(role);
        agent.depth = *depth;
        agent.state = AgentState::Running;
        agent.doing = Activity::Starting;
        agent.model = Some(short(model));
        agent.model_id = Some(short(model_id));
        agent.budget = *budget;
        agent.started_at_ms.get_or_insert(event.at_ms);
        agent.interrupted_at_ms = None;
        agent.error = None;
        agent.clock.start(event.at_ms);
        if event.parent.is_none() {
            self.state = AgentState::Running;
            self.model = Some(short(model)).filter(|model| !model.is_empty()).or(self.model.take());
            self.approval.get_or_insert(grant.approval);
        }
    }

    /// An agent goes on; what it has used so far still counts. One that had not begun has still to begin.
    pub(super) fn resume(&mut self, event: &Event) {
        let EventKind::AgentResumed { model, model_id, elapsed_ms, budget, grant: _ } = &event.kind else {
            return;
        };
        self.withdraw_questions(event.agent, event.at_ms);
        self.reopen(event);
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        agent.interrupted_at_ms = None;
        agent.duration_ms = None;
        agent.error = None;
        agent.budget = *budget;
        agent.doing = Activity::GoingOn;
        // An older event may not say with which model.
        if !model.is_empty() {
            agent.model = Some(short(model));
        }
        if !model_id.is_empty() {
            agent.model_id = Some(short(model_id));
        }
        if agent.started_at_ms.is_some() {
            agent.state = AgentState::Running;
            agent.clock.resume(*elapsed_ms, event.at_ms);
        } else {
            agent.state = AgentState::Pending;
        }
        if event.parent.is_none() {
            self.state = AgentState::Running;
            self.model = Some(short(model)).filter(|model| !model.is_empty()).or(self.model.take());
        }
    }

    /// Words for an agent. One that had ended works again; the first words to the main agent are the session's title.
    pub(super) fn tell(&mut self, event: &Event, from: Sender, text: &str) {
        let woken = self.agents.get(event.agent).is_some_and(AgentView::has_ended);
        if woken {
            self.reopen(event);
            if let Some(agent) = self.agents.get_mut(event.agent) {
                agent.state = AgentState::Running;
                agent.doing = Activity::GoingOn;
                agent.clock.start(event.at_ms);
            }
        }
        if event.parent.is_none() && (woken || matches!(from, Sender::Person | Sender::Parent)) {
            self.state = AgentState::Running;
            if self.automatic_title.is_none() {
                self.automatic_title = Some(title_of(text)).filter(|title| !title.is_empty());
                self.title = self.title.take().or_else(|| self.automatic_title.clone());
            }
        }
    }

    /// An agent that had ended, if it had, has not.
    fn reopen(&mut self, event: &Event) {
        let Some(agent) = self.agents.get_mut(event.agent).filter(|agent| agent.has_ended()) else { return };
        agent.ended_at_ms = None;
        if matches!(event.kind, EventKind::AgentResumed { .. }) {
            agent.delivered = false;
        }
        let parent = agent.parent;
        self.count_open(parent, 1);
    }

    /// The main agent has answered and waits for the next prompt.
    pub(super) fn rest(&mut self, event: &Event, report: Option<&Report>) {
        self.withdraw_questions(event.agent, event.at_ms);
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        agent.state = AgentState::Resting;
        agent.doing = Activity::Nothing;
        agent.clock.stop(event.at_ms);
        if let Some(report) = report {
            agent.error = report.ending.error_message().map(|error| cut(&error, limits::MESSAGE_CHARS_MAX));
            agent.report = Some(ReportView::of(report));
        }
        if event.parent.is_none() {
            self.state = AgentState::Resting;
        }
    }

    /// The person changed how an agent works.
    pub(super) fn change_settings(&mut self, event: &Event) {
        let EventKind::SettingsChanged { model, model_id, approval, effort: _ } = &event.kind else { return };
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        (agent.model, agent.model_id) = (Some(short(model)), Some(short(model_id)));
        if event.parent.is_none() {
            (self.model, self.approval) = (Some(short(model)), Some(*approval));
        }
    }

    /// An agent that rested continues with another prompt.
    pub(super) fn wake(&mut self, event: &Event, elapsed_ms: u64, budget: Budget) {
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        agent.state = AgentState::Running;
        agent.doing = Activity::GoingOn;
        agent.error = None;
        agent.budget = budget;
        agent.clock.resume(elapsed_ms, event.at_ms);
        if event.parent.is_none() {
            self.state = AgentState::Running;
        }
    }

    /// An agent ended.
    pub(super) fn settle(&mut self, event: &Event, report: &Report) {
        self.withdraw_questions(event.agent, event.at_ms);
        let Some(agent) = self.agents.get_mut(event.agent) else { return };
        let was_open = !agent.has_ended();
        let more = agent.used_in_all(&report.receipt);
        agent.state = AgentState::from(&report.ending);
        agent.doing = Activity::Nothing;
        agent.ended_at_ms = Some(event.at_ms);
        agent.duration_ms = Some(report.receipt.duration_ms);
        agent.clock.end(report.receipt.duration_ms, event.at_ms);
        agent.error = report.ending.error_message().map(|error| cut(&error, limits::MESSAGE_CHARS_MAX));
        agent.report = Some(ReportView::of(report));
        let (state, parent) = (agent.state, agent.parent);
        if parent.is_some() {
            branches::settled(agent, &report.receipt, &mut self.changed_here);
        } else {
            self.state = state;
        }
        if was_open {
            self.count_open(parent, -1);
        }
        self.spread(event.agent, more);
    }
}
