//! The `agent_figures` table: what changes with every turn, in one narrow row an agent. What the events of a transaction
//! add to it is written once, when the transaction ends or when something depends on it.

use posse_protocol::AgentId;
use rusqlite::Row;

use super::figures::{Cost, Tokens, whole};
use super::tally::AgentTally;
use super::{Change, Sql};
use crate::StoreError;

/// One agent in this transaction.
pub(super) struct AgentFigures {
    /// What its rows are found by.
    pub(super) number: i64,
    /// Its newest prompt: what its work is counted under.
    pub(super) message: Option<i64>,
    /// What has been added up and is not in the tables yet; none where nothing has happened since.
    tally: Option<AgentTally>,
}

/// What the agent's events came to.
pub(super) struct AgentTotals {
    pub(super) turns: i64,
    pub(super) tool_calls: i64,
    pub(super) tokens: Tokens,
    pub(super) cost: Cost,
}

impl AgentFigures {
    /// The agent whose row in `agent_rows` was put there just now.
    pub(super) fn new(change: &Change<'_>) -> Result<Self, StoreError> {
        let number = change.sql.connection.last_insert_rowid();
        let insert = "INSERT INTO agent_figures (agent, last_at_ms) VALUES (?1, ?2)";
        change.run(insert, (number, whole(change.event.at_ms)))?;
        Ok(Self { number, message: None, tally: None })
    }

    /// Finds an agent that is on record.
    pub(super) fn find(sql: Sql<'_>, session: &str, id: AgentId) -> Result<Option<Self>, StoreError> {
        sql.ask_row(
            "SELECT r.number, f.message_id FROM agent_rows r JOIN agent_figures f ON f.agent = r.number
             WHERE r.session_id = ?1 AND r.id = ?2",
            (session, id.to_string()),
            |row| Ok(Self { number: row.get(0)?, message: row.get(1)?, tally: None }),
        )
    }

    /// Adds up what an event tells.
    pub(super) fn note(&mut self, change: &Change<'_>) {
        self.tally.get_or_insert_default().note(change.event);
    }

    /// Writes what has been added up.
    pub(super) fn write(&mut self, sql: Sql<'_>) -> Result<(), StoreError> {
        match self.tally.take() {
            Some(tally) => self.add(sql, &tally),
            None => Ok(()),
        }
    }

    /// Adds to the agent's figures and to those of its newest prompt.
    pub(super) fn add(&self, sql: Sql<'_>, tally: &AgentTally) -> Result<(), StoreError> {
        if !tally.has_figures() {
            let seen = "UPDATE agent_figures SET last_at_ms = max(last_at_ms, ?2) WHERE agent = ?1";
            return sql.run(seen, (self.number, tally.last_at_ms)).map(drop);
        }
        let t = &tally.tokens;
        let parameters = rusqlite::params![
            self.number,
            tally.last_at_ms,
            tally.turns,
            tally.retries,
            tally.tool_calls,
            t.input,
            t.cached,
            t.cache_write,
            t.output,
            t.reasoning,
            tally.cost.usd,
            tally.cost.unknown,
            // The request of the latest reply is the size of the context.
            tally.context_tokens,
            tally.total_tokens
        ];
        sql.run(
            "UPDATE agent_figures SET
               last_at_ms = max(last_at_ms, ?2), turns = turns + ?3, retries = retries + ?4, tool_calls = tool_calls + ?5,
               input_tokens          = iif(?6 IS NULL,  input_tokens,         coalesce(input_tokens, 0) + ?6),
               cached_tokens         = iif(?7 IS NULL,  cached_tokens,        coalesce(cached_tokens, 0) + ?7),
               cache_write_tokens    = iif(?8 IS NULL,  cache_write_tokens,   coalesce(cache_write_tokens, 0) + ?8),
               output_tokens         = iif(?9 IS NULL,  output_tokens,        coalesce(output_tokens, 0) + ?9),
               reasoning_tokens      = iif(?10 IS NULL, reasoning_tokens,     coalesce(reasoning_tokens, 0) + ?10),
               cost_usd              = iif(?11 IS NULL, cost_usd,             coalesce(cost_usd, 0) + ?11),
               cost_unknown          = max(0, cost_unknown + ?12),
               prompt_turns          = prompt_turns + ?3,
               prompt_context_tokens = coalesce(?13, prompt_context_tokens),
               prompt_input_tokens   = iif(?6 IS NULL,  prompt_input_tokens,  coalesce(prompt_input_tokens, 0) + ?6),
               prompt_output_tokens  = iif(?9 IS NULL,  prompt_output_tokens, coalesce(prompt_output_tokens, 0) + ?9),
               prompt_total_tokens   = iif(?14 IS NULL, prompt_total_tokens,  coalesce(prompt_total_tokens, 0) + ?14)
             WHERE agent = ?1",
            parameters,
        )
        .map(drop)
    }

    /// Counts the work from here on under another prompt. What was counted under the one before goes into its row.
    pub(super) fn turn_to(&mut self, sql: Sql<'_>, message: i64) -> Result<(), StoreError> {
        self.write(sql)?;
        if let Some(before) = self.message {
            let figures =
                "SELECT prompt_turns, prompt_context_tokens, prompt_input_tokens, prompt_output_tokens,
                             prompt_total_tokens FROM agent_figures WHERE agent = ?1";
            let counted = sql.ask_row(figures, (self.number,), Counted::read)?;
            counted.map_or(Ok(()), |counted| counted.write(sql, before))?;
        }
        self.message = Some(message);
        sql.run(
            "UPDATE agent_figures SET message_id = ?2, prompt_turns = 0, prompt_context_tokens = NULL,
               prompt_input_tokens = NULL, prompt_output_tokens = NULL, prompt_total_tokens = NULL
             WHERE agent = ?1",
            (self.number, message),
        )
        .map(drop)
    }

    /// What its events came to, all of them.
    pub(super) fn told(&mut self, sql: Sql<'_>) -> Result<Option<AgentTotals>, StoreError> {
        self.write(sql)?;
        sql.ask_row(
            "SELECT turns, tool_calls, input_tokens, cached_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
               cost_usd, cost_unknown
             FROM agent_figures WHERE agent = ?1",
            (self.number,),
            AgentTotals::read,
        )
    }

    /// Writes what it cost as a whole.
    pub(super) fn cost(&self, sql: Sql<'_>, cost_usd: f64) -> Result<(), StoreError> {
        sql.run("UPDATE agent_figures SET cost_usd = ?2 WHERE agent = ?1", (self.number, cost_usd)).map(drop)
    }
}

/// What was counted under a prompt.
struct Counted {
    turns: i64,
    context: Option<i64>,
    input: Option<i64>,
    output: Option<i64>,
    total: Option<i64>,
}

impl Counted {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            turns: row.get(0)?,
            context: row.get(1)?,
            input: row.get(2)?,
            output: row.get(3)?,
            total: row.get(4)?,
        })
    }

    /// Adds it to the prompt's own row.
    fn write(&self, sql: Sql<'_>, prompt: i64) -> Result<(), StoreError> {
        sql.run(
            "UPDATE prompt_rows SET
               iteration_count     = iteration_count + ?2,
               context_token_count = coalesce(?3, context_token_count),
               prompt_tokens       = iif(?4 IS NULL, prompt_tokens,     coalesce(prompt_tokens, 0) + ?4),
               completion_tokens   = iif(?5 IS NULL, completion_tokens, coalesce(completion_tokens, 0) + ?5),
               total_tokens        = iif(?6 IS NULL, total_tokens,      coalesce(total_tokens, 0) + ?6)
             WHERE id = ?1",
            (prompt, self.turns, self.context, self.input, self.output, self.total),
        )
        .map(drop)
    }
}

impl AgentTotals {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            turns: row.get(0)?,
            tool_calls: row.get(1)?,
            tokens: Tokens {
                input: row.get(2)?,
                cached: row.get(3)?,
                cache_write: row.get(4)?,
                output: row.get(5)?,
                reasoning: row.get(6)?,
            },
            cost: Cost { usd: row.get(7)?, unknown: row.get(8)? },
        })
    }
}
