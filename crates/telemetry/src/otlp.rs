//! Spans and metrics as requests of OTLP.

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::metrics::v1::{Metric, ResourceMetrics, ScopeMetrics};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use prost::Message as _;

use crate::attributes::text;
use crate::names;

/// The version of Posse.
pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What says which program it comes from, with more about it.
pub(crate) fn resource(service: &str, more: impl IntoIterator<Item = KeyValue>) -> Vec<KeyValue> {
    let mut attributes = vec![
        text(names::SERVICE_NAME, service),
        text(names::SERVICE_VERSION, VERSION),
        text(names::SDK_NAME, names::SCOPE),
        text(names::SDK_LANGUAGE, "rust"),
    ];
    for one in more {
        if !attributes.iter().any(|known| known.key == one.key) {
            attributes.push(one);
        }
    }
    attributes
}

fn scope() -> Option<InstrumentationScope> {
    let (name, version) = (names::SCOPE.to_owned(), VERSION.to_owned());
    Some(InstrumentationScope { name, version, ..InstrumentationScope::default() })
}

/// A request with spans, as bytes.
pub(crate) fn trace_request(resource: &[KeyValue], spans: Vec<Span>) -> Vec<u8> {
    let resource = Some(Resource { attributes: resource.to_vec(), ..Resource::default() });
    let scope_spans = vec![ScopeSpans { scope: scope(), spans, ..ScopeSpans::default() }];
    let resource_spans = vec![ResourceSpans { resource, scope_spans, ..ResourceSpans::default() }];
    ExportTraceServiceRequest { resource_spans }.encode_to_vec()
}

/// A request with metrics, as bytes.
pub(crate) fn metrics_request(resource: &[KeyValue], metrics: Vec<Metric>) -> Vec<u8> {
    let resource = Some(Resource { attributes: resource.to_vec(), ..Resource::default() });
    let scope_metrics = vec![ScopeMetrics { scope: scope(), metrics, ..ScopeMetrics::default() }];
    let resource_metrics = vec![ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() }];
    ExportMetricsServiceRequest { resource_metrics }.encode_to_vec()
}

/// The spans of a recorded session as one request: what a collector takes, and a file holds.
pub fn recorded_trace(spans: Vec<Span>) -> Vec<u8> {
    trace_request(&resource(names::SCOPE, []), spans)
}
