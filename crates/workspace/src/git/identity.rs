//! Who commits, as the person has told git. The one call that reads the person's own configuration: exactly those files,
//! confined like every other call. Its answer is two lines of text.

use std::path::{Path, PathBuf};

use super::{call::Git, place::RepositoryPlace, program};
use crate::limits;

/// The name and the address that git would use in a folder; none where the person has not set both.
pub async fn identity(folder: &Path) -> Option<(String, String)> {
    let workspace = folder.canonicalize().ok()?;
    let person = &program::used().person;
    let real = person.files.iter().filter_map(|file| file.canonicalize().ok());
    let files: Vec<PathBuf> = real.filter(|file| file.is_file()).collect();
    let place = RepositoryPlace::of(&workspace).await.ok();
    let asked = ask(&workspace, place.as_ref(), &files, &[]).await?;
    let included = asked.included(&files, person.home.as_deref(), &workspace);
    // Only then is there more to be seen than was seen.
    let asked =
        if included.is_empty() { asked } else { ask(&workspace, place.as_ref(), &files, &included).await? };
    Some((asked.last("user.name")?, asked.last("user.email")?))
}

/// What was set: the file it is set in, its name and its value, in the order in which it is read.
struct Asked(Vec<(PathBuf, String, String)>);

async fn ask(
    folder: &Path,
    place: Option<&RepositoryPlace>,
    files: &[PathBuf],
    more: &[PathBuf],
) -> Option<Asked> {
    let mut git = place.map_or_else(|| Git::at(folder), RepositoryPlace::git).from(folder);
    // The first of two files counts less, as that of the system does. There are no more.
    for (variable, file) in ["GIT_CONFIG_SYSTEM", "GIT_CONFIG_GLOBAL"].iter().zip(files) {
        git = git.sees(file).variable(variable, file).ok()?;
    }
    if !files.is_empty() {
        git = git.variable("GIT_CONFIG_NOSYSTEM", Path::new("0")).ok()?;
    }
    if let Some(home) = &program::used().person.home {
        git = git.variable("HOME", home).ok()?;
    }
    git = more.iter().fold(git, |git, file| git.sees(file));
    let words = ["config", "--includes", "--null", "--show-origin", "--get-regexp", WANTED];
    let said = String::from_utf8(git.bytes(&words).await.ok()?).ok()?;
    let mut parts = said.split('\0');
    let mut found = Vec::new();
    while let (Some(origin), Some(entry)) = (parts.next(), parts.next()) {
        let Some((name, value)) = entry.split_once('\n') else { continue };
        let file = origin.strip_prefix("file:").unwrap_or_default();
        found.push((PathBuf::from(file), name.to_owned(), value.to_owned()));
    }
    Some(Asked(found))
}

/// Who commits, and where else that may be said.
const WANTED: &str = "^(user\\.(name|email)|include(if\\..*)?\\.path)$";

impl Asked {
    /// The files that the person's own files include. None of the workspace: what is in there is not the person's word.
    fn included(&self, files: &[PathBuf], home: Option<&Path>, workspace: &Path) -> Vec<PathBuf> {
        let includes =
            self.0.iter().filter(|(file, name, _)| name.starts_with("include") && files.contains(file));
        let paths = includes.filter_map(|(file, _, value)| match value.strip_prefix("~/") {
            Some(inside) => Some(home?.join(inside)),
            None => Some(file.parent()?.join(value)),
        });
        let real = paths.filter(|path| path.canonicalize().is_ok_and(|real| real == *path && real.is_file()));
        real.filter(|path| !path.starts_with(workspace)).take(limits::GIT_PERSON_FILES_MAX).collect()
    }

    /// Later entries win, as for git. What could act on a terminal or break a line is no name.
    fn last(&self, key: &str) -> Option<String> {
        let value = self.0.iter().rev().find(|(_, name, _)| name == key).map(|(_, _, value)| value)?;
        (!value.is_empty() && !value.chars().any(char::is_control)).then(|| value.clone())
    }
}
