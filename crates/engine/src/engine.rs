//! The engine as faces see it: open it on a data directory, start sessions, look at the record.

pub(crate) mod commands;
pub(crate) mod context_use;
pub(crate) mod export;
pub(crate) mod permits;
mod processes;
pub(crate) mod queries;
pub(crate) mod records;
pub(crate) mod review;
pub(crate) mod titles;
pub(crate) mod undo;
pub(crate) mod undo_request;
pub(crate) mod undo_steps;

use std::num::NonZeroUsize;
use std::path::Path;

use posse_model::Governors;
use posse_protocol::{AgentState, Event, Seq, SessionId};
use posse_store::{
    AgentRow, DATABASE_FILE, Durability, Health, SessionRow, Store, StoreError, prepare_data_dir,
};

use crate::agents::process_slots::ProcessSlots;
use crate::engine::permits::Ask;
use crate::error::EngineError;
use crate::record::bus::{Bus, Updates};
use crate::record::new_session_id;
use crate::record::processes::Processes;
use crate::record::session_lock;
use crate::session::closing;
use crate::session::fork;
use crate::session::process_parts::ProcessParts;
use crate::session::resume;
use crate::session::running::RunningSessions;
use crate::session::{self, HostRequest, HostedAgent, Session, SessionRequest};

/// Everything that runs in this process. Clones share it; the record is closed when the last one and the last
/// session are gone.
#[derive(Clone)]
pub struct Engine {
    pub(crate) parts: ProcessParts,
    /// Who is asked before undoing or merging writes what other programs act on by themselves.
    pub(crate) ask: Option<Ask>,
}

impl Engine {
    /// Opens the record in a data directory, which is made if it is missing. Sessions whose process is gone are on
    /// record as interrupted from here on.
    pub fn open(data_dir: &Path) -> Result<Self, EngineError> {
        Self::open_with(data_dir, Durability::default())
    }

    /// The same, with a say in what an acknowledged record survives.
    pub fn open_with(data_dir: &Path, durability: Durability) -> Result<Self, EngineError> {
        let database = prepare_data_dir(data_dir)?;
        let engine = Self::with(data_dir, |publish| Store::open(&database, durability, publish))?;
        let (processes, store) = (&engine.parts.processes, &engine.parts.store);
        let looked = closing::close_rested(processes, store)
            .and_then(|()| session_lock::find_interrupted(processes, store));
        if let Err(error) = looked {
            tracing::warn!(%error, "interrupted sessions could not be looked for");
        }
        session_lock::clear_left(&engine.parts.processes);
        Ok(engine)
    }

    /// An engine that keeps no record, to measure what recording costs.
    pub fn unrecorded(data_dir: &Path) -> Result<Self, EngineError> {
        Self::with(data_dir, Store::unrecorded)
    }

    /// The same engine, in which at most so many sub-agents run at the same time, those of all sessions together. Others wait
    /// for their turn. For before the first session.
    pub fn running_at_most(mut self, sub_agents: NonZeroUsize) -> Self {
        self.parts.slots = ProcessSlots::new(sub_agents.get());
        self
    }

    fn with(
        data_dir: &Path,
        open: impl FnOnce(Box<dyn Fn(Event) + Send>) -> Result<Store, StoreError>,
    ) -> Result<Self, EngineError> {
        let bus = Bus::default();
        let publisher = bus.clone();
        let store = open(Box::new(move |event| publisher.publish(event)))?;
        // Absolute: it is hidden from commands, wherever they run.
        let data_dir = std::path::absolute(data_dir).unwrap_or_else(|_| data_dir.to_path_buf());
        Ok(Self {
            parts: ProcessParts {
                processes: Processes::new(data_dir.clone()),
                data_dir,
                store,
                bus,
                governors: Governors::new(),
                slots: ProcessSlots::default(),
                running: RunningSessions::default(),
            },
            ask: None,
        })
    }

    /// Starts a session: its main agent begins to work at once, in the background.
    pub fn start(&self, request: SessionRequest) -> Result<Session, EngineError> {
        self.start_as(new_session_id(), request)
    }

    /// The same, under an id of [`new_session_id`] that nobody has used.
    pub fn start_as(&self, session: SessionId, request: SessionRequest) -> Result<Session, EngineError> {
        Session::start(&self.parts, session, request)
    }

    /// Runs one agent of a session on another machine, for which this process is a worker.
    pub fn host(&self, request: HostRequest) -> Result<HostedAgent, EngineError> {
        session::host(&self.parts, request)
    }

    /// Continues a session: where it was interrupted, or with what the person has to say now. The request's prompt is
    /// that, and may be empty; workspace, models, rights and tools are as they are today. Reading the record does not
    /// block the runtime.
    pub async fn resume(&self, session: SessionId, request: SessionRequest) -> Result<Session, EngineError> {
        self.read(move |engine| resume::resume(&engine.parts, session, request)).await
    }

    /// Starts a session that takes up the first turns of another's conversation: those of its main agent up to `turn`, all of
    /// them where none is named. The request's prompt says what to do next. The files stay as they are.
    pub async fn fork(
        &self,
        from: SessionId,
        turn: Option<u32>,
        request: SessionRequest,
    ) -> Result<Session, EngineError> {
        self.read(move |engine| fork::fork(&engine.parts, from, turn, request)).await
    }

    /// Reads the record without blocking the runtime: the methods of an engine that are not async wait for the disk.
    pub async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Self) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, EngineError> {
        let engine = self.clone();
        let reading = tokio::task::spawn_blocking(move || read(&engine));
        reading
            .await
            .unwrap_or_else(|_| Err(EngineError::Refused("reading the record broke off".to_string())))
    }

    /// The newest sessions on record.
    pub fn sessions(&self, limit: usize) -> Result<Vec<SessionRow>, EngineError> {
        Ok(self.parts.store.sessions(limit)?.into_iter().map(|row| self.as_it_is(row)).collect())
    }

    /// Whether files were changed in a session.
    pub fn changed_something(&self, session: SessionId) -> Result<bool, EngineError> {
        Ok(self.parts.store.has_event(session, "changed")?)
    }

    /// Lets go of the record without closing it, as [`Store::leave`] says: this process is about to end.
    pub fn leave(self) {
        if let Err(error) = self.parts.store.leave() {
            tracing::warn!(%error, "the end of the record could not be written");
        }
    }

    /// A session by its id, the beginning of its id, or `last`.
    pub fn find_session(&self, wanted: &str) -> Result<SessionRow, EngineError> {
        Ok(self.as_it_is(self.parts.store.find_session(wanted)?))
    }

    /// A session whose process died where its end could not be recorded, on a full disk say, is on record as running. What
    /// counts is whether anybody works on it.
    fn as_it_is(&self, mut row: SessionRow) -> SessionRow {
        if row.status == AgentState::Running && !session_lock::is_at_work(&self.parts.processes, row.id) {
            row.status = AgentState::Interrupted;
        }
        row
    }

    /// The agents of a session.
    pub fn agents(&self, session: SessionId) -> Result<Vec<AgentRow>, EngineError> {
        let mut agents = self.parts.store.agents(session)?;
        let open = |agent: &AgentRow| agent.ended_at_ms.is_none() && agent.status != AgentState::Interrupted;
        if agents.iter().any(open) && !session_lock::is_at_work(&self.parts.processes, session) {
            agents
                .iter_mut()
                .filter(|agent| open(agent))
                .for_each(|agent| agent.status = AgentState::Interrupted);
        }
        Ok(agents)
    }

    /// Events of a session on record, in order, from after a place.
    pub fn events_after(
        &self,
        session: SessionId,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<Event>, EngineError> {
        Ok(self.parts.store.events_after(session, after, limit)?)
    }

    /// Follows what is on record of a session, from after a place.
    pub fn recorded(&self, session: SessionId, after: Seq) -> Updates {
        Updates::new(session, self.parts.store.clone(), None, after, true)
    }

    /// Follows a session from after an event: first what is on record, then what happens, if it runs in this process. Any
    /// number can follow; one that is slow is served from the record and misses no event.
    pub async fn follow(&self, session: SessionId, after: Seq) -> Result<Updates, EngineError> {
        // Before the record is read: what is committed later is heard.
        let live = self.parts.bus.reader(session);
        let row = self.read(move |engine| engine.find_session(&session.to_string())).await?;
        if after > row.last_seq {
            let message =
                format!("The session has {} events; {} is not among them.", row.last_seq.0, after.0);
            return Err(EngineError::Refused(message));
        }
        Ok(Updates::new(session, self.parts.store.clone(), live, after, true))
    }

    /// Looks at the record of a data directory without changing it.
    pub fn health(data_dir: &Path) -> Result<Health, EngineError> {
        Ok(Store::health(&data_dir.join(DATABASE_FILE))?)
    }
}
