//! A folder that was used before: nothing of the former agent is in it, whatever that agent did.

use std::{collections::BTreeMap, fs, os::unix::fs::MetadataExt, path::Path, sync::Arc};

use posse_workspace::bundle::{TakeLimits, snapshot};
use posse_workspace::limits::DEPOT_POOL_MAX;

use crate::{Fixture, REPOSITORY, shell};

/// What a former agent does, by a line of shell in its checkout.
const TRACES: &[(&str, &str)] = &[
    ("nothing", "true"),
    ("untracked files", "echo x > x; mkdir -p deep/er; echo y > deep/er/y; mkdir empty"),
    ("ignored files", "echo x > ignored; mkdir -p dir/ignored; echo y > dir/ignored/y"),
    ("more ignored files", "echo '*' > .gitignore; echo x > x; echo secret > dir/secret"),
    ("changed files", "echo changed > a; rm dir/b; echo x >> dir/c"),
    (
        "a file that is as long and as old as before",
        "touch -r a ref; printf 'ONE\\n' > a; touch -r ref a; rm ref",
    ),
    ("executable bits", "chmod +x a; chmod -x tool"),
    ("other permissions", "chmod 666 a; chmod 600 dir/b; chmod 4755 tool; chmod 777 dir; chmod 1777 ."),
    ("closed folders", "mkdir -p shut/in; echo x > shut/in/x; chmod 0 shut/in; chmod 0 shut; chmod 0 dir"),
    ("links", "rm -r dir; ln -s / dir; rm a; ln -s ../../../secret a; ln -s . loop"),
    ("a folder for a file", "rm a; mkdir a; echo x > a/x"),
    ("a file for a folder", "rm -r dir; echo x > dir"),
    ("hard links", "ln a other; ln a dir/again"),
    ("pipes", "mkfifo pipe; rm a; mkfifo a"),
    ("odd names", "printf x > $'odd\\nname'; printf x > $'\\xff'; printf x > '--help'"),
    ("a nested repository", "git init -q nested; echo x > nested/x"),
    ("a repository in a tracked folder", "git init -q dir; echo x > dir/.git/hooks/pre-commit"),
    ("a bare repository", "git init -q --bare bare"),
    (
        "settings and hooks",
        "git config core.fsmonitor /bin/false; git config user.name evil; mkdir -p $(git rev-parse --git-common-dir)/hooks; \
         printf '#!/bin/sh\\n' > $(git rev-parse --git-common-dir)/hooks/pre-commit; \
         mkdir -p $(git rev-parse --git-common-dir)/info; echo '*' > $(git rev-parse --git-common-dir)/info/exclude",
    ),
    (
        "settings of the checkout",
        "git config extensions.worktreeConfig true; git config --worktree core.hooksPath /tmp; \
         git config --worktree core.sparseCheckout true",
    ),
    (
        "git's own folder",
        "d=$(git rev-parse --git-dir); echo x > $d/MERGE_HEAD; mkdir -p $d/rebase-merge $d/info; echo x > $d/locked; \
         echo a > $d/info/sparse-checkout; echo junk > $d/index; ln -s / $d/hooks; mkdir -p $d/refs/worktree",
    ),
    (
        "flags in the index",
        "git update-index --assume-unchanged a --skip-worktree dir/b; echo x > a; echo x > dir/b",
    ),
    ("no .git", "rm .git"),
    ("another .git", "rm .git; git init -q ."),
    ("a .git that is a link", "mv .git real; ln -s real .git"),
    (
        "branches, tags and a stash",
        "echo x > a; git -c user.name=a -c user.email=a@b stash -q; git branch other; git tag one; \
         git -c user.name=a -c user.email=a@b notes add -m note",
    ),
    ("commits", "echo x > committed; git add -A; git -c user.name=a -c user.email=a@b commit -qm own"),
    (
        "a detached head",
        "git checkout -q --detach; echo x > a; git -c user.name=a -c user.email=a@b commit -qam own",
    ),
    ("everything removed", "rm -rf -- * .gitignore"),
    (
        "an attribute",
        "setfattr -n user.trace -v x dir 2>/dev/null || true; setfattr -n user.trace -v x a 2>/dev/null || true",
    ),
];

#[tokio::test]
async fn a_used_folder_has_no_trace_of_the_former_agent() {
    let files =
        [("a", "one\n"), ("dir/b", "b\n"), ("dir/c", "c\n"), ("tool", "t\n"), (".gitignore", "ignored\n")];
    let fixture = Fixture::new(&files);
    fixture.run(&format!("chmod +x tool; ln -s a link; {REPOSITORY}")).await;
    let depot = fixture.depot(false).await;
    let (first, _) = fixture.send(&depot, &fixture.at(".")).await;
    fixture.run("echo two > dir/b; echo new > new; rm dir/c").await;
    let (second, _) = fixture.send(&depot, &fixture.at(".")).await;
    // What new folders are like, of both commits.
    let mut expected = Vec::new();
    for sent in [&first, &second] {
        let fresh = depot.check_out(&sent.base, "", "fresh").await.unwrap();
        expected.push(looks(&fresh.top).await);
        // So that no folder waits.
        shell(&fresh.top, "rm .git").await;
        depot.release(fresh, false).await.unwrap();
    }
    let (mut checked, mut reused) = (0, 0);
    for (name, line) in TRACES {
        let former = depot.check_out(&first.base, "", "former").await.unwrap();
        let inode = fs::metadata(&former.top).unwrap().ino();
        shell(&former.folder, line).await;
        let finished = depot.finish(&former, "work").await;
        assert!(finished.is_ok() || name.contains(".git"), "{name}: {finished:?}");
        depot.release(former, false).await.unwrap();
        for (sent, expected) in [(&first, &expected[0]), (&second, &expected[1])] {
            let next = depot.check_out(&sent.base, "", "fresh").await.unwrap();
            assert_eq!(&looks(&next.top).await, expected, "{name}");
            reused += usize::from(fs::metadata(&next.top).unwrap().ino() == inode);
            depot.release(next, false).await.unwrap();
        }
        checked += 1;
    }
    assert_eq!(fs::read_to_string(fixture.file("secret")).unwrap(), "secret");
    assert_eq!(checked, 30);
    // Where there was any doubt, the folder is a new one; mostly there was none.
    assert!(reused >= 2 * 20, "{reused}");
}

/// Everything about a checkout that an agent could see: files with their permissions, and what git says.
async fn looks(top: &Path) -> BTreeMap<String, String> {
    let line = "find . -path ./.git -prune -o -printf '%p %y %m %n %l ' -type f -exec sha1sum {} ';' -o -printf '\\n' | sort; \
                find . -name .git";
    let mut found = BTreeMap::from([("files".to_owned(), shell(top, line).await)]);
    let questions = [
        "git status --porcelain --ignored; git stash list; git log --format=%s",
        "git symbolic-ref HEAD; git for-each-ref --format='%(refname)' | grep -v -e refs/posse/ ",
        "git config --list --show-scope; git ls-files -v",
        "cd $(git rev-parse --git-dir) && find . -type f -o -type l | grep -v -e logs/ | sort; cat commondir",
        "cd $(git rev-parse --git-common-dir) && ls -d hooks/* info/* modules/* 2>/dev/null || true",
        "getfattr -R -d . 2>/dev/null || true",
    ];
    for question in questions {
        found.insert(question.to_owned(), shell(top, question).await);
    }
    found
}

#[tokio::test]
async fn a_few_folders_wait_and_agents_do_not_disturb_each_other() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    fixture.run(REPOSITORY).await;
    let depot = fixture.depot(false).await;
    let (sent, _) = fixture.send(&depot, &fixture.at(".")).await;
    let names: Vec<String> = (0..DEPOT_POOL_MAX + 2).map(|n| format!("agent-{n}")).collect();
    let checkouts = futures(names.iter().map(|name| depot.check_out(&sent.base, "", name))).await;
    for (at, checkout) in checkouts.iter().enumerate() {
        fs::write(checkout.folder.join("a"), format!("{at}\n")).unwrap();
    }
    let mut tips = Vec::new();
    for checkout in &checkouts {
        tips.push(depot.finish(checkout, "work").await.unwrap().unwrap());
    }
    for (at, tip) in tips.iter().enumerate() {
        let text = shell(&fixture.file("depot/repository"), &format!("git show {tip}:a")).await;
        assert_eq!(text, format!("{at}\n"));
    }
    futures(checkouts.into_iter().map(|checkout| depot.release(checkout, false))).await;
    let left =
        shell(&fixture.file("depot"), "ls checkouts | wc -l; ls repository/.git/worktrees | wc -l").await;
    assert_eq!(left, format!("{DEPOT_POOL_MAX}\n{DEPOT_POOL_MAX}\n"));
    assert_eq!(depot.results().await.unwrap().len(), names.len());
}

/// All at once.
async fn futures<T, E: std::fmt::Debug>(
    all: impl Iterator<Item = impl Future<Output = Result<T, E>>>,
) -> Vec<T> {
    let mut waiting: Vec<_> = all.map(Box::pin).collect();
    let mut done: Vec<Option<T>> = waiting.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (one, done) in waiting.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(result) = one.as_mut().poll(context)
            {
                *done = Some(result.unwrap());
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn agents_that_begin_at_the_same_time_bring_a_commit_once() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    fixture.run(REPOSITORY).await;
    fixture.put("untracked", "new\n");
    let depot = Arc::new(fixture.depot(false).await);
    let begun: Vec<_> = (0..8)
        .map(|n| {
            let (folder, into, to) =
                (fixture.at("."), fixture.checkouts(), fixture.file(&format!("{n}.bundle")));
            let depot = Arc::clone(&depot);
            tokio::spawn(async move {
                let sent = snapshot(&folder, &into, &format!("posse/s1/number{n}"), &[]).await.unwrap();
                let base = sent.sent.base.clone();
                assert_eq!(sent.pack(&base, &to).await.unwrap(), fs::metadata(&to).unwrap().len());
                depot.receive(&to, &base, TakeLimits::default()).await.unwrap();
                let checkout = depot.check_out(&base, "", &n.to_string()).await.unwrap();
                assert_eq!(fs::read_to_string(checkout.folder.join("untracked")).unwrap(), "new\n");
                fs::remove_file(&to).unwrap();
                base
            })
        })
        .collect();
    let mut bases = Vec::new();
    for begun in begun {
        bases.push(begun.await.unwrap());
    }
    assert_eq!(bases, vec![bases[0].clone(); 8]);
    assert_eq!(depot.has().await.unwrap(), [bases[0].clone()]);
    // What is there needs no bundle; what is not there comes in one that is sound.
    let nonsense = fixture.file("nonsense");
    fs::write(&nonsense, "nonsense").unwrap();
    depot.receive(&nonsense, &bases[0], TakeLimits::default()).await.unwrap();
    assert!(depot.receive(&nonsense, &"7".repeat(40), TakeLimits::default()).await.is_err());
}
