//! Tests of the workspace with real files, links and repositories.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod baseline;
mod escape;
mod files;
mod git;
mod search;
mod text;

use std::{
    fs,
    path::{Path, PathBuf},
};

use posse_workspace::{Workspace, WorkspacePath};

/// A workspace in a folder of its own, with something outside that must stay as it is.
struct Fixture {
    outer: tempfile::TempDir,
    workspace: Workspace,
}

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("project");
        fs::create_dir(&root).unwrap();
        fs::write(outer.path().join("secret"), "secret").unwrap();
        let fixture = Self { workspace: Workspace::open(&root).unwrap(), outer };
        files.iter().for_each(|(path, content)| fixture.put(path, content));
        fixture
    }

    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn at(&self, path: &str) -> PathBuf {
        self.outer.path().join("project").join(path)
    }

    fn outside(&self) -> &Path {
        self.outer.path()
    }

    fn path(&self, written: &str) -> WorkspacePath {
        self.workspace.resolve(written).unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }
}
