//! Why a call did not do what it was asked.

use posse_sandbox::SandboxError;
use posse_workspace::WorkspaceError;

/// Why a call did not do what it was asked: text for the model.
#[derive(Debug)]
pub(crate) struct ToolFailure(pub(crate) String);

impl From<WorkspaceError> for ToolFailure {
    fn from(error: WorkspaceError) -> Self {
        Self(error.to_string())
    }
}

impl From<SandboxError> for ToolFailure {
    fn from(error: SandboxError) -> Self {
        Self(error.to_string())
    }
}

/// What the model is told when a tool panics.
pub(crate) fn crashed() -> ToolFailure {
    ToolFailure("the tool crashed, which is a fault of Posse and not of the call; try another way".to_owned())
}
