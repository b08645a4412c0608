//! How JSON schemas of what Posse writes are made. The types say by themselves what they look like; this must not know any
//! of them.

use schemars::Schema;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::Value;

/// The settings for schemas of what Posse writes: answers, events, views. What it reads, such as requests, is described by
/// the default settings: there a field with a default value may be missing, and one that may be missing may be null.
pub fn written() -> SchemaSettings {
    SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(absent_is_not_null))
}

/// A field that may be missing is left out where there is no value, so it is never null. The derived schema allows both.
fn absent_is_not_null(schema: &mut Schema) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if !required.contains(&Value::from(name.as_str())) {
            forbid_null(property);
        }
    }
}

fn forbid_null(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    if let Some(Value::Array(values)) = keywords.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(types) = keywords.get_mut("type")
        && let Value::Array(names) = types
    {
        names.retain(|name| name != "null");
        if let [name] = names.as_slice() {
            *types = name.clone();
        }
    }
    let Some(Value::Array(choices)) = keywords.get_mut("anyOf") else { return };
    choices.retain(|choice| choice.get("type").is_none_or(|name| name != "null"));
    if let [Value::Object(only)] = choices.as_mut_slice() {
        let only = std::mem::take(only);
        keywords.remove("anyOf");
        // What is said of the field counts more than what is said of its type.
        for (keyword, told) in only {
            keywords.entry(keyword).or_insert(told);
        }
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Serialize;
    use serde_json::json;

    use super::*;

    #[derive(Serialize, JsonSchema)]
    struct Sample {
        always: Option<u32>,
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        word: Option<Word>,
        #[serde(skip_serializing_if = "Option::is_none")]
        inlined: Option<Inlined>,
        #[serde(skip_serializing_if = "Option::is_none")]
        list: Option<Vec<Option<bool>>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        anything: Option<Value>,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[expect(dead_code, reason = "it has a schema")]
    enum Word {
        One,
    }

    #[derive(Serialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    #[schemars(inline)]
    #[expect(dead_code, reason = "it has a schema")]
    enum Inlined {
        Two,
    }

    #[test]
    fn what_is_left_out_is_never_null() {
        let schema = written().into_generator().into_root_schema_for::<Sample>();
        let wanted = json!({
            "always": {"type": ["integer", "null"], "format": "uint32", "minimum": 0},
            "text": {"type": "string"},
            "word": {"$ref": "#/$defs/Word"},
            "inlined": {"type": "string", "enum": ["two"]},
            "list": {"type": "array", "items": {"type": ["boolean", "null"]}},
            "anything": true,
        });
        assert_eq!(schema.get("properties"), Some(&wanted));
        assert_eq!(schema.get("required"), Some(&json!(["always"])));
    }
}
