//! A connection to one server: its process or its address, and the calls on it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use posse_sandbox::{
    Command, CommandHandle, Level, OutputLimits, SandboxProfile, TalkStreams, What, start_talking,
};
use posse_tools::{OutsidePlace, OutsideQuestions};
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, GetPromptRequest, GetPromptRequestParams,
    InputRequest, InputResponses, ReadResourceRequest, ReadResourceRequestParams, ServerPeerInfo,
    ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{IntoTransport, StreamableHttpClientTransport};

use crate::bounded_http::BoundedHttp;
use crate::bounded_reader::{BoundedReader, EndedWhy};
use crate::elicit::elicit;
use crate::entry::{ServerEntry, ServerReach, WorkspaceAccess};
use crate::handler::OurSide;
use crate::known::Era;
use crate::limits;
use crate::open_calls::{Asker, OpenCalls, Pulse};
use crate::stranger::few_words;

/// A server that answers.
pub(crate) struct ServerLink {
    service: RunningService<RoleClient, OurSide>,
    process: Option<CommandHandle>,
    trouble: EndedWhy,
    server: String,
    idle: Duration,
    calls: OpenCalls,
    changed: Arc<AtomicBool>,
}

impl ServerLink {
    /// Starts or reaches a server, and finds out what it speaks.
    pub(crate) async fn open(
        entry: &ServerEntry,
        home: &Path,
        place: &OutsidePlace,
        era: Option<Era>,
    ) -> Result<Self, NotOpened> {
        let (calls, changed) = (OpenCalls::default(), Arc::new(AtomicBool::new(false)));
        let side =
            OurSide { server: entry.name.clone(), calls: calls.clone(), changed: Arc::clone(&changed) };
        let (trouble, mode) = (EndedWhy::default(), mode(era));
        let (service, process) = match &entry.reach {
            ServerReach::Program { .. } => {
                let (process, streams) = start(entry, home, place).await?;
                let TalkStreams { input, output } = streams;
                let transport =
                    AsyncRwTransport::new(BoundedReader::new(output, Arc::clone(&trouble)), input)
                        .with_max_line_length(limits::MESSAGE_BYTES_MAX);
                let service = serve(side, transport, mode).await;
                let service = match service {
                    Ok(service) => service,
                    Err(error) => {
                        let why = gone_wrong(&process, &trouble, &begin_error(&error)).await;
                        return Err(NotOpened { why, answers: answers(&error) });
                    }
                };
                (service, Some(process))
            }
            ServerReach::Address { url, headers } => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(url.as_str());
                config.max_sse_event_size = limits::MESSAGE_BYTES_MAX;
                config.custom_headers =
                    http_headers(headers.iter().map(|(name, value)| (name.as_str(), value.expose())))?;
                let transport = StreamableHttpClientTransport::with_client(BoundedHttp::new()?, config);
                let service = serve(side, transport, mode).await;
                let failed = |error: ClientInitializeError| NotOpened {
                    why: begin_error(&error),
                    answers: answers(&error),
                };
                (service.map_err(failed)?, None)
            }
        };
        let (server, idle) = (entry.name.clone(), entry.timeout);
        Ok(Self { service, process, trouble, server, idle, calls, changed })
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.service.peer()
    }

    /// What the server says of itself.
    pub(crate) fn info(&self) -> Option<Arc<ServerPeerInfo>> {
        self.peer().peer_info()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.service.is_closed() || self.peer().is_transport_closed()
    }

    /// Whether the server has said that its tools are others now. Once.
    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::Relaxed)
    }

    /// Why it is not there any more, with the end of its log.
    pub(crate) async fn why_closed(&self) -> String {
        match &self.process {
            Some(process) => gone_wrong(process, &self.trouble, "it ended").await,
            None => "the connection was closed".to_owned(),
        }
    }

    /// Makes a request and waits for the answer, with all questions that come before it.
    pub(crate) async fn request(
        &self,
        questions: Option<OutsideQuestions>,
        request: ServerRequest,
    ) -> Result<ServerResult, String> {
        let (mut responses, mut state) = (None, None);
        let pulse = Pulse::new();
        let asker = questions.clone().map(|questions| Asker::new(&self.server, questions, pulse.clone()));
        for round in 0..limits::QUESTION_ROUNDS_MAX {
            let result =
                self.once(request.with(responses.take(), state.take()), &pulse, questions.clone()).await?;
            let ServerResult::InputRequiredResult(required) = result else { return Ok(result) };
            let requests = required.input_requests.unwrap_or_default();
            if requests.is_empty() {
                // It wants to be asked again, a little later each time.
                tokio::time::sleep(Duration::from_millis(limits::AGAIN_MS << round)).await;
            }
            let mut answers = InputResponses::default();
            for (key, request) in requests {
                let InputRequest::Elicitation(request) = request else {
                    return Err("it asks for something that is not offered to servers".to_owned());
                };
                let answer = match &asker {
                    Some(asker) => elicit(asker, &request.params).await,
                    None => rmcp::model::ElicitResult::new(rmcp::model::ElicitationAction::Cancel),
                };
                answers.insert(key, serde_json::to_value(answer).unwrap_or_default());
            }
            responses = (!answers.is_empty()).then_some(answers);
            state = required.request_state;
        }
        Err(format!("it asked more than {} times", limits::QUESTION_ROUNDS_MAX))
    }

    async fn once(
        &self,
        request: ClientRequest,
        pulse: &Pulse,
        questions: Option<OutsideQuestions>,
    ) -> Result<ServerResult, String> {
        let sent = self.peer().send_request_with_option(request, PeerRequestOptions::no_options()).await;
        let Ok(mut handle) = sent else { return Err(self.why_closed().await) };
        let _listed = self.calls.add(handle.progress_token.clone(), pulse.clone(), questions);
        let mut unheard = CancelOnDrop { peer: self.peer().clone(), id: Some(handle.id.clone()) };
        tokio::select! {
            answer = &mut handle.rx => {
                unheard.id = None;
                match answer {
                    Ok(Ok(result)) => Ok(result),
                    Ok(Err(error)) => Err(self.call_error(error).await),
                    Err(_) => Err(self.why_closed().await),
                }
            }
            () = pulse.silent_for(self.idle) => {
                let seconds = self.idle.as_secs_f64();
                Err(format!("it did not answer and told no progress for {seconds} s"))
            }
        }
    }

    async fn call_error(&self, error: ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => {
                format!("it answers with error {}: {}", error.code.0, few_words(&error.message, 1_000))
            }
            ServiceError::TransportClosed => self.why_closed().await,
            ServiceError::TransportSend(error) => few_words(&with_causes(&*error.error), 1_000),
            other => few_words(&with_causes(&other), 1_000),
        }
    }

    /// Closes it: its input first, then, if that does not end it, by force.
    pub(crate) async fn close(self: Arc<Self>) {
        self.service.cancellation_token().cancel();
        if let Some(process) = &self.process {
            let end = Duration::from_millis(limits::END_MS);
            if tokio::time::timeout(end, process.wait()).await.is_err() {
                process.stop();
                process.wait().await;
            }
        }
    }
}

/// Why there is no connection.
pub(crate) struct NotOpened {
    pub(crate) why: String,
    /// Whether the server has answered, but not as the newer era wants it.
    pub(crate) answers: bool,
}

impl From<String> for NotOpened {
    fn from(why: String) -> Self {
        Self { why, answers: false }
    }
}

fn answers(error: &ClientInitializeError) -> bool {
    use ClientInitializeError as Error;
    matches!(
        error,
        Error::ExpectedInitResponse(_)
            | Error::ExpectedInitResult(_)
            | Error::JsonRpcError(_)
            | Error::UncorrelatedErrorResponse { .. }
            | Error::NoCompatibleProtocolVersion { .. }
    )
}

/// Begins to talk. In a box, so that the compiler need not look into it.
fn serve<T, E, A>(side: OurSide, transport: T, mode: ClientLifecycleMode) -> BoxFuture<'static, Served>
where
    T: IntoTransport<RoleClient, E, A> + Send + 'static,
    E: std::error::Error + Send + Sync + 'static,
    A: 'static,
{
    Box::pin(serve_client_with_lifecycle(side, transport, mode))
}

type Served = Result<RunningService<RoleClient, OurSide>, ClientInitializeError>;

/// What is asked of a server and may come back with questions.
#[derive(Clone)]
pub(crate) enum ServerRequest {
    Call(CallToolRequestParams),
    Read(ReadResourceRequestParams),
    Prompt(GetPromptRequestParams),
}

impl ServerRequest {
    /// The request, with answers to questions.
    fn with(&self, responses: Option<InputResponses>, state: Option<String>) -> ClientRequest {
        match self.clone() {
            Self::Call(mut params) => {
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::CallToolRequest(CallToolRequest::new(params))
            }
            Self::Read(mut params) => {
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
            }
            Self::Prompt(mut params) => {
                (params.input_responses, params.request_state) = (responses, state);
                ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
            }
        }
    }
}

/// Tells the server that nobody waits for an answer any more.
struct CancelOnDrop {
    peer: Peer<RoleClient>,
    id: Option<rmcp::model::RequestId>,
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let params = rmcp::model::CancelledNotificationParam::new(
                Some(id),
                Some("nobody waits for it any more".to_owned()),
            );
            let _ = peer.notify_cancelled(params).await;
        });
    }
}

fn mode(era: Option<Era>) -> ClientLifecycleMode {
    use rmcp::model::ProtocolVersion;
    let newest = || vec![ProtocolVersion::LATEST];
    match era {
        Some(Era::Older) => ClientLifecycleMode::Initialize,
        Some(Era::Newer) => ClientLifecycleMode::Discover { preferred_versions: newest() },
        None => ClientLifecycleMode::Auto { preferred_versions: newest(), legacy_version: None },
    }
}

fn begin_error(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return "it wants a login, which Posse cannot do; put a token into its headers".to_owned();
    }
    few_words(&begin_words(error), 1_000)
}

fn begin_words(error: &ClientInitializeError) -> String {
    use ClientInitializeError as Error;
    match error {
        Error::TransportError { error, .. } => {
            format!("it cannot be reached: {}", with_causes(&*error.error))
        }
        Error::ConnectionClosed(_) => "it ended before it had answered".to_owned(),
        Error::JsonRpcError(error) => format!("it answers with error {}: {}", error.code.0, error.message),
        Error::NoCompatibleProtocolVersion { server_supported, .. } => {
            format!("it speaks only versions of the protocol that Posse does not: {server_supported:?}")
        }
        Error::LegacyFallbackFailed { fallback, .. } => begin_words(fallback),
        Error::ExpectedInitResponse(_) | Error::ExpectedInitResult(_) => {
            "its first answer is not the one that the protocol asks for".to_owned()
        }
        other => with_causes(other),
    }
}

/// An error with what is behind it.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text = format!("{text}: {inner_text}");
        }
        cause = inner.source();
    }
    text
}

/// Why a process does not answer, with how it ended and the end of its log.
async fn gone_wrong(process: &CommandHandle, trouble: &EndedWhy, what: &str) -> String {
    // It may be about to end, and its end tells more.
    let ended = tokio::time::timeout(Duration::from_millis(limits::END_MS), process.wait()).await.ok();
    let what = trouble.get().map_or(what, String::as_str);
    let exit = match ended.map(|ended| (ended.exit, ended.notes)) {
        Some((posse_sandbox::CommandExit::Code(code), notes)) => {
            format!(" (exit code {code}{})", noted(&notes))
        }
        Some((posse_sandbox::CommandExit::Signal(signal), notes)) => {
            format!(" (signal {signal}{})", noted(&notes))
        }
        _ => String::new(),
    };
    let log = String::from_utf8_lossy(&process.stderr().bytes()).into_owned();
    let lines =
        log.lines().map(|line| few_words(line, 300)).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let last = &lines[lines.len().saturating_sub(limits::LOG_LINES_TOLD)..];
    let said =
        if last.is_empty() { String::new() } else { format!("; the end of its log:\n{}", last.join("\n")) };
    format!("{what}{exit}{said}")
}

fn noted(notes: &[String]) -> String {
    notes.iter().map(|note| format!("; {note}")).collect()
}

fn http_headers<'a>(
    headers: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<HashMap<HeaderName, HeaderValue>, String> {
    let one = |(name, value): (&str, &str)| {
        let header = HeaderName::try_from(name).map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value =
            HeaderValue::try_from(value).map_err(|_| format!("the value of {name} is none for a header"))?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    headers.map(one).collect()
}

/// Starts the program of a server.
async fn start(
    entry: &ServerEntry,
    home: &Path,
    place: &OutsidePlace,
) -> Result<(CommandHandle, TalkStreams), String> {
    let ServerReach::Program { command, arguments, env } = &entry.reach else {
        return Err("it has no program".to_owned());
    };
    let home = home.canonicalize().map_err(|error| format!("its home cannot be used: {error}"))?;
    let workspace = place.workspace.root();
    let confined = (entry.confinement.sandbox && place.sandbox.on).then(|| profile(entry, &home, place));
    if confined.is_none()
        && let Some(word) = names_file_of(command, arguments, workspace)
    {
        return Err(format!(
            "{word} is in the workspace, where agents write, so it runs in the sandbox only"
        ));
    }
    // Outside the sandbox it is kept away from there: programs look for others, and for settings, where they run.
    let sees = confined.is_some() && entry.confinement.workspace != WorkspaceAccess::None;
    let command = Command {
        what: What::Named(command.clone(), arguments.clone()),
        cwd: if sees { workspace.to_owned() } else { home.clone() },
        env: env.iter().map(|(name, value)| (name.clone(), value.expose().to_owned())).collect(),
        // As long as the session.
        deadline: Duration::MAX,
        output: OutputLimits { head_bytes: 0, tail_bytes: limits::LOG_BYTES_MAX },
        stdin: None,
        confinement: confined,
        // What runs outside is the person's choice, and not what an agent has put in its place.
        distrusted: vec![workspace.to_owned()],
    };
    start_talking(command).await.map_err(|error| error.to_string())
}

/// The first word of a command line that is a file of a folder.
fn names_file_of<'a>(command: &'a str, arguments: &'a [String], folder: &Path) -> Option<&'a str> {
    let real = folder.canonicalize().ok();
    let inside = |word: &&str| {
        let named = folder.join(word);
        let of_folder =
            |at: &Path| named.starts_with(folder) || real.as_ref().is_some_and(|real| at.starts_with(real));
        named.canonicalize().is_ok_and(|at| at.is_file() && of_folder(&at))
    };
    std::iter::once(command).chain(arguments.iter().map(String::as_str)).find(inside)
}

/// What the program of a server may do.
fn profile(entry: &ServerEntry, home: &Path, place: &OutsidePlace) -> SandboxProfile {
    let (workspace, wanted) = (place.workspace.root(), &entry.confinement);
    let mut profile = match wanted.workspace {
        WorkspaceAccess::None => SandboxProfile::new(Level::Full, home),
        WorkspaceAccess::Read => SandboxProfile::new(Level::Inspect, workspace),
        WorkspaceAccess::Write => SandboxProfile::new(Level::Full, workspace),
    };
    match wanted.workspace {
        WorkspaceAccess::None => {
            profile.hidden.push(workspace.to_owned());
            (profile.protected, profile.guard_names) = (Vec::new(), false);
        }
        WorkspaceAccess::Read => (profile.protected, profile.guard_names) = (Vec::new(), false),
        WorkspaceAccess::Write => {
            let places = place.workspace.protected_places();
            profile.covered = places.iter().map(|path| workspace.join(path)).collect::<Vec<PathBuf>>();
        }
    }
    profile.home = Some(home.to_owned());
    profile.hidden.extend(place.sandbox.hidden.iter().cloned());
    profile.readable.extend(place.sandbox.readable.iter().chain(&wanted.readable).cloned());
    profile.network = wanted.network;
    profile.limits.session = place.sandbox.share;
    profile
}
