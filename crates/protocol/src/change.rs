//! What an agent changed in a workspace, exactly enough to show it and to take it back.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One path before and after a change. The contents are in the store of the workspace's checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Relative to the workspace, `/` between parts.
    pub path: String,
    /// What was there; none if nothing was.
    pub before: Option<Saved>,
    /// What is there since; none if it is gone.
    pub after: Option<Saved>,
}

/// A file or link that is kept in the store of the workspace's checkpoints.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Saved {
    /// As git writes it: `100644`, `100755` for a program, `120000` for a link; `040000` for a repository's objects.
    pub mode: String,
    /// The name of its content: for what was merged from a branch git's own, else a hash.
    pub blob: String,
}

/// A file that an agent on a worker changed, as home keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KeptFile {
    /// Relative to the folder that the agent works in, `/` between parts.
    pub path: String,
    /// What is there since: how git writes its mode, and the SHA-256 of its content; none if it is gone.
    pub after: Option<Saved>,
}

/// Where the work of an agent with a checkout of its own is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Branch {
    /// Its branch in the person's repository.
    pub name: String,
    /// The commit it started from: the session's files at that time.
    pub base: String,
    /// The commit that holds its work.
    pub tip: String,
    /// What differs between the two, cut to a bounded length.
    pub diff: String,
}

/// A place where two sides changed the same lines, or one changed what the other removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The path.
    pub path: String,
    /// Both sides of each place, as text with markers, cut to a bounded length; a reason where there is no text.
    pub text: String,
}
