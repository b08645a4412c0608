//! What outlives sessions: what was said in them, notes, and what tasks came to.

use posse_engine::Engine;
use posse_engine::record::{Hit, Stats, StatsQuery};
use posse_protocol::Note;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Verb, at_most};
use crate::calls::record::{rows, within_rows};
use crate::calls::steering::Accomplished;
use crate::failure::{CallError, CallErrorKind};
use crate::limits::QUERY_BYTES_MAX;

/// What was said in past sessions that fits a query, best first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRecord {
    /// The words to find.
    pub query: String,
    /// How many at most.
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Places that fit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HitList {
    /// The best first.
    pub hits: Vec<Hit>,
}

impl Call for SearchRecord {
    type Of = ();
    type Answer = HitList;
    const NAME: &'static str = "search_record";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/search";

    fn check(&self) -> Result<(), CallError> {
        at_most(QUERY_BYTES_MAX, "The query", &self.query)?;
        within_rows(self.limit)
    }

    async fn run(self, (): (), engine: Engine) -> Result<HitList, CallError> {
        let hits = engine.read(move |engine| engine.search(&self.query, self.limit)).await?;
        Ok(HitList { hits })
    }
}

/// Notes on record, the newest first: those of a project and the person's own, or all.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListNotes {
    /// The project, by its path; all if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// How many at most.
    #[serde(default = "rows")]
    pub limit: usize,
}

/// Notes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NoteList {
    /// The newest first.
    pub notes: Vec<Note>,
}

impl Call for ListNotes {
    type Of = ();
    type Answer = NoteList;
    const NAME: &'static str = "list_notes";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/notes";

    fn check(&self) -> Result<(), CallError> {
        at_most(QUERY_BYTES_MAX, "The project", self.project.as_deref().unwrap_or_default())?;
        within_rows(self.limit)
    }

    async fn run(self, (): (), engine: Engine) -> Result<NoteList, CallError> {
        let notes = engine.read(move |engine| engine.notes(self.project.as_deref(), self.limit)).await?;
        Ok(NoteList { notes })
    }
}

/// What tasks came to, by role, model, surface and week.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowStats {
    /// Only those that ended at or after this moment: milliseconds since 1970, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since_ms: Option<u64>,
    /// Only those of this project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// What tasks came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsFound {
    /// In all, and by what they have in common.
    pub stats: Stats,
}

impl Call for ShowStats {
    type Of = ();
    type Answer = StatsFound;
    const NAME: &'static str = "show_stats";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/stats";

    fn check(&self) -> Result<(), CallError> {
        at_most(QUERY_BYTES_MAX, "The project", self.project.as_deref().unwrap_or_default())
    }

    async fn run(self, (): (), engine: Engine) -> Result<StatsFound, CallError> {
        let query = StatsQuery { since_ms: self.since_ms, project: self.project };
        Ok(StatsFound { stats: engine.read(move |engine| engine.stats(&query)).await? })
    }
}

/// Forgets a note, for good.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetNote {
    /// Its number.
    pub id: u64,
}

impl Call for ForgetNote {
    type Of = ();
    type Answer = Accomplished;
    const NAME: &'static str = "forget_note";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/notes/forget";

    async fn run(self, (): (), engine: Engine) -> Result<Accomplished, CallError> {
        if engine.read(move |engine| engine.forget(self.id)).await? {
            return Ok(Accomplished {});
        }
        Err(CallError::new(CallErrorKind::NotFound, format!("There is no note {}.", self.id)))
    }
}
