//! What queries answer with: one struct a table, read column by name. It must not know who asks.

use std::str::FromStr;

use posse_protocol::{AgentId, AgentState, Budget, Seq, SessionId, Usage, title_of};
use rusqlite::Row;
use rusqlite::types::Type;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One session, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionRow {
    /// Its id.
    pub id: SessionId,
    /// When it began: milliseconds since 1970, UTC.
    pub started_at_ms: u64,
    /// When something last happened in it.
    pub last_at_ms: u64,
    /// The place of its last event.
    pub last_seq: Seq,
    /// The folder the work is done in.
    pub workspace: String,
    /// The project that it is about: the top of the repository, or the workspace.
    pub project: String,
    /// The dialect its models delegate in; empty where nobody delegates.
    pub surface: String,
    /// The title that it was given, else one that is made of the first prompt; none before that.
    pub title: Option<String>,
    /// `Running`, `Interrupted`, or how the main agent ended.
    pub status: AgentState,
    /// Model calls of all its agents.
    pub turns: u64,
    /// Tokens of all its agents, as far as reported.
    pub usage: Usage,
    /// What it cost, as far as known.
    pub cost_usd: Option<f64>,
    /// Whether models were called at a cost that is not known: then it cost more than that.
    pub cost_unknown: bool,
    /// The configured name of the main agent's model; none before the agent starts.
    pub model: Option<String>,
}

/// One agent, as far as it has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentRow {
    /// Its id.
    pub id: AgentId,
    /// Its parent; none for the main agent.
    pub parent: Option<AgentId>,
    /// What it is called; `main` for the main agent.
    pub name: String,
    /// Its role.
    pub role: String,
    /// 0 for the main agent.
    pub depth: u32,
    /// What it is asked to do, in a few words; none for the main agent.
    pub title: Option<String>,
    /// How it does, or how it ended.
    pub status: AgentState,
    /// The model that was asked for; none where the choice was left to Posse.
    pub requested_model: Option<String>,
    /// The configured name of its model; none before it starts.
    pub model: Option<String>,
    /// The provider's name of its model; none before it starts.
    pub model_id: Option<String>,
    /// Which part of its parent's conversation it began with; none for the main agent.
    pub context: Option<String>,
    /// The settled agent whose conversation it takes up.
    pub continues: Option<AgentId>,
    /// What it may spend.
    pub budget: Budget,
    /// Model calls made.
    pub turns: u64,
    /// Model calls made again after an error.
    pub retries: u64,
    /// Tool calls answered.
    pub tool_calls: u64,
    /// Tokens, as far as reported.
    pub usage: Usage,
    /// What it cost, as far as known.
    pub cost_usd: Option<f64>,
    /// Whether it called a model at a cost that is not known: then it cost more than that.
    pub cost_unknown: bool,
    /// When it had to wait before it could begin: milliseconds since 1970, UTC; none if it had not.
    pub queued_at_ms: Option<u64>,
    /// When it began; none before it does.
    pub started_at_ms: Option<u64>,
    /// When something last happened to it.
    pub last_at_ms: u64,
    /// When it was interrupted; none once it goes on.
    pub interrupted_at_ms: Option<u64>,
    /// When it ended; none before it does.
    pub ended_at_ms: Option<u64>,
    /// How long it worked, without waiting for a person; none before it ends.
    pub duration_ms: Option<u64>,
    /// Whether its parent has been told what it came to.
    pub delivered: bool,
    /// What went wrong, if something did.
    pub error: Option<String>,
}

impl SessionRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: parsed(row, "id")?,
            started_at_ms: count(row, "started_at_ms")?,
            last_at_ms: count(row, "last_at_ms")?,
            last_seq: Seq(count(row, "last_seq")?),
            workspace: row.get("workspace")?,
            project: row.get("project")?,
            surface: row.get("surface")?,
            title: title(row.get("given_title")?, row.get("title")?),
            status: parsed(row, "status")?,
            turns: count(row, "turns")?,
            usage: usage(row)?,
            cost_usd: row.get("cost_usd")?,
            cost_unknown: cost_unknown(row)?,
            model: row.get("model")?,
        })
    }
}

impl AgentRow {
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: parsed(row, "id")?,
            parent: maybe_parsed(row, "parent_id")?,
            name: row.get("name")?,
            role: row.get("role")?,
            depth: row.get("depth")?,
            title: row.get("title")?,
            status: parsed(row, "status")?,
            requested_model: row.get("requested_model")?,
            model: row.get("model")?,
            model_id: row.get("model_id")?,
            context: row.get("context_mode")?,
            continues: maybe_parsed(row, "continues_id")?,
            budget: Budget {
                turns: row.get("budget_turns")?,
                tokens: maybe_count(row, "budget_tokens")?,
                time_ms: maybe_count(row, "budget_time_ms")?,
                cost_usd: row.get("budget_cost_usd")?,
            },
            turns: count(row, "turns")?,
            retries: count(row, "retries")?,
            tool_calls: count(row, "tool_calls")?,
            usage: usage(row)?,
            cost_usd: row.get("cost_usd")?,
            cost_unknown: cost_unknown(row)?,
            queued_at_ms: maybe_count(row, "queued_at_ms")?,
            started_at_ms: maybe_count(row, "started_at_ms")?,
            last_at_ms: count(row, "last_at_ms")?,
            interrupted_at_ms: maybe_count(row, "interrupted_at_ms")?,
            ended_at_ms: maybe_count(row, "ended_at_ms")?,
            duration_ms: maybe_count(row, "duration_ms")?,
            delivered: maybe_count(row, "delivered_at_ms")?.is_some(),
            error: row.get("error")?,
        })
    }
}

/// A session's title: the given one, else the one made of its prompt. Older records have the first line of the prompt, of
/// which the title is made here; what is a title already stays as it is.
pub(crate) fn title(given: Option<String>, made: Option<String>) -> Option<String> {
    given.or_else(|| made.map(|made| title_of(&made)))
}

fn usage(row: &Row<'_>) -> rusqlite::Result<Usage> {
    Ok(Usage {
        input_tokens: maybe_count(row, "input_tokens")?,
        cached_tokens: maybe_count(row, "cached_tokens")?,
        cache_write_tokens: maybe_count(row, "cache_write_tokens")?,
        output_tokens: maybe_count(row, "output_tokens")?,
        reasoning_tokens: maybe_count(row, "reasoning_tokens")?,
    })
}

/// A call that never came back has no reply, and nobody knows what it cost; one that was never made cost nothing.
fn cost_unknown(row: &Row<'_>) -> rusqlite::Result<bool> {
    let cost_usd: Option<f64> = row.get("cost_usd")?;
    Ok(count(row, "cost_unknown")? > 0 || (cost_usd.is_none() && count(row, "turns")? > 0))
}

pub(crate) fn count(row: &Row<'_>, column: &str) -> rusqlite::Result<u64> {
    maybe_count(row, column).map(Option::unwrap_or_default)
}

fn maybe_count(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<u64>> {
    let value: Option<i64> = row.get(column)?;
    Ok(value.map(|n| u64::try_from(n).unwrap_or(0)))
}

/// Reads an id kept as text, where there is one.
pub(crate) fn maybe_parsed<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<Option<T>>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: Option<String> = row.get(column)?;
    text.map(|_| parsed(row, column)).transpose()
}

/// Reads an id kept as text.
pub(crate) fn parsed<T>(row: &Row<'_>, column: &str) -> rusqlite::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    parsed_at(row, row.as_ref().column_index(column)?)
}

/// Reads something kept as text.
pub(crate) fn parsed_at<T>(row: &Row<'_>, index: usize) -> rusqlite::Result<T>
where
    T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
{
    let text: String = row.get(index)?;
    text.parse().map_err(|e| rusqlite::Error::FromSqlConversionFailure(index, Type::Text, Box::new(e)))
}
