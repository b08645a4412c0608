//! Undoing takes back what it was told to, and keeps everything else.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use posse_protocol::{Change, Conflict};
use posse_workspace::Undone;

use crate::{Fixture, contents};

/// Changes the files by `work`, and says what that changed.
async fn change(fixture: &Fixture, work: impl FnOnce(&Fixture)) -> Vec<Change> {
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    work(fixture);
    checkpoints.look(None).await.unwrap().changes
}

async fn undo(fixture: &Fixture, changes: &[Change]) -> Undone {
    fixture.checkpoints().await.undo(changes).await.unwrap()
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[tokio::test]
async fn every_kind_of_change_goes_back_and_forth() {
    type Work = fn(&Fixture);
    let cases: &[(&str, Work)] = &[
        ("content", |f| f.put("a", "changed")),
        ("creation", |f| f.put("new/deep/file", "new")),
        ("deletion", |f| fs::remove_file(f.at("dir/b")).unwrap()),
        ("a whole folder", |f| fs::remove_dir_all(f.at("dir")).unwrap()),
        ("mode", |f| set_mode(&f.at("a"), 0o755)),
        ("mode and content", |f| {
            f.put("program", "changed");
            set_mode(&f.at("program"), 0o644);
        }),
        ("binary", |f| f.put("binary", [0, 159, 146, 150])),
        ("empty", |f| f.put("a", "")),
        ("link to elsewhere", |f| {
            fs::remove_file(f.at("link")).unwrap();
            symlink("b", f.at("link")).unwrap();
        }),
        ("link becomes file", |f| {
            fs::remove_file(f.at("link")).unwrap();
            f.put("link", "file");
        }),
        ("file becomes link", |f| {
            fs::remove_file(f.at("a")).unwrap();
            symlink("/etc/passwd", f.at("a")).unwrap();
        }),
        ("file becomes folder", |f| {
            fs::remove_file(f.at("a")).unwrap();
            f.put("a/inner", "x");
        }),
        ("folder becomes file", |f| {
            fs::remove_dir_all(f.at("dir")).unwrap();
            f.put("dir", "x");
        }),
        ("rename", |f| fs::rename(f.at("a"), f.at("renamed")).unwrap()),
        ("large", |f| f.put("large", vec![b'x'; 3_000_000])),
        ("ignored", |f| f.put(".env", "B=2")),
    ];
    let mut checked = 0;
    for (name, work) in cases {
        let fixture = Fixture::new(&[
            ("a", "one\ntwo\n"),
            ("dir/b", "b"),
            ("dir/c", "c"),
            ("program", "#!/bin/sh"),
            (".gitignore", ".env\n"),
            (".env", "A=1"),
        ]);
        fixture.put("binary", [0, 1, 2]);
        set_mode(&fixture.at("program"), 0o755);
        symlink("a", fixture.at("link")).unwrap();
        let before = contents(&fixture.at("."));
        let changes = change(&fixture, work).await;
        let after = contents(&fixture.at("."));
        assert!(!changes.is_empty() && before != after, "{name}");
        let undone = undo(&fixture, &changes).await;
        assert_eq!((contents(&fixture.at(".")), &undone.conflicts[..]), (before.clone(), &[][..]), "{name}");
        let redone = undo(&fixture, &undone.changes).await;
        assert_eq!((contents(&fixture.at(".")), &redone.conflicts[..]), (after, &[][..]), "{name} again");
        undo(&fixture, &redone.changes).await;
        assert_eq!(contents(&fixture.at(".")), before, "{name} and back");
        checked += 1;
    }
    assert_eq!(checked, 16);
}

#[tokio::test]
async fn one_agents_work_goes_and_the_others_stay() {
    // What was there, what one agent made of it, what others made of that, what is left, and whether it is a conflict.
    let cases = [
        ("1\n2\n3\n4\n5\n", "1\nA\n3\n4\n5\n", "1\nA\n3\n4\nB\n", "1\n2\n3\n4\nB\n", false),
        ("1\n2\n3\n", "1\nA\n3\n", "1\nB\n3\n", "1\nB\n3\n", true),
        ("1\n", "1\nA\n", "1\nA\nB\n", "1\nB\n", false),
        ("1\n2\n3\n", "1\n3\n", "1\n3\nB\n", "1\n2\n3\nB\n", false),
        ("1\n2\n3\n4\n", "A\n2\n3\nA\n", "A\n2\n3\nB\n", "A\n2\n3\nB\n", true),
        ("1\n", "A\n", "1\n", "1\n", false),
        ("1\0", "A\0", "B\0", "B\0", true),
    ];
    let mut checked = 0;
    for (before, agent, others, expected, conflicting) in cases {
        let fixture = Fixture::new(&[("a", before), ("other", "kept\n")]);
        let changes = change(&fixture, |fixture| fixture.put("a", agent)).await;
        fixture.put("a", others);
        fixture.put("other", "changed by others\n");
        let undone = undo(&fixture, &changes).await;
        assert_eq!(fixture.text("a"), expected, "{before:?} {agent:?} {others:?}");
        assert_eq!(!undone.conflicts.is_empty(), conflicting, "{undone:?}");
        assert_eq!(fixture.text("other"), "changed by others\n");
        undo(&fixture, &undone.changes).await;
        assert_eq!(fixture.text("a"), others);
        checked += 1;
    }
    assert_eq!(checked, 7);
}

#[tokio::test]
async fn a_conflict_shows_both_sides() {
    let fixture = Fixture::new(&[("a", "1\n2\n3\n"), ("gone", "x\n"), ("made", "")]);
    fs::remove_file(fixture.at("made")).unwrap();
    let changes = change(&fixture, |fixture| {
        fixture.put("a", "1\nagent\n3\n");
        fixture.put("gone", "agent\n");
        fixture.put("made", "agent\n");
    })
    .await;
    fixture.put("a", "1\nperson\n3\n");
    fixture.put("made", "agent\nperson\n");
    fs::remove_file(fixture.at("gone")).unwrap();
    let undone = undo(&fixture, &changes).await;
    let conflict = |path: &str, text: &str| Conflict { path: path.to_owned(), text: text.to_owned() };
    let expected = [
        conflict("a", "<<<<<<< here\nperson\n=======\n2\n>>>>>>> the other side\n"),
        conflict("gone", "gone here, but changed by the other side:\nx\n"),
        conflict("made", "removed by the other side, but changed here:\nagent\nperson\n"),
    ];
    assert_eq!((undone.changes, undone.conflicts), (vec![], expected.to_vec()));
}

#[tokio::test]
async fn interleaved_work_of_two_agents_comes_apart() {
    let text = |first: u32, last: u32| format!("{first}\n-\n-\n-\n{last}\n");
    let fixture = Fixture::new(&[("a", &text(0, 0))]);
    let mut agents = [Vec::new(), Vec::new()];
    let mut values = [0, 0];
    for round in 1..=6 {
        let agent = round % 2;
        values[agent] = round as u32;
        let content = text(values[0], values[1]);
        agents[agent].extend(change(&fixture, |fixture| fixture.put("a", &content)).await);
    }
    let undone = undo(&fixture, &agents[0]).await;
    assert_eq!((fixture.text("a"), undone.conflicts), (text(0, 5), vec![]));
    undo(&fixture, &agents[1]).await;
    assert_eq!(fixture.text("a"), text(0, 0));
}

#[tokio::test]
async fn nothing_outside_or_protected_is_written() {
    let fixture =
        Fixture::new(&[("dir/secret", "old"), ("a", "a"), (".git/config", "config"), (".bashrc", "rc")]);
    let checkpoints = fixture.checkpoints().await;
    let changes = change(&fixture, |fixture| {
        fixture.put("dir/secret", "new");
        fixture.put("a", "changed");
    })
    .await;
    // The folder becomes a link that leads out, to a file that looks like the one that was changed.
    fs::remove_dir_all(fixture.at("dir")).unwrap();
    fs::write(fixture.outside().join("secret"), "new").unwrap();
    symlink(fixture.outside(), fixture.at("dir")).unwrap();
    let mut forged = changes.clone();
    let side = changes[0].before.clone();
    for path in
        ["../secret", "/etc/passwd", ".git/hooks/x", "x/.git/config", "./a", ".bashrc", ".posse/x", ""]
    {
        forged.push(Change { path: path.to_owned(), before: side.clone(), after: None });
    }
    let undone = checkpoints.undo(&forged).await.unwrap();
    let paths: Vec<&str> = undone.conflicts.iter().map(|conflict| conflict.path.as_str()).collect();
    assert_eq!(paths.len(), 9, "{:?}", undone.conflicts);
    assert_eq!(undone.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>(), ["a"]);
    assert_eq!(fs::read_to_string(fixture.outside().join("secret")).unwrap(), "new");
    assert_eq!(
        (fixture.text("a"), fixture.text(".git/config"), fixture.text(".bashrc")),
        ("a".into(), "config".into(), "rc".into())
    );
    assert!(
        !fixture.at(".posse").exists() && !fixture.at("x").exists() && !fixture.at(".git/hooks").exists()
    );
    let mut bad = changes[0].clone();
    bad.before.as_mut().unwrap().blob = "--help".to_owned();
    assert!(checkpoints.undo(&[bad]).await.is_err());
}

#[tokio::test]
async fn random_work_is_undone_and_redone() {
    let seed = std::env::var("POSSE_SEED")
        .ok()
        .and_then(|seed| seed.parse().ok())
        .unwrap_or_else(|| fastrand::u64(..));
    println!("POSSE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let fixture = Fixture::new(&[]);
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    let mut changes = Vec::new();
    for _ in 0..12 {
        for _ in 0..random.usize(1..6) {
            step(&fixture, &mut random);
        }
        changes.extend(checkpoints.look(None).await.unwrap().changes);
    }
    let end = without_folders(contents(&fixture.at(".")));
    let undone = checkpoints.undo(&changes).await.unwrap();
    assert_eq!(undone.conflicts, [], "seed {seed}");
    assert_eq!(without_folders(contents(&fixture.at("."))).len(), 0, "seed {seed}");
    let redone = checkpoints.undo(&undone.changes).await.unwrap();
    assert_eq!((without_folders(contents(&fixture.at("."))), redone.conflicts), (end, vec![]), "seed {seed}");
}

type Contents = std::collections::BTreeMap<String, (String, Vec<u8>)>;

fn without_folders(mut contents: Contents) -> Contents {
    contents.retain(|_, (kind, _)| kind != "folder");
    contents
}

/// One random thing that a command might do.
fn step(fixture: &Fixture, random: &mut fastrand::Rng) {
    let names = ["a", "b", "d/a", "d/b", "d/e/a", "f"];
    let at = fixture.at(names[random.usize(..names.len())]);
    let clear = |at: &Path| {
        let _ = fs::remove_file(at);
        let _ = fs::remove_dir_all(at);
        for above in at.ancestors().skip(1).take(3) {
            if above.is_symlink() || above.is_file() {
                fs::remove_file(above).unwrap();
            }
        }
    };
    match random.u32(..5) {
        0 => clear(&at),
        1 => {
            clear(&at);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            symlink(names[random.usize(..names.len())], &at).unwrap();
        }
        2 if at.is_file() && !at.is_symlink() => set_mode(&at, if random.bool() { 0o755 } else { 0o644 }),
        _ => {
            clear(&at);
            fs::create_dir_all(at.parent().unwrap()).unwrap();
            let lines: Vec<u8> = (0..random.usize(..40)).map(|_| b"ab\n\0"[random.usize(..4)]).collect();
            fs::write(&at, lines).unwrap();
        }
    }
}
