//! What the person should know about a session before it starts, as values that every interface can show in its way.

use std::fmt;

use posse_protocol::visible::one_line;
use posse_protocol::words::counted;
use posse_surface::Surface;

use crate::limits::{FAULT_COLUMNS_MAX, SERVERS_NAMED_MAX};
use crate::surroundings::ShownPath;

/// One thing to know. Its `Display` is one sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SetupWarning {
    /// A variable of OpenTelemetry cannot be read.
    Telemetry {
        /// Which, and why.
        fault: String,
    },
    /// A project's file names a git program, which only the person's own file can.
    ProjectNamesGit {
        /// The project's file.
        path: ShownPath,
    },
    /// A project's file has settings of the chat, which only the person's own file can have.
    ProjectSetsChat {
        /// The project's file.
        path: ShownPath,
    },
    /// A project's file says what editors are asked for, which only the person's own file can.
    ProjectSetsAcp {
        /// The project's file.
        path: ShownPath,
    },
    /// A project's file wants hooks to run outside the sandbox, which only the person's own file can.
    ProjectLetsHooksOut {
        /// The project's file.
        path: ShownPath,
    },
    /// A project's file says where agents run, which only the person's own file can.
    ProjectSetsWorkers {
        /// The project's file.
        path: ShownPath,
        /// The tables that say so.
        tables: Vec<&'static str>,
    },
    /// Workers are configured and cannot be used.
    NoWorkers {
        /// Why.
        why: String,
    },
    /// Something is wrong with the hooks of a file.
    Hook {
        /// What, with the file and the event.
        fault: String,
    },
    /// Hooks of a project that do not run before they are trusted.
    HooksNotTrusted {
        /// The project's file.
        path: ShownPath,
        /// How many.
        count: usize,
    },
    /// The command of the status line cannot be found out.
    StatusLine {
        /// The file that may name it.
        path: ShownPath,
        /// What is wrong with it.
        fault: String,
    },
    /// A project's file has settings that do not count before it is trusted.
    NotTrusted {
        /// The project's file.
        path: ShownPath,
        /// The names of the settings.
        settings: Vec<String>,
    },
    /// The configured git program cannot be used.
    GitLeftOut {
        /// Why.
        reason: String,
    },
    /// Something is wrong with an agent file.
    RoleFile {
        /// The file.
        path: ShownPath,
        /// What is wrong with it.
        fault: String,
        /// Whether the whole file is left out.
        left_out: bool,
    },
    /// More is wrong with agent files than is listed.
    MoreRoleFiles,
    /// Fewer agents run at the same time than the configuration says.
    MaxRunning {
        /// What the configuration says.
        wanted: usize,
        /// What the surface allows.
        most: usize,
        /// The surface.
        surface: Surface,
    },
    /// There are servers that do not run before their files are trusted.
    ServersNotTrusted {
        /// The first file.
        path: ShownPath,
        /// How many other files there are.
        more: usize,
        /// The names of the servers.
        servers: Vec<String>,
    },
    /// Two files have a server of one name.
    ServerTwice {
        /// The name.
        name: String,
        /// The file that counts.
        counts: ShownPath,
        /// The other.
        left_out: ShownPath,
    },
    /// Something is wrong with a server.
    ServerFault {
        /// The file.
        path: ShownPath,
        /// What is wrong.
        fault: String,
    },
    /// Commands run without the sandbox, as was wished.
    NoSandbox,
    /// Commands cannot be confined on this machine, so nobody has a shell.
    NoShell {
        /// What is missing.
        missing: String,
    },
    /// A session continues with another model than it had.
    ModelReplaced {
        /// The model it had.
        recorded: String,
        /// The model it has now.
        model: String,
    },
}

impl fmt::Display for SetupWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ProjectNamesGit { path } => own_only(f, path, "set git"),
            Self::ProjectSetsChat { path } => own_only(f, path, "set the chat"),
            Self::ProjectSetsAcp { path } => own_only(f, path, "set acp"),
            Self::ProjectLetsHooksOut { path } => own_only(f, path, "let hooks out of the sandbox"),
            Self::NoWorkers { why } => {
                write!(f, "no agent can run on a worker in this session: {why}")
            }
            Self::ProjectSetsWorkers { path, tables } => {
                own_only(f, path, &format!("set {}", tables.join(", ")))
            }
            Self::Hook { fault } => f.write_str(&one_line(fault, FAULT_COLUMNS_MAX * 2)),
            Self::HooksNotTrusted { path, count } => write!(
                f,
                "{path} has {}; they do not run until you have looked at them: posse trust",
                counted(*count as u64, "hook")
            ),
            Self::StatusLine { path, fault } => {
                write!(f, "no status line from {path}: {}", one_line(fault, FAULT_COLUMNS_MAX))
            }
            Self::NotTrusted { path, settings } => write!(
                f,
                "{path} wants to set {}; that is left out until you have looked at it: posse trust",
                settings.join(", ")
            ),
            Self::GitLeftOut { reason } => write!(f, "{reason}; Posse goes on without git"),
            Self::RoleFile { path, fault, left_out } => {
                let fault = one_line(fault, FAULT_COLUMNS_MAX);
                write!(f, "{path}{}: {fault}", if *left_out { " is left out" } else { "" })
            }
            Self::MoreRoleFiles => {
                f.write_str("there is more to know about agent files; see: posse agents check")
            }
            Self::MaxRunning { wanted, most, surface } => write!(
                f,
                "[sub_agents] max_running = {wanted}: on the surface {surface} at most {most} run at the same time"
            ),
            Self::ServersNotTrusted { path, more, servers } => {
                let named = servers.iter().take(SERVERS_NAMED_MAX).map(String::as_str);
                let named = named.collect::<Vec<_>>().join(", ");
                let rest = if servers.len() > SERVERS_NAMED_MAX { " and others" } else { "" };
                let more = if *more > 0 { " and other files" } else { "" };
                write!(
                    f,
                    "servers of {path}{more} do not run until you have looked at them: posse trust ({named}{rest})"
                )
            }
            Self::ServerTwice { name, counts, left_out } => {
                write!(f, "the server {name:?} is in {counts} and in {left_out}; the one in {counts} counts")
            }
            Self::ServerFault { path, fault } => {
                write!(f, "{path}: {}", one_line(fault, FAULT_COLUMNS_MAX))
            }
            Self::Telemetry { fault } => write!(f, "traces and metrics: {fault}"),
            Self::NoSandbox => {
                f.write_str("--no-sandbox: commands run with all your rights, also those of read-only roles")
            }
            Self::NoShell { missing } => write!(
                f,
                "no shell: {missing}; `posse doctor` tells more, --no-sandbox runs commands with all your rights"
            ),
            Self::ModelReplaced { recorded, model } => {
                write!(f, "its model {recorded} cannot be used any more; it goes on with {model}")
            }
        }
    }
}

/// What a project's file wants, and has no say in.
fn own_only(f: &mut fmt::Formatter<'_>, path: &ShownPath, what: &str) -> fmt::Result {
    write!(f, "{path} wants to {what}; only your own configuration can: left out")
}
