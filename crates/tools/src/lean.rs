//! The few tools that a small model is offered, in few words. What it may call, and how calls are read, is the same for all.

use std::sync::OnceLock;

use posse_protocol::ToolSpec;
use serde::Deserialize;
use serde_json::Value;

/// A tool as it is told to a small model: fewer fields, fewer words.
#[derive(Debug, Deserialize)]
struct Told {
    name: String,
    description: String,
    schema: Value,
}

/// Those of `specs` that a small model is offered, as it is told of them.
pub(crate) fn lean(specs: &[ToolSpec]) -> Vec<ToolSpec> {
    let told = all().iter().filter_map(|told| {
        let spec = specs.iter().find(|spec| spec.name == told.name)?;
        Some(ToolSpec {
            description: told.description.clone(),
            schema: told.schema.clone().into(),
            ..spec.clone()
        })
    });
    // Tools from outside are there because the person wants them.
    let outside = specs.iter().filter(|spec| is_outside(&spec.name));
    told.chain(outside.cloned()).collect()
}

fn is_outside(name: &str) -> bool {
    name.starts_with("mcp_") || matches!(name, "tools_find" | "tool_call")
}

fn all() -> &'static [Told] {
    static ALL: OnceLock<Vec<Told>> = OnceLock::new();
    ALL.get_or_init(|| serde_json::from_str(include_str!("../prompts/lean.json")).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::all;

    #[test]
    fn every_field_is_one_of_the_tools_own() {
        let fields = |schema: &serde_json::Value| schema["properties"].as_object().unwrap().clone();
        for told in all() {
            let entry = crate::all::all().iter().find(|entry| entry.spec.name == told.name).unwrap();
            for (name, of) in fields(&told.schema) {
                assert_eq!(
                    of["type"], entry.spec.schema["properties"][&name]["type"],
                    "{} {name}",
                    told.name
                );
            }
            assert_eq!(told.schema["required"], entry.spec.schema["required"], "{}", told.name);
        }
        let names: Vec<&str> = all().iter().map(|told| told.name.as_str()).collect();
        assert_eq!(names, ["read_file", "write_file", "edit_file", "grep", "shell"]);
    }
}
