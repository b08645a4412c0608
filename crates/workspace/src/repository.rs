//! The person's repository: where it is, that it is what it seems to be, and what its names stand for.

use std::{
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::{
    WorkspaceError,
    git::{GitError, call::Git, place::RepositoryPlace, plain, series::GitStep},
    limits,
    shadow::checked,
};

/// A repository that a folder is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Repository {
    place: RepositoryPlace,
    /// The top folder of the files.
    pub(crate) top: PathBuf,
    /// Where objects and branches are; that of the main checkout, if this is another one.
    pub(crate) common: PathBuf,
    /// How objects are named: `sha1` or `sha256`.
    pub(crate) format: &'static str,
}

impl Repository {
    /// Finds the repository of a folder. One that leads to somebody else's is refused: a branch made there would be
    /// outside of what was opened.
    pub(crate) async fn of(folder: &Path) -> Result<Self, WorkspaceError> {
        let place = RepositoryPlace::of(folder).await?;
        let state = PlaceState::of(&place);
        if let Some(format) = state.as_ref().and_then(PlaceState::known) {
            return Ok(Self { top: place.top.clone(), common: place.common.clone(), place, format });
        }
        let questions = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-common-dir",
            "--absolute-git-dir",
            "--show-object-format",
        ];
        let said = match place.git().text(&questions).await {
            Err(WorkspaceError::Git(GitError::Failed { .. })) => return Err(WorkspaceError::NotARepository),
            said => said?,
        };
        let lines: Vec<&str> = said.lines().collect();
        let [top, common, own, format] = lines[..] else { return Err(WorkspaceError::NotARepository) };
        let format = ["sha1", "sha256"].into_iter().find(|known| *known == format);
        let format = format.ok_or(WorkspaceError::NotARepository)?;
        // Settings of the repository can say otherwise.
        if [top, common, own].map(Path::new) != [&place.top, &place.common, &place.own] {
            return Err(GitError::Elsewhere.into());
        }
        // Only if nothing of it changed meanwhile.
        if let Some(state) = state.filter(|state| PlaceState::of(&place).as_ref() == Some(state)) {
            state.remember(format);
        }
        Ok(Self { top: place.top.clone(), common: place.common.clone(), place, format })
    }

    /// Git that looks at the repository itself.
    pub(crate) fn git(&self) -> Git {
        self.place.git()
    }

    /// Git that writes contents and branches.
    pub(crate) fn writing(&self) -> Git {
        self.place.writing()
    }

    /// Where a folder is within it; empty for the top, and for what is somewhere else.
    pub(crate) fn inside(&self, folder: &Path) -> PathBuf {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder.strip_prefix(&self.top).unwrap_or(Path::new("")).to_owned()
    }

    /// What names stand for, such as `HEAD^{tree}`, in their order; `None` for what is not there.
    pub(crate) async fn names(&self, names: &[&str]) -> Result<Vec<Option<String>>, WorkspaceError> {
        let said = self.git().stdin(listed(names).into_bytes()).bytes(&NAMES).await?;
        named(&said, names.len())
    }

    /// The same, as one of several calls; [`named`] reads what it says.
    pub(crate) fn naming(&self, names: &[&str]) -> Result<GitStep, WorkspaceError> {
        GitStep::new(&NAMES).text(listed(names)).variable("GIT_DIR", &self.place.own)
    }

    /// What its own index holds, with a NUL after each entry, as one of several calls.
    pub(crate) fn listing(&self) -> Result<GitStep, WorkspaceError> {
        let (own, index) = (&self.place.own, self.place.own.join("index"));
        let step = GitStep::new(&["ls-files", "--stage", "-z"]);
        step.variable("GIT_DIR", own)?.variable("GIT_INDEX_FILE", &index)
    }

    /// Another git that sees it as well.
    pub(crate) fn seen_by(&self, git: Git) -> Git {
        git.sees(&self.common).sees(&self.top.join(".git"))
    }

    /// The commit of a name; `None` if there is none.
    pub(crate) async fn commit_of(&self, name: &str) -> Result<Option<String>, WorkspaceError> {
        Ok(self.names(&[&format!("{name}^{{commit}}")]).await?.pop().flatten())
    }
}

const NAMES: [&str; 2] = ["cat-file", "--batch-check=%(objectname)"];

fn listed(names: &[&str]) -> String {
    names.iter().map(|name| format!("{name}\n")).collect()
}

/// What git says that so many names stand for.
pub(crate) fn named(said: &[u8], count: usize) -> Result<Vec<Option<String>>, WorkspaceError> {
    let said = String::from_utf8_lossy(said);
    let found: Vec<Option<String>> = said.lines().map(|line| checked(line).ok().map(str::to_owned)).collect();
    if found.len() == count {
        Ok(found)
    } else {
        Err(GitError::Unexpected { call: NAMES[0].to_owned() }.into())
    }
}

/// All that has a say in what git takes a folder for, beside where its files are: git's answer is the same as long as this is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlaceState {
    place: RepositoryPlace,
    settings: Vec<u8>,
    owners: Vec<u32>,
}

/// The places that git was asked about, and how objects are named there.
static PLACES: Mutex<Vec<(PlaceState, &'static str)>> = Mutex::new(Vec::new());

impl PlaceState {
    /// None where other files have a say, too.
    fn of(place: &RepositoryPlace) -> Option<Self> {
        let settings = plain::bytes(&place.common.join("config"), limits::SETTINGS_BYTES_MAX)?;
        let includes = String::from_utf8_lossy(&settings).to_ascii_lowercase().contains("include");
        let of_checkout = |folder: &PathBuf| folder.join("config.worktree").symlink_metadata().is_ok();
        if includes || [&place.own, &place.common].into_iter().any(of_checkout) {
            return None;
        }
        let owners = [&place.top, &place.top.join(".git"), &place.own, &place.common].map(|path| owner(path));
        let owners = owners.into_iter().collect::<Option<Vec<u32>>>()?;
        Some(Self { place: place.clone(), settings, owners })
    }

    fn known(&self) -> Option<&'static str> {
        let places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().find(|(state, _)| state == self).map(|(_, format)| *format)
    }

    fn remember(self, format: &'static str) {
        let mut places = PLACES.lock().unwrap_or_else(PoisonError::into_inner);
        places.retain(|(state, _)| state.place != self.place);
        if places.len() >= limits::PLACES_KNOWN_MAX {
            places.remove(0);
        }
        places.push((self, format));
    }
}

#[cfg(unix)]
fn owner(path: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    path.symlink_metadata().ok().map(|found| found.uid())
}

#[cfg(not(unix))]
fn owner(_path: &Path) -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::git;

    #[tokio::test]
    async fn what_is_known_of_a_place_lasts_as_long_as_its_settings() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap().join("project");
        fs::create_dir_all(folder.path().join("other")).unwrap();
        fs::create_dir(&top).unwrap();
        git::init(&top).await.unwrap();
        let at = |name: &str| top.join(".git").join(name);
        let own = fs::read_to_string(at("config")).unwrap();
        let elsewhere = "[core]\n\tworktree = ../../other\n";
        let cases = [
            ("", elsewhere),
            ("[Include]\n\tpath = more\n", ""),
            ("[includeIf \"gitdir:**\"]\n\tpath = more\n", ""),
            ("[extensions]\n\tworktreeConfig = true\n", ""),
        ];
        fs::write(at("more"), elsewhere).unwrap();
        let mut tried = 0;
        for (more, directly) in cases {
            let known = Repository::of(&top).await.unwrap();
            assert_eq!(PlaceState::of(&known.place).unwrap().known(), Some("sha1"));
            assert_eq!(Repository::of(&top).await.unwrap(), known);
            fs::write(at("config"), format!("{own}{more}{directly}")).unwrap();
            if more.contains("worktreeConfig") {
                fs::write(at("config.worktree"), elsewhere).unwrap();
            }
            // Git is asked again, each time.
            assert_eq!(
                PlaceState::of(&known.place).and_then(|state| state.known()),
                None,
                "{more}{directly}"
            );
            let now = Repository::of(&top).await;
            let refused =
                matches!(now, Err(WorkspaceError::NotARepository | WorkspaceError::Git(GitError::Elsewhere)));
            // What is included says nothing of where files are.
            assert_eq!(refused, !more.to_lowercase().contains("include"), "{more}{directly}: {now:?}");
            assert_eq!(
                PlaceState::of(&known.place).and_then(|state| state.known()),
                None,
                "{more}{directly}"
            );
            let _ = fs::remove_file(at("config.worktree"));
            fs::write(at("config"), &own).unwrap();
            tried += 1;
        }
        assert_eq!(tried, 4);
    }
}
