//! Tests of the workspace with real files, links and repositories.
#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

mod bundle;
mod cached;
mod checkpoint;
mod complete;
mod escape;
mod files;
mod git;
mod guard;
mod hostile;
mod kept;
mod leads;
mod look;
mod parallel;
mod search;
mod text;
mod undo;
mod undo_any;
mod worktree;

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use posse_workspace::{Checkpoints, Workspace, WorkspacePath};

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

    /// Runs a line of shell in the workspace, with plain git.
    async fn run(&self, line: &str) -> String {
        shell(&self.at("."), line).await
    }

    async fn checkpoints(&self) -> Checkpoints {
        Checkpoints::open(&self.outer.path().join("data"), &self.workspace).await.unwrap()
    }

    fn text(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }
}

/// Runs a line of shell that must succeed, and says what it wrote.
async fn shell(folder: &Path, line: &str) -> String {
    let line = format!("export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_TEST_FSYNC=0; {line}");
    let command = posse_sandbox::Command::shell(&line, folder, std::time::Duration::from_secs(60));
    let finished = posse_sandbox::run(command).await.unwrap();
    let text = String::from_utf8_lossy(&finished.output.bytes()).into_owned();
    assert_eq!(finished.exit, posse_sandbox::CommandExit::Code(0), "{line}: {text}");
    text
}

/// Makes a repository of what is there, with one commit.
const REPOSITORY: &str =
    "git init -q -b main . && git add -A && git -c user.name=a -c user.email=a@b commit -qm first";

/// Everything in a folder but `.git`: path, kind and content.
fn contents(root: &Path) -> BTreeMap<String, (String, Vec<u8>)> {
    fn visit(root: &Path, folder: &Path, into: &mut BTreeMap<String, (String, Vec<u8>)>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            } else if metadata.is_dir() {
                into.insert(format!("{name}/"), ("folder".to_owned(), Vec::new()));
                visit(root, &path, into);
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
                into.insert(name, ("link".to_owned(), target));
            } else {
                let kind = if metadata.permissions().mode() & 0o100 != 0 { "program" } else { "file" };
                into.insert(name, (kind.to_owned(), fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(root, root, &mut found);
    found
}
