//! A settings file with roles in it, and the prompt files that it names, read within bounds.
//!
//! A file of a project is a stranger's: nothing outside the project is read for it, whatever links say. Whether it may
//! be used at all is for whoever asks to say. Must not know the home folder or the configuration.

use std::path::{Path, PathBuf};

use posse_protocol::RoleOrigin;
use posse_roles::{AgentRoles, Roles};
use posse_workspace::Workspace;

use crate::roles::reading::{read_own, read_within};

/// Where a settings file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolesFileAt {
    /// A file of the person's own.
    Own(PathBuf),
    /// A file of a project.
    Project {
        /// The top of the project.
        root: PathBuf,
        /// The file, relative to the top.
        file: String,
    },
}

/// A settings file as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct RolesFile {
    /// The file.
    pub path: String,
    /// What is in it.
    pub text: String,
    /// The prompts that it names.
    pub prompts: Vec<PromptFile>,
    /// Whether it is a project's.
    pub of_project: bool,
    /// The roles in it, and the limits for all of them.
    pub roles: AgentRoles,
}

/// One prompt that a settings file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptFile {
    /// As the settings file writes it.
    pub named: String,
    /// Where it is.
    pub path: String,
    /// What is in it.
    pub text: String,
    /// The role that it is for.
    pub role: String,
}

impl RolesFile {
    /// Reads it with all it names. What is wrong is told with the file it is about.
    pub fn read(at: &RolesFileAt) -> Result<Self, String> {
        let reader = Reader::new(at)?;
        let (path, text) = reader.text(&reader.file)?;
        let roles = AgentRoles::parse(&text).map_err(|error| format!("{path}: {error}"))?;
        let mut prompts: Vec<PromptFile> = Vec::new();
        for (named, role) in roles.prompt_files() {
            let beside = reader.file.parent().unwrap_or(Path::new("")).join(named.replace('\\', "/"));
            let (at, text) =
                reader.text(&beside).map_err(|why| format!("{path}: the prompt of {role:?}: {why}"))?;
            prompts.push(PromptFile { named: named.to_string(), path: at, text, role: role.to_string() });
        }
        Ok(Self { path, text, prompts, of_project: reader.project.is_some(), roles })
    }

    /// Where its roles come from.
    pub(crate) fn origin(&self) -> RoleOrigin {
        let path = self.path.clone();
        if self.of_project { RoleOrigin::Project(path) } else { RoleOrigin::User(path) }
    }

    /// Adds its roles to those that are there.
    pub(crate) fn add_to(&self, roles: &mut Roles) -> Result<(), String> {
        let prompt = |named: &str| {
            self.prompts.iter().find(|prompt| prompt.named == named).map(|prompt| prompt.text.as_str())
        };
        self.roles.add_to(roles, &self.origin(), prompt).map_err(|error| error.to_string())
    }
}

struct Reader {
    /// What cannot be left; none for the person's own files.
    project: Option<Workspace>,
    /// Relative to the project, if there is one.
    file: PathBuf,
}

impl Reader {
    fn new(at: &RolesFileAt) -> Result<Self, String> {
        match at {
            RolesFileAt::Own(path) => Ok(Self { project: None, file: path.clone() }),
            RolesFileAt::Project { root, file } => {
                let project =
                    Workspace::open(root).map_err(|error| format!("{}: {error}", root.display()))?;
                Ok(Self { project: Some(project), file: PathBuf::from(file) })
            }
        }
    }

    /// Where a file is, and its text.
    fn text(&self, path: &Path) -> Result<(String, String), String> {
        let (at, bytes) = match &self.project {
            None => (path.display().to_string(), read_own(path)),
            Some(project) => {
                let written = path.to_string_lossy();
                let resolved = project.resolve(&written).map_err(|error| format!("{written}: {error}"))?;
                let at = project.root().join(resolved.as_str()).display().to_string();
                (at, read_within(project, &resolved))
            }
        };
        let bytes = bytes.map_err(|why| format!("{at}: {why}"))?;
        let text =
            String::from_utf8(bytes).map_err(|_| format!("{at}: it is not UTF-8 text; save it as UTF-8"))?;
        Ok((at, text))
    }
}
