//! Recorded sessions, and their spans as a collector sees them.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use posse_protocol::{AgentId, Brief, Budget, CallId, Event, EventKind, Grant, Isolation};
use posse_telemetry::{SessionSpans, recorded_trace};
use prost::Message as _;

/// The events of recorded sessions, by name.
pub(crate) fn recorded() -> BTreeMap<String, Vec<Event>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../view/fixtures");
    let mut found: BTreeMap<String, Vec<Event>> = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "jsonl") {
            let text = std::fs::read_to_string(&path).unwrap();
            let events = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            found.insert(path.file_stem().unwrap().to_str().unwrap().to_owned(), events);
        }
    }
    assert!(found.len() >= 9, "only {} sessions found", found.len());
    found.values_mut().for_each(|events| ask_for_agents(events));
    found
}

/// The sessions were recorded without briefs: each agent was asked for by the next call of its parent that asks for one.
fn ask_for_agents(events: &mut [Event]) {
    let mut calls: BTreeMap<AgentId, VecDeque<CallId>> = BTreeMap::new();
    let grants: BTreeMap<AgentId, Grant> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::AgentStarted { grant, .. } => Some((event.agent, grant.clone())),
            _ => None,
        })
        .collect();
    for event in events {
        match &mut event.kind {
            EventKind::ToolStarted { call, tool, .. } if tool == "agent" || tool == "spawn_task" => {
                calls.entry(event.agent).or_default().push_back(call.clone());
            }
            EventKind::AgentAdmitted { brief, .. } => {
                let call = event.parent.and_then(|parent| calls.get_mut(&parent)?.pop_front());
                *brief = grants.get(&event.agent).map(|grant| {
                    Box::new(Brief {
                        call,
                        grant: grant.clone(),
                        budget: Budget::UNLIMITED,
                        model: String::new(),
                        max_output_tokens: None,
                        words: String::new(),
                        system_prompt: None,
                        context_files: Vec::new(),
                        deliverables: Vec::new(),
                        isolation: Isolation::Shared,
                        branch: None,
                        on: None,
                    })
                });
            }
            _ => {}
        }
    }
}

/// A session's spans, written and read.
pub(crate) fn exported(events: &[Event], content: bool) -> Vec<Span> {
    let mut spans = SessionSpans::new(events[0].session, content);
    let mut all: Vec<Span> = events.iter().flat_map(|event| spans.event(event)).collect();
    all.extend(spans.finish());
    let request = ExportTraceServiceRequest::decode(recorded_trace(all).as_slice()).unwrap();
    request.resource_spans.into_iter().flat_map(|one| one.scope_spans).flat_map(|one| one.spans).collect()
}

pub(crate) fn attribute(span: &Span, key: &str) -> Option<Value> {
    span.attributes.iter().find(|one| one.key == key).and_then(|one| one.value.clone()?.value)
}

/// The tree of spans, with links and what went wrong, a line for each.
pub(crate) fn tree(spans: &[Span]) -> String {
    let mut out = String::new();
    let names: BTreeMap<&[u8], &str> =
        spans.iter().map(|span| (span.span_id.as_slice(), span.name.as_str())).collect();
    let mut open: Vec<(usize, &Span)> = Vec::new();
    let below = |parent: &[u8]| {
        let mut below: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id == parent).collect();
        below.sort_by_key(|span| std::cmp::Reverse((span.start_time_unix_nano, place(spans, span))));
        below
    };
    open.extend(below(&[]).into_iter().map(|span| (0, span)));
    while let Some((depth, span)) = open.pop() {
        let failed = span.status.as_ref().map(|status| format!(" [{}]", status.message)).unwrap_or_default();
        let unfinished = if attribute(span, "posse.unfinished").is_some() { " [unfinished]" } else { "" };
        out += &format!("{}{}{failed}{unfinished}", "  ".repeat(depth), span.name);
        for link in &span.links {
            let about = link.attributes[0].value.as_ref().and_then(|value| value.value.clone());
            let Some(Value::StringValue(about)) = about else { panic!("{link:?}") };
            out += &format!(" ({about}: {})", names.get(link.span_id.as_slice()).unwrap_or(&"elsewhere"));
        }
        out.push('\n');
        open.extend(below(&span.span_id).into_iter().map(|span| (depth + 1, span)));
    }
    out
}

fn place(spans: &[Span], span: &Span) -> usize {
    spans.iter().position(|other| other.span_id == span.span_id).unwrap()
}
