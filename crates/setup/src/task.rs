//! What the person wants done, and whether a model can take it.

use posse_model::ModelConfig;

use crate::error::PrepareError;
use crate::limits::TASK_PERCENT_MAX;

/// Bytes taken for one token before anybody has counted.
const BYTES_PER_TOKEN: u64 = 4;

/// What the person wants done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskPrompt {
    /// All of it, as the model is told.
    pub text: String,
    /// How many bytes of it were attached, such as text that was piped in, and not written as the task.
    pub attached_bytes: usize,
}

impl TaskPrompt {
    /// Refuses what the model cannot take, with the numbers, before anything is begun.
    pub fn must_fit(&self, model: &ModelConfig) -> Result<(), PrepareError> {
        let Some(window) = model.context_window else { return Ok(()) };
        let tokens = |bytes: usize| bytes as u64 / BYTES_PER_TOKEN;
        if tokens(self.text.len()) <= window.saturating_mul(TASK_PERCENT_MAX) / 100 {
            return Ok(());
        }
        let attached = self.attached_bytes * 2 > self.text.len();
        let tokens = tokens(if attached { self.attached_bytes } else { self.text.len() });
        Err(PrepareError::TaskTooLarge { attached, tokens, window, model: model.name.clone() })
    }
}
