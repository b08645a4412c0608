//! Sessions page by page, newest first: of a project, in some states, with some words in their title or prompt.
//!
//! A page begins behind a session, not at a number, so that sessions that begin meanwhile move nothing.

use posse_protocol::{AgentState, SessionId};
use rusqlite::types::Value;

use crate::read::{Reader, rows_max};
use crate::{SessionRow, Store, StoreError, limits};

/// Which sessions are asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionQuery {
    /// Only those of this project.
    pub project: Option<String>,
    /// Only those in one of these states; empty: in any.
    pub states: Vec<AgentState>,
    /// Only those with this text in their title or in a prompt of the person, in upper or lower case.
    pub text: Option<String>,
    /// Only those that come behind this one.
    pub behind: Option<SessionPlace>,
}

/// Where a session stands among all: newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// When it began.
    pub started_at_ms: u64,
    /// Its id; it decides where two began at the same time.
    pub id: SessionId,
}

impl Store {
    /// The next sessions that fit, newest first.
    pub fn session_page(&self, query: &SessionQuery, limit: usize) -> Result<Vec<SessionRow>, StoreError> {
        let (sql, parameters) = question(query, limit);
        self.ask(|reader: &Reader<'_>| {
            reader.rows(&sql, rusqlite::params_from_iter(&parameters), SessionRow::read)
        })
    }
}

/// One text for each kind of question, so that the database sees which index serves it.
fn question(query: &SessionQuery, limit: usize) -> (String, Vec<Value>) {
    let (mut conditions, mut parameters) = (Vec::new(), Vec::new());
    if let Some(project) = &query.project {
        conditions.push("project = ?");
        parameters.push(Value::Text(project.clone()));
    }
    if let Some(behind) = &query.behind {
        conditions.push("(started_at_ms, id) < (?, ?)");
        parameters.push(Value::Integer(i64::try_from(behind.started_at_ms).unwrap_or(i64::MAX)));
        parameters.push(Value::Text(behind.id.to_string()));
    }
    if !query.states.is_empty() {
        conditions.push("status IN (SELECT value FROM json_each(?))");
        let words = query.states.iter().map(|state| format!("\"{}\"", state.word())).collect::<Vec<_>>();
        parameters.push(Value::Text(format!("[{}]", words.join(","))));
    }
    if let Some(text) = query.text.as_deref().filter(|text| !text.trim().is_empty()) {
        conditions.push(
            "(coalesce(given_title, title) LIKE ? ESCAPE '\\' OR EXISTS (SELECT 1 FROM prompt_rows p
               WHERE p.session_id = sessions.id AND p.agent_depth = 0 AND p.request_content LIKE ? ESCAPE '\\'))",
        );
        parameters.extend([Value::Text(pattern(text)), Value::Text(pattern(text))]);
    }
    let conditions = if conditions.is_empty() { "1".to_owned() } else { conditions.join(" AND ") };
    parameters.push(Value::Integer(rows_max(limit, limits::ROWS_MAX)));
    (
        format!("SELECT * FROM sessions WHERE {conditions} ORDER BY started_at_ms DESC, id DESC LIMIT ?"),
        parameters,
    )
}

/// What finds a text anywhere in another; nothing in it stands for something else.
fn pattern(text: &str) -> String {
    let text = text.trim();
    let text = &text[..text.floor_char_boundary(limits::QUERY_BYTES_MAX)];
    format!("%{}%", text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_"))
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[test]
    fn every_question_is_answered_by_an_index_without_sorting() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("schema.sql")).unwrap();
        let id = "00000000-0000-7000-8000-000000000001".parse().unwrap();
        let behind = Some(SessionPlace { started_at_ms: 5, id });
        let (project, text) = (Some("/p".to_owned()), Some("50%".to_owned()));
        let states = vec![AgentState::Running];
        let by_start = "sessions_by_start";
        let by_project = "sessions_by_project";
        let cases = [
            (SessionQuery::default(), by_start),
            (SessionQuery { behind, ..Default::default() }, by_start),
            (SessionQuery { states: states.clone(), text: text.clone(), ..Default::default() }, by_start),
            (SessionQuery { project: project.clone(), ..Default::default() }, by_project),
            (SessionQuery { project, states, text, behind }, by_project),
        ];
        assert_eq!(cases.len(), 5);
        for (query, index) in cases {
            let (sql, parameters) = question(&query, 10);
            let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let rows = plan.query_map(rusqlite::params_from_iter(&parameters), |row| row.get::<_, String>(3));
            let plan = rows.unwrap().map(Result::unwrap).collect::<Vec<_>>().join("\n");
            assert!(plan.contains(&format!("sessions USING INDEX {index}")), "{query:?}:\n{plan}");
            assert!(!plan.contains("TEMP B-TREE"), "{query:?}:\n{plan}");
        }
    }
}
