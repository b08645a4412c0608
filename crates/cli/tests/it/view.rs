//! The view of a session, folded from its events, says what the tables of the record say, which are derived another way.

use posse_engine::Engine;
use posse_protocol::{AgentId, Seq};
use posse_testkit::Turn;
use posse_view::SessionView;
use serde_json::json;

use crate::crew::Crew;
use crate::posse::{Person, eventually, signal};

/// The events of every session on record as views, compared with the rows; how many agents that were.
fn compared(person: &Person) -> usize {
    let engine = Engine::open(&person.data_dir()).unwrap();
    let mut agents = 0;
    for row in engine.sessions(100).unwrap() {
        let mut view = SessionView::default();
        let events = engine.events_after(row.id, Seq(0), 10_000).unwrap();
        for event in &events {
            // Put away and taken up again before each of them.
            view = serde_json::from_str(&serde_json::to_string(&view).unwrap()).unwrap();
            view.fold(event).unwrap();
        }
        let session = (view.seq, view.session, view.state.word(), view.title, view.model, view.last_at_ms);
        let expected = (row.last_seq, Some(row.id), row.status.word(), row.title, row.model, row.last_at_ms);
        assert_eq!(session, expected);
        assert_eq!((view.workspace, view.project, view.surface), (row.workspace, row.project, row.surface));
        assert_eq!((view.in_all.turns, view.in_all.usage), (row.turns, row.usage));
        let rows = engine.agents(row.id).unwrap();
        assert_eq!(view.agents.len(), rows.len());
        for (agent, row) in view.agents.iter().zip(rows) {
            let name = row.name.clone();
            let who = |id: AgentId, parent: Option<AgentId>, name: &str, role: &str, depth: u32| {
                format!("{id} {parent:?} {name} {role} {depth}")
            };
            assert_eq!(
                who(agent.id, agent.parent, &agent.name, &agent.role, agent.depth),
                who(row.id, row.parent, &row.name, &row.role, row.depth)
            );
            assert_eq!((agent.state.word(), &agent.error), (row.status.word(), &row.error), "{name}");
            assert_eq!((&agent.title, agent.continues), (&row.title, row.continues), "{name}");
            let models = (&agent.requested_model, &agent.model, &agent.model_id);
            assert_eq!(models, (&row.requested_model, &row.model, &row.model_id), "{name}");
            let context = agent.context.map(|context| serde_json::to_value(context).unwrap());
            assert_eq!(context, row.context.map(Into::into), "{name}");
            let figures = (agent.own.turns, agent.retries, agent.own.tool_calls, agent.own.usage);
            assert_eq!(figures, (row.turns, row.retries, row.tool_calls, row.usage), "{name}");
            let cost = (agent.own.cost_usd, agent.own.cost_unknown > 0, agent.budget);
            assert_eq!(cost, (row.cost_usd, row.cost_unknown, row.budget), "{name}");
            let began = (agent.queued_at_ms, agent.started_at_ms, agent.last_at_ms);
            assert_eq!(began, (row.queued_at_ms, row.started_at_ms, row.last_at_ms), "{name}");
            let ended = (agent.interrupted_at_ms, agent.ended_at_ms, agent.duration_ms, agent.delivered);
            let expected = (row.interrupted_at_ms, row.ended_at_ms, row.duration_ms, row.delivered);
            assert_eq!(ended, expected, "{name}");
            agents += 1;
        }
    }
    agents
}

#[test]
fn the_view_says_what_the_tables_say() {
    let person = Person::new([
        Turn::call("read_file", json!({"path": "main.py"})).and_call("read_file", json!({"path": "nope.py"})),
        Turn::call("shell", json!({"command": "exit 3"})),
        Turn::text("It prints hi."),
        Turn::text("Second."),
        Turn::text("Third."),
        Turn::call("read_file", json!({"path": "main.py"})),
    ]);
    person.posse(&["run", "what does\nit print?"]);
    person.posse(&["run", "second task"]);
    person.posse(&["resume", "last", "and more"]);
    person.posse(&["run", "--max-turns", "1", "out of turns"]);
    assert_eq!(compared(&person), 3);
}

#[test]
fn the_same_for_sub_agents_that_were_killed_left_and_resumed() {
    let crew = Crew::new();
    let person = &crew.person;
    let mut child = person.spawn(&["run", "share it out"]);
    eventually("both are at work", || crew.at_work());
    signal(&child, "KILL");
    child.wait().unwrap();
    assert_eq!(compared(person), 3, "interrupted");
    crew.let_go_on();
    let ran = person.posse(&["resume"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert_eq!(compared(person), 3, "and gone on to the end");

    let crew = Crew::new();
    let ran = crew.person.posse(&["run", "--detach", "share it out"]);
    assert_eq!(ran.code, Some(5), "{ran:#?}");
    assert_eq!(compared(&crew.person), 3, "left");
}
