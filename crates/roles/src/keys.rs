//! The keys of front matter, in all their spellings.

use crate::name::folded;

/// What a key is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldKey {
    Name,
    DisplayName,
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
    DurationMs,
    Files,
    WriteRoots,
    WriteExcept,
    Shell,
    Network,
    DelegatesTo,
    CanDelegate,
    Aliases,
    Single,
    ToolsListedByTask,
    InheritContextFile,
    Memory,
    Isolation,
    On,
    Report,
    /// Read by `servers_in`: it is no part of a role.
    Servers,
    /// Other programs read it; Posse does not.
    NotUsed,
}

impl FieldKey {
    /// The key, however it is written: `maxTurns`, `max_turns` and `max-turns` are one.
    pub(crate) fn of(written: &str) -> Option<Self> {
        Some(match folded(written).as_str() {
            "name" | "roleid" => Self::Name,
            "displayname" => Self::DisplayName,
            "description" => Self::Description,
            "tools" | "allowedtools" => Self::Tools,
            "disallowedtools" => Self::DisallowedTools,
            "include" => Self::Include,
            "exclude" => Self::Exclude,
            "permissions" => Self::Permissions,
            "model" | "modelid" => Self::Model,
            "approval" | "approvalmode" | "permissionmode" => Self::Approval,
            "permission" => Self::Permission,
            "maxturns" | "maxiterations" | "steps" | "maxsteps" => Self::Turns,
            "maxtokens" => Self::Tokens,
            "maxoutputtokens" => Self::OutputTokens,
            "timeoutmins" => Self::Minutes,
            "maxtime" => Self::Time,
            "maxdurationms" => Self::DurationMs,
            "files" | "writes" => Self::Files,
            "writeroots" => Self::WriteRoots,
            "writeexcept" => Self::WriteExcept,
            "shell" => Self::Shell,
            "network" => Self::Network,
            "delegatesto" | "alloweddelegations" => Self::DelegatesTo,
            "candelegate" => Self::CanDelegate,
            "aliases" => Self::Aliases,
            "single" => Self::Single,
            "toolslistedbytask" => Self::ToolsListedByTask,
            "inheritcontextfile" => Self::InheritContextFile,
            "inheritmemory" | "memory" => Self::Memory,
            "isolation" => Self::Isolation,
            "on" | "runson" | "machine" => Self::On,
            "report" | "reportform" => Self::Report,
            "mcpservers" => Self::Servers,
            "color" | "colour" | "hooks" | "skills" | "effort" | "background" | "initialprompt"
            | "temperature" | "topp" | "mode" | "kind" => Self::NotUsed,
            _ => return None,
        })
    }
}

/// Keys that say what a role may do.
pub(crate) const RIGHTS: [FieldKey; 12] = [
    FieldKey::Tools,
    FieldKey::DisallowedTools,
    FieldKey::Include,
    FieldKey::Exclude,
    FieldKey::Permissions,
    FieldKey::Permission,
    FieldKey::Approval,
    FieldKey::Files,
    FieldKey::WriteRoots,
    FieldKey::WriteExcept,
    FieldKey::Shell,
    FieldKey::Network,
];
