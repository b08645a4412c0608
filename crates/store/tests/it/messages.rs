//! The view `messages`: prompts and calls in one table, by the words of the design that asked for it.

use posse_protocol::*;
use posse_store::NewEvent;

use crate::fixture::*;

const MESSAGES: &str =
    "SELECT parent_message_id, agent_role, agent_depth, request_type, request_content, status,
                          response_summary FROM messages ORDER BY id";

fn called(id: &str, arguments: &str) -> EventKind {
    let call = ToolCall { id: CallId(id.into()), name: "grep".into(), arguments: arguments.into() };
    let reply = Reply { calls: vec![call], usage: usage(1, 1), ..Reply::default() };
    EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd: None }
}

fn answered(id: &str, ok: bool, text: &str) -> EventKind {
    match tool_finished(id, ok) {
        EventKind::ToolFinished { call, tool, ok, effects, duration_ms, .. } => EventKind::ToolFinished {
            call,
            tool,
            ok,
            text: text.into(),
            attachments: Vec::new(),
            effects,
            duration_ms,
        },
        other => other,
    }
}

#[test]
fn calls_are_messages_under_the_prompt_they_were_made_for() {
    let record = record();
    record.put(start(1));
    let large = format!("{{\"pattern\":\"{}\"}}", "x".repeat(9_000));
    let long = format!("first line\n{}", "y".repeat(9_000));
    let kinds = [
        told("find it"),
        called("c1", "{\"pattern\":\"TODO\"}"),
        tool_started("c1"),
        answered("c1", true, "a.rs:1: TODO\nb.rs:2: TODO"),
        called("c2", &large),
        tool_started("c2"),
        answered("c2", false, &long),
        answered("c3", false, "not allowed"),
        told("and there"),
        tool_started("c4"),
    ];
    record.put(kinds.into_iter().map(|kind| event(1, kind)).collect());
    let calls = "SELECT parent_message_id, request_content, response_content, response_summary, status, bailout_reason,
                   started_at, completed_at, agent_role, agent_depth, model_id, seq
                 FROM messages WHERE request_type = 'tool_call' ORDER BY id";
    let at = "2026-01-02T03:04:06.678Z";
    let expected = [
        format!(
            "1|grep {{\"pattern\":\"TODO\"}}|a.rs:1: TODO\nb.rs:2: TODO|a.rs:1: TODO|completed|-|{at}|{at}|main|0|coder-1.5b|5"
        ),
        format!("1|grep {large}|{long}|first line|failed|error|{at}|{at}|main|0|coder-1.5b|8"),
        format!("1|grep |not allowed|not allowed|failed|error|{at}|{at}|main|0|coder-1.5b|10"),
        format!("2|grep grep TODO|-|-|running|-|{at}|-|main|0|coder-1.5b|12"),
    ];
    assert_eq!(record.rows(calls), expected);
    // Who is stopped leaves its calls behind; who is interrupted, too.
    record.put(vec![event(1, settled(Ending::Cancelled))]);
    let last = "SELECT status, bailout_reason FROM messages WHERE request_type = 'tool_call' ORDER BY id DESC LIMIT 1";
    assert_eq!(record.rows(last), ["cancelled|cancelled"]);
    // The children of a prompt are its calls, each with a number of its own.
    assert_eq!(
        record.rows("SELECT count(*), count(DISTINCT id) FROM messages WHERE parent_message_id = 1"),
        ["3|3"]
    );
    // What is damaged is one row's loss.
    let other = rusqlite::Connection::open(&record.path).unwrap();
    other
        .execute_batch(&format!(
            "DROP TRIGGER event_rows_never_change; UPDATE event_rows SET body = 'x' WHERE {SEQ} IN (4, 6)"
        ))
        .unwrap();
    assert_eq!(record.rows(calls).len(), 4);
}

#[test]
fn an_admitted_agent_is_pending_until_it_begins() {
    let child = |kind| below(1, 1, 2, kind);
    let asked = |words: &str| match admitted("explore-1", 1, "find it") {
        EventKind::AgentAdmitted {
            name, role, depth, title, requested_model, context, continues, ..
        } => {
            let brief = Brief { words: words.into(), ..brief() };
            let brief = Some(Box::new(brief));
            EventKind::AgentAdmitted { name, role, depth, title, requested_model, context, continues, brief }
        }
        other => other,
    };
    let queued = || child(EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None });
    let begun = || child(agent_started("explore", 1));
    let told_it = || child(said(Sender::Parent, "look for it, with files"));
    let interrupted =
        || event(1, EventKind::SessionInterrupted { agents: vec![agent(1), agent(2)], detached: false });
    let resumed = || {
        child(EventKind::AgentResumed {
            model: String::new(),
            model_id: String::new(),
            budget: Budget::UNLIMITED,
            elapsed_ms: 0,
            grant: Grant::none(),
        })
    };
    let row =
        |text: &str, status: &str, summary: &str| format!("1|explore|1|delegation|{text}|{status}|{summary}");
    let cases: [(Vec<NewEvent>, String); 8] = [
        (vec![], row("look for it", "pending", "-")),
        (vec![queued()], row("look for it", "pending", "-")),
        // Of some agents nothing but beginning and end is on record.
        (vec![queued(), begun()], row("look for it", "running", "-")),
        (vec![begun(), told_it()], row("look for it, with files", "running", "-")),
        (vec![queued(), interrupted()], row("look for it", "interrupted", "-")),
        (vec![queued(), interrupted(), resumed()], row("look for it", "pending", "-")),
        (vec![child(settled(Ending::TimedOut))], row("look for it", "timeout", "All done.")),
        (
            vec![begun(), told_it(), child(settled(Ending::OutOfTurns))],
            row("look for it, with files", "out_of_turns", "All done."),
        ),
    ];
    assert_eq!(cases.len(), 8);
    for (events, expected) in cases {
        let record = record();
        record.put(start(1));
        record.put(vec![event(1, told("fix both")), child(asked("look for it"))]);
        let said = format!("{events:#?}");
        record.put(events);
        let messages = record.rows(MESSAGES);
        assert_eq!(messages[1..], [expected], "after {said}");
    }
}

fn brief() -> Brief {
    Brief {
        call: None,
        grant: Grant::none(),
        budget: Budget::UNLIMITED,
        model: "local".into(),
        max_output_tokens: None,
        words: String::new(),
        system_prompt: None,
        context_files: vec![],
        deliverables: vec![],
        isolation: Isolation::Shared,
        branch: None,
        on: None,
    }
}

#[test]
fn a_summary_is_what_the_report_calls_so() {
    let cases = [
        ("SUMMARY: Added refresh.\nCHANGES: a.rs: new", "Added refresh."),
        ("I looked.\n\n## Summary\nIt works.\n\n## Risks\nNone.", "It works."),
        ("First.\n\nSecond.", "First."),
    ];
    for (text, expected) in cases {
        let record = record();
        record.put(start(1));
        let report = Report::new(Ending::Completed, text, Receipt::default());
        record.put(vec![event(1, told("go")), event(1, EventKind::AgentSettled { report })]);
        assert_eq!(record.rows("SELECT response_summary FROM messages"), [expected]);
    }
}

/// An index on a view there is none of: each is on the column that the view selects, and is used through the view.
#[test]
fn the_six_indexes_are_there_and_used() {
    let record = record();
    let there = record.rows(
        "SELECT name FROM sqlite_schema WHERE type = 'index' AND name LIKE 'idx_messages_%' ORDER BY 1",
    );
    let cases = [
        ("idx_messages_depth", "agent_depth = 1"),
        ("idx_messages_parent", "parent_message_id = 1"),
        ("idx_messages_role", "agent_role = 'coder'"),
        ("idx_messages_session", "session_id = 'x'"),
        ("idx_messages_started", "started_at > '2026'"),
        ("idx_messages_status", "status = 'timeout'"),
    ];
    assert_eq!(there, cases.map(|(name, _)| name));
    for (name, filter) in cases {
        let plan =
            record.rows(&format!("EXPLAIN QUERY PLAN SELECT * FROM messages WHERE {filter}")).join("\n");
        assert!(plan.contains(name), "{filter}:\n{plan}");
    }
}
