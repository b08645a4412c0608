//! A command under way. Whoever holds it learns what the command named in order to change it, even if nobody waits for
//! its end any more.

use std::sync::{Arc, Mutex, PoisonError};

use posse_sandbox::{CommandHandle, Touched};

/// The command of one call; there is none until it is started. Clones are the same; with the last of them it is ended.
#[derive(Clone, Debug, Default)]
pub struct RunningCommand(Arc<Mutex<Option<CommandHandle>>>);

impl RunningCommand {
    pub(crate) fn is(&self, job: &CommandHandle) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(job.clone());
    }

    /// Ends it if it has not ended, and says what it touched.
    pub async fn ended(&self) -> Touched {
        let job = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(job) = job else { return Touched::default() };
        job.stop();
        job.wait().await.touched
    }
}
