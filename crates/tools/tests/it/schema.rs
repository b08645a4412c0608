//! What models are sent: whole, and small.

use serde_json::{Value, json};

use crate::Desk;

/// The system prompt shares 2,500 tokens, at four bytes each, with this.
const TOOLS_BYTES_MAX: usize = 5_500;

#[test]
fn the_tool_list_is_as_expected_and_small() {
    let desk = Desk::new(&[]);
    let shown: Vec<Value> = desk
        .tools
        .specs()
        .iter()
        .map(|spec| json!({"name": spec.name, "description": spec.description, "parameters": spec.schema}))
        .collect();
    // As Chat Completions wraps it, the most verbose of the three protocols.
    let sent: Vec<Value> = shown.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
    let bytes = serde_json::to_string(&sent).unwrap().len();
    assert!(bytes <= TOOLS_BYTES_MAX, "{bytes} bytes");
    let text = serde_json::to_string_pretty(&shown).unwrap();
    for noise in ["$ref", "$defs", "$schema", "\"title\"", "\"format\"", "null", "\"default\""] {
        assert!(!text.contains(noise), "{noise}");
    }
    for spec in desk.tools.specs() {
        assert_eq!(spec.schema["additionalProperties"], false, "{}", spec.name);
        assert!(!spec.description.is_empty());
    }
    insta::assert_snapshot!(text);
}
