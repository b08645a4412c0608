//! Puts back what a command wrote although other programs act on it by themselves. Its guards refuse that; this is for
//! what got past them.

use std::path::Path;

use posse_protocol::Change;

use super::History;
use crate::changes::found::{Found, Refused};

impl History {
    /// Takes it out of what the command changed.
    pub(super) async fn put_back(&self, found: &mut Found) {
        // Before anything is put back: a repository is one by what it has beside it.
        let (mut refused, mut programs) = (Vec::new(), Vec::new());
        let own = std::mem::take(&mut found.own);
        let acted_on = self.0.workspace.acted_on(own.iter().map(|change| Path::new(&change.path)));
        for (change, program) in own.into_iter().zip(acted_on) {
            match program {
                Some(program) => {
                    refused.push(change);
                    programs.push(program);
                }
                None => found.own.push(change),
            }
        }
        if refused.is_empty() {
            return;
        }
        let undone = self.undone(&refused).await;
        let left = |path: &str| {
            undone.as_ref().is_none_or(|undone| undone.conflicts.iter().any(|one| one.path == path))
        };
        for (change, program) in refused.into_iter().zip(programs) {
            let put_back = !left(&change.path);
            if !put_back {
                found.own.push(change.clone());
            }
            found.refused.push(Refused { path: change.path, program, put_back });
        }
    }

    async fn undone(&self, changes: &[Change]) -> Option<posse_workspace::Undone> {
        let checkpoints = self.checkpoints().await?;
        checkpoints.undo(changes).await.inspect_err(|error| self.could_not(error)).ok()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use posse_protocol::Approval;
    use posse_sandbox::{Came, Touched};
    use posse_tools::LinkedFolders;
    use posse_workspace::Workspace;

    use super::History;

    /// What stands for a command that has got past its guards: a folder with these files, and what it does there.
    async fn after(
        mode: Approval,
        files: &[(&str, &str)],
        does: impl FnOnce(&std::path::Path),
    ) -> (Vec<String>, tempfile::TempDir) {
        let outer = tempfile::tempdir().unwrap();
        let root = outer.path().join("w");
        for (path, text) in files {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        let workspace = Workspace::open(&root).unwrap();
        // As whoever makes a command ready does.
        workspace.protected_places();
        let history = History::recorded(
            outer.path().join("kept"),
            workspace,
            std::sync::Arc::new(|_| ()),
            LinkedFolders::default(),
        );
        let running = history.begin_command(mode).await;
        does(&root);
        let moved = [(root.clone(), Came::Outside)].into();
        let touched = Touched { moved, complete: true, ..Touched::default() };
        let found = history.end_command(running, &touched).await;
        let told =
            found.refused.iter().map(|refused| format!("{} {}", refused.path, refused.put_back)).collect();
        (told, outer)
    }

    fn put(root: &std::path::Path, path: &str) {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), "evil").unwrap();
    }

    #[tokio::test]
    async fn all_that_others_act_on_is_put_back() {
        let config = "[core]\n\thooksPath = scripts/hooks\n[include]\n\tpath = ../extra.inc\n";
        let files = [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", config),
            ("app/.npmrc", "mine"),
            ("a", "a"),
        ];
        let does = |root: &std::path::Path| {
            ["app/.zed/tasks.json", "scripts/hooks/pre-commit", "extra.inc", "app/.npmrc"]
                .iter()
                .for_each(|path| put(root, path));
            ["b/HEAD", "b/refs/x", "b/objects/x", "b/config"].iter().for_each(|path| put(root, path));
            ["plain", "s/config.toml", ".git/ORIG_HEAD"].iter().for_each(|path| put(root, path));
            symlink("s", root.join(".cargo")).unwrap();
        };
        let (told, outer) = after(Approval::Auto, &files, does).await;
        let expected = [
            ".cargo",
            "app/.npmrc",
            "app/.zed/tasks.json",
            "b/HEAD",
            "b/config",
            "b/objects/x",
            "b/refs/x",
            "extra.inc",
            "scripts/hooks/pre-commit",
        ];
        assert_eq!(told, expected.map(|path| format!("{path} true")));
        let at = |path: &str| outer.path().join("w").join(path);
        assert!(expected.iter().all(|path| *path == "app/.npmrc" || at(path).symlink_metadata().is_err()));
        assert_eq!(fs::read_to_string(at("app/.npmrc")).unwrap(), "mine");
        assert!(["plain", "s/config.toml", ".git/ORIG_HEAD"].iter().all(|path| at(path).exists()));
        // In mode full nobody asks for it.
        let (told, outer) = after(Approval::Full, &files, does).await;
        assert!(told.is_empty() && outer.path().join("w/app/.zed/tasks.json").exists());
    }
}
