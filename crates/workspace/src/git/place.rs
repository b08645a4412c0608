//! Where a folder's repository is, found without git: what git may see and write has to be known before it runs.
//!
//! A `.git` can be a link, or a file that names any folder. Only two kinds of files are believed, and only if what they
//! name says the same the other way round: that of another checkout of a repository, and that of a submodule.

use std::path::{Path, PathBuf};

use super::{GitError, call::Git, plain, program};
use crate::WorkspaceError;

/// A repository that a folder is in. All paths are real ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RepositoryPlace {
    /// The top folder of the files.
    pub(crate) top: PathBuf,
    /// Git's folder for these files.
    pub(crate) own: PathBuf,
    /// Where objects and branches are; that of the main checkout, if this is another one.
    pub(crate) common: PathBuf,
}

impl RepositoryPlace {
    pub(crate) async fn of(folder: &Path) -> Result<Self, WorkspaceError> {
        let folder = folder.canonicalize().map_err(|_| WorkspaceError::NotARepository)?;
        let home = program::used().person.home.as_ref().and_then(|home| home.canonicalize().ok());
        // A repository of the whole home, seen from a folder in it, would bring along all that is in that home.
        let around_home = |top: &&Path| home.as_ref().is_some_and(|home| home.starts_with(top));
        for top in folder.ancestors().take_while(|top| *top == folder || !around_home(top)) {
            let dot = top.join(".git");
            let Ok(found) = dot.symlink_metadata() else { continue };
            if found.is_dir() && is_empty(&dot) {
                // One that only keeps the name: git goes on above it, too.
                continue;
            }
            // One that was damaged does not make the next one above it the repository of these files.
            let place = if found.is_dir() { main(top, dot) } else { named_by_file(top, &dot).await };
            return place.ok_or(WorkspaceError::Git(GitError::Elsewhere));
        }
        Err(WorkspaceError::NotARepository)
    }

    /// Git on the repository itself: it sees no files but the repository's own.
    pub(crate) fn git(&self) -> Git {
        // For another checkout, the file that names git's folder.
        Git::at(&self.top).sees(&self.common).sees(&self.top.join(".git"))
    }

    /// Git that writes in the repository, but nothing there that has a say in what git does.
    pub(crate) fn writing(&self) -> Git {
        let kept = ["config", "config.worktree", "hooks", "info", "modules"];
        let git = self.git().writes(&self.common);
        kept.iter().fold(git, |git, name| git.keeps(&self.common.join(name)))
    }
}

fn is_empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}

/// A folder that git would take for its own, with its contents in it.
fn is_repository(dot: &Path) -> bool {
    dot.join("HEAD").symlink_metadata().is_ok() && plain::is_folder(&dot.join("objects"))
}

/// The usual case. Such a folder has no other that it shares things with.
fn main(top: &Path, dot: PathBuf) -> Option<RepositoryPlace> {
    let alone = dot.join("commondir").symlink_metadata().is_err();
    (alone && is_repository(&dot)).then(|| RepositoryPlace {
        top: top.to_owned(),
        own: dot.clone(),
        common: dot,
    })
}

async fn named_by_file(top: &Path, dot: &Path) -> Option<RepositoryPlace> {
    let said = plain::text(dot)?;
    let own = top.join(said.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
    let place =
        |common: &Path| RepositoryPlace { top: top.to_owned(), own: own.clone(), common: common.to_owned() };
    let folder = own.parent()?;
    if own.join("commondir").symlink_metadata().is_ok() {
        // Another checkout: its folder is among those of the repository, and says where its files are.
        let common = folder.parent().filter(|_| folder.ends_with("worktrees"))?;
        let shared = own.join(plain::text(&own.join("commondir"))?).canonicalize().ok()?;
        let back = own.join(plain::text(&own.join("gitdir"))?);
        let ours = shared == common && is_repository(common) && back.canonicalize().ok()? == dot;
        return ours.then(|| place(common));
    }
    // A submodule: its folder is in that of a repository above, and its configuration says where its files are.
    let above = top.ancestors().skip(1).find(|above| own.starts_with(above.join(".git/modules")))?;
    if !plain::is_folder(&above.join(".git")) || !is_repository(&own) {
        return None;
    }
    let config = own.join("config");
    let words = ["config", "--no-includes", "--file", config.to_str()?, "--get", "core.worktree"];
    let named = Git::at(&own).sees(&config).text(&words).await.ok()?;
    (own.join(named).canonicalize().ok()? == top).then(|| place(&own))
}

/// The folder of a workspace's repository, where it is not in the workspace: above it, or, for a checkout of another
/// repository, wherever that is. Commands may read it, so that git can tell what has changed.
pub fn folder_outside(workspace: &Path) -> Option<PathBuf> {
    let dot = workspace.ancestors().map(|folder| folder.join(".git"));
    let dot = dot.into_iter().find(|dot| dot.symlink_metadata().is_ok())?;
    if dot.is_dir() {
        return (dot.parent() != Some(workspace)).then_some(dot);
    }
    // Only what really is the repository of a checkout: a file with that name may say anything.
    let said = plain::text(&dot)?;
    let own = PathBuf::from(said.strip_prefix("gitdir: ")?.trim());
    let common = own.parent()?.parent()?.to_path_buf();
    let back = plain::text(&own.join("gitdir"))?;
    let ours = Path::new(&back) == dot && own.parent()?.ends_with("worktrees");
    (ours && common.join("HEAD").is_file() && common.join("objects").is_dir()).then_some(common)
}

/// Settings that switch off every filter and diff driver the repository names.
pub(crate) async fn without_filters(
    place: &RepositoryPlace,
) -> Result<Vec<(String, String)>, WorkspaceError> {
    let call = ["config", "--list", "--name-only", "-z"];
    // Files that it includes are seen as they are by what is called next.
    let names = place.git().sees(&place.top).bytes(&call).await?;
    let names = String::from_utf8(names).map_err(|_| GitError::Unexpected { call: call[0].to_owned() })?;
    let mut off = Vec::new();
    for name in names.split('\0') {
        let Some((section, key)) = name.rsplit_once('.') else { continue };
        let value = match (section.split_once('.').map(|(section, _)| section), key) {
            (Some("filter"), "clean" | "smudge" | "process") => "",
            (Some("filter"), "required") => "false",
            (Some("diff"), "command" | "textconv") | (Some("merge"), "driver") => "",
            _ => continue,
        };
        off.push((name.to_owned(), value.to_owned()));
    }
    Ok(off)
}
