//! What can be set about the tools.

use crate::confine::Sandbox;
use crate::limits;

/// What can be set about the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSettings {
    /// How long a command may run unless the call says otherwise.
    pub shell_timeout_ms: u64,
    /// How long a command may run at most.
    pub shell_timeout_max_ms: u64,
    /// Output of a command that is kept from its start.
    pub shell_head_bytes: usize,
    /// Output of a command that is kept from its end.
    pub shell_tail_bytes: usize,
    /// How commands are confined.
    pub sandbox: Sandbox,
    /// Whether the agent's model takes images.
    pub images: bool,
    /// Whether it takes PDF documents.
    pub documents: bool,
}

impl Default for ToolSettings {
    fn default() -> Self {
        Self {
            shell_timeout_ms: limits::SHELL_TIMEOUT_MS,
            shell_timeout_max_ms: limits::SHELL_TIMEOUT_MS_MAX,
            shell_head_bytes: limits::SHELL_HEAD_BYTES,
            shell_tail_bytes: limits::SHELL_TAIL_BYTES,
            sandbox: Sandbox::default(),
            images: false,
            documents: false,
        }
    }
}
