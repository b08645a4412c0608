//! A span that has begun and not ended.

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::span::{Event as Moment, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{Span, Status};
use posse_protocol::{SpanId, TraceId};

use crate::attributes::text;
use crate::limits::NANOS_PER_MS;
use crate::names;

/// The flags of a span: sampled.
const SAMPLED: u32 = 1;

#[derive(Clone, Debug)]
pub(crate) struct OpenSpan {
    pub(crate) id: SpanId,
    parent: Option<SpanId>,
    pub(crate) name: String,
    kind: SpanKind,
    pub(crate) began_ms: u64,
    pub(crate) attributes: Vec<KeyValue>,
    pub(crate) links: Vec<Link>,
    moments: Vec<Moment>,
    failed: Option<String>,
}

impl OpenSpan {
    pub(crate) fn new(id: SpanId, parent: Option<SpanId>, name: impl Into<String>, began_ms: u64) -> Self {
        Self {
            id,
            parent,
            name: name.into(),
            kind: SpanKind::Internal,
            began_ms,
            attributes: Vec::new(),
            links: Vec::new(),
            moments: Vec::new(),
            failed: None,
        }
    }

    /// Something that is asked of another program.
    pub(crate) fn client(mut self) -> Self {
        self.kind = SpanKind::Client;
        self
    }

    pub(crate) fn with(mut self, attributes: impl IntoIterator<Item = KeyValue>) -> Self {
        self.attributes.extend(attributes);
        self
    }

    pub(crate) fn add(&mut self, attributes: impl IntoIterator<Item = KeyValue>) {
        self.attributes.extend(attributes);
    }

    /// The same, in the place of another value.
    pub(crate) fn set(&mut self, attribute: KeyValue) {
        self.attributes.retain(|one| one.key != attribute.key);
        self.attributes.push(attribute);
    }

    pub(crate) fn moment(&mut self, name: &str, at_ms: u64, attributes: Vec<KeyValue>) {
        self.moments.push(Moment {
            time_unix_nano: nanos(at_ms),
            name: name.to_owned(),
            attributes,
            dropped_attributes_count: 0,
        });
    }

    /// It did not go well: in one word, and in words for people.
    pub(crate) fn fail(&mut self, kind: &str, message: &str) {
        self.attributes.push(text(names::ERROR_TYPE, kind));
        self.failed = Some(message.to_owned());
    }

    pub(crate) fn end(self, trace: TraceId, at_ms: u64) -> Span {
        let status = self.failed.map(|message| Status { message, code: StatusCode::Error.into() });
        Span {
            trace_id: trace.0.to_vec(),
            span_id: self.id.0.to_vec(),
            parent_span_id: self.parent.map(|parent| parent.0.to_vec()).unwrap_or_default(),
            flags: SAMPLED,
            name: self.name,
            kind: self.kind.into(),
            start_time_unix_nano: nanos(self.began_ms),
            // A clock that was set back must not make a span that ends before it begins.
            end_time_unix_nano: nanos(at_ms.max(self.began_ms)),
            attributes: self.attributes,
            events: self.moments,
            links: self.links,
            status,
            ..Span::default()
        }
    }
}

/// A link to another span, with what it is about.
pub(crate) fn link(trace: TraceId, span: SpanId, about: &str) -> Link {
    Link {
        trace_id: trace.0.to_vec(),
        span_id: span.0.to_vec(),
        attributes: vec![text(names::LINK, about)],
        flags: SAMPLED,
        ..Link::default()
    }
}

pub(crate) fn nanos(ms: u64) -> u64 {
    ms.saturating_mul(NANOS_PER_MS)
}
