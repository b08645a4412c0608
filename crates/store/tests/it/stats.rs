//! What tasks came to, added up.

use std::collections::BTreeMap;

use posse_protocol::*;
use posse_store::{NewEvent, RoleRecord, Stats, StatsQuery, StatsRow, TimeSpent};
use rusqlite::Connection;

use crate::fixture::*;

/// Monday, 5 January 2026, 00:00 UTC.
const MONDAY_MS: u64 = 1_767_571_200_000;

/// One finished task.
struct Done {
    role: &'static str,
    model: &'static str,
    turns: u32,
    ending: Ending,
    cost_usd: Option<f64>,
    duration_ms: u64,
    ended_ms: u64,
}

impl Default for Done {
    fn default() -> Self {
        Self {
            role: "explore",
            model: "small",
            turns: 1,
            ending: Ending::Completed,
            cost_usd: Some(0.5),
            duration_ms: 100,
            ended_ms: MONDAY_MS,
        }
    }
}

impl Done {
    /// Its events, as agent `id` of session `n`.
    fn events(self, n: u128, id: u128) -> Vec<NewEvent> {
        let mut start = agent_started(self.role, 1);
        if let EventKind::AgentStarted { model_id, .. } = &mut start {
            *model_id = self.model.into();
        }
        let receipt =
            Receipt { cost_usd: self.cost_usd, duration_ms: self.duration_ms, ..Receipt::default() };
        let report = Report::new(self.ending, "done", receipt);
        let mut events = vec![start];
        for n in 1..=self.turns {
            let cached = Usage { cached_tokens: Some(8), ..usage(10, 2) };
            events.extend([turn(n), replied(cached)]);
        }
        events.push(EventKind::AgentSettled { report });
        let at = |kind| NewEvent { at_ms: self.ended_ms, ..below(n, n, id, kind) };
        events.into_iter().map(at).collect()
    }
}

/// Session `n` with a surface; its main agent has not ended.
fn begin(record: &Record, n: u128, surface: &str) {
    let mut events = start(n);
    if let EventKind::SessionStarted { surface: given, .. } = &mut events[0].kind {
        *given = surface.into();
    }
    record.put(events);
}

fn stats(record: &Record) -> Stats {
    record.store.stats(&StatsQuery::default()).unwrap()
}

fn row<'a>(rows: &'a [StatsRow], key: &str) -> &'a StatsRow {
    rows.iter().find(|row| row.key == key).unwrap_or_else(|| panic!("no {key} among {rows:?}"))
}

fn keys(rows: &[StatsRow]) -> Vec<(&str, u64)> {
    rows.iter().map(|row| (row.key.as_str(), row.tasks)).collect()
}

#[test]
fn a_record_without_tasks_has_no_figures() {
    let record = record();
    begin(&record, 1, "posse");
    let found = stats(&record);
    assert_eq!(found.total, StatsRow { key: "all".into(), ..StatsRow::default() });
    assert_eq!(found.total.success_percent(), None);
    assert_eq!([found.roles, found.models, found.surfaces, found.weeks], [const { Vec::new() }; 4]);
    assert_eq!(record.store.role_records("/code/1").unwrap(), []);
}

#[test]
fn working_time_is_told_by_what_it_went_to() {
    let record = record();
    begin(&record, 1, "posse");
    let mut events = Done { turns: 2, duration_ms: 1_000, ..Done::default() }.events(1, 10);
    let call = |name: &str, tool: &str, ms: u64| EventKind::ToolFinished {
        call: CallId(name.to_owned()),
        tool: tool.to_owned(),
        ok: true,
        text: String::new(),
        attachments: Vec::new(),
        effects: Vec::new(),
        duration_ms: ms,
    };
    // Before its end.
    let last = events.pop().unwrap();
    for kind in [call("a", "shell", 300), call("b", "shell", 100), call("c", "grep", 50)] {
        events.push(NewEvent { kind, ..last.clone() });
    }
    events.push(last);
    record.put(events);
    let spent = |kind: &str, ms, count| TimeSpent { kind: kind.to_owned(), ms, count };
    assert_eq!(stats(&record).time, [spent("model", 550, 2), spent("shell", 400, 2), spent("grep", 50, 1)]);
    let later = StatsQuery { since_ms: Some(u64::MAX), ..StatsQuery::default() };
    assert_eq!(record.store.stats(&later).unwrap().time, []);
}

#[test]
fn tasks_are_added_up_by_role() {
    let record = record();
    begin(&record, 1, "posse");
    let failure = Failure::EmptyReply;
    let tasks = [
        Done { turns: 9, duration_ms: 900, ..Done::default() },
        Done { turns: 1, duration_ms: 300, cost_usd: None, ..Done::default() },
        Done { turns: 2, ending: Ending::Failed { failure }, ..Done::default() },
        // It never began to work: that costs nothing, and says nothing about turns.
        Done { turns: 0, ending: Ending::Cancelled, cost_usd: None, duration_ms: 0, ..Done::default() },
        Done { role: "review", model: "large", turns: 4, ..Done::default() },
    ];
    for (id, task) in (10..).zip(tasks) {
        record.put(task.events(1, id));
    }
    let found = stats(&record);
    assert_eq!(keys(&found.roles), [("explore", 4), ("review", 1)]);
    let expected = StatsRow {
        key: "explore".into(),
        tasks: 4,
        completed: 2,
        endings: BTreeMap::from([
            (AgentState::Cancelled, 1),
            (AgentState::Completed, 2),
            (AgentState::Failed, 1),
        ]),
        turns_median: Some(2),
        turns_total: 12,
        usage: Usage { cached_tokens: Some(96), ..usage(120, 24) },
        cost_usd: Some(1.0),
        cost_unknown: 1,
        duration_ms_median: Some(200),
        duration_ms_total: 1_300,
        warned: 0,
        undone: 0,
        merges: 0,
        merge_conflicts: 0,
    };
    assert_eq!(found.roles[0], expected);
    assert_eq!(found.roles[0].success_percent(), Some(50));
    assert_eq!((found.total.tasks, found.total.turns_total), (5, 16));
    assert_eq!(keys(&found.models), [("small", 4), ("large", 1)]);
    // The main agent is no task before it ends.
    record.put(vec![event(1, settled(Ending::Completed))]);
    assert_eq!(keys(&stats(&record).roles), [("explore", 4), ("main", 1), ("review", 1)]);
}

#[test]
fn an_unknown_cost_is_never_zero() {
    let record = record();
    begin(&record, 1, "posse");
    record.put(Done { cost_usd: None, ..Done::default() }.events(1, 10));
    let total = stats(&record).total;
    assert_eq!((total.cost_usd, total.cost_unknown), (None, 1));
    record.put(Done { cost_usd: Some(0.0), ..Done::default() }.events(1, 11));
    let total = stats(&record).total;
    assert_eq!((total.cost_usd, total.cost_unknown), (Some(0.0), 1));
}

#[test]
fn what_was_interrupted_counts_as_such() {
    let record = record();
    begin(&record, 1, "posse");
    let mut events = Done { turns: 3, ..Done::default() }.events(1, 10);
    events.pop();
    record.put(events);
    assert_eq!(stats(&record).total.tasks, 0, "it still runs");
    let agents = vec![agent(1), agent(10)];
    record.put(vec![event(1, EventKind::SessionInterrupted { agents, detached: false })]);
    let found = stats(&record);
    let explore = row(&found.roles, "explore");
    assert_eq!(explore.endings, BTreeMap::from([(AgentState::Interrupted, 1)]));
    assert_eq!((explore.turns_median, explore.duration_ms_median), (Some(3), None));
    assert_eq!(found.total.tasks, 2);
}

#[test]
fn tasks_are_split_by_surface_model_and_week() {
    const DAY_MS: u64 = 24 * 60 * 60 * 1_000;
    let record = record();
    begin(&record, 1, "codex");
    begin(&record, 2, "claude");
    begin(&record, 3, "");
    let ended = |ended_ms| Done { ended_ms, ..Done::default() };
    record.put(ended(MONDAY_MS - 1).events(1, 10));
    record.put(ended(MONDAY_MS).events(1, 11));
    record.put(ended(MONDAY_MS + 7 * DAY_MS - 1).events(2, 12));
    record.put(ended(MONDAY_MS + 7 * DAY_MS).events(2, 13));
    record.put(Done { ended_ms: u64::MAX, model: "large", ..Done::default() }.events(3, 14));
    // Cancelled before it began: no model was ever used.
    record.put(vec![
        below(2, 2, 15, admitted("explore-9", 1, "t")),
        below(2, 2, 15, settled(Ending::Cancelled)),
    ]);
    let found = stats(&record);
    assert_eq!(keys(&found.surfaces), [("claude", 3), ("codex", 2), ("none", 1)]);
    assert_eq!(keys(&found.models), [("small", 4), ("large", 1), ("none", 1)]);
    let weeks = [("2025-12-29", 2), ("2026-01-05", 2), ("2026-01-12", 1), ("none", 1)];
    assert_eq!(keys(&found.weeks), weeks);
}

#[test]
fn only_what_is_asked_for_counts() {
    let record = record();
    begin(&record, 1, "posse");
    begin(&record, 2, "posse");
    let ended = |ended_ms| Done { ended_ms, ..Done::default() };
    record.put(ended(MONDAY_MS).events(1, 10));
    record.put(ended(MONDAY_MS + 5).events(1, 11));
    record.put(ended(MONDAY_MS + 9).events(2, 12));
    let count = |since_ms, project: Option<&str>| {
        let query = StatsQuery { since_ms, project: project.map(str::to_owned) };
        record.store.stats(&query).unwrap().total.tasks
    };
    assert_eq!(count(None, None), 3);
    assert_eq!(count(Some(MONDAY_MS + 5), None), 2);
    assert_eq!(count(Some(MONDAY_MS + 5), Some("/code/1")), 1);
    assert_eq!(count(None, Some("/code/2")), 1);
    assert_eq!(count(None, Some("/elsewhere")), 0);
    assert_eq!(count(Some(u64::MAX), None), 0);
}

#[test]
fn undone_work_and_merges_are_counted() {
    let record = record();
    begin(&record, 1, "posse");
    record.put(Done::default().events(1, 10));
    record.put(Done::default().events(1, 11));
    let changed = EventKind::Changed { turn: 1, changes: vec![] };
    let place = record.put(vec![below(1, 1, 10, changed.clone()), below(1, 1, 10, changed)]);
    let undone = |events| EventKind::Undone {
        what: "a.rs".into(),
        events,
        paths: vec![],
        changes: vec![],
        conflicts: vec![],
        left: vec![],
    };
    let conflict = Conflict { path: "a.rs".into(), text: "both changed it".into() };
    let merged = |conflicts| EventKind::Merged {
        from: agent(11),
        branch: "posse/11".into(),
        changes: vec![],
        conflicts,
    };
    record.put(vec![
        event(1, undone(vec![Seq(place - 1)])),
        event(1, undone(vec![Seq(place)])),
        event(1, merged(vec![])),
        event(1, merged(vec![conflict])),
    ]);
    let total = stats(&record).total;
    assert_eq!((total.undone, total.merges, total.merge_conflicts), (1, 2, 1), "a task is undone once");
}

#[test]
fn role_records_tell_what_worked_in_a_project() {
    let record = record();
    begin(&record, 1, "posse");
    begin(&record, 2, "posse");
    let tasks = [
        Done { turns: 3, ..Done::default() },
        Done { turns: 7, ..Done::default() },
        Done { turns: 4, ending: Ending::OutOfTurns, ..Done::default() },
        Done { role: "review", turns: 2, ending: Ending::Refused, ..Done::default() },
    ];
    for (id, task) in (10..).zip(tasks) {
        record.put(task.events(1, id));
    }
    record.put(Done { role: "general", ..Done::default() }.events(2, 20));
    record.put(vec![event(1, settled(Ending::Completed))]);
    let expected = [
        RoleRecord { role: "explore".into(), tasks: 3, success_percent: 67, turns_median: Some(4) },
        RoleRecord { role: "review".into(), tasks: 1, success_percent: 0, turns_median: Some(2) },
    ];
    assert_eq!(record.store.role_records("/code/1").unwrap(), expected);
    assert_eq!(record.store.role_records("/elsewhere").unwrap(), []);
}

/// Rows as very many tasks leave them, put in directly: what is measured here is asking.
#[test]
fn very_many_tasks_are_added_up() {
    const AGENTS: u64 = 100_000;
    let record = record();
    begin(&record, 1, "posse");
    let rows = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1)
         INSERT INTO agent_rows (number, session_id, id, parent_id, name, role, depth, status, model_id, ended_at_ms,
           duration_ms)
         SELECT 1000 + i, (SELECT id FROM sessions), 'agent-' || i, 'main', 'a', 'role-' || (i % 3), 1,
           iif(i % 4, 'completed', 'failed'), 'm', ?2 + i, i FROM n";
    let figures = "INSERT INTO agent_figures (agent, last_at_ms, turns, cost_usd)
         SELECT number, 0, 1 + (number - 1000) % 9, 0.001 FROM agent_rows WHERE number >= 1000";
    let other = Connection::open(&record.path).unwrap();
    other.execute(rows, (AGENTS as i64, MONDAY_MS as i64)).unwrap();
    other.execute(figures, ()).unwrap();
    let found = stats(&record);
    assert_eq!((found.total.tasks, found.total.completed), (AGENTS, AGENTS / 4 * 3));
    assert_eq!(found.total.turns_median, Some(5));
    assert_eq!(found.total.duration_ms_total, AGENTS * (AGENTS - 1) / 2);
    let median = found.total.duration_ms_median.unwrap();
    assert!(median.abs_diff(AGENTS / 2) <= AGENTS / 1_000, "{median}");
    assert_eq!(keys(&found.roles), [("role-0", 33_334), ("role-1", 33_333), ("role-2", 33_333)]);
    assert_eq!(keys(&found.weeks), [("2026-01-05", AGENTS)]);
    let records = record.store.role_records("/code/1").unwrap();
    assert_eq!(
        records.iter().map(|r| r.tasks).sum::<u64>(),
        posse_store::limits::ROLE_RECORD_TASKS_MAX as u64
    );
}

#[test]
fn reports_with_warnings_are_counted() {
    let record = record();
    begin(&record, 1, "posse");
    for (id, warnings) in [(10, 2), (11, 0), (12, 1)] {
        let mut events = Done::default().events(1, id);
        for event in &mut events {
            if let EventKind::AgentSettled { report } = &mut event.kind {
                report.warnings = vec!["it cites what is not there".into(); warnings];
                report.notes = vec!["No checkout of its own.".into()];
            }
        }
        record.put(events);
    }
    let found = stats(&record);
    assert_eq!((found.roles[0].warned, found.roles[0].warned_percent()), (2, Some(67)));
    assert_eq!((found.models[0].warned, found.total.warned), (2, 2));
}
