//! Programs that run beside what the person looks at: this program once more, and the person's own.

use std::ffi::OsString;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use posse_sandbox::{
    CommandExit, DetachedErrors, DetachedInput, DetachedSelf, DetachedStart, OutputLimits, PersonCommand,
    PersonProgram, own_program, person_program,
};

use crate::{alive, gone};

const LONG: Duration = Duration::from_secs(60);
/// More than any pipe holds.
const MUCH_BYTES: usize = 3_000_000;

fn words(line: &str) -> Vec<OsString> {
    line.split(' ').map(OsString::from).collect()
}

fn line(line: &str, folder: &Path) -> PersonProgram {
    PersonProgram {
        command: PersonCommand::Shell(line.to_owned()),
        folder: folder.to_owned(),
        variables: Vec::new(),
        distrusted: Vec::new(),
        input: Vec::new(),
        deadline: LONG,
        output: OutputLimits::default(),
    }
}

/// Started once more by the tests below.
#[test]
fn a_child_reads_its_input_to_the_end() {
    let mut input = Vec::new();
    // Without a program that writes, there is nothing.
    let bytes = std::io::stdin().read_to_end(&mut input).unwrap();
    println!("HEARD {bytes}");
    assert!(input.iter().all(|byte| *byte == b'x'));
}

#[test]
fn this_program_runs_once_more_with_other_arguments_and_much_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let much = "x".repeat(MUCH_BYTES);
    let child = words("--exact aside::a_child_reads_its_input_to_the_end --nocapture");
    let own = |arguments: &[OsString], input: &str, limits| {
        own_program(arguments, folder.path(), input, LONG, limits).unwrap()
    };
    let ran = own(&child, &much, OutputLimits::default());
    assert_eq!((ran.code, ran.late), (Some(0), false), "{ran:?}");
    assert!(ran.stdout.contains(&format!("HEARD {MUCH_BYTES}\n")), "{ran:?}");
    // One that ends before it has read anything.
    let ran = own(&words("--no-such-flag"), &much, OutputLimits::default());
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(101), ""), "{ran:?}");
    assert!(ran.stderr.contains("no-such-flag"), "{ran:?}");
    let cut = own(&words("--list"), "", OutputLimits { head_bytes: 10, tail_bytes: 10 });
    assert!(cut.stdout.contains(" bytes are left out …\n") && cut.stdout.len() < 80, "{cut:?}");
}

#[test]
fn a_detached_process_is_heard_until_its_first_line_or_its_end() {
    let start = |arguments: &str, input, errors| {
        DetachedSelf::start(&words(arguments), input, errors).unwrap().first_line().unwrap()
    };
    // It reads nothing of this, and nobody waits for that.
    let much = || DetachedInput::Text("x".repeat(MUCH_BYTES));
    let listed = "--list --exact aside::a_child_reads_its_input_to_the_end";
    let began = DetachedStart::Began {
        line: "aside::a_child_reads_its_input_to_the_end: test".to_owned(),
        said: String::new(),
    };
    let inputs = [DetachedInput::Nothing, DetachedInput::Inherited, much()];
    let mut started = 0;
    for input in inputs {
        assert_eq!(start(listed, input, DetachedErrors::Captured), began);
        started += 1;
    }
    assert_eq!(started, 3);
    let DetachedStart::Ended { code, said } = start("--no-such-flag", much(), DetachedErrors::Captured)
    else {
        panic!("it began")
    };
    assert_eq!(code, Some(101));
    assert!(said.contains("no-such-flag"), "{said}");
    let ended = start("--no-such-flag", DetachedInput::Nothing, DetachedErrors::Ours);
    assert_eq!(ended, DetachedStart::Ended { code: Some(101), said: String::new() });
}

#[test]
fn a_command_of_the_person_is_given_its_input_and_heard_in_bytes() {
    let folder = tempfile::tempdir().unwrap();
    type Case<'a> = (&'a str, &'a [u8], CommandExit, &'a [u8], &'a [u8]);
    let cases: [Case<'_>; 7] = [
        ("echo out; echo err >&2; exit 3", b"", CommandExit::Code(3), b"out\n", b"err\n"),
        ("cat", b"\xff\x00\n", CommandExit::Code(0), b"\xff\x00\n", b""),
        ("kill -9 $$", b"", CommandExit::Signal(9), b"", b""),
        ("[ -t 0 ] || [ -t 1 ] || [ -t 2 ]", b"", CommandExit::Code(1), b"", b""),
        ("(: </dev/tty) 2>/dev/null", b"", CommandExit::Code(1), b"", b""),
        ("echo \"$GIVEN\"", b"", CommandExit::Code(0), b"there\n", b""),
        ("exec <&-; exit 0", &[b'x'; 1 << 20], CommandExit::Code(0), b"", b""),
    ];
    let mut ran = 0;
    for (text, input, exit, stdout, stderr) in cases {
        let mut program = line(text, folder.path());
        program.input = input.to_vec();
        program.variables = vec![("GIVEN".to_owned(), "there".to_owned())];
        let ended = person_program(program).unwrap();
        let found = (ended.exit, ended.stdout.bytes(), ended.stderr.bytes());
        assert_eq!(found, (exit, stdout.to_vec(), stderr.to_vec()), "{text}");
        ran += 1;
    }
    assert_eq!(ran, 7);
}

#[test]
fn a_command_of_the_person_reads_and_writes_much_at_once_and_only_the_limit_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = line("cat; cat /dev/zero | head -c 3000000 >&2", folder.path());
    program.input = vec![b'x'; MUCH_BYTES];
    program.output = OutputLimits { head_bytes: 100, tail_bytes: 50 };
    let ended = person_program(program).unwrap();
    assert_eq!(ended.exit, CommandExit::Code(0));
    for (output, byte) in [(&ended.stdout, b'x'), (&ended.stderr, 0)] {
        assert_eq!(output.total_bytes, MUCH_BYTES as u64);
        assert_eq!(output.bytes(), vec![byte; 150]);
    }
}

#[tokio::test]
async fn at_the_deadline_the_whole_group_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mut program = line("trap '' TERM; sleep 600 & echo $! >pid; echo $$; wait; sleep 600", folder.path());
    program.deadline = Duration::from_millis(300);
    let ended = tokio::task::spawn_blocking(|| person_program(program)).await.unwrap().unwrap();
    assert_eq!(ended.exit, CommandExit::DeadlineExceeded);
    let number = |text: &str| text.trim().parse::<i32>().unwrap();
    gone(number(&String::from_utf8(ended.stdout.bytes()).unwrap())).await;
    gone(number(&std::fs::read_to_string(folder.path().join("pid")).unwrap())).await;
}

#[tokio::test]
async fn what_a_command_leaves_behind_lives_on_as_a_clipboard_must() {
    let folder = tempfile::tempdir().unwrap();
    // It holds our pipes open.
    let ended = person_program(line("sleep 600 & echo $!", folder.path())).unwrap();
    assert_eq!(ended.exit, CommandExit::Code(0));
    let left = String::from_utf8(ended.stdout.bytes()).unwrap().trim().parse::<i32>().unwrap();
    assert!(alive(left));
    let stopped = person_program(line(&format!("kill -9 {left}"), folder.path())).unwrap();
    assert_eq!(stopped.exit, CommandExit::Code(0));
    gone(left).await;
}

#[test]
fn programs_in_a_workspace_do_not_answer_to_a_name() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("answers");
    std::fs::write(&program, "#!/bin/sh\necho from the workspace\n").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut inner = line("command -v answers || echo none", folder.path());
    inner.distrusted = vec![folder.path().to_owned()];
    // A search path with the folder in it reaches only those who were not told to distrust it.
    let outer = |distrusted: bool| {
        let mut program = inner.clone();
        program.distrusted.truncate(usize::from(distrusted));
        String::from_utf8(person_program(program).unwrap().stdout.bytes()).unwrap()
    };
    let path = std::env::var("PATH").unwrap_or_default();
    // SAFETY: no other thread of this test reads the environment now.
    unsafe { std::env::set_var("PATH", format!("{}:.:{path}", folder.path().display())) };
    assert_eq!(outer(false), format!("{}\n", program.display()));
    assert_eq!(outer(true), "none\n");
}
