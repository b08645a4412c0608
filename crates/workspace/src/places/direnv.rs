//! What direnv reads again by itself at the prompt, once the person has allowed an `.envrc`: what that names.

use std::path::{Path, PathBuf};

use super::{Named, programs, text_of};

/// What an `.envrc` says, and the files beside it that are read for it.
const READS: &[(&str, &[&str])] = &[
    ("use flake", &["flake.nix", "flake.lock", "devshell.toml"]),
    ("use_flake", &["flake.nix", "flake.lock", "devshell.toml"]),
    ("use nix", &["shell.nix", "default.nix"]),
    ("use_nix", &["shell.nix", "default.nix"]),
    ("devenv", &["devenv.nix", "devenv.yaml", "devenv.lock", "devenv.local.nix", "devenv.local.yaml"]),
    ("devbox", &["devbox.json", "devbox.lock"]),
    ("dotenv", &[".env"]),
];

/// What direnv reads because of a file, relative to the folder; nothing if the file is no `.envrc`.
pub(super) fn read_by(root: &Path, file: &Path) -> Named {
    if file.file_name().is_none_or(|name| name != ".envrc") {
        return Named::new();
    }
    let Some(text) = text_of(&root.join(file)) else { return Named::new() };
    let folder = file.parent().unwrap_or(Path::new(""));
    let beside = READS.iter().filter(|(says, _)| text.contains(says)).flat_map(|(_, files)| *files);
    let words = programs(&root.join(folder), &text);
    let words = words.iter().filter_map(|place| place.strip_prefix(root).ok()).map(PathBuf::from);
    beside.map(|name| folder.join(name)).chain(words).map(|place| (place, "direnv")).collect()
}
