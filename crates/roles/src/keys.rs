//! The keys of front matter, in all their spellings.

use crate::name::folded;

/// What a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Name,
    Description,
    Tools,
    DisallowedTools,
    Model,
    PermissionMode,
    Permission,
    Turns,
    Tokens,
    OutputTokens,
    Minutes,
    Time,
    Files,
    Shell,
    Network,
    DelegatesTo,
    Aliases,
    Single,
    ToolsListedByTask,
    InheritContextFile,
    /// Other programs read it; Posse does not.
    NotUsed,
}

impl Key {
    /// The key, however it is written: `maxTurns`, `max_turns` and `max-turns` are one.
    pub(crate) fn of(written: &str) -> Option<Self> {
        Some(match folded(written).as_str() {
            "name" => Self::Name,
            "description" => Self::Description,
            "tools" | "allowedtools" => Self::Tools,
            "disallowedtools" => Self::DisallowedTools,
            "model" => Self::Model,
            "permissionmode" | "approvalmode" => Self::PermissionMode,
            "permission" => Self::Permission,
            "maxturns" | "maxiterations" | "steps" | "maxsteps" => Self::Turns,
            "maxtokens" => Self::Tokens,
            "maxoutputtokens" => Self::OutputTokens,
            "timeoutmins" => Self::Minutes,
            "maxtime" => Self::Time,
            "files" | "writes" => Self::Files,
            "shell" => Self::Shell,
            "network" => Self::Network,
            "delegatesto" => Self::DelegatesTo,
            "aliases" => Self::Aliases,
            "single" => Self::Single,
            "toolslistedbytask" => Self::ToolsListedByTask,
            "inheritcontextfile" => Self::InheritContextFile,
            "color" | "colour" | "hooks" | "mcpservers" | "memory" | "skills" | "effort" | "isolation"
            | "background" | "initialprompt" | "temperature" | "topp" | "mode" | "kind" => Self::NotUsed,
            _ => return None,
        })
    }
}
