//! Where writes are refused although the place is inside: protected names, and what a grant leaves out.

use std::{collections::BTreeSet, fs, os::unix::fs::symlink, sync::Arc};

use posse_protocol::PathRules;
use posse_workspace::{Expect, Permit, Stop, Workspace, WorkspaceError, WorkspacePath};

use crate::Fixture;

fn rules(layers: &[&[&str]], except: &[&str]) -> PathRules {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>();
    PathRules { roots: layers.iter().map(|layer| set(layer)).collect(), except: set(except) }
}

#[test]
fn protected_names_are_refused_in_every_spelling() {
    let refused = [
        ".git",
        ".git/config",
        ".git/hooks/new",
        "deep/.git/config",
        ".GIT/config",
        ".git./config",
        ".git /config",
        "git~1/config",
        ".posse/config.toml",
        ".Posse/x",
        ".POSSE./x",
        ".claude/agents/x.md",
        ".vscode/tasks.json",
        ".mcp.json",
        ".MCP.JSON",
        ".bashrc",
        ".bashrc.",
        "./.bashrc",
        "x/../.bashrc",
        ".zshrc",
        ".idea/x",
        "to-posse/x",
        "to-posse/deep/x",
        "to-rc",
        "up/.posse/x",
        "x/to-posse/y",
        ".ssh/config",
        ".envrc",
        "a/.bashrc",
        "a/b/c/.vscode/x",
        "a/b/.zed/tasks.json",
        "opencode.json",
        ".cargo/config.toml",
    ];
    let allowed =
        ".bashrc2 .gitignore .github/workflows/x a/vscode/x git posse/x .env package.json".split(' ');
    let fixture = Fixture::new(&[("src/a", "a"), ("x/y", "y")]);
    for (target, link) in
        [(".posse", "to-posse"), (".bashrc", "to-rc"), (".", "up"), ("../.posse", "x/to-posse")]
    {
        symlink(target, fixture.at(link)).unwrap();
    }
    let mut attempts = 0;
    for round in 0..2 {
        for path in refused {
            let path = fixture.path(path);
            let written = fixture.workspace.write_atomic(&path, b"x", Expect::Anything);
            // A link to what is not there is refused for that, or for what it leads to.
            assert!(written.is_err(), "{path}: {written:?}");
            attempts += 1;
        }
        if round == 0 {
            std::fs::create_dir_all(fixture.at(".posse")).unwrap();
            fixture.put(".bashrc", "rc");
        }
    }
    for path in allowed {
        fixture.workspace.write_atomic(&fixture.path(path), b"x", Expect::Anything).unwrap();
        attempts += 1;
    }
    assert_eq!(attempts, 2 * 33 + 8);
    assert_eq!(fixture.text(".bashrc"), "rc");
    assert_eq!(std::fs::read_dir(fixture.at(".posse")).unwrap().count(), 0);
}

#[test]
fn a_permit_is_for_one_file_and_no_other() {
    let fixture = Fixture::new(&[("src/a", "a")]);
    symlink(".vscode", fixture.at("door")).unwrap();
    let these = |paths: &[&str]| Permit::These(paths.iter().map(|path| (*path).to_owned()).collect());
    let write = |permit: Permit, path: &str| {
        let permitted = fixture.workspace.permitting(permit);
        permitted.write_atomic(&fixture.path(path), b"x", Expect::Anything).is_ok()
    };
    let one = || these(&[".vscode/tasks.json"]);
    let cases = [
        (one(), ".vscode/tasks.json", true),
        (one(), ".vscode/other.json", false),
        (one(), "a/.vscode/tasks.json", false),
        (one(), ".mcp.json", false),
        (one(), "door/tasks.json", true),
        (one(), "door/other.json", false),
        (these(&["deep/down/.zed/x"]), "deep/down/.zed/x", true),
        (these(&[".git/hooks/x"]), ".git/hooks/x", true),
        (Permit::Nothing, ".vscode/tasks.json", false),
        (Permit::Everything, ".mcp.json", true),
    ];
    for (permit, path, expected) in &cases {
        assert_eq!(write(permit.clone(), path), *expected, "{path} {permit:?}");
    }
    assert_eq!(cases.len(), 10);
    // Neither a grant nor what is hidden is widened by it.
    let limited = fixture.workspace.limited_to(rules(&[&["src"]], &[])).permitting(Permit::Everything);
    let refused = limited.write_atomic(&fixture.path(".mcp.json"), b"y", Expect::Anything);
    assert!(matches!(refused, Err(WorkspaceError::NotGranted { .. })), "{refused:?}");
    let hiding = fixture.workspace.hiding(&[fixture.at(".vscode")]).permitting(Permit::Everything);
    let refused = hiding.write_atomic(&fixture.path(".vscode/tasks.json"), b"y", Expect::Anything);
    assert!(matches!(refused, Err(WorkspaceError::Hidden { .. })), "{refused:?}");
}

#[test]
fn no_folder_becomes_a_repository() {
    let orders = [
        ["HEAD", "config", "refs/heads/x", "objects/x"],
        ["objects/x", "refs/heads/x", "config", "HEAD"],
        ["config", "HEAD", "objects/x", "refs/heads/x"],
        ["hooks/pre-commit", "objects/x", "HEAD", "refs/x"],
    ];
    for folder in ["", "deep/down/"] {
        for order in orders {
            let fixture = Fixture::new(&[("a", "a")]);
            let written = order.map(|name| {
                let path = fixture.path(&format!("{folder}{name}"));
                assert_eq!(
                    fixture.workspace.protected(&path).is_some(),
                    name == order[3],
                    "{name} {order:?}"
                );
                fixture.workspace.write_atomic(&path, b"x", Expect::Anything).is_ok()
            });
            assert_eq!(written, [true, true, true, false], "{order:?}");
        }
    }
    // One that is there keeps its settings.
    let bare = [("b/HEAD", "x"), ("b/refs/x", "x"), ("b/objects/x", "x"), ("b/config", "x"), ("x/HEAD", "x")];
    let fixture = Fixture::new(&bare);
    for (path, expected) in [
        ("b/config", false),
        ("b/hooks/x", false),
        ("b/description", true),
        ("x/commondir", false),
        ("x/config", true),
    ] {
        let written = fixture.workspace.write_atomic(&fixture.path(path), b"y", Expect::Anything);
        assert_eq!(written.is_ok(), expected, "{path}: {written:?}");
    }
}

#[test]
fn what_the_settings_of_git_name_is_protected() {
    let config = "[core]\n\thooksPath = scripts/hooks\n[include]\n\tpath = ../extra.inc\n[includeIf \"gitdir:/x/\"]\n\tpath = \
                  ../tools/git/more\n[filter \"x\"]\n\tclean = ./bin/clean.sh %f\n[alias]\n\ta = \"!sh bin/alias.sh\"\n[core]\n\tworktree = ..\n";
    let fixture = Fixture::new(&[
        (".git/config", config),
        (".git/HEAD", "ref: refs/heads/main\n"),
        ("extra.inc", "[include]\n path = further.inc\n"),
        ("bin/clean.sh", ""),
        ("bin/alias.sh", ""),
        ("bin/other.sh", ""),
        ("sub/.git/config", "[core]\n"),
        ("linked/.git", "gitdir: ../elsewhere\n"),
        ("packages/app/.vscode/settings.json", "{}"),
        (".npmrc", ""),
    ]);
    let workspace = Workspace::open(fixture.at(".")).unwrap();
    let refused = [
        "scripts/hooks/pre-commit",
        "extra.inc",
        "further.inc",
        "tools/git/more",
        "bin/clean.sh",
        "bin/alias.sh",
    ];
    for path in refused {
        let written = workspace.write_atomic(&fixture.path(path), b"x", Expect::Anything);
        assert!(matches!(written, Err(WorkspaceError::Protected { .. })), "{path}: {written:?}");
    }
    for path in ["bin/other.sh", "scripts/x", "tools/git/less"] {
        workspace.write_atomic(&fixture.path(path), b"x", Expect::Anything).unwrap();
    }
    let places = workspace.protected_places();
    let expected = refused.iter().map(|path| path.trim_end_matches("/pre-commit"));
    let there = ["sub/.git/config", "linked/.git", "packages/app/.vscode", ".npmrc"];
    for place in expected.chain(there) {
        assert!(places.contains(&place.into()), "{place}: {places:?}");
    }
    assert_eq!(places.len(), 10, "{places:?}");
}

#[test]
fn a_limited_workspace_writes_only_where_it_may() {
    let all = rules(&[], &[]);
    let cases = [
        (&all, "a", true),
        (&rules(&[&["src"]], &[]), "src/x/new", true),
        (&rules(&[&["src"]], &[]), "src2/new", false),
        (&rules(&[&["src"]], &[]), "new", false),
        (&rules(&[&["src"]], &[]), "newdir/new", false),
        (&rules(&[&["src"]], &[]), "link-out/new", false),
        (&rules(&[&["src"]], &[]), "link-in/new", true),
        (&rules(&[&["src"]], &[]), "src/back/new", false),
        (&rules(&[&["src"]], &["src/secret"]), "src/secret/x", false),
        (&rules(&[&["src"]], &["src/secret"]), "src/secret2", true),
        (&rules(&[&["src", "docs"], &["docs"]], &[]), "src/new", false),
        (&rules(&[&["src", "docs"], &["docs"]], &[]), "docs/new", true),
        (&rules(&[&[]], &[]), "new", false),
        (&rules(&[&["."]], &["docs"]), "new", true),
        (&rules(&[&["."]], &["docs"]), "docs/new", false),
        (&rules(&[&["not/there"]], &[]), "not/there/yet", true),
        (&rules(&[&["not/there"]], &[]), "not/here", false),
        // An exception behind a link is one for what it leads to.
        (&rules(&[], &["link-out"]), "docs/new", false),
        (&rules(&[], &["link-out/secret"]), "docs/secret/new", false),
        (&rules(&[], &["link-out/secret"]), "docs/new", true),
        // What is not understood holds back everything.
        (&rules(&[], &["/etc"]), "new", false),
        (&rules(&[], &["../x"]), "new", false),
        (&rules(&[], &["src/../docs"]), "docs/new", false),
        (&rules(&[&["/"]], &[]), "new", false),
        (&rules(&[&["src/../docs"]], &[]), "docs/new", false),
    ];
    let mut checked = 0;
    for (rules, path, expected) in cases {
        let fixture = Fixture::new(&[("src/a", "a"), ("docs/b", "b")]);
        symlink("docs", fixture.at("link-out")).unwrap();
        symlink("src", fixture.at("link-in")).unwrap();
        symlink("../docs", fixture.at("src/back")).unwrap();
        let limited = fixture.workspace.limited_to(rules.clone());
        let written = limited.write_atomic(&fixture.path(path), b"x", Expect::Anything);
        assert_eq!(written.is_ok(), expected, "{path} {rules:?}: {written:?}");
        if !expected {
            assert!(matches!(written, Err(WorkspaceError::NotGranted { .. })), "{path}: {written:?}");
            assert!(!fixture.at("newdir").exists() && !fixture.at("not").exists(), "{path}");
        }
        checked += 1;
    }
    assert_eq!(checked, 25);
    let fixture = Fixture::new(&[("a", "")]);
    let twice =
        fixture.workspace.limited_to(rules(&[&["a", "b"]], &[])).limited_to(rules(&[&["b"]], &["b/c"]));
    let said = twice.write_atomic(&fixture.path("a"), b"", Expect::Anything).unwrap_err().to_string();
    assert_eq!(said, "a may not be written by you; you may write within b, except b/c");
}

#[test]
fn a_question_shows_where_a_path_really_leads() {
    let fixture = Fixture::new(&[("src/a", "a")]);
    for (target, link) in [
        ("src", "door"),
        ("../secret", "out"),
        ("nowhere", "dangling"),
        ("loop", "loop"),
        ("../new", "new-out"),
    ] {
        symlink(target, fixture.at(link)).unwrap();
    }
    let root = fixture.workspace.root().to_owned();
    let outer = root.parent().unwrap().to_owned();
    let cases = [
        ("src/a", Some(root.join("src/a"))),
        ("door/a", Some(root.join("src/a"))),
        ("door/new/deep", Some(root.join("src/new/deep"))),
        ("out", Some(outer.join("secret"))),
        ("new-out", Some(outer.join("new"))),
        ("dangling", Some(root.join("nowhere"))),
        ("not/there", Some(root.join("not/there"))),
        ("loop", None),
    ];
    for (path, expected) in &cases {
        assert_eq!(fixture.workspace.real_path(&fixture.path(path)), *expected, "{path}");
    }
    assert_eq!(cases.len(), 8);
    assert_eq!(fixture.workspace.place(&fixture.path("door/a")).unwrap().as_str(), "src/a");
    assert!(fixture.workspace.place(&fixture.path("out")).is_err());
}

#[test]
fn of_many_writers_who_saw_the_same_only_one_gets_through() {
    let fixture = Fixture::new(&[("a", "start")]);
    let workspaces: Vec<Workspace> =
        (0..8)
            .map(|at| {
                if at % 2 == 0 {
                    fixture.workspace.clone()
                } else {
                    Workspace::open(fixture.at(".")).unwrap()
                }
            })
            .collect();
    let mut rounds = 0;
    for _ in 0..25 {
        let path = fixture.path("a");
        let (_, stamp) = fixture.workspace.read(&path, 10_000_000).unwrap();
        let barrier = Arc::new(std::sync::Barrier::new(8));
        let won: Vec<bool> = std::thread::scope(|scope| {
            let writers: Vec<_> = workspaces
                .iter()
                .enumerate()
                .map(|(at, workspace)| {
                    let (path, barrier) = (path.clone(), Arc::clone(&barrier));
                    scope.spawn(move || {
                        let text = vec![b'a' + at as u8; 20_000];
                        barrier.wait();
                        workspace.write_atomic(&path, &text, Expect::Unchanged(stamp)).is_ok()
                    })
                })
                .collect();
            writers.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        let winner = won.iter().position(|won| *won).unwrap();
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        assert_eq!(fixture.text("a").into_bytes(), vec![b'a' + winner as u8; 20_000]);
        rounds += 1;
    }
    assert_eq!(rounds, 25);
}

#[test]
fn what_posse_keeps_is_neither_read_nor_written_nor_found() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir_all(root.join(".config/posse")).unwrap();
    fs::write(root.join(".config/posse/config.toml"), "mode").unwrap();
    fs::write(root.join("seen"), "mode").unwrap();
    symlink(".config/posse", root.join("link")).unwrap();
    let hidden = [root.join(".config/posse"), root.join(".data/not/there"), root.to_path_buf()];
    let workspace = Workspace::open(root).unwrap().hiding(&hidden);
    let paths =
        [".config/posse/config.toml", "link/config.toml", ".config/posse/new", ".data/not/there/x", "link/y"];
    for path in paths {
        let path = workspace.resolve(path).unwrap();
        assert!(matches!(workspace.look(&path), Err(WorkspaceError::Hidden { .. })), "{path}");
        assert!(matches!(workspace.read(&path, 100), Err(WorkspaceError::Hidden { .. })), "{path}");
        let written = workspace.write_atomic(&path, b"x", Expect::Anything);
        assert!(matches!(written, Err(WorkspaceError::Hidden { .. })), "{path}: {written:?}");
    }
    assert_eq!(paths.len(), 5);
    assert_eq!(fs::read(root.join(".config/posse/config.toml")).unwrap(), b"mode");
    let seen = workspace.resolve("seen").unwrap();
    assert_eq!(workspace.read(&seen, 100).unwrap().0, b"mode", "the workspace itself cannot be hidden");
    let listed = workspace.list(&WorkspacePath::root(), 5, 100, 100, &Stop::default()).unwrap();
    let names: Vec<_> = listed.entries.iter().map(|entry| entry.path.to_string()).collect();
    assert!(!names.iter().any(|name| name.contains("config.toml")), "{names:?}");
}

#[test]
fn what_is_hidden_by_name_stays_hidden_when_it_appears() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let hides = posse_workspace::Hides::new(|place| place.file_name().is_some_and(|name| name == ".env"));
    let workspace = Workspace::open(&root).unwrap().hiding_where(Some(hides));
    fs::create_dir_all(root.join("a")).unwrap();
    for path in [".env", "a/.env", "seen"] {
        fs::write(root.join(path), "key").unwrap();
    }
    symlink("a/.env", root.join("link")).unwrap();
    symlink("seen", root.join("a/other")).unwrap();
    for path in [".env", "a/.env", "link", "b/.env"] {
        let path = workspace.resolve(path).unwrap();
        assert!(matches!(workspace.look(&path), Err(WorkspaceError::Hidden { .. })), "{path}");
        assert!(matches!(workspace.read(&path, 100), Err(WorkspaceError::Hidden { .. })), "{path}");
        let written = workspace.write_atomic(&path, b"x", Expect::Anything);
        assert!(matches!(written, Err(WorkspaceError::Hidden { .. })), "{path}: {written:?}");
    }
    let listed = workspace.list(&WorkspacePath::root(), 5, 100, 100, &Stop::default()).unwrap();
    let names: Vec<_> = listed.entries.iter().map(|entry| entry.path.to_string()).collect();
    assert!(
        names.contains(&"seen".to_owned()) && !names.iter().any(|name| name.contains(".env")),
        "{names:?}"
    );
}
