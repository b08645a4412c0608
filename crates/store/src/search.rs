//! Full-text search over what was said in past sessions. The index is brought up to date when somebody searches, so
//! that it costs agents at work nothing. It must not know who asks.

mod index;

use posse_protocol::{Seq, SessionId};
use rusqlite::Row;
use rusqlite::types::Type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::read::{Reader, rows_max};
use crate::rows::{count, parsed, title};
use crate::words::QueryWords;
use crate::{Store, StoreError, limits};

/// One thing said in a session that a search has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// The session.
    pub session: SessionId,
    /// The event that says it.
    pub seq: Seq,
    /// The name of the agent that it was said to or by.
    pub agent_name: String,
    /// What it is.
    pub what: HitKind,
    /// When: milliseconds since 1970, UTC.
    pub at_ms: u64,
    /// The session's title, if it has one yet.
    pub title: Option<String>,
    /// The place where it was found, in one line: found words are between [`Hit::MARK_BEGIN`] and [`Hit::MARK_END`].
    pub snippet: String,
}

impl Hit {
    /// Stands before every found word of a snippet. No text holds it otherwise.
    pub const MARK_BEGIN: char = '\u{2}';
    /// Stands behind every found word of a snippet.
    pub const MARK_END: char = '\u{3}';
}

/// What can be found. A session's title is the beginning of its first prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HitKind {
    /// Words of the person, or of a parent to its sub-agent.
    Prompt,
    /// Words of a model.
    Reply,
    /// What an agent came to.
    Report,
    /// What a tool call was about.
    Tool,
}

impl HitKind {
    const ALL: [Self; 4] = [Self::Prompt, Self::Reply, Self::Report, Self::Tool];

    /// One word for tables and the database.
    pub fn word(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::Reply => "reply",
            Self::Report => "report",
            Self::Tool => "tool",
        }
    }
}

impl Store {
    /// What was said in all sessions and holds all of the words, best first, newest first among equals; where nothing
    /// holds all of them, what holds any. A word also finds longer ones that begin with it.
    ///
    /// What is on record when it is called is found. Events that cannot be read are passed over. Takes a while when
    /// there is much that nobody has searched yet.
    pub fn search(&self, query: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
        let words = QueryWords::of(query);
        if words.is_empty() {
            return Ok(Vec::new());
        }
        index::catch_up(self)?;
        let with_all = self.ask(|reader| hits(reader, &words.all(), limit))?;
        if with_all.is_empty() { self.ask(|reader| hits(reader, &words.any(), limit)) } else { Ok(with_all) }
    }
}

/// What a call was about counts half: such lines are short, and would else stand before what was said.
///
/// Only what is shown is cut into snippets, in one more pass over what matches; the `+` keeps SQLite from beginning a
/// pass for each of them.
fn hits(reader: &Reader<'_>, question: &str, limit: usize) -> Result<Vec<Hit>, StoreError> {
    reader.rows(
        "WITH best AS MATERIALIZED (
           SELECT e.id, e.session_id, e.agent_id, e.seq, e.what, e.at_ms, s.given_title, s.title,
             w.rank * iif(e.what = 'tool', 0.5, 1.0) AS score
           FROM search_words w JOIN search e ON e.id = w.rowid JOIN sessions s ON s.id = e.session_id
           WHERE search_words MATCH ?1
           ORDER BY score, e.at_ms DESC, e.id DESC LIMIT ?2),
         shown AS MATERIALIZED (
           SELECT rowid AS id, snippet(search_words, 0, ?3, ?4, '…', ?5) AS snippet
           FROM search_words WHERE search_words MATCH ?1 AND +rowid IN (SELECT id FROM best))
         SELECT best.*, shown.snippet, coalesce(a.name, '') AS agent_name
         FROM best JOIN shown USING (id)
           LEFT JOIN agent_rows a ON a.session_id = best.session_id AND a.id = best.agent_id
         ORDER BY best.score, best.at_ms DESC, best.id DESC",
        (
            question,
            rows_max(limit, limits::HITS_MAX),
            Hit::MARK_BEGIN.to_string(),
            Hit::MARK_END.to_string(),
            limits::SNIPPET_WORDS,
        ),
        read_hit,
    )
}

fn read_hit(row: &Row<'_>) -> rusqlite::Result<Hit> {
    let word: String = row.get("what")?;
    let what = HitKind::ALL.into_iter().find(|kind| kind.word() == word);
    Ok(Hit {
        session: parsed(row, "session_id")?,
        seq: Seq(count(row, "seq")?),
        agent_name: row.get("agent_name")?,
        what: what.ok_or(rusqlite::Error::InvalidColumnType(3, word, Type::Text))?,
        at_ms: count(row, "at_ms")?,
        title: title(row.get("given_title")?, row.get("title")?),
        snippet: row.get("snippet")?,
    })
}
