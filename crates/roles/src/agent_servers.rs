//! The servers that an agent file names or describes, as they are written. What they mean is decided elsewhere.

use serde_json::Value as Json;

use crate::fields::{cut, plain};
use crate::keys::FieldKey;
use crate::{lenient, strict};

/// What stands behind `mcpServers:` in an agent file; none if it says nothing of servers.
pub fn servers_in(text: &str) -> Option<Result<Json, &'static str>> {
    // Most files say nothing of them.
    if !text.to_ascii_lowercase().contains("mcp") {
        return None;
    }
    let (front, _, first_line) = cut(&plain(text)).ok()?;
    let is_key = |key: &str| FieldKey::of(key) == Some(FieldKey::Servers);
    let Some(fields) = strict::map(&front) else {
        let named = lenient::read(&front, first_line).iter().any(|field| is_key(&field.key));
        return named.then_some(Err("its front matter is no valid YAML, so its servers are not read"));
    };
    let (_, servers) = fields.into_iter().rfind(|(key, _)| is_key(key))?;
    (!servers.is_null()).then_some(Ok(servers))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_stay_as_they_are_written() {
        let text =
            "---\nname: a\nmcp_servers:\n  x:\n    command: npx\n    env: {A: \"${B}\"}\n---\nprompt\n";
        let expected = serde_json::json!({"x": {"command": "npx", "env": {"A": "${B}"}}});
        assert_eq!(servers_in(text), Some(Ok(expected)));
        let list = "---\nname: a\nmcpServers: [github]\n---\nprompt\n";
        assert_eq!(servers_in(list), Some(Ok(serde_json::json!(["github"]))));
        for nothing in ["---\nname: a\n---\nmcpServers:\n", "mcpServers: [x]", "---\nmcpServers:\n---\n"] {
            assert_eq!(servers_in(nothing), None, "{nothing}");
        }
        assert!(servers_in("---\nname: [\nmcpServers: [x]\n---\n").unwrap().is_err());
    }
}
