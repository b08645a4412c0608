//! What a confined command sees and may do, level by level.

use std::{
    os::unix::{ffi::OsStrExt, net::SocketAddr},
    path::Path,
};

use posse_sandbox::{Command, CommandExit, Level, SandboxError};

use crate::{confined_said, confined_shell, names_in};

const LEVELS: [Level; 3] = [Level::Inspect, Level::Verify, Level::Full];

/// A path, the levels at which a write to it works, and those after which something remains. `@` is the workspace.
const WRITES: [(&str, &[Level], &[Level]); 14] = [
    ("@/new", &[Level::Verify, Level::Full], &[Level::Full]),
    ("@/there", &[Level::Verify, Level::Full], &[Level::Full]),
    ("@/sub/new", &[Level::Verify, Level::Full], &[Level::Full]),
    ("/tmp/new", &LEVELS, &[]),
    ("/var/tmp/new", &LEVELS, &[]),
    ("/dev/shm/new", &LEVELS, &[]),
    ("$HOME/new", &LEVELS, &[]),
    ("/etc/new", &[], &[]),
    ("/usr/new", &[], &[]),
    ("/new", &[], &[]),
    ("/run/new", &[], &[]),
    ("/dev/new", &[], &[]),
    ("/proc/sys/kernel/core_pattern", &[], &[]),
    ("/proc/self/cwd/../../../../../../etc/new", &[], &[]),
];

#[tokio::test]
async fn each_level_writes_where_it_may_and_nothing_else_remains() {
    let mut checked = 0;
    for level in LEVELS {
        for (path, works, remains) in WRITES {
            let folder = tempfile::tempdir().unwrap();
            let workspace = folder.path();
            std::fs::create_dir(workspace.join("sub")).unwrap();
            std::fs::write(workspace.join("there"), "before").unwrap();
            let path = path.replace('@', workspace.to_str().unwrap());
            let line = format!("(printf after > {path}) 2>/dev/null && cat {path}");
            let expected = if works.contains(&level) {
                (CommandExit::Code(0), "after".to_owned())
            } else {
                (CommandExit::Code(1), String::new())
            };
            assert_eq!(confined_said(level, workspace, &line, |_| {}).await, expected, "{level:?} {path}");
            if path.starts_with('/') && !path.starts_with("/proc") {
                let after = std::fs::read_to_string(&path).is_ok_and(|text| text == "after");
                assert_eq!(after, remains.contains(&level), "{level:?} {path} afterwards");
            }
            assert!(!std::fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap().contains("after"));
            checked += 1;
        }
    }
    assert_eq!(checked, 3 * 14);
}

#[tokio::test]
async fn a_throw_away_view_is_a_whole_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("old/deep")).unwrap();
    std::fs::write(at("old/deep/file"), "kept").unwrap();
    std::fs::write(at("doomed"), "kept").unwrap();
    let line = "rm doomed && mv old/deep old/moved && cat old/moved/file && rm -r old && mkdir old && ls -A old \
                && ln -s x link && git init -q . && ls -A";
    let (exit, text) = confined_said(Level::Verify, folder.path(), line, |_| {}).await;
    assert_eq!((exit, text.as_str()), (CommandExit::Code(0), "kept.git\nlink\nold\n"));
    assert_eq!(names_in(folder.path()), ["doomed", "old"]);
    assert_eq!(std::fs::read_to_string(at("old/deep/file")).unwrap(), "kept");
}

#[tokio::test]
async fn without_an_overlay_builds_have_private_folders_and_a_note_says_so() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("target")).unwrap();
    std::fs::write(folder.path().join("target/old"), "").unwrap();
    let line = "echo x > target/new; ls target; echo x > new; echo $CARGO_TARGET_DIR";
    let command =
        confined_shell(Level::Verify, folder.path(), line, |profile| profile.without_overlay = true);
    let finished = posse_sandbox::run(command).await.unwrap();
    let text = String::from_utf8(finished.output.bytes()).unwrap();
    assert!(
        text.starts_with("new\n") && text.contains("Read-only") && text.ends_with("/tmp/target\n"),
        "{text}"
    );
    assert_eq!(finished.notes.len(), 1);
    assert!(finished.notes[0].starts_with("verify: a throw-away view is not to be had here"), "{finished:?}");
    assert_eq!(names_in(&folder.path().join("target")), ["old"]);
}

#[tokio::test]
async fn homes_are_hidden_except_for_toolchains_and_what_is_granted() {
    let home = tempfile::tempdir().unwrap();
    let folder = tempfile::tempdir_in(home.path()).unwrap();
    let at = |name: &str| home.path().join(name);
    for name in [".ssh", ".cargo/bin", ".config/app", ".local/share/keys", "docs"] {
        std::fs::create_dir_all(at(name)).unwrap();
    }
    for name in
        [".ssh/id", ".cargo/credentials.toml", ".cargo/bin/tool", ".config/app/token", "docs/a", "docs/b"]
    {
        std::fs::write(at(name), "secret").unwrap();
    }
    let line = "cd; ls -A | grep -v tmp; cat .cargo/bin/tool; cat .cargo/credentials.toml; cat docs/a; ls docs; \
                echo x > docs/c; echo y > .cargo/z; cat .cargo/z";
    let mut command = confined_shell(Level::Full, folder.path(), line, |profile| {
        profile.readable = vec![at("docs/a"), at("not-there")];
    });
    command.env.push(("HOME".to_owned(), home.path().to_str().unwrap().to_owned()));
    let finished = posse_sandbox::run(command).await.unwrap();
    let text = String::from_utf8(finished.output.bytes()).unwrap();
    assert_eq!(text, ".cargo\ndocs\nsecretsecreta\ny\n");
    assert_eq!(names_in(&at(".cargo")), ["bin", "credentials.toml"]);
    assert_eq!(names_in(&at("docs")), ["a", "b"]);
}

#[tokio::test]
async fn toolchains_of_this_machine_work() {
    let folder = tempfile::tempdir().unwrap();
    for level in LEVELS {
        let line = "cargo --version && rustc --version && python3 --version && git --version";
        let (exit, text) = confined_said(level, folder.path(), line, |_| {}).await;
        assert_eq!(exit, CommandExit::Code(0), "{level:?}: {text}");
    }
}

#[tokio::test]
async fn hidden_places_are_empty_even_around_and_inside_the_workspace() {
    let around = tempfile::tempdir_in("/var").unwrap();
    let workspace = around.path().join("data/work");
    std::fs::create_dir_all(workspace.join("inner")).unwrap();
    std::fs::write(around.path().join("secret"), "secret").unwrap();
    std::fs::write(workspace.join("inner/secret"), "secret").unwrap();
    std::fs::write(workspace.join("file"), "secret").unwrap();
    for level in LEVELS {
        let line = format!("ls -A {} inner; cat file; ls -d inner", around.path().display());
        let (_, text) = confined_said(level, &workspace, &line, |profile| {
            profile.hidden = vec![around.path().into(), workspace.join("inner"), workspace.join("file")];
        })
        .await;
        assert_eq!(text, format!("{}:\ndata\n\ninner:\ninner\n", around.path().display()), "{level:?}");
    }
}

#[tokio::test]
async fn without_network_there_is_a_loopback_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let outside = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    let own = "import socket; s = socket.create_server(('127.0.0.1', 0)); \
               c = socket.create_connection(s.getsockname()); print('own')";
    let host = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    for (line, network, expected) in [
        (format!("python3 -c \"{own}\""), false, "own\n"),
        (format!("({host}) 2>/dev/null || echo no"), false, "no\n"),
        (format!("({host}) 2>/dev/null || echo no"), true, "reached\n"),
        ("ls /sys/class/net >/dev/null; cat /proc/net/route | wc -l".to_owned(), false, "1\n"),
    ] {
        let (_, text) =
            confined_said(Level::Inspect, folder.path(), &line, |profile| profile.network = network).await;
        assert_eq!(text, expected, "{line}");
    }
}

#[tokio::test]
async fn sockets_of_others_cannot_be_reached() {
    let place = tempfile::tempdir_in("/var").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = place.path().join("service.sock");
    let _service = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let name = format!("posse-test-{}", std::process::id());
    let address = <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(&name).unwrap();
    let _abstract = std::os::unix::net::UnixListener::bind_addr(&address).unwrap();
    let mut tried = 0;
    for network in [false, true] {
        for address in [format!("'{}'", path.display()), format!("'\\0{name}'")] {
            let line = format!(
                "python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect({address})\" 2>&1 | tail -1"
            );
            let (_, text) =
                confined_said(Level::Full, folder.path(), &line, |profile| profile.network = network).await;
            assert!(text.contains("Error"), "{line}: {text}");
            tried += 1;
        }
    }
    assert_eq!(tried, 4);
}

#[tokio::test]
async fn what_a_command_uses_up_is_limited() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("python3 -c 'x = bytearray(b\"x\") * 400_000_000; print(\"had\", \"it\")' 2>&1", "had it"),
        ("head -c 3M /dev/zero > big && echo had it", "had it"),
        ("python3 -c 'f = [open(\"/dev/null\") for _ in range(100)]; print(\"had it\")' 2>&1", "had it"),
        ("head -c 9M /dev/zero | split -b 1M - /tmp/part && echo had it", "had it"),
        (
            "for n in $(seq 200); do sleep 5 & done 2>/dev/null; jobs -r | wc -l | grep -x 200 && echo had it",
            "had it",
        ),
    ];
    let mut checked = 0;
    for (line, sign) in cases {
        let (_, text) = confined_said(Level::Full, folder.path(), line, |profile| {
            profile.limits.memory_bytes = 200_000_000;
            profile.limits.file_bytes = 2_000_000;
            profile.limits.open_files = 64;
            profile.limits.tmp_bytes = 4_000_000;
            profile.limits.processes = 64;
        })
        .await;
        assert!(!text.contains(sign), "{line}: {text}");
        checked += 1;
    }
    assert_eq!(checked, 5);
    let (_, text) = confined_said(Level::Inspect, folder.path(), "ulimit -c; ulimit -n", |_| {}).await;
    assert_eq!(text, "0\n16384\n");
}

#[tokio::test]
async fn odd_places_are_workspaces_too() {
    let around = tempfile::tempdir().unwrap();
    let mut checked = 0;
    for name in
        [&b"with space"[..], b"colon:comma,back\\slash", b"not\xfftext", b"new\nline", b"\"quotes' $HOME"]
    {
        let workspace = around.path().join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir_all(workspace.join("sub")).unwrap();
        for level in LEVELS {
            let mut command = confined_shell(level, &workspace, "cat ../file && echo x > new; true", |_| {});
            std::fs::write(workspace.join("file"), "seen").unwrap();
            command.cwd = workspace.join("sub");
            let finished = posse_sandbox::run(command).await.unwrap();
            assert!(finished.output.bytes().starts_with(b"seen"), "{workspace:?} {level:?} {finished:?}");
            assert_eq!(workspace.join("sub/new").exists(), level == Level::Full, "{workspace:?} {level:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 15);
}

#[tokio::test]
async fn places_that_are_no_workspaces_are_refused() {
    let mut refused = 0;
    for place in ["/", "/proc", "/sys/fs", "/dev/shm", "relative"] {
        let mut command = Command::shell("true", Path::new("/tmp"), std::time::Duration::from_secs(5));
        command.confinement = Some(posse_sandbox::SandboxProfile::new(Level::Full, Path::new(place)));
        assert!(matches!(posse_sandbox::run(command).await, Err(SandboxError::NotConfined(_))), "{place}");
        refused += 1;
    }
    assert_eq!(refused, 5);
    let folder = tempfile::tempdir().unwrap();
    let mut command = confined_shell(Level::Full, folder.path(), "true", |_| {});
    let gone = folder.path().join("gone");
    std::fs::copy("/bin/true", &gone).unwrap();
    let program = posse_sandbox::Program::at(&gone, &[]).unwrap();
    std::fs::remove_file(gone).unwrap();
    command.what = posse_sandbox::What::Program(program, Vec::new());
    assert!(matches!(posse_sandbox::run(command).await, Err(SandboxError::Start { .. })));
}

#[tokio::test]
async fn endings_are_told_as_without_confinement() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("exit 7", CommandExit::Code(7), ""),
        ("echo out; echo err >&2; echo out2", CommandExit::Code(0), "out\nerr\nout2\n"),
        ("kill -9 $$", CommandExit::Signal(9), ""),
        ("kill -TERM $$", CommandExit::Signal(15), ""),
        ("(sleep 0.05; echo late) & echo first", CommandExit::Code(0), "first\nlate\n"),
        ("kill -9 1; kill -TERM 1; kill -STOP 1; echo on", CommandExit::Code(0), "on\n"),
    ];
    let mut checked = 0;
    for (line, exit, output) in cases {
        let (ended, text) = confined_said(Level::Full, folder.path(), line, |_| {}).await;
        let text: String =
            text.lines().filter(|line| !line.contains("kill:")).map(|line| format!("{line}\n")).collect();
        assert_eq!((ended, text.as_str()), (exit, output), "{line}");
        checked += 1;
    }
    assert_eq!(checked, 6);
}

#[tokio::test]
async fn a_home_or_a_toolchain_can_be_the_workspace() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    std::fs::create_dir_all(at("project/.venv/bin")).unwrap();
    let home_env = ("HOME".to_owned(), home.path().to_str().unwrap().to_owned());
    let line = "echo x > .venv/kept; echo x > kept; echo x > .bashrc; true";
    let mut command = confined_shell(Level::Full, &at("project"), line, |_| {});
    let environment = at("project/.venv").to_str().unwrap().to_owned();
    command.env = vec![home_env.clone(), ("VIRTUAL_ENV".to_owned(), environment)];
    posse_sandbox::run(command).await.unwrap();
    assert_eq!(names_in(&at("project")), [".venv", "kept"]);
    assert_eq!(names_in(&at("project/.venv")), ["bin", "kept"]);
    // Long enough for the watchdog to have a look.
    let line = "echo x > kept; echo x > .bashrc; mkdir .ssh/x; sleep 0.5; cat project/kept";
    let mut command = confined_shell(Level::Full, home.path(), line, |_| {});
    command.env = vec![home_env];
    let finished = posse_sandbox::run(command).await.unwrap();
    assert!(finished.output.bytes().ends_with(b"x\n"), "{finished:?}");
    assert_eq!(names_in(home.path()), ["kept", "project"]);
}

#[tokio::test]
async fn a_note_tells_of_the_memory_limit() {
    let folder = tempfile::tempdir().unwrap();
    let line = "head -c 150M /dev/zero > /tmp/a; head -c 150M /dev/zero > /tmp/b; echo on";
    let command = confined_shell(Level::Inspect, folder.path(), line, |profile| {
        profile.limits.memory_bytes = 200_000_000;
    });
    let finished = posse_sandbox::run(command).await.unwrap();
    let note = "a process was ended because the command reached its memory limit".to_owned();
    // Without a cgroup nobody could tell: there each process has a limit of its own, and files are not in it.
    let expected = if posse_sandbox::support().cgroup.usable { vec![note] } else { vec![] };
    assert_eq!(finished.notes, expected);
}

#[tokio::test]
async fn room_that_is_only_set_aside_counts_where_nothing_else_can_be_counted() {
    let folder = tempfile::tempdir().unwrap();
    let expected = if posse_sandbox::support().cgroup.usable { "unlimited\n" } else { "8388608\n" };
    let said = confined_said(Level::Inspect, folder.path(), "ulimit -d", |_| {}).await;
    assert_eq!(said, (CommandExit::Code(0), expected.to_owned()));
}

/// Only root can give something away, so for others there is nothing to see.
#[tokio::test]
async fn what_belongs_to_others_is_told_of() {
    use std::os::unix::fs::chown;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let usual =
        posse_sandbox::run(confined_shell(Level::Verify, folder.path(), "mkdir inner/x", |_| {})).await;
    assert_eq!(usual.unwrap().notes, Vec::<String>::new());
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let view = "verify: a throw-away view is not to be had here";
    let owner = "the workspace belongs to another user";
    chown(&inner, None, Some(65534)).unwrap();
    let mut told = 0;
    for (level, user, expected) in [
        (Level::Verify, 0, &[view][..]),
        (Level::Full, 0, &[]),
        (Level::Inspect, 65534, &[]),
        (Level::Verify, 65534, &[owner, view]),
        (Level::Full, 65534, &[owner]),
    ] {
        chown(folder.path(), Some(user), None).unwrap();
        let finished = posse_sandbox::run(confined_shell(level, folder.path(), "ls", |_| {})).await.unwrap();
        let same = finished.notes.iter().zip(expected).all(|(note, expected)| note.starts_with(expected));
        assert!(same && finished.notes.len() == expected.len(), "{level:?} {user}: {:?}", finished.notes);
        told += 1;
    }
    assert_eq!(told, 5);
}

/// A figure for people; on a machine that does other things it means nothing, so nothing is asserted.
#[tokio::test]
async fn the_time_to_start_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    for level in [None, Some(Level::Inspect), Some(Level::Verify), Some(Level::Full)] {
        let mut times = Vec::new();
        for _ in 0..21 {
            let mut command = Command::shell("exec true", folder.path(), std::time::Duration::from_secs(20));
            command.confinement = level.map(|level| posse_sandbox::SandboxProfile::new(level, folder.path()));
            times.push(posse_sandbox::run(command).await.unwrap().duration);
        }
        times.sort();
        println!("{level:?}: median {:?}, best {:?}", times[10], times[0]);
    }
}
