//! Workers behind a program, which stands for ssh here: what it is called with, its end, and its start again.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use posse_cluster::{HomeCourier, HomeNews, PipeHome, Preface, SshStart, SshState, SshWorker, ssh_arguments};
use posse_sandbox::Program;

use crate::fixture::{home_message, shelves, soon};

fn shell(folder: &Path, script: &str) -> SshStart {
    SshStart {
        name: "far".parse().unwrap(),
        program: Program::at(Path::new("/bin/sh"), &[]).unwrap(),
        arguments: vec!["-c".into(), script.into()],
        variables: vec![("WORD".to_owned(), "given".to_owned())],
        folder: folder.to_owned(),
        preface: Preface::default(),
    }
}

/// What a worker says first: its magic, its name, and a message.
const HELLO: &str = r"printf '\0posse pipe 1\n\0\0\0\4\1far\0\0\0\6\2hello'";

#[tokio::test]
async fn a_worker_that_ends_is_started_again() {
    let folder = tempfile::tempdir().unwrap();
    let home = Arc::new(PipeHome::new(shelves(&folder.path().join("shelves"))));
    let mut news = home.follow().await.unwrap();
    let script = format!("echo noise of a login; {HELLO}; echo \"bad $WORD $$\" >&2; exit 3");
    let worker = SshWorker::start(Arc::clone(&home), shell(folder.path(), &script));
    let mut state = worker.state();
    let mut whys = HashSet::new();
    for _ in 0..2 {
        assert_eq!(home_message(&mut news).await, "hello");
        assert_eq!(soon("the end", news.recv()).await, Some(HomeNews::WorkerGone("far".parse().unwrap())));
        let is_new_end =
            |state: &SshState| matches!(state, SshState::Ended { why, .. } if !whys.contains(why));
        let ended = soon("its end", state.wait_for(is_new_end)).await.unwrap().clone();
        let SshState::Ended { why, again_ms } = ended else { panic!("{ended:?}") };
        assert!(why.contains("closed the pipe; it said: bad given "), "{why}");
        assert!((250..=30_000).contains(&again_ms), "{again_ms}");
        whys.insert(why);
    }
    assert_eq!(whys.len(), 2, "two processes: {whys:?}");
}

#[tokio::test]
async fn a_worker_that_is_dropped_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let home = Arc::new(PipeHome::new(shelves(&folder.path().join("shelves"))));
    let mut news = home.follow().await.unwrap();
    let mark = format!("mark-{}", fastrand::u64(..));
    let script = format!("{HELLO}; : {mark}; cat >/dev/null");
    let worker = SshWorker::start(Arc::clone(&home), shell(folder.path(), &script));
    assert_eq!(home_message(&mut news).await, "hello");
    assert!(!posse_testkit::processes_with(&mark).is_empty());
    drop(worker);
    soon("no process", async {
        while !posse_testkit::processes_with(&mark).is_empty() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_program_that_is_not_there_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let home = Arc::new(PipeHome::new(shelves(&folder.path().join("shelves"))));
    let mut start = shell(folder.path(), "");
    start.folder = folder.path().join("missing");
    let worker = SshWorker::start(home, start);
    let mut state = worker.state();
    let ended = soon("its end", state.wait_for(|state| matches!(state, SshState::Ended { .. }))).await;
    let ended = format!("{:?}", *ended.unwrap());
    assert!(ended.contains("is not there"), "{ended}");
}

#[test]
fn the_far_shell_reads_each_word_as_one() {
    let remote = ["posse", "worker", "--stdio", "--labels", "a b", "it's", ""].map(str::to_owned);
    let arguments = ssh_arguments("me@host", &["-p".into(), "2222".into()], &remote);
    let arguments: Vec<String> = arguments.into_iter().map(|word| word.into_string().unwrap()).collect();
    assert_eq!(
        arguments[arguments.len() - 5..],
        [
            "-p",
            "2222",
            "--",
            "me@host",
            r#"PATH="$PATH:$HOME/.local/bin" posse worker --stdio --labels 'a b' 'it'\''s' ''"#
        ]
    );
    assert!(arguments.contains(&"BatchMode=yes".to_owned()));
}
