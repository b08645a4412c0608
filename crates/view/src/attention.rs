//! What a person should look at: found in a view when somebody asks, in the order of the agents.

use posse_protocol::{AgentId, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AgentView, BranchState, SessionView};
use posse_protocol::AgentState;

/// One thing that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "attention", rename_all = "snake_case")]
pub enum Attention {
    /// A question waits for an answer.
    Question {
        /// Who asks.
        agent: AgentId,
        /// Which question.
        seq: Seq,
    },
    /// The session was interrupted, or agents of it were.
    Interrupted {
        /// How many agents do not run.
        agents: u64,
    },
    /// An agent could not do what it was asked.
    Failed {
        /// Which.
        agent: AgentId,
        /// How it ended.
        state: AgentState,
    },
    /// An agent says that something was in its way.
    Blocked {
        /// Which.
        agent: AgentId,
    },
    /// What an agent says and the facts do not.
    Warnings {
        /// Which agent.
        agent: AgentId,
        /// How many warnings there are.
        count: u64,
    },
    /// Calls of an agent were not allowed.
    Denied {
        /// Which agent.
        agent: AgentId,
        /// How many calls.
        count: u64,
    },
    /// An agent works on another model than was asked for.
    MissingModel {
        /// Which agent.
        agent: AgentId,
        /// The model that was asked for.
        model: String,
    },
    /// Work on a branch is not in the folder.
    Branch {
        /// Whose work.
        agent: AgentId,
        /// The branch.
        name: String,
        /// Whether it did not fit, or was never merged.
        state: BranchState,
    },
}

impl SessionView {
    /// All that needs attention: open questions first, then an interruption, then agent by agent.
    pub fn attention(&self) -> Vec<Attention> {
        let asked = |open: &crate::OpenQuestion| Attention::Question { agent: open.agent, seq: open.seq };
        let mut found: Vec<Attention> = self.questions.iter().map(asked).collect();
        found.extend(self.interrupted().map(|agents| Attention::Interrupted { agents }));
        self.agents.iter().for_each(|agent| of_agent(agent, &mut found));
        found
    }

    /// How many agents do not run because the session was interrupted; none if it was not.
    pub fn interrupted(&self) -> Option<u64> {
        let open = self.agents.iter().filter(|agent| agent.state == AgentState::Interrupted).count() as u64;
        (self.state == AgentState::Interrupted || open > 0).then_some(open)
    }
}

fn of_agent(agent: &AgentView, found: &mut Vec<Attention>) {
    let id = agent.id;
    if agent.state.is_failure() {
        found.push(Attention::Failed { agent: id, state: agent.state });
    }
    if let Some(report) = &agent.report {
        if report.blocked {
            found.push(Attention::Blocked { agent: id });
        }
        if !report.warnings.is_empty() {
            found.push(Attention::Warnings { agent: id, count: report.warnings.len() as u64 });
        }
    }
    if agent.denied_calls > 0 {
        found.push(Attention::Denied { agent: id, count: agent.denied_calls });
    }
    if let Some(model) = agent.missing_model() {
        found.push(Attention::MissingModel { agent: id, model: model.to_owned() });
    }
    if let Some(branch) = agent.branch.as_ref().filter(|branch| branch.is_open()) {
        found.push(Attention::Branch { agent: id, name: branch.name.clone(), state: branch.state });
    }
}
