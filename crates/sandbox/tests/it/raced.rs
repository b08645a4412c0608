//! No thread is quick enough to have a protected name made by changing a path between the look at a call and the call.

use std::{fs, path::Path, process, time::Duration};

use posse_sandbox::{CommandExit, Level};

use crate::confined_shell;

/// Ways to make a name, each with a path that another thread changes; in `order` only the calls are in a race.
const KINDS: &[&str] = &[
    "open",
    "creat",
    "null",
    "stdout",
    "mkdir",
    "mknod",
    "symlink",
    "link",
    "rename",
    "order",
    "write",
    "write-null",
];
/// The names that are tried for.
const NAMES: [&str; 2] = [".zed", ".cargo/config.toml"];
const ROUNDS: u32 = 3_000;

/// A folder with the program that tries it, and with what is to be written where that is there.
fn prepared(kind: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    if kind.starts_with("write") {
        [".zed", "kept"].iter().for_each(|name| fs::write(folder.path().join(name), "").unwrap());
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/raced.c");
    let mut compiler = process::Command::new("cc");
    compiler.args(["-O1", "-pthread", "-o"]).arg(folder.path().join("raced")).arg(source);
    assert!(compiler.status().unwrap().success());
    folder
}

/// Whether a kind got through. Where nothing is guarded it tries until it does.
async fn tried(folder: &Path, kind: &str, guarded: bool) -> bool {
    let rounds = if guarded { ROUNDS } else { i32::MAX.cast_unsigned() };
    let line = format!("./raced {kind} {rounds}");
    let kept = folder.join("kept").exists();
    let mut command = confined_shell(Level::Full, folder, &line, |profile| {
        // No mount stands behind it.
        profile.protected.clear();
        profile.guard_names = guarded;
    });
    command.deadline = Duration::from_secs(600);
    let finished = posse_sandbox::run(command).await.unwrap();
    assert!(matches!(finished.exit, CommandExit::Code(0 | 3)), "{kind}: {finished:?}");
    let left = |name: &&str| folder.join(name).symlink_metadata().is_ok_and(|found| !kept || found.len() > 0);
    finished.exit == CommandExit::Code(3) || NAMES.iter().any(left)
}

#[tokio::test]
async fn nobody_is_quick_enough_to_make_a_protected_name() {
    let mut through = Vec::new();
    for kind in KINDS {
        if tried(prepared(kind).path(), kind, true).await {
            through.push(*kind);
        }
        assert!(tried(prepared(kind).path(), kind, false).await, "{kind} is no attempt");
    }
    assert!(through.is_empty(), "{through:?}");
}
