//! What in a home belongs to compilers and interpreters, and so must be seen although homes are hidden.
//!
//! What in there is secret is in `secrets.rs`. Found from the command's own PATH and the variables toolchains are configured by. Never a home as a whole.

use std::path::{Path, PathBuf};

use super::plan::Plan;

/// Variables that name a toolchain's folder.
pub(crate) const VARIABLES: &[&str] = &[
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "GOMODCACHE",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "PYENV_ROOT",
    "NVM_DIR",
    "PNPM_HOME",
    "BUN_INSTALL",
    "DENO_DIR",
    "GEM_HOME",
    "RBENV_ROOT",
    "ASDF_DIR",
    "MISE_DATA_DIR",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
];

/// Where toolchains are in a home unless a variable says otherwise. A program on PATH below one of these needs all of it.
const USUAL: &[&str] = &[
    ".cargo",
    ".rustup",
    ".pyenv",
    ".nvm",
    ".volta",
    ".asdf",
    ".bun",
    ".deno",
    ".rbenv",
    ".sdkman",
    ".ghcup",
    ".cabal",
    ".stack",
    ".opam",
    ".juliaup",
    ".julia",
    ".dotnet",
    ".nix-profile",
    ".npm",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    "go",
    ".local/share/mise",
    ".local/share/uv",
    ".local/share/pnpm",
    ".local/share/rtx",
    ".local/pipx",
    ".local/lib",
    ".local/bin",
    "bin",
];

/// The folders of toolchains in these homes, links resolved, none below another.
pub(crate) fn found(plan: &Plan, homes: &[PathBuf]) -> Vec<PathBuf> {
    let path =
        plan.env("PATH").map(|path| std::env::split_paths(path).collect::<Vec<_>>()).unwrap_or_default();
    let all = path.into_iter().chain(named(plan, VARIABLES)).chain(usual(homes));
    let all = all.filter_map(|path| path.canonicalize().ok());
    let mut found: Vec<PathBuf> = all.filter(|path| path.is_dir() && strictly_in(path, homes)).collect();
    found.sort();
    found.dedup();
    // Sorted, a folder comes before all that is below it.
    let mut outer: Vec<PathBuf> = Vec::new();
    for path in found {
        if !outer.last().is_some_and(|last| path.starts_with(last)) {
            outer.push(path);
        }
    }
    outer
}

pub(crate) fn usual(homes: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    homes.iter().flat_map(|home| USUAL.iter().map(|name| home.join(name)))
}

pub(crate) fn named<'a>(plan: &'a Plan, variables: &'a [&str]) -> impl Iterator<Item = PathBuf> + 'a {
    variables.iter().filter_map(|name| plan.env(name)).flat_map(std::env::split_paths)
}

fn strictly_in(path: &Path, homes: &[PathBuf]) -> bool {
    let inside = homes.iter().any(|home| path.starts_with(home));
    // A variable that names a home, or what a home is in, does not open it.
    inside && !homes.iter().any(|home| home.starts_with(path))
}
