//! What the kernel lets us use to confine a child, found out by doing it in a forked child, never by guessing.

#[cfg(target_os = "linux")]
#[path = "support_linux.rs"]
mod tried;

#[cfg(not(target_os = "linux"))]
mod tried {
    use super::{Finding, Support};

    pub(super) fn support() -> Support {
        let absent = || Finding { usable: false, reason: "only Linux has this".into() };
        Support { user_namespaces: absent(), landlock: absent(), seccomp: absent() }
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
    /// Landlock rules that deny file access.
    pub landlock: Finding,
    /// System call filters.
    pub seccomp: Finding,
}

/// Tries each way of confinement in a child process and says what came of it.
pub fn support() -> Support {
    tried::support()
}
