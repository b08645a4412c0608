//! The person's ssh: found outside the folders that agents write, with the variables that it needs and no others.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use posse_cluster::{remote_command, ssh_arguments};
use posse_sandbox::Program;

use crate::cluster_settings::SshTarget;
use crate::paths::Paths;
use crate::person_tool::person_tool;

/// What ssh needs of the environment: the person, their agent, their tickets, and where programs are.
const VARIABLES: [&str; 11] = [
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TERM",
    "SSH_AUTH_SOCK",
    "KRB5CCNAME",
    "XDG_RUNTIME_DIR",
    "TMPDIR",
];

/// The person's ssh.
#[derive(Clone, Debug)]
pub struct SshTool {
    /// Where it is.
    pub program: Program,
    /// All of its environment.
    pub variables: Vec<(String, String)>,
    /// Where it is started.
    pub folder: PathBuf,
}

impl SshTool {
    /// Finds it, for work in this folder.
    pub fn find(paths: &Paths, folder: &Path) -> Option<Self> {
        let around = paths.surroundings();
        let value = |name: &&str| Some(((*name).to_owned(), around.text(name)?.to_owned()));
        let place = around.home().filter(|home| home.is_dir()).unwrap_or(Path::new("/"));
        Some(Self {
            program: person_tool(paths, folder, "ssh")?,
            variables: VARIABLES.iter().filter_map(value).collect(),
            folder: place.to_path_buf(),
        })
    }

    /// The options of a target.
    pub(crate) fn options(&self, target: &SshTarget) -> Vec<OsString> {
        target.options.iter().map(OsString::from).collect()
    }

    /// The arguments that run words on a target, each as one word there.
    pub fn arguments(&self, target: &SshTarget, words: &[String]) -> Vec<OsString> {
        ssh_arguments(&target.host, &self.options(target), words)
    }

    /// The arguments that run a line of a shell on a target.
    pub fn shell_arguments(&self, target: &SshTarget, line: &str) -> Vec<OsString> {
        let mut arguments = self.arguments(target, &[]);
        arguments.pop();
        arguments.push(line.into());
        arguments
    }

    /// Words as a shell on the target reads them.
    pub fn remote(&self, words: &[String]) -> String {
        remote_command(words)
    }
}
