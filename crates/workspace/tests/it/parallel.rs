//! Many writers at once, crashes in between: no accepted edit is lost, no checkout is left.

use std::{collections::BTreeSet, fs, path::PathBuf, time::Duration};

use posse_protocol::Branch;
use posse_workspace::{
    Expect, Workspace,
    worktree::{self, Checkout},
};

use crate::{Fixture, REPOSITORY, contents};

fn seed() -> u64 {
    let given = std::env::var("POSSE_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| fastrand::u64(..))
}

fn lines() -> String {
    (0..40).map(|line| format!("line {line}\n")).collect()
}

/// Puts a mark into a line of a file, as an agent's edit tool does: read, change, write if it is still the same.
fn edit(workspace: &Workspace, file: &str, line: usize, mark: &str) -> bool {
    for _ in 0..50 {
        let path = workspace.resolve(file).unwrap();
        let (bytes, stamp) = workspace.read(&path, 1_000_000).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines[line].push_str(mark);
        let new = lines.join("\n") + "\n";
        if workspace.write_atomic(&path, new.as_bytes(), Expect::Unchanged(stamp)).is_ok() {
            return true;
        }
    }
    false
}

/// Everything there is in any ref, and in the files.
async fn everywhere(fixture: &Fixture) -> String {
    let refs = "for r in $(git for-each-ref --format='%(refname)' refs/heads); do for f in f0 f1 f2; do git show $r:$f; done; done; cat f0 f1 f2";
    fixture.run(refs).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_accepted_edit_is_in_a_ref_or_in_the_files_or_reported() {
    let seed = seed();
    println!("POSSE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let text = lines();
    let fixture = Fixture::new(&[("f0", &text), ("f1", &text), ("f2", &text)]);
    fixture.run(REPOSITORY).await;
    let into = fixture.outside().join("checkouts");
    let checkpoints = fixture.checkpoints().await;
    let mut writers = Vec::new();
    for writer in 0..8 {
        let (root, into, shared) = (fixture.at("."), into.clone(), fixture.workspace.clone());
        let mut random = random.fork();
        writers.push(tokio::spawn(async move {
            let mut accepted = Vec::new();
            // Half of them work in the shared folder.
            let checkout = if writer % 2 == 0 {
                None
            } else {
                let name = format!("posse/g1/w{writer}");
                Some(worktree::check_out(&root, &into, &name).await.unwrap())
            };
            let workspace = checkout.as_ref().map_or(shared, |own| Workspace::open(&own.folder).unwrap());
            for round in 0..12 {
                let mark = format!("<{writer}.{round}>");
                let (file, line) = (format!("f{}", random.u32(..3)), random.usize(..40));
                let (place, marked) = (workspace.clone(), mark.clone());
                let done =
                    tokio::task::spawn_blocking(move || edit(&place, &file, line, &marked)).await.unwrap();
                if done {
                    accepted.push(mark);
                }
            }
            // Some crash: their work is left where it is.
            let branch = match checkout {
                Some(own) if writer % 4 == 1 => worktree::finish(&own, "work", 1000).await.unwrap(),
                Some(own) => {
                    let wait = Duration::from_millis(random.u64(..12));
                    let _ = tokio::time::timeout(wait, worktree::finish(&own, "cut", 1000)).await;
                    None
                }
                None => None,
            };
            (accepted, branch)
        }));
    }
    let (mut accepted, mut branches): (Vec<String>, Vec<Branch>) = Default::default();
    for writer in writers {
        let (marks, branch) = writer.await.unwrap();
        accepted.extend(marks);
        branches.extend(branch);
    }
    assert!(accepted.len() >= 90, "seed {seed}: only {}", accepted.len());
    let swept = worktree::sweep(&fixture.at("."), &into).await.unwrap();
    assert_eq!(swept.failed, Vec::<String>::new(), "seed {seed}");
    branches.extend(swept.branches);
    let lost = missing(&accepted, &everywhere(&fixture).await);
    assert_eq!(lost, BTreeSet::new(), "seed {seed}: before merging");
    // All at once: they queue. What was accepted is then in the files or in a conflict, and still on its branch.
    let mut merges = Vec::new();
    for branch in branches.clone() {
        let (workspace, checkpoints) = (fixture.workspace.clone(), checkpoints.clone());
        merges.push(tokio::spawn(async move {
            worktree::merge(&workspace, Some(&checkpoints), &branch).await.unwrap()
        }));
    }
    let mut told = String::new();
    for merge in merges {
        merge.await.unwrap().conflicts.iter().for_each(|conflict| told.push_str(&conflict.text));
    }
    let files: String = ["f0", "f1", "f2"].map(|file| fixture.text(file)).concat();
    assert_eq!(missing(&accepted, &(files + &told)), BTreeSet::new(), "seed {seed}: after merging");
    assert_eq!(missing(&accepted, &everywhere(&fixture).await), BTreeSet::new(), "seed {seed}");
}

fn missing(accepted: &[String], text: &str) -> BTreeSet<String> {
    accepted.iter().filter(|mark| !text.contains(mark.as_str())).cloned().collect()
}

/// What one delegation does in its checkout.
fn work_in(checkout: &Checkout, number: usize, random: &mut fastrand::Rng) -> Option<String> {
    let at = |name: &str| checkout.folder.join(name);
    match random.u32(..4) {
        0 => return None,
        1 => {
            let _ = fs::remove_file(at("link"));
            std::os::unix::fs::symlink("../outside", at("link")).unwrap();
        }
        2 => fs::remove_file(at("b")).unwrap(),
        _ => fs::write(at("a"), format!("work {number}\n")).unwrap(),
    }
    fs::write(at("new"), format!("new {number}\n")).unwrap();
    Some(format!("new {number}\n"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_hundred_checkouts_leave_nothing_behind_and_lose_nothing() {
    let seed = seed();
    println!("POSSE_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let fixture = Fixture::new(&[("a", "a\n"), ("b", "b\n"), ("dir/c", "c\n"), (".gitignore", "ignored\n")]);
    fixture.run(REPOSITORY).await;
    std::os::unix::fs::symlink("dir", fixture.at("link")).unwrap();
    let outside = fixture.outside().join("outside");
    fs::write(&outside, "outside").unwrap();
    fixture.put("a", "dirty\n");
    fixture.put("untracked", "u\n");
    let before = (contents(&fixture.at(".")), fixture.own_state().await);
    let into: PathBuf = fixture.checkouts();
    let (mut worked, mut delegations, mut cut) = (Vec::new(), 0, 0);
    for number in 0..200 {
        delegations += 1;
        let name = format!("posse/g2/n{number}");
        let (root, folder) = (fixture.at("."), into.clone());
        let crash_in = |random: &mut fastrand::Rng| {
            let wait_ms = if random.u32(..4) == 0 { random.u64(..40) } else { 60_000 };
            Duration::from_millis(wait_ms)
        };
        let made =
            tokio::time::timeout(crash_in(&mut random), worktree::check_out(&root, &folder, &name)).await;
        let Ok(checkout) = made else {
            cut += 1;
            continue;
        };
        let checkout = checkout.unwrap();
        let work = work_in(&checkout, number, &mut random);
        worked.extend(work.map(|work| (name, work)));
        let done =
            tokio::time::timeout(crash_in(&mut random), worktree::finish(&checkout, "work", 1000)).await;
        match done {
            Ok(done) => drop(done.unwrap()),
            Err(_) => cut += 1,
        }
        if number % 50 == 49 {
            let swept = worktree::sweep(&root, &into).await.unwrap();
            assert_eq!(swept.failed, Vec::<String>::new(), "seed {seed}");
        }
    }
    // The last one may have been cut off before its turn to sweep.
    let swept = worktree::sweep(&fixture.at("."), &into).await.unwrap();
    assert_eq!(swept.failed, Vec::<String>::new(), "seed {seed}");
    assert_eq!((delegations, fixture.leftovers().await.as_str()), (200, ""), "seed {seed}");
    assert!(cut >= 20, "seed {seed}: only {cut} were cut off");
    let branches = fixture.run("git for-each-ref --format='%(refname:short)' refs/heads/posse").await;
    let branches: BTreeSet<&str> = branches.lines().collect();
    let expected: BTreeSet<&str> = worked.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(branches, expected, "seed {seed}");
    let shown = fixture.run("for b in $(git for-each-ref --format='%(refname:short)' refs/heads/posse); do git show $b:new; done").await;
    assert_eq!(worked.iter().filter(|(_, work)| !shown.contains(work.as_str())).count(), 0, "seed {seed}");
    assert_eq!((contents(&fixture.at(".")), fixture.own_state().await), before, "seed {seed}");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "outside");
    assert_eq!(fixture.run("git fsck --no-dangling 2>&1; find .git -name '*.lock'").await, "", "seed {seed}");
}
