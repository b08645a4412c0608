//! Commands that wait, ask, ignore or hold on all come back (promise P2).

use std::time::{Duration, Instant};

use posse_sandbox::Level;

use crate::{confined_shell, shell};

const DEADLINE_MS: u64 = 1_000;
/// As many as a small machine can start without delays of its own.
const AT_ONCE: usize = 10;
const GRACE_MS: u64 = 1_000;

/// Each would wait for ever, or for much longer than its deadline, in front of a person.
const LINES: [&str; 40] = [
    // Input that never comes.
    "cat",
    "cat -",
    "read answer",
    "head -n 1",
    "sort",
    "wc -l",
    "sh",
    "bash -i",
    "python3",
    "python3 -i -c ''",
    "python3 -c 'input(\"name? \")'",
    "perl",
    "perl -e 'my $x = <STDIN>'",
    "perl -de 1",
    // Questions to the terminal itself.
    "cat /dev/tty",
    "read answer < /dev/tty",
    "python3 -c 'import getpass; getpass.getpass()'",
    "su nobody -c true",
    "passwd",
    "git commit --allow-empty",
    "git init -q . && git -c user.name=a -c user.email=a@b commit --allow-empty",
    "git clone -q https://127.0.0.1:9/private.git x",
    "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && git rebase -i --root",
    "more /etc/passwd; yes | more",
    // Waiting by itself.
    "sleep 60",
    "tail -f /etc/passwd",
    "while :; do :; done",
    "mkfifo f && cat f",
    "mkfifo f && echo x > f",
    "cat /dev/zero > /dev/null",
    "kill -STOP $$",
    "python3 -c 'import signal; signal.pause()'",
    // Not willing to go.
    "trap '' TERM INT HUP; sleep 60; sleep 60",
    "trap '' TERM; while :; do :; done",
    "python3 -c 'import signal,time; signal.signal(15, signal.SIG_IGN); time.sleep(60)'",
    // Leaving somebody behind who holds the output open.
    "sleep 10 & echo started",
    "nohup sleep 10 & echo started",
    "setsid sleep 10 & echo started",
    "(setsid sleep 10 & ) ; sleep 60",
    "perl -e 'fork and exit; fork and exit; sleep 10'",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_comes_back_by_its_deadline() {
    assert_eq!(all_in_time(false).await, (40, vec![]));
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_confined_comes_back_by_its_deadline() {
    assert_eq!(all_in_time(true).await, (40, vec![]));
}

/// How many ran, and those that came back late.
async fn all_in_time(confined: bool) -> (usize, Vec<(&'static str, Duration)>) {
    let mut ran = 0;
    let mut late = Vec::new();
    for lines in LINES.chunks(AT_ONCE) {
        let runs: Vec<_> = lines.iter().map(|line| tokio::spawn(timed(line, confined))).collect();
        for run in runs {
            let (line, took) = run.await.unwrap();
            if took > Duration::from_millis(DEADLINE_MS + GRACE_MS) {
                late.push((line, took));
            }
            ran += 1;
        }
    }
    (ran, late)
}

async fn timed(line: &'static str, confined: bool) -> (&'static str, Duration) {
    let began = Instant::now();
    if confined {
        let folder = tempfile::tempdir().unwrap();
        let mut command = confined_shell(Level::Full, folder.path(), line, |_| {});
        command.deadline = Duration::from_millis(DEADLINE_MS);
        posse_sandbox::run(command).await.unwrap();
    } else {
        shell(line, DEADLINE_MS).await;
    }
    (line, began.elapsed())
}
