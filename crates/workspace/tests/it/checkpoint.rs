//! Checkpoints hold what was there, byte for byte, and nothing gets lost.

use std::{fs, os::unix::fs::symlink};

use posse_workspace::{Checkpoints, Mode, Snapshot, Workspace};

use crate::{Fixture, REPOSITORY, shell};

/// The paths a checkpoint holds, as its own repository lists them.
async fn held(fixture: &Fixture, snapshot: &Snapshot) -> Vec<String> {
    let listed = list(fixture, &format!("ls-tree -r --name-only {}", snapshot.tree)).await;
    listed.lines().map(str::to_owned).collect()
}

async fn list(fixture: &Fixture, what: &str) -> String {
    let line = format!("for d in *.git; do git --git-dir=$d {what}; done");
    shell(&fixture.outside().join("data"), &line).await
}

#[tokio::test]
async fn what_is_ignored_is_left_out_but_for_small_files() {
    let fixture = Fixture::new(&[
        (".gitignore", ".env\n*.log\n/target/\nbig\n"),
        ("a", "a"),
        (".env", "SECRET=1"),
        ("deep/run.log", "log"),
        ("target/out", "built"),
        ("target/.env", "built"),
        (".posse-0123456789abcdef.tmp", "half"),
        ("nested/file", "plain"),
        ("nested/.gitignore", "skip\n"),
        ("nested/skip", "small"),
    ]);
    fixture.put("big", vec![b'x'; 100_000]);
    fixture.run("git init -q nested && cd nested && git init -q inner && echo i > inner/file").await;
    let checkpoints = fixture.checkpoints().await;
    let first = checkpoints.save("first").await.unwrap();
    let expected =
        [".env", ".gitignore", "a", "deep/run.log", "nested/.gitignore", "nested/file", "nested/inner/file"];
    assert_eq!(held(&fixture, &first).await, expected);
    assert_eq!(first.left_out, Vec::<String>::new());
    // Later changes within a nested repository are seen as well.
    fixture.put("nested/new", "new");
    fixture.put("nested/file", "changed");
    let second = checkpoints.save("second").await.unwrap();
    let paths: Vec<String> =
        checkpoints.changes(&first, &second).await.unwrap().into_iter().map(|change| change.path).collect();
    assert_eq!(paths, ["nested/file", "nested/new", "nested/skip"]);
    assert_eq!(checkpoints.save("third").await.unwrap(), second);
}

#[tokio::test]
async fn it_works_wherever_the_folder_is() {
    // What is done to the folder around the workspace first, and what a checkpoint holds.
    let cases = [
        ("no repository", "true", "a sub/b tgt/x"),
        ("a repository", "cd project && git init -q . && git add a", "a sub/b tgt/x"),
        ("its subfolder", "git init -q . && printf '/project/tgt/\\n*.o\\n/sub\\n' > .gitignore", "a sub/b"),
        (
            "a checkout",
            "git init -q main && cd main && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x \
             && rm -rf ../project && git worktree add -q ../project && cd ../project && mkdir sub tgt \
             && echo a > a && echo b > sub/b && echo x > tgt/x",
            "a sub/b tgt/x",
        ),
        ("rules of its own", "git init -q . && printf 'b\\ntgt\\n' > .git/info/exclude", "a sub/b"),
        ("a broken repository", "mkdir project/.git && echo junk > project/.git/HEAD", "a sub/b tgt/x"),
        ("an unreadable index", "git init -q project && echo junk > project/.git/index", "a sub/b tgt/x"),
    ];
    let mut checked = 0;
    for (name, before, expected) in cases {
        let fixture = Fixture::new(&[("a", "a"), ("sub/b", "b"), ("tgt/x", "x")]);
        shell(fixture.outside(), before).await;
        let workspace = Workspace::open(fixture.at(".")).unwrap();
        let checkpoints = Checkpoints::open(&fixture.outside().join("data"), &workspace).await.unwrap();
        let saved = checkpoints.save("first").await.unwrap();
        assert_eq!(held(&fixture, &saved).await.join(" "), expected, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 7);
}

#[tokio::test]
async fn every_byte_is_kept_whatever_attributes_say() {
    let attributes = "* text=auto eol=crlf ident filter=x working-tree-encoding=UTF-16 diff=x merge=x\n";
    let contents: &[(&str, &[u8])] = &[
        ("crlf", b"a\r\nb\r\n"),
        ("mixed", b"a\r\nb\n"),
        ("ident", b"$Id$ $Id: x $\n"),
        ("bytes", b"\x00\xff\xfe\n\r"),
        ("empty", b""),
        ("no-end", b"x"),
    ];
    let fixture = Fixture::new(&[(".gitattributes", attributes), ("sub/.gitattributes", attributes)]);
    fixture
        .run("git init -q . && git config core.autocrlf true && git config filter.x.clean 'tr a-z A-Z'")
        .await;
    let checkpoints = fixture.checkpoints().await;
    let before = checkpoints.save("before").await.unwrap();
    for (name, bytes) in contents {
        fixture.put(name, bytes);
        fixture.put(&format!("sub/{name}"), bytes);
    }
    let after = checkpoints.save("after").await.unwrap();
    let changes = checkpoints.changes(&before, &after).await.unwrap();
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert!(!fixture.at("crlf").exists() && undone.conflicts.is_empty());
    checkpoints.undo(&undone.changes).await.unwrap();
    for (name, bytes) in contents {
        assert_eq!(fs::read(fixture.at(name)).unwrap(), *bytes, "{name}");
        assert_eq!(fs::read(fixture.at(&format!("sub/{name}"))).unwrap(), *bytes, "sub/{name}");
    }
    assert_eq!(changes.len(), 2 * contents.len());
}

#[tokio::test]
async fn the_repositorys_own_files_stay_as_they_are() {
    let fixture = Fixture::new(&[("a", "some text that is long enough\n"), ("b", "b\n")]);
    fixture.run(REPOSITORY).await;
    let before = fixture.run("find .git -type f | sort | xargs sha1sum").await;
    let checkpoints = fixture.checkpoints().await;
    checkpoints.save("first").await.unwrap();
    fixture.put("a", "changed\n");
    let saved = checkpoints.save("second").await.unwrap();
    let counted = list(&fixture, "count-objects").await;
    // Two commits, two trees, three contents: git would have to write to the repository to make use of what it holds.
    assert!(counted.starts_with("7 objects"), "{counted}");
    assert_eq!(fixture.run("find .git -type f | sort | xargs sha1sum").await, before);
    assert_eq!(held(&fixture, &saved).await, ["a", "b"]);
}

#[tokio::test]
async fn odd_files_are_left_out_or_kept_and_never_in_the_way() {
    let fixture = Fixture::new(&[("a", "a"), ("gone", "x")]);
    fixture
        .run("mkfifo pipe; mkdir empty; ln -s nowhere dangling; ln -s / root; printf x > $'odd\\nname'")
        .await;
    fs::File::create(fixture.at("large")).unwrap().set_len(25 * 1024 * 1024).unwrap();
    let checkpoints = fixture.checkpoints().await;
    let first = checkpoints.save("first").await.unwrap();
    assert_eq!(held(&fixture, &first).await, ["a", "dangling", "gone", "\"odd\\nname\"", "root"]);
    assert_eq!(first.left_out, ["large"]);
    // A file becomes a pipe, a folder becomes a file, a file a folder, a file a link.
    fixture.run("rm gone a dangling && mkfifo gone && mkdir a && echo b > a/b && echo f > dangling").await;
    let second = checkpoints.save("second").await.unwrap();
    assert_eq!(held(&fixture, &second).await, ["a/b", "dangling", "\"odd\\nname\"", "root"]);
    let changes = checkpoints.changes(&first, &second).await.unwrap();
    fixture.run("rm gone").await;
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!(undone.conflicts, []);
    assert_eq!(checkpoints.save("third").await.unwrap().tree, first.tree);
}

#[tokio::test]
async fn many_at_once_and_one_that_was_cut_off_do_no_harm() {
    let fixture = Fixture::new(&[("a", "0")]);
    let first = fixture.checkpoints().await;
    let second = fixture.checkpoints().await;
    let mut saves = Vec::new();
    for round in 0..8 {
        fixture.put("a", format!("{round}"));
        let checkpoints = if round % 2 == 0 { first.clone() } else { second.clone() };
        saves.push(tokio::spawn(async move { checkpoints.save("one").await.unwrap() }));
    }
    for save in saves {
        save.await.unwrap();
    }
    // Dropped at different moments, and a lock that a killed git left.
    for wait_ms in [0, 1, 3, 6, 10, 15] {
        fixture.put("a", format!("cut {wait_ms}"));
        let cut = tokio::time::timeout(std::time::Duration::from_millis(wait_ms), first.save("cut")).await;
        drop(cut);
    }
    let data = fs::read_dir(fixture.outside().join("data")).unwrap().next().unwrap().unwrap().path();
    fs::write(data.join("posse.index.lock"), "").unwrap();
    fixture.put("a", "last");
    let last = second.save("last").await.unwrap();
    assert_eq!(list(&fixture, &format!("show {}:a", last.commit)).await, "last");
    let unreachable = list(&fixture, "fsck --no-dangling --connectivity-only 2>&1").await;
    assert_eq!(unreachable, "");
}

#[tokio::test]
async fn exact_changes_are_kept_for_good_and_shown() {
    let fixture = Fixture::new(&[("a", "one\ntwo\n"), ("bin", "x")]);
    let checkpoints = fixture.checkpoints().await;
    let kept = [
        checkpoints.keep("a", Some((b"one\ntwo\n", Mode::File)), Some((b"one\n2\n", Mode::File))).await,
        checkpoints.keep("a", Some((b"one\n2\n", Mode::File)), Some((b"one\n2\n3\n", Mode::Program))).await,
        checkpoints.keep("new/b", None, Some((b"b\n", Mode::File))).await,
        checkpoints.keep("bin", Some((b"x\0", Mode::File)), Some((b"y\0", Mode::File))).await,
        checkpoints.keep("link", Some((b"a", Mode::Link)), None).await,
    ]
    .map(Result::unwrap);
    list(&fixture, "prune --expire=now && git --git-dir=$d reflog expire --all --expire=now").await;
    let diff = checkpoints.diff(&kept, 10_000).await.unwrap();
    for expected in [
        "old mode 100644\nnew mode 100755",
        "-two\n+2\n+3\n",
        "Binary files a/bin and b/bin differ",
        "deleted file mode 120000",
        "new file mode 100644",
        "+++ b/new/b",
    ] {
        assert!(diff.contains(expected), "{expected:?} is not in\n{diff}");
    }
    let cut = checkpoints.diff(&kept, 100).await.unwrap();
    assert!(cut.len() < 150 && cut.contains("more bytes"), "{cut}");
    assert_eq!(checkpoints.diff(&[], 100).await.unwrap(), "");
    assert!(symlink("x", fixture.at("y")).is_ok());
}
