//! One message of JSON-RPC 2.0 as it comes in. What it holds is not looked at here.

use agent_client_protocol_schema::v1::{Error, RequestId};
use serde_json::{Map, Value};

/// A message of the client.
#[derive(Debug, PartialEq)]
pub(crate) enum Incoming {
    /// It wants an answer.
    Request { id: RequestId, method: String, params: Value },
    /// It wants none.
    Notification { method: String, params: Value },
    /// It answers a request of ours.
    Response { id: RequestId, outcome: Result<Value, Error> },
}

/// A message that is none, and what to answer.
#[derive(Debug, PartialEq)]
pub(crate) struct BadMessage {
    pub(crate) id: RequestId,
    pub(crate) error: Error,
}

impl BadMessage {
    pub(crate) fn not_json(why: impl Into<String>) -> Box<Self> {
        Box::new(Self { id: RequestId::Null, error: Error::parse_error().data(Value::String(why.into())) })
    }

    fn invalid(id: RequestId, why: &str) -> Box<Self> {
        Box::new(Self { id, error: Error::invalid_request().data(Value::String(why.to_owned())) })
    }
}

/// Reads a line. None for an empty one.
pub(crate) fn read(line: &[u8]) -> Result<Option<Incoming>, Box<BadMessage>> {
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    let value = serde_json::from_slice(line).map_err(|error| BadMessage::not_json(error.to_string()))?;
    let Value::Object(mut message) = value else {
        return Err(BadMessage::invalid(RequestId::Null, "a message is one JSON object in one line"));
    };
    let id = match message.remove("id") {
        None => None,
        Some(id) => Some(serde_json::from_value::<RequestId>(id).map_err(|_| {
            BadMessage::invalid(RequestId::Null, "the id is neither a text nor a whole number nor null")
        })?),
    };
    let known = id.clone().unwrap_or(RequestId::Null);
    if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(BadMessage::invalid(known, "the message has no \"jsonrpc\": \"2.0\""));
    }
    match (message.remove("method"), id) {
        (Some(Value::String(method)), id) => {
            let params = message.remove("params").unwrap_or_else(|| Value::Object(Map::new()));
            Ok(Some(match id {
                Some(id) => Incoming::Request { id, method, params },
                None => Incoming::Notification { method, params },
            }))
        }
        (None, Some(id)) => {
            let outcome = match (message.remove("result"), message.remove("error")) {
                (Some(result), None) => Ok(result),
                (None, Some(error)) => {
                    Err(serde_json::from_value(error).unwrap_or_else(|_| Error::internal_error()))
                }
                _ => return Err(BadMessage::invalid(id, "an answer has either a result or an error")),
            };
            Ok(Some(Incoming::Response { id, outcome }))
        }
        _ => Err(BadMessage::invalid(known, "the message has no \"method\"")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol_schema::v1::ErrorCode;
    use serde_json::json;

    #[test]
    fn messages_and_what_is_none() {
        let request = |id: RequestId| Incoming::Request { id, method: "m".to_owned(), params: json!({}) };
        let good = [
            (r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#, Some(request(RequestId::Number(1)))),
            (r#"{"jsonrpc":"2.0","id":"a","method":"m"}"#, Some(request(RequestId::Str("a".to_owned())))),
            (r#"{"jsonrpc":"2.0","id":null,"method":"m"}"#, Some(request(RequestId::Null))),
            (
                r#"{"jsonrpc":"2.0","method":"n","params":[1]}"#,
                Some(Incoming::Notification { method: "n".to_owned(), params: json!([1]) }),
            ),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":null}"#,
                Some(Incoming::Response { id: RequestId::Number(7), outcome: Ok(Value::Null) }),
            ),
            ("  \r", None),
        ];
        for (line, want) in good {
            assert_eq!(read(line.as_bytes()).unwrap(), want, "{line}");
        }
        let bad = [
            ("{", ErrorCode::ParseError, RequestId::Null),
            ("\u{1}", ErrorCode::ParseError, RequestId::Null),
            ("[]", ErrorCode::InvalidRequest, RequestId::Null),
            (r#"{"id":3,"method":"m"}"#, ErrorCode::InvalidRequest, RequestId::Number(3)),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"m"}"#, ErrorCode::InvalidRequest, RequestId::Null),
            (r#"{"jsonrpc":"2.0","id":4}"#, ErrorCode::InvalidRequest, RequestId::Number(4)),
            (r#"{"jsonrpc":"2.0","id":5,"method":5}"#, ErrorCode::InvalidRequest, RequestId::Number(5)),
        ];
        for (line, code, id) in bad {
            let BadMessage { id: told, error } = *read(line.as_bytes()).unwrap_err();
            assert_eq!((told, error.code), (id, code), "{line}");
        }
        assert_eq!(read(&"[".repeat(1000).into_bytes()).unwrap_err().error.code, ErrorCode::ParseError);
    }
}
