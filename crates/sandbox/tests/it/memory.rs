//! Output of any size takes no more memory than what is kept of it (promise P3).

use std::time::Duration;

use posse_sandbox::{CapturedOutput, Command, CommandExit, Level, OutputLimits, SandboxProfile};

const GROWTH_BYTES_MAX: u64 = 64 * 1024 * 1024;

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

async fn flood(line: &str, deadline: Duration, confined: bool) -> (CommandExit, CapturedOutput) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::shell(line, folder.path(), deadline);
    command.confinement = confined.then(|| SandboxProfile::new(Level::Inspect, folder.path()));
    command.output = OutputLimits { head_bytes: 1000, tail_bytes: 1000 };
    let finished = posse_sandbox::run(command).await.unwrap();
    (finished.exit, finished.output)
}

#[tokio::test]
async fn floods_are_bounded_and_counted() {
    floods(false).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn confined_floods_are_bounded_and_counted() {
    floods(true).await;
}

async fn floods(confined: bool) {
    let before = resident_bytes();
    let long = Duration::from_secs(120);
    let (exit, yes) = flood("yes", Duration::from_secs(2), confined).await;
    assert_eq!(exit, CommandExit::DeadlineExceeded);
    assert_eq!((yes.head.as_slice(), yes.tail.len()), ("y\n".repeat(500).as_bytes(), 1000));
    assert!(yes.total_bytes > 1_000_000, "only {} bytes in two seconds", yes.total_bytes);

    let (exit, zeros) = flood("head -c 10G /dev/zero", long, confined).await;
    assert_eq!((exit, zeros.total_bytes), (CommandExit::Code(0), 10 << 30));
    assert_eq!(zeros.left_out_bytes(), (10 << 30) - 2000);

    let (exit, line) =
        flood("printf begin; head -c 1G /dev/zero | tr '\\0' x; printf end", long, confined).await;
    assert_eq!((exit, line.total_bytes), (CommandExit::Code(0), (1 << 30) + 8));
    assert!(line.head.starts_with(b"beginxxx") && line.tail.ends_with(b"xxxend"));

    let growth = resident_bytes() - before;
    assert!(growth < GROWTH_BYTES_MAX, "grew by {growth} bytes");
}
