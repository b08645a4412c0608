//! What can be asked.

use posse_protocol::{AgentState, Budget, Ending, Seq, Usage};
use posse_store::{AgentRow, SessionRow, StoreError, limits};

use crate::fixture::*;

#[test]
fn a_session_and_its_agents_are_summed_up() {
    let record = record();
    record.put(whole_session(1));
    let expected = SessionRow {
        id: session(1),
        started_at_ms: START_MS,
        last_at_ms: START_MS + 1_000,
        last_seq: Seq(12),
        workspace: "/code/1".into(),
        project: "/code/1".into(),
        surface: "posse".into(),
        title: Some("fix the test".into()),
        status: AgentState::Completed,
        turns: 2,
        usage: usage(100, 20),
        cost_usd: Some(0.25),
        cost_unknown: false,
        model: Some("local".into()),
    };
    assert_eq!(record.store.sessions(10).unwrap(), [expected]);
    let expected = AgentRow {
        id: agent(1),
        parent: None,
        name: "main".into(),
        role: "main".into(),
        depth: 0,
        title: None,
        status: AgentState::Completed,
        requested_model: None,
        model: Some("local".into()),
        model_id: Some("coder-1.5b".into()),
        context: None,
        continues: None,
        budget: Budget { turns: Some(40), tokens: None, time_ms: Some(60_000), cost_usd: Some(0.5) },
        turns: 2,
        retries: 1,
        tool_calls: 1,
        usage: usage(100, 20),
        cost_usd: Some(0.25),
        cost_unknown: false,
        queued_at_ms: None,
        started_at_ms: Some(START_MS),
        last_at_ms: START_MS + 1_000,
        interrupted_at_ms: None,
        ended_at_ms: Some(START_MS + 1_000),
        duration_ms: Some(900),
        delivered: false,
        error: None,
    };
    assert_eq!(record.store.agents(session(1)).unwrap(), [expected]);
    assert_eq!(record.store.agents(session(2)).unwrap(), []);
}

#[test]
fn a_session_that_only_began_has_no_title_no_model_and_unknown_usage() {
    let record = record();
    record.put(start(1)[..1].to_vec());
    let row = record.store.find_session("last").unwrap();
    assert_eq!((row.title, row.model, row.usage, row.cost_usd), (None, None, Usage::default(), None));
    assert_eq!(row.status, AgentState::Running);
}

#[test]
fn sessions_are_found_by_id_by_prefix_and_as_the_last() {
    const A: u128 = 0x0191_aaaa_0000_7000_8000_0000_0000_0001;
    const B: u128 = 0x0191_aaab_0000_7000_8000_0000_0000_0002;
    const C: u128 = 0x0192_0000_0000_7000_8000_0000_0000_0003;
    let record = record();
    let missing = record.store.find_session("last").unwrap_err().to_string();
    assert_eq!(missing, "no session is called \"last\"; `posse sessions list` shows them");
    for (n, id) in [A, B, C].into_iter().enumerate() {
        let mut events = start(id);
        events[0].at_ms += n as u64;
        record.put(events);
    }
    let found = [
        ("last", Ok(C)),
        ("0191aaaa-0000-7000-8000-000000000001", Ok(A)),
        ("0191AAAB", Ok(B)),
        ("0192", Ok(C)),
        ("0191aaaa", Ok(A)),
        ("0001", Ok(A)),
        ("0193", Err("no session is called \"0193\"; `posse sessions list` shows them".to_owned())),
        ("", Err("no session is called \"\"; `posse sessions list` shows them".to_owned())),
        ("%", Err("no session is called \"%\"; `posse sessions list` shows them".to_owned())),
        ("' OR 1", Err("no session is called \"' OR 1\"; `posse sessions list` shows them".to_owned())),
        ("0191", Err("\"0191\" names 2 sessions; `posse sessions list` shows their ids".to_owned())),
    ];
    assert_eq!(found.len(), 11);
    for (wanted, expected) in found {
        let row = record.store.find_session(wanted).map(|row| row.id).map_err(|e| e.to_string());
        assert_eq!(row, expected.map(session), "{wanted:?}");
    }
    let newest_first: Vec<_> = record.store.sessions(2).unwrap().into_iter().map(|s| s.id).collect();
    assert_eq!(newest_first, [session(C), session(B)]);
}

#[test]
fn a_short_prefix_lists_no_more_than_ten() {
    let record = record();
    for n in 1..=12 {
        record.put(start(n));
    }
    match record.store.find_session("0").unwrap_err() {
        StoreError::Ambiguous { ids, more, .. } => assert_eq!((ids.len(), more), (10, true)),
        other => panic!("{other}"),
    }
}

#[test]
fn events_are_read_page_by_page() {
    let record = record();
    record.put(whole_session(1));
    let places = |after, limit| -> Vec<u64> {
        let events = record.store.events_after(session(1), Seq(after), limit).unwrap();
        events.into_iter().map(|e| e.seq.0).collect()
    };
    assert_eq!(places(0, 3), [1, 2, 3]);
    assert_eq!(places(3, 3), [4, 5, 6]);
    assert_eq!(places(10, usize::MAX), [11, 12]);
    let none: [u64; 0] = [];
    assert_eq!(places(12, 10), none);
    assert_eq!(places(u64::MAX, 10), none);
    assert_eq!(places(0, 0), none);
    assert_eq!(record.store.events_after(session(2), Seq(0), 10).unwrap(), []);
    // What is read is what was appended.
    let kinds = record.store.events_after(session(1), Seq(0), 100).unwrap();
    let appended: Vec<_> = whole_session(1).into_iter().map(|e| e.kind).collect();
    assert_eq!(kinds.into_iter().map(|e| e.kind).collect::<Vec<_>>(), appended);
}

#[test]
fn a_page_ends_where_its_events_get_large() {
    let record = record();
    record.put(start(1));
    let large = told(&"x".repeat(limits::PAGE_BYTES_MAX / 2));
    for _ in 0..3 {
        record.put(vec![event(1, large.clone())]);
    }
    let mut pages = Vec::new();
    let mut after = Seq(0);
    loop {
        let page = record.store.events_after(session(1), after, 100).unwrap();
        let Some(last) = page.last() else { break };
        after = last.seq;
        pages.push(page.len());
    }
    assert_eq!(pages, [3, 1, 1]);
}

#[test]
fn an_agent_taken_up_again_keeps_its_totals() {
    let record = record();
    record.put(whole_session(1));
    record.put(vec![event(1, agent_started("main", 0)), event(1, told("and now?")), event(1, turn(3))]);
    let row = record.store.find_session("last").unwrap();
    assert_eq!((row.status.word(), row.turns, row.title.as_deref()), ("running", 3, Some("fix the test")));
    record.put(vec![event(1, settled(Ending::Cancelled))]);
    let row = record.store.find_session("last").unwrap();
    // The receipt covers the agent's whole life: its cost is not added twice.
    assert_eq!((row.status.word(), row.cost_usd), ("cancelled", Some(0.25)));
}
