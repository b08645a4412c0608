//! Attributes in the messages of OTLP.

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
use posse_protocol::clip::clipped;

use crate::limits::ATTRIBUTE_CHARS_MAX;

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// A text, cut where it is very long.
pub(crate) fn text(key: &str, value: impl AsRef<str>) -> KeyValue {
    attribute(key, Value::StringValue(bounded(value.as_ref())))
}

pub(crate) fn number(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

pub(crate) fn signed(key: &str, value: i64) -> KeyValue {
    attribute(key, Value::IntValue(value))
}

pub(crate) fn real(key: &str, value: f64) -> KeyValue {
    attribute(key, Value::DoubleValue(value))
}

pub(crate) fn yes(key: &str) -> KeyValue {
    attribute(key, Value::BoolValue(true))
}

pub(crate) fn texts(key: &str, values: &[&str]) -> KeyValue {
    let value = |text: &&str| AnyValue { value: Some(Value::StringValue(bounded(text))) };
    attribute(key, Value::ArrayValue(ArrayValue { values: values.iter().map(value).collect() }))
}

fn bounded(text: &str) -> String {
    clipped(text, ATTRIBUTE_CHARS_MAX)
}
