//! Events in, the whole view out, as JSON that other readers are held to as well. `POSSE_WRITE_FIXTURES=1` writes what is
//! found instead of comparing it: read the difference before you commit it.

use posse_view::{AgentView, SessionView, words};
use serde_json::{Value, json};

use crate::sample::{fixtures, folded, folder};

/// How long after the last event the words are those of.
const LATER_MS: u64 = 5_000;

/// Everything that a reader makes of the events.
fn shown(view: &SessionView) -> Value {
    let now_ms = view.last_at_ms + LATER_MS;
    json!({
        "view": view,
        "attention": view.attention(),
        "now_ms": now_ms,
        "words": view.agents.iter().map(|agent| words_of(agent, now_ms)).collect::<Vec<_>>(),
    })
}

fn words_of(agent: &AgentView, now_ms: u64) -> Value {
    let blocked = agent.report.as_ref().is_some_and(|report| report.blocked);
    let mut words = json!({
        "name": agent.name,
        "mark": words::mark(agent.state, blocked),
        "state": words::state(agent.state),
        "now": words::now(agent, now_ms),
        "turn": words::turn(agent),
        "time": agent.worked_ms(now_ms).map(words::duration),
        "tokens": words::tokens_in_all(agent.own.usage, agent.in_all().usage),
        "cost": words::cost_in_all(&agent.own, &agent.in_all()),
        "facts": agent.report.as_ref().map(posse_view::ReportView::facts_line),
    });
    if let Some(on) = words::on(agent) {
        words["on"] = on.into();
    }
    words
}

#[test]
fn fixtures_are_shown_as_they_say() {
    let write = std::env::var_os("POSSE_WRITE_FIXTURES").is_some();
    let mut wrong = Vec::new();
    for (name, events) in fixtures() {
        let view = folded(SessionView::default(), &events);
        assert_eq!(view.seq.0, events.len() as u64, "{name}");
        let found = format!("{}\n", serde_json::to_string_pretty(&shown(&view)).unwrap());
        let path = folder().join(format!("{name}.json"));
        if write {
            std::fs::write(&path, found).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != found {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty(), "{wrong:?} differ; see what changes with POSSE_WRITE_FIXTURES=1 and git diff");
    assert!(!write, "the fixtures are written; run again without POSSE_WRITE_FIXTURES");
}
