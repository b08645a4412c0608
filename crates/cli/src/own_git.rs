//! The git that Posse calls on its own account: settled before the first session, from the person's own configuration or
//! from what the system has, and never from a folder that agents or repositories write.

use std::env;
use std::path::{Path, PathBuf};

use posse_engine::machine::git::{self, GitError, Person, Use};
use posse_engine::project_folders;
use posse_setup::Paths;

use crate::config::Config;

/// Settles it for work in this folder. Says what the person should know, if there is something.
pub(crate) fn settle(
    paths: &Paths,
    config: Option<&Config>,
    folder: &Path,
    confined: bool,
) -> Option<String> {
    let never_in = places_of_agents(paths, folder);
    let named = config.and_then(|config| config.git.path.as_deref());
    let program = match named {
        Some(path) => git::named(path, &never_in),
        None => git::find(env::var_os("PATH").as_deref(), &[never_in, home().into_iter().collect()].concat()),
    };
    let wrong = program.as_ref().err().filter(|error| matches!(error, GitError::Unfit(_)));
    let warning = wrong.map(|error| format!("{error}; Posse goes on without git"));
    git::set_up(Use { program, confined, person: person() });
    warning
}

/// Where agents write, or may: the project that is worked in, and where Posse keeps checkouts.
fn places_of_agents(paths: &Paths, folder: &Path) -> Vec<PathBuf> {
    project_folders(folder).map(Path::to_path_buf).chain(paths.own_places()).collect()
}

/// The home folder, unless everything is in it.
fn home() -> Option<PathBuf> {
    env::home_dir().filter(|home| home.is_absolute() && home.parent().is_some())
}

/// Where the person has told git who they are.
fn person() -> Person {
    let home = home();
    let settings = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let settings = settings.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let files =
        [settings.map(|folder| folder.join("git/config")), home.as_ref().map(|home| home.join(".gitconfig"))];
    Person { home, files: files.into_iter().flatten().collect() }
}
