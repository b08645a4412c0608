//! Keys that nobody knows and that look like a right or a limit: whoever wrote one meant to hold something back.

/// Words that are enough by themselves, wherever they stand in a key.
const WORDS: [&str; 62] = [
    "permission",
    "permissions",
    "permit",
    "permits",
    "permitted",
    "perm",
    "perms",
    "access",
    "right",
    "rights",
    "grant",
    "grants",
    "granted",
    "privilege",
    "privileges",
    "scope",
    "scopes",
    "policy",
    "policies",
    "safe",
    "safety",
    "unsafe",
    "trust",
    "trusted",
    "untrusted",
    "confirm",
    "confirmation",
    "ask",
    "mode",
    "modes",
    "max",
    "maximum",
    "min",
    "minimum",
    "cap",
    "caps",
    "quota",
    "cost",
    "money",
    "usd",
    "spend",
    "turn",
    "turns",
    "step",
    "steps",
    "iteration",
    "iterations",
    "depth",
    "read",
    "reads",
    "readable",
    "write",
    "writes",
    "writable",
    "edit",
    "edits",
    "run",
    "exec",
    "path",
    "paths",
    "cannot",
    "only",
];

/// Beginnings of words for which the same holds, also in keys written without a gap: `disallowtools`.
const STEMS: [&str; 41] = [
    "permission",
    "allow",
    "deny",
    "denied",
    "denie",
    "disallow",
    "forbid",
    "forbidden",
    "prohibit",
    "block",
    "restrict",
    "constrain",
    "tool",
    "include",
    "exclude",
    "delegat",
    "subagent",
    "limit",
    "budget",
    "timeout",
    "deadline",
    "maxtoken",
    "maxturn",
    "sandbox",
    "confine",
    "isolat",
    "network",
    "internet",
    "offline",
    "readonly",
    "writeaccess",
    "shell",
    "bash",
    "command",
    "execut",
    "approv",
    "capabilit",
    "whitelist",
    "blacklist",
    "disable",
    "directories",
];

/// Keys of collections that say what an agent is good at, and not what it may do.
const DESCRIPTIVE: [&str; 2] = ["capabilities", "capability"];

/// Whether a key looks like a right or a limit, in whatever style it is written.
pub(crate) fn looks_like_a_right(key: &str) -> bool {
    let words = words(key);
    let whole = words.concat();
    !DESCRIPTIVE.contains(&whole.as_str())
        && (words.iter().any(|word| WORDS.contains(&word.as_str()))
            || STEMS.iter().any(|stem| whole.contains(stem))
            || whole.starts_with("max")
            || whole.starts_with("min") && words.len() > 1)
}

/// The words of a key in small letters: `maxTurns`, `max_turns`, `MAX-TURNS` and `max turns` are two.
fn words(key: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before: Option<char> = None;
    let mut chars = key.chars().peekable();
    while let Some(c) = chars.next() {
        let small_before = before.is_some_and(|b| b.is_lowercase() || b.is_numeric());
        // The last capital of several begins the next word: `MCPTools`.
        let ends_capitals =
            before.is_some_and(char::is_uppercase) && chars.peek().is_some_and(|n| n.is_lowercase());
        if !c.is_alphanumeric() {
            words.push(String::new());
        } else {
            if c.is_uppercase() && (small_before || ends_capitals) {
                words.push(String::new());
            }
            if let Some(word) = words.last_mut() {
                word.extend(c.to_lowercase());
            }
        }
        before = Some(c);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::looks_like_a_right;

    const RIGHTS: &str = "permissions Permission permission_set filePermissions allow allowed allowedPaths allow-list \
        allowlist deny denied_tools deny-tools DenyTools disallow disallowed disallow_tools disallowtools \
        disallowdTools dissallowed-tools tool toolset mcp_tools mcpTools MCPTools tools_allowed tools.deny \
        include includes includeTools exclude excluded exclude_paths delegate delegates delegation \
        can_delegate_to subagents sub_agents_allowed max maxTurn max_turn max-cost-usd maxturn MAX_ITERATION \
        min min_turns limit limits rateLimit budget token_budget timeout timeoutMs sandbox sandboxed \
        sandbox_mode network_access networkAccess no_network internet write can_write writeAccess read \
        read_only readonly readOnly modes executionMode approvals approvalPolicy approve auto-approve ask \
        bash shell_access commands allowed_commands execute run access rights grants scope policy quota cost \
        depth steps_max restrict restrictions forbidden blocked_tools block isolated safe_mode trusted \
        confirm turns paths only disable disabled whitelist capabilitiesAllowed writable_roots";
    const OTHERS: &str = "version category author tags license priority examples example triggers metadata source keywords \
        expertise specialization displayName display_name domain role type team prompt when_to_use globs \
        language languages framework icon emoji created updated date id title summary notes style tone \
        persona status url homepage repository capabilities output format adminName reminder thread \
        modelName mindset alwaysApply proactive difficulty complexity stage";

    #[test]
    fn rights_and_limits_are_told_from_the_rest() {
        let missed: Vec<_> = RIGHTS.split(' ').filter(|key| !looks_like_a_right(key)).collect();
        let caught: Vec<_> = OTHERS.split(' ').filter(|key| looks_like_a_right(key)).collect();
        assert!(missed.is_empty() && caught.is_empty(), "missed {missed:?}, caught {caught:?}");
        assert_eq!((RIGHTS.split(' ').count(), OTHERS.split(' ').count()), (106, 55));
    }
}
