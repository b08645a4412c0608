//! The names of the types of events. They must be those in the events' JSON, which a test compares.

use posse_protocol::EventKind;

/// The name of an event's type, as it is in the event's JSON.
pub(crate) fn type_word(kind: &EventKind) -> &'static str {
    match kind {
        EventKind::SessionStarted { .. } => "session_started",
        EventKind::SessionInterrupted { .. } => "session_interrupted",
        EventKind::SessionForked { .. } => "session_forked",
        EventKind::SessionResumed { .. } => "session_resumed",
        EventKind::SessionNamed { .. } => "session_named",
        EventKind::Reviewed { .. } => "reviewed",
        EventKind::AgentAdmitted { .. } => "agent_admitted",
        EventKind::AgentQueued { .. } => "agent_queued",
        EventKind::AgentStarted { .. } => "agent_started",
        EventKind::CheckedOut { .. } => "checked_out",
        EventKind::AgentResumed { .. } => "agent_resumed",
        EventKind::AgentRested { .. } => "agent_rested",
        EventKind::AgentWoken { .. } => "agent_woken",
        EventKind::SettingsChanged { .. } => "settings_changed",
        EventKind::BudgetRaised { .. } => "budget_raised",
        EventKind::Mailed { .. } => "mailed",
        EventKind::MailEdited { .. } => "mail_edited",
        EventKind::MailWithdrawn { .. } => "mail_withdrawn",
        EventKind::Told { .. } => "told",
        EventKind::TurnStarted { .. } => "turn_started",
        EventKind::Retrying { .. } => "retrying",
        EventKind::Replied { .. } => "replied",
        EventKind::ModelFailed { .. } => "model_failed",
        EventKind::CutShort { .. } => "cut_short",
        EventKind::Closing { .. } => "closing",
        EventKind::ToolStarted { .. } => "tool_started",
        EventKind::ToolFinished { .. } => "tool_finished",
        EventKind::Compacted { .. } => "compacted",
        EventKind::PersonNeeded { .. } => "person_needed",
        EventKind::PersonAnswered { .. } => "person_answered",
        EventKind::Checkpointed { .. } => "checkpointed",
        EventKind::NotCovered { .. } => "not_covered",
        EventKind::Changed { .. } => "changed",
        EventKind::ChangedMeanwhile { .. } => "changed_meanwhile",
        EventKind::Merged { .. } => "merged",
        EventKind::Undone { .. } => "undone",
        EventKind::BackgroundStarted { .. } => "background_started",
        EventKind::BackgroundEnded { .. } => "background_ended",
        EventKind::ReportsDelivered { .. } => "reports_delivered",
        EventKind::AgentSettled { .. } => "agent_settled",
    }
}
