//! Where file tools never write, whatever path leads there: the names that commands may not write either, all of `.git`
//! anywhere, and what a grant leaves out. Looks at real places as text, never at the disk.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use posse_protocol::PathRules;

use crate::{WorkspaceError, WorkspacePath};

/// What holds for the writes of one [`crate::Workspace`] value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    /// Every one of these must let a place pass.
    pub(crate) rules: Vec<PathRules>,
    /// Places, relative to the workspace, that are not for agents at all: neither to read nor to write.
    pub(crate) hidden: Vec<PathBuf>,
    /// Says the same of places, relative to the workspace, whatever is there and whenever it appears.
    pub(crate) hidden_by: Option<Hides>,
}

/// Which places are not for agents.
#[derive(Clone)]
pub struct Hides(Arc<dyn Fn(&Path) -> bool + Send + Sync>);

impl Hides {
    /// Those that this function says yes to.
    pub fn new(hides: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(hides))
    }

    /// Whether a place is one of them.
    pub fn holds(&self, place: &Path) -> bool {
        (self.0)(place)
    }
}

impl fmt::Debug for Hides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Hides")
    }
}

impl PartialEq for Hides {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Hides {}

impl Guard {
    /// Whether a real place, relative to the workspace, is not for agents.
    pub(crate) fn hides(&self, place: &Path) -> bool {
        let by_path = || self.hidden_by.as_ref().is_some_and(|hides| hides.holds(place));
        self.hidden.iter().any(|hidden| place.starts_with(hidden)) || by_path()
    }

    /// Whether anything is not for agents.
    pub(crate) fn hides_anything(&self) -> bool {
        !self.hidden.is_empty() || self.hidden_by.is_some()
    }

    /// Refuses a real place, relative to the workspace, that is not for agents.
    pub(crate) fn must_be_seen(&self, path: &WorkspacePath, place: &Path) -> Result<(), WorkspaceError> {
        if self.hides(place) { Err(WorkspaceError::Hidden { path: path.to_string() }) } else { Ok(()) }
    }

    /// Refuses a real place, relative to the workspace, that must not be written. `path` is what it was asked for as.
    pub(crate) fn must_be_writable(&self, path: &WorkspacePath, place: &Path) -> Result<(), WorkspaceError> {
        must_not_be_protected(path, place)?;
        self.must_be_seen(path, place)?;
        let place = place.to_string_lossy();
        match self.rules.iter().find(|rules| !passes(rules, &place)) {
            Some(rules) => {
                Err(WorkspaceError::NotGranted { path: path.to_string(), allowed: described(rules) })
            }
            None => Ok(()),
        }
    }
}

/// Refuses protected places: what is written there can run as code.
pub(crate) fn must_not_be_protected(path: &WorkspacePath, place: &Path) -> Result<(), WorkspaceError> {
    let parts: Vec<String> =
        place.components().map(|part| folded(&part.as_os_str().to_string_lossy())).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).filter(|part| *part != ".").collect();
    // A repository can be anywhere; the other names count where their programs look for them.
    if parts.iter().any(|part| matches!(*part, ".git" | "git~1")) {
        return Err(WorkspaceError::Protected { path: path.to_string(), name: ".git".to_owned() });
    }
    for name in posse_sandbox::protected_names() {
        let protected: Vec<String> = name.path.split('/').map(folded).collect();
        if parts.len() >= protected.len() && parts.iter().zip(&protected).all(|(part, name)| part == name) {
            return Err(WorkspaceError::Protected { path: path.to_string(), name: name.path.to_owned() });
        }
    }
    Ok(())
}

/// Some file systems take names for the same that differ in case, or in dots and spaces at their end.
fn folded(name: &str) -> String {
    let trimmed = name.trim_end_matches(['.', ' ']);
    if trimmed.is_empty() { ".".to_owned() } else { trimmed.to_lowercase() }
}

fn passes(rules: &PathRules, place: &str) -> bool {
    let holds = |entry: &String| is_within(place, entry);
    rules.roots.iter().all(|layer| layer.iter().any(holds)) && !rules.except.iter().any(holds)
}

/// Whether a place is an entry or below it. An empty entry or `.` is the whole workspace.
fn is_within(place: &str, entry: &str) -> bool {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect()
    };
    parts(place).starts_with(&parts(entry))
}

fn described(rules: &PathRules) -> String {
    let list =
        |entries: &std::collections::BTreeSet<String>| entries.iter().cloned().collect::<Vec<_>>().join(", ");
    let roots: Vec<String> = rules.roots.iter().map(list).collect();
    let within = if roots.is_empty() { "the workspace".to_owned() } else { roots.join(" and also within ") };
    let within = if within.is_empty() { "nothing at all".to_owned() } else { within };
    if rules.except.is_empty() { within } else { format!("{within}, except {}", list(&rules.except)) }
}
