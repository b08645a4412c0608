//! What the author of an agent file should know about it.

/// Something about a file that its author should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The line, from 1.
    pub line: usize,
    /// What and why.
    pub text: String,
    /// Who is told.
    pub told: Audience,
}

/// Who is told of something about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Audience {
    /// Whoever checks agent files.
    WhoChecks,
    /// Also whoever starts a session, until the file is trusted as it is.
    UntilTrusted,
    /// Also whoever starts a session.
    Everybody,
}

impl Warning {
    /// One for whoever checks agent files.
    pub(crate) fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), told: Audience::WhoChecks }
    }
}
