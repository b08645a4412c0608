//! What keeps the agents of a session at home although there are workers. The engine says it to the model that asks for a worker; where an
//! agent may run anywhere it just runs at home, so the person is told before.

use std::path::Path;

use posse_engine::project_folders;

use crate::config::{Config, Trusted};
use crate::error::ConfigError;
use crate::hooks::find_hooks;
use crate::paths::Paths;

/// Why no agent of sessions in this folder runs on a worker, if so.
pub fn kept_home(paths: &Paths, folder: &Path, config: &Config) -> Result<Option<&'static str>, ConfigError> {
    let trusted = Trusted::load(paths)?;
    let hooks = find_hooks(paths, folder, config, &trusted, &[]);
    Ok(why_kept_home(folder, !hooks.settings.set.is_idle(), true))
}

/// The same for what is known of a session.
pub(crate) fn why_kept_home(folder: &Path, hooks: bool, sandbox: bool) -> Option<&'static str> {
    if hooks {
        return Some("sessions here have hooks, which look at calls here and do not travel (posse hooks)");
    }
    if !sandbox {
        return Some("this session has no sandbox");
    }
    let is_repository = project_folders(folder).last().is_some_and(|top| top.join(".git").exists());
    (!is_repository).then_some("this folder is no git repository, and files travel by git (git init)")
}
