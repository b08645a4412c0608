//! Exit codes, in one table. They are part of the interface: scripts rely on them.

use std::fmt;

use posse_protocol::Ending;
use posse_setup::{ModelChoiceError, PrepareError};

/// How the program ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The work was done.
    Completed,
    /// The agent failed, refused, or was interrupted.
    Failed,
    /// The command line, the configuration or the machine does not allow it.
    Usage,
    /// No model was found.
    NoModel,
    /// A limit was reached: turns, tokens, time or money.
    OverBudget,
    /// Sub-agents were left where they are, to be resumed.
    Detached,
    /// Ctrl-C.
    Cancelled,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Failed => 1,
            Self::Usage => 2,
            Self::NoModel => 3,
            Self::OverBudget => 4,
            Self::Detached => 5,
            Self::Cancelled => 130,
        }
    }
}

impl Exit {
    const ALL: [Self; 7] = [
        Self::Completed,
        Self::Failed,
        Self::Usage,
        Self::NoModel,
        Self::OverBudget,
        Self::Detached,
        Self::Cancelled,
    ];

    /// The one with a code, as another process of ours ended; failed if there is none.
    pub(crate) fn of_code(code: Option<i32>) -> Self {
        Self::ALL.into_iter().find(|exit| code == Some(exit.code().into())).unwrap_or(Self::Failed)
    }
}

impl From<&Ending> for Exit {
    fn from(ending: &Ending) -> Self {
        match ending {
            Ending::Completed => Self::Completed,
            Ending::Cancelled => Self::Cancelled,
            Ending::TimedOut | Ending::OutOfTurns | Ending::OutOfTokens | Ending::OutOfMoney => {
                Self::OverBudget
            }
            Ending::Failed { .. } | Ending::Interrupted { .. } | Ending::Refused => Self::Failed,
        }
    }
}

/// An error that ends the program with a code of its own.
#[derive(Debug)]
pub(crate) struct ExitError {
    exit: Exit,
    message: String,
}

impl Exit {
    /// How an error ends the program.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if let Some(error) = error.downcast_ref::<ExitError>() {
            return error.exit;
        }
        match error.downcast_ref::<PrepareError>() {
            Some(PrepareError::Model(ModelChoiceError::NoneFound { .. })) => Self::NoModel,
            Some(PrepareError::TaskTooLarge { .. }) => Self::Failed,
            _ => Self::Usage,
        }
    }

    /// The error that ends the program this way.
    pub(crate) fn because(self, message: String) -> anyhow::Error {
        ExitError { exit: self, message }.into()
    }
}

impl fmt::Display for ExitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ExitError {}
