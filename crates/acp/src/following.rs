//! Follows one session: what happens in it is told to the client, what it asks is asked, and what comes back is passed on.

use std::collections::HashMap;
use std::sync::Arc;

use agent_client_protocol_schema::v1::{ConfigOptionUpdate, CurrentModeUpdate, SessionUpdate, ToolCallId};
use posse_api::{Following, Handle};
use posse_engine::{Engine, Session};
use posse_protocol::{AgentId, AgentState, CallId, Seq, SessionId, Update};
use posse_view::OpenQuestion;
use tokio::task::AbortHandle;
use tokio_util::sync::CancellationToken;

use crate::client::AcpClient;
use crate::limits::{DIFF_BYTES_MAX, DIFFS_REPLAYED_MAX};
use crate::questions::{ClientAnswer, dismissed, pose};
use crate::session::{AcpSession, LiveSession};
use crate::translate::{ClientNews, Translator};
use crate::turns::TurnEnd;

/// Where what happens comes from.
pub(crate) enum SessionSource {
    /// A session of this process, which ends with it.
    Own(Box<Session>),
    /// One that runs elsewhere, or that somebody else runs.
    Other(Following),
}

impl SessionSource {
    async fn next(&mut self) -> Option<Update> {
        match self {
            Self::Own(session) => session.next().await,
            Self::Other(following) => following.next().await.ok().flatten(),
        }
    }
}

/// Somebody who follows a session.
pub(crate) struct SessionFollower {
    pub(crate) client: Arc<AcpClient>,
    pub(crate) engine: Engine,
    pub(crate) session: Arc<AcpSession>,
    pub(crate) handle: Handle,
    pub(crate) source: SessionSource,
    pub(crate) translator: Box<Translator>,
}

impl SessionFollower {
    /// Begins to follow, in the background.
    pub(crate) fn start(self) -> LiveSession {
        let (leave, over) = (CancellationToken::new(), CancellationToken::new());
        let live = LiveSession { handle: self.handle.clone(), leave: leave.clone(), over: over.clone() };
        self.session.set_live(live.clone());
        let at_work = FollowerAtWork { follower: self, asking: HashMap::new(), known_agents: 0 };
        tokio::spawn(async move {
            at_work.run(leave).await;
            over.cancel();
        });
        live
    }
}

struct FollowerAtWork {
    follower: SessionFollower,
    /// Questions that the client has not answered.
    asking: HashMap<(AgentId, CallId), AbortHandle>,
    known_agents: usize,
}

impl FollowerAtWork {
    async fn run(mut self, leave: CancellationToken) {
        let open = self.follower.translator.open_questions();
        self.apply(open).await;
        let mut leaving = false;
        loop {
            let update = tokio::select! {
                biased;
                () = leave.cancelled(), if !leaving => {
                    leaving = true;
                    if self.let_go().await { continue } else { break }
                }
                update = self.follower.source.next() => update,
            };
            let Some(update) = update else { break };
            let news = self.follower.translator.handle(&update);
            self.note_children();
            self.apply(news).await;
        }
        self.asking.drain().for_each(|(_, asking)| asking.abort());
        let SessionFollower { session, translator, .. } = self.follower;
        session.set_idle(Some(translator));
        session.turns.ended(&TurnEnd::Over);
    }

    /// Ends a session that rests, and leaves one at work to be resumed. Whether there is more to come.
    async fn let_go(&mut self) -> bool {
        let SessionFollower { source, engine, .. } = &mut self.follower;
        let SessionSource::Own(session) = source else { return false };
        // Not by what the client was told: it may be far behind.
        let id = session.id.to_string();
        let row = engine.read(move |engine| engine.find_session(&id)).await;
        let rests = row.is_ok_and(|row| row.status == AgentState::Resting);
        if rests && engine.close(session.id).is_ok() {
            return true;
        }
        if let Err(error) = session.detach().await {
            tracing::warn!(%error, "a session could not be let go of");
        }
        false
    }

    /// Notes new sub-agents, so that the client can stop them.
    fn note_children(&mut self) {
        let SessionFollower { session, translator, .. } = &self.follower;
        let agents = &translator.view.agents;
        for agent in agents.iter().skip(self.known_agents) {
            let id = agent.id.to_string();
            if let Some(name) = translator.child_named(&id) {
                session.add_child(id, name);
            }
        }
        self.known_agents = agents.len();
    }

    async fn apply(&mut self, news: Vec<ClientNews>) {
        for news in news {
            let SessionFollower { client, engine, session, handle, translator, .. } = &mut self.follower;
            match news {
                ClientNews::Update { session, update } => client.update(&session, *update).await,
                ClientNews::Said { mail, text, attachments } => {
                    session.turns.told(mail);
                    if !session.turns.is_own(&text) {
                        let said = translator.said(mail.0, &text, &attachments);
                        tell_all(client, said).await;
                    }
                }
                ClientNews::Turn => {
                    // A stop that came before the turn did was about nothing.
                    if session.is_stopping() {
                        stop_turn(handle, session.id).await;
                    }
                }
                ClientNews::Rested(report) => session.turns.ended(&TurnEnd::Rested(report)),
                ClientNews::Answered { agent, call } => {
                    if let Some(asking) = self.asking.remove(&(agent, call)) {
                        asking.abort();
                    }
                }
                ClientNews::Changed { agent, changes } => {
                    let texts = engine.changed_texts(session.id, &changes, DIFF_BYTES_MAX).await;
                    let told = texts.ok().and_then(|texts| translator.diffs(agent, texts));
                    tell_all(client, told).await;
                }
                ClientNews::Settings => settings_changed(client, session, translator).await,
                ClientNews::Ask { session, call, open } => self.ask(session, call, *open),
            }
        }
    }

    /// Asks the client. Whoever answers first counts, here or elsewhere.
    fn ask(&mut self, in_session: Arc<str>, call: ToolCallId, open: OpenQuestion) {
        let SessionFollower { client, session, handle, translator, .. } = &self.follower;
        let key = (open.agent, open.question.call.clone());
        let name = translator.name(open.agent);
        let posed = pose(&in_session, call, &name, &open.question, client.skills().forms);
        let asked = client.ask(posed.method, &posed.params);
        let (client, session, handle) = (Arc::clone(client), Arc::clone(session), handle.clone());
        let asking = tokio::spawn(async move {
            let answer = match asked.answer().await.map(|reply| posed.read(reply)) {
                Ok(ClientAnswer::Answer(answer)) => answer,
                Ok(ClientAnswer::Closed) if session.is_stopping() => return,
                Ok(ClientAnswer::Closed) => dismissed(),
                Ok(ClientAnswer::Unclear) | Err(_) => {
                    return left_open(&client, &session, &name, open.seq).await;
                }
            };
            let (agent, call) = (open.agent, open.question.call);
            let given = posse_api::calls::steering::AnswerQuestion { agent, call, answer };
            // Somebody else may have been first.
            if let Err(error) = handle.call(session.id, given).await {
                tracing::warn!(%error, "an answer could not be passed on");
            }
        });
        if let Some(before) = self.asking.insert(key, asking.abort_handle()) {
            before.abort();
        }
    }
}

/// Says how a question is answered that the client cannot put to the person.
async fn left_open(client: &AcpClient, session: &AcpSession, name: &str, seq: Seq) {
    let text = format!(
        "\n\n{name} waits for an answer, which this editor did not give. Answer in a terminal: `posse answer {} {} …`\n",
        session.wire, seq.0
    );
    let note =
        Translator::new(Arc::clone(&session.wire), client.skills()).note(&format!("open-{}", seq.0), &text);
    tell_all(client, Some(note)).await;
}

/// Stops what a session does. One that has nothing to stop is as wanted.
pub(crate) async fn stop_turn(handle: &Handle, session: SessionId) {
    let _ = handle.call(session, posse_api::calls::steering::StopTurn {}).await;
}

/// Tells the client, of all news, what it is to be told.
pub(crate) async fn tell_all(client: &AcpClient, news: impl IntoIterator<Item = ClientNews>) {
    for news in news {
        if let ClientNews::Update { session, update } = news {
            client.update(&session, *update).await;
        }
    }
}

/// The mode or the model is another one: somebody changed it, here or elsewhere.
async fn settings_changed(client: &AcpClient, session: &AcpSession, translator: &Translator) {
    let view = &translator.view;
    let before = session.settings().mode;
    let (settings, changed) = session.set(|settings| {
        settings.mode = view.approval.unwrap_or(settings.mode);
        settings.model = view.model.clone().or(settings.model.take());
        settings.begun = true;
        settings.surface = view.surface.parse().ok();
    });
    if settings.mode != before {
        let mode = CurrentModeUpdate::new(settings.mode.word());
        client.update(&session.wire, SessionUpdate::CurrentModeUpdate(mode)).await;
    }
    if changed {
        let options = ConfigOptionUpdate::new(settings.options());
        client.update(&session.wire, SessionUpdate::ConfigOptionUpdate(options)).await;
    }
}

/// Reads a session from the record; with `tells`, the client is told all of it.
pub(crate) async fn replay(
    client: &AcpClient,
    engine: &Engine,
    session: SessionId,
    translator: &mut Translator,
    tells: bool,
) {
    let mut recorded = engine.recorded(session, Seq(0));
    let mut diffs_left = DIFFS_REPLAYED_MAX;
    while let Some(update) = recorded.next().await {
        for news in translator.handle(&update) {
            match news {
                _ if !tells => {}
                ClientNews::Said { mail, text, attachments } => {
                    tell_all(client, translator.said(mail.0, &text, &attachments)).await;
                }
                ClientNews::Changed { agent, changes } if diffs_left > 0 => {
                    diffs_left -= 1;
                    let texts = engine.changed_texts(session, &changes, DIFF_BYTES_MAX).await;
                    tell_all(client, texts.ok().and_then(|texts| translator.diffs(agent, texts))).await;
                }
                news => tell_all(client, Some(news)).await,
            }
        }
    }
}
