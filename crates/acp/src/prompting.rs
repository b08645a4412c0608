//! One prompt, from its content to the reason for which it stopped. The session begins or goes on with it.

use std::pin::Pin;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    Error, Notice, NoticeSeverity, PromptRequest, SessionUpdate, StopReason,
};
use posse_api::calls::steering::PromptSession;
use posse_api::{CallErrorKind, Handle};
use posse_engine::{Engine, Session, SessionRequest};
use posse_protocol::visible::one_line;
use posse_protocol::{Ending, Report};
use posse_setup::{SessionPlan, SetupWarning, TaskPrompt, Wishes};
use posse_view::SessionView;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::commands::{self, SlashOutcome};
use crate::content::{BufferReader, task_of};
use crate::errors::{failed, of_call, of_engine, of_preparing};
use crate::following::{SessionFollower, SessionSource, stop_turn, tell_all};
use crate::host::AcpHost;
use crate::limits::TITLE_COLUMNS_MAX;
use crate::servers;
use crate::session::AcpSession;
use crate::translate::Translator;
use crate::turns::{AwaitedTurn, TurnEnd};

/// Does what a prompt wants. `stop` is cancelled when the client wants it stopped.
pub(crate) async fn prompt(
    host: &Arc<AcpHost>,
    session: &Arc<AcpSession>,
    request: PromptRequest,
    stop: &CancellationToken,
) -> Result<StopReason, Error> {
    match answered(host, session, request, stop).await {
        _ if stop.is_cancelled() => Ok(StopReason::Cancelled),
        answered => answered,
    }
}

async fn answered(
    host: &Arc<AcpHost>,
    session: &Arc<AcpSession>,
    request: PromptRequest,
    stop: &CancellationToken,
) -> Result<StopReason, Error> {
    let reading = async {
        let (config, _) = host.settings_in(&session.folder)?;
        let reads = host.client.skills().reads_files && config.client_files();
        let buffers = reads.then(|| BufferReader { client: &host.client, session: &session.wire });
        task_of(request.prompt, &session.folder, buffers).await
    };
    let mut task = unless(stop, reading).await??;
    match commands::run(host, session, &task.text, stop).await? {
        Some(SlashOutcome::Said(text)) => {
            let translator = Translator::new(Arc::clone(&session.wire), host.client.skills());
            tell_all(&host.client, Some(translator.note("command", &text))).await;
            return Ok(StopReason::EndTurn);
        }
        Some(SlashOutcome::Prompt(text)) => task.text = text,
        None => {}
    }
    let ended = say(host, session, task, stop).await?;
    match outcome(session, ended, stop).await {
        TurnEnd::Rested(report) => stop_reason(&report),
        TurnEnd::Over => Err(failed("the session was ended elsewhere; another prompt continues it")),
    }
}

/// Does something that can be given up, unless the prompt is stopped meanwhile.
async fn unless<T>(stop: &CancellationToken, work: impl Future<Output = T>) -> Result<T, Error> {
    tokio::select! {
        biased;
        () = stop.cancelled() => Err(Error::request_cancelled()),
        done = work => Ok(done),
    }
}

/// Waits for the end of the turn, and stops it when the client wants that.
async fn outcome(
    session: &AcpSession,
    mut ended: oneshot::Receiver<TurnEnd>,
    stop: &CancellationToken,
) -> TurnEnd {
    tokio::select! {
        biased;
        end = &mut ended => return end.unwrap_or(TurnEnd::Over),
        () = stop.cancelled() => {}
    }
    if let Some(live) = session.live() {
        stop_turn(&live.handle, session.id).await;
    }
    ended.await.unwrap_or(TurnEnd::Over)
}

/// Gives the prompt to the session: to the one that runs, or it begins. Once it has, this cannot be given up: somebody has to
/// follow it.
async fn say(
    host: &Arc<AcpHost>,
    session: &Arc<AcpSession>,
    task: TaskPrompt,
    stop: &CancellationToken,
) -> Result<oneshot::Receiver<TurnEnd>, Error> {
    if let Some(live) = session.live() {
        let said = PromptSession { text: task.text.clone(), attachments: task.attachments.clone() };
        session.turns.expect(&task.text);
        match live.handle.call(session.id, said).await {
            Ok(posted) => return Ok(session.turns.wait(AwaitedTurn::Of(posted.mail))),
            // It has ended a moment ago: it goes on below.
            Err(error) if matches!(error.kind, CallErrorKind::NotRunning | CallErrorKind::Unreachable) => {
                unless(stop, live.over.cancelled()).await?;
            }
            Err(error) => return Err(of_call(&error)),
        }
    }
    let Some(recorded) = session.take_idle() else {
        return Err(failed("the session is about to begin or to end; try again"));
    };
    let mut place = IdlePlace { session, recorded: Some(recorded) };
    let view = place.recorded.as_ref().and_then(Option::as_ref).map(|translator| &translator.view);
    let prepared = unless(stop, prepare(host, session, task, view)).await??;
    let begun = prepared.begin(session, view.is_some()).await?;
    let translator = place.recorded.take().flatten();
    let mut translator = translator
        .unwrap_or_else(|| Box::new(Translator::new(Arc::clone(&session.wire), host.client.skills())));
    translator.window = begun.window;
    let (shell, warned) = (begun.shell, (Arc::clone(host), Arc::clone(session)));
    tokio::spawn(async move {
        let (host, session) = warned;
        let found = shell.await.map(|warning| warning.to_string());
        let warnings = begun.warnings.into_iter().chain(found).collect::<Vec<_>>();
        warn(&host, &session, &warnings).await;
    });
    let (engine, handle) = (begun.engine.clone(), Handle::Here(begun.engine));
    let source = SessionSource::Own(Box::new(begun.session));
    let (client, session) = (Arc::clone(&host.client), Arc::clone(session));
    SessionFollower { client, engine, session, handle, source, translator }.start();
    Ok(begun.ended)
}

/// What is known of a session that did not begin goes back to where it was.
struct IdlePlace<'a> {
    session: &'a AcpSession,
    recorded: Option<Option<Box<Translator>>>,
}

impl Drop for IdlePlace<'_> {
    fn drop(&mut self) {
        if let Some(recorded) = self.recorded.take() {
            self.session.set_idle(recorded);
        }
    }
}

/// A session that can begin.
struct PreparedTurn {
    engine: Engine,
    text: String,
    request: SessionRequest,
    /// How many tokens fit into its model.
    window: Option<u64>,
    /// What the person should know.
    warnings: Vec<String>,
    /// The same, as far as it is found out later.
    shell: Pin<Box<dyn Future<Output = Option<SetupWarning>> + Send>>,
}

/// A session that has begun.
struct BegunTurn {
    engine: Engine,
    session: Session,
    ended: oneshot::Receiver<TurnEnd>,
    window: Option<u64>,
    warnings: Vec<String>,
    shell: Pin<Box<dyn Future<Output = Option<SetupWarning>> + Send>>,
}

/// Prepares a session as every interface does. Nothing is begun.
async fn prepare(
    host: &AcpHost,
    session: &AcpSession,
    task: TaskPrompt,
    recorded: Option<&SessionView>,
) -> Result<PreparedTurn, Error> {
    let wishes = wishes(host, session, recorded)?;
    let plan = SessionPlan::read(&host.paths, &session.folder, wishes).map_err(|e| of_preparing(&e))?;
    let engine = host.engine(plan.config()).await?;
    let (choice, replaced) = match recorded {
        None => (plan.choose_model().await.map_err(|e| of_preparing(&e))?, None),
        Some(view) => plan.choose_model_again(view.model.as_deref()).await.map_err(|e| of_preparing(&e))?,
    };
    task.must_fit(&choice.model).map_err(|e| of_preparing(&e))?;
    let window = choice.model.context_window;
    let mut terms = plan.terms(choice).map_err(|e| of_preparing(&e))?;
    servers::add(&mut terms.servers, &session.servers);
    let warnings = terms.warnings.iter().chain(&replaced).map(ToString::to_string).collect();
    let (shell, text) = (Box::pin(terms.shell_warning()), task.text.clone());
    let request = terms.request(task, None).map_err(|e| of_preparing(&e))?;
    Ok(PreparedTurn { engine, text, request, window, warnings, shell })
}

impl PreparedTurn {
    /// Starts the session, or resumes it.
    async fn begin(self, session: &AcpSession, resumes: bool) -> Result<BegunTurn, Error> {
        let Self { engine, text, request, window, warnings, shell } = self;
        session.turns.expect(&text);
        let ended = session.turns.wait(AwaitedTurn::Next);
        let begun = match resumes {
            false => engine.start_as(session.id, request),
            true => engine.resume(session.id, request).await,
        };
        let begun = begun.map_err(|error| of_engine(&error))?;
        session.set(|settings| settings.begun = true);
        Ok(BegunTurn { engine, session: begun, ended, window, warnings, shell })
    }
}

/// What counts for the session: what the client set it to, and for one on record how it was.
fn wishes(host: &AcpHost, session: &AcpSession, recorded: Option<&SessionView>) -> Result<Wishes, Error> {
    let settings = session.settings();
    let mut wishes = Wishes { person: true, stay: true, ..host.wishes.clone() };
    wishes.model = settings.model;
    wishes.surface = settings.surface;
    wishes.traceparent = session.traceparent();
    wishes.approval = settings.mode_chosen.then_some(settings.mode);
    let Some(view) = recorded else { return Ok(wishes) };
    wishes.coordinator |= view.coordinator;
    wishes.team |= view.team;
    wishes.approval_max = Some(view.approval.unwrap_or_default());
    if view.surface.is_empty() && view.agents.len() <= 1 {
        wishes.alone = true;
    } else if !view.surface.is_empty() {
        wishes.surface = Some(view.surface.parse().map_err(failed)?);
    }
    Ok(wishes)
}

/// Tells the person what they should know before a session begins.
async fn warn(host: &AcpHost, session: &AcpSession, warnings: &[String]) {
    if host.client.skills().notices {
        for warning in warnings {
            let notice = Notice::new(NoticeSeverity::Warning, one_line(warning, TITLE_COLUMNS_MAX));
            host.client.update(&session.wire, SessionUpdate::Notice(notice)).await;
        }
    } else if !warnings.is_empty() {
        let lines = warnings.iter().map(|warning| format!("> {}\n", one_line(warning, TITLE_COLUMNS_MAX)));
        let text = format!("{}\n", lines.collect::<String>());
        let translator = Translator::new(Arc::clone(&session.wire), host.client.skills());
        tell_all(&host.client, Some(translator.note("warnings", &text))).await;
    }
}

/// Why a prompt stopped. What went wrong is an error, with the words for it.
fn stop_reason(report: &Report) -> Result<StopReason, Error> {
    match &report.ending {
        Ending::Completed => Ok(StopReason::EndTurn),
        Ending::Cancelled => Ok(StopReason::Cancelled),
        Ending::OutOfTurns => Ok(StopReason::MaxTurnRequests),
        Ending::OutOfTokens => Ok(StopReason::MaxTokens),
        Ending::Refused => Ok(StopReason::Refusal),
        ending => Err(failed(ending)),
    }
}
