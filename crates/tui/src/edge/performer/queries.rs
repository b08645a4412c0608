//! Answers to what the chat asks about the record and the folder, read from the record, whoever runs the session; and about
//! servers, which only the process that runs the session knows.

use posse_api::Handle;
use posse_api::calls::servers::{FillPrompt, ListServers};
use posse_engine::{Engine, SessionFilter};
use posse_protocol::{AgentId, Event, Seq, SessionId};
use posse_setup::{Config, context_window, model_list};
use posse_terminal::PathIndex;

use super::EdgeShared;
use crate::edge::start::failed;
use crate::effect::{ChatFound, ChatOutcome, ChatQuery};
use crate::limits::{EVENTS_AT_ONCE, EVENTS_MAX, FILES_MAX, SESSIONS_MAX};

impl EdgeShared {
    pub(super) async fn ask(&self, query: ChatQuery) -> Option<ChatOutcome> {
        let quiet =
            matches!(query, ChatQuery::EventDiff(_) | ChatQuery::Files | ChatQuery::Servers { show: false });
        match self.find(query).await {
            Ok(found) => Some(ChatOutcome::Found(found)),
            // What is only a convenience is not worth a message.
            Err(_) if quiet => None,
            Err(outcome) => Some(outcome),
        }
    }

    async fn find(&self, query: ChatQuery) -> Result<ChatFound, ChatOutcome> {
        let engine = self.engine().await?;
        match query {
            ChatQuery::EventDiff(seq) => {
                let diff = engine.event_diff(self.session()?, seq, None).await.map_err(failed)?;
                Ok(ChatFound::EventDiff(seq, diff.diff))
            }
            ChatQuery::Sessions { text, all } => {
                let filter = SessionFilter {
                    folder: (!all).then(|| self.start.folder.display().to_string()),
                    text: Some(text).filter(|text| !text.trim().is_empty()),
                    limit: Some(SESSIONS_MAX),
                    ..SessionFilter::default()
                };
                Ok(ChatFound::Sessions(engine.session_page(filter).await.map_err(failed)?.sessions))
            }
            ChatQuery::Events { session, agent } => {
                let events = events(engine, session, agent).await?;
                Ok(ChatFound::Events(session, agent, events))
            }
            ChatQuery::Diff(agent) => {
                let row = self.row(engine).await?;
                let bytes_max = posse_engine::limits::DIFF_BYTES_MAX;
                let diff = engine.diff(&row, agent.as_deref(), bytes_max).await.map_err(failed)?;
                Ok(ChatFound::Diff(agent, diff))
            }
            ChatQuery::Preview(request) => {
                let row = self.row(engine).await?;
                let preview = engine.preview(&row, &request).await.map_err(failed)?;
                Ok(ChatFound::Preview(request, Box::new(preview)))
            }
            ChatQuery::Context => {
                let config = self.config()?;
                let window = |name: &str| context_window(&config, self.start.paths.surroundings(), name);
                let found = engine.context_use(self.session()?, "main", window).await.map_err(failed)?;
                Ok(ChatFound::Context(Box::new(found)))
            }
            ChatQuery::Models => {
                let models = model_list(&self.config()?, self.start.paths.surroundings());
                Ok(ChatFound::Models(models))
            }
            ChatQuery::Files => {
                let rules = self.config()?.rules().map_err(failed)?;
                let list = engine.list_files(&self.start.folder, FILES_MAX, &rules).await.map_err(failed)?;
                Ok(ChatFound::Files(Box::new(PathIndex::new(list.paths, list.ignored))))
            }
            ChatQuery::Servers { show } => {
                let (session, handle) = self.running()?;
                let list = handle.call(session, ListServers {}).await.map_err(failed)?;
                Ok(ChatFound::Servers { servers: list.servers, show })
            }
        }
    }

    /// The text of a server's prompt, as a prompt of the person's.
    pub(super) async fn server_prompt(&self, name: String, arguments: Vec<String>) -> Option<ChatOutcome> {
        let (session, handle) = match self.running() {
            Ok(running) => running,
            Err(outcome) => return Some(outcome),
        };
        Some(match handle.call(session, FillPrompt { name, arguments }).await {
            Ok(filled) => ChatOutcome::Expanded(filled.text),
            Err(error) => failed(error),
        })
    }

    /// The open session and the way to the process that runs it.
    fn running(&self) -> Result<(SessionId, Handle), ChatOutcome> {
        let open = self.opened().ok_or_else(|| failed("there is no session yet"))?;
        let handle = open.handle.ok_or_else(|| failed("the session does not run now"))?;
        Ok((open.session, handle))
    }

    pub(super) fn config(&self) -> Result<Config, ChatOutcome> {
        Config::load(&self.start.paths, &self.start.folder).map_err(failed)
    }

    /// The row of the open session.
    pub(super) async fn row(&self, engine: &Engine) -> Result<posse_engine::record::SessionRow, ChatOutcome> {
        let session = self.session()?;
        engine.read(move |engine| engine.find_session(&session.to_string())).await.map_err(failed)
    }
}

async fn events(
    engine: &Engine,
    session: SessionId,
    agent: Option<AgentId>,
) -> Result<Vec<Event>, ChatOutcome> {
    let (mut after, mut events) = (Seq(0), Vec::new());
    while events.len() < EVENTS_MAX {
        let read = engine.read(move |engine| engine.events_after(session, after, EVENTS_AT_ONCE)).await;
        let page = read.map_err(failed)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        events.extend(page.into_iter().filter(|event| agent.is_none_or(|agent| event.agent == agent)));
    }
    Ok(events)
}
