//! Confinement does not need root: everything holds for an ordinary user too.

use std::{
    os::unix::{
        fs::{PermissionsExt, chown},
        process::CommandExt,
    },
    path::Path,
};

use posse_sandbox::{CommandExit, Level};

use crate::{again, confined_said, names_in, said_lines};

const NOBODY: u32 = 65534;

#[test]
fn an_ordinary_user_is_confined_as_well() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let work = folder.path().join("work");
    std::fs::create_dir_all(work.join(".git/hooks")).unwrap();
    let me = std::env::current_exe().unwrap();
    let program = folder.path().join("program");
    std::fs::copy(&me, &program).unwrap();
    let mut process =
        again(&program, "ordinary::stands_in_for_a_program", "POSSE_TEST_ORDINARY", work.to_str().unwrap());
    if rustix::process::geteuid().is_root() {
        for name in ["work", "work/.git", "work/.git/hooks"] {
            chown(folder.path().join(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        process.uid(NOBODY).gid(NOBODY).current_dir("/").env("HOME", "/nonexistent").env("TMPDIR", "/tmp");
        process.env("PATH", "/usr/local/bin:/usr/bin:/bin");
    }
    let said = said_lines(process);
    assert_eq!(said, ["available", "Inspect Code(1)", "Verify Code(0)", "Full Code(0)", "4"]);
    assert_eq!(names_in(&work), [".git", "Full"]);
    assert_eq!(names_in(&work.join(".git")), ["hooks"]);
}

/// Tries each level; only of interest when started by the test above.
#[tokio::test]
async fn stands_in_for_a_program() {
    let Ok(work) = std::env::var("POSSE_TEST_ORDINARY") else { return };
    let work = Path::new(&work);
    match posse_sandbox::available() {
        Ok(()) => println!("SAID available"),
        Err(reason) => println!("SAID {reason}"),
    }
    for level in [Level::Inspect, Level::Verify, Level::Full] {
        let (exit, _) = confined_said(level, work, &format!("echo x > {level:?}"), |_| {}).await;
        println!("SAID {level:?} {exit:?}");
    }
    let mut refused = 0;
    for line in ["echo x > .git/hooks/x", "mkdir .claude/x", "echo x > /etc/x", "unshare -Ur true"] {
        let (exit, _) = confined_said(Level::Full, work, line, |_| {}).await;
        refused += u32::from(exit != CommandExit::Code(0));
    }
    println!("SAID {refused}");
}
