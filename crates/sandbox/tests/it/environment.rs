//! A child's environment holds what is on the list, what is set for it, and nothing else.

use std::{collections::BTreeMap, time::Duration};

use posse_sandbox::{Command, Program};

#[tokio::test]
async fn secrets_and_strangers_stay_out() {
    // Started again with a planted environment, because setting variables in a threaded process is not safe.
    let folder = tempfile::tempdir().unwrap();
    let planted = [
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GITHUB_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "DB_PASSWORD",
        "LC_TOKEN",
        "BASH_ENV",
        "LD_PRELOAD_NOT",
        "GIT_DIR",
        "PROMPT_COMMAND",
        "SSH_AUTH_SOCK",
        "MY_SETTING",
    ];
    let me = Program::at(&std::env::current_exe().unwrap(), &[]).unwrap();
    let again = ["--exact", "environment::prints_a_childs_environment", "--nocapture"];
    let mut command = Command::program(&me, again, folder.path(), Duration::from_secs(30));
    command.env = planted.iter().map(|name| ((*name).to_owned(), "planted-value".to_owned())).collect();
    command.env.push(("POSSE_TEST_PRINT".to_owned(), "1".to_owned()));
    command.env.push(("PATH".to_owned(), "/usr/bin:/bin".to_owned()));
    command.output.head_bytes = 1_000_000;
    let finished = posse_sandbox::run(command).await.unwrap();
    let output = String::from_utf8(finished.output.bytes()).unwrap();
    assert!(output.contains("PAGER=cat"), "{output}");
    assert!(!output.contains("planted-value"), "{output}");
}

/// Prints what a child of this process would see; only of interest when started by the test above.
#[tokio::test]
async fn prints_a_childs_environment() {
    if std::env::var_os("POSSE_TEST_PRINT").is_some() {
        let (_, text) = crate::said("env").await;
        println!("{text}");
    }
}

#[tokio::test]
async fn nobody_is_asked_and_nothing_is_paged() {
    let (_, text) = crate::said("env").await;
    let seen: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    let expected = [
        ("TERM", "dumb"),
        ("PAGER", "cat"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("DEBIAN_FRONTEND", "noninteractive"),
    ];
    for (name, value) in expected {
        assert_eq!(seen.get(name), Some(&value), "{name}");
    }
    assert!(seen.contains_key("PATH"));
}

#[tokio::test]
async fn given_variables_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::shell("echo $ADDED", folder.path(), Duration::from_secs(20));
    command.env.push(("ADDED".to_owned(), "yes".to_owned()));
    let finished = posse_sandbox::run(command).await.unwrap();
    assert_eq!(finished.output.bytes(), b"yes\n");
}

#[tokio::test]
async fn no_open_file_is_inherited() {
    use std::os::fd::AsRawFd as _;
    let file = std::fs::File::open("/dev/null").unwrap();
    // A copy made this way survives exec unless somebody sees to it.
    let leaked = rustix::io::fcntl_dupfd_cloexec(&file, 100).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let (_, text) = crate::said("ls /proc/self/fd").await;
    assert!(leaked.as_raw_fd() >= 100);
    assert!(!text.lines().any(|line| line == leaked.as_raw_fd().to_string()), "{text}");
}
