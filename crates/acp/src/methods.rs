//! The methods that a client calls, one function each.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::ProtocolVersion;
use agent_client_protocol_schema::v1::{
    AgentCapabilities, AvailableCommandsUpdate, CloseSessionRequest, CloseSessionResponse,
    ConfigOptionUpdate, CurrentModeUpdate, DeleteSessionRequest, DeleteSessionResponse, Error,
    Implementation, InitializeRequest, InitializeResponse, ListSessionsRequest, ListSessionsResponse,
    LoadSessionRequest, LoadSessionResponse, McpCapabilities, McpServer, Meta, NewSessionRequest,
    NewSessionResponse, PromptCapabilities, PromptRequest, PromptResponse, ResumeSessionRequest,
    ResumeSessionResponse, SessionCapabilities, SessionCloseCapabilities, SessionConfigOptionValue,
    SessionDeleteCapabilities, SessionInfo, SessionListCapabilities, SessionResumeCapabilities,
    SessionUpdate, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse, SetSessionModeRequest,
    SetSessionModeResponse,
};
use posse_api::Handle;
use posse_api::calls::steering::{ChangeSettings, StopAgent};
use posse_engine::record::{SessionRow, new_session_id};
use posse_engine::{Engine, SessionFilter};
use posse_protocol::visible::one_line;
use posse_protocol::{SessionId, TraceParent};
use posse_setup::Config;

use crate::client::ClientSkills;
use crate::commands;
use crate::errors::{invalid_params, no_session, of_call, of_engine};
use crate::following::{SessionFollower, SessionSource, replay};
use crate::host::{AcpHost, folder_of};
use crate::limits::{CLOSE_MS_MAX, PAGE_SESSIONS, TITLE_COLUMNS_MAX};
use crate::options::{AS_CONFIGURED, MODE, MODEL, SURFACE, mode_of};
use crate::prompting::prompt as do_prompt;
use crate::servers;
use crate::session::AcpSession;
use crate::translate::Translator;
use crate::translate::status::iso_time;

/// Answers with our version, whichever the client speaks: it knows whether it can go on with that.
pub(crate) fn initialize(host: &AcpHost, request: &InitializeRequest) -> Result<InitializeResponse, Error> {
    if !host.client.introduce(ClientSkills::of(&request.client_capabilities)) {
        return Err(crate::errors::invalid_request("the connection is initialised already"));
    }
    if let Some(traceparent) = traceparent(request.meta.as_ref()) {
        let _ = host.traceparent.set(traceparent);
    }
    let sessions = SessionCapabilities::new()
        .list(SessionListCapabilities::new())
        .delete(SessionDeleteCapabilities::new())
        .resume(SessionResumeCapabilities::new())
        .close(SessionCloseCapabilities::new());
    let can = AgentCapabilities::new()
        .load_session(true)
        .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
        .mcp_capabilities(McpCapabilities::new().http(true))
        .session_capabilities(sessions);
    let own = Implementation::new("posse", host.version.clone()).title("Posse");
    Ok(InitializeResponse::new(ProtocolVersion::V1).agent_capabilities(can).agent_info(own))
}

/// The span that a request belongs to. A text that names none is passed over.
pub(crate) fn traceparent(meta: Option<&Meta>) -> Option<TraceParent> {
    meta?.get("traceparent")?.as_str()?.parse().ok()
}

/// Opens a session. Nothing of it is on record before its first prompt, and no model is needed before that.
pub(crate) fn new_session(host: &AcpHost, request: NewSessionRequest) -> Result<NewSessionResponse, Error> {
    none_beside(&request.additional_directories)?;
    let folder = folder_of(&request.cwd)?;
    let (_, settings) = host.settings_in(&folder)?;
    let servers = servers::entries(request.mcp_servers, &host.paths.config)?;
    let session = host.open(AcpSession::new(new_session_id(), folder, servers, settings, None))?;
    session.trace(traceparent(request.meta.as_ref()));
    let settings = session.settings();
    Ok(NewSessionResponse::new(Arc::clone(&session.wire))
        .modes(settings.modes())
        .config_options(settings.options()))
}

/// What a session is set to and can be asked for, told after it was opened.
pub(crate) async fn tell_commands(host: &AcpHost, id: &str) {
    let Ok(session) = host.session(id) else { return };
    let commands = commands::available(&host.paths, &session.folder);
    let update = SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(commands));
    host.client.update(&session.wire, update).await;
}

fn none_beside(folders: &[std::path::PathBuf]) -> Result<(), Error> {
    match folders {
        [] => Ok(()),
        _ => Err(invalid_params("a session works in one folder; additional directories are not offered")),
    }
}

/// A session on record that a client wants to have open again.
pub(crate) struct ReopenRequest {
    pub(crate) id: Arc<str>,
    pub(crate) cwd: std::path::PathBuf,
    pub(crate) beside: Vec<std::path::PathBuf>,
    pub(crate) servers: Vec<McpServer>,
    pub(crate) meta: Option<Meta>,
    /// Whether the client wants to be told all of it.
    pub(crate) tells: bool,
}

impl From<LoadSessionRequest> for ReopenRequest {
    fn from(request: LoadSessionRequest) -> Self {
        let LoadSessionRequest { session_id, cwd, additional_directories, mcp_servers, meta, .. } = request;
        let (id, beside, servers) = (session_id.0, additional_directories, mcp_servers);
        Self { id, cwd, beside, servers, meta, tells: true }
    }
}

impl From<ResumeSessionRequest> for ReopenRequest {
    fn from(request: ResumeSessionRequest) -> Self {
        let ResumeSessionRequest { session_id, cwd, additional_directories, mcp_servers, meta, .. } = request;
        let (id, beside, servers) = (session_id.0, additional_directories, mcp_servers);
        Self { id, cwd, beside, servers, meta, tells: false }
    }
}

pub(crate) async fn load(host: &AcpHost, request: LoadSessionRequest) -> Result<LoadSessionResponse, Error> {
    let session = reopen(host, request.into()).await?;
    let settings = session.settings();
    Ok(LoadSessionResponse::new().modes(settings.modes()).config_options(settings.options()))
}

pub(crate) async fn resume(
    host: &AcpHost,
    request: ResumeSessionRequest,
) -> Result<ResumeSessionResponse, Error> {
    let session = reopen(host, request.into()).await?;
    let settings = session.settings();
    Ok(ResumeSessionResponse::new().modes(settings.modes()).config_options(settings.options()))
}

/// Opens a session from the record. If a process runs it, it is followed there.
async fn reopen(host: &AcpHost, request: ReopenRequest) -> Result<Arc<AcpSession>, Error> {
    none_beside(&request.beside)?;
    let folder = folder_of(&request.cwd)?;
    if let Ok(open) = host.session(&request.id)
        && open.is_new()
    {
        return Ok(open);
    }
    let engine = host.engine(&Config::load(&host.paths, &folder).map_err(crate::errors::failed)?).await?;
    let row = row(&engine, &request.id).await?;
    if Path::new(&row.workspace).canonicalize().ok().as_ref() != Some(&folder) {
        let shown = one_line(&row.workspace, TITLE_COLUMNS_MAX);
        return Err(invalid_params(format!("this session works in {shown}; open it with that cwd")));
    }
    let (config, mut settings) = host.settings_in(&folder)?;
    let servers = servers::entries(request.servers, &host.paths.config)?;
    let wire: Arc<str> = row.id.to_string().into();
    let mut translator = Translator::new(wire, host.client.skills());
    translator.window = row
        .model
        .as_deref()
        .and_then(|model| posse_setup::context_window(&config, host.paths.surroundings(), model));
    replay(&host.client, &engine, row.id, &mut translator, request.tells).await;
    if let Ok(open) = host.session(&request.id) {
        // It is open: its client wanted to see it once more.
        return Ok(open);
    }
    let view = &translator.view;
    settings.mode = settings.mode.min(view.approval.unwrap_or(settings.mode));
    settings.model = view.model.clone().or(settings.model);
    settings.surface = view.surface.parse().ok();
    settings.begun = true;
    let session = AcpSession::new(row.id, folder, servers, settings, Some(translator));
    let session = host.open(session)?;
    session.trace(traceparent(request.meta.as_ref()));
    follow_elsewhere(host, &engine, &session).await;
    Ok(session)
}

/// Follows a session that runs already.
async fn follow_elsewhere(host: &AcpHost, engine: &Engine, session: &Arc<AcpSession>) {
    let Ok(handle) = Handle::of(engine, session.id).await else { return };
    let Some(Some(translator)) = session.take_idle() else { return };
    match handle.follow(session.id, translator.view.seq).await {
        Ok(following) => {
            let (client, engine, session) = (Arc::clone(&host.client), engine.clone(), Arc::clone(session));
            let source = SessionSource::Other(following);
            SessionFollower { client, engine, session, handle, source, translator }.start();
        }
        Err(_) => session.set_idle(Some(translator)),
    }
}

async fn row(engine: &Engine, id: &str) -> Result<SessionRow, Error> {
    let known = id.parse::<SessionId>().map_err(|_| no_session(id))?;
    let found = engine.read(move |engine| engine.find_session(&known.to_string())).await;
    found.map_err(|_| no_session(id))
}

/// The sessions on record, newest first; with a folder, those that work in it.
pub(crate) async fn list(
    host: &AcpHost,
    request: ListSessionsRequest,
) -> Result<ListSessionsResponse, Error> {
    let folder = request.cwd.as_deref().map(folder_of).transpose()?;
    let config = Config::load(&host.paths, folder.as_deref().unwrap_or(Path::new("/")));
    let engine = host.engine(&config.map_err(crate::errors::failed)?).await?;
    let filter = SessionFilter {
        folder: folder.as_ref().map(|folder| folder.display().to_string()),
        cursor: request.cursor,
        limit: Some(PAGE_SESSIONS),
        ..SessionFilter::default()
    };
    let page = engine.session_page(filter).await.map_err(|error| invalid_params(error.to_string()))?;
    let here = |row: &SessionRow| folder.as_ref().is_none_or(|folder| Path::new(&row.workspace) == folder);
    let info = |row: SessionRow| {
        let title = row.title.as_ref().map(|title| one_line(title, TITLE_COLUMNS_MAX));
        SessionInfo::new(row.id.to_string(), row.workspace).title(title).updated_at(iso_time(row.last_at_ms))
    };
    let sessions = page.sessions.into_iter().filter(here).map(info).collect();
    Ok(ListSessionsResponse::new(sessions).next_cursor(page.next))
}

/// Ends what a session does and closes it. It stays on record.
pub(crate) async fn close(
    host: &AcpHost,
    request: CloseSessionRequest,
) -> Result<CloseSessionResponse, Error> {
    host.session(&request.session_id.0)?;
    close_open(host, &request.session_id.0).await;
    Ok(CloseSessionResponse::new())
}

async fn close_open(host: &AcpHost, id: &str) {
    let Some(session) = host.forget(id) else { return };
    session.cancel_prompt();
    let closing = async {
        while session.is_prompting() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let patience = Duration::from_millis(CLOSE_MS_MAX);
    let _ = tokio::time::timeout(patience, closing).await;
    if let Some(live) = session.live() {
        live.leave.cancel();
        let _ = tokio::time::timeout(patience, live.over.cancelled()).await;
    }
}

/// Takes a session off the record, for good. One that is not there is as wanted.
pub(crate) async fn delete(
    host: &AcpHost,
    request: DeleteSessionRequest,
) -> Result<DeleteSessionResponse, Error> {
    let id = request.session_id.0;
    let open = host.session(&id).ok();
    close_open(host, &id).await;
    if open.is_some_and(|open| open.is_new()) || id.parse::<SessionId>().is_err() {
        return Ok(DeleteSessionResponse::new());
    }
    let config = Config::load(&host.paths, Path::new("/")).map_err(crate::errors::failed)?;
    let engine = host.engine(&config).await?;
    if let Ok(row) = row(&engine, &id).await {
        engine.delete_session(&row).await.map_err(|error| of_engine(&error))?;
    }
    Ok(DeleteSessionResponse::new())
}

/// Changes what is done without asking.
pub(crate) async fn set_mode(
    host: &AcpHost,
    request: SetSessionModeRequest,
) -> Result<SetSessionModeResponse, Error> {
    let session = host.session(&request.session_id.0)?;
    change_mode(&session, &request.mode_id.0).await?;
    let options = ConfigOptionUpdate::new(session.settings().options());
    host.client.update(&session.wire, SessionUpdate::ConfigOptionUpdate(options)).await;
    Ok(SetSessionModeResponse::new())
}

async fn change_mode(session: &AcpSession, id: &str) -> Result<(), Error> {
    let mode = mode_of(id).ok_or_else(|| {
        invalid_params(format!(
            "there is no mode {:?}; there are plan, ask, edit, auto and full",
            one_line(id, 40)
        ))
    })?;
    change_live(session, ChangeSettings { approval: Some(mode), ..ChangeSettings::default() }).await?;
    session.set(|settings| (settings.mode, settings.mode_chosen) = (mode, true));
    Ok(())
}

/// Changes how a session that runs works from its next turn on.
async fn change_live(session: &AcpSession, change: ChangeSettings) -> Result<(), Error> {
    match session.live() {
        Some(live) => {
            let changed = live.handle.call(session.id, change).await;
            changed.map(|_| ()).map_err(|error| of_call(&error))
        }
        None => Ok(()),
    }
}

/// Changes one option.
pub(crate) async fn set_option(
    host: &AcpHost,
    request: SetSessionConfigOptionRequest,
) -> Result<SetSessionConfigOptionResponse, Error> {
    let session = host.session(&request.session_id.0)?;
    let SessionConfigOptionValue::ValueId { value } = request.value else {
        return Err(invalid_params("the options of this agent are chosen from a list"));
    };
    match &*request.config_id.0 {
        MODE => {
            change_mode(&session, &value.0).await?;
            let mode = CurrentModeUpdate::new(session.settings().mode.word());
            host.client.update(&session.wire, SessionUpdate::CurrentModeUpdate(mode)).await;
        }
        MODEL => change_model(&session, &value.0).await?,
        SURFACE => change_surface(&session, &value.0)?,
        other => return Err(invalid_params(format!("there is no option {:?}", one_line(other, 40)))),
    }
    Ok(SetSessionConfigOptionResponse::new(session.settings().options()))
}

async fn change_model(session: &AcpSession, name: &str) -> Result<(), Error> {
    let settings = session.settings();
    let chosen = (name != AS_CONFIGURED).then(|| name.to_owned());
    let known = |name: &String| settings.models.contains(name) || settings.model.as_ref() == Some(name);
    if chosen.as_ref().is_some_and(|name| !known(name)) || (chosen.is_none() && settings.begun) {
        return Err(invalid_params(format!("there is no model {:?} to choose", one_line(name, 80))));
    }
    change_live(session, ChangeSettings { model: chosen.clone(), ..ChangeSettings::default() }).await?;
    session.set(|settings| settings.model = chosen);
    Ok(())
}

fn change_surface(session: &AcpSession, name: &str) -> Result<(), Error> {
    if session.settings().begun {
        return Err(invalid_params("the tools to delegate with are fixed from the first prompt on"));
    }
    let surface = match name {
        AS_CONFIGURED => None,
        name => Some(name.parse().map_err(|error| invalid_params(format!("{error}")))?),
    };
    session.set(|settings| settings.surface = surface);
    Ok(())
}

/// Does what a prompt wants, and says why it stopped.
pub(crate) async fn prompt(
    host: &Arc<AcpHost>,
    session: &Arc<AcpSession>,
    at_work: crate::session::PromptAtWork,
    request: PromptRequest,
) -> Result<PromptResponse, Error> {
    session.trace(traceparent(request.meta.as_ref()));
    let reason = do_prompt(host, session, request, &at_work.stop).await;
    // The next prompt may come as soon as this one is answered.
    drop(at_work);
    reason.map(PromptResponse::new)
}

/// Stops what a session does, or one sub-agent with all below it.
pub(crate) fn cancel(host: &AcpHost, id: &str) {
    if let Ok(session) = host.session(id) {
        return session.cancel_prompt();
    }
    let Some((session, agent)) = host.child(id) else { return };
    let Some(live) = session.live() else { return };
    tokio::spawn(async move {
        // One that has ended is as wanted.
        let _ = live.handle.call(session.id, StopAgent { agent }).await;
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_span_is_a_span() {
        let cases = [
            (json!({"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}), true),
            (json!({"traceparent": 5}), false),
            (json!({"traceparent": "x".repeat(1000)}), false),
            (json!({}), false),
        ];
        for (meta, is_one) in cases {
            let meta: Meta = serde_json::from_value(meta).unwrap();
            assert_eq!(traceparent(Some(&meta)).is_some(), is_one, "{meta:?}");
        }
    }
}
