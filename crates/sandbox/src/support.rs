//! What the kernel lets us use to confine a child, found out by doing it in a forked child, never by guessing.

use std::sync::OnceLock;

#[cfg(target_os = "linux")]
#[path = "support_linux.rs"]
mod tried;

#[cfg(not(target_os = "linux"))]
mod tried {
    use super::{Finding, Support};

    pub(super) fn support() -> Support {
        let absent = || Finding { usable: false, reason: "only Linux has this".into() };
        Support {
            user_namespaces: absent(),
            processes: absent(),
            network: absent(),
            landlock: absent(),
            seccomp: absent(),
            overlay: absent(),
            cgroup: absent(),
        }
    }
}

/// Whether one way of confinement works here, and how we know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Whether it worked when tried.
    pub usable: bool,
    /// What was found, or what failed and why; one line.
    pub reason: String,
}

/// The ways of confinement Posse can build on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Support {
    /// A user namespace in which file systems can be mounted.
    pub user_namespaces: Finding,
    /// A process namespace with a /proc of its own.
    pub processes: Finding,
    /// A network namespace.
    pub network: Finding,
    /// Landlock rules that deny file access.
    pub landlock: Finding,
    /// System call filters.
    pub seccomp: Finding,
    /// An overlay, for the throw-away view of `Level::Verify`. Not needed: there is another, lesser way.
    pub overlay: Finding,
    /// A cgroup, for limits that hold for all processes of a command together. Not needed: each has limits anyway.
    pub cgroup: Finding,
}

/// Tries each way of confinement in a child process and says what came of it.
pub fn support() -> Support {
    tried::support()
}

/// Why commands cannot be confined here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Whether commands can be confined here. Tried once, by confining one and seeing that it cannot write.
pub fn available() -> Result<(), Unavailable> {
    static TRIED: OnceLock<Result<(), Unavailable>> = OnceLock::new();
    TRIED.get_or_init(|| try_once().map_err(Unavailable)).clone()
}

/// Removes placeholders that were left in a workspace when everything was killed, unless some command runs there: the
/// folder by its path without links.
pub fn clear_placeholders(workspace: &std::path::Path) {
    #[cfg(target_os = "linux")]
    crate::linux::confined::clear(workspace);
    #[cfg(not(target_os = "linux"))]
    let _ = workspace;
}

#[cfg(target_os = "linux")]
use crate::linux::confined::try_once;

#[cfg(not(target_os = "linux"))]
fn try_once() -> Result<(), String> {
    Err(crate::no_confinement::REASON.to_owned())
}
