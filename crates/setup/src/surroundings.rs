//! What a process finds around it: environment variables, the home folder, the current folder. This file alone asks the
//! system for them; everything else is given the value.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_protocol::visible;

/// The environment of a process at one moment. It does not change when the real one does.
#[derive(Clone)]
pub struct Surroundings {
    variables: BTreeMap<OsString, OsString>,
    home: Option<PathBuf>,
    folder: Result<PathBuf, NoFolder>,
    temp: PathBuf,
    host: Option<String>,
}

/// The current folder cannot be used, for example because it was removed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct NoFolder(Arc<std::io::Error>);

impl Surroundings {
    /// Those of this process. An interface calls it once, when it starts.
    pub fn of_process() -> Self {
        Self {
            variables: std::env::vars_os().collect(),
            home: std::env::home_dir(),
            folder: std::env::current_dir().map_err(|error| NoFolder(Arc::new(error))),
            temp: std::env::temp_dir(),
            host: host_name(),
        }
    }

    /// A current folder, which also holds temporary files, and nothing else.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        let folder = folder.into();
        Self { variables: BTreeMap::new(), home: None, temp: folder.clone(), folder: Ok(folder), host: None }
    }

    /// The same with a home folder.
    #[must_use]
    pub fn with_home(mut self, home: impl Into<PathBuf>) -> Self {
        self.home = Some(home.into());
        self
    }

    /// The same on a machine of this name.
    #[must_use]
    pub fn with_host(mut self, host: impl Into<String>) -> Self {
        self.host = Some(host.into());
        self
    }

    /// The same with a variable.
    #[must_use]
    pub fn with_variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.variables.insert(name.into(), value.into());
        self
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        let same = |known: &OsStr| known.eq_ignore_ascii_case(name);
        let found = match self.variables.get(OsStr::new(name)) {
            // Windows writes `Path`.
            None if cfg!(windows) => self.variables.iter().find(|(known, _)| same(known)).map(|(_, it)| it),
            found => found,
        };
        found.map(OsString::as_os_str)
    }

    /// The value of a variable, if it is text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.variable(name)?.to_str()
    }

    /// All variables that are text, for a program that runs as the person.
    pub(crate) fn all_texts(&self) -> Vec<(String, String)> {
        let texts = self.variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        texts.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    /// The value of a variable, if it is an absolute path.
    pub fn absolute_path(&self, name: &str) -> Option<PathBuf> {
        self.variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    }

    /// The home folder.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The current folder.
    pub fn folder(&self) -> Result<&Path, NoFolder> {
        self.folder.as_deref().map_err(NoFolder::clone)
    }

    /// What the machine is called, if the system says so.
    pub fn host(&self) -> Option<&str> {
        self.host.as_deref()
    }

    /// Where temporary files go.
    pub fn temp_dir(&self) -> &Path {
        &self.temp
    }

    /// A path of a configuration, in which `~` stands for the home folder.
    pub(crate) fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_path_buf(),
        }
    }

    /// A path as people write it, in one line: the home folder as `~`.
    pub fn shown(&self, path: &Path) -> ShownPath {
        let text = match self.home().and_then(|home| path.strip_prefix(home).ok()) {
            Some(rest) => format!("~/{}", whole(rest)),
            None => whole(path),
        };
        ShownPath { path: path.to_path_buf(), text }
    }
}

impl fmt::Debug for Surroundings {
    /// Names of variables only: some values are keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings")
            .field("variables", &self.variables.keys())
            .field("home", &self.home)
            .field("folder", &self.folder)
            .field("temp", &self.temp)
            .field("host", &self.host)
            .finish()
    }
}

/// A path, and how it is written for people. Errors and warnings hold it, so that they can be shown anywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownPath {
    path: PathBuf,
    text: String,
}

impl ShownPath {
    /// The path itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path in full.
    #[cfg(test)]
    pub(crate) fn in_full(path: &str) -> Self {
        Self { path: path.into(), text: path.to_owned() }
    }
}

impl fmt::Display for ShownPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What the kernel calls the machine; what another system says is in the environment.
fn host_name() -> Option<String> {
    let of_kernel = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let said = || std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME")).ok();
    of_kernel.or_else(said).map(|host| host.trim().to_owned()).filter(|host| !host.is_empty())
}

/// A whole path in one line, whatever its bytes.
fn whole(path: &Path) -> String {
    visible::name(path.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Paths, PrepareError};

    /// As in a folder that was removed: what does not depend on it can be used.
    #[test]
    fn without_a_current_folder_only_relative_paths_are_refused() {
        let gone = NoFolder(Arc::new(std::io::ErrorKind::NotFound.into()));
        let surroundings =
            Surroundings { folder: Err(gone), ..Surroundings::new("/").with_home("/people/me") };
        let find = |data: Option<&str>| Paths::find(surroundings.clone(), data.map(Path::new), None);
        assert!(matches!(find(Some("data")), Err(PrepareError::NoFolder(_))));
        assert_eq!(find(Some("/data")).unwrap().data_dir, Path::new("/data"));
        assert!(find(None).unwrap().config.starts_with("/people/me"));
    }
}
