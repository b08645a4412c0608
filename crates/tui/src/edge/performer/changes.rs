//! Changes of files and of the record: undo, redo, merge, rewind, delete.

use posse_engine::{ChangeRequest, Engine};
use posse_protocol::{SessionId, words::counted};

use super::EdgeShared;
use crate::edge::start::failed;
use crate::effect::ChatOutcome;

impl EdgeShared {
    pub(super) async fn change(&self, request: ChangeRequest) -> Option<ChatOutcome> {
        let engine = match self.engine().await {
            Ok(engine) => engine,
            Err(outcome) => return Some(outcome),
        };
        Some(match self.changed(engine, &request).await {
            Ok(text) => {
                ChatOutcome::Said { command: command(&request), text, failed: false, for_model: false }
            }
            Err(outcome) => outcome,
        })
    }

    async fn changed(&self, engine: &Engine, request: &ChangeRequest) -> Result<String, ChatOutcome> {
        let row = self.row(engine).await?;
        let undone = match request {
            ChangeRequest::Undo(undo) => engine.undo_selected(&row, undo).await,
            ChangeRequest::Redo => engine.redo(&row).await,
            ChangeRequest::Rewind { turn } => engine.rewind(&row, *turn).await,
            ChangeRequest::Merge { agent } => {
                let merged = engine.merge(&row, agent).await.map_err(failed)?;
                return Ok(told(&merged.branch, merged.changes.len(), &merged.conflicts, &[]));
            }
        };
        let undone = undone.map_err(failed)?;
        Ok(told(&undone.what, undone.changes.len(), &undone.conflicts, &undone.not_certain))
    }

    pub(super) async fn delete(&self, session: SessionId) -> Option<ChatOutcome> {
        let engine = match self.engine().await {
            Ok(engine) => engine,
            Err(outcome) => return Some(outcome),
        };
        let row = engine.read(move |engine| engine.find_session(&session.to_string())).await;
        let deleted = match row {
            Ok(row) => engine.delete_session(&row).await,
            Err(error) => Err(error),
        };
        Some(match deleted {
            Ok(_) => ChatOutcome::Note("deleted".to_owned()),
            Err(error) => failed(error),
        })
    }
}

/// What a person would have typed.
fn command(request: &ChangeRequest) -> String {
    match request {
        ChangeRequest::Undo(_) => "/undo".to_owned(),
        ChangeRequest::Redo => "/redo".to_owned(),
        ChangeRequest::Rewind { turn } => format!("/rewind {turn}"),
        ChangeRequest::Merge { agent } => format!("/merge {agent}"),
    }
}

fn told(
    what: &str,
    changed: usize,
    conflicts: &[posse_protocol::Conflict],
    not_certain: &[String],
) -> String {
    let mut lines = vec![format!("{what}: {} changed", counted(changed as u64, "file"))];
    lines.extend(conflicts.iter().map(|conflict| format!("left as it is: {}", conflict.path)));
    lines.extend(not_certain.iter().map(|path| format!("left as it is, changed by somebody else: {path}")));
    lines.join("\n")
}
