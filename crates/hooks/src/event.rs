//! The moments that hooks can be for.

use std::fmt;

use crate::limits::{END_TIMEOUT_MS, PROMPT_TIMEOUT_MS, TIMEOUT_MS};

/// A kind of moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names are those of the settings files
pub enum HookEvent {
    PreToolUse,
    PermissionRequest,
    PostToolUse,
    PostToolUseFailure,
    UserPromptSubmit,
    Stop,
    SubagentStop,
    SubagentStart,
    SessionStart,
    SessionEnd,
    PreCompact,
    PostCompact,
    Notification,
}

/// Names of events that other programs have and Posse does not.
const FOREIGN: [&str; 20] = [
    "PostToolBatch",
    "PermissionDenied",
    "StopFailure",
    "TaskCreated",
    "TaskCompleted",
    "TeammateIdle",
    "WorktreeCreate",
    "WorktreeRemove",
    "Elicitation",
    "ElicitationResult",
    "Setup",
    "InstructionsLoaded",
    "UserPromptExpansion",
    "MessageDisplay",
    "ConfigChange",
    "CwdChanged",
    "DirectoryAdded",
    "FileChanged",
    "BeforeModel",
    "AfterModel",
];

impl HookEvent {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::PreToolUse,
        Self::PermissionRequest,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::UserPromptSubmit,
        Self::Stop,
        Self::SubagentStop,
        Self::SubagentStart,
        Self::SessionStart,
        Self::SessionEnd,
        Self::PreCompact,
        Self::PostCompact,
        Self::Notification,
    ];

    /// Its name in a settings file.
    pub fn name(self) -> &'static str {
        match self {
            Self::PreToolUse => "PreToolUse",
            Self::PermissionRequest => "PermissionRequest",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::SubagentStart => "SubagentStart",
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::PreCompact => "PreCompact",
            Self::PostCompact => "PostCompact",
            Self::Notification => "Notification",
        }
    }

    /// The event of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Whether another program has an event of this name that Posse does not have.
    pub(crate) fn is_foreign(name: &str) -> bool {
        FOREIGN.contains(&name)
    }

    /// Whether it is about a call of a tool.
    pub fn is_about_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolUse | Self::PermissionRequest | Self::PostToolUse | Self::PostToolUseFailure
        )
    }

    /// Whether there is anything to match: a prompt and the end of a turn have nothing.
    pub fn has_matcher(self) -> bool {
        !matches!(self, Self::UserPromptSubmit | Self::Stop)
    }

    /// Whether exit code 2 stops what is about to happen, or is told to the model.
    pub fn can_block(self) -> bool {
        matches!(
            self,
            Self::PreToolUse
                | Self::PostToolUse
                | Self::PostToolUseFailure
                | Self::UserPromptSubmit
                | Self::Stop
                | Self::SubagentStop
                | Self::PreCompact
        )
    }

    /// Whether plain text on the standard output is context for the model.
    pub fn takes_text(self) -> bool {
        matches!(self, Self::UserPromptSubmit | Self::SessionStart)
    }

    /// How long a hook may run that does not say otherwise.
    pub fn timeout_ms(self) -> u64 {
        match self {
            Self::UserPromptSubmit => PROMPT_TIMEOUT_MS,
            Self::SessionEnd => END_TIMEOUT_MS,
            _ => TIMEOUT_MS,
        }
    }
}

impl fmt::Display for HookEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
