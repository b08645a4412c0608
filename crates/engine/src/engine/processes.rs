//! Which process runs a session, and where a process can be reached.

use std::path::PathBuf;

use posse_protocol::{ProcessId, SessionId};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::record::session_lock;

impl Engine {
    /// The process that is at work on a session, this one or another; none if no process is. Looks at files: a call that
    /// waits for the disk, as all of an engine that are not async.
    pub fn process_of(&self, session: SessionId) -> Option<ProcessId> {
        session_lock::process_of(&self.parts.processes, session)
    }

    /// This process, as others see it.
    pub fn own_process(&self) -> Result<ProcessId, EngineError> {
        Ok(self.parts.processes.own().map_err(EngineError::DataDir)?.id)
    }

    /// Whether a process is this one. Unlike `own_process`, it makes no file.
    pub fn is_own_process(&self, process: ProcessId) -> bool {
        self.parts.processes.entered().is_some_and(|own| own.id == process)
    }

    /// Where a process listens, if it does. The file of a process that is gone is removed by the next one that opens the
    /// record.
    pub fn socket_of(&self, process: ProcessId) -> PathBuf {
        self.parts.processes.socket(process)
    }
}
