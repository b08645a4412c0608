//! Tool arguments on their way back into a conversation: providers and chat templates want an object there.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use crate::limits;

/// Whether this is the JSON of an object.
pub(crate) fn is_object(arguments: &str) -> bool {
    serde_json::from_str::<Map<String, Value>>(arguments).is_ok()
}

/// The arguments as they are, or an object that holds what could not be read.
pub(crate) fn or_unparseable(arguments: &str) -> Cow<'_, str> {
    if is_object(arguments) {
        return Cow::Borrowed(arguments.trim());
    }
    if arguments.trim().is_empty() {
        return Cow::Borrowed("{}");
    }
    let cut: String = arguments.chars().take(limits::UNPARSEABLE_CHARS_MAX).collect();
    Cow::Owned(json!({ "unparseable": cut }).to_string())
}
