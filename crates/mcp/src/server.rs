//! One server: started when it is needed, started again after a pause if it fails, and ended with the session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use posse_tools::{OutsideLine, OutsidePlace, OutsideServer, OutsideState};
use sha2::{Digest as _, Sha256};
use tokio_util::sync::CancellationToken;

use crate::connection::ServerLink;
use crate::entry::{EntryOrigin, ServerEntry, ServerReach};
use crate::known::{Era, KnownServer, KnownTool};
use crate::limits;
use crate::listing::list;
use crate::names::{plain, tool_name};
use crate::stranger::few_words;

/// One server of a session.
pub(crate) struct ToolServer {
    pub(crate) entry: ServerEntry,
    /// Where what is known of it is kept, and its home.
    folder: PathBuf,
    place: OnceLock<OutsidePlace>,
    status: Mutex<Status>,
    /// Held by whoever starts it; the others wait for that.
    link: tokio::sync::Mutex<Link>,
    /// Whether the session has ended.
    over: CancellationToken,
}

/// What everybody may know at once.
struct Status {
    state: OutsideState,
    why: String,
    known: Arc<KnownServer>,
}

/// The connection, and what came of earlier ones.
#[derive(Default)]
struct Link {
    connection: Option<Arc<ServerLink>>,
    /// Failures in a row.
    failures: u32,
    /// When it may be started again, and why it failed.
    pause: Option<(Instant, String)>,
}

impl std::fmt::Debug for ToolServer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolServer").field("entry", &self.entry).finish_non_exhaustive()
    }
}

impl ToolServer {
    /// A server with what is known of it in this folder.
    pub(crate) fn new(entry: ServerEntry, keep: &Path) -> Self {
        let folder = keep.join(folder_name(&entry));
        let known = Arc::new(KnownServer::load(&folder));
        let status = Mutex::new(Status { state: OutsideState::Waiting, why: String::new(), known });
        Self {
            entry,
            folder,
            place: OnceLock::new(),
            status,
            link: tokio::sync::Mutex::default(),
            over: CancellationToken::new(),
        }
    }

    /// Says where the session works. The first word counts.
    pub(crate) fn begin(&self, place: OutsidePlace) {
        let _ = self.place.set(place);
    }

    fn status(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, state: OutsideState, why: &str) {
        let mut status = self.status();
        (status.state, status.why) = (state, why.to_owned());
    }

    /// What is known of it.
    pub(crate) fn known(&self) -> Arc<KnownServer> {
        Arc::clone(&self.status().known)
    }

    /// How it is.
    pub(crate) fn state(&self) -> (OutsideState, String) {
        let status = self.status();
        (status.state, status.why.clone())
    }

    /// Whether agents may be told of a tool.
    pub(crate) fn offers(&self, tool: &KnownTool) -> bool {
        let wanted = &self.entry.tools;
        wanted.is_empty() || wanted.iter().any(|pattern| posse_policy::name_matches(pattern, &tool.name))
    }

    /// The tools that agents may be told of.
    pub(crate) fn tools(&self) -> Vec<KnownTool> {
        let known = self.known();
        known.tools.iter().flatten().filter(|tool| self.offers(tool)).cloned().collect()
    }

    /// The tools of them that agents call by this name: one, unless two names become the same.
    pub(crate) fn named(&self, name: &str) -> Vec<KnownTool> {
        let called = |tool: &&KnownTool| tool_name(&self.entry.name, &tool.name) == name && self.offers(tool);
        self.known().tools.iter().flatten().filter(called).cloned().collect()
    }

    /// A connection, made if there is none.
    pub(crate) async fn connection(&self) -> Result<Arc<ServerLink>, String> {
        tokio::select! {
            biased;
            () = self.over.cancelled() => Err("the session has ended".to_owned()),
            connection = self.connect() => connection,
        }
    }

    async fn connect(&self) -> Result<Arc<ServerLink>, String> {
        let mut link = self.link.lock().await;
        if let Some(connection) = link.connection.take() {
            if !connection.is_closed() {
                if connection.take_changed() {
                    self.learn(Arc::clone(&connection)).await;
                }
                link.connection = Some(Arc::clone(&connection));
                return Ok(connection);
            }
            let why = connection.why_closed().await;
            self.failed(&mut link, why);
        }
        if let Some((until, why)) = link.pause.clone() {
            let left = until.saturating_duration_since(Instant::now());
            if left > Duration::from_millis(limits::BACKOFF_WAIT_MS_MAX) {
                let seconds = left.as_secs().max(1);
                return Err(format!(
                    "it failed {} times and is tried again in {seconds} s: {why}",
                    link.failures
                ));
            }
            tokio::time::sleep(left).await;
        }
        self.set(OutsideState::Starting, "");
        let limit = Duration::from_millis(limits::START_MS);
        let opened = tokio::time::timeout(limit, self.open()).await;
        let opened =
            opened.unwrap_or_else(|_| Err(format!("it was not ready within {} s", limits::START_MS / 1000)));
        match opened {
            Ok(connection) => {
                (link.failures, link.pause) = (0, None);
                link.connection = Some(Arc::clone(&connection));
                self.set(OutsideState::Running, "");
                Ok(connection)
            }
            Err(why) => {
                self.failed(&mut link, why.clone());
                Err(why)
            }
        }
    }

    fn failed(&self, link: &mut Link, why: String) {
        link.failures += 1;
        let pause =
            limits::BACKOFF_MS.saturating_mul(1 << (link.failures - 1).min(16)).min(limits::BACKOFF_MS_MAX);
        let why = self.entry.without_values(&why);
        self.set(OutsideState::Failed, &why);
        link.pause = Some((Instant::now() + Duration::from_millis(pause), why));
    }

    async fn open(&self) -> Result<Arc<ServerLink>, String> {
        let place = self.place.get().ok_or("the session has not begun")?;
        let home = self.folder.join("home");
        private_folder(&home).map_err(|error| format!("its home cannot be made: {error}"))?;
        let era = self.known().era;
        let mut opened = ServerLink::open(&self.entry, &home, place, era).await;
        if opened.is_err() && era.is_some() {
            // It may have been replaced by another version since.
            opened = ServerLink::open(&self.entry, &home, place, None).await;
        }
        if opened.as_ref().is_err_and(|not| not.answers) {
            // Some of the older era answer what they do not know with something that is no error.
            opened = ServerLink::open(&self.entry, &home, place, Some(Era::Older)).await;
        }
        let connection = opened.map_err(|not| not.why)?;
        let connection = Arc::new(connection);
        let known = list(&connection).await?;
        self.keep(known);
        Ok(connection)
    }

    /// Asks again what it has.
    async fn learn(&self, connection: Arc<ServerLink>) {
        if let Ok(known) = list(&connection).await {
            self.keep(known);
        }
    }

    fn keep(&self, known: KnownServer) {
        known.save(&self.folder);
        self.status().known = Arc::new(known);
    }

    /// Ends it, and waits for its end.
    pub(crate) async fn end(&self) {
        self.over.cancel();
        let connection = self.link.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
        self.set(OutsideState::Waiting, "");
    }

    /// How it is, for whoever shows it.
    pub(crate) fn shown(&self) -> OutsideServer {
        let ((state, why), known) = (self.state(), self.known());
        let name = &self.entry.name;
        let line = |tool: KnownTool| OutsideLine {
            name: tool_name(name, &tool.name),
            description: few_words(&tool.description, 120),
        };
        OutsideServer {
            name: name.clone(),
            shown: self.entry.shown(),
            state,
            detail: if why.is_empty() { known.title.clone() } else { why },
            tools: self.tools().into_iter().map(line).collect(),
            prompts: known.prompts.iter().map(|prompt| prompt.offered(name)).collect(),
            resources: known.resources.len(),
        }
    }
}

/// The folder of a server: its name, and what tells it from another of the same name. A project's server has a home of its own,
/// whatever it is called.
fn folder_name(entry: &ServerEntry) -> String {
    let mut hash = Sha256::new();
    let mut add = |part: &str| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    match &entry.reach {
        ServerReach::Program { command, arguments, .. } => {
            add(command);
            arguments.iter().for_each(|argument| add(argument));
        }
        ServerReach::Address { url, .. } => add(url),
    }
    if let EntryOrigin::Project(path) = &entry.origin {
        add(&path.to_string_lossy());
    }
    let short: String = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{short}", plain(&entry.name))
}

/// A folder that only this user can look into.
fn private_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}
