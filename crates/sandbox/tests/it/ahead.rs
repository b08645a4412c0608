//! The process that waits for the next command: it is there before the first one, and closes what is left to it.

use std::io::{Read as _, pipe};
use std::os::fd::OwnedFd;
use std::time::Duration;

use posse_sandbox::{CommandExit, Level, close_elsewhere, prepare_ahead};

use crate::confined_said;

#[tokio::test]
async fn what_is_left_to_it_is_closed_without_us_and_commands_run_as_before() {
    let folder = tempfile::tempdir().unwrap();
    let (mut reader, writer) = pipe().unwrap();
    prepare_ahead();
    let mut left = OwnedFd::from(writer);
    // Until it has been started.
    while let Err(back) = close_elsewhere(left) {
        left = back;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // It ends when the last holder of the other end has closed it.
    let read = tokio::task::spawn_blocking(move || reader.read_to_end(&mut Vec::new()));
    assert_eq!(read.await.unwrap().unwrap(), 0);
    let said = confined_said(Level::Full, folder.path(), "echo here", |_| {}).await;
    assert_eq!(said, (CommandExit::Code(0), "here\n".to_owned()));
}

#[test]
fn where_no_process_waits_it_comes_back() {
    let (_reader, writer) = pipe().unwrap();
    assert!(close_elsewhere(OwnedFd::from(writer)).is_err());
}
