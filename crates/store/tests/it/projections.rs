//! What each event makes of the tables.

use posse_protocol::*;
use posse_store::NewEvent;

use crate::fixture::*;

type Case<'a> = (&'a [EventKind], &'a str, &'a [&'a str]);

/// After a start and a prompt come the events of a case; then its query must give its rows.
fn check(count: usize, cases: &[Case<'_>]) {
    assert_eq!(cases.len(), count);
    for (events, sql, expected) in cases {
        let record = record();
        record.put(start(1));
        record.put(vec![event(1, told("fix it\nplease"))]);
        record.put(events.iter().map(|kind| event(1, kind.clone())).collect());
        assert_eq!(record.rows(sql), *expected, "{sql}\nafter {events:#?}");
    }
}

#[test]
fn starts_and_prompts_project() {
    let reminder = EventKind::told(Sender::Posse, "go on");
    let session = "SELECT workspace, version, title, model, status, last_seq FROM sessions";
    let agent = "SELECT role, depth, status, model, model_id, budget_turns, budget_tokens, budget_time_ms,
                        budget_cost_usd, turns, input_tokens, cost_usd FROM agents";
    let message = "SELECT parent_message_id, started_at, completed_at, agent_role, agent_depth, model_id, request_type,
                          request_content, context_mode, iteration_count, max_iterations, max_duration_ms, status,
                          prompt_tokens FROM messages";
    let prompt = "SELECT length(m.system_prompt_id), m.system_prompt_id = a.system_prompt_id FROM messages m, agents a";
    check(
        6,
        &[
            (&[], session, &["/code/1|0.1.0|fix it|local|running|3"]),
            (&[], agent, &["main|0|running|local|coder-1.5b|40|-|60000|0.5|0|-|-"]),
            (
                &[],
                message,
                &[
                    "-|2026-01-02T03:04:06.678Z|-|main|0|coder-1.5b|prompt|fix it\nplease|full|0|40|60000|running|-",
                ],
            ),
            (&[], prompt, &["64|1"]),
            (&[reminder], "SELECT count(*) FROM messages", &["1"]),
            (
                &[told("more")],
                "SELECT id, request_type, status FROM messages",
                &["1|prompt|running", "2|continuation|running"],
            ),
        ],
    );
}

#[test]
fn model_calls_project() {
    let retrying = EventKind::Retrying { attempt: 1, attempts_max: 6, delay_ms: 5, reason: "529".into() };
    let error = ModelError::new(ModelErrorKind::Overloaded, "the model is overloaded");
    let failed = EventKind::ModelFailed { turn: 1, error };
    let unknown = [replied(Usage::default())];
    let part = replied(Usage { cached_tokens: Some(5), ..usage(10, 1) });
    let mixed = [part.clone(), replied(Usage::default()), part];
    let huge = replied(usage(u64::MAX, u64::MAX));
    let turns = "SELECT s.turns, a.turns, m.iteration_count FROM sessions s, agents a, messages m";
    let session = "SELECT input_tokens, cached_tokens, output_tokens, reasoning_tokens FROM sessions";
    let agent = "SELECT input_tokens, cached_tokens, output_tokens, reasoning_tokens FROM agents";
    let message = "SELECT context_token_count, prompt_tokens, completion_tokens, total_tokens FROM messages";
    check(
        10,
        &[
            (&[turn(1), turn(2)], turns, &["2|2|2"]),
            (&[retrying], "SELECT retries FROM agents", &["1"]),
            (&unknown, agent, &["-|-|-|-"]),
            (&unknown, message, &["-|-|-|-"]),
            (&mixed, session, &["20|10|2|-"]),
            (&mixed, agent, &["20|10|2|-"]),
            (&mixed, message, &["10|20|2|22"]),
            // No provider's figure can make a sum overflow.
            (&[huge.clone(), huge.clone(), huge], agent, &["3298534883328|-|3298534883328|-"]),
            (&[failed], "SELECT error FROM agents", &["the model is overloaded"]),
            (
                &[compacted()],
                "SELECT m.context_mode, a.compactions FROM messages m, agents a",
                &["summary|1"],
            ),
        ],
    );
}

#[test]
fn tool_calls_project() {
    let calls = "SELECT call_id, started_seq, finished_seq, tool, title, ok, duration_ms, output_bytes
                 FROM tool_calls ORDER BY id";
    let (begun, done, bad) = (tool_started("c1"), tool_finished("c1", true), tool_finished("c1", false));
    check(
        5,
        &[
            (std::slice::from_ref(&begun), calls, &["c1|4|-|grep|grep TODO|-|-|-"]),
            (&[begun.clone(), bad.clone()], calls, &["c1|4|5|grep|grep TODO|0|7|5"]),
            (&[tool_finished("c9", false)], calls, &["c9|-|4|grep|-|0|7|5"]),
            // A provider may give the same id again.
            (
                &[begun.clone(), done.clone(), begun.clone(), bad],
                calls,
                &["c1|4|5|grep|grep TODO|1|7|5", "c1|6|7|grep|grep TODO|0|7|5"],
            ),
            (&[done, tool_finished("c2", true)], "SELECT tool_calls FROM agents", &["2"]),
        ],
    );
}

#[test]
fn a_settled_agent_projects() {
    let answer =
        "SELECT completed_at, duration_ms, response_content, response_summary, bailout_reason, status,
                         error_message FROM prompts";
    let calls =
        [tool_started("c1"), tool_finished("c1", true), tool_started("c2"), settled(Ending::Cancelled)];
    let listed = r#"[{"id":"c1","tool":"grep","title":"grep TODO","ok":true,"duration_ms":7},{"id":"c2","tool":"grep","title":"grep TODO","ok":null,"duration_ms":null}]"#;
    let files = r#"[{"path":"a.rs","created":true,"lines_added":3,"lines_removed":0}]"#;
    let metadata = r#"{"worked_ms":900,"cost_usd":0.25,"cached_tokens":null,"reasoning_tokens":null,"tool_calls":0,"commands":0,"tests":null,"warnings":[],"subtree":{"agents":1,"turns":0,"tool_calls":0,"tokens":null,"cost_usd":0.25},"requested_model":null}"#;
    let done = [settled(Ending::Completed)];
    check(
        6,
        &[
            (&done, answer, &["2026-01-02T03:04:06.678Z|0|All done.\n\nDetails.|All done.|-|completed|-"]),
            (&done, "SELECT files_modified_json FROM messages", &[files]),
            (&done, "SELECT tool_calls_json FROM prompts", &["[]"]),
            (&done, "SELECT metadata_json FROM messages", &[metadata]),
            (&calls, "SELECT tool_calls_json FROM prompts", &[listed]),
            // Calls are listed under the prompts they were made for, and both prompts are answered.
            (
                &[tool_started("c1"), told("more"), tool_started("c2"), settled(Ending::Completed)],
                "SELECT json_array_length(tool_calls_json), status FROM prompts",
                &["2|completed", "1|completed"],
            ),
        ],
    );
}

#[test]
fn the_type_column_is_the_type_in_the_json() {
    let (id, text) = (agent(1), String::from("t"));
    let rest = [
        EventKind::AgentPlaced { worker: "gpu-1".into(), epoch: 1, run: String::new(), lease_ms: 0 },
        EventKind::WorkKept { files: vec![KeptFile { path: "a".into(), after: None }] },
        EventKind::CheckedOut { branch: "b".into(), base: "c".into() },
        EventKind::mailed(Sender::Peer, text.clone()),
        EventKind::CutShort { turn: 1, text: text.clone() },
        EventKind::Closing { ending: Ending::TimedOut },
        EventKind::Checkpointed { turn: 1, commit: "c".into() },
        EventKind::Changed { turn: 1, changes: vec![] },
        EventKind::Merged { from: id, branch: "b".into(), changes: vec![], conflicts: vec![] },
        EventKind::Undone {
            what: text.clone(),
            events: vec![],
            paths: vec![],
            changes: vec![],
            conflicts: vec![],
            left: vec![],
        },
        EventKind::BackgroundStarted { name: "cmd-1".into(), command: "ls".into() },
        EventKind::BackgroundEnded { name: "cmd-1".into(), exit_code: None, tail: text },
        EventKind::SessionInterrupted { agents: vec![id], detached: false },
        EventKind::SessionResumed { version: "0".into(), sandboxed: false, traceparent: None },
        EventKind::SessionNamed { title: "a name".into(), by: Sender::Person },
        EventKind::AgentResumed {
            model: "m".into(),
            model_id: "m-1".into(),
            elapsed_ms: 1,
            budget: Budget::UNLIMITED,
            grant: Grant::none(),
        },
    ];
    let record = record();
    record.put(whole_session(1));
    record.put(tree_session(11));
    record.put(rest.map(|kind| event(1, kind)).to_vec());
    let rows =
        record.rows("SELECT count(DISTINCT type), sum(type = json_extract(body, '$.type')) FROM events");
    assert_eq!(rows, ["32|45"]);
}

#[test]
fn every_ending_is_told_truthfully() {
    let failure = Failure::Model {
        kind: ModelErrorKind::Stalled,
        message: "no answer for 60 s".into(),
        said: String::new(),
        advice: String::new(),
    };
    let interrupted = Ending::Interrupted { reason: "killed".into() };
    let cases = [
        (Ending::Completed, "completed|-|-"),
        (Ending::Failed { failure }, "failed|error|no answer for 60 s"),
        (Ending::Cancelled, "cancelled|cancelled|-"),
        (interrupted, "interrupted|interrupted|killed"),
        (Ending::TimedOut, "timeout|timeout|out of time"),
        (Ending::OutOfTurns, "out_of_turns|max_iterations|out of turns"),
        (Ending::OutOfTokens, "out_of_tokens|max_tokens|out of tokens"),
        (Ending::OutOfMoney, "out_of_money|max_cost|out of money"),
        (Ending::Refused, "refused|refused|the model refused"),
    ];
    assert_eq!(cases.len(), 9);
    for (ending, expected) in cases {
        let word = ending.word();
        let events = [settled(ending)];
        let message = "SELECT status, bailout_reason, error_message FROM messages";
        let others = "SELECT s.status, a.status, a.ended_at_ms IS NOT NULL FROM sessions s, agents a";
        let words = format!("{word}|{word}|1");
        check(2, &[(&events, message, &[expected]), (&events, others, &[&words])]);
    }
}

#[test]
fn a_sub_agents_prompt_hangs_under_its_parents() {
    let record = record();
    record.put(start(1));
    record.put(vec![event(1, told("do both"))]);
    let child = |kind| NewEvent { agent: agent(2), parent: Some(agent(1)), ..event(1, kind) };
    record.put(vec![
        child(agent_started("explore", 1)),
        child(told("look around")),
        child(turn(1)),
        child(replied(usage(7, 3))),
        child(settled(Ending::OutOfTurns)),
    ]);
    let messages = record.rows(
        "SELECT id, parent_message_id, agent_role, agent_depth, request_type, total_tokens, status FROM messages ORDER BY id",
    );
    assert_eq!(messages, ["1|-|main|0|prompt|-|running", "2|1|explore|1|delegation|10|out_of_turns"]);
    // The session counts the child's work, and is still running.
    let sessions = record.rows("SELECT status, title, turns, input_tokens, cost_usd FROM sessions");
    assert_eq!(sessions, ["running|do both|1|7|0.25"]);
    let agents = record.store.agents(session(1)).unwrap();
    let tree: Vec<_> = agents.iter().map(|a| (a.role.as_str(), a.parent, a.status.word())).collect();
    assert_eq!(tree, [("main", None, "running"), ("explore", Some(agent(1)), "out_of_turns")]);
}

#[test]
fn odd_texts_and_times_are_recorded_as_they_are() {
    let record = record();
    record.put(start(1));
    let texts = ["nul \0 inside", "\u{202e}bidi", "\u{feff}bom", "lone \r cr", "😀", ""];
    let events: Vec<_> = texts.iter().map(|text| event(1, told(text))).collect();
    record.put(events.clone());
    record.put(vec![NewEvent { at_ms: u64::MAX, ..event(1, told("at the end of time")) }]);
    let read = record.store.events_after(session(1), Seq(2), texts.len()).unwrap();
    assert_eq!(
        read.into_iter().map(|e| e.kind).collect::<Vec<_>>(),
        events.into_iter().map(|e| e.kind).collect::<Vec<_>>()
    );
    let last = record.rows("SELECT started_at FROM messages ORDER BY id DESC LIMIT 1");
    assert_eq!(last, ["9999-12-31T23:59:59.999Z"]);
}
