//! The state of a task, as the protocol has it. Pure.

use posse_protocol::{AgentState, Ending};
use posse_view::SessionView;
use schemars::JsonSchema;
use serde::Serialize;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TaskPhase {
    /// Agents are at work.
    Working,
    /// An agent waits for an answer.
    InputRequired,
    /// The main agent has said that it is done; the report is there.
    Completed,
    /// It ended without that: an error, or its budget is used up. What was done so far is in the report.
    Failed,
    /// It was stopped.
    Cancelled,
}

impl TaskPhase {
    pub(crate) fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The state of a task, by the tree.
pub(crate) fn phase(view: &SessionView) -> TaskPhase {
    if !view.questions.is_empty() {
        return TaskPhase::InputRequired;
    }
    let Some(main) = view.main() else { return TaskPhase::Working };
    let by_ending = |ending: &Ending| match ending {
        Ending::Completed => TaskPhase::Completed,
        Ending::Cancelled => TaskPhase::Cancelled,
        _ => TaskPhase::Failed,
    };
    match main.state {
        // Agents that it left at work report to it, and wake it.
        AgentState::Resting if view.open_sub_agents > 0 => TaskPhase::Working,
        // It was told something, and is about to wake.
        AgentState::Resting if !main.mail.is_empty() => TaskPhase::Working,
        AgentState::Resting => {
            main.report.as_ref().map_or(TaskPhase::Completed, |report| by_ending(&report.ending))
        }
        AgentState::Pending | AgentState::Queued | AgentState::Running | AgentState::NeedsPerson => {
            TaskPhase::Working
        }
        // It ended because nobody needed it any more: what counts is how it answered.
        AgentState::Completed => {
            main.report.as_ref().map_or(TaskPhase::Completed, |report| by_ending(&report.ending))
        }
        AgentState::Cancelled => TaskPhase::Cancelled,
        _ => TaskPhase::Failed,
    }
}
