//! Whether spans hang together as what happened does, and what they tell.

use std::collections::{BTreeMap, BTreeSet};

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use posse_protocol::{EventKind, TraceParent};

use crate::sample::{attribute, exported, recorded, tree};

#[test]
fn trees_of_recorded_sessions() {
    let trees: Vec<String> = recorded()
        .iter()
        .map(|(name, events)| format!("# {name}\n{}", tree(&exported(events, false))))
        .collect();
    insta::assert_snapshot!(trees.join("\n"));
}

#[test]
fn every_span_is_there_once_and_hangs_together() {
    for (name, events) in recorded() {
        let spans = exported(&events, true);
        let ids: BTreeSet<&[u8]> = spans.iter().map(|span| span.span_id.as_slice()).collect();
        assert_eq!(ids.len(), spans.len(), "{name}: ids are unique");
        let session = events[0].session.bytes();
        for span in &spans {
            assert_eq!(span.trace_id, session, "{name}: {}", span.name);
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{name}: {}", span.name);
            let is_root = span.parent_span_id.is_empty();
            assert_eq!(is_root, span.name == "session", "{name}: {}", span.name);
            assert!(is_root || ids.contains(span.parent_span_id.as_slice()), "{name}: {}", span.name);
        }
        let agents = events.iter().filter(|event| matches!(event.kind, EventKind::AgentStarted { .. }));
        let invoked: BTreeSet<String> = spans
            .iter()
            .filter(|span| span.name.starts_with("invoke_agent "))
            .filter_map(|span| attribute(span, "posse.agent.id").map(|id| format!("{id:?}")))
            .collect();
        assert_eq!(invoked.len(), agents.count(), "{name}");
        assert_eq!(exported(&events, true), spans, "{name}: twice is the same");
    }
}

#[test]
fn spans_say_on_which_worker_an_agent_ran() {
    let spans = exported(&recorded()["placed"], false);
    let of = |name: &str| spans.iter().find(|span| span.name == format!("invoke_agent {name}")).unwrap();
    let worker = |name: &str| attribute(of(name), "posse.worker");
    let on = |worker: &str| Some(Value::StringValue(worker.to_owned()));
    assert_eq!(
        [worker("coder-1"), worker("coder-2"), worker("explore-1")],
        [on("gpu-2"), on("build.lan"), None]
    );
    let moments = of("coder-1").events.iter().map(|moment| moment.name.as_str()).collect::<Vec<_>>();
    assert_eq!((moments, of("coder-2").events.len()), (vec!["moved"], 0));
}

#[test]
fn tokens_of_model_calls_are_those_on_record() {
    for (name, events) in recorded() {
        let mut want = 0;
        for event in &events {
            if let EventKind::Replied { reply, .. } = &event.kind {
                want += reply.usage.input_tokens.unwrap_or(0);
            }
        }
        let of = |start: &str| {
            let spans = exported(&events, false).into_iter().filter(|span| span.name.starts_with(start));
            let tokens = spans.filter_map(|span| attribute(&span, "gen_ai.usage.input_tokens"));
            tokens.map(|value| if let Value::IntValue(n) = value { n as u64 } else { 0 }).sum::<u64>()
        };
        assert_eq!(of("chat "), want, "{name}");
    }
}

/// Attributes that hold texts.
const CONTENT: [&str; 9] = [
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.agent.description",
    "posse.workspace",
    "posse.question",
    "posse.report",
];

#[test]
fn texts_are_told_only_where_somebody_wants_that() {
    let (mut with, mut told) = (BTreeSet::new(), BTreeMap::new());
    for (name, events) in recorded() {
        for span in exported(&events, false) {
            for one in &span.attributes {
                assert!(!CONTENT.contains(&one.key.as_str()), "{name}: {}: {}", span.name, one.key);
            }
            let all: &mut String = told.entry(name.clone()).or_default();
            all.push_str(&format!("{span:?}"));
        }
        with.extend(
            exported(&events, true)
                .into_iter()
                .flat_map(|span| span.attributes)
                .map(|attribute| attribute.key),
        );
        // Whatever anybody wrote.
        for event in &events {
            let texts = match &event.kind {
                EventKind::Told { text, .. } => vec![text.clone()],
                EventKind::Replied { reply, .. } => reply
                    .calls
                    .iter()
                    .map(|call| call.arguments.clone())
                    .chain([reply.text.clone()])
                    .collect(),
                EventKind::ToolFinished { text, .. } => vec![text.clone()],
                _ => continue,
            };
            for text in texts.iter().filter(|text| text.len() > 20) {
                let shown = format!("{text:?}");
                assert!(!told[&name].contains(shown.trim_matches('"')), "{name}: {text}");
            }
        }
    }
    for key in CONTENT {
        assert!(with.contains(key), "{key} is never there");
    }
}

#[test]
fn whoever_asked_for_a_session_is_above_it() {
    let outside: TraceParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().unwrap();
    let mut events = recorded().remove("resumed").unwrap();
    for event in &mut events {
        match &mut event.kind {
            EventKind::SessionStarted { traceparent, .. } | EventKind::SessionResumed { traceparent, .. } => {
                *traceparent = Some(outside);
            }
            _ => {}
        }
    }
    let spans = exported(&events, false);
    assert!(spans.iter().all(|span| span.trace_id == outside.trace.0), "one trace");
    let roots: Vec<_> = spans.iter().filter(|span| span.name == "session").collect();
    assert_eq!(roots[0].parent_span_id, outside.span.0);
    assert!(roots.len() >= 2);
    for (at, again) in roots.iter().enumerate().skip(1) {
        assert_eq!(again.parent_span_id, Vec::<u8>::new());
        let linked: Vec<_> = again.links.iter().map(|link| link.span_id.as_slice()).collect();
        assert_eq!(linked, [roots[at - 1].span_id.as_slice(), &outside.span.0]);
    }
}
