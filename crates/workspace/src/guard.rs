//! Where file tools do not write unless a person says so, whatever path leads there: what other programs run or obey by
//! themselves, all of `.git` anywhere, what git's configuration names; and where they never do: what a grant leaves out.
//! Looks at real places as text; what is on the disk, `places` knows.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use posse_policy::may_write;
use posse_protocol::PathRules;
use posse_sandbox::is_git;

use crate::{WorkspaceError, WorkspacePath, places::Places};

/// What holds for the writes of one [`crate::Workspace`] value.
#[derive(Clone, Debug, Default)]
pub(crate) struct WriteGuard {
    /// Every one of these must let a place pass.
    pub(crate) rules: Vec<PathRules>,
    /// Places, relative to the workspace, that are not for agents at all: neither to read nor to write.
    pub(crate) hidden: Vec<PathBuf>,
    /// Says the same of places, relative to the workspace, whatever is there and whenever it appears.
    pub(crate) hidden_by: Option<Hides>,
    /// What is protected in the workspace.
    pub(crate) places: Arc<Places>,
    /// What may be written although it is protected.
    pub(crate) permit: Permit,
}

/// What a person lets be written although other programs act on it by themselves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Permit {
    /// Nothing.
    #[default]
    Nothing,
    /// These very files, by their paths as they were asked for and as they really are.
    These(Vec<String>),
    /// Everything: approval mode `full`.
    Everything,
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

impl WriteGuard {
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
        self.must_be_seen(path, place)?;
        self.must_not_be_protected(path, place)?;
        let place = place.to_string_lossy();
        match self.rules.iter().find(|rules| !may_write(rules, &place)) {
            Some(rules) => {
                Err(WorkspaceError::NotGranted { path: path.to_string(), allowed: described(rules) })
            }
            None => Ok(()),
        }
    }

    /// Refuses what other programs act on by themselves, unless a person has said yes to this very place.
    pub(crate) fn must_not_be_protected(
        &self,
        path: &WorkspacePath,
        place: &Path,
    ) -> Result<(), WorkspaceError> {
        match self.protected(place) {
            Some(program) if !self.permits(|permitted| permitted == place) => {
                Err(WorkspaceError::Protected { path: path.to_string(), program: program.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Refuses a folder that is protected, unless a person has said yes to something below it.
    pub(crate) fn must_be_open(&self, path: &WorkspacePath, folder: &Path) -> Result<(), WorkspaceError> {
        match self.protected(folder) {
            Some(program) if !self.permits(|permitted| permitted.starts_with(folder)) => {
                Err(WorkspaceError::Protected { path: path.to_string(), program: program.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// The program that acts on a place by itself.
    pub(crate) fn protected(&self, place: &Path) -> Option<&'static str> {
        if is_of_git(place) { Some("Git") } else { self.places.guarded().protected.by(place) }
    }

    pub(crate) fn permits(&self, fits: impl Fn(&Path) -> bool) -> bool {
        match &self.permit {
            Permit::Nothing => false,
            Permit::These(places) => places.iter().any(|place| fits(Path::new(place))),
            Permit::Everything => true,
        }
    }
}

/// Whether a place is in a repository's own folder.
pub(crate) fn is_of_git(place: &Path) -> bool {
    place.components().any(|part| is_git(&part.as_os_str().to_string_lossy()))
}

fn described(rules: &PathRules) -> String {
    let list =
        |entries: &std::collections::BTreeSet<String>| entries.iter().cloned().collect::<Vec<_>>().join(", ");
    let roots: Vec<String> = rules.roots.iter().map(list).collect();
    let within = if roots.is_empty() { "the workspace".to_owned() } else { roots.join(" and also within ") };
    let within = if within.is_empty() { "nothing at all".to_owned() } else { within };
    if rules.except.is_empty() { within } else { format!("{within}, except {}", list(&rules.except)) }
}
