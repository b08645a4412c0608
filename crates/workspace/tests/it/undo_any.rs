//! Whatever a command does, undoing it brings everything back byte for byte: files, links, programs, and the repository's
//! branches, index, logs and history. What somebody else did meanwhile stays.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, path::Path};

use posse_protocol::Change;
use posse_workspace::Checkpoints;

use crate::{Fixture, REPOSITORY, shell};

/// What a command might do, in a folder with or without a repository.
const WORK: &[&str] = &[
    "rm -rf *",
    "rm -rf .env d",
    "for f in $(ls); do mv $f moved-$f; done",
    "mkdir -p deep && mv d deep/ ; mv deep d",
    "find . -path ./.git -prune -o -type f -exec truncate -s 0 {} +",
    "find . -path ./.git -prune -o -type f -exec chmod a+x {} +",
    "find . -path ./.git -prune -o -type f -exec chmod a-x {} +",
    "rm -f a && ln -s /etc/passwd a",
    "rm -rf d && ln -s / d",
    "rm -f a && mkdir a && echo x > a/inside",
    "rm -rf d && echo x > d",
    "printf 'd\na\n.env\n' > .gitignore; rm -rf d a; rm -f .env",
    "rm -f .gitignore; echo new > ignored-before",
    "for i in $(seq 100); do echo $i > new-$i; done",
    "cat a a a > big 2>/dev/null; head -c 3000000 /dev/zero >> big",
    "head -c 26000000 /dev/zero >> b 2>/dev/null || true",
    "mkdir -p x/y/z && echo deep > x/y/z/file && mv x y && mv y x",
    "printf 'a\\0b' > b; touch -d '2001-01-01' b; cp -p b c 2>/dev/null || true",
    "ln a hard 2>/dev/null; echo through >> hard",
    "mv b b.tmp 2>/dev/null && cp b.tmp b && rm b.tmp || true",
    "chmod 000 d 2>/dev/null; chmod 755 d 2>/dev/null; rm -rf d",
];

/// What a command might do to a repository.
const REPOSITORY_WORK: &[&str] = &[
    "rm -rf .git/objects",
    "rm -rf .git/objects/*",
    "find .git/objects -type f | head -3 | xargs rm -f",
    "f=$(find .git/objects -type f | head -1); chmod u+w $f && echo junk > $f",
    "git gc -q --prune=now",
    "git reset -q --hard HEAD~1 && git reflog expire --expire=now --all && git gc -q --prune=now",
    "git add -A && git commit -qm more && git branch -f other && git checkout -q other",
    "git checkout -q -b new && git branch -q -D main && git pack-refs --all",
    "git stash -q -u || true; git stash drop -q || true",
    "find .git -mindepth 1 -maxdepth 1 ! -name config ! -name hooks ! -name info -exec rm -rf {} +",
    "echo junk > .git/HEAD; rm -rf .git/refs; rm -f .git/index .git/packed-refs",
    "rm -rf .git/logs && git tag -f first HEAD && git commit -q --allow-empty -m empty",
    "git rm -rq --cached . && git add -A",
    "rm -f .git/HEAD && ln -s /etc/passwd .git/HEAD",
    "git checkout -q --orphan bare && git rm -rfq . ; git update-ref -d refs/heads/main",
];

type Tree = BTreeMap<String, (u32, Vec<u8>)>;

/// Everything that is promised to come back: all files and links but for hooks and settings, with what they hold.
fn everything(root: &Path) -> Tree {
    fn visit(root: &Path, folder: &Path, into: &mut Tree) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let metadata = path.symlink_metadata().unwrap();
            if matches!(name.as_str(), ".git/config" | ".git/hooks" | ".git/info" | ".git/branches") {
                continue;
            } else if metadata.is_dir() {
                visit(root, &path, into);
            } else if metadata.is_symlink() {
                let target = fs::read_link(&path).unwrap();
                into.insert(name, (0o120_000, target.into_os_string().into_encoded_bytes()));
            } else {
                let run = if name.starts_with(".git/") { 0 } else { metadata.permissions().mode() & 0o100 };
                into.insert(name, (run, fs::read(&path).unwrap()));
            }
        }
    }
    let mut found = BTreeMap::new();
    visit(root, root, &mut found);
    found
}

/// That what was there is there; the repository may have more stored than it had. What is in an ignored folder is not
/// promised; but undoing does it no harm.
fn must_be_back(before: &Tree, work: &Tree, now: &Tree, what: &str) {
    let stored = |path: &str| path.starts_with(".git/objects/");
    for (path, entry) in before {
        if path.starts_with("out/") {
            let (was, is) = (work.get(path), now.get(path));
            assert!(was.is_none() || is == was || is == Some(entry), "{what}: {path} is {is:?}");
            continue;
        }
        let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[..bytes.len().min(300)]).into_owned();
        let found = now.get(path);
        assert!(
            found == Some(entry),
            "{what}: {path} was {:?} {:?} and is {:?}",
            entry.0,
            shown(&entry.1),
            found.map(|found| (found.0, shown(&found.1)))
        );
    }
    let more: Vec<_> = now.keys().filter(|path| !before.contains_key(*path) && !stored(path)).collect();
    assert!(more.is_empty(), "{what}: {more:?} should not be there");
}

/// A random tree, half of the time with a repository of two commits.
async fn random_tree(random: &mut fastrand::Rng, repository: bool) -> Fixture {
    let fixture = Fixture::new(&[("a", "one\ntwo\n"), (".gitignore", ".env\nignored*\n/out/\n")]);
    let names = ["b", "c", "d/e", "d/f", "d/g/h", "i/j", ".env", "out/built", "ü ü", "d/x\ny"];
    for name in names {
        if random.u8(..4) > 0 {
            let content: Vec<u8> =
                (0..random.usize(..200)).map(|_| b"ab \n\n\0"[random.usize(..6)]).collect();
            fixture.put(name, content);
        }
    }
    if random.bool() {
        fixture.run("ln -s d/e link; ln -s nowhere d/dangling 2>/dev/null || true; chmod +x a").await;
    }
    if repository {
        fixture.run(REPOSITORY).await;
        fixture.put("a", "one\n2\n");
        let again = "git add -A && git -c user.name=a -c user.email=a@b commit -qm second && git branch side && git tag t";
        fixture.run(again).await;
        if random.bool() {
            fixture.run("git gc -q").await;
        }
        fixture.put("c", "not committed\n");
    }
    fixture
}

async fn run(fixture: &Fixture, line: &str) {
    // Not every command works on every tree; what it did is to be undone in any case.
    let identity =
        "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b";
    shell(&fixture.at("."), &format!("{identity}; ({line}) >/dev/null 2>&1 || true")).await;
}

async fn look(checkpoints: &Checkpoints) -> Vec<Change> {
    checkpoints.look(None).await.unwrap().changes
}

/// Runs seeds from one number to another, and says how many commands were undone.
async fn undo_seeds(seeds: std::ops::Range<u64>) -> usize {
    let mut undone = 0;
    for seed in seeds {
        let mut random = fastrand::Rng::with_seed(seed);
        let repository = random.bool();
        let fixture = random_tree(&mut random, repository).await;
        let checkpoints = fixture.checkpoints().await;
        if random.u8(..4) == 0 {
            checkpoints.look_at_everything();
        }
        look(&checkpoints).await;
        let before = everything(&fixture.at("."));
        let mut changes = Vec::new();
        let mut lines = Vec::new();
        for _ in 0..random.usize(1..4) {
            let line = if repository && random.bool() {
                REPOSITORY_WORK[random.usize(..REPOSITORY_WORK.len())]
            } else {
                WORK[random.usize(..WORK.len())]
            };
            lines.push(line);
            run(&fixture, line).await;
            changes.extend(look(&checkpoints).await);
            undone += 1;
        }
        let what = format!("seed {seed}: {lines:?}");
        // In another session, or in this one.
        let checkpoints = if random.bool() { checkpoints } else { fixture.checkpoints().await };
        let work = everything(&fixture.at("."));
        let preview = checkpoints.preview_undo(&changes).await.unwrap();
        assert_eq!(everything(&fixture.at(".")), work, "{what}: a preview writes nothing");
        let taken_back = checkpoints.undo(&changes).await.unwrap();
        assert_eq!(preview, taken_back, "{what}: the preview told something else");
        assert_eq!(taken_back.conflicts, [], "{what}");
        must_be_back(&before, &work, &everything(&fixture.at(".")), &what);
    }
    undone
}

#[tokio::test]
async fn any_command_is_undone_1() {
    assert!(undo_seeds(0..50).await >= 50);
}

#[tokio::test]
async fn any_command_is_undone_2() {
    assert!(undo_seeds(50..100).await >= 50);
}

#[tokio::test]
async fn any_command_is_undone_3() {
    assert!(undo_seeds(100..150).await >= 50);
}

#[tokio::test]
async fn any_command_is_undone_4() {
    assert!(undo_seeds(150..200).await >= 50);
}

/// What others do before, between and after, in the same files.
const OTHERS: &[&str] = &[
    "sed -i '1s/^/mine /' a",
    "echo mine >> a",
    "rm -rf d && echo mine > d",
    "rm -f b && mkdir b && echo mine > b/x && mkdir b/empty",
    "mkdir -p x && echo mine > x/y",
    "rm -f a && ln -s b a",
    "printf 'mine\\n' > c",
    "rm -rf d",
    "chmod +x a b c",
    "for f in $(find . -path ./.git -prune -o -type f -print); do echo mine >> $f; done",
];

/// With others at work in the same files, the preview still says exactly what happens then.
#[tokio::test]
async fn a_preview_says_what_happens_whatever_others_did() {
    let (mut with_conflicts, mut ran) = (0, 0);
    for seed in 1_000..1_080 {
        let mut random = fastrand::Rng::with_seed(seed);
        let repository = random.u8(..3) == 0;
        let fixture = random_tree(&mut random, repository).await;
        let checkpoints = fixture.checkpoints().await;
        look(&checkpoints).await;
        let (mut changes, mut lines) = (Vec::new(), Vec::new());
        for _ in 0..random.usize(2..6) {
            let (ours, line) = match random.bool() {
                true => (true, WORK[random.usize(..WORK.len())]),
                false => (false, OTHERS[random.usize(..OTHERS.len())]),
            };
            lines.push((ours, line));
            run(&fixture, line).await;
            let found = look(&checkpoints).await;
            changes.extend(found.into_iter().filter(|_| ours));
        }
        let what = format!("seed {seed}: {lines:?}");
        let work = everything(&fixture.at("."));
        let preview = checkpoints.preview_undo(&changes).await.unwrap();
        assert_eq!(everything(&fixture.at(".")), work, "{what}: a preview writes nothing");
        let taken_back = checkpoints.undo(&changes).await.unwrap();
        assert_eq!(preview, taken_back, "{what}");
        with_conflicts += usize::from(!taken_back.conflicts.is_empty());
        ran += 1;
    }
    assert!(ran == 80 && with_conflicts >= 10, "{with_conflicts} of {ran} had conflicts");
}

#[tokio::test]
async fn each_kind_of_work_is_undone() {
    let mut checked = 0;
    for line in WORK.iter().chain(REPOSITORY_WORK) {
        let mut random = fastrand::Rng::with_seed(checked);
        let fixture = random_tree(&mut random, true).await;
        let checkpoints = fixture.checkpoints().await;
        look(&checkpoints).await;
        let before = everything(&fixture.at("."));
        run(&fixture, line).await;
        let changes = look(&checkpoints).await;
        let work = everything(&fixture.at("."));
        assert_eq!(checkpoints.undo(&changes).await.unwrap().conflicts, [], "{line}");
        must_be_back(&before, &work, &everything(&fixture.at(".")), line);
        // Undoing is not reported as somebody else's work.
        let later: Vec<Change> = look(&checkpoints).await;
        assert_eq!(later, [], "{line}");
        fixture.run("git fsck --no-dangling --no-progress 2>&1 && git status >/dev/null").await;
        checked += 1;
    }
    assert_eq!(checked, 36);
}

#[tokio::test]
async fn what_others_do_meanwhile_is_told_apart_and_stays() {
    let mut checked = 0;
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let fixture = random_tree(&mut random, seed % 2 == 0).await;
        let checkpoints = fixture.checkpoints().await;
        look(&checkpoints).await;
        run(&fixture, WORK[random.usize(..WORK.len())]).await;
        let of_command = look(&checkpoints).await;
        // A person, between two commands.
        fixture.put("theirs/notes", "mine\n");
        fixture.put("theirs/more", "mine\n");
        let of_person = look(&checkpoints).await;
        let paths: Vec<&str> = of_person.iter().map(|change| change.path.as_str()).collect();
        assert_eq!(paths, ["theirs/more", "theirs/notes"], "seed {seed}");
        fixture.put("theirs/notes", "mine, again\n");
        checkpoints.undo(&of_command).await.unwrap();
        assert_eq!(fixture.text("theirs/notes"), "mine, again\n", "seed {seed}");
        assert_eq!(fixture.text("theirs/more"), "mine\n", "seed {seed}");
        checked += 1;
    }
    assert_eq!(checked, 20);
}

#[tokio::test]
async fn branches_that_somebody_moved_since_stay_together() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.run(REPOSITORY).await;
    let checkpoints = fixture.checkpoints().await;
    look(&checkpoints).await;
    run(&fixture, "echo 2 > a; git commit -qam agent; git branch agents").await;
    let changes = look(&checkpoints).await;
    run(&fixture, "echo 3 > b; git add b; git commit -qm person").await;
    let head = fixture.run("git rev-parse HEAD agents").await;
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!(fixture.run("git rev-parse HEAD agents").await, head);
    let paths: Vec<&str> = undone.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert!(
        paths.contains(&".git/refs/heads/main") && paths.contains(&".git/refs/heads/agents"),
        "{paths:?}"
    );
    assert_eq!(fixture.text("a"), "1\n");
}

#[tokio::test]
async fn nothing_that_git_runs_or_follows_is_written_back() {
    let fixture = Fixture::new(&[("a", "1\n")]);
    fixture.run(REPOSITORY).await;
    let checkpoints = fixture.checkpoints().await;
    look(&checkpoints).await;
    let plants = "mkdir -p .git/rebase-merge && echo 'exec touch /tmp/x' > .git/rebase-merge/git-rebase-todo; \
                  ln -s /etc/passwd .git/refs/heads/link; echo '[core]' > .git/config.worktree; \
                  mkdir -p .git/hooks && echo x > .git/hooks/post-checkout; mkdir -p .git/info && echo x > .git/info/attributes";
    run(&fixture, plants).await;
    let mut changes = look(&checkpoints).await;
    let paths: Vec<&str> = changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(paths, [".git/rebase-merge/git-rebase-todo", ".git/refs/heads/link"]);
    run(&fixture, "rm -rf .git/rebase-merge .git/refs/heads/link .git/hooks .git/info").await;
    let removed = look(&checkpoints).await;
    let side = removed[0].before.clone();
    changes.clear();
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git/CONFIG",
        ".git/info/attributes",
        ".git/modules/x/config",
        ".git/objects/aa/bb",
        ".git",
        ".git/../x",
        "sub/.git/HEAD",
    ] {
        changes.push(Change { path: path.to_owned(), before: side.clone(), after: None });
    }
    changes.extend(removed);
    let config = fixture.text(".git/config");
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!((undone.changes, undone.conflicts.len()), (vec![], 11), "{:?}", undone.conflicts);
    assert_eq!(fixture.text(".git/config"), config);
    for path in
        [".git/hooks", ".git/info", ".git/rebase-merge/git-rebase-todo", ".git/refs/heads/link", "sub", "x"]
    {
        assert!(fixture.at(path).symlink_metadata().is_err(), "{path}");
    }
}
