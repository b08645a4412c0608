//! What a call wants to do, as rules and approval modes look at it.

use posse_protocol::Shell;

/// What kind of thing a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It reads files of the workspace, or touches nothing.
    Read,
    /// It changes a file of the workspace.
    Edit,
    /// It changes a file that this program runs or obeys by itself.
    Obeyed(&'static str),
    /// It runs a command in the sandbox, at this level.
    Command(Shell),
    /// It reaches the network.
    Network,
    /// It is done by a tool from outside, of which nobody knows what it does. What its server says can add a question and never
    /// spares one.
    Outside {
        /// Whether the server says that it destroys something.
        destroys: bool,
    },
    /// It does something outside the sandbox.
    Leave,
}

/// One call that wants to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    /// The tool, by our name.
    pub tool: &'a str,
    /// The exact command, the path relative to the workspace, or the address.
    pub what: &'a str,
    /// What it does.
    pub act: Act,
}
