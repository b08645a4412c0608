//! A command in the background: seen while it runs, stopped, waited for by several, ended with its last owner.

use std::time::Duration;

use posse_sandbox::{Command, CommandExit, Level, SandboxProfile};

use crate::{alive, gone, number_in};

async fn eventually(what: impl Fn() -> bool) {
    for _ in 0..500 {
        if what() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it did not come about");
}

#[tokio::test]
async fn a_job_is_seen_stopped_and_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let levels = if cfg!(target_os = "linux") { vec![None, Some(Level::Full)] } else { vec![None] };
    for level in levels {
        let line = "trap 'echo cleaned; exit 3' TERM; echo begun; while :; do sleep 0.01; done";
        let mut command = Command::shell(line, folder.path(), Duration::from_secs(60));
        command.confinement = level.map(|level| SandboxProfile::new(level, folder.path()));
        let job = posse_sandbox::start(command).await.unwrap();
        eventually(|| job.output().bytes() == b"begun\n").await;
        assert_eq!(job.finished(), None);
        let (copy, other) = (job.clone(), job.clone());
        let waiting = tokio::spawn(async move { copy.wait().await });
        other.stop();
        let finished = job.wait().await;
        assert_eq!(finished.exit, CommandExit::Code(3), "{level:?}");
        // Between the two the shell may tell of the sleep that was ended too.
        let text = String::from_utf8(finished.output.bytes()).unwrap();
        assert!(text.starts_with("begun\n") && text.ends_with("cleaned\n"), "{level:?}: {text}");
        assert_eq!(waiting.await.unwrap(), finished);
        assert_eq!(job.wait().await, finished);
        assert_eq!(job.finished(), Some(finished));
    }
}

#[tokio::test]
async fn a_job_ends_with_its_last_owner() {
    let folder = tempfile::tempdir().unwrap();
    let command = Command::shell("echo $$ > pid; sleep 60; true", folder.path(), Duration::from_secs(60));
    let job = posse_sandbox::start(command).await.unwrap();
    let copy = job.clone();
    let pid = number_in(&folder.path().join("pid")).await;
    drop(job);
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(alive(pid));
    drop(copy);
    gone(pid).await;
}
