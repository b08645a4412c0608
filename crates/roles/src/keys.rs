//! The keys of front matter, in all their spellings.

use crate::name::folded;

/// What a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Name,
    Description,
    Tools,
    DisallowedTools,
    Include,
    Exclude,
    /// `include` and `exclude` below one key.
    Permissions,
    Model,
    Approval,
    Permission,
    Turns,
    Tokens,
    OutputTokens,
    Minutes,
    Time,
    Files,
    WriteRoots,
    WriteExcept,
    Shell,
    Network,
    DelegatesTo,
    Aliases,
    Single,
    ToolsListedByTask,
    InheritContextFile,
    Memory,
    Isolation,
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
            "include" => Self::Include,
            "exclude" => Self::Exclude,
            "permissions" => Self::Permissions,
            "model" => Self::Model,
            "approval" | "approvalmode" | "permissionmode" => Self::Approval,
            "permission" => Self::Permission,
            "maxturns" | "maxiterations" | "steps" | "maxsteps" => Self::Turns,
            "maxtokens" => Self::Tokens,
            "maxoutputtokens" => Self::OutputTokens,
            "timeoutmins" => Self::Minutes,
            "maxtime" => Self::Time,
            "files" | "writes" => Self::Files,
            "writeroots" => Self::WriteRoots,
            "writeexcept" => Self::WriteExcept,
            "shell" => Self::Shell,
            "network" => Self::Network,
            "delegatesto" => Self::DelegatesTo,
            "aliases" => Self::Aliases,
            "single" => Self::Single,
            "toolslistedbytask" => Self::ToolsListedByTask,
            "inheritcontextfile" => Self::InheritContextFile,
            "inheritmemory" | "memory" => Self::Memory,
            "isolation" => Self::Isolation,
            "color" | "colour" | "hooks" | "mcpservers" | "skills" | "effort" | "background"
            | "initialprompt" | "temperature" | "topp" | "mode" | "kind" => Self::NotUsed,
            _ => return None,
        })
    }
}
