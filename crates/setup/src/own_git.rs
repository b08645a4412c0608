//! The git that Posse calls on its own account: settled before the first session, from the person's own configuration or
//! from what the system has, and never from a folder that agents or repositories write.

use std::path::{Path, PathBuf};

use posse_engine::project_folders;
use posse_workspace::git::{self, GitError, Person, Use};

use crate::config::Config;
use crate::paths::Paths;
use crate::surroundings::Surroundings;
use crate::warning::SetupWarning;

/// Settles it for work in this folder. Says what the person should know, if there is something.
pub fn settle_git(
    paths: &Paths,
    config: Option<&Config>,
    folder: &Path,
    confined: bool,
) -> Option<SetupWarning> {
    let surroundings = paths.surroundings();
    let never_in = places_of_agents(paths, folder);
    let named = config.and_then(|config| config.git.path.as_deref());
    let program = match named {
        Some(path) => git::named(path, &never_in),
        None => {
            let home = home(surroundings).map(Path::to_path_buf);
            git::find(surroundings.variable("PATH"), &[never_in, home.into_iter().collect()].concat())
        }
    };
    let wrong = program.as_ref().err().filter(|error| matches!(error, GitError::Unfit(_)));
    let warning = wrong.map(|error| SetupWarning::GitLeftOut { reason: error.to_string() });
    git::set_up(Use { program, confined, person: person(surroundings) });
    warning
}

/// Where agents write, or may: the project that is worked in, and where Posse keeps checkouts.
pub(crate) fn places_of_agents(paths: &Paths, folder: &Path) -> Vec<PathBuf> {
    project_folders(folder).map(Path::to_path_buf).chain(paths.own_places()).collect()
}

/// The home folder, unless everything is in it.
fn home(surroundings: &Surroundings) -> Option<&Path> {
    surroundings.home().filter(|home| home.is_absolute() && home.parent().is_some())
}

/// Where the person has told git who they are.
fn person(surroundings: &Surroundings) -> Person {
    let home = home(surroundings);
    let settings = surroundings.absolute_path("XDG_CONFIG_HOME");
    let settings = settings.or_else(|| home.map(|home| home.join(".config")));
    let files = [settings.map(|folder| folder.join("git/config")), home.map(|home| home.join(".gitconfig"))];
    Person { home: home.map(Path::to_path_buf), files: files.into_iter().flatten().collect() }
}
