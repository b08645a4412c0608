//! Turns what a model wrote as a path into a clean path within the workspace. Looks at text only, never at the disk:
//! links are the business of whoever opens it.

use std::{
    fmt,
    path::{Component, Path},
};

use posse_protocol::clip::clipped;

use crate::{WorkspaceError, limits};

/// A path within the workspace: relative, `/` between parts, without `.` and `..`. Empty for the workspace itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkspacePath(String);

impl WorkspacePath {
    /// The workspace folder itself.
    pub fn root() -> Self {
        Self(String::new())
    }

    /// The path as text; `.` for the workspace itself.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// Whether it is the workspace itself.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The last part; empty for the workspace itself.
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or_default()
    }

    /// The folder it is in.
    pub fn parent(&self) -> Self {
        Self(self.0.rsplit_once('/').map(|(parent, _)| parent.to_owned()).unwrap_or_default())
    }

    /// Its parts in order.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    pub(crate) fn as_path(&self) -> &Path {
        Path::new(self.as_str())
    }

    /// A path that is known to be clean: it came from a walk within the workspace.
    pub(crate) fn from_walk(path: &Path) -> Self {
        let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
        Self(parts.join("/"))
    }

    /// A path from a record or a tree, which must be clean already: nothing in it is made sense of.
    pub(crate) fn exactly(text: &str) -> Option<Self> {
        let clean = Self::parse(text, &[]).ok()?;
        (!clean.is_root() && clean.as_str() == text).then_some(clean)
    }

    /// Reads a path as a model writes it. `roots` are the absolute names of the workspace folder.
    pub(crate) fn parse(written: &str, roots: &[&Path]) -> Result<Self, WorkspaceError> {
        let bad = |why| WorkspaceError::BadPath { path: clipped(written, limits::SHOWN_PATH_CHARS_MAX), why };
        if written.len() > limits::PATH_BYTES_MAX {
            return Err(bad("it is too long"));
        } else if written.contains('\0') {
            return Err(bad("it has a NUL character in it"));
        } else if written.starts_with('~') && matches!(written.as_bytes().get(1), None | Some(b'/')) {
            return Err(WorkspaceError::Outside { path: written.to_owned() });
        }
        let path = Path::new(written);
        let inside = if path.has_root() {
            let inside = roots.iter().find_map(|root| path.strip_prefix(root).ok());
            inside.ok_or_else(|| WorkspaceError::Outside { path: written.to_owned() })?
        } else {
            path
        };
        let mut parts = Vec::new();
        for component in inside.components() {
            match component {
                Component::CurDir => {}
                Component::Normal(part) => parts.push(part.to_string_lossy()),
                // `..` never leads above the workspace, not even to come back in.
                Component::ParentDir if parts.pop().is_some() => {}
                _ => return Err(WorkspaceError::Outside { path: written.to_owned() }),
            }
        }
        Ok(Self(parts.join("/")))
    }
}

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_paths_become_clean_ones_or_are_refused() {
        let roots = [Path::new("/link/to/project"), Path::new("/real/project")];
        let good = [
            ("a.rs", "a.rs"),
            ("./a.rs", "a.rs"),
            ("src//a.rs", "src/a.rs"),
            ("src/./a.rs", "src/a.rs"),
            ("src/../a.rs", "a.rs"),
            ("a/b/../../c", "c"),
            (".", "."),
            ("", "."),
            ("./", "."),
            ("src/", "src"),
            ("/real/project", "."),
            ("/real/project/a b.rs", "a b.rs"),
            ("/link/to/project/x/../y", "y"),
            ("...", "..."),
            ("~x", "~x"),
            ("a/~", "a/~"),
            ("ü/日本", "ü/日本"),
        ];
        let outside = [
            "..",
            "../a",
            "a/../../b",
            "/",
            "/etc/passwd",
            "/real",
            "/real/project2/a",
            "/real/project/../x",
            "~",
            "~/x",
            "/link/to",
            "//etc",
            "/real/project/a/../../b",
        ];
        for (written, clean) in good {
            let parsed = WorkspacePath::parse(written, &roots).map(|path| path.to_string());
            assert_eq!(parsed.ok().as_deref(), Some(clean), "{written}");
        }
        for written in outside {
            let refused = WorkspacePath::parse(written, &roots);
            assert!(matches!(refused, Err(WorkspaceError::Outside { .. })), "{written}");
        }
        for written in ["a\0b".to_owned(), "x".repeat(5000)] {
            let refused = WorkspacePath::parse(&written, &roots);
            assert!(matches!(refused, Err(WorkspaceError::BadPath { .. })), "{written}");
        }
    }
}
