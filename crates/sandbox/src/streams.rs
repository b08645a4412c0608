//! What a command has written so far, and how it ended: what the system-specific part tells the rest.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::{CapturedOutput, CommandExit, OutputLimits, Touched, capture::Capture};

/// What a command has written so far.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) output: Mutex<Capture>,
    pub(crate) stderr: Mutex<Capture>,
}

impl Streams {
    pub(crate) fn new(limits: OutputLimits) -> Self {
        Self { output: Mutex::new(Capture::new(limits)), stderr: Mutex::new(Capture::new(limits)) }
    }
}

pub(crate) fn so_far(capture: &Mutex<Capture>) -> CapturedOutput {
    capture.lock().unwrap_or_else(PoisonError::into_inner).so_far()
}

/// How a command ended, as the system-specific part tells it.
pub(crate) struct CommandEnd {
    pub(crate) exit: CommandExit,
    pub(crate) duration: Duration,
    pub(crate) notes: Vec<String>,
    pub(crate) touched: Touched,
}
