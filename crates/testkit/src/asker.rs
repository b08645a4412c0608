//! Which agent a request comes from, by what its prompt says of it. Knows Chat Completions and no other protocol.

use serde_json::Value;

/// Who asks: the newest "You are NAME, a ROLE sub-agent of …" in its prompt; the main agent has none.
///
/// # Panics
/// If the request has no messages.
pub fn asker(request: &Value) -> String {
    let texts = request["messages"].as_array().expect("a list of messages").iter();
    let own =
        texts.filter(|m| m["role"] == "system" || m["role"] == "user").filter_map(|m| m["content"].as_str());
    let mut named = own.filter_map(|text| {
        let (before, _) = text.split_once(" sub-agent of ")?;
        let (_, name) = before.rsplit_once("You are ")?;
        Some(name.split(',').next()?.to_string())
    });
    named.next_back().unwrap_or_else(|| "main".to_string())
}
