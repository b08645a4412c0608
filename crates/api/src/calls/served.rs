//! What only `posse serve` can do with sessions: show them folded and page by page, begin them, and ask beside them.

use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_protocol::{AgentId, Approval, Attachment, Event, Seq, SessionId};
use posse_setup::{SessionPlan, Wishes, create_new_private};
use posse_view::SessionView;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::background::{BegunSession, NewSession, SessionOrigin};
use crate::call::{Call, Verb, at_most};
use crate::calls::record::{rows, within_rows};
use crate::calls::steering::Accomplished;
use crate::failure::{CallError, CallErrorKind};
use crate::hub::Hub;
use crate::limits::{
    CHANGE_MS_MAX, EXPORT_BYTES_MAX, EXPORT_MS_MAX, NAME_BYTES_MAX, PROMPT_BODY_BYTES_MAX, QUERY_BYTES_MAX,
    TEXT_BYTES_MAX,
};

/// What this server is.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowServer {}

/// A server, as a page sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerFound {
    /// The version of Posse.
    pub version: String,
    /// Whether nothing can be steered.
    pub read_only: bool,
    /// Where it was started.
    pub folder: Option<String>,
    /// Folders to begin sessions in: where it was started, those named at its start, those on record.
    pub folders: Vec<String>,
    /// The model that a session there would use; none where none was found.
    pub model: Option<ModelFound>,
    /// Why there is no model, and what to do about it.
    pub problem: Option<String>,
}

/// A model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFound {
    /// What it is named by.
    pub name: String,
    /// The provider's name of it.
    pub model_id: String,
}

impl Call<Arc<Hub>> for ShowServer {
    type Of = ();
    type Answer = ServerFound;
    const NAME: &'static str = "show_server";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/server";

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<ServerFound, CallError> {
        let folder = hub.folders.first().map(Path::to_path_buf);
        let (model, problem) = match &folder {
            Some(folder) => model_of(&hub, folder).await,
            None => (None, None),
        };
        Ok(ServerFound {
            version: hub.version.clone(),
            read_only: hub.read_only,
            folder: folder.map(|folder| folder.display().to_string()),
            folders: hub.folders.known(&hub.engine).await?,
            model,
            problem,
        })
    }
}

/// The model of a folder, or why there is none.
async fn model_of(hub: &Hub, folder: &Path) -> (Option<ModelFound>, Option<String>) {
    let plan = match SessionPlan::read(&hub.paths, folder, Wishes::default()) {
        Ok(plan) => plan,
        Err(error) => return (None, Some(error.to_string())),
    };
    match plan.choose_model().await {
        Ok(choice) => (Some(ModelFound { name: choice.model.name, model_id: choice.model.model }), None),
        Err(error) => (None, Some(error.to_string())),
    }
}

/// What there is to show of a session: the fold of its events so far.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowView {}

/// The fold of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ViewFound {
    /// The view; its `seq` is the last event in it.
    pub view: SessionView,
    /// Whether a process runs the session.
    pub running: bool,
}

impl Call<Arc<Hub>> for ShowView {
    type Of = SessionId;
    type Answer = ViewFound;
    const NAME: &'static str = "show_view";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/view";

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<ViewFound, CallError> {
        let view = hub.views.show(&hub.engine, session).await?;
        let running = hub.engine.read(move |engine| Ok(engine.process_of(session).is_some())).await?;
        Ok(ViewFound { view, running })
    }
}

/// A page of an agent's conversation: its newest events before one, and the starts of its sub-agents.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowTranscript {
    /// The agent.
    pub agent: AgentId,
    /// Only events before this one; the newest if it is missing or 0.
    #[serde(default)]
    pub before: u64,
    /// How many at most.
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Events of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TranscriptPage {
    /// In order.
    pub events: Vec<Event>,
    /// Whether there are earlier ones.
    pub more: bool,
}

impl Call<Arc<Hub>> for ShowTranscript {
    type Of = SessionId;
    type Answer = TranscriptPage;
    const NAME: &'static str = "show_transcript";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/transcript";

    fn check(&self) -> Result<(), CallError> {
        within_rows(self.limit)
    }

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<TranscriptPage, CallError> {
        let before = if self.before == 0 { Seq(u64::MAX) } else { Seq(self.before) };
        let events = hub.engine.transcript(session, self.agent, before, self.limit).await?;
        let more = match events.first() {
            Some(first) => !hub.engine.transcript(session, self.agent, first.seq, 1).await?.is_empty(),
            None => false,
        };
        let events = events.into_iter().map(|event| event.without_data().into_owned()).collect();
        Ok(TranscriptPage { events, more })
    }
}

/// One event of a session.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowEvent {
    /// Its number.
    pub seq: u64,
}

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventFound {
    /// The event.
    pub event: Event,
}

impl Call<Arc<Hub>> for ShowEvent {
    type Of = SessionId;
    type Answer = EventFound;
    const NAME: &'static str = "show_event";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/event";

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<EventFound, CallError> {
        hub.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let event = hub.engine.event(session, Seq(self.seq)).await?;
        Ok(EventFound { event: event.without_data().into_owned() })
    }
}

/// What a session is begun with.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartSession {
    /// The folder to work in: on record, or below where the server was started.
    pub folder: String,
    /// What to do.
    pub prompt: String,
    /// Images and documents that are shown with it: `name`, `media_type`, and `data` in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// A model by name; the usual one if there is none.
    #[serde(default)]
    pub model: Option<String>,
    /// What runs without asking: `plan`, `ask`, `edit`, `auto` or `full`.
    #[serde(default)]
    pub approval: Option<Approval>,
}

/// A session that was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionBegun {
    /// Its id.
    pub session: SessionId,
    /// What the person should know.
    pub notes: Vec<String>,
}

impl Call<Arc<Hub>> for StartSession {
    type Of = ();
    type Answer = SessionBegun;
    const NAME: &'static str = "start_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions";
    const BODY_BYTES_MAX: usize = PROMPT_BODY_BYTES_MAX;

    fn check(&self) -> Result<(), CallError> {
        said(&self.prompt, self.model.as_deref())
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<SessionBegun, CallError> {
        let folder = hub.folder(&self.folder).await?;
        let Self { prompt, attachments, model, approval, .. } = self;
        begin(&hub, SessionOrigin::Folder(folder), prompt, attachments, model, approval).await
    }
}

/// Continues a session that nobody runs, with what to do next.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ResumeSession {
    /// What to do next.
    pub prompt: String,
    /// Images and documents that are shown with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// A model by name; the one it had if there is none.
    #[serde(default)]
    pub model: Option<String>,
    /// What runs without asking; as before if there is none.
    #[serde(default)]
    pub approval: Option<Approval>,
}

impl Call<Arc<Hub>> for ResumeSession {
    type Of = SessionId;
    type Answer = SessionBegun;
    const NAME: &'static str = "resume_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/resume";
    const BODY_BYTES_MAX: usize = PROMPT_BODY_BYTES_MAX;

    fn check(&self) -> Result<(), CallError> {
        said(&self.prompt, self.model.as_deref())
    }

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<SessionBegun, CallError> {
        hub.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let Self { prompt, attachments, model, approval } = self;
        begin(&hub, SessionOrigin::Resumed(session), prompt, attachments, model, approval).await
    }
}

/// Begins a session with the first turns of another.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkSession {
    /// What to do next.
    pub prompt: String,
    /// How many turns of the other; all if there is none.
    #[serde(default)]
    pub turn: Option<u32>,
    /// Whether the files go back to where they were then, too.
    #[serde(default)]
    pub files: bool,
    /// A model by name; the one of the other if there is none.
    #[serde(default)]
    pub model: Option<String>,
    /// What runs without asking; as in the other if there is none.
    #[serde(default)]
    pub approval: Option<Approval>,
}

impl Call<Arc<Hub>> for ForkSession {
    type Of = SessionId;
    type Answer = SessionBegun;
    const NAME: &'static str = "fork_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/fork";

    fn check(&self) -> Result<(), CallError> {
        said(&self.prompt, self.model.as_deref())
    }

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<SessionBegun, CallError> {
        hub.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let Self { prompt, turn, files, model, approval } = self;
        let origin = SessionOrigin::Forked { session, turn, files };
        begin(&hub, origin, prompt, Vec::new(), model, approval).await
    }
}

/// Whether a prompt and a model's name can be what they are said to be.
fn said(prompt: &str, model: Option<&str>) -> Result<(), CallError> {
    at_most(TEXT_BYTES_MAX, "The prompt", prompt)?;
    if prompt.trim().is_empty() {
        return Err(CallError::new(CallErrorKind::BadRequest, "The prompt is empty."));
    }
    let model = model.unwrap_or_default();
    at_most(NAME_BYTES_MAX, "The model's name", model)?;
    // It becomes a word of a command line.
    if model.starts_with('-') {
        return Err(CallError::new(CallErrorKind::BadRequest, "No model's name begins with a hyphen."));
    }
    Ok(())
}

async fn begin(
    hub: &Hub,
    origin: SessionOrigin,
    prompt: String,
    attachments: Vec<Attachment>,
    model: Option<String>,
    approval: Option<Approval>,
) -> Result<SessionBegun, CallError> {
    let uploads = Uploads::write(&hub.paths.data_dir, attachments)?;
    let files = uploads.files.clone();
    let begun = hub.program.begin(NewSession { origin, prompt, files, model, approval }).await;
    let BegunSession { session, notes } = begun.map_err(CallError::refused)?;
    Ok(SessionBegun { session, notes })
}

/// Files that a session is begun with. They are read while it begins, and removed then.
struct Uploads {
    folder: Option<PathBuf>,
    files: Vec<PathBuf>,
}

impl Uploads {
    fn write(data_dir: &Path, attachments: Vec<Attachment>) -> Result<Self, CallError> {
        let mut uploads = Self { folder: None, files: Vec::new() };
        if attachments.is_empty() {
            return Ok(uploads);
        }
        let folder = data_dir.join("uploads").join(crate::token::random_name().map_err(CallError::internal)?);
        posse_engine::record::prepare_data_dir(&folder).map_err(CallError::internal)?;
        uploads.folder = Some(folder.clone());
        for (nth, attachment) in attachments.into_iter().enumerate() {
            // The name is a stranger's: only its ending is kept, which says what the file is.
            let ending = Path::new(&attachment.name).extension().and_then(|ending| ending.to_str());
            let ending = ending
                .filter(|ending| ending.len() <= 8 && ending.bytes().all(|b| b.is_ascii_alphanumeric()));
            let path = folder.join(format!("{nth}.{}", ending.unwrap_or("bin")));
            let bytes = attachment.content().map_err(CallError::refused)?;
            let written = create_new_private(&path).and_then(|mut file| file.write_all(&bytes));
            written.map_err(CallError::internal)?;
            uploads.files.push(path);
        }
        Ok(uploads)
    }
}

impl Drop for Uploads {
    fn drop(&mut self) {
        if let Some(folder) = &self.folder {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

/// Asks a question beside a session: without tools, and without disturbing the work.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AskAside {
    /// What to answer.
    pub question: String,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnsweredAside {
    /// The answer.
    pub answer: String,
}

impl Call<Arc<Hub>> for AskAside {
    type Of = SessionId;
    type Answer = AnsweredAside;
    const NAME: &'static str = "ask_aside";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/side";
    const ANSWER_MS_MAX: u64 = CHANGE_MS_MAX;

    fn check(&self) -> Result<(), CallError> {
        said(&self.question, None)
    }

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<AnsweredAside, CallError> {
        let row = hub.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let answer = hub.program.ask_aside(session, Path::new(&row.workspace), self.question).await;
        Ok(AnsweredAside { answer: answer.map_err(CallError::refused)? })
    }
}

/// Takes a session off the record, for good. One that is at work is left alone.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteSession {}

impl Call<Arc<Hub>> for DeleteSession {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "delete_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/delete";

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<Accomplished, CallError> {
        let row = hub.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        hub.engine.delete_session(&row).await?;
        hub.views.forget(session);
        Ok(Accomplished {})
    }
}

/// A session as a text to keep.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExportSession {
    /// `markdown`, or `jsonl` for its events.
    #[serde(default = "markdown")]
    pub format: String,
}

/// A text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TextFound {
    /// The text.
    pub text: String,
}

fn markdown() -> String {
    "markdown".to_owned()
}

impl Call<Arc<Hub>> for ExportSession {
    type Of = SessionId;
    type Answer = TextFound;
    const NAME: &'static str = "export_session";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/export";

    fn check(&self) -> Result<(), CallError> {
        if ["markdown", "jsonl"].contains(&self.format.as_str()) {
            return Ok(());
        }
        Err(CallError::new(CallErrorKind::BadRequest, "The format is markdown or jsonl."))
    }

    async fn run(self, session: SessionId, hub: Arc<Hub>) -> Result<TextFound, CallError> {
        hub.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let words = ["sessions", "export", "--format", &self.format, "--", &session.to_string()];
        let words = words.map(OsString::from).to_vec();
        let output = hub
            .program
            .run(words, Path::new("/"), String::new(), Duration::from_millis(EXPORT_MS_MAX), EXPORT_BYTES_MAX)
            .await
            .map_err(CallError::internal)?;
        match output.code {
            Some(0) => Ok(TextFound { text: output.stdout }),
            _ => Err(CallError::refused(output.stderr.trim())),
        }
    }
}

/// Whether the name of a folder is not too long.
pub(crate) fn folder_named(folder: &str) -> Result<(), CallError> {
    at_most(QUERY_BYTES_MAX, "The folder", folder)
}
