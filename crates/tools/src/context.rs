//! What a running call has to work with.

use std::sync::Arc;

use posse_protocol::{AgentId, Grant, ToolOutcome, TraceParent};
use posse_workspace::{Stop, Workspace};
use tokio::sync::OnceCell;

use crate::failure::{ToolFailure, crashed};
use crate::seen::SeenFiles;
use crate::{Jobs, Knowledge, OutsideQuestions, Rewrites, RunningCommand, ToolSettings};

/// What a running call has to work with.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) workspace: Workspace,
    pub(crate) settings: Arc<ToolSettings>,
    pub(crate) seen: Arc<SeenFiles>,
    pub(crate) grant: Arc<Grant>,
    pub(crate) owner: AgentId,
    pub(crate) jobs: Jobs,
    pub(crate) rewrites: Rewrites,
    pub(crate) running: RunningCommand,
    pub(crate) knowledge: Arc<Knowledge>,
    /// Whether what it writes for later sessions waits until a person has looked at it.
    pub(crate) draft: bool,
    /// Whether nothing was known of a tool from outside when its call was judged.
    pub(crate) judged_unknown: bool,
    /// Where questions of servers go.
    pub(crate) questions: Option<OutsideQuestions>,
    /// The span of the call, where the session is traced.
    pub(crate) traceparent: Option<TraceParent>,
    /// Who commits; asked before the first command.
    pub(crate) committer: Arc<OnceCell<Vec<(String, String)>>>,
}

impl Context {
    /// Does file work on a thread that may wait. Dropping the future asks the work to stop.
    pub(crate) async fn blocking(
        self,
        work: impl FnOnce(&Self, &Stop) -> Result<ToolOutcome, ToolFailure> + Send + 'static,
    ) -> Result<ToolOutcome, ToolFailure> {
        struct StopOnDrop(Stop);
        impl Drop for StopOnDrop {
            fn drop(&mut self) {
                self.0.stop();
            }
        }
        let guard = StopOnDrop(Stop::default());
        let stop = guard.0.clone();
        let done = tokio::task::spawn_blocking(move || work(&self, &stop)).await;
        done.unwrap_or_else(|_| Err(crashed()))
    }
}
