//! From the events of one transaction to the tables: the events themselves, and everything derived from them, inside
//! the writer's transaction.
//!
//! No work here grows with the session: totals are kept by adding, and only the end of a prompt reads the calls made
//! under it. Most events only add to figures; those are added up, and written once at the end or before something
//! depends on them. It must not know when transactions begin or end.

mod agent_figures;
mod agents;
mod changes;
mod figures;
mod memory;
mod messages;
mod recovery;
mod sessions;
mod settling;
mod tally;
mod tool_calls;

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;
use std::rc::Rc;

use posse_protocol::{AgentId, AgentState, EventKind, Sender, Seq, SessionId};
use rusqlite::types::FromSql;
use rusqlite::{CachedStatement, Connection, OptionalExtension, Params, Row};

use crate::event_types::type_word;
use crate::queue::{PreparedEvent, Waiting};
use crate::{NewEvent, StoreError, blobs};
use agent_figures::AgentFigures;

/// Puts everything on record, each event in the next place of its session, and says which places they are.
pub(crate) fn record(
    connection: &Connection,
    path: &Path,
    waiting: &[Waiting],
) -> Result<Vec<Vec<Seq>>, StoreError> {
    let mut ledger = Ledger::new(Sql { connection, path })?;
    let places = waiting
        .iter()
        .map(|one| one.batch.events.iter().map(|event| ledger.record(event)).collect())
        .collect::<Result<_, _>>()?;
    ledger.close()?;
    Ok(places)
}

/// The writer's connection inside a transaction.
#[derive(Clone, Copy)]
struct Sql<'a> {
    connection: &'a Connection,
    path: &'a Path,
}

impl Sql<'_> {
    /// Runs one statement and says how many rows it changed.
    fn run(self, sql: &str, parameters: impl Params) -> Result<usize, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(parameters))
            .map_err(|e| StoreError::from_sql(self.path, e))
    }

    /// The first column of the first row, if there is one.
    fn ask<T: FromSql>(self, sql: &str, parameters: impl Params) -> Result<Option<T>, StoreError> {
        self.ask_row(sql, parameters, |row| row.get(0))
    }

    /// The first row, if there is one.
    fn ask_row<T>(
        self,
        sql: &str,
        parameters: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(parameters, read).optional())
            .map_err(|e| StoreError::from_sql(self.path, e))
    }

    /// All rows; the question limits how many there can be.
    fn ask_rows<T>(
        self,
        sql: &str,
        parameters: impl Params,
        read: fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StoreError> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(parameters, read)?.collect())
            .map_err(|e| StoreError::from_sql(self.path, e))
    }
}

/// One event on its way into the tables.
struct Change<'a> {
    sql: Sql<'a>,
    event: &'a NewEvent,
    /// Its place, already given, and its key.
    seq: i64,
    key: i64,
    /// The ids as the tables keep them.
    session: Rc<str>,
    agent: String,
}

impl Change<'_> {
    /// Runs one statement and says how many rows it changed.
    fn run(&self, sql: &str, parameters: impl Params) -> Result<usize, StoreError> {
        self.sql.run(sql, parameters)
    }

    /// The first column of the first row, if there is one.
    fn ask<T: FromSql>(&self, sql: &str, parameters: impl Params) -> Result<Option<T>, StoreError> {
        self.sql.ask(sql, parameters)
    }

    /// The agent that it happened to.
    fn who(&self) -> (SessionId, AgentId) {
        (self.event.session, self.event.agent)
    }

    /// Whether this is about the main agent, whose state is the session's.
    fn is_main(&self) -> bool {
        self.event.parent.is_none()
    }
}

/// The agents that have been met in this transaction.
type Agents = HashMap<(SessionId, AgentId), AgentFigures>;

/// One transaction: what has been added up and is not in the tables yet.
struct Ledger<'a> {
    sql: Sql<'a>,
    /// Puts an event on record: prepared once, because it runs most.
    insert: CachedStatement<'a>,
    sessions: HashMap<SessionId, sessions::OpenSession>,
    agents: Agents,
    calls: Vec<tool_calls::NewCall<'a>>,
}

impl<'a> Ledger<'a> {
    fn new(sql: Sql<'a>) -> Result<Self, StoreError> {
        let insert = sql.connection.prepare_cached(
            "INSERT INTO event_rows (id, agent_id, parent_id, at_ms, type, body, blob_bytes)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        );
        let insert = insert.map_err(|e| StoreError::from_sql(sql.path, e))?;
        Ok(Self { sql, insert, sessions: HashMap::new(), agents: Agents::new(), calls: Vec::new() })
    }

    /// Puts one event on record and derives what follows from it.
    fn record(&mut self, prepared: &'a PreparedEvent) -> Result<Seq, StoreError> {
        let event = &prepared.event;
        let (sql, agent) = (self.sql, event.agent.to_string());
        let session = self.session(event)?;
        let seq = session.take(event);
        let change =
            Change { sql, event, seq, key: session.key(seq), session: Rc::clone(&session.id), agent };
        let row = (
            change.key,
            &change.agent,
            event.parent.map(|id| id.to_string()),
            figures::whole(event.at_ms),
            type_word(&event.kind),
            &prepared.body.json,
            figures::whole(prepared.body.blob_bytes as u64),
        );
        self.insert.execute(row).map_err(|e| StoreError::from_sql(sql.path, e))?;
        for blob in &prepared.body.blobs {
            self.keep(&change, blob)?;
        }
        self.project(&change)?;
        Ok(Seq(u64::try_from(change.seq).unwrap_or_default()))
    }

    /// The session of an event, which may begin with it.
    fn session(&mut self, event: &NewEvent) -> Result<&mut sessions::OpenSession, StoreError> {
        sessions::start(self.sql, event)?;
        match self.sessions.entry(event.session) {
            Entry::Occupied(known) => Ok(known.into_mut()),
            Entry::Vacant(new) => Ok(new.insert(sessions::OpenSession::read(self.sql, event.session)?)),
        }
    }

    /// A text that is there already is not written again.
    fn keep(&self, change: &Change<'_>, blob: &blobs::Blob) -> Result<(), StoreError> {
        change.run(
            "INSERT INTO blobs (hash, bytes, content) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
            (&blob.hash, figures::whole(blob.content.len() as u64), &blob.content),
        )?;
        change
            .run(
                "INSERT INTO event_blobs (session_id, seq, hash) VALUES (?1, ?2, ?3)",
                (&change.session, change.seq, &blob.hash),
            )
            .map(drop)
    }

    fn project(&mut self, change: &Change<'a>) -> Result<(), StoreError> {
        match &change.event.kind {
            EventKind::SessionStarted { .. } => Ok(()),
            EventKind::SessionInterrupted { agents, detached: _ } => {
                self.write_calls()?;
                recovery::interrupted(change, agents)
            }
            EventKind::SessionNamed { title, by: _ } => sessions::named(change, title),
            EventKind::SessionResumed { .. } => sessions::status(change, AgentState::Running),
            EventKind::AgentAdmitted {
                name,
                role,
                depth,
                title,
                requested_model,
                context,
                continues,
                brief,
            } => {
                let admission = agents::AdmittedAgent {
                    name,
                    role,
                    depth: *depth,
                    title,
                    requested_model: requested_model.as_deref(),
                    context: *context,
                    continues: *continues,
                    words: brief.as_ref().map_or(title.as_str(), |brief| &brief.words),
                };
                self.admit(change, &admission)
            }
            EventKind::AgentStarted {
                role,
                depth,
                model,
                model_id,
                budget,
                system,
                grant: _,
                checkout: _,
            } => self.start(
                change,
                &messages::BegunAgent { role, depth: *depth, model, model_id, budget, system },
            ),
            kind => self.project_work(change, kind),
        }
    }

    /// One that is on record already stays as it is.
    fn admit(
        &mut self,
        change: &Change<'_>,
        admission: &agents::AdmittedAgent<'_>,
    ) -> Result<(), StoreError> {
        if agent_of(&mut self.agents, change)?.is_none() {
            self.agents.insert(change.who(), agents::admitted(change, admission)?);
        }
        Ok(())
    }

    fn start(&mut self, change: &Change<'_>, start: &messages::BegunAgent<'_>) -> Result<(), StoreError> {
        if agent_of(&mut self.agents, change)?.is_none() {
            self.agents.insert(change.who(), agents::came(change, start)?);
        }
        let agent = known(&mut self.agents, change)?;
        agent.note(change);
        agents::started(change, agent, start)?;
        sessions::runs(change, start.model)
    }

    /// What happens to an agent that is on record.
    fn project_work(&mut self, change: &Change<'a>, kind: &'a EventKind) -> Result<(), StoreError> {
        let agent = known(&mut self.agents, change)?;
        agent.note(change);
        match kind {
            // All that these tell has been added up, or is read from the events themselves.
            EventKind::TurnStarted { .. }
            | EventKind::Retrying { .. }
            | EventKind::Replied { .. }
            | EventKind::AgentPlaced { .. }
            | EventKind::WorkKept { .. }
            | EventKind::CheckedOut { .. }
            | EventKind::SessionForked { .. }
            | EventKind::Mailed { .. }
            | EventKind::MailEdited { .. }
            | EventKind::MailWithdrawn { .. }
            | EventKind::Closing { .. }
            | EventKind::Changed { .. }
            | EventKind::ChangedMeanwhile { .. }
            | EventKind::NotCovered { .. }
            | EventKind::Reviewed { .. }
            | EventKind::HookRan { .. }
            | EventKind::BackgroundStarted { .. }
            | EventKind::BackgroundEnded { .. } => Ok(()),
            EventKind::ToolStarted { call, tool, title, repeatable, .. } => {
                let start = tool_calls::CallStart { seq: change.seq, title, repeatable: *repeatable };
                tool_calls::started(&mut self.calls, agent, call, tool, start);
                Ok(())
            }
            EventKind::ToolFinished { call, tool, ok, text, duration_ms, effects, .. } => {
                memory::noted(change, agent, effects)?;
                let end = tool_calls::CallEnd::new(change.seq, *ok, *duration_ms, text.len());
                tool_calls::finished(self.sql, &mut self.calls, agent, call, tool, end)
            }
            EventKind::AgentRested { report } => {
                tool_calls::write(self.sql, &mut self.calls)?;
                settling::rested(change, agent, report.as_ref())
            }
            EventKind::AgentSettled { report } => {
                tool_calls::write(self.sql, &mut self.calls)?;
                let session = self.sessions.get_mut(&change.event.session);
                let session = session.ok_or(StoreError::UnknownSession { session: change.event.session })?;
                settling::settled(change, agent, report, session.tally())
            }
            kind => step(change, agent, kind),
        }
    }

    fn write_calls(&mut self) -> Result<(), StoreError> {
        tool_calls::write(self.sql, &mut self.calls)
    }

    /// Writes everything that has been added up.
    fn close(mut self) -> Result<(), StoreError> {
        self.write_calls()?;
        self.agents.values_mut().try_for_each(|agent| agent.write(self.sql))?;
        self.sessions.values().try_for_each(|session| session.write(self.sql))
    }
}

/// The agent of an event, if it is on record.
fn agent_of<'a>(
    agents: &'a mut Agents,
    change: &Change<'_>,
) -> Result<Option<&'a mut AgentFigures>, StoreError> {
    match agents.entry(change.who()) {
        Entry::Occupied(met) => Ok(Some(met.into_mut())),
        Entry::Vacant(new) => {
            let found = AgentFigures::find(change.sql, &change.session, change.event.agent)?;
            Ok(found.map(|agent| new.insert(agent)))
        }
    }
}

/// The agent of an event, which must be on record.
fn known<'a>(agents: &'a mut Agents, change: &Change<'_>) -> Result<&'a mut AgentFigures, StoreError> {
    agent_of(agents, change)?.ok_or(StoreError::UnknownAgent { agent: change.event.agent })
}

/// What changes more than figures.
fn step(change: &Change<'_>, agent: &mut AgentFigures, kind: &EventKind) -> Result<(), StoreError> {
    match kind {
        EventKind::AgentQueued { .. } => agents::queued(change, agent),
        EventKind::AgentResumed { model, model_id, budget, elapsed_ms: _, grant: _ } => {
            recovery::resumed(change, agent, &recovery::Resumption { model, model_id, budget })
        }
        EventKind::SettingsChanged { model, model_id, .. } => {
            agents::model_changed(change, agent, model, model_id)?;
            sessions::model_changed(change, model)
        }
        EventKind::BudgetRaised { budget } => agents::budget(change, agent, budget),
        EventKind::AgentWoken { budget, elapsed_ms: _ } => {
            agents::woken(change, agent)?;
            agents::budget(change, agent, budget)?;
            sessions::runs(change, "")
        }
        EventKind::Told { from: Sender::Person | Sender::Parent, text, .. } => {
            messages::opened(change, agent, text)?;
            agents::reopened(change, agent)?;
            sessions::told(change, text)
        }
        EventKind::Told { from: Sender::Posse | Sender::Reports | Sender::Peer, text, .. } => {
            if messages::woken(change, agent, text)? {
                sessions::told(change, text)
            } else {
                Ok(())
            }
        }
        EventKind::ModelFailed { error, .. } => agents::model_failed(change, agent, &error.message),
        EventKind::CutShort { text, .. } => messages::cut_short(change, agent, text),
        EventKind::Compacted { .. } => {
            agents::compacted(change, agent)?;
            messages::compacted(change, agent)
        }
        EventKind::PersonNeeded { .. } => agents::person_needed(change, agent),
        EventKind::PersonAnswered { .. } => agents::person_answered(change, agent),
        EventKind::Checkpointed { turn, commit } => changes::checkpointed(change, *turn, commit),
        EventKind::Merged { from, conflicts, .. } => changes::merged(change, *from, conflicts.len()),
        EventKind::Undone { events, .. } => changes::undone(change, events),
        EventKind::ReportsDelivered { agents } => agents::delivered(change, agents),
        // Done before.
        _ => Ok(()),
    }
}
