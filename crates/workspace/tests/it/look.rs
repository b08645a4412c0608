//! What changed since the last look: found whatever the clock says, told once, never outside.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    time::{Duration, SystemTime},
};

use posse_protocol::Change;
use posse_workspace::{Checkpoints, Mode, limits};

use crate::Fixture;

/// A workspace that has been looked at once.
async fn seen(files: &[(&str, &str)]) -> (Fixture, Checkpoints) {
    let fixture = Fixture::new(files);
    let checkpoints = fixture.checkpoints().await;
    assert_eq!(checkpoints.look(None).await.unwrap().changes, []);
    (fixture, checkpoints)
}

/// What a look says: `new a.rs +1 -0`, `changed …`, `deleted …`, with `?` where nothing was counted.
async fn shown(checkpoints: &Checkpoints) -> Vec<String> {
    let changes = checkpoints.look(None).await.unwrap().changes;
    let lines = checkpoints.lines(&changes).await;
    let line = |(change, lines): (&Change, Option<(u32, u32)>)| {
        let what = match (&change.before, &change.after) {
            (None, Some(_)) => "new",
            (Some(_), None) => "deleted",
            (Some(_), Some(_)) => "changed",
            (None, None) => panic!("{change:?}"),
        };
        let counted = lines.map_or("?".to_owned(), |(added, removed)| format!("+{added} -{removed}"));
        format!("{what} {} {counted}", change.path)
    };
    changes.iter().zip(lines).map(line).collect()
}

/// That a look finds nothing.
async fn nothing(checkpoints: &Checkpoints) {
    assert_eq!(shown(checkpoints).await, [""; 0]);
}

/// Makes a file look old, so that its stamp is trusted.
fn age(fixture: &Fixture, path: &str) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3_600);
    fs::File::options().write(true).open(fixture.at(path)).unwrap().set_modified(hour_ago).unwrap();
}

#[tokio::test]
async fn every_kind_of_change_is_reported_once() {
    let (fixture, checkpoints) =
        seen(&[("a.rs", "1\n2\n3\n"), ("b.rs", "x\n"), ("sub/c.rs", "y\nz\n"), ("same", "s")]).await;
    nothing(&checkpoints).await;
    fixture.put("a.rs", "1\ntwo\n3\n4\n");
    fs::remove_file(fixture.at("b.rs")).unwrap();
    fs::rename(fixture.at("sub"), fixture.at("moved")).unwrap();
    fixture.put("new/d.rs", "one\ntwo");
    fixture.put(".hidden", "h\n");
    fixture.put("empty", "");
    assert_eq!(
        shown(&checkpoints).await,
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
    nothing(&checkpoints).await;
}

#[tokio::test]
async fn edits_of_the_same_size_and_time_are_seen() {
    let (fixture, checkpoints) = seen(&[("a", "aaa\n")]).await;
    let time = fs::metadata(fixture.at("a")).unwrap().modified().unwrap();
    for (round, content) in ["bbb\n", "ccc\n", "ddd\n", "aaa\n"].into_iter().cycle().take(40).enumerate() {
        // In place, so that the inode stays too.
        fs::write(fixture.at("a"), content).unwrap();
        fs::File::options().write(true).open(fixture.at("a")).unwrap().set_modified(time).unwrap();
        assert_eq!(shown(&checkpoints).await, ["changed a +1 -1"], "round {round}");
    }
    // The same with a time long ago.
    age(&fixture, "a");
    nothing(&checkpoints).await;
    let old = fs::metadata(fixture.at("a")).unwrap().modified().unwrap();
    fs::write(fixture.at("a"), "eee\n").unwrap();
    fs::File::options().write(true).open(fixture.at("a")).unwrap().set_modified(old).unwrap();
    assert_eq!(shown(&checkpoints).await, ["changed a +1 -1"]);
}

#[tokio::test]
async fn what_only_looks_like_a_change_is_none() {
    let (fixture, checkpoints) = seen(&[("a", "x\n"), ("b", "y\n"), ("c", "z\n")]).await;
    fs::set_permissions(fixture.at("a"), fs::Permissions::from_mode(0o600)).unwrap();
    age(&fixture, "b");
    // Written anew, by another file that takes its place.
    fixture.put("d", "z\n");
    fs::rename(fixture.at("d"), fixture.at("c")).unwrap();
    nothing(&checkpoints).await;
    fixture.put("e", "made and gone");
    fs::remove_file(fixture.at("e")).unwrap();
    fixture.put(".posse-0123456789abcdef.tmp", "half");
    nothing(&checkpoints).await;
}

#[tokio::test]
async fn ignored_files_and_git_are_no_part() {
    let (fixture, checkpoints) =
        seen(&[(".gitignore", "target/\n*.log\n"), ("src/a.rs", "a\n"), ("target/x", "1")]).await;
    fixture.put("target/y", "2");
    fixture.put(".git/config", "4");
    fixture.put(".git/hooks/pre-commit", "5");
    fixture.put("sub/.git/HEAD", "6");
    nothing(&checkpoints).await;
    // A small ignored file may be somebody's settings.
    fixture.put("b.log", "3\n");
    assert_eq!(shown(&checkpoints).await, ["new b.log +1 -0"]);
    // A rule that hides a known file deletes nothing.
    fixture.put(".gitignore", "target/\n*.log\nsrc/\n");
    assert_eq!(shown(&checkpoints).await, ["changed .gitignore +1 -0"]);
    // What was known stays so: who ignores it and removes it then has not made it vanish.
    fs::remove_dir_all(fixture.at("src")).unwrap();
    assert_eq!(shown(&checkpoints).await, ["deleted src/a.rs +0 -1"]);
}

#[tokio::test]
async fn files_that_come_to_light_were_not_made() {
    let (fixture, checkpoints) = seen(&[(".gitignore", "src/\n*.big\n"), ("src/a.rs", "a\n")]).await;
    fixture.put("old.big", vec![b'x'; 100_000]);
    nothing(&checkpoints).await;
    fixture.put(".gitignore", "");
    fixture.put("src/new.rs", "n\n");
    fixture.put("new.big", vec![b'x'; 100_000]);
    fixture.put("sub/new.rs", "n\n");
    // What was in an ignored folder was not kept: nobody can say whether it was there.
    let changes = shown(&checkpoints).await;
    assert_eq!(changes, ["changed .gitignore +0 -2", "new new.big +1 -0", "new sub/new.rs +1 -0"]);
    fs::write(fixture.at("src/a.rs"), "b\n").unwrap();
    fs::write(fixture.at("old.big"), "b\n").unwrap();
    assert_eq!(shown(&checkpoints).await, ["changed old.big +1 -1", "changed src/a.rs +1 -1"]);
}

#[tokio::test]
async fn what_a_tool_kept_is_not_reported_and_what_others_did_around_it_is() {
    let (fixture, checkpoints) = seen(&[("a", "1\n"), ("b", "2\n"), ("c", "3\n"), ("link-to", "l\n")]).await;
    symlink("link-to", fixture.at("link")).unwrap();
    assert_eq!(shown(&checkpoints).await, ["new link +1 -0"]);
    let file = |text: &'static str| Some((text.as_bytes(), Mode::File));
    fixture.put("a", "1\n2\n");
    fixture.put("new/deep/file", "n\n");
    fs::remove_file(fixture.at("b")).unwrap();
    fixture.put("link-to", "L\n");
    for (path, before, after) in [
        ("a", file("1\n"), file("1\n2\n")),
        ("./new/deep/file", None, file("n\n")),
        ("b", file("2\n"), None),
        ("link", file("l\n"), file("L\n")),
        ("missing", file("x"), file("x")),
    ] {
        checkpoints.keep(path, before, after).await.unwrap();
    }
    nothing(&checkpoints).await;
    fixture.put("a", "1\n");
    assert_eq!(shown(&checkpoints).await, ["changed a +0 -1"]);
    // A person writes before and after a tool does; another undoes what it did.
    fixture.put("c", "person\n");
    fixture.put("c", "tool\n");
    checkpoints.keep("c", file("person\n"), file("tool\n")).await.unwrap();
    fixture.put("c", "tool\nagain\n");
    checkpoints.keep("made", None, file("m\n")).await.unwrap();
    fixture.put("a", "2\n");
    checkpoints.keep("a", file("1\n"), file("2\n")).await.unwrap();
    fixture.put("a", "1\n");
    let expected = ["changed a +1 -1", "changed c +1 -1", "changed c +1 -0", "deleted made +0 -1"];
    assert_eq!(shown(&checkpoints).await, expected);
    // Before the first look there is nothing to compare with.
    let unseen = fixture.checkpoints().await;
    unseen.keep("a", file("0\n"), file("1\n")).await.unwrap();
    nothing(&unseen).await;
    nothing(&unseen).await;
}

#[tokio::test]
async fn links_are_not_followed() {
    let (fixture, checkpoints) = seen(&[("a", "1\n"), ("b", "2\n")]).await;
    symlink(fixture.outside().join("secret"), fixture.at("out")).unwrap();
    symlink(fixture.outside(), fixture.at("folder")).unwrap();
    fs::remove_file(fixture.at("a")).unwrap();
    symlink(fixture.outside().join("secret"), fixture.at("a")).unwrap();
    fs::remove_file(fixture.at("b")).unwrap();
    fixture.put("c", "3\n");
    symlink("c", fixture.at("b")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.at("socket")).unwrap();
    let expected = ["changed a +1 -1", "changed b +1 -1", "new c +1 -0", "new folder +1 -0", "new out +1 -0"];
    assert_eq!(shown(&checkpoints).await, expected);
    fs::write(fixture.outside().join("secret"), "changed").unwrap();
    nothing(&checkpoints).await;
}

#[tokio::test]
async fn what_cannot_be_counted_says_so() {
    let (fixture, checkpoints) = seen(&[("bin", "a\0b"), ("gone", "\0")]).await;
    let large = fs::File::create(fixture.at("large")).unwrap();
    large.set_len(limits::CHECKPOINT_FILE_BYTES_MAX + 1).unwrap();
    fixture.put("bin", "a\0c");
    fs::remove_file(fixture.at("gone")).unwrap();
    fixture.put("new", "\0");
    assert_eq!(shown(&checkpoints).await, ["changed bin ?", "deleted gone ?", "new large ?", "new new ?"]);
    assert_eq!(checkpoints.not_covered(), ["a file above 24 MiB: large"]);
    large.set_len(limits::CHECKPOINT_FILE_BYTES_MAX + 2).unwrap();
    assert_eq!(shown(&checkpoints).await, ["changed large ?"]);
}

/// What is there, with what a look must say about it.
fn expected(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> Vec<String> {
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let line = |path: &&String| {
        let what = match (old.get(*path), new.get(*path)) {
            (None, Some(_)) => "new",
            (Some(_), None) => "deleted",
            (old, new) if old != new => "changed",
            _ => return None,
        };
        Some(format!("{what} {path}"))
    };
    paths.iter().filter_map(line).collect()
}

#[tokio::test]
async fn random_work_is_measured_exactly() {
    let mut rounds = 0;
    for seed in 0..20 {
        let mut source = fastrand::Rng::with_seed(seed);
        let mut random = |limit: u32| source.u32(..limit);
        let (fixture, checkpoints) = seen(&[]).await;
        if seed % 2 == 0 {
            checkpoints.look_at_everything();
        }
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
            let mut found = shown(&checkpoints).await;
            found.iter_mut().for_each(|line| line.truncate(line.find(" +").unwrap()));
            assert_eq!(found, expected(&before, &files), "seed {seed}, round {round}");
            rounds += 1;
        }
    }
    assert_eq!(rounds, 200);
}
