//! Nothing survives a confined command, however it forks away and however it ends (promise P1).

use std::{
    io::BufRead,
    path::{Path, PathBuf},
    time::Duration,
};

use posse_sandbox::{CommandExit, CommandHandle, Level};

use crate::{again, confined_shell, names_in};

/// Ways to leave somebody behind. `SLEEP` is a sleep of a length that nobody else asks for.
const LEAVERS: [&str; 20] = [
    "SLEEP &",
    "SLEEP >/dev/null 2>&1 &",
    "nohup SLEEP >/dev/null 2>&1 &",
    "setsid SLEEP &",
    "setsid nohup SLEEP >/dev/null 2>&1 </dev/null &",
    "(SLEEP &) &",
    "(setsid SLEEP &) &",
    "((((SLEEP &) &) &) &)",
    "trap '' TERM; SLEEP &",
    "trap '' TERM HUP INT; setsid SLEEP &",
    "set -m; SLEEP & disown",
    "timeout 60 SLEEP &",
    "sh -c 'SLEEP & SLEEP & wait' &",
    "python3 -c 'import os\nif os.fork() == 0:\n os.setsid()\n if os.fork() == 0: os.execlp(\"sleep\", *\"SLEEP\".split())' &",
    "python3 -c 'import os,signal\nsignal.signal(15, 1)\nos.setpgid(0, 0)\nos.execlp(\"sleep\", *\"SLEEP\".split())' &",
    "perl -e 'fork and exit; fork and exit; exec \"SLEEP\"'",
    "setsid setsid setsid SLEEP &",
    "env -i setsid SLEEP &",
    "bash -c 'exec -a [kworker] SLEEP' &",
    "(trap '' TERM; while :; do SLEEP; done) &",
];

fn line_of(index: usize, mark: &str, stays: bool) -> String {
    let sleep = format!("sleep 61.{mark}{index:02}");
    let end = if stays { "; sleep 60; sleep 60" } else { "; sleep 0.3" };
    format!("{}\n{}", LEAVERS[index].replace("SLEEP", &sleep), end.trim_start_matches("; "))
}

/// Those of the twenty whose process is there.
fn there(mark: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let is_sleep = words.split(|byte| *byte == 0).count() == 3;
        let text = String::from_utf8_lossy(&words).into_owned();
        if let (true, Some(at)) = (is_sleep, text.find(&format!("61.{mark}"))) {
            let start = at + 3 + mark.len();
            found.extend(text.get(start..start + 2).and_then(|index| index.parse::<usize>().ok()));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

async fn until(mark: &str, expected: usize, patience_ms: u64) -> usize {
    for _ in 0..patience_ms / 20 {
        if there(mark).len() == expected {
            return expected;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    there(mark).len()
}

fn folders(around: &Path) -> Vec<PathBuf> {
    let folders: Vec<PathBuf> = (0..LEAVERS.len()).map(|index| around.join(index.to_string())).collect();
    folders.iter().for_each(|folder| std::fs::create_dir_all(folder).unwrap());
    folders
}

async fn start_all(around: &Path, mark: &str, stays: bool, deadline: Duration) -> Vec<CommandHandle> {
    let mut jobs = Vec::new();
    for (index, folder) in folders(around).iter().enumerate() {
        let mut command = confined_shell(Level::Full, folder, &line_of(index, mark, stays), |_| {});
        command.deadline = deadline;
        jobs.push(posse_sandbox::start(command).await.unwrap());
    }
    jobs
}

/// No process and no placeholder.
async fn nothing_is_left(around: &Path, mark: &str) {
    assert_eq!(until(mark, 0, 2_000).await, 0, "left: {:?}", there(mark));
    for _ in 0..100 {
        if folders(around).iter().all(|folder| names_in(folder).is_empty()) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("placeholders are left in {}", around.display());
}

/// A mark for one way of ending, unlike that of other runs of these tests.
fn mark(way: u32) -> String {
    format!("{way}{}", std::process::id())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_its_exit() {
    let around = tempfile::tempdir().unwrap();
    let jobs = start_all(around.path(), &mark(1), false, Duration::from_secs(60)).await;
    let mut ended = 0;
    for job in jobs {
        assert_eq!(job.wait().await.exit, CommandExit::Code(0));
        ended += 1;
    }
    assert_eq!(ended, 20);
    nothing_is_left(around.path(), &mark(1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_being_dropped() {
    let around = tempfile::tempdir().unwrap();
    let jobs = start_all(around.path(), &mark(2), true, Duration::from_secs(60)).await;
    assert_eq!(until(&mark(2), 20, 10_000).await, 20);
    drop(jobs);
    nothing_is_left(around.path(), &mark(2)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_survives_a_deadline() {
    let around = tempfile::tempdir().unwrap();
    let jobs = start_all(around.path(), &mark(3), true, Duration::from_secs(10)).await;
    assert_eq!(until(&mark(3), 20, 9_000).await, 20);
    let mut late = 0;
    for job in jobs {
        assert_eq!(job.wait().await.exit, CommandExit::DeadlineExceeded);
        late += 1;
    }
    assert_eq!(late, 20);
    nothing_is_left(around.path(), &mark(3)).await;
}

#[tokio::test]
async fn nothing_survives_the_end_of_the_program() {
    let mut checked = 0;
    for (way, signal) in [(4, "-TERM"), (5, "-KILL")] {
        let around = tempfile::tempdir().unwrap();
        let value = format!("{} {}", mark(way), around.path().display());
        let me = std::env::current_exe().unwrap();
        let mut process = again(&me, "endings::stands_in_for_a_program", "POSSE_TEST_PROGRAM", &value);
        let mut program = process.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut lines = std::io::BufReader::new(program.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("SAID ready")), "the program did not get ready");
        assert_eq!(until(&mark(way), 20, 10_000).await, 20, "{signal}");
        let killed = std::process::Command::new("kill").args([signal, &program.id().to_string()]).status();
        assert!(killed.unwrap().success());
        program.wait().unwrap();
        nothing_is_left(around.path(), &mark(way)).await;
        checked += 20;
    }
    assert_eq!(checked, 40);
}

/// Runs all twenty and waits to be killed; only of interest when started by the test above.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stands_in_for_a_program() {
    let Ok(value) = std::env::var("POSSE_TEST_PROGRAM") else { return };
    let (mark, around) = value.split_once(' ').unwrap();
    let _jobs = start_all(Path::new(around), mark, true, Duration::from_secs(60)).await;
    println!("SAID ready");
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test]
async fn a_killed_supervisor_takes_everything_along_and_the_next_one_cleans_up() {
    let folder = tempfile::tempdir().unwrap();
    let line = line_of(9, &mark(6), true);
    let job = posse_sandbox::start(confined_shell(Level::Full, folder.path(), &line, |_| {})).await.unwrap();
    assert_eq!(until(&mark(6), 1, 5_000).await, 1);
    let me = std::process::id().to_string();
    let children = std::fs::read_dir(format!("/proc/{me}/task")).unwrap().flatten();
    let children = children.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let children = children.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let is_ours = |pid: &String| {
        let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.starts_with(b"posse-confine")
    };
    let supervisors: Vec<String> = children.filter(is_ours).collect();
    // Other tests of this program may have supervisors too, unless each test has a process of its own.
    if let [supervisor] = supervisors.as_slice() {
        assert!(std::process::Command::new("kill").args(["-KILL", supervisor]).status().unwrap().success());
    } else {
        job.stop();
    }
    assert!(matches!(job.wait().await.exit, CommandExit::Signal(_)));
    assert_eq!(until(&mark(6), 0, 2_000).await, 0);
    posse_sandbox::run(confined_shell(Level::Full, folder.path(), "true", |_| {})).await.unwrap();
    assert_eq!(names_in(folder.path()), Vec::<String>::new());
}
