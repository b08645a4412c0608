//! Repositories that would have git run something: whatever Posse does with them, nothing runs.
//!
//! A line in [`TRAPS`] adds a case. `TRAP` stands for a program that leaves a mark when it runs, `HOOKS` for a folder
//! full of such hooks.

use std::{fs, os::unix::fs::PermissionsExt, path::Path};

use posse_protocol::Branch;
use posse_workspace::{git, worktree};

use crate::{Fixture, REPOSITORY, shell};

/// What is done to a repository, by a line of shell in it.
const TRAPS: &[(&str, &str)] = &[
    ("fsmonitor", "git config core.fsmonitor TRAP"),
    (
        "fsmonitor v2",
        "git config core.fsmonitor TRAP; git config core.fsmonitorHookVersion 2; git config core.untrackedCache true",
    ),
    ("hooksPath", "git config core.hooksPath HOOKS"),
    ("own hooks", "mkdir -p .git/hooks; cp HOOKS/* .git/hooks"),
    ("pager", "git config core.pager TRAP; git config pager.status TRAP; git config pager.diff-tree TRAP"),
    ("editor", "git config core.editor TRAP; git config sequence.editor TRAP"),
    ("sshCommand", "git config core.sshCommand TRAP; git remote add origin ssh://localhost/x"),
    ("askPass", "git config core.askPass TRAP"),
    ("credential helper", "git config credential.helper '!TRAP'"),
    (
        "gpg",
        "git config commit.gpgSign true; git config gpg.program TRAP; git config tag.gpgSign true; git config log.showSignature true",
    ),
    (
        "gpg ssh",
        "git config gpg.format ssh; git config gpg.ssh.program TRAP; git config commit.gpgSign true; git config user.signingKey x; git config gpg.ssh.defaultKeyCommand TRAP",
    ),
    ("external diff", "git config diff.external TRAP"),
    (
        "diff driver",
        "git config diff.evil.command TRAP; git config diff.evil.textconv TRAP; echo '* diff=evil' >> .gitattributes",
    ),
    (
        "cached textconv",
        "git config diff.evil.textconv TRAP; git config diff.evil.cachetextconv true; echo '* diff=evil' >> .gitattributes",
    ),
    (
        "clean filter",
        "git config filter.evil.clean TRAP; git config filter.evil.required true; echo '* filter=evil' >> .gitattributes",
    ),
    (
        "smudge filter",
        "git config filter.evil.smudge TRAP; git config filter.evil.required true; echo '* filter=evil' >> .gitattributes",
    ),
    ("process filter", "git config filter.evil.process TRAP; echo '* filter=evil' >> .gitattributes"),
    (
        "oddly named filter",
        "git config 'filter.a=b.c.clean' TRAP; git config 'filter.a=b.c.smudge' TRAP; echo '* filter=a=b.c' >> .gitattributes",
    ),
    (
        "attributes of the repository",
        "git config filter.evil.clean TRAP; git config filter.evil.smudge TRAP; mkdir -p .git/info; echo '* filter=evil diff=evil merge=evil' > .git/info/attributes",
    ),
    (
        "merge driver",
        "git config merge.evil.driver TRAP; git config merge.default evil; echo '* merge=evil' >> .gitattributes",
    ),
    (
        "alias",
        "for a in status add commit rev-parse worktree update-ref diff-tree ls-files; do git config alias.$a '!TRAP'; done",
    ),
    (
        "include",
        "printf '[core]\\n\\tfsmonitor = TRAP\\n\\thooksPath = HOOKS\\n' > .git/more; git config include.path more",
    ),
    (
        "conditional include",
        "printf '[core]\\n\\tfsmonitor = TRAP\\n[filter \"evil\"]\\n\\tclean = TRAP\\n' > .git/more; git config includeIf.gitdir:/.path \"$PWD/.git/more\"; echo '* filter=evil' >> .gitattributes",
    ),
    (
        "configuration of the checkout",
        "git config extensions.worktreeConfig true; printf '[core]\\n\\tfsmonitor = TRAP\\n\\thooksPath = HOOKS\\n[filter \"evil\"]\\n\\tsmudge = TRAP\\n' > .git/config.worktree; echo '* filter=evil' >> .gitattributes",
    ),
    (
        "nested bare repository",
        "git init -q --bare bare; git -C bare config core.fsmonitor TRAP; git -C bare config core.worktree ..; cp HOOKS/* bare/hooks",
    ),
    (
        "nested repository",
        "git init -q nested; echo n > nested/n; git -C nested config core.fsmonitor TRAP; cp HOOKS/* nested/.git/hooks; git -C nested config filter.evil.clean TRAP; echo '* filter=evil' > nested/.gitattributes",
    ),
    (
        "submodule that runs a command",
        "git init -q sub; git -C sub -c user.name=a -c user.email=a@b commit -q --allow-empty -m x; git add sub 2>/dev/null; git config submodule.sub.update '!TRAP'; git config submodule.recurse true; git config submodule.sub.active true; printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ext::TRAP\\n' > .gitmodules; git -C sub config core.fsmonitor TRAP",
    ),
    (
        "ext url",
        "git config protocol.ext.allow always; git remote add origin ext::TRAP; git config remote.origin.promisor true; git config extensions.partialClone origin; git config core.repositoryFormatVersion 1",
    ),
    (
        "promisor",
        "git remote add origin \"$PWD/../other\"; git config remote.origin.uploadpack TRAP; git config remote.origin.promisor true; git config protocol.file.allow always",
    ),
    (
        "uploadpack hook",
        "git config uploadpack.packObjectsHook TRAP; git config receive.procReceiveRefs refs",
    ),
    ("alternate refs command", "git config core.alternateRefsCommand TRAP; git config core.gitProxy TRAP"),
    (
        "gc and maintenance",
        "git config gc.auto 1; git config maintenance.auto true; git config gc.recentObjectsHook TRAP; git config maintenance.strategy incremental",
    ),
    (
        "trace",
        "git config trace2.eventTarget \"$PWD/../ran\"; git config trace2.normalTarget \"$PWD/../ran\"",
    ),
    (
        "symlinked configuration",
        "printf '[core]\\n\\tfsmonitor = TRAP\\n\\trepositoryformatversion = 0\\n' > ../config; ln -sf ../../config .git/config",
    ),
    (
        "interactive filter",
        "git config interactive.diffFilter TRAP; git config diff.tool x; git config difftool.x.cmd TRAP; git config mergetool.x.cmd TRAP; git config merge.tool x",
    ),
    (
        "split index and monitor token",
        "git config core.splitIndex true; git update-index --split-index; git config core.fsmonitor TRAP",
    ),
];

/// How many tests share the traps, so that they can run side by side.
const PARTS: usize = 3;

#[tokio::test]
async fn nothing_runs_in_the_first_part() {
    spring(0).await;
}

#[tokio::test]
async fn nothing_runs_in_the_second_part() {
    spring(1).await;
}

#[tokio::test]
async fn nothing_runs_in_the_third_part() {
    spring(2).await;
}

async fn spring(part: usize) {
    assert_eq!(TRAPS.len(), 36);
    let (mut checked, mut effective, mut finished) = (0, 0, 0);
    for (name, trap) in TRAPS.iter().skip(part).step_by(PARTS) {
        let fixture = Fixture::new(&[("a", "one\n"), ("b", "two\n")]);
        fixture.run(REPOSITORY).await;
        let ran = fixture.outside().join("ran");
        let line = set_up(fixture.outside(), trap);
        fixture.run(&format!("{line}; true")).await;
        let _ = fs::remove_file(&ran);
        fixture.put("a", "changed\n");
        finished += usize::from(everything(&fixture, &ran, name).await);
        checked += 1;
        // The same repository under plain git: many of the traps do spring.
        let plain = "git status; git diff; git add -A; git worktree add ../w; git -c user.name=a -c user.email=a@b \
                     commit -m x; git log -p; git branch z; git checkout z; true";
        fixture.run(&format!("({plain}) > /dev/null 2>&1")).await;
        effective += usize::from(ran.exists());
    }
    assert_eq!(checked, TRAPS.len() / PARTS);
    assert!(effective >= 4, "only {effective} of the traps are real");
    assert!(finished >= 11, "only {finished} of the repositories could be worked with");
}

/// Makes the trap and the hooks, and names them in the line.
fn set_up(outside: &Path, line: &str) -> String {
    let text = format!("#!/bin/sh\ntouch {}\ncat 2>/dev/null\nexit 0\n", outside.join("ran").display());
    let program = |path: &Path| {
        fs::write(path, &text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let (trap, hooks) = (outside.join("trap"), outside.join("hooks"));
    program(&trap);
    fs::create_dir(&hooks).unwrap();
    for hook in [
        "pre-commit",
        "post-commit",
        "commit-msg",
        "prepare-commit-msg",
        "post-checkout",
        "post-index-change",
        "post-merge",
        "pre-merge-commit",
        "reference-transaction",
        "pre-auto-gc",
        "post-rewrite",
        "pre-push",
        "update",
        "post-update",
        "pre-applypatch",
        "fsmonitor-watchman",
        "query-watchman",
        "sendemail-validate",
        "push-to-checkout",
    ] {
        program(&hooks.join(hook));
    }
    line.replace("TRAP", trap.to_str().unwrap()).replace("HOOKS", hooks.to_str().unwrap())
}

/// Everything Posse does with a repository; says whether all of it worked.
async fn everything(fixture: &Fixture, ran: &Path, name: &str) -> bool {
    let root = fixture.at(".");
    let quiet = |what: &str| assert!(!ran.exists(), "{name}: {what} ran something");
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    fixture.put("b", "TWO\n");
    let changes = checkpoints.look(None).await.unwrap().changes;
    quiet("a checkpoint");
    checkpoints.diff(&changes, 1000).await.unwrap();
    checkpoints.undo(&changes).await.unwrap();
    assert_eq!(fixture.text("b"), "two\n", "{name}");
    quiet("undoing");
    let into = fixture.outside().join("checkouts");
    let Ok(checkout) = worktree::check_out(&root, &into, "posse/s/x").await else {
        quiet("a refused checkout");
        return false;
    };
    assert_eq!(fs::read_to_string(checkout.folder.join("a")).unwrap(), "changed\n", "{name}");
    quiet("a checkout");
    fs::write(checkout.folder.join("b"), "work\n").unwrap();
    let branch = worktree::finish(&checkout, "work", 1000).await.unwrap().unwrap();
    quiet("finishing");
    let checkout = worktree::resume(&root, &into, &branch).await.unwrap();
    fs::write(checkout.folder.join("c"), "more\n").unwrap();
    let swept = worktree::sweep(&root, &into).await.unwrap();
    assert_eq!(swept.failed, Vec::<String>::new(), "{name}");
    quiet("sweeping");
    let merged = worktree::merge(&fixture.workspace, Some(&checkpoints), &swept.branches[0]).await.unwrap();
    assert!(
        merged.merged && fixture.text("b") == "work\n" && fixture.text("c") == "more\n",
        "{name}: {merged:?}"
    );
    worktree::merge(&fixture.workspace, None, &branch).await.unwrap();
    // Git refuses nested repositories without a commit; that is its business.
    let _ = git::commit_all(&root, "all").await;
    quiet("merging and committing");
    let listed = shell(fixture.outside(), "ls checkouts").await;
    assert_eq!(listed, "", "{name}");
    true
}

/// An agent in mode full writes git's folder of checkouts, and knows where the next one will be.
#[tokio::test]
async fn what_is_planted_among_checkouts_leads_nowhere() {
    // Git takes no note of a name that begins with a blank. The first that fits is found in any order.
    let plant = "for n in $(seq 1 20); do mkdir -p .git/worktrees/$n; printf ' TOP/.git\\n' > .git/worktrees/$n/gitdir; \
                 ln -s OUT/secret .git/worktrees/$n/index; ln -s OUT/kept .git/worktrees/$n/more; done";
    let race = "rm -f .git/worktrees/s--x/index; ln -s OUT/secret .git/worktrees/s--x/index";
    for (name, before, after) in [("planted", plant, "true"), ("replaced", "true", race)] {
        let fixture = Fixture::new(&[("a", "one\n")]);
        fixture.run(REPOSITORY).await;
        let out = fixture.outside().canonicalize().unwrap();
        fs::create_dir(out.join("kept")).unwrap();
        fs::write(out.join("kept/file"), "kept").unwrap();
        let into = out.join("checkouts");
        let fill = |line: &str| {
            let top = into.join("s--x");
            line.replace("TOP", top.to_str().unwrap()).replace("OUT", out.to_str().unwrap())
        };
        fixture.run(&fill(before)).await;
        let checkout = worktree::check_out(&fixture.at("."), &into, "posse/s/x").await.unwrap();
        let unharmed = || {
            assert_eq!(fs::read_to_string(out.join("secret")).unwrap(), "secret", "{name}");
            assert_eq!(fs::read_to_string(out.join("kept/file")).unwrap(), "kept", "{name}");
        };
        unharmed();
        fixture.run(&fill(after)).await;
        fs::write(checkout.folder.join("a"), "work\n").unwrap();
        let branch = worktree::finish(&checkout, "work", 1000).await.unwrap().unwrap();
        unharmed();
        worktree::resume(&fixture.at("."), &into, &branch).await.unwrap();
        worktree::sweep(&fixture.at("."), &into).await.unwrap();
        unharmed();
    }
}

/// The folder that an agent will work in is part of what its branch holds.
#[tokio::test]
async fn a_branch_cannot_say_that_its_folder_is_somewhere_else() {
    let fixture = Fixture::new(&[("sub/a", "one\n")]);
    fixture.run(REPOSITORY).await;
    let out = fixture.outside().canonicalize().unwrap();
    let (root, into) = (fixture.at("sub"), out.join("checkouts"));
    for (name, target) in [("there", out.clone()), ("not there", out.join("new"))] {
        let line = format!(
            "git checkout -q -b posse/s/x && rm -rf sub && ln -s {} sub && git add -A && \
             git -c user.name=a -c user.email=a@b commit -qm x && git checkout -q - && git rev-parse HEAD posse/s/x",
            target.display()
        );
        let commits = fixture.run(&line).await;
        let [base, tip] = commits.lines().collect::<Vec<_>>()[..] else { panic!("{commits}") };
        let (base, tip) = (base.to_owned(), tip.to_owned());
        let branch = Branch { name: "posse/s/x".to_owned(), base, tip, diff: String::new() };
        let resumed = worktree::resume(&root, &into, &branch).await;
        assert!(resumed.is_err(), "{name}: {resumed:?}");
        assert!(!out.join("new").exists(), "{name}");
        fixture.run("git worktree prune; git branch -q -D posse/s/x").await;
    }
}
