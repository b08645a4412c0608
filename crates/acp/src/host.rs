//! What all sessions of one connection share. The record is opened when it is first needed, so that a client is answered at once.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use agent_client_protocol_schema::v1::Error;
use posse_api::Listening;
use posse_engine::Engine;
use posse_protocol::TraceParent;
use posse_setup::{Config, Paths, SessionPlan, Wishes, model_list};
use tokio::sync::OnceCell;

use crate::client::AcpClient;
use crate::errors::{failed, invalid_params, invalid_request, no_session, of_engine, of_preparing};
use crate::limits::SESSIONS_MAX;
use crate::options::SessionSettings;
use crate::session::AcpSession;

/// One connection.
pub(crate) struct AcpHost {
    pub(crate) paths: Arc<Paths>,
    /// What flags wish for every session.
    pub(crate) wishes: Wishes,
    pub(crate) version: String,
    pub(crate) client: Arc<AcpClient>,
    /// The span that the connection belongs to, and so every session of which nothing else is said.
    pub(crate) traceparent: OnceLock<TraceParent>,
    engine: OnceCell<Engine>,
    /// The socket over which other processes reach the sessions.
    listening: Mutex<Option<Listening>>,
    sessions: Mutex<HashMap<Arc<str>, Arc<AcpSession>>>,
}

impl AcpHost {
    pub(crate) fn new(paths: Arc<Paths>, wishes: Wishes, version: String) -> Self {
        Self {
            paths,
            wishes,
            version,
            client: Arc::default(),
            traceparent: OnceLock::new(),
            engine: OnceCell::new(),
            listening: Mutex::new(None),
            sessions: Mutex::default(),
        }
    }

    /// The engine, opened with the settings of whoever needs it first.
    pub(crate) async fn engine(&self, config: &Config) -> Result<Engine, Error> {
        let opened = self.engine.get_or_try_init(|| async {
            let (folder, durability) = (self.paths.data_dir.clone(), config.durability());
            let running = config.running_in_process();
            let opened = tokio::task::spawn_blocking(move || Engine::open_with(&folder, durability)).await;
            let engine = opened.map_err(failed)?.map_err(|error| of_engine(&error))?;
            let engine = engine.running_at_most(running);
            *self.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(posse_api::listen(&engine));
            Ok::<_, Error>(engine)
        });
        opened.await.cloned()
    }

    /// The engine, if somebody has needed it.
    pub(crate) fn opened_engine(&self) -> Option<Engine> {
        self.engine.get().cloned()
    }

    pub(crate) fn take_listening(&self) -> Option<Listening> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The configuration in a folder, and what sessions there can be set to.
    pub(crate) fn settings_in(&self, folder: &Path) -> Result<(Config, SessionSettings), Error> {
        let plan = SessionPlan::read(&self.paths, folder, self.wishes.clone());
        let config = plan.map_err(|error| of_preparing(&error))?.config().clone();
        let models = model_list(&config, self.paths.surroundings());
        let settings = SessionSettings {
            mode: config.approval(),
            mode_chosen: self.wishes.approval.is_some(),
            model: self.wishes.model.clone(),
            models: models.into_iter().map(|model| model.name).collect(),
            surface: self.wishes.surface,
            begun: false,
        };
        Ok((config, settings))
    }

    /// Opens a session. A new one has to find room.
    pub(crate) fn open(&self, session: AcpSession) -> Result<Arc<AcpSession>, Error> {
        let mut sessions = self.sessions();
        if sessions.len() >= SESSIONS_MAX && !sessions.contains_key(&session.wire) {
            return Err(invalid_request(format!(
                "{SESSIONS_MAX} sessions are open; close one of them first"
            )));
        }
        let session = Arc::new(session);
        session.trace(self.traceparent.get().copied());
        sessions.insert(Arc::clone(&session.wire), Arc::clone(&session));
        Ok(session)
    }

    pub(crate) fn session(&self, id: &str) -> Result<Arc<AcpSession>, Error> {
        self.sessions().get(id).cloned().ok_or_else(|| no_session(id))
    }

    /// The session that a sub-agent's session belongs to, and what the sub-agent is called.
    pub(crate) fn child(&self, id: &str) -> Option<(Arc<AcpSession>, String)> {
        let sessions = self.sessions();
        sessions.values().find_map(|session| Some((Arc::clone(session), session.child(id)?)))
    }

    pub(crate) fn forget(&self, id: &str) -> Option<Arc<AcpSession>> {
        self.sessions().remove(id)
    }

    pub(crate) fn all(&self) -> Vec<Arc<AcpSession>> {
        self.sessions().values().cloned().collect()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<AcpSession>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folder of a session, links resolved.
pub(crate) fn folder_of(cwd: &Path) -> Result<PathBuf, Error> {
    if !cwd.is_absolute() {
        return Err(invalid_params("cwd has to be an absolute path"));
    }
    let shown = posse_protocol::visible::one_line(&cwd.display().to_string(), 200);
    let folder =
        cwd.canonicalize().map_err(|error| invalid_params(format!("cannot open {shown}: {error}")))?;
    match folder.is_dir() {
        true => Ok(folder),
        false => Err(invalid_params(format!("{shown} is not a folder"))),
    }
}
