//! Traces and metrics of sessions for OpenTelemetry: a projection of the record, in the official messages of OTLP.
#![forbid(unsafe_code)]

mod attributes;
mod content;
mod exporter;
mod histogram;
mod limits;
mod meter;
mod names;
mod open_span;
mod otlp;
mod provider;
mod sender;
mod settings;
mod spans;

pub use exporter::Telemetry;
pub use otlp::recorded_trace;
pub use settings::{CONTENT_VARIABLE, TelemetrySettings};
pub use spans::SessionSpans;
