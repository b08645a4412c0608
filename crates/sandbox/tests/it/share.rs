//! All commands of a session together keep to their share of the machine: as root, where the kernel holds them to it, and
//! as an ordinary user, where the watchdog does.

use std::{
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::Path,
    time::Duration,
};

use posse_sandbox::{Command, CommandExit, CommandHandle, CommandOutcome, Level, Share};

use crate::{again, confined_shell, said_lines};

const NOBODY: u32 = 65534;

/// Becomes another user if it can, and tries what `stands_in_for_a_session` does.
fn as_user(ordinary: bool, case: &str) -> Vec<String> {
    // On a disk: files in memory count as memory.
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    let program = folder.path().join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let value = format!("{case} {}", work.display());
    let mut process = again(&program, "share::stands_in_for_a_session", "POSSE_TEST_SHARE", &value);
    if ordinary && rustix::process::geteuid().is_root() {
        chown(&work, Some(NOBODY), Some(NOBODY)).unwrap();
        process.uid(NOBODY).gid(NOBODY).current_dir("/").env("HOME", "/nonexistent").env("TMPDIR", "/tmp");
        process.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    }
    said_lines(process)
}

#[test]
fn a_session_keeps_to_its_share() {
    let mut ran = 0;
    for ordinary in [false, true] {
        for case in
            ["memory", "folders", "nameless", "shared", "processes", "disk", "elsewhere", "room", "small"]
        {
            assert_eq!(
                as_user(ordinary, case),
                ["kept", "the other went on"],
                "{case}, ordinary: {ordinary}"
            );
            ran += 1;
        }
    }
    assert_eq!(ran, 18);
}

/// A program that takes memory in many processes, each of which alone takes little.
const HOG: &str =
    "for i in $(seq 40); do python3 -c 'x = bytearray(30_000_000); import time; time.sleep(6)' & done; wait";
/// The same in files.
const IN_FOLDERS: &str = "for place in /tmp /var/tmp /dev/shm; do for i in 1 2 3 4 5 6; do \
     head -c 30M /dev/zero > $place/$i; done; done; sleep 9";
const NAMELESS: &str = "python3 -c 'import os, time\nfor i in range(40):\n os.write(os.memfd_create(str(i)), bytes(30_000_000))\n\
     time.sleep(9)'";
/// Much that is shared by many is not much.
const SHARED: &str = "python3 -c 'import os, time\nx = bytearray(100_000_000)\nfor i in range(10):\n if os.fork() == 0: time.sleep(1.5); os._exit(0)\n\
     for i in range(10): os.wait()'";
const FORKS: &str = "python3 -c 'import os, time\nfor i in range(150):\n if os.fork() == 0: time.sleep(9); os._exit(0)\n\
     time.sleep(9)' 2>&1";
const DISK: &str = "for i in $(seq 40); do head -c 100M /dev/zero > big$i; done; sleep 9";
/// Room is taken by writing alone, so that it is known who took it.
const ROOM: &str = "fallocate -l 100M big; stat -c %b big; python3 -c 'import os\nwith open(\"big\", \"w\") as file: \
     os.posix_fallocate(file.fileno(), 0, 100_000); print(file.tell(), os.stat(\"big\").st_size)'";
/// Goes on until it is told that somebody else has taken room, and has been so for a while.
const ELSEWHERE: &str = "until test -e taken; do sleep 0.1; done; sleep 1";

async fn start(work: &Path, line: &str, share: Share) -> CommandHandle {
    let mut command: Command =
        confined_shell(Level::Full, work, line, |profile| profile.limits.session = share);
    command.deadline = Duration::from_secs(60);
    posse_sandbox::start(command).await.unwrap()
}

fn kept(case: &str, finished: &CommandOutcome) -> bool {
    let noted = |word: &str| finished.notes.iter().any(|note| note.contains(word));
    match case {
        "room" => text(finished).ends_with("supported\n0\n0 100000\n"),
        "small" | "shared" | "elsewhere" => {
            finished.exit == CommandExit::Code(0) && finished.notes.is_empty()
        }
        // In a cgroup the kernel ends what it chooses, or refuses a fork; else all of the command is ended.
        "memory" | "folders" => noted("memory"),
        "nameless" => noted("memory") && finished.exit != CommandExit::Code(0),
        "processes" => noted("processes") || text(finished).contains("os.fork()"),
        _ => noted("disk") && finished.exit == CommandExit::Signal(9),
    }
}

fn text(finished: &CommandOutcome) -> String {
    String::from_utf8_lossy(&finished.output.bytes()).into_owned()
}

/// One case; only of interest when started by the test above.
#[tokio::test]
async fn stands_in_for_a_session() {
    let Ok(value) = std::env::var("POSSE_TEST_SHARE") else { return };
    let (case, work) = value.split_once(' ').unwrap();
    let work = Path::new(work);
    let mut share = Share { memory_bytes: Some(400 << 20), processes: Some(200), disk_free_bytes: None };
    let line = match case {
        "memory" => HOG,
        "folders" => IN_FOLDERS,
        "nameless" => NAMELESS,
        "shared" => SHARED,
        "processes" => FORKS,
        "disk" => DISK,
        "room" => ROOM,
        "elsewhere" => ELSEWHERE,
        _ => "sleep 0.5; head -c 20M /dev/zero > /tmp/x; head -c 20M /dev/zero > x; sleep 0.5",
    };
    if let "disk" | "elsewhere" = case {
        let found = rustix::fs::statvfs(work).unwrap();
        share.disk_free_bytes = Some(found.f_bavail * found.f_frsize - (100 << 20));
    }
    // A command that was there before, with little of everything but, where it is about those, processes.
    let processes = if case == "processes" { 80 } else { 2 };
    let other = format!("for i in $(seq {processes}); do sleep 60 & done; touch began; wait");
    let other = start(work, &other, share).await;
    while !work.join("began").exists() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let begun = start(work, line, share).await;
    if case == "elsewhere" {
        std::fs::write(work.join("theirs"), vec![1; 150 << 20]).unwrap();
        std::fs::write(work.join("taken"), "").unwrap();
    }
    let finished = begun.wait().await;
    println!("SAID {}", if kept(case, &finished) { "kept".to_owned() } else { format!("{finished:?}") });
    match other.finished() {
        None => println!("SAID the other went on"),
        Some(ended) => println!("SAID {ended:?}"),
    }
    other.stop();
    other.wait().await;
}
