//! Reading what is in memory without waiting: the same bytes as otherwise, or nothing at all.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use posse_workspace::{Hides, Stamp, Workspace, WorkspacePath};

const BYTES_MAX: usize = 1_000;

fn path(workspace: &Workspace, written: &str) -> WorkspacePath {
    workspace.resolve(written).unwrap()
}

fn read(workspace: &Workspace, written: &str) -> Option<Vec<u8>> {
    workspace.read_cached(&path(workspace, written), BYTES_MAX).map(|(bytes, _)| bytes)
}

/// The same where it must work sooner or later. The kernel gives up as well when others rename something meanwhile, and at a
/// link until somebody who may wait has followed it: it notes when a link was followed.
fn read_in_the_end(workspace: &Workspace, written: &str) -> Option<(Vec<u8>, Stamp)> {
    const TRIES_MAX: usize = 100_000;
    let tries = if works_in(workspace.root()) { TRIES_MAX } else { 1 };
    let place = path(workspace, written);
    let found = (0..tries).find_map(|_| {
        workspace.read(&place, BYTES_MAX as u64).unwrap();
        workspace.read_cached(&place, BYTES_MAX)
    });
    assert!(found.is_some() || tries == 1, "{written} is never read without waiting");
    found
}

/// Whether reading without waiting works on the file system of a folder.
fn works_in(folder: &Path) -> bool {
    const EXT4_XFS_BTRFS: [u64; 3] = [0xef53, 0x5846_5342, 0x9123_683e];
    let kind = rustix::fs::statfs(folder).unwrap().f_type;
    EXT4_XFS_BTRFS.contains(&u64::try_from(kind).unwrap_or(0))
}

#[test]
fn what_is_in_memory_is_read_as_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("src")).unwrap();
    fs::write(folder.path().join("src/a.txt"), "one\ntwo\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    symlink("src/a.txt", folder.path().join("link")).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let cases = ["src/a.txt", "empty", "link"];
    for written in cases {
        if let Some(cached) = read_in_the_end(&workspace, written) {
            let place = path(&workspace, written);
            assert_eq!(cached, workspace.read(&place, BYTES_MAX as u64).unwrap(), "{written}");
        }
    }
}

#[test]
fn everything_else_is_left_to_those_who_may_wait() {
    let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().join(name);
    fs::write(outside.path().join("secret"), "s").unwrap();
    fs::create_dir(at("folder")).unwrap();
    fs::write(at("large"), vec![b'x'; BYTES_MAX + 1]).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    symlink(outside.path().join("secret"), at("out")).unwrap();
    symlink("/dev/zero", at("device")).unwrap();
    symlink("/proc/self/status", at("proc")).unwrap();
    symlink("nowhere", at("dangling")).unwrap();
    let workspace = Workspace::open(folder.path()).unwrap();
    let cases = ["folder", "large", "pipe", "out", "device", "proc", "dangling", "missing", "."];
    assert_eq!(cases.len(), 9);
    for written in cases {
        assert_eq!(read(&workspace, written), None, "{written}");
    }
}

#[test]
fn links_do_not_lead_to_what_is_hidden() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["secret.env", "plain.txt"] {
        fs::write(folder.path().join(name), name).unwrap();
        symlink(name, folder.path().join(format!("to-{name}"))).unwrap();
    }
    let workspace = Workspace::open(folder.path()).unwrap();
    let by_rule = workspace.hiding_where(Some(Hides::new(|place| place.ends_with("secret.env"))));
    let by_place = workspace.hiding(&[workspace.root().join("secret.env")]);
    for hiding in [by_rule, by_place] {
        for name in ["secret.env", "to-secret.env"] {
            assert_eq!(read(&hiding, name), None, "{name}");
        }
        for name in ["plain.txt", "to-plain.txt"] {
            let found = read_in_the_end(&hiding, name);
            assert!(found.is_none_or(|(bytes, _)| bytes == b"plain.txt"), "{name}");
        }
    }
}
