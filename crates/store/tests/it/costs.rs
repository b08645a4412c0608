//! What is known of costs, and what only a receipt tells.

use posse_protocol::*;
use posse_store::StatsQuery;

use crate::fixture::*;

fn reply(cost_usd: Option<f64>) -> EventKind {
    replied_at(usage(10, 1), cost_usd)
}

fn done(cost_usd: Option<f64>) -> EventKind {
    settled_with(Ending::Completed, Receipt { cost_usd, ..Receipt::default() })
}

/// The main agent of a new session works, and comes to this.
fn after(events: &[EventKind]) -> Record {
    let record = record();
    record.put(start(1));
    // One transaction after the other, so that sums go through the tables.
    for kind in events {
        record.put(vec![event(1, kind.clone())]);
    }
    record
}

#[test]
fn each_reply_adds_its_cost_and_the_receipt_does_not_count_it_twice() {
    let stopped = || EventKind::SessionInterrupted { agents: vec![agent(1)], detached: false };
    let cases: [(&[EventKind], &str); 15] = [
        (&[], "-|0"),
        (&[reply(Some(0.5))], "0.5|0"),
        (&[reply(Some(0.5)), reply(Some(0.25))], "0.75|0"),
        (&[reply(Some(0.5)), reply(Some(0.25)), done(Some(0.75))], "0.75|0"),
        (&[reply(Some(0.5)), reply(Some(0.25)), stopped()], "0.75|0"),
        (&[reply(Some(0.0))], "0|0"),
        // Partly unknown stays partly unknown: a receipt adds up what is known.
        (&[reply(Some(0.5)), reply(None)], "0.5|1"),
        (&[reply(Some(0.5)), reply(None), done(Some(0.5))], "0.5|1"),
        (&[reply(Some(0.5)), reply(None), stopped()], "0.5|1"),
        (&[reply(None), reply(None), done(None)], "-|2"),
        // Older replies have no cost: the receipt alone tells it, also where it is nothing.
        (&[reply(None), reply(None), done(Some(0.5))], "0.5|0"),
        (&[reply(None), done(Some(0.0))], "0|0"),
        (&[reply(None), stopped(), reply(Some(0.25)), done(Some(0.75))], "0.75|0"),
        // Settled twice: the second receipt covers both lives.
        (&[reply(Some(0.5)), done(Some(0.5)), reply(Some(0.25)), done(Some(0.75))], "0.75|0"),
        // No cost is what is no number that can be paid.
        (&[reply(Some(-1.0)), reply(Some(f64::INFINITY))], "-|2"),
    ];
    assert_eq!(cases.len(), 15);
    for (events, expected) in cases {
        let record = after(events);
        for table in ["agents", "sessions"] {
            let found = record.rows(&format!("SELECT cost_usd, cost_unknown FROM {table}"));
            assert_eq!(found, [expected], "{table} after {events:#?}");
        }
        let together = record.store.find_session("last").unwrap();
        let unknown = !expected.ends_with("|0");
        assert_eq!(together.cost_unknown, unknown, "after {events:#?}");
        let agents = record.store.agents(session(1)).unwrap();
        assert_eq!(agents[0].cost_unknown, unknown, "after {events:#?}");
    }
}

#[test]
fn one_transaction_comes_to_the_same() {
    let record = record();
    let mut events = start(1);
    let kinds = [reply(Some(0.5)), reply(None), done(Some(0.5)), reply(Some(0.25))];
    events.extend(kinds.map(|kind| event(1, kind)));
    record.put(events);
    let sums = "SELECT s.cost_usd, s.cost_unknown, a.cost_usd, a.cost_unknown FROM sessions s, agents a";
    assert_eq!(record.rows(sums), ["0.75|1|0.75|1"]);
}

#[test]
fn statistics_tell_which_tasks_are_of_unknown_cost() {
    let record = record();
    record.put(start(1));
    let tasks: [&[EventKind]; 5] = [
        &[turn(1), reply(Some(0.5)), done(Some(0.5))],
        &[turn(1), reply(Some(0.25)), turn(2), reply(None), done(Some(0.25))],
        &[turn(1), reply(None), done(None)],
        // The only call never came back; and no call was made at all.
        &[turn(1), done(None)],
        &[done(None)],
    ];
    for (id, kinds) in (10..).zip(tasks) {
        record.put(vec![below(1, 1, id, agent_started("explore", 1))]);
        record.put(kinds.iter().map(|kind| below(1, 1, id, kind.clone())).collect());
    }
    let total = record.store.stats(&StatsQuery::default()).unwrap().total;
    assert_eq!((total.tasks, total.cost_usd, total.cost_unknown), (5, Some(0.75), 3));
    let agents = record.store.agents(session(1)).unwrap();
    let unknown: Vec<bool> = agents[1..].iter().map(|agent| agent.cost_unknown).collect();
    assert_eq!(unknown, [false, true, true, true, false]);
    assert_eq!(agents.iter().filter_map(|agent| agent.cost_usd).sum::<f64>(), 0.75);
}

/// Of some sub-agents only the result is on record.
#[test]
fn a_receipt_tells_what_no_event_told() {
    let receipt = |turns, tool_calls, usage| Receipt {
        turns,
        tool_calls,
        usage,
        cost_usd: Some(0.5),
        ..Receipt::default()
    };
    let ends = |receipt| settled_with(Ending::Completed, receipt);
    let whole = || ends(receipt(3, 4, Usage { cached_tokens: Some(5), ..usage(100, 20) }));
    let work = [turn(1), replied(usage(60, 20)), tool_finished("c", true)];
    let with = |end: EventKind| [&work[..], &[end]].concat();
    let again = [
        whole(),
        said(Sender::Parent, "more"),
        turn(4),
        replied(usage(7, 1)),
        ends(receipt(4, 4, usage(107, 21))),
    ];
    let cases: [(&[EventKind], &str, &[&str]); 6] = [
        (&[whole()], "3|4|100|5|20|3|100", &["3|100|20|120"]),
        (&with(whole()), "3|4|100|5|20|3|100", &["3|100|20|120"]),
        // It never takes anything back, and what it does not know stays as it is.
        (&with(ends(receipt(0, 0, usage(1, 1)))), "1|1|60|-|20|1|60", &["1|60|20|80"]),
        (&with(ends(receipt(1, 1, Usage::default()))), "1|1|60|-|20|1|60", &["1|60|20|80"]),
        (&[ends(receipt(2, 0, Usage::default()))], "2|0|-|-|-|2|-", &["2|-|-|-"]),
        (&again, "4|4|107|5|21|4|107", &["3|100|20|120", "1|7|1|8"]),
    ];
    assert_eq!(cases.len(), 6);
    for (kinds, figures, prompts) in cases {
        let record = record();
        record.put(start(1));
        let begun = [agent_started("explore", 1), said(Sender::Parent, "look")];
        record.put(begun.iter().chain(kinds).map(|kind| below(1, 1, 2, kind.clone())).collect());
        let sums = "SELECT a.turns, a.tool_calls, a.input_tokens, a.cached_tokens, a.output_tokens, s.turns, s.input_tokens
                    FROM agents a, sessions s WHERE a.depth = 1";
        assert_eq!(record.rows(sums), [figures], "after {kinds:#?}");
        let messages =
            "SELECT iteration_count, prompt_tokens, completion_tokens, total_tokens FROM prompts ORDER BY id";
        assert_eq!(record.rows(messages), prompts, "after {kinds:#?}");
        assert_eq!(record.rows("SELECT cost_usd FROM sessions"), ["0.5"]);
    }
}
