//! A whole session, as far as it has come.

use std::collections::BTreeSet;

use posse_protocol::{Approval, Progress, Seq, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::activity::is_reply;
use crate::{Activity, AgentList, AgentView, Figures, OpenQuestion, OpenQuestions};
use posse_protocol::AgentState;

/// What there is to show of a session after the event `seq`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionView {
    /// The sequence number of the last event that is in it; 0 before the first.
    pub seq: Seq,
    /// The session; none before its first event.
    pub session: Option<SessionId>,
    /// How it does.
    pub state: AgentState,
    /// What it is called: the title that it was given, else the automatic one; none before there is either.
    pub title: Option<String>,
    /// The title that is made of the first prompt; none before that.
    #[serde(default)]
    pub automatic_title: Option<String>,
    /// The session whose conversation it took up; none if it began with none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked_from: Option<ForkedFrom>,
    /// The folder the work is done in.
    pub workspace: String,
    /// The project that it is about.
    pub project: String,
    /// The dialect its models delegate in; empty where nobody delegates.
    pub surface: String,
    /// Whether the main agent has delegation tools only.
    pub coordinator: bool,
    /// Whether agents can write to each other and share a board.
    pub team: bool,
    /// Whether commands are confined by the kernel.
    pub sandboxed: bool,
    /// What the main agent does without asking: as it first began, or as the person changed it since; none before it begins.
    pub approval: Option<Approval>,
    /// The configured name of the main agent's model; none before it starts.
    pub model: Option<String>,
    /// When it began: milliseconds since 1970, UTC.
    pub started_at_ms: u64,
    /// When something last happened in it.
    pub last_at_ms: u64,
    /// What all its agents have used.
    pub in_all: Figures,
    /// Its sub-agents that have not ended.
    pub open_sub_agents: u32,
    /// Its agents, in the order in which they came.
    #[schemars(with = "Vec<AgentView>")]
    pub agents: AgentList,
    /// The open questions to a person, in the order in which they were asked.
    #[schemars(with = "Vec<OpenQuestion>")]
    pub questions: OpenQuestions,
    /// Paths that sub-agents changed in the folder itself, or that were merged into it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub changed_here: BTreeSet<String>,
}

/// Where a fork comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ForkedFrom {
    /// The other session.
    pub session: SessionId,
    /// How many turns of its main agent were taken up.
    pub turn: u32,
}

impl SessionView {
    /// The main agent; none before it begins.
    pub fn main(&self) -> Option<&AgentView> {
        self.agents.iter().find(|agent| agent.parent.is_none())
    }

    /// The sub-agents, in the order in which they came.
    pub fn sub_agents(&self) -> impl Iterator<Item = &AgentView> {
        self.agents.iter().filter(|agent| agent.parent.is_some())
    }

    /// Whether the main agent has said what it has to say and only waits for sub-agents.
    pub fn rests(&self) -> bool {
        self.open_sub_agents > 0 && self.main().is_some_and(|main| main.rests)
    }

    /// Takes in passing news of an agent, which came now. It is never on record, may be lost, and is never the truth.
    pub fn note(&mut self, progress: &Progress, now_ms: u64) {
        let Some(agent) = self.agents.get_mut(progress.agent) else { return };
        agent.heard_at_ms = is_reply(&progress.kind).then_some(now_ms);
        if let Some(doing) = Activity::of(&progress.kind) {
            agent.doing = doing;
        }
    }

    /// Shows as interrupted what had not ended: for a session whose process is gone and could not put that on record. No
    /// event says so, so this is no part of the fold; the events of going on can be folded after it.
    pub fn show_interrupted(&mut self) {
        if self.state == AgentState::Running {
            self.state = AgentState::Interrupted;
        }
        let at_ms = self.last_at_ms;
        let asking = self.questions.iter().map(|open| open.agent).collect::<Vec<_>>();
        asking.into_iter().for_each(|agent| self.withdraw_questions(agent, at_ms));
        for agent in self.agents.iter_mut().filter(|agent| !agent.has_ended()) {
            agent.state = AgentState::Interrupted;
            agent.doing = Activity::Nothing;
            agent.clock.stop(at_ms);
        }
    }
}
