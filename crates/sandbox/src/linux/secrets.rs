//! What in the folders of toolchains is secret: tokens, passwords and keys of registries, which no command needs to build or
//! test. Each is covered for commands at every level.
//!
//! Looked for at any depth that settings are found at, by name; and settings that may or may not hold a secret are read, and
//! covered if they do.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use super::{
    plan::Plan,
    searched::{Searched, in_folders},
    toolchains::{self, VARIABLES},
    view,
};
use crate::limits;

/// Below a home, where no folder of a toolchain is shown otherwise, or the name alone could be anything.
const IN_HOMES: &[&str] = &[
    ".npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    ".netrc",
    ".pypirc",
    ".gemrc",
    ".condarc",
    ".terraformrc",
    ".bunfig.toml",
    ".git-credentials",
    ".cabal/config",
    ".gem/credentials",
    ".julia/servers",
    ".m2",
    ".gradle/gradle.properties",
    ".gradle/init.gradle",
    ".gradle/init.gradle.kts",
    ".gradle/init.d",
    ".docker",
    ".terraform.d",
    ".hex",
    ".conan",
    ".conan2/credentials.json",
    ".pub-cache/credentials.json",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".config/go/env",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/NuGet/NuGet.Config",
    ".nuget/NuGet/NuGet.Config",
    ".local/share/uv/credentials",
    ".local/share/bundle",
    ".bundle/config",
    ".npm/_logs",
    ".yarn/berry/auth",
    ".sbt/.credentials",
    ".ivy2/.credentials",
    ".lein/credentials.clj.gpg",
    ".lein/profiles.clj",
    ".stack/config.yaml",
    ".opam/plugins/opam-publish",
];

/// Variables that name a file or folder which is secret as a whole.
const NAMED: &[&str] = &[
    "NPM_CONFIG_USERCONFIG",
    "npm_config_userconfig",
    "NPM_CONFIG_GLOBALCONFIG",
    "PIP_CONFIG_FILE",
    "NETRC",
    "GOENV",
    "CONDARC",
    "GEMRC",
    "GEM_CREDENTIALS",
    "BUNDLE_USER_CONFIG",
    "BUNDLE_APP_CONFIG",
    "DOCKER_CONFIG",
    "TF_CLI_CONFIG_FILE",
    "CONAN_LOGIN_FILE",
    "HEX_HOME",
    "COMPOSER_AUTH_FILE",
    "POETRY_CONFIG_DIR",
    "TWINE_CONFIG_FILE",
    "YARN_RC_FILENAME",
    "GIT_CREDENTIALS",
];

/// Variables that name a folder which is no toolchain to be shown, but has secrets in it.
const FOLDERS: &[&str] = &[
    "GRADLE_USER_HOME",
    "MAVEN_USER_HOME",
    "COMPOSER_HOME",
    "NUGET_PACKAGES",
    "PUB_CACHE",
    "CONAN_HOME",
    "CONAN_USER_HOME",
    "OPAMROOT",
    "STACK_ROOT",
    "CABAL_DIR",
    "MIX_HOME",
    "NPM_CONFIG_PREFIX",
    "npm_config_prefix",
    "UV_CREDENTIALS_DIR",
    "JULIA_DEPOT_PATH",
    "VOLTA_HOME",
    "GHCUP_INSTALL_BASE_PREFIX",
];

/// The toolchains that a command sees, and the secrets that it must not see.
#[derive(Clone, Default)]
pub(crate) struct ToolchainSecrets {
    /// The folders of toolchains.
    pub(crate) toolchains: Vec<PathBuf>,
    /// Secrets in folders that it is shown.
    pub(crate) in_toolchains: Vec<PathBuf>,
    /// Folders that are not shown because there was too much to look through.
    pub(crate) left_out: Vec<PathBuf>,
    /// That variables of this process name.
    pub(crate) named_here: Vec<PathBuf>,
}

/// All of them, or as they were a moment ago if somebody asked for the same then: looking takes longer than most commands.
pub(crate) fn known(plan: &Plan) -> ToolchainSecrets {
    type Asked = (Vec<(OsString, OsString)>, Vec<OsString>, OsString);
    static LAST: Mutex<Option<(Instant, Asked, ToolchainSecrets)>> = Mutex::new(None);
    let asked = (plan.env.clone(), plan.readable.clone(), plan.workspace.clone());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    let fresh = |at: &Instant| at.elapsed() < Duration::from_millis(limits::SECRETS_KNOWN_MS);
    if let Some((_, _, known)) = last.as_ref().filter(|(at, same, _)| *same == asked && fresh(at)) {
        return known.clone();
    }
    let homes = view::homes(plan).1;
    let toolchains = toolchains::found(plan, &homes);
    let (in_toolchains, left_out) = found(plan, &homes, &toolchains);
    let named_here = named_here(plan.workspace());
    let known = ToolchainSecrets { toolchains, in_toolchains, left_out, named_here };
    *last = Some((Instant::now(), asked, known.clone()));
    known
}

/// All in the folders that a command is shown, and what could not be looked through; links resolved.
fn found(plan: &Plan, homes: &[PathBuf], toolchains: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let readable: Vec<PathBuf> =
        plan.readable.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    let shown: Vec<PathBuf> = toolchains.iter().chain(&readable).cloned().collect();
    let folders =
        toolchains::usual(homes).chain(toolchains::named(plan, VARIABLES)).chain(shown.iter().cloned());
    let searched = in_folders(folders);
    let beside = homes.iter().flat_map(|home| IN_HOMES.iter().map(|name| home.join(name)));
    let beside = beside.filter(|path| shown.iter().any(|folder| path.starts_with(folder)));
    let named = in_environment(|name| plan.env(name).cloned());
    let found = there(searched.secrets.into_iter().chain(beside).chain(named.secrets));
    let left_out = there(searched.left_out.into_iter().chain(named.left_out));
    let covered = |path: &PathBuf| {
        // What the person named itself is theirs to show; what is above something that is shown could only take that away.
        !readable.contains(path) && !homes.iter().chain(&shown).any(|folder| folder.starts_with(path))
    };
    let only = |paths: Vec<PathBuf>| paths.into_iter().filter(covered).collect();
    (only(found), only(left_out))
}

/// What to say of folders that are hidden because they could not be looked through.
pub(crate) fn left_out_note(folders: &[PathBuf]) -> Option<String> {
    let first = folders.iter().take(limits::LEFT_OUT_NAMED_MAX).map(|path| path.display().to_string());
    let named = first.collect::<Vec<_>>().join(", ");
    let more = match folders.len().saturating_sub(limits::LEFT_OUT_NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let note = format!(
        "hidden, because toolchains hold too much to be searched for secrets: {named}{more}; \
         name what is needed in [sandbox] readable"
    );
    (!folders.is_empty()).then_some(note)
}

/// Those that variables name which no command is told of. To be asked where these are known.
fn named_here(workspace: &Path) -> Vec<PathBuf> {
    let named = in_environment(|name| std::env::var_os(name));
    let mut found = there(named.secrets.into_iter().chain(named.left_out));
    let home = std::env::home_dir();
    found.retain(|path| !path.starts_with(workspace) && !workspace.starts_with(path));
    found.retain(|path| {
        !home.as_ref().is_some_and(|home| home.starts_with(path)) && path.components().count() > 2
    });
    found
}

fn in_environment(variable: impl Fn(&str) -> Option<OsString>) -> Searched {
    let paths = |names: &[&str]| -> Vec<PathBuf> {
        let values = names.iter().filter_map(|name| variable(name));
        let all = values.flat_map(|value| std::env::split_paths(&value).collect::<Vec<_>>());
        all.filter(|path| path.is_absolute() && path.components().count() > 2).collect()
    };
    let mut found = in_folders(paths(FOLDERS).into_iter());
    found.secrets.extend(paths(NAMED));
    found
}

/// Those that are there. Hardly any is, and to find that out this way takes one call.
fn there(paths: impl Iterator<Item = PathBuf>) -> Vec<PathBuf> {
    let there = paths.filter(|path| path.symlink_metadata().is_ok());
    let mut found: Vec<PathBuf> = there.filter_map(|path| path.canonicalize().ok()).collect();
    found.sort();
    found.dedup();
    found
}
