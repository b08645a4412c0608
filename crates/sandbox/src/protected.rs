//! The names in a workspace that other programs run or obey by themselves, so that nobody writes them without being
//! asked. One table for everybody who guards a workspace: commands, file tools, merging and undoing. Touches no system.

use std::path::Path;

/// A name in a workspace that nobody writes, relative to its root, `/` between parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProtectedName {
    /// The name.
    pub path: &'static str,
    /// Whether it is a folder where it exists; it stands for all that is below.
    pub folder: bool,
}

const fn folder(path: &'static str) -> ProtectedName {
    ProtectedName { path, folder: true }
}

const fn file(path: &'static str) -> ProtectedName {
    ProtectedName { path, folder: false }
}

/// What programs of the person obey without being asked: git's own settings, settings of editors and agents, start-up
/// files of shells. Left out on purpose: `.gitmodules` and build files, which are part of the work; what git takes from
/// the former cannot name a program.
const PROTECTED: &[ProtectedName] = &[
    folder(".git/hooks"),
    file(".git/config"),
    file(".git/config.worktree"),
    folder(".git/info"),
    folder(".git/modules"),
    folder(".git/worktrees"),
    file(".git/commondir"),
    file(".git/gitdir"),
    folder(".posse"),
    folder(".claude"),
    folder(".codex"),
    folder(".cursor"),
    folder(".gemini"),
    folder(".vscode"),
    folder(".idea"),
    file(".mcp.json"),
    file(".envrc"),
    folder(".ssh"),
    file(".gitconfig"),
    file(".bashrc"),
    file(".bash_profile"),
    file(".bash_login"),
    file(".bash_logout"),
    file(".profile"),
    file(".zshrc"),
    file(".zprofile"),
    file(".zshenv"),
    file(".zlogin"),
];

/// The names that nobody writes, for everybody who guards a workspace. Where `.git` itself is a file, as in a linked
/// checkout, or is not there at all, all of it is protected.
pub fn protected_names() -> &'static [ProtectedName] {
    PROTECTED
}

/// The protected name that a path, relative to the workspace, is or lies below, if any.
pub fn protected_by(relative: &Path) -> Option<&'static str> {
    PROTECTED.iter().map(|name| name.path).find(|name| relative.starts_with(name))
}
