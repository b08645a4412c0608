//! From what a model wrote as arguments to what a tool takes, or to an error that says what to fix.
//!
//! Small models send `"10"` for 10, `file_path` for `path`, null for what they leave out. Where the meaning is beyond
//! doubt it is taken; anything else, above all JSON that is cut off, is refused and nothing runs.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use posse_protocol::visible::one_line;

use crate::{
    limits,
    schema::{required, shape},
};

/// Reads arguments as `T`.
pub(crate) fn read<T: DeserializeOwned>(
    written: &str,
    schema: &Value,
    aliases: &[(&str, &str)],
) -> Result<T, String> {
    let value = mended(written, schema, aliases)?;
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let why = one_line(&error.into_inner().to_string(), 300);
        let place = if path == "." { String::new() } else { format!("`{}`: ", one_line(&path, 80)) };
        format!("{place}{why}. Expected: {}", shape(schema))
    })
}

/// The arguments under the names and in the types that the schema has.
pub(crate) fn mended(written: &str, schema: &Value, aliases: &[(&str, &str)]) -> Result<Value, String> {
    let expected = || format!("Expected: {}", shape(schema));
    let mut arguments = object(written).map_err(|why| format!("{why} {}", expected()))?;
    rename(&mut arguments, schema, aliases);
    know_all(&arguments, schema, aliases).map_err(|why| format!("{why} {}", expected()))?;
    // Fields that are accepted without being advertised hold numbers.
    let number = serde_json::json!({"type": "integer"});
    for (name, value) in &mut arguments {
        mend(value, schema["properties"].get(name).unwrap_or(&number));
    }
    // Models that fill in every field leave the texts empty that they have nothing for.
    let empty = |name: &str, value: &Value| value == "" && schema["properties"][name]["type"] == "string";
    arguments.retain(|name, value| !value.is_null() && !empty(name, value) || required(schema, name));
    Ok(Value::Object(arguments))
}

pub(crate) fn object(written: &str) -> Result<Map<String, Value>, String> {
    if written.len() > limits::ARGUMENTS_BYTES_MAX {
        return Err(format!("The arguments are longer than {} bytes.", limits::ARGUMENTS_BYTES_MAX));
    } else if written.trim().is_empty() {
        return Err("The arguments are empty; send a JSON object, {} if there is nothing to say.".to_owned());
    }
    let parsed = serde_json::from_str(written);
    match parsed.map_err(|error| format!("The arguments are not valid JSON: {error}."))? {
        Value::Object(arguments) => Ok(arguments),
        // Some models encode twice.
        Value::String(inner) => match serde_json::from_str(&inner) {
            Ok(Value::Object(arguments)) => Ok(arguments),
            _ => Err("The arguments are a string, not a JSON object.".to_owned()),
        },
        _ => Err("The arguments are not a JSON object.".to_owned()),
    }
}

/// Gives fields under another usual name their own, unless that is there too.
fn rename(arguments: &mut Map<String, Value>, schema: &Value, aliases: &[(&str, &str)]) {
    for (alias, field) in aliases {
        let is_field = schema["properties"].get(alias).is_some();
        if !is_field
            && !arguments.contains_key(*field)
            && let Some(value) = arguments.shift_remove(*alias)
        {
            arguments.insert((*field).to_owned(), value);
        }
    }
}

fn know_all(arguments: &Map<String, Value>, schema: &Value, aliases: &[(&str, &str)]) -> Result<(), String> {
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    for name in arguments.keys() {
        if fields.contains_key(name) || aliases.iter().any(|(_, field)| field == name) {
            continue;
        }
        let known = fields.keys().map(String::as_str);
        // Another name of a field that is there too: which of the two counts is not for us to say.
        let other = aliases.iter().find(|(alias, _)| alias == name).map(|(_, field)| *field);
        let meant = other.or_else(|| closest(name, known)).map(|field| format!("; did you mean `{field}`?"));
        let meant = meant.unwrap_or_else(|| ".".to_owned());
        return Err(format!("There is no field `{}`{meant}", one_line(name, 80)));
    }
    Ok(())
}

/// The known name closest to `name`, if one is close.
pub(crate) fn closest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE: f64 = 0.75;
    let name: String = name.chars().take(100).collect::<String>().to_lowercase();
    let scored = known.map(|known| (strsim::jaro_winkler(&name, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score >= CLOSE).map(|(_, known)| known)
}

/// Turns values into the type the schema wants where that cannot change what was meant.
fn mend(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(object) => {
            object.retain(|name, value| !value.is_null() || required(schema, name));
            for (name, value) in object.iter_mut() {
                mend(value, &schema["properties"][name]);
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| mend(item, &schema["items"]));
        }
        Value::String(text) => {
            let mended = match schema["type"].as_str() {
                Some("integer") => text.trim().parse().ok().map(|number: i64| Value::from(number)),
                Some("boolean") => text.trim().to_lowercase().parse().ok().map(Value::Bool),
                Some("array") => serde_json::from_str(text).ok().filter(Value::is_array),
                _ => None,
            };
            if let Some(mended) = mended {
                *value = mended;
                if value.is_array() {
                    mend(value, schema);
                }
            }
        }
        Value::Number(number) if schema["type"] == "integer" => {
            let whole = number.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < 1e15);
            if let (None, Some(whole)) = (number.as_i64(), whole) {
                *value = Value::from(whole as i64);
            }
        }
        _ => {}
    }
}
