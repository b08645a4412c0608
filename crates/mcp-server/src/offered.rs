//! The tools that a client is offered, always in the same order.

use std::sync::{Arc, LazyLock};

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::Value;

use crate::arguments::{AnswerTask, MessageTask, NamedTask, RunTask};
use crate::look::TaskLook;

/// The tools by name.
pub(crate) const RUN_TASK: &str = "run_task";
pub(crate) const STATUS: &str = "status";
pub(crate) const MESSAGE: &str = "message";
pub(crate) const ANSWER: &str = "answer";
pub(crate) const REPORT: &str = "report";
pub(crate) const CANCEL: &str = "cancel";

/// All tools. Their schemas are made once.
pub(crate) fn tools() -> &'static [Tool] {
    static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(all);
    &TOOLS
}

fn all() -> Vec<Tool> {
    let looks = || ToolAnnotations::new().read_only(true).open_world(false);
    let steers = || ToolAnnotations::new().read_only(false).destructive(false).open_world(false);
    vec![
        tool::<RunTask>(
            RUN_TASK,
            include_str!("../prompts/run_task.md"),
            ToolAnnotations::new().read_only(false).destructive(true).open_world(true),
        ),
        tool::<NamedTask>(STATUS, include_str!("../prompts/status.md"), looks()),
        tool::<MessageTask>(MESSAGE, include_str!("../prompts/message.md"), steers()),
        tool::<AnswerTask>(ANSWER, include_str!("../prompts/answer.md"), steers()),
        tool::<NamedTask>(REPORT, include_str!("../prompts/report.md"), looks()),
        tool::<NamedTask>(CANCEL, include_str!("../prompts/cancel.md"), steers().destructive(true)),
    ]
}

fn tool<Input: JsonSchema>(
    name: &'static str,
    description: &'static str,
    annotations: ToolAnnotations,
) -> Tool {
    let usual = SchemaSettings::draft2020_12;
    let mut input = schema::<Input>(usual().for_deserialize());
    without_null(&mut input);
    let output = schema::<TaskLook>(usual().for_serialize());
    Tool::new(name, description.trim_end(), object(input))
        .with_raw_output_schema(object(output))
        .with_annotations(annotations)
}

fn object(schema: Value) -> Arc<JsonObject> {
    match schema {
        Value::Object(fields) => Arc::new(fields),
        _ => Arc::default(),
    }
}

/// The schema of a type, with everything in its place: some clients follow no references.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let settings = settings.with(|settings| settings.inline_subschemas = true);
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    plainer(&mut schema);
    schema
}

/// The same schema for models and clients that take few forms of one: a description is one line, and numbers have no format.
fn plainer(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(plainer),
        Value::Object(fields) => {
            // How many bits a number has is nobody's business, and no format of the standard.
            if fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace('\n', " ");
            }
            fields.values_mut().for_each(plainer);
        }
        _ => {}
    }
}

/// The schema of arguments: what may be left out has one type and no default. That it may also be null is not told.
fn without_null(schema: &mut Value) {
    match schema {
        Value::Array(all) => all.iter_mut().for_each(without_null),
        Value::Object(fields) => {
            if fields.get("default").is_some_and(Value::is_null) {
                fields.remove("default");
            }
            let kinds = fields.get("type").and_then(Value::as_array);
            let kind = kinds.and_then(|kinds| kinds.iter().find(|kind| **kind != "null")).cloned();
            kind.into_iter().for_each(|kind| drop(fields.insert("type".to_owned(), kind)));
            fields.values_mut().for_each(without_null);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tools_have_their_order_and_schemas_that_every_client_takes() {
        let names = tools().iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>();
        assert_eq!(names, [RUN_TASK, STATUS, MESSAGE, ANSWER, REPORT, CANCEL]);
        for tool in tools() {
            let schema = Value::Object(tool.input_schema.as_ref().clone());
            assert_eq!(schema["type"], "object", "{schema}");
            assert_eq!(schema["additionalProperties"], false, "{schema}");
            let text = schema.to_string();
            assert!(!text.contains("$ref") && !text.contains("null") && !text.contains("\\n"), "{text}");
            assert!(tool.output_schema.as_ref().is_some_and(|schema| schema.contains_key("properties")));
        }
    }
}
