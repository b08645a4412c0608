//! Commands about files: taking changes back, bringing them in again, and what that would change. They work on the record
//! and the workspace, whether agents work or not.

use posse_engine::{ChangePreview, ChangeRequest, Engine, MergeOutcome, ReviewDiff, ReviewHunk, UndoOutcome};
use posse_protocol::{AgentId, CallId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Verb, at_most};
use crate::calls::steering::Accomplished;
use crate::failure::CallError;
use crate::limits::{CHANGE_MS_MAX, NAME_BYTES_MAX};

/// Shows what an undo, a redo, a merge or a rewind would change, without doing it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewChange {
    /// `{"undo": …}`, `"redo"`, `{"merge": {"agent": …}}` or `{"rewind": {"turn": …}}`.
    pub change: ChangeRequest,
}

/// What would change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewedChange {
    /// The files, the diff, and what would be left as it is.
    pub preview: ChangePreview,
}

impl Call for PreviewChange {
    type Of = SessionId;
    type Answer = PreviewedChange;
    const NAME: &'static str = "preview_change";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/changes/preview";
    const STEERS: bool = false;
    const ANSWER_MS_MAX: u64 = CHANGE_MS_MAX;

    async fn run(self, session: SessionId, engine: Engine) -> Result<PreviewedChange, CallError> {
        let row = engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        Ok(PreviewedChange { preview: engine.preview(&row, &self.change).await? })
    }
}

/// Undoes, redoes, merges or rewinds. What other programs act on by themselves is left as it is.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeFiles {
    /// As for a preview.
    pub change: ChangeRequest,
}

/// What came of it: one of the two.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFiles {
    /// Of an undo, a redo or a rewind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undone: Option<UndoOutcome>,
    /// Of a merge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<MergeOutcome>,
}

impl Call for ChangeFiles {
    type Of = SessionId;
    type Answer = ChangedFiles;
    const NAME: &'static str = "change_files";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/changes";
    const ANSWER_MS_MAX: u64 = CHANGE_MS_MAX;

    async fn run(self, session: SessionId, engine: Engine) -> Result<ChangedFiles, CallError> {
        let row = engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let undone = match &self.change {
            ChangeRequest::Undo(request) => engine.undo_selected(&row, request).await?,
            ChangeRequest::Redo => engine.redo(&row).await?,
            ChangeRequest::Rewind { turn } => engine.rewind(&row, *turn).await?,
            ChangeRequest::Merge { agent } => {
                return Ok(ChangedFiles { undone: None, merged: Some(engine.merge(&row, agent).await?) });
            }
        };
        Ok(ChangedFiles { undone: Some(undone), merged: None })
    }
}

/// What the agents of a session changed, as a diff.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowDiff {
    /// Only of this agent and those below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Only of this turn of the agent; of the main agent where none is named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<u32>,
}

/// A diff, and what was reviewed of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionDiff {
    /// In unified form, cut to a length.
    pub diff: String,
    /// The branch that the changes are on, where they are not in the workspace: they can be merged, not undone.
    pub branch: Option<String>,
    /// Every hunk of it, in order.
    pub hunks: Vec<ReviewHunk>,
}

impl Call for ShowDiff {
    type Of = SessionId;
    type Answer = SessionDiff;
    const NAME: &'static str = "show_diff";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/sessions/{session}/diff";
    const ANSWER_MS_MAX: u64 = CHANGE_MS_MAX;

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The name", self.agent.as_deref().unwrap_or_default())
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<SessionDiff, CallError> {
        let row = engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let bytes_max = posse_engine::limits::DIFF_BYTES_MAX;
        let ReviewDiff { diff, branch, hunks } =
            engine.diff_to_review(&row, self.agent.as_deref(), self.turn, bytes_max).await?;
        Ok(SessionDiff { diff, branch, hunks })
    }
}

/// Marks hunks of a diff as reviewed, or takes the marks back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewHunks {
    /// Their ids, as the diff has them.
    pub hunks: Vec<String>,
    /// Whether they count as reviewed from now on.
    pub reviewed: bool,
}

impl Call for ReviewHunks {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "review_hunks";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/review";

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.review(session, self.hunks, self.reviewed).await?;
        Ok(Accomplished {})
    }
}

/// Moves a command that an agent waits for to the background.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoveToBackground {
    /// The agent.
    pub agent: AgentId,
    /// Its call.
    pub call: CallId,
}

/// A command that runs in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedCommand {
    /// Its name there.
    pub name: String,
}

impl Call for MoveToBackground {
    type Of = SessionId;
    type Answer = MovedCommand;
    const NAME: &'static str = "move_to_background";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/background";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The call", &self.call.0)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<MovedCommand, CallError> {
        Ok(MovedCommand { name: engine.to_background(session, self.agent, &self.call).await? })
    }
}
