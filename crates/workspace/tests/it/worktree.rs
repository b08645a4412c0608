//! Checkouts of agents that work apart: what they start from, what becomes of their work, and that nothing else changes.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use posse_protocol::{Branch, Conflict};
use posse_workspace::{
    Workspace, WorkspaceError,
    worktree::{Checkout, Merge, check_out, finish, merge, resume, sweep},
};

use crate::{Fixture, REPOSITORY, contents, shell};

const DIFF_BYTES: usize = 10_000;

impl Fixture {
    pub(crate) fn checkouts(&self) -> PathBuf {
        self.outside().join("checkouts")
    }

    pub(crate) async fn apart(&self, name: &str) -> Checkout {
        check_out(&self.at("."), &self.checkouts(), &format!("posse/s1/{name}")).await.unwrap()
    }

    /// An agent's work in a checkout of its own, from start to end.
    pub(crate) async fn work(&self, name: &str, files: &[(&str, &str)]) -> Branch {
        let checkout = self.apart(name).await;
        for (path, content) in files {
            fs::create_dir_all(checkout.folder.join(path).parent().unwrap()).unwrap();
            fs::write(checkout.folder.join(path), content).unwrap();
        }
        finish(&checkout, "work", DIFF_BYTES).await.unwrap().unwrap()
    }

    /// What must never change: the person's index, HEAD, stash and settings.
    pub(crate) async fn own_state(&self) -> String {
        let paths = ".git/index .git/HEAD .git/config .git/refs/stash .git/logs/HEAD .git/logs/refs/heads/main .git/logs/refs/stash .git/hooks .git/refs/heads/main";
        self.run(&format!("find {paths} -type f 2>/dev/null | sort | xargs sha1sum || true")).await
    }

    /// What is left of checkouts.
    pub(crate) async fn leftovers(&self) -> String {
        let line = "ls checkouts 2>/dev/null; ls project/.git/worktrees 2>/dev/null; \
                    ls checkouts/.posse-view/checkouts 2>/dev/null; true";
        shell(self.outside(), line).await
    }
}

#[tokio::test]
async fn a_checkout_is_what_the_session_sees() {
    // What is done to the repository before.
    let cases = [
        ("clean", "true"),
        ("no commit", "rm -rf .git && git init -q -b main ."),
        ("dirty", "echo changed > a; echo new > new; rm dir/b; chmod +x dir/c"),
        ("staged", "echo changed > a; git add a; echo again > a; git rm -q --cached dir/b"),
        ("links", "ln -s a link; ln -s nowhere dangling; ln -s / root; ln -s dir folder"),
        (
            "filters",
            "echo '* filter=x' > .gitattributes; git config filter.x.smudge 'tr a-z A-Z'; git config filter.x.required true",
        ),
        (
            "line ends",
            "printf 'a\\r\\nb\\n' > crlf; echo '* text=auto eol=crlf' > .gitattributes; git config core.autocrlf true",
        ),
        ("odd names", "printf x > $'odd\\nname'; printf x > 'sp ace'; printf x > -dash; printf x > $'\\xff'"),
        ("detached", "git checkout -q --detach"),
        (
            "middle of a merge",
            "git checkout -qb o && echo o > a && git -c user.name=a -c user.email=a@b commit -qam o && git checkout -q main && echo m > a && git -c user.name=a -c user.email=a@b commit -qam m && ! git merge -q o 2>/dev/null",
        ),
        ("sparse", "git update-index --assume-unchanged a && echo hidden > a"),
        ("a nested repository", "git init -q nested && echo n > nested/n"),
        (
            "lfs",
            "echo '*.bin filter=lfs diff=lfs merge=lfs -text' > .gitattributes; printf 'real bytes' > x.bin; git config filter.lfs.clean 'echo pointer'; git add -A",
        ),
        ("a stash", "echo s > a && git -c user.name=a -c user.email=a@b stash -q && echo after > a"),
    ];
    let mut checked = 0;
    for (name, before) in cases {
        let fixture =
            Fixture::new(&[("a", "one\n"), ("dir/b", "b\n"), ("dir/c", "c\n"), (".gitignore", "ignored\n")]);
        fixture.run(&format!("{REPOSITORY}; {before}")).await;
        let (session, own) = (contents(&fixture.at(".")), fixture.own_state().await);
        fixture.put("ignored", "not taken along");
        let checkout = fixture.apart("one").await;
        assert_eq!(contents(&checkout.folder), session, "{name}");
        assert_eq!(finish(&checkout, "nothing", DIFF_BYTES).await.unwrap(), None, "{name}");
        // Again, and now with work.
        let checkout = fixture.apart("one").await;
        fs::write(checkout.folder.join("a"), "work\n").unwrap();
        let branch = finish(&checkout, "work", DIFF_BYTES).await.unwrap().unwrap();
        assert!(branch.diff.contains("+work"), "{name}: {}", branch.diff);
        assert_eq!(fixture.run(&format!("git show {}:a", branch.name)).await, "work\n", "{name}");
        fs::remove_file(fixture.at("ignored")).unwrap();
        assert_eq!((contents(&fixture.at(".")), fixture.own_state().await), (session, own), "{name}");
        assert_eq!(fixture.leftovers().await, "", "{name}");
        checked += 1;
    }
    assert_eq!(checked, 14);
}

#[tokio::test]
async fn a_subfolder_a_checkout_and_a_submodule_work_too() {
    let fixture = Fixture::new(&[("pkg/a", "a\n"), ("top", "t\n")]);
    let identity = "-c user.name=a -c user.email=a@b -c protocol.file.allow=always";
    fixture
        .run(&format!(
            "git init -q ../sub && cd ../sub && echo s > s && git add . && git {identity} commit -qm s && \
             cd ../project && {REPOSITORY} && git {identity} submodule add -q ../sub sub 2>/dev/null && \
             git {identity} commit -qm sub && git worktree add -q ../second"
        ))
        .await;
    let gitlink = fixture.run("git ls-files -s sub").await;
    let mut checked = 0;
    for folder in ["project", "project/pkg", "second", "second/pkg", "project/sub"] {
        let session = fixture.outside().join(folder);
        let into = fixture.outside().join("into").join(folder.replace('/', "-"));
        fs::write(session.join("new"), "new\n").unwrap();
        let checkout = check_out(&session, &into, "posse/s1/x").await.unwrap();
        assert_eq!(fs::read_to_string(checkout.folder.join("new")).unwrap(), "new\n", "{folder}");
        fs::write(checkout.folder.join("new"), "changed\n").unwrap();
        let branch = finish(&checkout, "work", DIFF_BYTES).await.unwrap().unwrap();
        if folder == "project" {
            let kept = fixture.run(&format!("git ls-tree {} sub", branch.tip)).await;
            assert_eq!(kept.split_whitespace().nth(2), gitlink.split_whitespace().nth(1), "{kept}");
            assert!(!branch.diff.contains("sub"), "{}", branch.diff);
        }
        let workspace = Workspace::open(&session).unwrap();
        let merged = merge(&workspace, None, &branch).await.unwrap();
        assert!(merged.merged, "{folder} {merged:?}");
        assert_eq!(fs::read_to_string(session.join("new")).unwrap(), "changed\n", "{folder}");
        shell(&session, "git branch -qD posse/s1/x").await;
        checked += 1;
    }
    assert_eq!(checked, 5);
}

#[tokio::test]
async fn files_go_in_a_repository_with_long_names_too() {
    let fixture = Fixture::new(&[("a", "a\n"), ("b", "b\n")]);
    fixture.run(&format!("export GIT_DEFAULT_HASH=sha256; {REPOSITORY}")).await;
    let checkout = fixture.apart("x").await;
    fs::remove_file(checkout.folder.join("b")).unwrap();
    let branch = finish(&checkout, "work", DIFF_BYTES).await.unwrap().unwrap();
    assert_eq!(fixture.run(&format!("git ls-tree --name-only {}", branch.tip)).await, "a\n");
}

#[tokio::test]
async fn no_repository_is_said_so() {
    let fixture = Fixture::new(&[("a", "a")]);
    let refused = check_out(&fixture.at("."), &fixture.checkouts(), "posse/s1/x").await;
    assert!(matches!(refused, Err(WorkspaceError::NotARepository)), "{refused:?}");
    fixture.run(REPOSITORY).await;
    for bad in [
        "main",
        "posse",
        "posse/",
        "posse/../main",
        "posse/a.lock",
        "posse/-x",
        "posse/a b",
        "posse/é",
        "posse//x",
    ] {
        assert!(check_out(&fixture.at("."), &fixture.checkouts(), bad).await.is_err(), "{bad}");
    }
    let first = fixture.apart("x").await;
    assert!(check_out(&fixture.at("."), &fixture.checkouts(), "posse/s1/x").await.is_err());
    assert!(first.folder.join("a").exists());
}

#[tokio::test]
async fn repositories_that_lead_elsewhere_are_refused() {
    let cases = [
        ("a file that points to another", "rm -rf .git && echo \"gitdir: $PWD/../victim/.git\" > .git"),
        ("a link to another", "rm -rf .git && ln -s ../victim/.git .git"),
        ("objects of another", "echo ../../victim/.git > .git/commondir"),
        ("files of another", "git config core.worktree ../../victim"),
        (
            "a made-up checkout",
            "rm -rf .git && mkdir -p ../victim/.git/worktrees/x && cd ../victim/.git/worktrees/x && echo ../.. > commondir && echo 'ref: refs/heads/main' > HEAD && echo /nowhere/.git > gitdir && echo \"gitdir: $PWD\" > ../../../../project/.git",
        ),
    ];
    let mut checked = 0;
    for (name, before) in cases {
        let fixture = Fixture::new(&[("a", "a")]);
        fixture.run(&format!("mkdir ../victim && cd ../victim && echo v > v && {REPOSITORY} && cd ../project && {REPOSITORY}")).await;
        fixture.run(before).await;
        let state = || shell(fixture.outside(), "find victim -type f | sort | xargs sha1sum");
        let victim = state().await;
        assert!(check_out(&fixture.at("."), &fixture.checkouts(), "posse/s1/x").await.is_err(), "{name}");
        let branch = Branch {
            name: "posse/s1/x".into(),
            base: "0".repeat(40),
            tip: "0".repeat(40),
            diff: String::new(),
        };
        assert!(merge(&fixture.workspace, None, &branch).await.is_err(), "{name}");
        assert!(sweep(&fixture.at("."), fixture.outside()).await.is_err(), "{name}");
        let checkpoints = fixture.checkpoints().await;
        checkpoints.look(None).await.unwrap();
        assert_eq!(state().await, victim, "{name}");
        checked += 1;
    }
    assert_eq!(checked, 5);
}

#[tokio::test]
async fn work_goes_on_on_the_same_branch() {
    let fixture = Fixture::new(&[("a", "one\n")]);
    fixture.run(REPOSITORY).await;
    fixture.put("a", "uncommitted\n");
    let branch = fixture.work("x", &[("b", "first\n")]).await;
    fixture.put("a", "changed since\n");
    let checkout = resume(&fixture.at("."), &fixture.checkouts(), &branch).await.unwrap();
    assert_eq!(fs::read_to_string(checkout.folder.join("a")).unwrap(), "uncommitted\n");
    assert_eq!(fs::read_to_string(checkout.folder.join("b")).unwrap(), "first\n");
    assert_eq!(finish(&checkout, "nothing", DIFF_BYTES).await.unwrap(), Some(branch.clone()));
    let checkout = resume(&fixture.at("."), &fixture.checkouts(), &branch).await.unwrap();
    shell(&checkout.folder, "git status --porcelain | grep -q . && exit 1; echo c > c; git add c; git -c user.name=a -c user.email=a@b commit -qm own").await;
    fs::write(checkout.folder.join("b"), "second\n").unwrap();
    let more = finish(&checkout, "more", DIFF_BYTES).await.unwrap().unwrap();
    assert_eq!((&more.name, &more.base), (&branch.name, &branch.base));
    let log = fixture.run(&format!("git log --format=%s {}..{}", more.base, more.name)).await;
    assert_eq!(log, "more\nown\nwork\n");
    assert!(more.diff.contains("+second") && more.diff.contains("+c"));
    let merged = merge(&fixture.workspace, None, &more).await.unwrap();
    assert!(merged.merged, "{merged:?}");
    let texts = (fixture.text("a"), fixture.text("b"), fixture.text("c"));
    assert_eq!(texts, ("changed since\n".into(), "second\n".into(), "c\n".into()));
}

#[tokio::test]
async fn clean_hunks_go_in_and_conflicts_stay_on_the_branch() {
    let fixture =
        Fixture::new(&[("a", "1\n2\n3\n4\n5\n6\n7\n"), ("gone", "x\n"), ("same", "s\n"), ("kept", "k\n")]);
    fixture.run(REPOSITORY).await;
    let checkout = fixture.apart("x").await;
    fs::write(checkout.folder.join("a"), "one\n2\n3\n4\n5\n6\nseven\n").unwrap();
    fs::write(checkout.folder.join("gone"), "changed\n").unwrap();
    fs::write(checkout.folder.join("same"), "both\n").unwrap();
    fs::write(checkout.folder.join("new"), "new\n").unwrap();
    fs::remove_file(checkout.folder.join("kept")).unwrap();
    fs::set_permissions(checkout.folder.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
    symlink("a", checkout.folder.join("link")).unwrap();
    let branch = finish(&checkout, "work", DIFF_BYTES).await.unwrap().unwrap();
    fixture.put("a", "1\n2\n3\n4\n5\n6\nSEVEN\n");
    fixture.put("same", "both\n");
    fs::remove_file(fixture.at("gone")).unwrap();
    let own = fixture.own_state().await;
    let checkpoints = fixture.checkpoints().await;
    let before = contents(&fixture.at("."));
    let merged = merge(&fixture.workspace, Some(&checkpoints), &branch).await.unwrap();
    let conflict = |path: &str, text: &str| Conflict { path: path.into(), text: text.into() };
    let conflicts = vec![
        conflict("a", "<<<<<<< here\nSEVEN\n=======\nseven\n>>>>>>> the other side\n"),
        conflict("gone", "gone here, but changed by the other side:\nchanged\n"),
    ];
    let paths: Vec<&str> = merged.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(
        (paths, &merged.conflicts, merged.merged),
        (vec!["a", "kept", "link", "new"], &conflicts, false)
    );
    assert_eq!(fixture.text("a"), "one\n2\n3\n4\n5\n6\nSEVEN\n");
    assert!(!fixture.at("kept").exists() && !fixture.at("gone").exists() && fixture.at("link").is_symlink());
    assert_eq!(fs::metadata(fixture.at("new")).unwrap().permissions().mode() & 0o111, 0o111);
    // Once more changes nothing, the branch is still there, and all of it can be undone.
    let after = contents(&fixture.at("."));
    let again = merge(&fixture.workspace, Some(&checkpoints), &branch).await.unwrap();
    assert_eq!(again, Merge { changes: vec![], conflicts, merged: false });
    assert_eq!(contents(&fixture.at(".")), after);
    assert_eq!(fixture.run(&format!("git show {}:gone", branch.name)).await, "changed\n");
    assert_eq!(fixture.own_state().await, own);
    assert_eq!(checkpoints.undo(&merged.changes).await.unwrap().conflicts, []);
    assert_eq!(contents(&fixture.at(".")), before);
}

#[tokio::test]
async fn a_merge_writes_nothing_outside_or_protected() {
    let fixture = Fixture::new(&[("dir/f", "f\n"), ("pkg/p", "p\n")]);
    fixture.run(REPOSITORY).await;
    let files =
        [("dir/f", "evil\n"), (".bashrc", "evil\n"), (".vscode/tasks.json", "evil\n"), ("ok", "ok\n")];
    let branch = fixture.work("x", &files).await;
    let outside = fixture.outside().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "f\n").unwrap();
    fs::remove_dir_all(fixture.at("dir")).unwrap();
    symlink(&outside, fixture.at("dir")).unwrap();
    let merged = merge(&fixture.workspace, None, &branch).await.unwrap();
    let paths: Vec<&str> = merged.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert_eq!(paths, [".bashrc", ".vscode/tasks.json", "dir/f"]);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "f\n");
    assert!(!fixture.at(".bashrc").exists() && !fixture.at(".vscode").exists() && fixture.at("ok").exists());
    // A session in a subfolder takes only what is in it.
    let inner = Workspace::open(fixture.at("pkg")).unwrap();
    let merged = merge(&inner, None, &branch).await.unwrap();
    assert_eq!((merged.changes.len(), merged.conflicts.len()), (0, 4));
}

#[tokio::test]
async fn what_a_crash_left_is_committed_or_removed() {
    let fixture = Fixture::new(&[("a", "one\n"), ("b", "b\n")]);
    fixture.run(REPOSITORY).await;
    let (worked, idle, half, gone) = (
        fixture.apart("worked").await,
        fixture.apart("idle").await,
        fixture.apart("half").await,
        fixture.apart("gone").await,
    );
    fs::write(worked.folder.join("a"), "work\n").unwrap();
    // One whose files were not all there yet, and one whose folder somebody deleted.
    let record = fixture.checkouts().join(".posse-view/checkouts/s1--half.record");
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace("ready", "making")).unwrap();
    fs::remove_file(half.folder.join("a")).unwrap();
    fs::remove_dir_all(&gone.top).unwrap();
    let foreign = fixture.checkouts().join("somebody-elses");
    fs::create_dir(&foreign).unwrap();
    shell(&fixture.at("."), "git worktree add -q ../mine").await;
    let swept = sweep(&fixture.at("."), &fixture.checkouts()).await.unwrap();
    assert_eq!((swept.removed, &swept.failed[..], swept.branches.len()), (4, &[][..], 1), "{swept:?}");
    assert_eq!(swept.branches[0].name, worked.branch);
    assert_eq!(fixture.run(&format!("git show {}:a", worked.branch)).await, "work\n");
    assert_eq!(
        fixture.run("git branch --list 'posse/*' --format='%(refname:short)'").await,
        "posse/s1/worked\n"
    );
    assert!(!idle.top.exists() && foreign.is_dir());
    assert_eq!(fixture.leftovers().await, "somebody-elses\nmine\n");
    assert_eq!(sweep(&fixture.at("."), &fixture.checkouts()).await.unwrap().removed, 0);
    assert_eq!(sweep(&fixture.at("."), Path::new("/nowhere")).await.unwrap().removed, 0);
}
