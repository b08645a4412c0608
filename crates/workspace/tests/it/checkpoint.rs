//! Checkpoints hold what was there, byte for byte, and nothing gets lost.

use std::{fs, os::unix::fs::symlink};

use posse_protocol::Change;
use posse_workspace::{Checkpoints, Mode, Workspace};

use crate::{Fixture, REPOSITORY, shell};

/// The paths that are kept: all that a look misses when everything is gone. The repository's are not among them.
async fn held(checkpoints: &Checkpoints, fixture: &Fixture) -> Vec<String> {
    checkpoints.look(None).await.unwrap();
    fixture.run("find . -mindepth 1 -maxdepth 1 ! -name .git -exec rm -rf {} +").await;
    let changes = checkpoints.look(None).await.unwrap().changes;
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!(undone.conflicts, []);
    paths(&changes)
}

fn paths(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| change.path.clone()).collect()
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
    checkpoints.look(None).await.unwrap();
    let expected = [
        "an ignored folder: target",
        "an ignored file: big",
        "2 histories of nested repositories, such as nested/.git",
    ];
    assert_eq!(checkpoints.not_covered(), expected);
    // Changes within a nested repository are seen as well.
    fixture.put("nested/new", "new");
    fixture.put("nested/file", "changed");
    assert_eq!(paths(&checkpoints.look(None).await.unwrap().changes), ["nested/file", "nested/new"]);
    let expected = [
        ".env",
        ".gitignore",
        "a",
        "deep/run.log",
        "nested/.gitignore",
        "nested/file",
        "nested/inner/file",
        "nested/new",
        "nested/skip",
    ];
    assert_eq!(held(&checkpoints, &fixture).await, expected);
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
             && echo a > a && echo b > sub/b && echo x > tgt/x && echo tgt >> ../main/.git/info/exclude",
            "a sub/b",
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
        assert_eq!(held(&checkpoints, &fixture).await.join(" "), expected, "{name}");
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
    checkpoints.look(None).await.unwrap();
    for (name, bytes) in contents {
        fixture.put(name, bytes);
        fixture.put(&format!("sub/{name}"), bytes);
    }
    let changes = checkpoints.look(None).await.unwrap().changes;
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
async fn the_repository_stays_as_it_is_and_is_not_needed() {
    let fixture = Fixture::new(&[("a", "some text that is long enough\n"), ("b", "b\n")]);
    fixture.run(REPOSITORY).await;
    let before = fixture.run("find .git -type f | sort | xargs sha1sum").await;
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    fixture.put("a", "changed\n");
    let changes = checkpoints.look(None).await.unwrap().changes;
    assert_eq!(fixture.run("find .git -type f | sort | xargs sha1sum").await, before);
    fixture.run("rm -rf .git").await;
    checkpoints.undo(&changes).await.unwrap();
    assert_eq!(fixture.text("a"), "some text that is long enough\n");
}

#[tokio::test]
async fn odd_files_are_left_out_or_kept_and_never_in_the_way() {
    let fixture = Fixture::new(&[("a", "a"), ("gone", "x")]);
    fixture
        .run("mkfifo pipe; mkdir empty; ln -s nowhere dangling; ln -s / root; printf x > $'odd\\nname'; printf x > $'odd\\377'")
        .await;
    fs::File::create(fixture.at("large")).unwrap().set_len(25 * 1024 * 1024).unwrap();
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    assert_eq!(
        checkpoints.not_covered(),
        ["a file above 24 MiB: large", "a name that is not UTF-8: odd\u{fffd}"]
    );
    // A file becomes a pipe, a folder becomes a file, a file a folder, a file a link.
    fixture
        .run("rm gone a dangling $'odd\\377' && mkfifo gone && mkdir a && echo b > a/b && echo f > dangling")
        .await;
    let changes = checkpoints.look(None).await.unwrap().changes;
    assert_eq!(paths(&changes), ["a", "a/b", "dangling", "gone"]);
    fixture.run("rm gone").await;
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!(undone.conflicts, []);
    assert_eq!((fixture.text("a"), fixture.text("gone")), ("a".into(), "x".into()));
    assert_eq!(fs::read_link(fixture.at("dangling")).unwrap().to_str(), Some("nowhere"));
    assert_eq!(checkpoints.look(None).await.unwrap().changes, []);
}

#[tokio::test]
async fn many_at_once_and_one_that_was_cut_off_do_no_harm() {
    let fixture = Fixture::new(&[("a", "0")]);
    let first = fixture.checkpoints().await;
    let second = fixture.checkpoints().await;
    first.look(None).await.unwrap();
    second.look(None).await.unwrap();
    let mut looks = Vec::new();
    for round in 0..8 {
        fixture.put("a", format!("{round}"));
        let checkpoints = if round % 2 == 0 { first.clone() } else { second.clone() };
        looks.push(tokio::spawn(async move { checkpoints.look(None).await.unwrap() }));
    }
    for look in looks {
        look.await.unwrap();
    }
    first.look(None).await.unwrap();
    // Dropped at different moments: what such a look found is told by the next.
    let mut found = Vec::new();
    for wait_us in [0, 50, 100, 200, 400, 1000] {
        fixture.put("a", format!("cut {wait_us}"));
        let cut = tokio::time::timeout(std::time::Duration::from_micros(wait_us), first.look(None)).await;
        found.extend(cut.into_iter().flat_map(|look| look.unwrap().changes));
    }
    fixture.put("a", "last");
    found.extend(first.look(None).await.unwrap().changes);
    assert!(found.windows(2).all(|pair| pair[0].after == pair[1].before), "{found:?}");
    assert_eq!(first.undo(&found).await.unwrap().conflicts, []);
    assert_eq!(fixture.text("a"), "7");
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
        checkpoints.keep("x\n+++ b/forged", None, Some((b"", Mode::File))).await,
    ]
    .map(Result::unwrap);
    drop(checkpoints);
    let checkpoints = fixture.checkpoints().await;
    let diff = checkpoints.diff(&kept, 10_000).await.unwrap();
    for expected in [
        "diff --git a/a b/a\nold mode 100644\nnew mode 100755\nindex ",
        "--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+3\n",
        "Binary files a/bin and b/bin differ\n",
        "deleted file mode 120000\n",
        "--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n",
        "new file mode 100644\n",
        "--- /dev/null\n+++ b/new/b\n@@ -0,0 +1 @@\n+b\n",
        "diff --git \"a/x\\n+++ b/forged\" \"b/x\\n+++ b/forged\"\n",
    ] {
        assert!(diff.contains(expected), "{expected:?} is not in\n{diff}");
    }
    let cut = checkpoints.diff(&kept, 100).await.unwrap();
    assert!(cut.len() < 150 && cut.contains("more bytes"), "{cut}");
    assert_eq!(checkpoints.diff(&[], 100).await.unwrap(), "");
    assert_eq!(
        checkpoints.lines(&kept).await,
        [Some((1, 1)), Some((1, 0)), Some((1, 0)), None, Some((0, 1)), Some((0, 0))]
    );
    assert!(symlink("x", fixture.at("y")).is_ok());
}

#[tokio::test]
async fn what_is_kept_is_private_and_not_a_part_of_itself() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::new(&[("a", "a")]);
    let inside = fixture.at("state/checkpoints");
    let checkpoints = Checkpoints::open(&inside, &fixture.workspace).await.unwrap();
    checkpoints.look(None).await.unwrap();
    fixture.put("a", "b");
    assert_eq!(paths(&checkpoints.look(None).await.unwrap().changes), ["a"]);
    checkpoints.look_at_everything();
    assert_eq!(checkpoints.look(None).await.unwrap().changes, []);
    let store = fs::read_dir(&inside).unwrap().next().unwrap().unwrap();
    assert_eq!(store.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for entry in fs::read_dir(store.path()).unwrap() {
        let entry = entry.unwrap();
        let mode = entry.metadata().unwrap().permissions().mode();
        assert!(mode & 0o077 == 0 || entry.file_name() == "used", "{entry:?} {mode:o}");
    }
}
