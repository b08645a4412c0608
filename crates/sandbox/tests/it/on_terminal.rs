//! A program that has the terminal: its code, its folder, and whom Ctrl-C reaches.

use posse_sandbox::{PersonCommand, Program, on_terminal};

/// The signals that this process ignores, as a mask.
fn ignored() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    mask(&status)
}

fn mask(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap()
}

#[test]
fn it_runs_in_its_folder_and_its_code_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let shell = |line: &str| PersonCommand::Shell(line.to_owned());
    let touch = Program::at("/usr/bin/touch".as_ref(), &[]).unwrap();
    let cases = [
        (shell("exit 7"), 7),
        (shell("kill -KILL $$"), 137),
        (shell("test \"$GIVEN\" = there"), 0),
        (PersonCommand::Program(touch, vec!["made".into()]), 0),
    ];
    let given = [("GIVEN".to_owned(), "there".to_owned())];
    let mut ran = 0;
    for (command, code) in cases {
        assert_eq!(on_terminal(&command, folder.path(), &given).unwrap(), code, "{command:?}");
        ran += 1;
    }
    assert_eq!(ran, 4);
    assert!(folder.path().join("made").exists());
}

#[test]
fn the_keys_of_the_terminal_reach_it_and_not_us() {
    let folder = tempfile::tempdir().unwrap();
    let before = ignored();
    let run = |line: &str| on_terminal(&PersonCommand::Shell(line.to_owned()), folder.path(), &[]).unwrap();
    // To us first, as a terminal does: it sends them to everybody.
    let cases = [("INT", 130), ("QUIT", 131)];
    for (signal, code) in cases {
        // A shell is deaf to the second one, so another program takes its place.
        let line = format!(
            "cat /proc/$PPID/status >during; exec perl -e 'kill {signal} => getppid; kill {signal} => $$; sleep 60'"
        );
        assert_eq!(run(&line), code, "{signal}");
        let during = mask(&std::fs::read_to_string(folder.path().join("during")).unwrap());
        assert_eq!(during & !before, 0b110 & !before, "interrupt and quit");
        assert_eq!(ignored(), before, "as before");
    }
}
