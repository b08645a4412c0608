//! `[roles.NAME]`, and where `roles_file` of `[sub_agents]` leads.

use std::path::{Path, PathBuf};

use posse_engine::project_folders;
use posse_engine::roles::RolesFileAt;
use serde::{Deserialize, Serialize};

use super::SubAgentsFile;
use crate::error::RolesError;
use crate::surroundings::Surroundings;

/// `[roles.NAME]`: what the configuration says of one role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RoleFile {
    /// Its model; `"inherit"` is the usual one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
}

/// `roles_file` as it is written, and the configuration that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RolesFileNamed {
    pub(crate) name: String,
    pub(crate) by: PathBuf,
    /// Whether that is a project's.
    pub(crate) by_project: bool,
}

impl RolesFileNamed {
    /// What a configuration names, if it does.
    pub(crate) fn of(section: &SubAgentsFile, by: Option<&Path>, by_project: bool) -> Option<Self> {
        Some(Self { name: section.roles_file.clone()?, by: by?.to_path_buf(), by_project })
    }

    /// Where it is, for whoever works in `folder`. What is inside a project is the project's, whoever names it.
    pub(crate) fn find(&self, folder: &Path, surroundings: &Surroundings) -> Result<RolesFileAt, RolesError> {
        let found = if self.by_project { self.in_project() } else { self.of_person(folder, surroundings) };
        found.ok_or_else(|| RolesError::NoFile {
            by: surroundings.shown(&self.by),
            name: self.name.clone(),
            by_project: self.by_project,
        })
    }

    /// Beside the project's configuration, or at the top of the project; nowhere else.
    fn in_project(&self) -> Option<RolesFileAt> {
        let beside = self.by.parent()?;
        let root = beside.parent()?;
        let inside = Path::new(beside.file_name()?);
        let places = [inside.join(&self.name), PathBuf::from(&self.name)];
        let there = places.into_iter().find(|place| root.join(place).symlink_metadata().is_ok())?;
        Some(RolesFileAt::Project { root: root.to_path_buf(), file: there.to_string_lossy().into_owned() })
    }

    /// As an absolute path, beside the person's configuration, or in the project.
    fn of_person(&self, folder: &Path, surroundings: &Surroundings) -> Option<RolesFileAt> {
        let written = Path::new(&self.name);
        let written = surroundings.expanded(written);
        let beside = self.by.parent().unwrap_or(Path::new("")).join(&written);
        if written.is_relative() && beside.exists() {
            return Some(RolesFileAt::Own(beside));
        }
        let top = project_folders(folder).last().unwrap_or(folder);
        let mut places = project_folders(folder).map(|at| at.join(&written));
        let found = places.find(|place| place.symlink_metadata().is_ok())?;
        let real = found.canonicalize().unwrap_or_else(|_| found.clone());
        let inside = [&found, &real].into_iter().find_map(|path| path.strip_prefix(top).ok());
        Some(match inside {
            Some(file) => {
                RolesFileAt::Project { root: top.to_path_buf(), file: file.to_string_lossy().into_owned() }
            }
            None => RolesFileAt::Own(found),
        })
    }
}
