//! Home folders: no workspace unless the person says so, and what in them stays hidden even then.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use posse_sandbox::home_of;
use posse_sandbox::secret_places;

use crate::error::PrepareError;
use crate::limits::{HOMES_MAX, USERS_BYTES_MAX};
use crate::surroundings::Surroundings;

/// Refuses a folder that is a home, holds homes, or holds credentials, unless the person has said that they mean it.
pub(crate) fn check(folder: &Path, meant: bool, surroundings: &Surroundings) -> Result<(), PrepareError> {
    match fault(folder, &Homes::find(folder, surroundings)) {
        Some(what) if !meant => Err(PrepareError::FolderIsHome { folder: folder.to_path_buf(), what }),
        _ => Ok(()),
    }
}

/// What of homes stays hidden in a workspace that is around it.
pub(crate) fn hidden_in(folder: &Path, surroundings: &Surroundings) -> Vec<PathBuf> {
    let homes = Homes::find(folder, surroundings).all;
    let places = homes.iter().flat_map(|home| secret_places(home));
    places.filter(|place| place.starts_with(folder) && place != folder).collect()
}

struct Homes {
    own: Option<PathBuf>,
    /// Everybody's, links resolved; the person's too.
    all: Vec<PathBuf>,
}

impl Homes {
    fn find(folder: &Path, surroundings: &Surroundings) -> Self {
        let own = surroundings.home().and_then(|home| home.canonicalize().ok());
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let users = users.get(..USERS_BYTES_MAX).unwrap_or(&users);
        let listed = users.lines().filter_map(|line| line.split(':').nth(5)).filter(|home| !home.is_empty());
        let listed = listed.map(PathBuf::from).chain(of_owners(folder, home_of));
        let listed = listed.filter_map(|home| home.canonicalize().ok());
        let mut all: Vec<PathBuf> = listed.chain(own.clone()).filter(|home| home.is_dir()).collect();
        all.sort();
        all.dedup();
        Self { own, all }
    }
}

/// The homes of those who own a folder or something in it: not every system lists its users in a file, but each knows who
/// somebody is.
fn of_owners(folder: &Path, home_of: impl Fn(u32) -> Option<PathBuf>) -> Vec<PathBuf> {
    let inside = std::fs::read_dir(folder).into_iter().flatten().flatten().take(HOMES_MAX);
    let mut owners: Vec<u32> = inside.filter_map(|entry| Some(owner(&entry.metadata().ok()?))).collect();
    owners.extend(folder.metadata().ok().as_ref().map(owner));
    owners.sort_unstable();
    owners.dedup();
    owners.into_iter().filter_map(home_of).collect()
}

#[cfg(unix)]
fn owner(found: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::MetadataExt::uid(found)
}

#[cfg(not(unix))]
fn owner(_found: &std::fs::Metadata) -> u32 {
    0
}

#[cfg(not(unix))]
fn home_of(_user: u32) -> Option<PathBuf> {
    None
}

/// What is wrong with a folder, links resolved, as a workspace.
fn fault(folder: &Path, homes: &Homes) -> Option<&'static str> {
    if folder.parent().is_none() {
        return Some("is the root of the file system");
    } else if homes.own.as_deref() == Some(folder) {
        return Some("is your home folder");
    } else if homes.all.iter().any(|home| home == folder) {
        return Some("is the home folder of another user");
    } else if homes.all.iter().any(|home| home.starts_with(folder)) {
        return Some("holds home folders");
    }
    let secret = |home: &PathBuf| secret_places(home).any(|place| folder.starts_with(place));
    homes.own.iter().any(secret).then_some("holds credentials or histories")
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Homes, fault, of_owners};

    #[cfg(unix)]
    #[test]
    fn homes_that_no_list_has_are_known_by_their_owners() {
        use std::os::unix::fs::MetadataExt as _;

        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        let home = folder.join("people/them");
        std::fs::create_dir_all(home.join("src")).unwrap();
        let owner = home.metadata().unwrap().uid();
        let directory = |user: u32| (user == owner).then(|| home.clone());
        let cases = [
            (home.clone(), Some("is the home folder of another user")),
            (folder.join("people"), Some("holds home folders")),
            (home.join("src"), None),
        ];
        for (folder, want) in cases {
            let homes = Homes { own: None, all: of_owners(&folder, directory) };
            assert_eq!(fault(&folder, &homes), want, "{}", folder.display());
        }
    }

    #[test]
    fn folders_that_are_no_workspace() {
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let all = paths(&["/people/me", "/people/you", "/root", "/srv/crew/deep/x", "/var/www"]);
        let homes = Homes { own: Some("/people/me".into()), all };
        let cases = [
            ("/", Some("is the root of the file system")),
            ("/people/me", Some("is your home folder")),
            ("/people/you", Some("is the home folder of another user")),
            ("/root", Some("is the home folder of another user")),
            ("/var/www", Some("is the home folder of another user")),
            ("/people", Some("holds home folders")),
            ("/srv", Some("holds home folders")),
            ("/srv/crew/deep", Some("holds home folders")),
            ("/var", Some("holds home folders")),
            ("/people/me/.ssh", Some("holds credentials or histories")),
            ("/people/me/.config/gcloud/logs", Some("holds credentials or histories")),
            ("/people/me/.config/posse", Some("holds credentials or histories")),
            ("/people/me/src", None),
            ("/people/me/.config", None),
            ("/people/meet", None),
            ("/var/www/site", None),
            ("/tmp/x", None),
            ("/srv/other", None),
        ];
        for (folder, want) in cases {
            assert_eq!(fault(Path::new(folder), &homes), want, "{folder}");
        }
        assert_eq!(cases.len(), 18);
    }
}
