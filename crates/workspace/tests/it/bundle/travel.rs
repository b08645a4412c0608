//! There and back: what is at the worker's is what the session sees, and what comes back is a branch like any other.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use posse_workspace::{
    Entry, Mode, Workspace, WorkspaceError,
    bundle::{Depot, TakeLimits, forget_sent, pack, snapshot, take_in},
    git::GitError,
    worktree::{finish, left_on, merge, resume},
};

use super::{BRANCH, state};
use crate::{Fixture, REPOSITORY, contents, shell};

const IDENTITY: &str = "-c user.name=a -c user.email=a@b";

#[tokio::test]
async fn a_checkout_far_away_is_what_the_session_sees() {
    // What is done to the repository before.
    let cases = [
        ("clean", "true"),
        ("no commit", "rm -rf .git && git init -q -b main ."),
        ("nothing at all", "rm -rf .git * .gitignore && git init -q -b main ."),
        ("dirty", "echo changed > a; echo new > new; rm dir/b; chmod +x dir/c"),
        ("staged", "echo changed > a; git add a; echo again > a; git rm -q --cached dir/b"),
        ("links", "ln -s a link; ln -s nowhere dangling; ln -s / root; ln -s dir folder"),
        ("binary", "head -c 300000 /dev/urandom > binary; printf 'a\\0b' > nul"),
        ("odd names", "printf x > $'odd\\nname'; printf x > 'sp ace'; printf x > -dash; printf x > $'\\xff'"),
        ("line ends", "printf 'a\\r\\nb\\n' > crlf; echo '* text=auto eol=crlf' > .gitattributes"),
        ("detached", "git checkout -q --detach; echo x > x"),
        ("a nested repository", "git init -q nested && echo n > nested/n"),
        (
            "shallow",
            "for n in 1 2 3; do echo $n > n; git add n; git -c user.name=a -c user.email=a@b commit -qm $n; done; \
             cd ..; mv project full; git clone -q --depth 1 file://$PWD/full project; cp -r full/. /dev/null 2>&1; \
             echo here > project/new",
        ),
    ];
    let mut checked = 0;
    for (at, (name, before)) in cases.into_iter().enumerate() {
        // Both for every other one, which is enough.
        for sha256 in if at % 2 == 1 { vec![false, true] } else { vec![at % 4 == 0] } {
            let fixture = Fixture::new(&[
                ("a", "one\n"),
                ("dir/b", "b\n"),
                ("dir/c", "c\n"),
                (".gitignore", "ignored\n"),
            ]);
            let format = if sha256 { "sha256" } else { "sha1" };
            fixture.run(&format!("export GIT_DEFAULT_HASH={format}; {REPOSITORY}; {before}")).await;
            let (session, own) = (contents(&fixture.at(".")), fixture.own_state().await);
            let depot = fixture.depot(sha256).await;
            let (sent, bytes) = fixture.send(&depot, &fixture.at(".")).await;
            assert!(bytes > 0 && sent.sha256 == sha256 && sent.inside.is_empty(), "{name} {sent:?}");
            assert_eq!(depot.has().await.unwrap(), std::slice::from_ref(&sent.base), "{name}");
            let checkout = depot.check_out(&sent.base, &sent.inside, "one").await.unwrap();
            assert_eq!(contents(&checkout.folder), session, "{name}");
            shell(&checkout.folder, "test -z \"$(git status --porcelain)\" && git log -1 --format=%s").await;
            assert_eq!(fixture.fetch(&depot, &checkout, &sent.base).await.unwrap(), None, "{name}");
            // Now with work.
            fs::write(checkout.folder.join("work"), "work\n").unwrap();
            let _ = fs::remove_file(checkout.folder.join("dir/c"));
            let tip = fixture.fetch(&depot, &checkout, &sent.base).await.unwrap().unwrap();
            assert_eq!(fixture.run(&format!("git show {BRANCH}:work")).await, "work\n", "{name}");
            assert!(!fixture.run(&format!("git ls-tree -r {BRANCH}")).await.contains("dir/c"), "{name}");
            let branch = left_on(&fixture.at("."), BRANCH, &sent.base, 10_000).await.unwrap().unwrap();
            assert_eq!((branch.tip.as_str(), branch.diff.contains("+work")), (tip.as_str(), true), "{name}");
            depot.release(checkout, false).await.unwrap();
            assert_eq!((contents(&fixture.at(".")), fixture.own_state().await), (session, own), "{name}");
            fixture.run("git fsck --strict --no-dangling").await;
            checked += 1;
        }
    }
    assert_eq!(checked, 18);
}

#[tokio::test]
async fn work_of_every_kind_comes_back_and_is_merged() {
    let fixture =
        Fixture::new(&[("pkg/a", "one\n"), ("pkg/gone", "g\n"), ("pkg/tool", "t\n"), ("top", "t\n")]);
    fixture.run(REPOSITORY).await;
    fixture.put("pkg/a", "uncommitted\n");
    let (session, depot) = (fixture.at("pkg"), fixture.depot(false).await);
    let (sent, _) = fixture.send(&depot, &session).await;
    assert_eq!(sent.inside, "pkg");
    let checkout = depot.check_out(&sent.base, &sent.inside, "one").await.unwrap();
    assert_eq!(checkout.folder, checkout.top.join("pkg"));
    let work = format!(
        "echo changed > a; rm gone; chmod +x tool; ln -s a link; head -c 5000 /dev/urandom > binary; \
         git add -A && git {IDENTITY} commit -qm own; git checkout -q --detach; echo d > detached; git add -A; \
         git {IDENTITY} commit -qm detached; git checkout -qb mine; echo m > mine; git add -A; \
         git {IDENTITY} commit -qm mine; git tag a-tag; echo last > last"
    );
    shell(&checkout.folder, &work).await;
    let expected = contents(&checkout.folder);
    let tip = depot.finish(&checkout, "work").await.unwrap().unwrap();
    assert_eq!(depot.results().await.unwrap(), [("one".to_owned(), tip.clone())]);
    let bundle = fixture.file("first.bundle");
    depot.pack_result(&sent.base, &tip, &bundle).await.unwrap();
    take_in(&session, &bundle, &sent.base, &tip, BRANCH, TakeLimits::default()).await.unwrap();
    let log = fixture.run(&format!("git log --format=%s {}..{BRANCH} | sort", sent.base)).await;
    assert_eq!(log, "detached\nmine\nown\nwork\n");
    let branch = left_on(&session, BRANCH, &sent.base, 10_000).await.unwrap().unwrap();
    let workspace = Workspace::open(&session).unwrap();
    let merged = merge(&workspace, None, &branch).await.unwrap();
    assert!(merged.merged, "{merged:?}");
    assert_eq!(contents(&session), expected);
    // It goes on at home, and then far away again, on the same branch.
    let here = resume(&session, &fixture.checkouts(), &branch).await.unwrap();
    let busy = take_in(&session, &bundle, &sent.base, &tip, BRANCH, TakeLimits::default()).await;
    assert!(matches!(busy, Err(WorkspaceError::Git(GitError::CheckedOut(_)))), "{busy:?}");
    fs::write(here.folder.join("home"), "home\n").unwrap();
    let branch = finish(&here, "home", 10_000).await.unwrap().unwrap();
    depot.release(checkout, false).await.unwrap();
    let again = fixture.file("again.bundle");
    assert!(pack(&session, &branch.tip, &depot.has().await.unwrap(), &again).await.unwrap() > 0);
    depot.receive(&again, &branch.tip, TakeLimits::default()).await.unwrap();
    let checkout = depot.check_out(&branch.tip, "pkg", "one").await.unwrap();
    assert!(checkout.folder.join("home").exists());
    assert_eq!(
        shell(&checkout.folder, "git branch --format='%(refname)'; git tag").await,
        "refs/heads/posse/work/one\n"
    );
    fs::write(checkout.folder.join("more"), "more\n").unwrap();
    let more = fixture.fetch(&depot, &checkout, &branch.base).await.unwrap().unwrap();
    let last = left_on(&session, BRANCH, &branch.base, 10_000).await.unwrap().unwrap();
    assert_eq!((&last.tip, last.diff.contains("+more"), last.diff.contains("+home")), (&more, true, true));
    // The same once more is no failure, and an older one changes nothing.
    let older = take_in(&session, &bundle, &sent.base, &tip, BRANCH, TakeLimits::default()).await;
    assert!(matches!(older, Err(WorkspaceError::Git(GitError::BranchExists(_)))), "{older:?}");
    depot.release(checkout, true).await.unwrap();
    assert_eq!(depot.results().await.unwrap(), []);
    // What was sent went when the work came; what nothing came of goes by itself.
    assert!(!fixture.run("git for-each-ref").await.contains("refs/posse/sent"));
    snapshot(&session, &fixture.checkouts(), BRANCH, &[]).await.unwrap();
    assert!(fixture.run("git for-each-ref").await.contains("refs/posse/sent"));
    forget_sent(&session, BRANCH).await.unwrap();
    assert!(!fixture.run("git for-each-ref").await.contains("refs/posse/sent"));
}

#[tokio::test]
async fn an_agent_that_leaves_its_history_loses_nothing() {
    let cases = [
        (
            "orphan",
            "git checkout -q --orphan other && echo o > o && git add -A && git IDENTITY commit -qm other",
        ),
        ("amended", "echo o > o && git add -A && git IDENTITY commit -q --amend -m amended"),
        ("reset", "git reset -q --hard HEAD^ && echo o > o"),
        ("own branch deleted", "git checkout -q --detach && git branch -qD posse/work/one && echo o > o"),
        (
            "a head that leads nowhere",
            "echo o > o && echo ref: refs/heads/none > $(git rev-parse --git-dir)/HEAD",
        ),
        ("a head of nonsense", "echo o > o && printf '%040d' 7 > $(git rev-parse --git-dir)/HEAD"),
    ];
    let mut checked = 0;
    for (name, work) in cases {
        let fixture = Fixture::new(&[("a", "one\n")]);
        fixture.run(&format!("{REPOSITORY}; echo 2 > a; git {IDENTITY} commit -qam second")).await;
        let depot = fixture.depot(false).await;
        let (sent, _) = fixture.send(&depot, &fixture.at(".")).await;
        let checkout = depot.check_out(&sent.base, "", "one").await.unwrap();
        shell(&checkout.folder, &work.replace("IDENTITY", IDENTITY)).await;
        fixture.fetch(&depot, &checkout, &sent.base).await.unwrap().unwrap();
        assert_eq!(fixture.run(&format!("git show {BRANCH}:o")).await, "o\n", "{name}");
        fixture.run(&format!("git merge-base --is-ancestor {} {BRANCH}", sent.base)).await;
        depot.release(checkout, false).await.unwrap();
        checked += 1;
    }
    assert_eq!(checked, 6);
}

#[tokio::test]
async fn only_what_is_new_travels() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    fixture.run("head -c 2000000 /dev/urandom > large; mkdir many; for n in $(seq 300); do echo $n > many/$n; done").await;
    fixture.run(REPOSITORY).await;
    fixture.run("head -c 500000 /dev/urandom > untracked").await;
    let (folder, depot) = (fixture.at("."), fixture.depot(false).await);
    let (first, bytes) = fixture.send(&depot, &folder).await;
    assert!(bytes > 2_500_000, "{bytes}");
    // Nothing new: no bundle, and the same commit.
    assert_eq!(fixture.send(&depot, &folder).await, (first.clone(), 0));
    // Three files; what was untracked before is known to the other side.
    fixture.run("for n in 1 2 3; do head -c 10000 /dev/urandom > many/$n; done; echo x >> large").await;
    let bundle = fixture.file("thin.bundle");
    let sent = snapshot(&folder, &fixture.checkouts(), BRANCH, &[]).await.unwrap().sent;
    let bytes = pack(&folder, &sent.base, &depot.has().await.unwrap(), &bundle).await.unwrap();
    assert!((30_000..40_000).contains(&bytes), "{bytes}");
    let listed = fixture
        .run("git bundle verify -q ../thin.bundle > /dev/null 2>&1; git bundle list-heads ../thin.bundle")
        .await;
    assert_eq!(listed, format!("{} refs/posse/sent\n", sent.base));
    depot.receive(&bundle, &sent.base, TakeLimits::default()).await.unwrap();
    assert_eq!(depot.has().await.unwrap(), [sent.base.clone(), first.base.clone()]);
    // Unknown commits do no harm, and only names of commits are taken.
    let have = ["0".repeat(40), first.base.clone()];
    let same = pack(&folder, &sent.base, &have, &bundle).await.unwrap();
    assert!(same < 40_000, "{same}");
    assert!(pack(&folder, &sent.base, &["--all".to_owned()], &bundle).await.is_err());
    // An older commit is within what the other side has.
    let head = sent.head.unwrap();
    assert_eq!(pack(&folder, &head, &[sent.base], &fixture.file("none")).await.unwrap(), 0);
    let checkout = depot.check_out(&head, "", "older").await.unwrap();
    assert!(!checkout.folder.join("untracked").exists() && checkout.folder.join("many/300").exists());
}

#[tokio::test]
async fn snapshots_at_the_same_time_share_looks_and_miss_nothing() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    fixture.run(REPOSITORY).await;
    let mut asked = Vec::new();
    for n in 1..=12 {
        // Each is asked for when one more file is there.
        fixture.put(&format!("new/{n}"), "new\n");
        let (folder, into, branch) = (fixture.at("."), fixture.checkouts(), format!("posse/s1/number{n}"));
        let taken = tokio::spawn(async move { snapshot(&folder, &into, &branch, &[]).await.unwrap().sent });
        asked.push((n, taken));
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    let mut commits = std::collections::BTreeSet::new();
    for (n, taken) in asked {
        let base = taken.await.unwrap().base;
        let line = format!(
            "git ls-tree --name-only {base} new/ | wc -l; git rev-parse refs/posse/sent/s1/number{n}"
        );
        let said = fixture.run(&line).await;
        let (files, kept) = said.trim().split_once('\n').unwrap();
        assert!(files.trim().parse::<usize>().unwrap() >= n, "{n}: {files} files");
        assert_eq!(kept, base);
        commits.insert(base);
    }
    assert!(commits.len() < 12, "each had a look of its own");
}

#[tokio::test]
async fn what_does_not_travel_is_told() {
    let fixture = Fixture::new(&[("a", "a\n"), (".gitignore", "*.o\ntarget/\n.env\n")]);
    fixture.put("target/x", "x");
    fixture.put(".env", "x");
    fixture.put(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    fixture.put("b.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n");
    fixture.put("c.bin", "real");
    let submodule = format!(
        "git init -q ../sub && git -C ../sub {IDENTITY} commit -q --allow-empty -m s && {REPOSITORY} && \
         git {IDENTITY} -c protocol.file.allow=always submodule add -q ../sub sub 2>/dev/null && git {IDENTITY} commit -qm sub"
    );
    fixture.run(&submodule).await;
    let expected = [
        "Files that git ignores are not here: .env, target/.",
        "The folders of submodules are empty: sub.",
        "Git LFS keeps the contents of these files elsewhere: b.bin.",
    ];
    // The same again is remembered.
    for _ in 0..2 {
        let sent = snapshot(&fixture.at("."), &fixture.at("target/checkouts"), BRANCH, &[]).await.unwrap();
        assert_eq!(sent.not_sent(), expected);
    }
    let depot = fixture.depot(false).await;
    let (sent, _) = fixture.send(&depot, &fixture.at(".")).await;
    let checkout = depot.check_out(&sent.base, "", "one").await.unwrap();
    assert_eq!(fs::read_dir(checkout.folder.join("sub")).unwrap().count(), 0);
    assert_eq!(depot.finish(&checkout, "none").await.unwrap(), None);
    fs::write(checkout.folder.join("a"), "b\n").unwrap();
    fixture.fetch(&depot, &checkout, &sent.base).await.unwrap().unwrap();
    assert!(fixture.run(&format!("git ls-tree {BRANCH} sub")).await.starts_with("160000"));
}

#[tokio::test]
async fn a_snapshot_is_kept_and_changes_nothing_else() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    let none = snapshot(&fixture.at("."), &fixture.checkouts(), BRANCH, &[]).await;
    assert!(matches!(none, Err(WorkspaceError::NotARepository)), "{none:?}");
    fixture.run(REPOSITORY).await;
    fixture.put("a", "two\n");
    let own = fixture.own_state().await;
    let sent = snapshot(&fixture.at("."), &fixture.checkouts(), BRANCH, &[]).await.unwrap().sent;
    let bad = snapshot(&fixture.at("."), &fixture.checkouts(), "main", &[]).await;
    assert!(matches!(bad, Err(WorkspaceError::Git(GitError::NotOurs))), "{bad:?}");
    assert_eq!(fixture.own_state().await, own);
    fixture.run("git gc -q --prune=now").await;
    assert_eq!(fixture.run("git rev-parse refs/posse/sent/s1/far").await.trim(), sent.base);
    assert_eq!(snapshot(&fixture.at("."), &fixture.checkouts(), BRANCH, &[]).await.unwrap().sent, sent);
    let before = state(&fixture.at(".")).await;
    let missing = pack(&fixture.at("."), &"1".repeat(40), &[], &fixture.file("x")).await;
    assert!(matches!(missing, Err(WorkspaceError::Git(GitError::NoSuchCommit))), "{missing:?}");
    assert_eq!((state(&fixture.at(".")).await, fixture.file("x").exists()), (before, false));
}

#[tokio::test]
async fn files_are_put_where_they_belong_and_nowhere_else() {
    let fixture = Fixture::new(&[("pkg/a", "one\n"), ("pkg/gone", "g\n"), ("pkg/dir/f", "f\n")]);
    fixture.run(&format!("ln -s {} pkg/out; {REPOSITORY}", fixture.outside().display())).await;
    let depot = fixture.depot(false).await;
    let (sent, _) = fixture.send(&depot, &fixture.at("pkg")).await;
    let checkout = depot.check_out(&sent.base, &sent.inside, "one").await.unwrap();
    let file = |mode, text: &str| Some(Entry { mode, bytes: text.as_bytes().to_vec() });
    let files = [
        ("a", file(Mode::File, "new\n")),
        ("run", file(Mode::Program, "#!/bin/sh\n")),
        ("link", file(Mode::Link, "a")),
        ("gone", None),
        ("never/was", None),
        ("dir/f", None),
        ("dir", file(Mode::File, "now a file\n")),
        ("deep/er/x", file(Mode::File, "x\n")),
    ];
    let files = files.map(|(path, entry)| (path.to_owned(), entry)).to_vec();
    depot.put_files(&checkout, files).await.unwrap();
    let text = |path: &str| fs::read_to_string(checkout.folder.join(path)).unwrap();
    assert_eq!(
        (text("a"), text("dir"), text("deep/er/x")),
        ("new\n".into(), "now a file\n".into(), "x\n".into())
    );
    assert_eq!(fs::metadata(checkout.folder.join("run")).unwrap().permissions().mode() & 0o100, 0o100);
    assert!(checkout.folder.join("link").is_symlink() && !checkout.folder.join("gone").exists());
    let bad =
        ["../x", "/etc/x", ".git", ".git/config", "dir/.GIT/x", "out/secret", "a/../../x", "", ".", "x//y"];
    let mut refused = 0;
    for path in bad {
        let put = depot.put_files(&checkout, vec![(path.to_owned(), file(Mode::File, "evil"))]).await;
        assert!(put.is_err(), "{path}");
        refused += 1;
    }
    assert_eq!(refused, 10);
    assert_eq!(fs::read_to_string(fixture.file("secret")).unwrap(), "secret");
    for bad in ["../..", "/", "pkg/../..", ".git", "pkg/out", "x//y"] {
        let other = depot.check_out(&sent.base, bad, "two").await;
        assert!(other.is_err(), "{bad}");
    }
    assert!(depot.check_out(&sent.base, "", "one").await.is_err(), "the name is taken");
    for bad in ["", "a/b", "..", "a b", ".x", "x.lock"] {
        assert!(depot.check_out(&sent.base, "", bad).await.is_err(), "{bad}");
    }
    assert!(depot.check_out(&"1".repeat(40), "", "two").await.is_err());
    assert!(depot.check_out("main", "", "two").await.is_err());
    assert!(depot.check_out(&sent.base, "not/there/yet", "two").await.unwrap().folder.is_dir());
}

#[tokio::test]
async fn what_a_crash_left_is_committed_or_cleared() {
    let fixture = Fixture::new(&[("a", "one\n"), (".gitignore", "ignored\n")]);
    fixture.run(REPOSITORY).await;
    let depot = fixture.depot(false).await;
    let (sent, _) = fixture.send(&depot, &fixture.at(".")).await;
    let worked = depot.check_out(&sent.base, "", "worked").await.unwrap();
    let idle = depot.check_out(&sent.base, "", "idle").await.unwrap();
    let half = depot.check_out(&sent.base, "", "half").await.unwrap();
    let waiting = depot.check_out(&sent.base, "", "waiting").await.unwrap();
    let closed = depot.check_out(&sent.base, "", "closed").await.unwrap();
    fs::write(worked.folder.join("a"), "work\n").unwrap();
    shell(&closed.folder, "mkdir -p x/y && touch x/y/z && chmod 0 x/y x").await;
    depot.release(closed, false).await.unwrap();
    depot.release(waiting.clone(), false).await.unwrap();
    let tip = depot.finish(&idle, "none").await.unwrap();
    assert_eq!(tip, None);
    drop(depot);
    let folder = fixture.file("depot");
    let record = |name: &Path| {
        let slot = name.file_name().unwrap().to_str().unwrap();
        folder.join(format!("checkouts/.posse-view/checkouts/{slot}.record"))
    };
    let text = fs::read_to_string(record(&half.top)).unwrap();
    fs::write(record(&half.top), text.replace("ready", "making")).unwrap();
    fs::create_dir_all(folder.join("checkouts/77/x")).unwrap();
    fs::create_dir_all(folder.join("incoming/half")).unwrap();
    let depot = Depot::open(&folder, false).await.unwrap();
    let results = depot.results().await.unwrap();
    assert_eq!(results.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["worked"]);
    assert_eq!(shell(&folder.join("repository"), &format!("git show {}:a", results[0].1)).await, "work\n");
    assert_eq!(depot.has().await.unwrap(), std::slice::from_ref(&sent.base));
    let left = shell(&folder, "ls checkouts incoming; git -C repository branch -a").await;
    let pool: Vec<&str> = left.lines().filter(|line| line.parse::<usize>().is_ok()).collect();
    assert_eq!(pool.len(), 2, "{left}");
    assert!(!left.contains("77") && !left.contains("posse/work"), "{left}");
    let again = depot.check_out(&sent.base, "", "again").await.unwrap();
    assert_eq!(contents(&again.folder), contents(&fixture.at(".")));
    drop(depot);
    assert!(Depot::open(&folder, true).await.is_err());
}

#[tokio::test]
async fn a_depot_becomes_smaller() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    fixture.run(REPOSITORY).await;
    let depot = fixture.depot(false).await;
    for _ in 0..20 {
        fixture.run("head -c 100000 /dev/urandom > large").await;
        let (sent, _) = fixture.send(&depot, &fixture.at(".")).await;
        assert_eq!(depot.has().await.unwrap()[0], sent.base);
    }
    let has = depot.has().await.unwrap();
    assert_eq!(has.len(), 16);
    let checkout = depot.check_out(&has[3], "", "one").await.unwrap();
    fs::write(checkout.folder.join("a"), "work\n").unwrap();
    let tip = depot.finish(&checkout, "work").await.unwrap().unwrap();
    depot.release(checkout, false).await.unwrap();
    let before = depot.size_bytes().await.unwrap();
    assert!(before > 2_000_000, "{before}");
    assert_eq!(depot.prune(before).await.unwrap(), before);
    let after = depot.prune(100_000).await.unwrap();
    assert!(after < 600_000, "{after}");
    assert_eq!(depot.has().await.unwrap().len(), 1);
    let checkout = depot.check_out(&tip, "", "two").await.unwrap();
    assert_eq!(fs::read_to_string(checkout.folder.join("a")).unwrap(), "work\n");
}
