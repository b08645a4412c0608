//! What was interrupted, what goes on, and what was done to the workspace.

use posse_protocol::*;
use posse_store::NewEvent;

use crate::fixture::*;

/// Session 1 with a prompt and a sub-agent that works on another.
fn working() -> Record {
    let record = record();
    record.put(start(1));
    record.put(vec![
        event(1, told("do both")),
        event(1, turn(1)),
        below(1, 1, 2, admitted("explore-1", 1, "find it")),
        below(1, 1, 2, agent_started("explore", 1)),
        below(1, 1, 2, said(Sender::Parent, "look")),
        below(1, 1, 2, tool_started("c1")),
    ]);
    record
}

fn interrupted(agents: &[u128]) -> NewEvent {
    let agents = agents.iter().copied().map(agent).collect();
    event(1, EventKind::SessionInterrupted { agents, detached: false })
}

fn session_resumed() -> NewEvent {
    event(1, EventKind::SessionResumed { version: "0.2.0".into(), sandboxed: true, traceparent: None })
}

fn agent_resumed() -> EventKind {
    let budget = Budget { turns: Some(50), tokens: Some(9), time_ms: None, cost_usd: None };
    EventKind::AgentResumed {
        model: String::new(),
        model_id: String::new(),
        elapsed_ms: 5,
        budget,
        grant: Grant::none(),
    }
}

fn cut_short(text: &str) -> EventKind {
    EventKind::CutShort { turn: 1, text: text.into() }
}

fn ended_with(text: &str) -> EventKind {
    match settled(Ending::Cancelled) {
        EventKind::AgentSettled { report } => {
            EventKind::AgentSettled { report: Report { text: text.into(), ..report } }
        }
        other => other,
    }
}

/// Status of the session, then of each agent and each prompt.
const STATUS: &str = "SELECT status FROM sessions UNION ALL SELECT status FROM agents UNION ALL
                      SELECT status || iif(completed_at IS NULL, '', ' done') FROM prompts";

#[test]
fn each_way_of_stopping_and_going_on_is_told_truthfully() {
    let child = |kind| below(1, 1, 2, kind);
    let late = || {
        vec![
            child(admitted("late", 1, "t")),
            child(EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None }),
        ]
    };
    let stopped = || vec![interrupted(&[1, 2])];
    let then = |more: Vec<NewEvent>| [stopped(), more].concat();
    let ending =
        |kind| then(vec![session_resumed(), event(1, agent_resumed()), child(agent_resumed()), kind]);
    let done = || settled(Ending::Completed);
    let cases: [(Vec<NewEvent>, &[&str]); 12] = [
        (vec![], &["running", "running", "running", "running", "running"]),
        (stopped(), &["interrupted", "interrupted", "interrupted", "interrupted", "interrupted"]),
        (late(), &["running", "running", "running", "running", "running"]),
        (
            then(vec![session_resumed()]),
            &["running", "interrupted", "interrupted", "interrupted", "interrupted"],
        ),
        // Whoever goes on without a word about the session goes on all the same.
        (
            then(vec![event(1, agent_resumed())]),
            &["running", "running", "interrupted", "running", "interrupted"],
        ),
        (
            then(vec![child(agent_resumed())]),
            &["interrupted", "interrupted", "running", "interrupted", "running"],
        ),
        (ending(child(done())), &["running", "running", "completed", "running", "completed done"]),
        (ending(event(1, done())), &["completed", "completed", "running", "completed done", "running"]),
        // What had ended before stays as it was.
        (
            vec![child(done()), interrupted(&[1, 2])],
            &["interrupted", "interrupted", "completed", "interrupted", "completed done"],
        ),
        // An agent can be given up while it is interrupted.
        (
            then(vec![child(settled(Ending::Interrupted { reason: "given up".into() }))]),
            &["interrupted", "interrupted", "interrupted", "interrupted", "interrupted done"],
        ),
        // A settled main agent is taken up again, with new words.
        (
            vec![event(1, done()), session_resumed(), event(1, agent_resumed()), event(1, told("and now?"))],
            &["running", "running", "running", "completed done", "running", "running"],
        ),
        // A person who is asked does not answer any more.
        (
            vec![child(asks("really")), interrupted(&[1, 2])],
            &["interrupted", "interrupted", "interrupted", "interrupted", "interrupted"],
        ),
    ];
    assert_eq!(cases.len(), 12);
    for (events, expected) in cases {
        let record = working();
        let said = format!("{events:#?}");
        record.put(events);
        assert_eq!(record.rows(STATUS), expected, "after {said}");
    }
}

#[test]
fn an_agent_that_had_not_begun_has_still_to_begin() {
    let queued = || below(1, 1, 3, EventKind::AgentQueued { reason: QueueReason::Endpoint, at: None });
    let resumed = || below(1, 1, 3, agent_resumed());
    let cases: [(Vec<NewEvent>, &str); 5] = [
        (vec![], "interrupted|1"),
        (vec![resumed()], "pending|0"),
        (vec![queued()], "queued|0"),
        (vec![resumed(), queued()], "queued|0"),
        (vec![below(1, 1, 3, agent_started("explore", 1))], "running|0"),
    ];
    assert_eq!(cases.len(), 5);
    for (events, expected) in cases {
        let record = working();
        record.put(vec![below(1, 1, 3, admitted("explore-2", 1, "wait")), queued(), interrupted(&[1, 2, 3])]);
        record.put(events);
        let sql = "SELECT status, interrupted_at_ms IS NOT NULL FROM agents WHERE name = 'explore-2'";
        assert_eq!(record.rows(sql), [expected]);
    }
}

#[test]
fn an_agent_that_had_begun_may_have_to_wait_before_it_goes_on() {
    let child = |kind| below(1, 1, 2, kind);
    let queued = || child(EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None });
    let over = child(settled(Ending::Interrupted { reason: "given up".into() }));
    let cases: [(Vec<NewEvent>, &str); 5] = [
        (vec![interrupted(&[1, 2]), queued()], "queued|-|-"),
        (vec![interrupted(&[1, 2]), queued(), child(agent_resumed())], "running|-|-"),
        (vec![interrupted(&[1, 2]), queued(), interrupted(&[2])], "interrupted|-|1"),
        // What works does not wait, nor what has ended.
        (vec![queued()], "running|-|-"),
        (vec![over, queued()], "interrupted|-|-"),
    ];
    assert_eq!(cases.len(), 5);
    for (events, expected) in cases {
        let record = working();
        let said = format!("{events:#?}");
        record.put(events);
        let sql = "SELECT status, queued_at_ms, nullif(interrupted_at_ms IS NOT NULL, 0) FROM agents WHERE depth = 1";
        assert_eq!(record.rows(sql), [expected], "after {said}");
    }
}

#[test]
fn an_agent_may_go_on_with_another_model() {
    let resumed = |name: &str, id: &str| match agent_resumed() {
        EventKind::AgentResumed { elapsed_ms, budget, grant, .. } => {
            EventKind::AgentResumed { model: name.into(), model_id: id.into(), elapsed_ms, budget, grant }
        }
        other => other,
    };
    let cases = [
        (event(1, resumed("big", "coder-70b")), "big|big|coder-70b|local|coder-1.5b"),
        (below(1, 1, 2, resumed("big", "coder-70b")), "local|local|coder-1.5b|big|coder-70b"),
        // Older events do not say which.
        (event(1, agent_resumed()), "local|local|coder-1.5b|local|coder-1.5b"),
    ];
    assert_eq!(cases.len(), 3);
    for (resumption, expected) in cases {
        let record = working();
        record.put(vec![interrupted(&[1, 2]), resumption]);
        let sql =
            "SELECT s.model, m.model, m.model_id, c.model, c.model_id FROM sessions s, agents m, agents c
                   WHERE m.depth = 0 AND c.depth = 1";
        assert_eq!(record.rows(sql), [expected]);
    }
}

#[test]
fn a_resumed_agent_loses_its_ending_and_goes_on_counting() {
    let record = working();
    let failure = Failure::EmptyReply;
    record.put(vec![
        event(1, settled(Ending::Failed { failure })),
        session_resumed(),
        event(1, agent_resumed()),
    ]);
    record.put(vec![event(1, told("again")), event(1, turn(2)), event(1, replied(usage(10, 1)))]);
    let agents = record.store.agents(session(1)).unwrap();
    let main = &agents[0];
    assert_eq!((main.ended_at_ms, main.duration_ms, &main.error), (None, None, &None));
    assert_eq!((main.turns, main.usage, main.cost_usd), (2, usage(10, 1), Some(0.25)));
    assert_eq!((main.budget.turns, main.budget.tokens, main.budget.time_ms), (Some(50), Some(9), None));
    let prompts =
        "SELECT request_type, status, iteration_count, error_message FROM messages WHERE agent_depth = 0";
    let empty = "the model gave an empty reply twice";
    assert_eq!(record.rows(prompts), [&format!("prompt|failed|1|{empty}"), "continuation|running|1|-"]);
    // The receipt covers the agent's whole life: what it had cost before is not added again.
    record.put(vec![event(1, settled(Ending::Completed))]);
    assert_eq!(record.store.find_session("last").unwrap().cost_usd, Some(0.25));
    assert_eq!(record.rows(prompts), [&format!("prompt|failed|1|{empty}"), "continuation|completed|1|-"]);
}

#[test]
fn a_session_can_be_interrupted_before_it_has_an_agent() {
    let record = record();
    record.put(start(1)[..1].to_vec());
    record.put(vec![interrupted(&[])]);
    assert_eq!(record.store.find_session("last").unwrap().status.word(), "interrupted");
    record.put(vec![session_resumed()]);
    assert_eq!(record.store.find_session("last").unwrap().status.word(), "running");
    assert_eq!(record.store.agents(session(1)).unwrap(), []);
}

#[test]
fn calls_under_way_are_shown_as_interrupted() {
    let record = working();
    let calls = "SELECT call_id, repeatable, started_seq, finished_seq, interrupted_seq, ok FROM tool_calls ORDER BY id";
    record.put(vec![
        below(1, 1, 2, tool_started("c2")),
        below(1, 1, 2, tool_finished("c2", true)),
        interrupted(&[1, 2]),
    ]);
    assert_eq!(record.rows(calls), ["c1|1|8|-|11|-", "c2|1|9|10|-|1"]);
    // The answer that nobody knows what came of it is an answer; that it was interrupted stays known.
    record.put(vec![
        session_resumed(),
        below(1, 1, 2, agent_resumed()),
        below(1, 1, 2, tool_finished("c1", false)),
    ]);
    assert_eq!(record.rows(calls), ["c1|1|8|14|11|0", "c2|1|9|10|-|1"]);
}

#[test]
fn what_had_arrived_is_the_answer_when_nothing_better_comes() {
    let cases: [(&[EventKind], &str); 6] = [
        (&[cut_short("half a\n\nsentence")], "half a\n\nsentence|half a"),
        (&[cut_short("half"), ended_with("")], "half|half"),
        (&[cut_short("half"), ended_with(" \n")], "half|half"),
        (&[cut_short("half"), ended_with("whole\n\nmore")], "whole\n\nmore|whole"),
        (&[cut_short("half"), cut_short("")], "half|half"),
        (&[ended_with("")], "|cancelled"),
    ];
    assert_eq!(cases.len(), 6);
    for (kinds, expected) in cases {
        let record = working();
        record.put(kinds.iter().map(|kind| event(1, kind.clone())).collect());
        let answer = "SELECT response_content, response_summary FROM prompts WHERE agent_depth = 0";
        assert_eq!(record.rows(answer), [expected], "after {kinds:?}");
    }
    // What comes after the end does not change what was answered.
    let record = working();
    record.put(vec![event(1, ended_with("whole")), event(1, cut_short("half"))]);
    assert_eq!(record.rows("SELECT response_content FROM prompts WHERE agent_depth = 0"), ["whole"]);
}

#[test]
fn words_that_wake_a_settled_agent_are_what_it_works_on() {
    let record = working();
    record
        .put(vec![event(1, settled(Ending::Completed)), event(1, said(Sender::Reports, "explore-1: done"))]);
    record.put(vec![event(1, turn(2)), event(1, said(Sender::Posse, "go on"))]);
    let prompts =
        "SELECT request_type, request_content, status, iteration_count FROM prompts WHERE agent_depth = 0";
    let expected = ["prompt|do both|completed|1", "continuation|explore-1: done|running|1"];
    assert_eq!(record.rows(prompts), expected);
    let row = record.store.find_session("last").unwrap();
    assert_eq!((row.status.word(), row.title.as_deref()), ("running", Some("do both")));
}

#[test]
fn letters_and_limits_change_nothing_but_the_record() {
    let record = working();
    let before = record.rows(STATUS);
    let checked_out = EventKind::CheckedOut { branch: "posse/x".into(), base: "abc".into() };
    record.put(vec![
        event(1, EventKind::mailed(Sender::Peer, "hello")),
        event(1, EventKind::Closing { ending: Ending::OutOfTurns }),
        below(1, 1, 2, checked_out),
    ]);
    assert_eq!(record.rows(STATUS), before);
    assert_eq!(record.store.find_session("last").unwrap().last_seq, Seq(11));
}

#[test]
fn checkpoints_are_listed() {
    let record = working();
    record.put(vec![below(1, 1, 2, EventKind::Checkpointed { turn: 3, commit: "abc".into() })]);
    let expected = format!("{}|9|{}|3|abc|{}", session(1), agent(2), START_MS + 1_000);
    assert_eq!(record.rows("SELECT * FROM checkpoints"), [expected]);
}

#[test]
fn work_that_was_merged_or_taken_back_is_counted_for_whoever_did_it() {
    let record = working();
    let changed = |id: u128| EventKind::Changed { turn: u32::try_from(id).unwrap(), changes: vec![] };
    let conflict = Conflict { path: "a.rs".into(), text: "<<<".repeat(4_000) };
    let merged = |conflicts: Vec<Conflict>| {
        event(1, EventKind::Merged { from: agent(2), branch: "b".into(), changes: vec![], conflicts })
    };
    let undone = |events: &[u64]| {
        let events = events.iter().copied().map(Seq).collect();
        event(
            1,
            EventKind::Undone {
                what: "w".into(),
                events,
                paths: vec![],
                changes: vec![],
                conflicts: vec![],
                left: vec![],
            },
        )
    };
    let sql = "SELECT name, undone, merges, merge_conflicts FROM agents ORDER BY rowid";
    // Places 9 to 12: changes of both, and two merges of which the second is too large to be kept whole.
    record.put(vec![
        event(1, changed(1)),
        below(1, 1, 2, changed(2)),
        merged(vec![]),
        merged(vec![conflict]),
    ]);
    assert_eq!(record.rows(sql), ["main|0|0|0", "explore-1|0|2|1"]);
    // Place 13: two steps of one agent are one undoing.
    record.put(vec![undone(&[10, 12])]);
    assert_eq!(record.rows(sql), ["main|0|0|0", "explore-1|1|2|1"]);
    record.put(vec![undone(&[9])]);
    assert_eq!(record.rows(sql), ["main|1|0|0", "explore-1|1|2|1"]);
    // Bringing it back takes nothing back, and nothing is what nobody did.
    record.put(vec![undone(&[13]), undone(&[]), undone(&[999])]);
    assert_eq!(record.rows(sql), ["main|1|0|0", "explore-1|1|2|1"]);
}

#[test]
fn what_is_left_running_is_found() {
    let record = working();
    for n in 3..=6 {
        record.put(start(n * 10));
    }
    let stop = |n: u128| EventKind::SessionInterrupted { agents: vec![agent(n)], detached: true };
    record.put(vec![event(30, settled(Ending::Completed)), event(40, stop(40))]);
    // The main agent has ended, but something below it has not.
    record.put(vec![below(50, 50, 51, admitted("a", 1, "t")), event(50, settled(Ending::Completed))]);
    let ids = |rows: Vec<posse_store::SessionRow>| rows.into_iter().map(|row| row.id).collect::<Vec<_>>();
    assert_eq!(ids(record.store.unfinished().unwrap()), [session(60), session(50), session(1)]);
    // What can be pruned is the rest, oldest first.
    let moment = START_MS + 1_000;
    assert_eq!(ids(record.store.sessions_before(moment, 10).unwrap()), []);
    assert_eq!(ids(record.store.sessions_before(moment + 1, 10).unwrap()), [session(30), session(40)]);
    assert_eq!(ids(record.store.sessions_before(u64::MAX, 1).unwrap()), [session(30)]);
}
