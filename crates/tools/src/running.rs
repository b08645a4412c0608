//! A command under way. Whoever holds it learns what the command named in order to change it, even if nobody waits for
//! its end any more.

use std::sync::Arc;

use posse_sandbox::{Command, CommandHandle, Touched};
use tokio::sync::{Mutex, oneshot};

use crate::failure::{ToolFailure, crashed};

/// The command of one call; there is none until it is started. Clones are the same; with the last of them it is ended.
#[derive(Clone, Debug, Default)]
pub struct RunningCommand(Arc<Mutex<Option<CommandHandle>>>);

impl RunningCommand {
    /// Starts it. If the call is dropped meanwhile, the command may have begun: [`RunningCommand::ended`] finds it all the same.
    pub(crate) async fn start(&self, command: Command) -> Result<CommandHandle, ToolFailure> {
        let mut slot = Arc::clone(&self.0).lock_owned().await;
        let (tell, told) = oneshot::channel();
        tokio::spawn(async move {
            let started = posse_sandbox::start(command).await;
            *slot = started.as_ref().ok().cloned();
            drop(slot);
            // Nobody listens where the call was dropped.
            let _ = tell.send(started);
        });
        Ok(told.await.map_err(|_| crashed())??)
    }

    /// Ends it if it has not ended, and says what it touched. Waits for one that is being started.
    pub async fn ended(&self) -> Touched {
        let job = self.0.lock().await.take();
        let Some(job) = job else { return Touched::default() };
        job.stop();
        job.wait().await.touched
    }
}
