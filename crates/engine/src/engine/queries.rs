//! What interfaces ask: sessions page by page, agents, open questions, and the diff of one event. All of it is answered from
//! the record, so it works for every session, in whichever process it runs.

use std::path::Path;

use posse_policy::Rules;
use posse_protocol::{AgentId, AgentState, Change, Event, EventKind, Question, Seq, SessionId};
use posse_store::{AgentRow, SessionPlace, SessionQuery, SessionRow};
use posse_workspace::{Completions, PathList, Workspace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::changes::hidden::hides;
use crate::engine::Engine;
use crate::error::EngineError;
use crate::limits::{
    DIFF_BYTES_MAX, FOLDERS_LISTED_MAX, QUESTIONS_LISTED_MAX, SESSION_PAGE_DEFAULT, SESSION_PAGE_MAX,
    SESSION_PAGES_READ_MAX,
};
use crate::project::project_of;
use crate::record::session_lock;

/// Which sessions are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionFilter {
    /// Only those of the project that this folder belongs to.
    pub folder: Option<String>,
    /// Only those in one of these states; empty: in any.
    pub states: Vec<AgentState>,
    /// Only those with this text in their title or in a prompt of the person.
    pub text: Option<String>,
    /// Where the page begins: `next` of the page before; none: with the newest.
    pub cursor: Option<String>,
    /// How many at most; none: 50.
    pub limit: Option<usize>,
}

/// Some of the sessions that fit, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionRow>,
    /// Where the next page begins; none: there are no more.
    pub next: Option<String>,
}

/// A question that waits for a person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingQuestion {
    /// The session.
    pub session: SessionId,
    /// What the session is called.
    pub title: Option<String>,
    /// The agent that asks.
    pub agent: AgentId,
    /// What it is called.
    pub agent_name: String,
    /// The event with which it was asked.
    pub seq: Seq,
    /// When that was: milliseconds since 1970, UTC.
    pub asked_at_ms: u64,
    /// The question.
    pub question: Question,
}

/// What one event changed, as text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EventDiff {
    /// The event.
    pub seq: Seq,
    /// The paths that it changed, each once.
    pub paths: Vec<String>,
    /// A unified diff, cut to the wanted length.
    pub diff: String,
}

impl Engine {
    /// Sessions that fit, newest first, a page at a time. Sessions that begin meanwhile appear on no later page, and move
    /// nothing on it.
    pub async fn session_page(&self, filter: SessionFilter) -> Result<SessionPage, EngineError> {
        self.read(move |engine| engine.page_of(&filter)).await
    }

    fn page_of(&self, filter: &SessionFilter) -> Result<SessionPage, EngineError> {
        let limit = filter.limit.unwrap_or(SESSION_PAGE_DEFAULT).clamp(1, SESSION_PAGE_MAX);
        let wanted = |row: &SessionRow| filter.states.is_empty() || filter.states.contains(&row.status);
        let mut query = SessionQuery {
            project: filter.folder.as_deref().map(|folder| {
                let folder = Path::new(folder);
                project_of(&folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf()))
            }),
            states: recorded_states(&filter.states),
            text: filter.text.clone(),
            behind: filter.cursor.as_deref().map(place).transpose()?,
        };
        let mut sessions = Vec::new();
        for _ in 0..SESSION_PAGES_READ_MAX {
            // One more than is shown, to know whether there are more.
            let rows = self.parts.store.session_page(&query, limit + 1)?;
            let (all, last) = (rows.len() <= limit, rows.last().map(place_of));
            sessions.extend(rows.into_iter().map(|row| self.as_it_is(row)).filter(wanted));
            if sessions.len() > limit {
                sessions.truncate(limit);
                let next = sessions.last().map(|row| cursor(place_of(row)));
                return Ok(SessionPage { sessions, next });
            }
            if all {
                return Ok(SessionPage { sessions, next: None });
            }
            query.behind = last;
        }
        Ok(SessionPage { sessions, next: query.behind.map(cursor) })
    }

    /// The agents of a session, in the order in which they came.
    pub async fn agents_of_session(&self, session: SessionId) -> Result<Vec<AgentRow>, EngineError> {
        self.read(move |engine| engine.agents(session)).await
    }

    /// The questions that wait for an answer: of one session, or of all that run, in this process or in another one. Those of
    /// a session that nobody runs are asked again when it is resumed, so they are not listed.
    pub async fn pending_questions(
        &self,
        session: Option<SessionId>,
    ) -> Result<Vec<WaitingQuestion>, EngineError> {
        self.read(move |engine| engine.questions_of(session)).await
    }

    fn questions_of(&self, session: Option<SessionId>) -> Result<Vec<WaitingQuestion>, EngineError> {
        let store = &self.parts.store;
        let mut pending: Vec<WaitingQuestion> = Vec::new();
        for (session, agent) in store.waiting_agents(session, QUESTIONS_LISTED_MAX)? {
            if !session_lock::is_at_work(&self.parts.processes, session) {
                continue;
            }
            let row = self.find_session(&session.to_string())?;
            let agents = store.agents(session)?;
            let name = agents.iter().find(|row| row.id == agent).map_or("", |row| row.name.as_str());
            for event in store.unanswered(session, agent)? {
                let Event { seq, at_ms, kind: EventKind::PersonNeeded { question }, .. } = event else {
                    continue;
                };
                let (title, agent_name) = (row.title.clone(), name.to_owned());
                pending.push(WaitingQuestion {
                    session,
                    title,
                    agent,
                    agent_name,
                    seq,
                    asked_at_ms: at_ms,
                    question,
                });
            }
        }
        pending.truncate(QUESTIONS_LISTED_MAX);
        Ok(pending)
    }

    /// Paths of a folder that complete what a person has typed after `@`. What `rules` hide from agents, and Posse's own data,
    /// are never among them.
    pub async fn complete_files(
        &self,
        folder: &Path,
        typed: &str,
        matches_max: usize,
        rules: &Rules,
    ) -> Result<Completions, EngineError> {
        let (folder, typed, hidden) = (folder.to_path_buf(), typed.to_owned(), rules.hidden());
        self.read(move |engine| {
            let workspace = Workspace::open(&folder)?.hiding(std::slice::from_ref(&engine.parts.data_dir));
            let workspace = workspace.hiding_where(hides(hidden, workspace.root()));
            Ok(workspace.complete(&typed, matches_max)?)
        })
        .await
    }

    /// Up to so many files of a folder, for a list that is searched many times. What `rules` hide from agents, and Posse's own
    /// data, are never among them.
    pub async fn list_files(
        &self,
        folder: &Path,
        files_max: usize,
        rules: &Rules,
    ) -> Result<PathList, EngineError> {
        let (folder, hidden) = (folder.to_path_buf(), rules.hidden());
        self.read(move |engine| {
            let workspace = Workspace::open(&folder)?.hiding(std::slice::from_ref(&engine.parts.data_dir));
            let workspace = workspace.hiding_where(hides(hidden, workspace.root()));
            Ok(workspace.list_paths(files_max))
        })
        .await
    }

    /// The newest events of an agent before a place, in order, and the admissions of its sub-agents among them.
    pub async fn transcript(
        &self,
        session: SessionId,
        agent: AgentId,
        before: Seq,
        events_max: usize,
    ) -> Result<Vec<Event>, EngineError> {
        self.read(move |engine| {
            engine.find_session(&session.to_string())?;
            Ok(engine.parts.store.transcript(session, agent, before, events_max)?)
        })
        .await
    }

    /// The folders that sessions on record were in, those of the newest first.
    pub fn folders(&self) -> Result<Vec<String>, EngineError> {
        Ok(self.parts.store.folders(FOLDERS_LISTED_MAX)?)
    }

    /// A value that is another one after anything was put on record or taken off it.
    pub fn pulse(&self) -> Result<(u64, u64), EngineError> {
        Ok(self.parts.store.pulse()?)
    }

    /// One event of a session.
    pub async fn event(&self, session: SessionId, seq: Seq) -> Result<Event, EngineError> {
        let none = move || EngineError::NotFound(format!("there is no event {} in session {session}", seq.0));
        let before = Seq(seq.0.checked_sub(1).ok_or_else(none)?);
        let mut page = self.read(move |engine| engine.events_after(session, before, 1)).await?;
        page.pop().filter(|event| event.seq == seq).ok_or_else(none)
    }

    /// What one event changed, as a unified diff: for the kinds `changed`, `changed_meanwhile`, `merged` and `undone`.
    pub async fn event_diff(
        &self,
        session: SessionId,
        seq: Seq,
        bytes_max: Option<usize>,
    ) -> Result<EventDiff, EngineError> {
        let changes = match self.event(session, seq).await?.kind {
            EventKind::Changed { changes, .. }
            | EventKind::ChangedMeanwhile { changes, .. }
            | EventKind::Merged { changes, .. }
            | EventKind::Undone { changes, .. } => changes,
            _ => return Err(EngineError::NothingToDo(format!("event {} changed no files", seq.0))),
        };
        let row = self.read(move |engine| engine.find_session(&session.to_string())).await?;
        let bytes_max = bytes_max.unwrap_or(DIFF_BYTES_MAX).min(DIFF_BYTES_MAX);
        let diff = self.checkpoints(&row).await?.1.diff(&changes, bytes_max).await?;
        Ok(EventDiff { seq, paths: paths_of(&changes), diff })
    }
}

/// A file that an event changed, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedText {
    /// Relative to the workspace.
    pub path: String,
    /// What was there; none if nothing was.
    pub before: Option<String>,
    /// What is there since; none if it is gone.
    pub after: Option<String>,
}

impl Engine {
    /// What one event changed, as whole texts, for interfaces that show diffs themselves. Files that are not text, are not kept
    /// or would take more than `bytes_max` in all are left out.
    pub async fn changed_texts(
        &self,
        session: SessionId,
        changes: &[Change],
        bytes_max: usize,
    ) -> Result<Vec<ChangedText>, EngineError> {
        let row = self.read(move |engine| engine.find_session(&session.to_string())).await?;
        let contents = self.checkpoints(&row).await?.1.contents(changes).await;
        let mut room = bytes_max;
        let texts = changes.iter().zip(contents).filter_map(|(change, sides)| {
            let (before, after) = sides?;
            room = room.checked_sub(before.len() + after.len())?;
            let text = |there: bool, bytes| there.then(|| String::from_utf8(bytes)).transpose().ok();
            let before = text(change.before.is_some(), before)?;
            Some(ChangedText {
                path: change.path.clone(),
                before,
                after: text(change.after.is_some(), after)?,
            })
        });
        Ok(texts.collect())
    }
}

/// Each path once, sorted.
pub(crate) fn paths_of(changes: &[Change]) -> Vec<String> {
    let paths: std::collections::BTreeSet<&String> = changes.iter().map(|change| &change.path).collect();
    paths.into_iter().cloned().collect()
}

/// A session that is on record as running may have been interrupted, so whoever asks for either gets both from the record.
fn recorded_states(wanted: &[AgentState]) -> Vec<AgentState> {
    let mut states = wanted.to_vec();
    if wanted.contains(&AgentState::Interrupted) && !wanted.contains(&AgentState::Running) {
        states.push(AgentState::Running);
    }
    states
}

fn place_of(row: &SessionRow) -> SessionPlace {
    SessionPlace { started_at_ms: row.started_at_ms, id: row.id }
}

fn cursor(place: SessionPlace) -> String {
    format!("{}.{}", place.started_at_ms, place.id)
}

fn place(cursor: &str) -> Result<SessionPlace, EngineError> {
    let parts = cursor.split_once('.').and_then(|(at, id)| Some((at.parse().ok()?, id.parse().ok()?)));
    let (started_at_ms, id) =
        parts.ok_or_else(|| EngineError::Refused("this is not where a page begins".to_string()))?;
    Ok(SessionPlace { started_at_ms, id })
}
