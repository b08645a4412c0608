//! Links that lead programs to what is not protected by its own name: those that are there protect what they lead to, and
//! nobody makes new ones by merging or undoing.

use std::{fs, os::unix::fs::symlink, path::Path};

use posse_protocol::Change;
use posse_workspace::{
    Expect, Permit, Workspace, WorkspaceError,
    worktree::{finish, merge, protected_in},
};

use crate::{Fixture, REPOSITORY};

fn acted_on(workspace: &Workspace, path: &str) -> Option<&'static str> {
    workspace.acted_on([Path::new(path)])[0]
}

#[test]
fn what_links_at_protected_names_lead_to_is_protected() {
    // The links that are there, what they protect, and what stays free.
    type Case = (&'static [(&'static str, &'static str)], &'static [&'static str], &'static [&'static str]);
    let cases: &[Case] = &[
        (&[(".zed", "conf/zed")], &["conf/zed/tasks.json", "conf/zed"], &["conf/other"]),
        (&[("app/.envrc", "../envs/dev")], &["envs/dev"], &["envs/other"]),
        // Through another link, which is protected as well.
        (&[(".zed", "via/zed"), ("via", "conf")], &["conf/zed/x"], &["conf/x"]),
        // Where names only begin.
        (
            &[(".cargo", "conf/cargo")],
            &["conf/cargo/config.toml", "conf/cargo/config"],
            &["conf/cargo/notes"],
        ),
        (&[("x/.local/share", "../../s")], &["s/nvim/init.lua", "s/systemd/x"], &["s/fonts"]),
        // In folders that are protected.
        (&[(".claude/skills", "../skills")], &["skills/x/SKILL.md"], &["skill"]),
        (&[(".vscode/tasks.json", "../conf/tasks.json")], &["conf/tasks.json"], &["conf/x.json"]),
        // Hooks of the workspace's repository, and of one below it.
        (&[(".git/hooks/pre-commit", "../../tools/check")], &["tools/check"], &["tools/other"]),
        (&[("sub/.git/hooks/pre-push", "../../check")], &["sub/check"], &["sub/other"]),
        // Nothing of the workspace, or no protected name.
        (&[(".zed", "../outside"), ("docs", "conf")], &[], &["conf/zed", "outside"]),
    ];
    let mut tried = 0;
    for (links, refused, free) in cases {
        let fixture = Fixture::new(&[(".git/HEAD", "ref: refs/heads/main\n"), (".git/config", "")]);
        for (link, target) in *links {
            fs::create_dir_all(fixture.at(link).parent().unwrap()).unwrap();
            symlink(target, fixture.at(link)).unwrap();
        }
        let workspace = Workspace::open(fixture.at(".")).unwrap();
        for path in *refused {
            let path = fixture.path(path);
            let written = workspace.write_atomic(&path, b"x", Expect::Anything);
            assert!(
                matches!(written, Err(WorkspaceError::Protected { .. })),
                "{links:?} {path}: {written:?}"
            );
            assert!(workspace.protected(&path).is_some() && acted_on(&workspace, path.as_str()).is_some());
        }
        for path in *free {
            workspace.write_atomic(&fixture.path(path), b"x", Expect::Anything).unwrap();
        }
        let places = workspace.protected_places();
        let covers = |path: &&&str| places.iter().any(|place| Path::new(path).starts_with(place));
        assert_eq!(refused.iter().filter(covers).count(), refused.len(), "{links:?}: {places:?}");
        tried += 1;
    }
    assert_eq!(tried, 10);
}

#[test]
fn a_chain_of_links_is_protected_with_its_end() {
    let fixture = Fixture::new(&[("a", "")]);
    symlink("via/zed", fixture.at(".zed")).unwrap();
    symlink("conf", fixture.at("via")).unwrap();
    let workspace = Workspace::open(fixture.at(".")).unwrap();
    // To have `via` lead elsewhere is to have other settings.
    assert_eq!(acted_on(&workspace, "via"), Some("Zed"));
    assert_eq!(acted_on(&workspace, "conf/zed/x"), Some("Zed"));
    assert_eq!(acted_on(&workspace, "conf"), None);
}

#[test]
fn what_was_put_there_is_known_for_what_acts_on_it() {
    let config = "[core]\n\thooksPath = scripts/hooks\n";
    let files = [
        (".git/HEAD", "x"),
        (".git/config", config),
        ("b/HEAD", "x"),
        ("b/refs/x", "x"),
        ("b/objects/x", "x"),
    ];
    let fixture = Fixture::new(&files);
    fixture.put("node_modules/x/y", "");
    for (link, target) in
        [(".cargo", "s"), ("app", "node_modules/x"), ("run", "node_modules/x/y"), ("plain", "s")]
    {
        symlink(target, fixture.at(link)).unwrap();
    }
    let cases = [
        (".zed/tasks.json", Some("Zed")),
        ("scripts/hooks/pre-commit", Some("Git")),
        (".cargo", Some("Cargo")),
        ("app", Some("another program")),
        ("run", None),
        ("plain", None),
        ("b/HEAD", Some("Git")),
        ("b/config", None),
        ("b/README", None),
        (".git/HEAD", None),
        (".git/index", None),
        (".git/hooks/x", Some("Git")),
        ("src/main.rs", None),
    ];
    let workspace = Workspace::open(fixture.at(".")).unwrap();
    for (path, program) in cases {
        assert_eq!(acted_on(&workspace, path), program, "{path}");
    }
    fixture.put("b/config", "");
    assert_eq!(acted_on(&workspace, "b/config"), Some("Git"));
}

#[test]
fn what_settings_name_later_is_protected_from_then_on() {
    let fixture = Fixture::new(&[(".git/HEAD", "x"), (".git/config", "[core]\n"), ("bin/clean", "")]);
    let workspace = Workspace::open(fixture.at(".")).unwrap();
    let write = |path: &str| workspace.write_atomic(&fixture.path(path), b"x", Expect::Anything).is_ok();
    assert_eq!(["hooks/a", "bin/clean", "checks/a"].map(write), [true; 3]);
    fixture.put(
        ".git/config",
        "[core]\n\thooksPath = hooks\n[filter \"x\"]\n\tclean = bin/clean\n\tsmudge = sh bin/smudge %f\n[alias]\n\ta = !sh new.sh\n\
         [remote \"o\"]\n\turl = ./o/new\n\tfetch = refs/heads/x\n",
    );
    assert_eq!(["hooks/b", "bin/clean", "bin/smudge", "new.sh"].map(write), [false; 4]);
    assert_eq!(["checks/b", "refs/heads/x", "o/new", "bin/x"].map(write), [true; 4]);
    fs::create_dir_all(fixture.at(".git/hooks")).unwrap();
    symlink("../../checks/b", fixture.at(".git/hooks/pre-push")).unwrap();
    assert_eq!(["checks/b", "checks/c"].map(write), [false, true]);
    // What was named once may be named again.
    fixture.put(".git/config", "[core]\n");
    assert_eq!(["hooks/c", "checks/b"].map(write), [false; 2]);
}

#[test]
fn what_direnv_reads_again_is_protected() {
    let says = "use flake\nsource_env_if_exists env/dev.sh\ndotenv\nPATH_add bin\n";
    let fixture = Fixture::new(&[("app/.envrc", says), ("app/env/dev.sh", ""), ("app/bin/x", "")]);
    let workspace = Workspace::open(fixture.at(".")).unwrap();
    let write = |path: &str| workspace.write_atomic(&fixture.path(path), b"x", Expect::Anything).is_ok();
    let refused = ["app/flake.nix", "app/flake.lock", "app/.env", "app/env/dev.sh"];
    assert_eq!(refused.map(write), [false; 4]);
    assert_eq!(["flake.nix", ".env", "app/shell.nix", "app/env/other.sh", "app/bin/y"].map(write), [true; 5]);
}

#[tokio::test]
async fn links_that_lead_programs_away_are_neither_merged_nor_brought_back() {
    let fixture = Fixture::new(&[("a", "a")]);
    fixture.run(REPOSITORY).await;
    let checkout = fixture.apart("one").await;
    for (link, target) in [(".cargo", "s"), ("app", "node_modules/x"), ("plain", "s")] {
        symlink(target, checkout.folder.join(link)).unwrap();
    }
    let branch = finish(&checkout, "work", 10_000).await.unwrap().unwrap();
    assert_eq!(protected_in(&fixture.workspace, &branch).await.unwrap(), [".cargo"]);
    let left =
        |paths: &[posse_protocol::Conflict]| paths.iter().map(|one| one.path.clone()).collect::<Vec<_>>();
    let merged = merge(&fixture.workspace, None, &branch).await.unwrap();
    assert_eq!(
        (left(&merged.conflicts), merged.changes.len()),
        (vec![".cargo".to_owned(), "app".to_owned()], 1)
    );
    assert!(fixture.at("plain").is_symlink() && !fixture.at(".cargo").is_symlink());
    let permit = Permit::These(vec![".cargo".to_owned()]);
    let merged = merge(&fixture.workspace.permitting(permit), None, &branch).await.unwrap();
    assert_eq!((left(&merged.conflicts), fixture.at(".cargo").is_symlink()), (vec!["app".to_owned()], true));
    // The same when it was there and is to be again.
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    fs::remove_file(fixture.at(".cargo")).unwrap();
    let changes: Vec<Change> = checkpoints.look(None).await.unwrap().changes;
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!(
        (left(&undone.conflicts), fixture.at(".cargo").is_symlink()),
        (vec![".cargo".to_owned()], false)
    );
}
