//! What tasks came to, by role, model, surface and week: one pass over the agents on record, in memory that does not
//! grow with them. A task is one agent that has ended or was interrupted. It must not know how figures are shown.

mod tally;

use std::collections::BTreeMap;

use posse_protocol::{AgentState, Usage};
use rusqlite::Row;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use self::tally::{Tallies, Tally};
use crate::read::{Reader, rows_max};
use crate::rows::parsed_at;
use crate::{Store, StoreError, limits};

/// Which tasks count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatsQuery {
    /// Only those that ended at or after this moment: milliseconds since 1970, UTC.
    pub since_ms: Option<u64>,
    /// Only those of this project.
    pub project: Option<String>,
}

/// What tasks came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    /// All of them together, under the key `all`.
    pub total: StatsRow,
    /// By role, those with the most tasks first. Main agents have the role `main`.
    pub roles: Vec<StatsRow>,
    /// By the provider's name of the model, those with the most tasks first; `none` is what ended before it began.
    pub models: Vec<StatsRow>,
    /// By the surface of their session, those with the most tasks first; `none` is where nobody delegates.
    pub surfaces: Vec<StatsRow>,
    /// By the week they ended in, oldest first: the date of its Monday, UTC.
    pub weeks: Vec<StatsRow>,
    /// By what the time went to, most of it first.
    #[serde(default)]
    pub time: Vec<TimeSpent>,
}

/// What working time went to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TimeSpent {
    /// `model` for replies of models and what is around them, else the name of a tool. Calls that wait for sub-agents are those
    /// of the tool that started them.
    pub kind: String,
    /// How long, added up.
    pub ms: u64,
    /// How many model calls, or calls of the tool.
    pub count: u64,
}

/// What some tasks came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StatsRow {
    /// What they have in common.
    pub key: String,
    /// How many there are.
    pub tasks: u64,
    /// How many of them completed.
    pub completed: u64,
    /// How many ended how, in `Ending::word`'s words.
    #[schemars(schema_with = "counts_by_state")]
    pub endings: BTreeMap<AgentState, u64>,
    /// Model calls of the one in the middle, of those that made any.
    pub turns_median: Option<u64>,
    /// Model calls of all.
    pub turns_total: u64,
    /// Tokens, as far as reported; cached ones are part of the input.
    pub usage: Usage,
    /// What is known of their cost; none if nothing is.
    pub cost_usd: Option<f64>,
    /// How many called a model, at least once, at a cost that is not known.
    pub cost_unknown: u64,
    /// How long the one in the middle worked, of those that ended.
    pub duration_ms_median: Option<u64>,
    /// How long all of them worked, added up.
    pub duration_ms_total: u64,
    /// How many gave reports with warnings: what they say and the facts do not.
    pub warned: u64,
    /// How many had changes of theirs taken back by a person.
    pub undone: u64,
    /// How often work of theirs was merged from a checkout.
    pub merges: u64,
    /// How many of those merges had conflicts.
    pub merge_conflicts: u64,
}

/// The derived schema of such a map allows every key.
fn counts_by_state(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": generator.subschema_for::<AgentState>(),
        "additionalProperties": generator.subschema_for::<u64>(),
    })
}

impl StatsRow {
    /// The key of tasks that lack what the rows are about.
    pub const NONE: &str = "none";

    /// How many of a hundred tasks gave reports with warnings; none if there are no tasks.
    pub fn warned_percent(&self) -> Option<u64> {
        (self.warned * 100 + self.tasks / 2).checked_div(self.tasks)
    }

    /// How many of a hundred tasks completed; none if there are no tasks.
    pub fn success_percent(&self) -> Option<u64> {
        (self.completed * 100 + self.tasks / 2).checked_div(self.tasks)
    }
}

/// What worked in a project, in one line a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoleRecord {
    /// The role.
    pub role: String,
    /// How many tasks it had.
    pub tasks: u64,
    /// How many of a hundred completed.
    pub success_percent: u64,
    /// Model calls of the one in the middle, of those that made any.
    pub turns_median: Option<u64>,
}

/// What counts of one agent.
struct Task {
    role: String,
    model: Option<String>,
    surface: Option<String>,
    week: Option<String>,
    status: AgentState,
    turns: i64,
    duration_ms: Option<i64>,
    tokens: [Option<i64>; 5],
    cost_usd: Option<f64>,
    cost_unknown: bool,
    undone: i64,
    merges: i64,
    merge_conflicts: i64,
    warned: bool,
}

/// The columns of a [`Task`], in its order. `weekday 0` is the Sunday that ends the week.
const COLUMNS: &str = "iif(a.parent_id IS NULL, 'main', a.role), a.model_id, nullif(s.surface, ''),
    date(coalesce(a.ended_at_ms, a.last_at_ms) / 1000, 'unixepoch', 'weekday 0', '-6 days'),
    a.status, a.turns, a.duration_ms, a.input_tokens, a.cached_tokens, a.cache_write_tokens, a.output_tokens,
    a.reasoning_tokens, a.cost_usd,
    a.cost_unknown > 0 OR (a.cost_usd IS NULL AND a.turns > 0), a.undone, a.merges, a.merge_conflicts,
    a.warnings > 0";

/// What makes an agent a task that counts.
const OVER: &str = "(a.ended_at_ms IS NOT NULL OR a.status = 'interrupted')";

impl Store {
    /// What tasks came to, by role, model, surface and week.
    ///
    /// Where there are very many, medians are those of an even selection.
    pub fn stats(&self, query: &StatsQuery) -> Result<Stats, StoreError> {
        let since_ms = query.since_ms.map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
        let sql = format!(
            "SELECT {COLUMNS} FROM agents a JOIN sessions s ON s.id = a.session_id
             WHERE {OVER} AND (?1 IS NULL OR coalesce(a.ended_at_ms, a.last_at_ms) >= ?1)
               AND (?2 IS NULL OR s.project = ?2)"
        );
        self.ask(|reader| {
            let mut total = Tally::default();
            let [mut roles, mut models, mut surfaces, mut weeks] = <[Tallies; 4]>::default();
            each_task(reader, &sql, (since_ms, &query.project), |task| {
                total.add(task);
                roles.add(Some(&task.role), task);
                models.add(task.model.as_deref(), task);
                surfaces.add(task.surface.as_deref(), task);
                weeks.add(task.week.as_deref(), task);
            })?;
            let total = total.row("all");
            Ok(Stats {
                time: time_spent(reader, (since_ms, &query.project), &total)?,
                total,
                roles: roles.most_first(limits::STATS_ROWS_MAX),
                models: models.most_first(limits::STATS_ROWS_MAX),
                surfaces: surfaces.most_first(limits::STATS_ROWS_MAX),
                weeks: weeks.newest_last(limits::STATS_ROWS_MAX),
            })
        })
    }

    /// How sub-agents of each role did in a project of late, those with the most tasks first.
    pub fn role_records(&self, project: &str) -> Result<Vec<RoleRecord>, StoreError> {
        // The order of the join is given, so that it ends with the newest sessions that have enough.
        let sql = format!(
            "SELECT {COLUMNS} FROM sessions s CROSS JOIN agents a ON a.session_id = s.id
             WHERE s.project = ?1 AND a.parent_id IS NOT NULL AND {OVER}
             ORDER BY s.started_at_ms DESC, s.id DESC LIMIT ?2"
        );
        let tasks_max = rows_max(limits::ROLE_RECORD_TASKS_MAX, usize::MAX);
        let mut roles = Tallies::default();
        self.ask(|reader| {
            each_task(reader, &sql, (project, tasks_max), |task| roles.add(Some(&task.role), task))
        })?;
        let record = |row: StatsRow| RoleRecord {
            success_percent: row.success_percent().unwrap_or_default(),
            role: row.key,
            tasks: row.tasks,
            turns_median: row.turns_median,
        };
        Ok(roles.most_first(limits::ROLE_RECORDS_MAX).into_iter().map(record).collect())
    }
}

/// What the working time of tasks went to: what no tool took is the model's.
fn time_spent(
    reader: &Reader<'_>,
    parameters: impl rusqlite::Params,
    total: &StatsRow,
) -> Result<Vec<TimeSpent>, StoreError> {
    let sql = format!(
        "SELECT c.tool, coalesce(sum(c.duration_ms), 0), count(*)
         FROM call_rows c JOIN agent_rows r ON r.number = c.agent
           JOIN agents a ON a.session_id = r.session_id AND a.id = r.id JOIN sessions s ON s.id = a.session_id
         WHERE {OVER} AND (?1 IS NULL OR coalesce(a.ended_at_ms, a.last_at_ms) >= ?1)
           AND (?2 IS NULL OR s.project = ?2) AND c.duration_ms IS NOT NULL
         GROUP BY c.tool"
    );
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let found: Vec<(String, i64, i64)> =
        reader.rows(&sql, parameters, |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let mut spent: Vec<TimeSpent> = found
        .into_iter()
        .map(|(kind, ms, count)| TimeSpent { kind, ms: number(ms), count: number(count) })
        .collect();
    let of_tools: u64 = spent.iter().map(|spent| spent.ms).sum();
    let of_models = total.duration_ms_total.saturating_sub(of_tools);
    if total.turns_total > 0 {
        spent.push(TimeSpent { kind: "model".to_owned(), ms: of_models, count: total.turns_total });
    }
    spent.sort_by(|one, other| other.ms.cmp(&one.ms).then_with(|| one.kind.cmp(&other.kind)));
    spent.truncate(limits::STATS_ROWS_MAX);
    Ok(spent)
}

fn each_task(
    reader: &Reader<'_>,
    question: &str,
    parameters: impl rusqlite::Params,
    mut count: impl FnMut(&Task),
) -> Result<(), StoreError> {
    let mut statement = reader.sql(reader.connection.prepare_cached(question))?;
    let mut rows = reader.sql(statement.query(parameters))?;
    while let Some(row) = reader.sql(rows.next())? {
        count(&reader.sql(Task::read(row))?);
    }
    Ok(())
}

impl Task {
    /// By number, not by name: there may be very many.
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            role: row.get(0)?,
            model: row.get(1)?,
            surface: row.get(2)?,
            week: row.get(3)?,
            status: parsed_at(row, 4)?,
            turns: row.get(5)?,
            duration_ms: row.get(6)?,
            tokens: [row.get(7)?, row.get(8)?, row.get(9)?, row.get(10)?, row.get(11)?],
            cost_usd: row.get(12)?,
            cost_unknown: row.get(13)?,
            undone: row.get(14)?,
            merges: row.get(15)?,
            merge_conflicts: row.get(16)?,
            warned: row.get(17)?,
        })
    }
}
