//! Reading and writing: kinds of files, sizes, modes, expectations.

use std::{
    fs::{self, Permissions},
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
};

use posse_workspace::{Expect, Kind, Stamp, Workspace, WorkspaceError};

use crate::Fixture;

#[test]
fn only_regular_files_are_read_and_nothing_waits() {
    let fixture = Fixture::new(&[("a", "text"), ("folder/b", "")]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        fixture.at("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o666),
        0,
    )
    .unwrap();
    let _listener = UnixListener::bind(fixture.at("socket")).unwrap();
    symlink("a", fixture.at("link")).unwrap();
    symlink("fifo", fixture.at("link-to-fifo")).unwrap();
    let cases = [
        ("a", Ok("text")),
        ("link", Ok("text")),
        ("folder/b", Ok("")),
        ("folder", Err(Kind::Folder)),
        (".", Err(Kind::Folder)),
        ("fifo", Err(Kind::Fifo)),
        ("link-to-fifo", Err(Kind::Fifo)),
        ("socket", Err(Kind::Socket)),
    ];
    for (name, expected) in cases {
        let read = fixture.workspace.read(&fixture.path(name), 100);
        match (read, expected) {
            (Ok((bytes, _)), Ok(text)) => assert_eq!(bytes, text.as_bytes(), "{name}"),
            (Err(WorkspaceError::NotAFile { kind, .. }), Err(wanted)) => assert_eq!(kind, wanted, "{name}"),
            (read, _) => panic!("{name}: {read:?}"),
        }
        let written = fixture.workspace.write_atomic(&fixture.path(name), b"text", Expect::Anything);
        assert_eq!(written.is_ok(), expected.is_ok(), "{name}: {written:?}");
    }
    assert!(matches!(
        fixture.workspace.read(&fixture.path("missing"), 100),
        Err(WorkspaceError::Missing { .. })
    ));
}

#[test]
fn devices_are_refused() {
    let workspace = Workspace::open("/dev").unwrap();
    for name in ["zero", "null", "tty"] {
        let read = workspace.read(&workspace.resolve(name).unwrap(), 100);
        assert!(matches!(read, Err(WorkspaceError::NotAFile { kind: Kind::Device, .. })), "{name}: {read:?}");
    }
}

#[test]
fn large_files_are_refused_without_being_loaded() {
    let fixture = Fixture::new(&[("exact", "12345"), ("more", "123456")]);
    let sparse = fs::File::create(fixture.at("sparse")).unwrap();
    sparse.set_len(10 << 30).unwrap();
    assert_eq!(fixture.workspace.read(&fixture.path("exact"), 5).unwrap().0, b"12345");
    for (name, size) in [("more", 6), ("sparse", 10 << 30)] {
        let read = fixture.workspace.read(&fixture.path(name), 5);
        assert!(matches!(read, Err(WorkspaceError::TooLarge { bytes, .. }) if bytes == size), "{read:?}");
    }
}

#[test]
fn writes_keep_mode_and_links_and_leave_no_litter() {
    let fixture = Fixture::new(&[("script", "old"), ("deep/target", "old")]);
    fs::set_permissions(fixture.at("script"), Permissions::from_mode(0o751)).unwrap();
    symlink("deep/target", fixture.at("link")).unwrap();
    symlink("../link", fixture.at("deep/chain")).unwrap();
    fs::hard_link(fixture.at("script"), fixture.outside().join("twin")).unwrap();
    let write = |name: &str, text: &str| {
        fixture.workspace.write_atomic(&fixture.path(name), text.as_bytes(), Expect::Anything).unwrap()
    };
    assert!(!write("script", "new").created);
    assert_eq!(fs::metadata(fixture.at("script")).unwrap().mode() & 0o7777, 0o751);
    // Another name of the same file, outside, is not written through.
    assert_eq!(fs::read_to_string(fixture.outside().join("twin")).unwrap(), "old");
    assert!(!write("link", "by link").created);
    assert_eq!(fixture.text("deep/target"), "by link");
    assert!(!write("deep/chain", "by chain").created);
    assert_eq!(fixture.text("deep/target"), "by chain");
    assert!(fixture.at("link").is_symlink() && fixture.at("deep/chain").is_symlink());
    assert!(write("a/b/c/new", "x").created);
    assert_eq!(fixture.text("a/b/c/new"), "x");
    assert_eq!(fs::metadata(fixture.at("a/b/c/new")).unwrap().mode() & 0o111, 0);
    let names = |folder: &str| fs::read_dir(fixture.at(folder)).unwrap().count();
    assert_eq!((names("."), names("deep"), names("a/b/c")), (4, 2, 1));
}

#[test]
fn expectations_are_checked() {
    let fixture = Fixture::new(&[("a", "one")]);
    let path = fixture.path("a");
    let write = |expect| fixture.workspace.write_atomic(&path, b"two", expect);
    assert!(matches!(write(Expect::Absent), Err(WorkspaceError::Exists { .. })));
    let (_, before) = fixture.workspace.read(&path, 100).unwrap();
    fixture.put("a", "ONE");
    assert!(matches!(write(Expect::Unchanged(before)), Err(WorkspaceError::Changed { .. })));
    let (_, now) = fixture.workspace.read(&path, 100).unwrap();
    let written = write(Expect::Unchanged(now)).unwrap();
    // The stamp that is given back is the one the next read sees.
    assert_eq!(fixture.workspace.look(&path).unwrap(), Some((Kind::File, written.stamp)));
    assert_eq!(written.stamp, Stamp::of(&fs::metadata(fixture.at("a")).unwrap()));
    fs::remove_file(fixture.at("a")).unwrap();
    assert!(matches!(write(Expect::Unchanged(written.stamp)), Err(WorkspaceError::Changed { .. })));
    assert!(!fixture.at("a").exists());
    assert!(write(Expect::Absent).unwrap().created);
}

#[test]
fn the_workspace_must_be_a_folder() {
    let fixture = Fixture::new(&[("a", "")]);
    assert!(matches!(Workspace::open(fixture.at("a")), Err(WorkspaceError::NotAFolder { .. })));
    assert!(matches!(Workspace::open(fixture.at("no")), Err(WorkspaceError::Missing { .. })));
}

#[test]
fn absolute_paths_work_by_the_real_name_and_by_a_links() {
    let fixture = Fixture::new(&[("src/a", "text")]);
    symlink("project", fixture.outside().join("alias")).unwrap();
    let workspace = Workspace::open(fixture.outside().join("alias")).unwrap();
    let real = fixture.outside().canonicalize().unwrap();
    for base in [fixture.outside().join("alias"), real.join("project")] {
        let path = workspace.resolve(base.join("src/a").to_str().unwrap()).unwrap();
        assert_eq!(workspace.read(&path, 100).unwrap().0, b"text");
    }
    assert!(workspace.resolve(real.join("secret").to_str().unwrap()).is_err());
}
