//! The store and the watches under stress: processes that die half way, too many reports, names that lead outside.

use std::{fs, path::PathBuf};

use posse_workspace::{Checkpoints, limits};

use crate::{Fixture, REPOSITORY};

async fn paths(checkpoints: &Checkpoints) -> Vec<String> {
    checkpoints.look(None).await.unwrap().changes.into_iter().map(|change| change.path).collect()
}

fn store(fixture: &Fixture) -> PathBuf {
    fs::read_dir(fixture.outside().join("data")).unwrap().next().unwrap().unwrap().path()
}

#[tokio::test]
async fn nothing_is_looked_at_when_nothing_was_reported() {
    let fixture = Fixture::new(&[("a", "1"), ("sub/b", "2")]);
    let checkpoints = fixture.checkpoints().await;
    let first = checkpoints.look(None).await.unwrap();
    assert_eq!((first.changes.len(), first.everything), (0, None));
    assert_eq!(checkpoints.look(None).await.unwrap(), first);
    fixture.put("sub/b", "3");
    let second = checkpoints.look(None).await.unwrap();
    assert!(second.name != first.name && second.everything.is_none() && second.changes.len() == 1);
    fixture.put(".gitignore", "x");
    let third = checkpoints.look(None).await.unwrap();
    assert_eq!(third.everything, Some("rules about what is ignored were changed"));
}

#[tokio::test]
async fn more_than_can_be_reported_is_found_by_looking_at_everything() {
    let fixture = Fixture::new(&[("a", "1"), ("sub/b", "2")]);
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    let work = "for i in $(seq 10000); do echo x > n$i; done; rm n*; mkdir -p late/er; echo l > late/er/f; echo 3 > sub/b";
    fixture.run(work).await;
    let look = checkpoints.look(None).await.unwrap();
    assert_eq!(look.everything, Some("more was changed at once than the system reports"));
    let found: Vec<&str> = look.changes.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(found, ["late/er/f", "sub/b"]);
    // From then on reports are enough again.
    fixture.put("late/er/f", "again");
    let look = checkpoints.look(None).await.unwrap();
    assert_eq!((look.changes.len(), look.everything), (1, None));
}

#[tokio::test]
async fn folders_that_move_are_watched_where_they_are() {
    let fixture = Fixture::new(&[("a/b/c/file", "1"), ("x/y", "2")]);
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    let steps: &[(&str, &[&str])] = &[
        ("mv a/b x/b", &["a/b/c/file", "x/b/c/file"]),
        ("echo 2 > x/b/c/file", &["x/b/c/file"]),
        ("mv x tmp; mv a x; mv tmp a", &["a/b/c/file", "a/y", "x/b/c/file", "x/y"]),
        ("echo 3 > a/b/c/file; echo 4 > a/y", &["a/b/c/file", "a/y"]),
        ("mkdir -p x/n/n/n; echo 1 > x/n/n/n/f", &["x/n/n/n/f"]),
        ("echo 2 > x/n/n/n/f; mkdir x/n/m", &["x/n/n/n/f"]),
        ("echo 2 > x/n/m/f", &["x/n/m/f"]),
        ("rm -rf x; mkdir x; echo 5 > x/f", &["x/f", "x/n/m/f", "x/n/n/n/f"]),
        ("echo 6 > x/f", &["x/f"]),
        ("mv a ../away; echo 7 > ../away/y", &["a/b/c/file", "a/y"]),
        ("echo 8 > ../away/y", &[]),
        ("mv ../away a", &["a/b/c/file", "a/y"]),
        ("echo 9 > a/y", &["a/y"]),
    ];
    for (work, expected) in steps {
        fixture.run(work).await;
        let look = checkpoints.look(None).await.unwrap();
        let found: Vec<&str> = look.changes.iter().map(|change| change.path.as_str()).collect();
        assert_eq!((found.as_slice(), look.everything), (*expected, None), "{work}");
    }
    assert_eq!(steps.len(), 13);
}

#[tokio::test]
async fn writes_by_another_name_are_seen() {
    let fixture = Fixture::new(&[("a", "1\n"), ("sub/.gitignore", "out/\n"), ("sub/out/x", "x\n")]);
    fixture.run("ln a sub/b; ln sub/out/x seen; ln a ../outside").await;
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    let steps: &[(&str, &[&str])] = &[
        ("echo 2 >> a", &["a", "sub/b"]),
        ("echo 3 >> sub/b", &["a", "sub/b"]),
        ("echo 4 >> ../outside", &["a", "sub/b"]),
        ("echo y >> sub/out/x", &["seen"]),
        ("ln seen later", &["later"]),
        ("echo z >> later", &["later", "seen"]),
    ];
    for (work, expected) in steps {
        fixture.run(work).await;
        assert_eq!(paths(&checkpoints).await, *expected, "{work}");
    }
    assert_eq!(steps.len(), 6);
}

#[tokio::test]
async fn names_that_lead_outside_are_found() {
    let fixture = Fixture::new(&[
        ("a", "1"),
        ("inner", "2"),
        ("sub/c", "3"),
        (".gitignore", "node_modules\n*.o\n"),
        ("node_modules/p/q", "4"),
        ("node_modules/p/alone", "4"),
        ("x.o", "5"),
    ]);
    fixture.run("ln inner sub/inner2; ln a ../out1; ln sub/c ../out2; ln sub/c sub/c2; ln node_modules/p/q ../out3; ln x.o ../out4").await;
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    let found: Vec<(String, usize)> = checkpoints
        .linked_outside()
        .into_iter()
        .map(|(folder, count)| (folder.display().to_string(), count))
        .collect();
    let expected = [("", 2), ("node_modules/p", 1), ("sub", 2)];
    assert_eq!(found, expected.map(|(folder, count)| (folder.to_owned(), count)));
}

#[tokio::test]
async fn a_store_that_was_cut_off_gives_the_right_content_or_none() {
    let mut checked = 0;
    for seed in 0..20 {
        let mut random = fastrand::Rng::with_seed(seed);
        let names: Vec<String> = (0..30).map(|n| format!("d{}/f{n}", n % 3)).collect();
        let fixture = Fixture::new(&[]);
        for name in &names {
            fixture.put(name, format!("{name} first {}\n", random.u64(..)).repeat(random.usize(..20)));
        }
        let before: Vec<String> = names.iter().map(|name| fixture.text(name)).collect();
        let checkpoints = fixture.checkpoints().await;
        checkpoints.look(None).await.unwrap();
        for name in &names {
            fixture.put(name, format!("{name} second {}\n", random.u64(..)));
        }
        let changes = checkpoints.look(None).await.unwrap().changes;
        drop(checkpoints);
        for entry in fs::read_dir(store(&fixture)).unwrap().flatten() {
            let length = entry.metadata().unwrap().len();
            if entry.metadata().unwrap().is_file() && length > 0 && random.bool() {
                let file = fs::File::options().write(true).open(entry.path()).unwrap();
                file.set_len(random.u64(..length)).unwrap();
            }
        }
        // A new process goes on with it, and adds to it.
        let checkpoints = fixture.checkpoints().await;
        checkpoints.look(None).await.unwrap();
        fixture.put("later", "later\n");
        let later = checkpoints.look(None).await.unwrap().changes;
        let after: Vec<String> = names.iter().map(|name| fixture.text(name)).collect();
        let undone = checkpoints.undo(&changes).await.unwrap();
        for (at, name) in names.iter().enumerate() {
            let failed = undone.conflicts.iter().any(|conflict| conflict.path == *name);
            let expected = if failed { &after[at] } else { &before[at] };
            assert_eq!(fixture.text(name), *expected, "seed {seed} {name}");
        }
        checkpoints.undo(&later).await.unwrap();
        assert!(!fixture.at("later").exists(), "seed {seed}");
        checked += 1;
    }
    assert_eq!(checked, 20);
}

#[tokio::test]
async fn unchanged_files_are_not_read_again_in_the_next_session() {
    let fixture = Fixture::new(&[("a", "1"), ("b", "2")]);
    fixture.run(REPOSITORY).await;
    // What is new may change again without a new stamp, so it has to get older first.
    tokio::time::sleep(std::time::Duration::from_millis(limits::FRESH_MS + 200)).await;
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    drop(checkpoints);
    let size = |fixture: &Fixture| -> u64 {
        let entries = fs::read_dir(store(fixture)).unwrap().flatten();
        entries
            .filter(|entry| entry.path().extension().is_some())
            .map(|entry| entry.metadata().unwrap().len())
            .sum()
    };
    let before = size(&fixture);
    // Its name is in what was saved: nobody opens it to find out.
    let accessed = fs::metadata(fixture.at("a")).unwrap().accessed().unwrap();
    let checkpoints = fixture.checkpoints().await;
    checkpoints.look(None).await.unwrap();
    assert_eq!(size(&fixture), before);
    assert_eq!(fs::metadata(fixture.at("a")).unwrap().accessed().unwrap(), accessed);
    fixture.put("a", "changed");
    assert_eq!(paths(&checkpoints).await, ["a"]);
}

#[tokio::test]
async fn two_sessions_each_see_everything() {
    let fixture = Fixture::new(&[("a", "1"), ("b", "2")]);
    let (first, second) = (fixture.checkpoints().await, fixture.checkpoints().await);
    first.look(None).await.unwrap();
    second.look(None).await.unwrap();
    fixture.put("a", "first's");
    assert_eq!(paths(&first).await, ["a"]);
    fixture.put("b", "second's");
    assert_eq!(paths(&second).await, ["a", "b"]);
    assert_eq!(paths(&first).await, ["b"]);
}
