//! Sub-agents: sessions of their own where the client knows those, else one call each with a line that says what it does.

use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, ErrorStopReason, IdleStateUpdate, IdleStopReason, OtherStopReason, RequiresActionStateUpdate,
    RunningStateUpdate, SessionCancelCapabilities, SessionUpdate, StateUpdate, SubagentSessionCapabilities,
    SubagentUpdate, ToolCall, ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, ToolKind,
};
use posse_protocol::clip::clipped;
use posse_protocol::visible::{self, one_line};
use posse_protocol::{AgentId, AgentState, Ending, Event, EventKind, Report};
use posse_view::{AgentView, words};

use super::{AgentTold, ClientNews, Translator, tell};
use crate::limits::{REPORT_CHARS_MAX, TITLE_COLUMNS_MAX};

/// What the client was told of a sub-agent as a whole.
#[derive(Default)]
pub(super) struct ChildTold {
    /// Its state, where it is a session.
    state: Option<StateUpdate>,
    /// Its line, where it is a call.
    line: String,
    ended: bool,
}

impl Translator {
    /// Announces an agent before anything else of it.
    pub(super) fn agent_news(&mut self, event: &Event) -> Vec<ClientNews> {
        match &event.kind {
            EventKind::AgentAdmitted { .. } => self.announce(event).into_iter().collect(),
            EventKind::AgentStarted { checkout: Some(checkout), .. } => self.moved(event, checkout),
            EventKind::AgentPlaced { .. } => self.placed(event.agent).into_iter().collect(),
            EventKind::AgentSettled { report } if event.parent.is_some() => {
                self.settled(event.agent, report).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    fn announce(&mut self, event: &Event) -> Option<ClientNews> {
        let agent = self.view.agents.get(event.agent)?;
        let (name, role) =
            (one_line(&agent.name, TITLE_COLUMNS_MAX), one_line(&agent.role, TITLE_COLUMNS_MAX));
        let title = one_line(agent.title.as_deref().unwrap_or_default(), TITLE_COLUMNS_MAX);
        let parent = event.parent.and_then(|parent| self.agents.get(&parent));
        let folder = parent.map_or_else(|| PathBuf::from(&self.view.workspace), |told| told.folder.clone());
        if !self.skills.subagents {
            self.agents.insert(event.agent, AgentTold::new(None, folder));
            let call = ToolCall::new(card_id(event.agent), format!("{name} ({role}): {title}"))
                .kind(ToolKind::Think)
                .status(ToolCallStatus::InProgress);
            return Some(tell(&self.session, SessionUpdate::ToolCall(call)));
        }
        let above = event.parent.and_then(|parent| self.session_of(parent).cloned());
        let above = above.unwrap_or_else(|| Arc::clone(&self.session));
        let session: Arc<str> = event.agent.to_string().into();
        let running = StateUpdate::Running(RunningStateUpdate::new());
        let mut told = AgentTold::new(Some(Arc::clone(&session)), folder);
        told.child.state = Some(running.clone());
        self.agents.insert(event.agent, told);
        let can = SubagentSessionCapabilities::new().cancel(SessionCancelCapabilities::new());
        let update = SubagentUpdate::new(session)
            .title(format!("{name}: {title}"))
            .description(description(agent))
            .capabilities(can)
            .state(running);
        Some(tell(&above, SessionUpdate::SubagentUpdate(update)))
    }

    /// It runs on another machine from now on.
    fn placed(&self, agent: AgentId) -> Option<ClientNews> {
        let described = description(self.view.agents.get(agent)?);
        self.child_update(agent, |update| update.description(described))
    }

    /// It works in a checkout of its own.
    fn moved(&mut self, event: &Event, checkout: &str) -> Vec<ClientNews> {
        let folder = PathBuf::from(checkout);
        if !folder.is_absolute() {
            return Vec::new();
        }
        self.told(event.agent).folder.clone_from(&folder);
        let told = self.child_update(event.agent, |update| update.cwd(folder));
        told.into_iter().collect()
    }

    /// An update of an agent's session, in that of its parent.
    fn child_update(
        &self,
        agent: AgentId,
        change: impl FnOnce(SubagentUpdate) -> SubagentUpdate,
    ) -> Option<ClientNews> {
        let session = self.session_of(agent).filter(|_| self.skills.subagents)?;
        let parent = self.view.agents.get(agent)?.parent?;
        let above = self.session_of(parent)?;
        let update = change(SubagentUpdate::new(Arc::clone(session)));
        Some(tell(above, SessionUpdate::SubagentUpdate(update)))
    }

    /// How an agent's session does, where that is another than the client knows.
    pub(super) fn state_of(&mut self, agent: AgentId) -> Option<ClientNews> {
        let view = self.view.agents.get(agent).filter(|view| view.parent.is_some() && !view.has_ended())?;
        let state = match view.state {
            AgentState::NeedsPerson => StateUpdate::RequiresAction(RequiresActionStateUpdate::new()),
            _ => StateUpdate::Running(RunningStateUpdate::new()),
        };
        let told = self.agents.get_mut(&agent)?;
        if told.child.state.as_ref() == Some(&state) || told.child.ended {
            return None;
        }
        told.child.state = Some(state.clone());
        self.child_update(agent, |update| update.state(state))
    }

    /// The line of an agent that is shown by one.
    pub(super) fn card(&mut self, agent: AgentId) -> Option<ClientNews> {
        let view = self.view.agents.get(agent).filter(|view| view.parent.is_some() && !view.has_ended())?;
        let line = line(view);
        let told = self.agents.get_mut(&agent).filter(|told| told.session.is_none() && !told.child.ended)?;
        if told.child.line == line {
            return None;
        }
        told.child.line.clone_from(&line);
        let fields = ToolCallUpdateFields::new().content(vec![ToolCallContent::from(line)]);
        let update = ToolCallUpdate::new(card_id(agent), fields);
        Some(tell(&self.session, SessionUpdate::ToolCallUpdate(update)))
    }

    fn settled(&mut self, agent: AgentId, report: &Report) -> Option<ClientNews> {
        let told = self.agents.get_mut(&agent)?;
        told.child.ended = true;
        if told.session.is_some() {
            let idle = IdleStateUpdate::new().stop_reason(stop_reason(&report.ending));
            return self.child_update(agent, |update| update.state(StateUpdate::Idle(idle)));
        }
        let ended = report.ending == Ending::Completed;
        let status = if ended { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let fields = ToolCallUpdateFields::new()
            .status(status)
            .content(vec![ToolCallContent::from(report_text(report))]);
        let update = ToolCallUpdate::new(card_id(agent), fields);
        Some(tell(&self.session, SessionUpdate::ToolCallUpdate(update)))
    }
}

fn card_id(agent: AgentId) -> ToolCallId {
    ToolCallId::new(format!("agent-{agent}"))
}

/// What it is, and where it runs.
fn description(agent: &AgentView) -> String {
    let on = words::on(agent).map(|on| format!(" {on}")).unwrap_or_default();
    one_line(&format!("{} agent{on}", agent.role), TITLE_COLUMNS_MAX)
}

/// What an agent does, in one line.
fn line(agent: &AgentView) -> String {
    let doing = words::doing(&agent.doing);
    let state = words::state(agent.state);
    let on = words::on(agent).unwrap_or_default();
    let parts = [state, &on, &words::turn(agent), &doing].map(|part| one_line(part, TITLE_COLUMNS_MAX));
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

/// A report as it is shown: how it ended, what it took, what it says, and what does not hold of it.
fn report_text(report: &Report) -> String {
    let measured = words::spent(&report.receipt).join(" · ");
    let mut text = format!("{} · {measured}", report.outcome());
    let said = clipped(&report.text, REPORT_CHARS_MAX);
    if !said.trim().is_empty() {
        text.push_str(&format!("\n\n{}", visible::text(&said)));
    }
    for remark in report.remarks() {
        text.push_str(&format!("\n- {remark}"));
    }
    text
}

fn stop_reason(ending: &Ending) -> IdleStopReason {
    match ending {
        Ending::Completed => IdleStopReason::EndTurn,
        Ending::Cancelled => IdleStopReason::Cancelled,
        Ending::OutOfTurns => IdleStopReason::MaxTurnRequests,
        Ending::OutOfTokens => IdleStopReason::MaxTokens,
        Ending::Refused => IdleStopReason::Refusal,
        Ending::TimedOut | Ending::OutOfMoney | Ending::Interrupted { .. } => {
            IdleStopReason::Other(OtherStopReason::new(format!("_{}", ending.word()), Default::default()))
        }
        Ending::Failed { failure } => {
            let error = Error::internal_error().data(failure.to_string());
            ErrorStopReason::new().error(error).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use posse_protocol::Update;

    use super::*;
    use crate::client::ClientSkills;

    /// What a client is told of the recorded session with agents on workers, as JSON.
    fn told(skills: ClientSkills) -> Vec<serde_json::Value> {
        let mut translator = Translator::new("s".into(), skills);
        let events = include_str!("../../../view/fixtures/placed.jsonl").lines();
        let events = events.map(|line| serde_json::from_str::<Event>(line).unwrap());
        let news = events.flat_map(|event| translator.handle(&Update::Event(std::sync::Arc::new(event))));
        let update = |news: ClientNews| match news {
            ClientNews::Update { update, .. } => Some(serde_json::to_value(update).unwrap()),
            _ => None,
        };
        news.collect::<Vec<_>>().into_iter().filter_map(update).collect()
    }

    #[test]
    fn where_an_agent_runs_is_in_its_description_and_a_move_is_a_notice() {
        let told = told(ClientSkills { subagents: true, notices: true, ..ClientSkills::default() });
        let descriptions: Vec<&str> =
            told.iter().filter_map(|update| update["description"].as_str()).collect();
        let expected = [
            "coder agent",
            "coder agent",
            "explore agent",
            "coder agent on gpu-1",
            "coder agent on build.lan",
            "coder agent on gpu-2",
        ];
        assert_eq!(descriptions, expected);
        let moved = "coder-1 moved to gpu-2: the worker before was lost";
        assert_eq!(told.iter().filter(|update| update["title"] == moved).count(), 1, "{told:#?}");
    }

    #[test]
    fn where_an_agent_runs_is_in_its_line() {
        let told = serde_json::to_string(&told(ClientSkills::default())).unwrap();
        for line in
            ["running · on gpu-1 · turn 2/20", "running · on gpu-2 · turn 3/20", "running · turn 1/20"]
        {
            assert!(told.contains(line), "{line}: {told}");
        }
    }
}
