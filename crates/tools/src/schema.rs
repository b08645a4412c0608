//! Schemas as models get them: inlined, and without what says nothing to a model. Also as one line for error texts.

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// The description and the schema of an input struct.
pub(crate) fn schema_of<T: JsonSchema>() -> (String, Value) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let description =
        schema.get("description").and_then(Value::as_str).map(one_paragraph).unwrap_or_default();
    if let Value::Object(top) = &mut schema {
        top.shift_remove("description");
    }
    clean(&mut schema);
    (description, schema)
}

/// Takes out what is noise to a model: titles, number formats, nulls for what can be left out. That there are no other fields
/// is said when somebody uses one.
fn clean(schema: &mut Value) {
    let Value::Object(object) = schema else { return };
    for noise in ["title", "format", "default", "$schema", "minimum", "additionalProperties"] {
        object.shift_remove(noise);
    }
    if let Some(Value::String(text)) = object.get_mut("description") {
        *text = one_paragraph(text);
    }
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            object.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(options)) = object.get_mut("enum") {
        options.retain(|option| !option.is_null());
    }
    if let Some(Value::Object(properties)) = object.get_mut("properties") {
        properties.values_mut().for_each(clean);
    }
    if let Some(items) = object.get_mut("items") {
        clean(items);
    }
}

fn one_paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The shape in one line, such as `{"path": string, "limit"?: integer}`.
pub(crate) fn shape(schema: &Value) -> String {
    if let Some(options) = schema.get("enum").and_then(Value::as_array) {
        return options.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") => {
            let empty = Map::new();
            let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
            let field = |(name, of): (&String, &Value)| {
                let mark = if required(schema, name) { "" } else { "?" };
                format!("\"{name}\"{mark}: {}", shape(of))
            };
            format!("{{{}}}", properties.iter().map(field).collect::<Vec<_>>().join(", "))
        }
        Some("array") => format!("[{}, …]", schema.get("items").map(shape).unwrap_or_default()),
        Some(kind) => kind.to_owned(),
        None => "any".to_owned(),
    }
}

/// Whether a field must be there.
pub(crate) fn required(schema: &Value, field: &str) -> bool {
    let listed = schema.get("required").and_then(Value::as_array);
    listed.is_some_and(|names| names.iter().any(|name| name == field))
}
