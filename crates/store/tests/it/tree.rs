//! Sub-agents on record: from their admission to the moment their parent is told, and what they used.

use posse_protocol::*;
use posse_store::NewEvent;

use crate::fixture::*;

/// After the start of session 1 and a prompt come the events of sub-agent 2; then a query must give its rows.
fn check(count: usize, cases: &[(&[EventKind], &str, &[&str])]) {
    assert_eq!(cases.len(), count);
    for (kinds, sql, expected) in cases {
        let record = record();
        record.put(start(1));
        record.put(vec![event(1, told("do both"))]);
        record.put(kinds.iter().map(|kind| child(kind.clone())).collect());
        assert_eq!(record.rows(sql), *expected, "{sql}\nafter {kinds:#?}");
    }
}

fn child(kind: EventKind) -> NewEvent {
    below(1, 1, 2, kind)
}

fn queued() -> EventKind {
    EventKind::AgentQueued { reason: QueueReason::Endpoint, at: None }
}

fn needed() -> EventKind {
    asks("which one?")
}

#[test]
fn each_step_of_an_agents_life_is_its_status() {
    let begin = || vec![admitted("explore-1", 1, "find it"), agent_started("explore", 1)];
    let then = |more: &[EventKind]| [begin(), more.to_vec()].concat();
    let done = settled(Ending::Completed);
    let cases = [
        (vec![admitted("a", 1, "t")], "pending"),
        (vec![admitted("a", 1, "t"), queued()], "queued"),
        (begin(), "running"),
        (vec![admitted("a", 1, "t"), queued(), agent_started("explore", 1)], "running"),
        (then(&[needed()]), "needs_person"),
        (then(&[needed(), answered()]), "running"),
        (then(&[needed(), settled(Ending::TimedOut)]), "timed_out"),
        (then(std::slice::from_ref(&done)), "completed"),
        (vec![admitted("a", 1, "t"), settled(Ending::Cancelled)], "cancelled"),
        (vec![admitted("a", 1, "t"), queued(), settled(Ending::Cancelled)], "cancelled"),
        // What comes late changes nothing.
        (then(&[done.clone(), needed()]), "completed"),
        (then(&[done.clone(), answered()]), "completed"),
        (then(&[done.clone(), queued()]), "completed"),
        (then(&[done, admitted("b", 1, "again")]), "completed"),
        (then(&[queued()]), "running"),
        // Words that wait for the agent do not start it.
        (vec![admitted("a", 1, "t"), said(Sender::Parent, "look")], "pending"),
    ];
    assert_eq!(cases.len(), 16);
    for (kinds, expected) in cases {
        check(1, &[(&kinds, "SELECT status FROM agents WHERE depth = 1", &[expected])]);
    }
}

#[test]
fn what_was_admitted_stays_known_once_it_runs() {
    let admitted = admitted("explore-1", 1, "find it");
    let row = "SELECT parent_id = session_id, name, role, depth, title, requested_model, model, model_id,
                 length(system_prompt_id), context_mode, budget_turns, queued_at_ms IS NOT NULL, started_at_ms
               FROM agents WHERE depth = 1";
    let started = agent_started("explore", 1);
    let running =
        format!("1|explore-1|explore|1|find it|small|local|coder-1.5b|64|fork|40|0|{}", START_MS + 1_000);
    let unadmitted = format!("1|explore|explore|1|-|-|local|coder-1.5b|64|-|40|0|{}", START_MS + 1_000);
    check(
        4,
        &[
            (std::slice::from_ref(&admitted), row, &["1|explore-1|explore|1|find it|small|-|-|-|fork|-|0|-"]),
            (&[admitted.clone(), queued()], row, &["1|explore-1|explore|1|find it|small|-|-|-|fork|-|1|-"]),
            (&[admitted.clone(), started.clone()], row, &[&running]),
            (&[started], row, &[&unadmitted]),
        ],
    );
}

#[test]
fn only_words_of_a_person_or_a_parent_are_prompts() {
    let open =
        [admitted("explore-1", 1, "find it"), agent_started("explore", 1), said(Sender::Parent, "look")];
    let then = |more: &[EventKind]| [open.to_vec(), more.to_vec()].concat();
    let prompts =
        "SELECT parent_message_id, request_type, request_content, context_mode, model_id, max_iterations
                   FROM messages WHERE agent_depth = 1 ORDER BY id";
    let first = "1|delegation|look|fork|coder-1.5b|40";
    let continuing = EventKind::AgentAdmitted {
        name: "explore-1".into(),
        role: "explore".into(),
        depth: 1,
        title: "go on".into(),
        requested_model: None,
        context: ContextMode::Fresh,
        continues: Some(agent(9)),
        brief: None,
    };
    let early = [admitted("explore-1", 1, "find it"), said(Sender::Parent, "look")];
    check(
        7,
        &[
            (&open, prompts, &[first]),
            (
                &then(&[said(Sender::Posse, "a"), said(Sender::Reports, "b"), said(Sender::Peer, "c")]),
                prompts,
                &[first],
            ),
            (
                &then(&[said(Sender::Parent, "more")]),
                prompts,
                &[first, "1|continuation|more|fork|coder-1.5b|40"],
            ),
            (&then(&[told("stop")]), prompts, &[first, "1|continuation|stop|fork|coder-1.5b|40"]),
            (&then(&[compacted()]), prompts, &["1|delegation|look|summary|coder-1.5b|40"]),
            (
                &[continuing, agent_started("explore", 1), said(Sender::Parent, "and then?")],
                prompts,
                &["1|continuation|and then?|fresh|coder-1.5b|40"],
            ),
            (&early, prompts, &["1|delegation|look|fork||-"]),
        ],
    );
}

#[test]
fn a_prompts_metadata_tells_of_the_whole_subtree() {
    let mut report = match settled(Ending::Completed) {
        EventKind::AgentSettled { report } => report,
        other => panic!("{other:?}"),
    };
    report.warnings = vec!["a.rs:99 does not exist".into()];
    report.receipt = Receipt { turns: 1, tool_calls: 1, usage: usage(100, 20), ..report.receipt };
    let counts = Some(TestRun { run: 4, passed: 3 });
    report.receipt.tests = Some(TestsSeen { counts, ..TestsSeen::default() });
    report.receipt.below = Below {
        agents: 2,
        turns: 5,
        tool_calls: 6,
        usage: usage(1_000, 0),
        cost_usd: Some(0.5),
        ..Below::default()
    };
    let kinds = [
        admitted("explore-1", 1, "find it"),
        agent_started("explore", 1),
        said(Sender::Parent, "look"),
        EventKind::AgentSettled { report },
    ];
    let metadata = r#"{"worked_ms":900,"cost_usd":0.25,"cached_tokens":null,"reasoning_tokens":null,"tool_calls":1,"commands":0,"tests":{"run":4,"passed":3},"warnings":["a.rs:99 does not exist"],"subtree":{"agents":3,"turns":6,"tool_calls":7,"tokens":1120,"cost_usd":0.75},"requested_model":"small"}"#;
    check(
        2,
        &[
            (&kinds, "SELECT metadata_json FROM messages WHERE agent_depth = 1", &[metadata]),
            // What is below the child is counted where it happened, not twice.
            (&kinds, "SELECT cost_usd FROM sessions", &["0.25"]),
        ],
    );
}

#[test]
fn reports_are_delivered_once() {
    let record = record();
    record.put(start(1));
    for id in 2..=4 {
        record.put(vec![below(1, 1, id, admitted("a", 1, "t")), below(1, 1, id, settled(Ending::Completed))]);
    }
    let deliver = |at_ms, ids: &[u128]| {
        let agents = ids.iter().copied().map(agent).collect();
        NewEvent { at_ms, ..event(1, EventKind::ReportsDelivered { agents }) }
    };
    record.put(vec![deliver(5, &[2, 3]), deliver(6, &[3]), deliver(7, &[]), deliver(8, &[99])]);
    let rows = record.rows("SELECT delivered_at_ms FROM agents WHERE depth = 1 ORDER BY rowid");
    assert_eq!(rows, ["5", "5", "-"]);
    let agents = record.store.agents(session(1)).unwrap();
    assert_eq!(agents.iter().map(|row| row.delivered).collect::<Vec<_>>(), [false, true, true, false]);
}

#[test]
fn events_of_an_agent_that_was_never_admitted_are_refused() {
    let cases = [
        queued(),
        said(Sender::Parent, "look"),
        turn(1),
        needed(),
        answered(),
        EventKind::ReportsDelivered { agents: vec![] },
        settled(Ending::Cancelled),
    ];
    assert_eq!(cases.len(), 7);
    let record = record();
    record.put(start(1));
    for kind in cases {
        let error = record.refused(vec![child(kind)]);
        assert!(error.starts_with(&format!("agent {} is not on record", agent(2))), "{error}");
    }
    assert_eq!(record.rows("SELECT last_seq FROM sessions"), ["2"]);
}

#[test]
fn a_tree_is_read_back_in_the_order_it_grew() {
    let record = record();
    record.put(tree_session(1));
    let agents = record.store.agents(session(1)).unwrap();
    let tree: Vec<_> = agents
        .iter()
        .map(|a| (a.name.as_str(), a.parent, a.title.as_deref(), a.status.word(), a.delivered))
        .collect();
    let expected = [
        ("main", None, None, "completed", false),
        ("explore-1", Some(agent(1)), Some("find it"), "out_of_turns", true),
        ("explore-2", Some(agent(2)), Some("look deeper"), "cancelled", false),
    ];
    assert_eq!(tree, expected);
    let never_began = &agents[2];
    assert_eq!((never_began.started_at_ms, &never_began.model, never_began.turns), (None, &None, 0));
    assert_eq!(never_began.ended_at_ms, Some(START_MS + 1_000));
    let used: Vec<_> = agents.iter().map(|a| (a.turns, a.usage, a.cost_usd)).collect();
    let (none, cost) = (Usage::default(), Some(0.25));
    assert_eq!(used, [(0, none, cost), (1, usage(70, 30), cost), (0, none, cost)]);
}
