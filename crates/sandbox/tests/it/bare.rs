//! Programs of our own: found once and outside of what agents write, and confined to the folders of one call.

use std::{
    fs,
    os::unix::{
        fs::{PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use posse_sandbox::{Command, CommandExit, Program, SandboxError, SandboxProfile, Unfit};

/// A program that leaves a mark, where somebody may have planted it.
fn plant(at: &Path) -> PathBuf {
    fs::create_dir_all(at.parent().unwrap()).unwrap();
    fs::write(at, "#!/bin/sh\nexit 0\n").unwrap();
    fs::set_permissions(at, fs::Permissions::from_mode(0o755)).unwrap();
    at.to_owned()
}

#[test]
fn a_search_path_is_gone_through_without_what_agents_write() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    let (workspace, home, system) = (real.join("workspace"), real.join("home"), real.join("system"));
    let good = plant(&system.join("tool"));
    plant(&workspace.join("bin/tool"));
    plant(&home.join(".local/bin/tool"));
    fs::create_dir(real.join("open")).unwrap();
    fs::set_permissions(real.join("open"), fs::Permissions::from_mode(0o777)).unwrap();
    plant(&real.join("open/tool"));
    plant(&real.join("loose/tool"));
    fs::set_permissions(real.join("loose/tool"), fs::Permissions::from_mode(0o757)).unwrap();
    fs::create_dir(real.join("linked")).unwrap();
    symlink(workspace.join("bin/tool"), real.join("linked/tool")).unwrap();
    symlink(workspace.join("bin"), real.join("way")).unwrap();
    symlink(&real, workspace.join("out")).unwrap();
    fs::create_dir_all(real.join("folder/tool")).unwrap();
    fs::create_dir(real.join("plain")).unwrap();
    fs::write(real.join("plain/tool"), "#!/bin/sh\n").unwrap();
    let passed_over = [
        PathBuf::new(),
        ".".into(),
        "bin".into(),
        "./workspace/bin".into(),
        workspace.join("bin"),
        workspace.join("../workspace/bin"),
        home.join(".local/bin"),
        real.join("open"),
        real.join("loose"),
        real.join("linked"),
        real.join("way"),
        workspace.join("out/system"),
        real.join("folder"),
        real.join("plain"),
        real.join("missing"),
    ];
    let never_in = [workspace.clone(), home];
    for folder in &passed_over {
        assert_eq!(Program::find("tool", [folder.clone()], &never_in), None, "{folder:?}");
    }
    let folders = passed_over.iter().cloned().chain([system]);
    assert_eq!(Program::find("tool", folders, &never_in).unwrap().path(), good);
    assert_eq!(Program::at(Path::new("bin/tool"), &[]), Err(Unfit::Relative));
    assert_eq!(Program::at(&workspace.join("bin/tool"), &never_in), Err(Unfit::Within));
    assert_eq!(passed_over.len(), 15);
}

/// What a script of ours says, and how it ends.
async fn said(profile: SandboxProfile, cwd: &Path, script: &str) -> (CommandExit, String) {
    let shell = Program::at(Path::new("/bin/sh"), &[]).unwrap();
    let mut command = Command::program(&shell, ["-c", script], cwd, Duration::from_secs(20));
    command.env = vec![("PATH".to_owned(), "/usr/bin:/bin".to_owned())];
    command.confinement = Some(profile);
    let finished = posse_sandbox::run(command).await.unwrap();
    let text = [finished.output.bytes(), finished.stderr.bytes()].concat();
    (finished.exit, String::from_utf8_lossy(&text).into_owned())
}

#[tokio::test]
async fn nothing_is_seen_but_what_a_call_needs() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    for name in ["read/deep", "write/kept", "other"] {
        fs::create_dir_all(real.join(name)).unwrap();
        fs::write(real.join(name).join("file"), "text\n").unwrap();
    }
    symlink(real.join("other/file"), real.join("read/leads-out")).unwrap();
    symlink(real.join("other"), real.join("write/leads-out")).unwrap();
    symlink("kept", real.join("write/leads-in")).unwrap();
    let _listening = UnixListener::bind(real.join("read/socket")).unwrap();
    let profile = || {
        let mut profile = SandboxProfile::bare(vec![real.join("read")], vec![real.join("write")]);
        profile.read_only = vec![real.join("write/kept"), real.join("write/not-there")];
        profile
    };
    let cases = [
        ("cat read/deep/file", true),
        ("cat write/kept/file && echo new > write/new && cat write/new", true),
        ("echo x > /tmp/x && cat /tmp/x && echo > /dev/null", true),
        ("git --version || true", true),
        ("echo x > read/new", false),
        ("echo x > write/kept/new", false),
        ("echo x > write/leads-in/new", false),
        ("mv write/kept write/moved", false),
        ("cat other/file", false),
        ("cat read/leads-out", false),
        ("echo x > write/leads-out/new", false),
        ("mkdir -p write/leads-out/new", false),
        // A folder that is only there to be worked in is as private as /tmp.
        ("echo x > new; true", true),
        ("echo x > /new", false),
        ("ls /root || ls /home", false),
        ("ls /etc/passwd", false),
        ("ls /proc/1 /sys/kernel", false),
        ("ls /run /var", false),
        ("touch /usr/x", false),
        ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"read/socket\")'", false),
        ("python3 -c 'import socket; socket.socket()'", false),
    ];
    for (script, works) in cases {
        let (exit, text) = said(profile(), &real, script).await;
        assert_eq!(exit == CommandExit::Code(0), works, "{script}: {text}");
    }
    assert!(
        !real.join("other/new").exists() && !real.join("new").exists() && real.join("write/new").exists()
    );
    assert_eq!(cases.len(), 21);
}

#[tokio::test]
async fn nothing_of_the_persons_environment_is_handed_on() {
    let (_, text) = said(SandboxProfile::bare(Vec::new(), Vec::new()), Path::new("/tmp"), "env").await;
    let names: Vec<&str> =
        text.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    let known =
        ["PATH", "TMPDIR", "TMP", "TEMP", "GIT_DISCOVERY_ACROSS_FILESYSTEM", "PWD", "SHLVL", "_", "OLDPWD"];
    assert!(names.iter().all(|name| known.contains(name)), "{names:?}");
    assert!(names.contains(&"PATH"), "{text}");
}

#[tokio::test]
async fn links_in_the_place_of_what_is_needed_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let real = folder.path().canonicalize().unwrap();
    fs::create_dir_all(real.join("other/sub")).unwrap();
    symlink(real.join("other"), real.join("link")).unwrap();
    let cases = [
        SandboxProfile::bare(vec![real.join("link")], Vec::new()),
        SandboxProfile::bare(vec![real.join("link/sub")], Vec::new()),
        SandboxProfile::bare(Vec::new(), vec![real.join("link")]),
        SandboxProfile::bare(Vec::new(), vec![real.join("link/sub")]),
        SandboxProfile::bare(Vec::new(), vec![real.join("missing")]),
        SandboxProfile::bare(Vec::new(), vec!["relative".into()]),
    ];
    let shell = Program::at(Path::new("/bin/sh"), &[]).unwrap();
    for profile in cases {
        let mut command =
            Command::program(&shell, ["-c", "true"], Path::new("/tmp"), Duration::from_secs(20));
        command.confinement = Some(profile.clone());
        let refused = posse_sandbox::run(command).await;
        assert!(matches!(refused, Err(SandboxError::NotConfined(_))), "{profile:?}: {refused:?}");
    }
}
