//! Changes made by commands: found whatever the clock says, counted where they can be, never outside.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::{Duration, SystemTime},
};

use posse_workspace::{Baseline, Changed, limits, text::line_changes};

use crate::Fixture;

/// A workspace that has been looked at once.
fn seen(files: &[(&str, &str)]) -> (Fixture, Baseline) {
    let fixture = Fixture::new(files);
    let mut baseline = Baseline::new(fixture.workspace.clone());
    assert_eq!(baseline.refresh(), []);
    (fixture, baseline)
}

/// `new a.rs +1 -0`, `changed …`, `deleted …`, with `?` where nothing was counted.
fn shown(changes: &[Changed]) -> Vec<String> {
    let line = |change: &Changed| {
        let what = match (change.created, change.deleted) {
            (true, false) => "new",
            (false, true) => "deleted",
            (false, false) => "changed",
            (true, true) => panic!("{change:?}"),
        };
        let Changed { path, counted, lines_added, lines_removed, .. } = change;
        format!("{what} {path} +{lines_added} -{lines_removed}{}", if *counted { "" } else { "?" })
    };
    changes.iter().map(line).collect()
}

/// Makes a file look old, so that its stamp is trusted.
fn age(fixture: &Fixture, path: &str) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    fs::File::options().write(true).open(fixture.at(path)).unwrap().set_modified(hour_ago).unwrap();
}

#[test]
fn every_kind_of_change_is_reported_once() {
    let (fixture, mut baseline) =
        seen(&[("a.rs", "1\n2\n3\n"), ("b.rs", "x\n"), ("sub/c.rs", "y\nz\n"), ("same", "s")]);
    assert_eq!(baseline.refresh(), []);
    fixture.put("a.rs", "1\ntwo\n3\n4\n");
    fs::remove_file(fixture.at("b.rs")).unwrap();
    fs::rename(fixture.at("sub"), fixture.at("moved")).unwrap();
    fixture.put("new/d.rs", "one\ntwo");
    fixture.put(".hidden", "h\n");
    fixture.put("empty", "");
    assert_eq!(
        shown(&baseline.refresh()),
        [
            "new .hidden +1 -0",
            "changed a.rs +2 -1",
            "deleted b.rs +0 -1",
            "new empty +0 -0",
            "new moved/c.rs +2 -0",
            "new new/d.rs +2 -0",
            "deleted sub/c.rs +0 -2",
        ]
    );
    assert_eq!(baseline.refresh(), []);
    assert!(!baseline.overflowed());
}

#[test]
fn edits_of_the_same_size_and_time_are_seen() {
    let (fixture, mut baseline) = seen(&[("a", "aaa\n")]);
    let time = fs::metadata(fixture.at("a")).unwrap().modified().unwrap();
    for (round, content) in ["bbb\n", "ccc\n", "ddd\n", "aaa\n"].into_iter().cycle().take(40).enumerate() {
        // In place, so that the inode stays too.
        fs::write(fixture.at("a"), content).unwrap();
        fs::File::options().write(true).open(fixture.at("a")).unwrap().set_modified(time).unwrap();
        assert_eq!(shown(&baseline.refresh()), ["changed a +1 -1"], "round {round}");
    }
    // The same with a time long ago.
    age(&fixture, "a");
    assert_eq!(baseline.refresh(), []);
    let old = fs::metadata(fixture.at("a")).unwrap().modified().unwrap();
    fs::write(fixture.at("a"), "eee\n").unwrap();
    fs::File::options().write(true).open(fixture.at("a")).unwrap().set_modified(old).unwrap();
    assert_eq!(shown(&baseline.refresh()), ["changed a +1 -1"]);
}

#[test]
fn what_only_looks_like_a_change_is_none() {
    let (fixture, mut baseline) = seen(&[("a", "x\n"), ("b", "y\n"), ("c", "z\n")]);
    fs::set_permissions(fixture.at("a"), fs::Permissions::from_mode(0o755)).unwrap();
    age(&fixture, "b");
    // Written anew, by another file that takes its place.
    fixture.put("d", "z\n");
    fs::rename(fixture.at("d"), fixture.at("c")).unwrap();
    assert_eq!(baseline.refresh(), []);
    fixture.put("e", "made and gone");
    fs::remove_file(fixture.at("e")).unwrap();
    fixture.put(".posse-0123456789abcdef.tmp", "half");
    assert_eq!(baseline.refresh(), []);
}

#[test]
fn ignored_files_and_git_are_no_part() {
    let (fixture, mut baseline) =
        seen(&[(".gitignore", "target/\n*.log\n"), ("src/a.rs", "a\n"), ("target/x", "1")]);
    fixture.put("target/y", "2");
    fixture.put("b.log", "3");
    fixture.put(".git/config", "4");
    assert_eq!(baseline.refresh(), []);
    // A rule that hides a known file deletes nothing.
    fixture.put(".gitignore", "target/\n*.log\nsrc/\n");
    assert_eq!(shown(&baseline.refresh()), ["changed .gitignore +1 -0"]);
    assert!(fixture.at("src/a.rs").exists());
}

#[test]
fn files_that_come_to_light_were_not_made() {
    let (fixture, mut baseline) = seen(&[(".gitignore", "src/\n"), ("src/a.rs", "a\n")]);
    // Their change time cannot be set back: it must really pass.
    std::thread::sleep(Duration::from_millis(limits::BASELINE_FRESH_MS + 100));
    assert_eq!(baseline.refresh(), []);
    fixture.put(".gitignore", "");
    age(&fixture, ".gitignore");
    fixture.put("src/new.rs", "n\n");
    std::thread::sleep(Duration::from_millis(10));
    let changes = shown(&baseline.refresh());
    assert_eq!(changes, ["changed .gitignore +0 -1", "new src/new.rs +1 -0"]);
    fs::write(fixture.at("src/a.rs"), "b\n").unwrap();
    assert_eq!(shown(&baseline.refresh()), ["changed src/a.rs +1 -1"]);
}

#[test]
fn noted_files_are_not_reported() {
    let (fixture, mut baseline) = seen(&[("a", "1\n"), ("b", "2\n")]);
    fixture.put("a", "1\n2\n");
    fixture.put("new", "n\n");
    fs::remove_file(fixture.at("b")).unwrap();
    for path in ["a", "./new", "b", "../secret", "missing", "\0", ""] {
        baseline.note(path);
    }
    assert_eq!(baseline.refresh(), []);
    fixture.put("a", "1\n");
    assert_eq!(shown(&baseline.refresh()), ["changed a +0 -1"]);
    // Before the first look there is nothing to take over.
    let mut unseen = Baseline::new(fixture.workspace.clone());
    unseen.note("a");
    assert_eq!(unseen.refresh(), []);
    assert_eq!(unseen.refresh(), []);
}

#[test]
fn links_are_not_followed() {
    let (fixture, mut baseline) = seen(&[("a", "1\n"), ("b", "2\n")]);
    symlink(fixture.outside().join("secret"), fixture.at("out")).unwrap();
    symlink(fixture.outside(), fixture.at("folder")).unwrap();
    fs::remove_file(fixture.at("a")).unwrap();
    symlink(fixture.outside().join("secret"), fixture.at("a")).unwrap();
    fs::remove_file(fixture.at("b")).unwrap();
    fixture.put("c", "3\n");
    symlink(fixture.at("c"), fixture.at("b")).unwrap();
    std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    assert_eq!(shown(&baseline.refresh()), ["deleted a +0 -1", "deleted b +0 -1", "new c +1 -0"]);
    fs::write(fixture.outside().join("secret"), "changed").unwrap();
    baseline.note("a");
    baseline.note("out");
    assert_eq!(baseline.refresh(), []);
}

#[test]
fn what_cannot_be_counted_says_so() {
    let large = "x\n".repeat(limits::BASELINE_FILE_BYTES_MAX);
    let (fixture, mut baseline) =
        seen(&[("bin", "a\0b"), ("large", &large), ("grows", "1\n"), ("gone", "\0")]);
    age(&fixture, "bin");
    baseline.refresh();
    fixture.put("bin", "a\0c");
    fixture.put("large", format!("{large}y\n"));
    fixture.put("grows", &large);
    fs::remove_file(fixture.at("gone")).unwrap();
    fixture.put("new", "\0");
    assert_eq!(
        shown(&baseline.refresh()),
        [
            "changed bin +0 -0?",
            "deleted gone +0 -0?",
            "changed grows +0 -0?",
            "changed large +0 -0?",
            "new new +0 -0?"
        ]
    );
}

#[test]
fn only_so_much_is_remembered() {
    let content = "line of text\n".repeat(limits::BASELINE_FILE_BYTES_MAX / 13);
    let names: Vec<String> = (0..140).map(|n| format!("f{n:03}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), content.as_str())).collect();
    let (fixture, mut baseline) = seen(&files);
    for name in &names {
        fixture.put(name, format!("{content}more\n"));
    }
    let changes = baseline.refresh();
    assert_eq!(changes.len(), 140);
    let counted = changes.iter().filter(|change| change.counted).count();
    assert!((120..130).contains(&counted), "{counted}");
}

#[test]
fn too_many_files_are_not_measured() {
    let (fixture, mut baseline) = seen(&[("a", "1\n")]);
    for n in 0..limits::BASELINE_FILES_MAX {
        fs::File::create(fixture.at(&format!("f{n}"))).unwrap();
    }
    assert_eq!((baseline.refresh(), baseline.overflowed()), (Vec::new(), true));
    fixture.put("a", "2\n");
    baseline.note("a");
    assert_eq!((baseline.refresh(), baseline.overflowed()), (Vec::new(), true));
}

/// What is there, with what `Changed` must say about it.
fn expected(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<Changed> {
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let differ = paths.into_iter().filter(|path| old.get(*path) != new.get(*path));
    let change = |path: &String| {
        let text = |files: &BTreeMap<String, String>| files.get(path).cloned().unwrap_or_default();
        let (lines_added, lines_removed) = line_changes(text(old).as_bytes(), text(new).as_bytes());
        let (created, deleted) = (!old.contains_key(path), !new.contains_key(path));
        Changed { path: path.clone(), created, deleted, counted: true, lines_added, lines_removed }
    };
    differ.map(change).collect()
}

#[test]
fn random_work_is_measured_exactly() {
    let mut rounds = 0;
    for seed in 0..20 {
        let mut source = fastrand::Rng::with_seed(seed);
        let mut random = |limit: u32| source.u32(..limit);
        let (fixture, mut baseline) = seen(&[]);
        let mut files: BTreeMap<String, String> = BTreeMap::new();
        for round in 0..10 {
            let before = files.clone();
            for _ in 0..random(6) {
                let path = format!("d{}/f{}", random(3), random(4));
                match random(4) {
                    0 if files.remove(&path).is_some() => fs::remove_file(fixture.at(&path)).unwrap(),
                    1 if files.contains_key(&path) => {
                        let to = format!("d{}/r{}", random(3), random(4));
                        fs::create_dir_all(fixture.at(&to).parent().unwrap()).unwrap();
                        fs::rename(fixture.at(&path), fixture.at(&to)).unwrap();
                        let content = files.remove(&path).unwrap();
                        files.insert(to, content);
                    }
                    _ => {
                        let content: String = (0..random(5)).map(|_| format!("{}\n", random(3))).collect();
                        fixture.put(&path, &content);
                        files.insert(path, content);
                    }
                }
            }
            assert_eq!(baseline.refresh(), expected(&before, &files), "seed {seed}, round {round}");
            rounds += 1;
        }
    }
    assert_eq!(rounds, 200);
}
