//! Front matter as strict YAML, within bounds that no honest file reaches.

use serde_json::{Map, Value as Json};

use crate::limits::{YAML_DEPTH_MAX, YAML_NODES_MAX};
use crate::values::Value;

/// The keys and values in order, numbers and such as `None` because only their spelling counts; `None` where it is not YAML, repeats a key, or goes beyond the bounds.
pub(crate) fn read(front: &str) -> Option<Vec<(String, Option<Value>)>> {
    Some(map(front)?.into_iter().map(|(key, json)| (key, value(json))).collect())
}

/// The same as it is written.
pub(crate) fn map(front: &str) -> Option<Map<String, Json>> {
    let mut budget = serde_saphyr::Budget::default();
    budget.max_depth = YAML_DEPTH_MAX;
    budget.max_nodes = YAML_NODES_MAX;
    budget.max_events = YAML_NODES_MAX * 4;
    budget.max_documents = 1;
    let mut options = serde_saphyr::Options::default();
    options.budget = Some(budget);
    options.alias_limits.max_total_replayed_events = YAML_NODES_MAX;
    options.with_snippet = false;
    // `yes` and `no` stay words: a name or a description may be one.
    options.strict_booleans = true;
    serde_saphyr::from_str_with_options(front, options).ok()
}

fn value(json: Json) -> Option<Value> {
    match json {
        Json::Null => Some(Value::Nothing),
        Json::String(text) => Some(Value::Text(text)),
        Json::Array(items) => Some(Value::List(items.iter().map(word).collect())),
        Json::Object(map) => {
            Some(Value::Map(map.iter().map(|(key, json)| (key.clone(), word(json))).collect()))
        }
        Json::Bool(_) | Json::Number(_) => None,
    }
}

fn word(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Null => String::new(),
        other => other.to_string(),
    }
}
