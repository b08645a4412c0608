//! What models are sent: whole, and small.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    Desk, full,
    library::{Shelf, Who, desk, skill},
};

/// The system prompt shares 2,500 tokens, at four bytes each, with this.
const TOOLS_BYTES_MAX: usize = 5_500;
/// What notes and skills add for an agent that has all of it.
const KNOWLEDGE_BYTES_MAX: usize = 2_300;

fn check(desk: &Desk, names: &[&str], bytes_max: usize) -> String {
    let specs = || desk.tools.specs().iter().filter(|spec| names.is_empty() || names.contains(&&*spec.name));
    let shown: Vec<Value> = specs()
        .map(|spec| json!({"name": spec.name, "description": spec.description, "parameters": spec.schema}))
        .collect();
    // As Chat Completions wraps it, the most verbose of the three protocols.
    let sent: Vec<Value> = shown.iter().map(|tool| json!({"type": "function", "function": tool})).collect();
    let bytes = serde_json::to_string(&sent).unwrap().len();
    assert!(bytes <= bytes_max, "{bytes} bytes");
    let text = serde_json::to_string_pretty(&shown).unwrap();
    for noise in
        ["$ref", "$defs", "$schema", "\"title\"", "\"format\"", "null", "\"default\"", "additionalProperties"]
    {
        assert!(!text.contains(noise), "{noise}");
    }
    for spec in specs() {
        assert!(!spec.description.is_empty());
    }
    text
}

#[test]
fn the_tool_list_is_as_expected_and_small() {
    insta::assert_snapshot!(check(&Desk::new(&[]), &[], TOOLS_BYTES_MAX));
}

#[test]
fn the_tools_for_notes_and_skills_are_as_expected_and_small() {
    let skills = vec![skill("release-notes", "Writes release notes.")];
    let keeper = desk(&Arc::new(Shelf { skills, ..Shelf::default() }), Who::Keeper, full());
    let names = ["remember", "recall", "skill_load", "skill_save"];
    insta::assert_snapshot!(check(&keeper, &names, KNOWLEDGE_BYTES_MAX));
}
