//! Large texts inside events: each is kept once, by its hash, and the event holds a reference in its place. Encoding
//! happens where the event comes from, decoding where it is read. It must not know what the events mean.

use posse_protocol::EventKind;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::limits;

/// The only key of the object that stands for a text. An event that has such a key itself is kept whole.
const REFERENCE: &str = "$blob";

/// An event's JSON as the record keeps it.
#[derive(Default)]
pub(crate) struct Body {
    pub(crate) json: String,
    /// How many bytes it refers to; where there are none, it is the event's JSON as it is.
    pub(crate) blob_bytes: usize,
    /// The texts that are referred to, each once.
    pub(crate) blobs: Vec<Blob>,
}

/// A text and its name.
pub(crate) struct Blob {
    pub(crate) hash: String,
    pub(crate) content: String,
}

impl Body {
    /// Takes large texts out of an event whose JSON this is.
    pub(crate) fn new(kind: &EventKind, json: String) -> Self {
        let small = json.len() < limits::EVENT_WHOLE_BYTES_MAX;
        let value = if small { None } else { serde_json::to_value(kind).ok() };
        match value.and_then(Self::without_large_texts) {
            Some(body) => body,
            None => Self { json, ..Self::default() },
        }
    }

    /// None if there is nothing to take out, or a reference could not be told from what was there before.
    fn without_large_texts(mut value: Value) -> Option<Self> {
        if mentions_reference(&value) {
            return None;
        }
        let mut body = Self::default();
        take_out(&mut value, &mut body);
        if body.blobs.is_empty() {
            return None;
        }
        body.json = serde_json::to_string(&value).ok()?;
        Some(body)
    }

    /// The event, as far as it has to be kept in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.json.len() + self.blobs.iter().map(|blob| blob.content.len()).sum::<usize>()
    }
}

/// The SHA-256 of a text, in hex.
pub(crate) fn hash(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |n: u8| char::from(DIGITS[usize::from(n & 15)]);
    Sha256::digest(text.as_bytes()).iter().flat_map(|byte| [digit(byte >> 4), digit(*byte)]).collect()
}

fn mentions_reference(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(mentions_reference),
        Value::Object(fields) => fields.contains_key(REFERENCE) || fields.values().any(mentions_reference),
        _ => false,
    }
}

fn take_out(value: &mut Value, taken: &mut Body) {
    match value {
        Value::String(text) if text.len() >= limits::BLOB_BYTES_MIN => {
            let content = std::mem::take(text);
            let hash = hash(&content);
            *value =
                Value::Object([(REFERENCE.to_owned(), Value::String(hash.clone()))].into_iter().collect());
            taken.blob_bytes += content.len();
            if !taken.blobs.iter().any(|blob| blob.hash == hash) {
                taken.blobs.push(Blob { hash, content });
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_out(item, taken)),
        Value::Object(fields) => fields.values_mut().for_each(|field| take_out(field, taken)),
        _ => {}
    }
}

/// Reads an event's JSON, with the texts it refers to; what is wrong is told in words.
pub(crate) fn read(connection: &Connection, json: &str, refers: bool) -> Result<EventKind, String> {
    if !refers {
        return serde_json::from_str(json).map_err(|e| e.to_string());
    }
    let mut value: Value = serde_json::from_str(json).map_err(|e| e.to_string())?;
    let mut room = limits::EVENT_BYTES_MAX;
    put_back(connection, &mut value, &mut room)?;
    serde_json::from_value(value).map_err(|e| e.to_string())
}

fn put_back(connection: &Connection, value: &mut Value, room: &mut usize) -> Result<(), String> {
    match value {
        Value::Array(items) => items.iter_mut().try_for_each(|item| put_back(connection, item, room)),
        Value::Object(fields) => {
            if let Some(hash) = fields.get(REFERENCE).and_then(Value::as_str) {
                let text = text(connection, hash)?;
                *room = room.checked_sub(text.len()).ok_or("it refers to more than an event may hold")?;
                *value = Value::String(text);
                return Ok(());
            }
            fields.values_mut().try_for_each(|field| put_back(connection, field, room))
        }
        _ => Ok(()),
    }
}

fn text(connection: &Connection, wanted: &str) -> Result<String, String> {
    let content: Option<String> = connection
        .prepare_cached("SELECT content FROM blobs WHERE hash = ?1")
        .and_then(|mut statement| statement.query_row([wanted], |row| row.get(0)).optional())
        .map_err(|e| format!("its text {wanted}: {e}"))?;
    match content {
        Some(text) if hash(&text) == wanted => Ok(text),
        Some(_) => Err(format!("its text {wanted} was altered")),
        None => Err(format!("its text {wanted} is missing")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_that_holds_the_key_of_a_reference_is_kept_whole() {
        let large = "x".repeat(limits::BLOB_BYTES_MIN);
        let cases = [
            (json!({"text": large, "more": {"$blob": "0000"}}), false),
            (json!({"text": large, "more": [[{"$blob": 7}]]}), false),
            (json!({"$blob": large}), false),
            (json!({"text": "small"}), false),
            (json!({"text": large, "more": "$blob"}), true),
            (json!([large, {"a": [large]}]), true),
        ];
        assert_eq!(cases.len(), 6);
        for (value, taken) in cases {
            let body = Body::without_large_texts(value.clone());
            assert_eq!(body.is_some(), taken, "{value:.100}");
            assert!(body.is_none_or(|body| body.blobs.len() == 1 && body.json.len() < 300));
        }
    }

    /// A forged record may refer to one text a million times.
    #[test]
    fn references_cannot_make_an_event_grow_without_end() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE blobs (hash TEXT PRIMARY KEY, content TEXT)").unwrap();
        let (name, content) = (hash("ten bytes."), "ten bytes.");
        connection.execute("INSERT INTO blobs VALUES (?1, ?2)", (&name, content)).unwrap();
        let reference = json!({ REFERENCE: name });
        for (times, fits) in [(0, true), (3, true), (4, false), (1_000, false)] {
            let mut value = json!({"list": vec![reference.clone(); times]});
            let outcome = put_back(&connection, &mut value, &mut 30);
            assert_eq!(outcome.is_ok(), fits, "{times} times");
            assert!(!fits || value == json!({"list": vec![content; times]}));
        }
    }
}
