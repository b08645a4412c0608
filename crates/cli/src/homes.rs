//! Home folders: no workspace unless the person says so, and what in them stays hidden even then.

use std::path::{Path, PathBuf};

use anyhow::bail;
use posse_engine::machine::secret_places;

/// The largest list of users that is read.
const USERS_BYTES_MAX: usize = 1024 * 1024;

/// Refuses a folder that is a home, holds homes, or holds credentials, unless the person has said that they mean it.
pub(crate) fn check(folder: &Path, meant: bool) -> anyhow::Result<()> {
    match fault(folder, &Homes::find()) {
        Some(what) if !meant => bail!(
            "{} {what}, and an agent that works there could read and change everything in it. Work in the folder of a project \
             instead: posse run -C DIR. If you mean it, say --workspace-is-home; keys, sign-ins and histories stay hidden even then",
            folder.display()
        ),
        _ => Ok(()),
    }
}

/// What of homes stays hidden in a workspace that is around it.
pub(crate) fn hidden_in(folder: &Path) -> Vec<PathBuf> {
    let homes = Homes::find().all;
    let places = homes.iter().flat_map(|home| secret_places(home));
    places.filter(|place| place.starts_with(folder) && place != folder).collect()
}

struct Homes {
    own: Option<PathBuf>,
    /// Everybody's, links resolved; the person's too.
    all: Vec<PathBuf>,
}

impl Homes {
    fn find() -> Self {
        let own = std::env::home_dir().and_then(|home| home.canonicalize().ok());
        let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
        let users = users.get(..USERS_BYTES_MAX).unwrap_or(&users);
        let listed = users.lines().filter_map(|line| line.split(':').nth(5)).filter(|home| !home.is_empty());
        let listed = listed.filter_map(|home| Path::new(home).canonicalize().ok());
        let mut all: Vec<PathBuf> = listed.chain(own.clone()).filter(|home| home.is_dir()).collect();
        all.sort();
        all.dedup();
        Self { own, all }
    }
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

    use super::{Homes, fault};

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
