//! Carries effects out: each on a task of its own, whose outcome comes back to the chat as input.

mod changes;
mod programs;
mod queries;
mod starting;
mod steering;

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use posse_api::Handle;
use posse_api::calls::steering::{CloseSession, StopTurn};
use posse_engine::Engine;
use posse_protocol::{Approval, Seq, SessionId};
use posse_setup::ChatNotify;
use posse_terminal::Theme;
use tokio::sync::{OnceCell, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::facts;
use super::following::{FollowedSession, OpenHandle, follow, replay};
use super::start::{ChatStart, failed, now_ms};
use crate::chat::{Chat, ChatInput};
use crate::effect::{ChatEffect, ChatOutcome, OnTerminal, SteerCommand};
use crate::limits::{INPUTS_AHEAD_MAX, LEAVE_MS};

/// What tasks share.
pub(super) struct EdgeShared {
    start: ChatStart,
    inputs: Arc<mpsc::Sender<ChatInput>>,
    engine: OnceCell<Engine>,
    open: Mutex<Option<OpenHandle>>,
    following: Mutex<Option<JoinHandle<()>>>,
    /// Stops the command that the person typed.
    typed: Mutex<Option<CancellationToken>>,
}

/// What the task that tells the session things is given.
enum Telling {
    Command(SteerCommand),
    /// Says when all that came before has reached the session.
    Told(oneshot::Sender<()>),
}

/// Carries effects out.
pub(super) struct Performer {
    shared: Arc<EdgeShared>,
    /// What is on its way to the session, in the order in which it was said.
    telling: mpsc::Sender<Telling>,
    notify: Arc<Mutex<ChatNotify>>,
}

impl Performer {
    pub(super) fn new(start: ChatStart, inputs: mpsc::Sender<ChatInput>) -> Self {
        let shared = EdgeShared {
            start,
            inputs: Arc::new(inputs),
            engine: OnceCell::new(),
            open: Mutex::default(),
            following: Mutex::default(),
            typed: Mutex::default(),
        };
        let shared = Arc::new(shared);
        let (telling, waiting) = mpsc::channel(INPUTS_AHEAD_MAX);
        tokio::spawn(shared.clone().tell(waiting));
        Self { shared, telling, notify: Arc::default() }
    }

    pub(super) fn notify(&self) -> ChatNotify {
        *self.notify.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Finds out about the surroundings.
    pub(super) fn find_facts(&self) {
        let (shared, notify) = (self.shared.clone(), self.notify.clone());
        tokio::spawn(async move { shared.find_facts(&notify).await });
    }

    /// Carries out an effect that does not need the terminal.
    pub(super) fn perform(&self, effect: ChatEffect, mode: Approval) {
        let shared = self.shared.clone();
        match effect {
            ChatEffect::Begin(begin) => self.spawn(async move { shared.begin(begin).await }),
            ChatEffect::Open(session) => self.spawn(async move { shared.open(session).await }),
            ChatEffect::Steer(command) => {
                if self.telling.try_send(Telling::Command(command)).is_err() {
                    self.spawn(async { Some(failed("the session does not answer; that was not said")) });
                }
            }
            ChatEffect::LetGo => {
                self.spawn(async move {
                    shared.let_go(false).await;
                    None
                });
            }
            ChatEffect::Query(query) => self.spawn(async move { shared.ask(query).await }),
            ChatEffect::Change(request) => self.spawn(async move { shared.change(request).await }),
            ChatEffect::Delete(session) => self.spawn(async move { shared.delete(session).await }),
            ChatEffect::Rename(session, title) => {
                self.spawn(async move { shared.rename(session, &title).await })
            }
            ChatEffect::Posse(arguments) => self.spawn(async move { shared.posse(arguments).await }),
            ChatEffect::Side(question) => self.spawn(async move { shared.side(question).await }),
            ChatEffect::Sandboxed(command) => {
                self.spawn(async move { shared.sandboxed(command, mode).await })
            }
            ChatEffect::StopCommand => self.shared.stop_typed(),
            ChatEffect::UserCommand { command, arguments } => {
                self.spawn(async move { shared.expand(&command, &arguments, mode).await });
            }
            ChatEffect::ServerPrompt { name, arguments } => {
                self.spawn(async move { shared.server_prompt(name, arguments).await });
            }
            ChatEffect::PasteImage => self.spawn(async move { shared.clipboard_image().await }),
            ChatEffect::Remember(text) => self.spawn(async move { shared.remember(&text) }),
            ChatEffect::SaveRule(rule) => self.spawn(async move { Some(shared.save_rule(&rule)) }),
            ChatEffect::Trust => {
                let notify = self.notify.clone();
                self.spawn(async move {
                    let said = shared.trust().await;
                    // What is trusted counts from now on.
                    shared.find_facts(&notify).await;
                    said
                });
            }
            ChatEffect::StatusLine(input) => self.spawn(async move { shared.status_line(input).await }),
            ChatEffect::OnTerminal(_)
            | ChatEffect::Copy(_)
            | ChatEffect::Notify(_)
            | ChatEffect::Redraw
            | ChatEffect::Leave(_) => {}
        }
    }

    /// Runs a program that has the terminal, and waits for it.
    pub(super) fn on_terminal(&self, task: &OnTerminal) -> ChatOutcome {
        self.shared.on_terminal(task)
    }

    /// Puts a text on the clipboard with a tool of the desktop, where there is one.
    pub(super) fn copy(&self, text: String) {
        let shared = self.shared.clone();
        self.spawn(async move { shared.copy(text).await });
    }

    /// Closes the open session and waits until it has taken that in. What runs is stopped.
    pub(super) async fn close(&self) {
        self.shared.let_go(true).await;
    }

    /// Waits until a session that begins has begun, and until what the person said has reached it: otherwise nobody would
    /// know of the session, or the words would be lost. Not for ever.
    pub(super) async fn settle(&self, chat: &mut Chat, heard: &mut mpsc::Receiver<ChatInput>) {
        let settled = async {
            while chat.beginning.is_some() {
                let Some(input) = heard.recv().await else { return };
                let effects = chat.handle(input, now_ms());
                for effect in effects.into_iter().filter(|effect| matches!(effect, ChatEffect::Steer(_))) {
                    self.perform(effect, chat.mode());
                }
            }
            tokio::select! {
                () = self.told() => {}
                () = async { while heard.recv().await.is_some() {} } => {}
            }
        };
        let _ = tokio::time::timeout(Duration::from_millis(LEAVE_MS), settled).await;
    }

    async fn told(&self) {
        let (done, told) = oneshot::channel();
        if self.telling.send(Telling::Told(done)).await.is_ok() {
            let _ = told.await;
        }
    }

    fn spawn(&self, work: impl Future<Output = Option<ChatOutcome>> + Send + 'static) {
        let inputs = self.shared.inputs.clone();
        tokio::spawn(async move {
            if let Some(outcome) = work.await {
                let _ = inputs.send(ChatInput::Outcome(outcome)).await;
            }
        });
    }
}

impl EdgeShared {
    /// Tells the session one thing after the other.
    async fn tell(self: Arc<Self>, mut waiting: mpsc::Receiver<Telling>) {
        while let Some(telling) = waiting.recv().await {
            match telling {
                Telling::Command(command) => {
                    if let Some(outcome) = self.steer(command).await {
                        let _ = self.inputs.send(ChatInput::Outcome(outcome)).await;
                    }
                }
                Telling::Told(done) => drop(done.send(())),
            }
        }
    }

    async fn find_facts(&self, notify: &Mutex<ChatNotify>) {
        let start = &self.start;
        let mut facts = facts::find(&start.paths, &start.folder, &start.wishes, &start.version).await;
        *notify.lock().unwrap_or_else(PoisonError::into_inner) = facts::notify(&start.paths, &start.folder);
        if !start.colours {
            facts.theme = Some(Theme::Colourless);
        }
        facts.demo = start.host.is_some();
        if facts.demo {
            facts.notes.clear();
        }
        let _ = self.inputs.send(ChatInput::Facts(Box::new(facts))).await;
    }

    /// The record, opened when it is first needed.
    async fn engine(&self) -> Result<&Engine, ChatOutcome> {
        let data_dir = self.start.paths.data_dir.clone();
        let open = || async move {
            let opened = tokio::task::spawn_blocking(move || Engine::open(&data_dir)).await;
            opened.map_err(failed)?.map_err(failed)
        };
        self.engine.get_or_try_init(open).await
    }

    fn opened(&self) -> Option<OpenHandle> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The open session; an outcome that says so if there is none.
    fn session(&self) -> Result<SessionId, ChatOutcome> {
        self.opened().map(|open| open.session).ok_or_else(|| failed("there is no session yet"))
    }

    /// Shows what is on record of a session, and follows it if it runs.
    async fn open(self: Arc<Self>, session: SessionId) -> Option<ChatOutcome> {
        let engine = match self.engine().await {
            Ok(engine) => engine,
            Err(outcome) => return Some(outcome),
        };
        self.set_open(session, None);
        let after = match replay(engine, session, &self.inputs).await {
            Ok(after) => after,
            Err(why) => return Some(failed(why)),
        };
        match Handle::of(engine, session).await {
            Ok(handle) => {
                self.follow(session, handle, after);
                Some(ChatOutcome::Followed)
            }
            // Nobody runs it: the next prompt takes it up.
            Err(_) => None,
        }
    }

    fn set_open(&self, session: SessionId, handle: Option<Handle>) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = Some(OpenHandle { session, handle });
    }

    /// Follows a session from after an event.
    fn follow(&self, session: SessionId, handle: Handle, after: Seq) {
        self.set_open(session, Some(handle.clone()));
        let followed = FollowedSession { engine: self.engine.get().cloned(), handle, session };
        let task = tokio::spawn(follow(followed, after, self.inputs.clone()));
        let before = self.following.lock().unwrap_or_else(PoisonError::into_inner).replace(task);
        if let Some(before) = before {
            before.abort();
        }
    }

    /// Lets go of the open session: it ends as soon as it rests, or at once if what runs is to be stopped.
    async fn let_go(&self, stop: bool) {
        if let Some(task) = self.following.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(OpenHandle { session, handle: Some(handle) }) = open else { return };
        let _ = handle.call(session, CloseSession {}).await;
        if stop {
            let _ = handle.call(session, StopTurn {}).await;
        }
    }
}
