//! References of a repository move together: what several ask for at the same time is one call of git. Nothing here decides
//! where a reference goes.

use std::sync::{Mutex, PoisonError};

use tokio::sync::{Mutex as Turn, oneshot};

use crate::{WorkspaceError, git::call::going_on, locks::Locks, repository::Repository};

/// What waits for each repository.
static MOVES: Locks<Moves> = Locks::new();

#[derive(Default)]
struct Moves {
    waiting: Mutex<Vec<Asked>>,
    /// One at a time has git move references.
    turn: Turn<()>,
}

/// What somebody asked for.
struct Asked {
    lines: String,
    told: oneshot::Sender<Result<(), WorkspaceError>>,
}

impl Repository {
    /// Moves references, given as lines for `update-ref --stdin`: all of these or none, whatever others ask for. It goes on
    /// even if nobody waits for it any more: git leaves locks behind when it is killed.
    pub(crate) async fn move_references(&self, lines: String) -> Result<(), WorkspaceError> {
        let moves = MOVES.of(&self.common);
        let (told, result) = oneshot::channel();
        moves.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(Asked { lines, told });
        let turn = moves.turn.lock().await;
        let going = going_on().await;
        let asked = std::mem::take(&mut *moves.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if !asked.is_empty() {
            let repository = self.clone();
            let running = tokio::spawn(async move {
                let _going = going;
                repository.move_all(asked).await;
            });
            let _ = running.await;
        }
        drop(turn);
        result.await.map_err(|_| WorkspaceError::Stopped)?
    }

    /// All in one go; each by itself if that fails, so that one that cannot be done spoils no other.
    async fn move_all(&self, mut asked: Vec<Asked>) {
        asked.retain(|asked| !asked.told.is_closed());
        let lines: String = asked.iter().map(|asked| asked.lines.as_str()).collect();
        if asked.len() > 1 && self.move_now(lines).await.is_ok() {
            asked.into_iter().for_each(|asked| drop(asked.told.send(Ok(()))));
            return;
        }
        for Asked { lines, told } in asked {
            let _ = told.send(self.move_now(lines).await);
        }
    }

    async fn move_now(&self, lines: String) -> Result<(), WorkspaceError> {
        self.writing().stdin(lines.into_bytes()).text(&["update-ref", "--stdin"]).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git;

    #[tokio::test]
    async fn one_that_cannot_be_moved_spoils_no_other() {
        let folder = tempfile::tempdir().unwrap();
        git::init(folder.path()).await.unwrap();
        git::commit_all(folder.path(), "first").await.unwrap();
        let repository = Repository::of(folder.path()).await.unwrap();
        let commit = repository.commit_of("HEAD").await.unwrap().unwrap();
        let asked: Vec<_> = (0..24)
            .map(|n| {
                // Every sixth says that something was there before, and is to do nothing.
                let before = if n % 6 == 5 { format!(" {commit}") } else { String::new() };
                let lines =
                    format!("update refs/posse/a/{n} {commit}\nupdate refs/posse/b/{n} {commit}{before}\n");
                let repository = repository.clone();
                tokio::spawn(async move { repository.move_references(lines).await.is_ok() })
            })
            .collect();
        let mut moved = Vec::new();
        for asked in asked {
            moved.push(asked.await.unwrap());
        }
        assert_eq!(moved, (0..24).map(|n| n % 6 != 5).collect::<Vec<_>>());
        let listed =
            repository.git().text(&["for-each-ref", "--format=%(refname)", "refs/posse/"]).await.unwrap();
        let expected: Vec<_> = (0..24)
            .filter(|n| n % 6 != 5)
            .flat_map(|n| [format!("refs/posse/a/{n}"), format!("refs/posse/b/{n}")])
            .collect();
        let mut listed: Vec<_> = listed.lines().map(str::to_owned).collect();
        listed.sort();
        let mut sorted = expected;
        sorted.sort();
        assert_eq!(listed, sorted);
        assert_eq!(listed.len(), 40);
    }
}
