//! Programs that somebody talks with while they run, and that have a home which is kept.

use std::{fs, path::Path, time::Duration};

use posse_sandbox::{
    Command, CommandExit, Level, OutputLimits, SandboxProfile, TalkStreams, What, start_talking,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

fn named(workspace: &Path, home: &Path, name: &str, arguments: &[&str]) -> Command {
    let mut profile = SandboxProfile::new(Level::Inspect, workspace);
    profile.home = Some(home.to_owned());
    profile.hidden = vec![home.parent().unwrap().to_owned()];
    Command {
        what: What::Named(name.to_owned(), arguments.iter().map(|&word| word.to_owned()).collect()),
        cwd: workspace.to_owned(),
        env: vec![("GREETING".to_owned(), "hello".to_owned())],
        deadline: Duration::from_secs(60),
        output: OutputLimits::default(),
        stdin: None,
        confinement: Some(profile),
        distrusted: Vec::new(),
    }
}

/// Lines go in and come out while it runs; its errors are kept apart; it ends with its input.
#[tokio::test]
async fn a_program_is_talked_with() {
    let (folder, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = private.path().join("home");
    fs::create_dir(&home).unwrap();
    let script = r#"echo "to the log" >&2; while read -r line; do echo "$GREETING $line $1"; done; exit 7"#;
    let command = named(folder.path(), &home, "bash", &["-c", script, "me", "a b; $(touch x)"]);
    let (handle, TalkStreams { mut input, output }) = start_talking(command).await.unwrap();
    let mut lines = BufReader::new(output).lines();
    for word in ["one", "two"] {
        input.write_all(format!("{word}\n").as_bytes()).await.unwrap();
        let said = lines.next_line().await.unwrap().unwrap();
        assert_eq!(said, format!("hello {word} a b; $(touch x)"), "no shell reads its arguments");
    }
    drop(input);
    let finished = handle.wait().await;
    assert_eq!((finished.exit, finished.output.bytes()), (CommandExit::Code(7), Vec::new()));
    assert_eq!(handle.stderr().bytes(), b"to the log\n");
}

/// Its home is where it says, can be written, and is there the next time; nothing else of the same place is seen.
#[tokio::test]
async fn a_home_is_kept() {
    let (folder, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = private.path().canonicalize().unwrap().join("home");
    fs::create_dir(&home).unwrap();
    fs::write(private.path().join("secret"), "x").unwrap();
    let script = r#"cd && pwd; cat kept 2>/dev/null; echo before > kept; ls -A ..; touch ../evil "$1/evil" 2>/dev/null"#;
    for earlier in ["", "before\n"] {
        let workspace = folder.path().to_str().unwrap();
        let command = named(folder.path(), &home, "sh", &["-c", script, "me", workspace]);
        let finished = posse_sandbox::run(command).await.unwrap();
        let said = String::from_utf8(finished.output.bytes()).unwrap();
        assert_eq!(said, format!("{}\n{earlier}home\n", home.display()));
    }
    assert_eq!(fs::read_to_string(home.join("kept")).unwrap(), "before\n");
    assert!(!private.path().join("evil").exists() && !folder.path().join("evil").exists());
}

/// A program that is not there is told by its name, and one that is given up is ended.
#[tokio::test]
async fn what_is_missing_or_given_up() {
    let (folder, private) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let home = private.path().canonicalize().unwrap().join("home");
    fs::create_dir(&home).unwrap();
    let (handle, _streams) = start_talking(named(folder.path(), &home, "no-such-server", &[])).await.unwrap();
    let finished = handle.wait().await;
    let said = String::from_utf8(finished.stderr.bytes()).unwrap();
    assert_eq!(finished.exit, CommandExit::Code(127));
    assert!(
        said.contains("no-such-server: not found") || said.contains("no-such-server: command not found"),
        "{said}"
    );
    let (handle, streams) =
        start_talking(named(folder.path(), &home, "sh", &["-c", "echo on; sleep 600"])).await.unwrap();
    let mut lines = BufReader::new(streams.output).lines();
    assert_eq!(lines.next_line().await.unwrap().as_deref(), Some("on"));
    drop(handle);
    assert_eq!(lines.next_line().await.unwrap(), None, "everything that could write is gone");
}
