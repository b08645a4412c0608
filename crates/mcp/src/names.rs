//! What tools of servers are called.

use crate::limits;

/// Every such name begins with this.
pub const PREFIX: &str = "mcp__";

/// The name under which agents call a tool: `mcp__server__tool`, other characters than letters, digits, `_` and `-` replaced.
pub fn tool_name(server: &str, tool: &str) -> String {
    let name = format!("{PREFIX}{}__{}", plain(server), plain(tool));
    // What is too long for providers keeps its beginning, and an end that tells it from others.
    match name.len() > limits::TOOL_NAME_CHARS_MAX {
        true => format!("{}_{:08x}", &name[..limits::TOOL_NAME_CHARS_MAX - 9], checksum(&name)),
        false => name,
    }
}

/// Whether a name is that of a tool of some server.
pub fn is_tool_name(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Other characters become `_`.
pub(crate) fn plain(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' };
    name.chars().map(kept).collect()
}

/// Whether a server can have this name.
pub fn check_server_name(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if length == 0 || length > limits::NAME_CHARS_MAX {
        return Err(format!("a server's name has 1 to {} characters", limits::NAME_CHARS_MAX));
    }
    match name
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '_' | '-' | '.' | ' ' | '/' | '@' | ':'))
    {
        Some(other) => Err(format!("a server's name has letters, digits, - and _ in it, but not {other:?}")),
        None => Ok(()),
    }
}

/// FNV-1a: the same in every process, and nobody's secret depends on it.
fn checksum(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |sum: u32, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_every_provider() {
        assert_eq!(tool_name("github", "create_issue"), "mcp__github__create_issue");
        assert_eq!(tool_name("my server", "a.b/c"), "mcp__my_server__a_b_c");
        let (long, other) = (tool_name("server", &"x".repeat(100)), tool_name("server", &"x".repeat(101)));
        assert_eq!((long.len(), other.len(), long == other), (64, 64, false));
        assert!(tool_name("é", "ü").is_ascii());
    }

    #[test]
    fn names_of_servers() {
        assert!(
            ["github", "my-server_2", "io.github/x", "a b"]
                .iter()
                .all(|name| check_server_name(name).is_ok())
        );
        let long = "x".repeat(41);
        assert!(["", "a\nb", "</x>", "ü", &long].iter().all(|name| check_server_name(name).is_err()));
    }
}
