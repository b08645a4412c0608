//! Results that are not the work of the agent.

use std::path::Path;

use posse_engine::Engine;
use posse_protocol::{Approval, Ending};
use posse_testkit::{Fixture, Turn};
use serde_json::json;

use super::foe::{Attack, Foe, Held, end, life};
use super::ground::{Attempt, Comes, EVIL, Ground, copied};
use crate::stage::{Stage, finish, on_branch, start};

pub(super) const ATTEMPTS: usize = RESULTS.len() + 1;

const REFUSED: Comes = Comes::Failed("was refused");

/// Ends with a bundle and a tip.
async fn ends_with(mut held: Held, tip: &str, bundle: Vec<u8>) {
    assert!(held.tell(&life()).await, "its words are taken");
    let blob = held.foe.put(&bundle).await;
    let mut result = end();
    (result["end"]["tip"], result["bundle"]) = (json!(tip), json!(blob.to_string()));
    held.end(&result).await;
}

/// Commits files on top of what the agent began with.
fn committed(workspace: &Path, files: &[(&str, &str)]) -> Fixture {
    let copy = copied(workspace);
    for (path, content) in files {
        let path = copy.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    copy.run_git(&["add", "--all", "--force"]);
    copy.run_git(&["commit", "--quiet", "--allow-empty", "-m", "work"]);
    copy
}

fn tip_of(copy: &Fixture) -> String {
    copy.run_git(&["rev-parse", "HEAD"]).trim().to_owned()
}

/// A bundle of some references, as git writes it.
fn bundle(copy: &Fixture, what: &[&str]) -> Vec<u8> {
    let path = copy.path().join(".git/result.bundle");
    copy.run_git(&[&["bundle", "create", "--quiet", path.to_str().unwrap()], what].concat());
    std::fs::read(path).unwrap()
}

/// An entry of a tree, in git's own format: the name of a blob as bytes is the same for all.
fn entry(mode: &str, name: &str, hash: &str) -> Vec<u8> {
    let bytes = (0..hash.len()).step_by(2).map(|at| u8::from_str_radix(&hash[at..at + 2], 16).unwrap());
    format!("{mode} {name}\0").into_bytes().into_iter().chain(bytes).collect()
}

fn with_entry(workspace: &Path, mode: &str, name: &str) -> (String, Vec<u8>) {
    let copy = committed(workspace, &[("x.txt", EVIL)]);
    let blob = copy.run_git(&["rev-parse", "HEAD:x.txt"]);
    let path = copy.path().join(".git/tree.raw");
    std::fs::write(&path, entry(mode, name, blob.trim())).unwrap();
    let tree = copy.run_git(&["hash-object", "-w", "--literally", "-t", "tree", path.to_str().unwrap()]);
    let commit = copy.run_git(&["commit-tree", tree.trim(), "-p", "HEAD", "-m", "work"]);
    copy.run_git(&["update-ref", "refs/heads/work", commit.trim()]);
    (commit.trim().to_owned(), bundle(&copy, &["refs/heads/work", "^HEAD~1"]))
}

macro_rules! result {
    ($name:literal, $comes:expr, |$workspace:ident| $make:expr) => {
        Attempt {
            name: $name,
            comes: $comes,
            play: |held, arena| {
                Box::pin(async move {
                    let $workspace = arena.workspace.clone();
                    let made = tokio::task::spawn_blocking(move || -> (String, Vec<u8>) { $make });
                    let (tip, bundle) = made.await.unwrap();
                    ends_with(held, &tip, bundle).await;
                })
            },
        }
    };
}

static RESULTS: &[Attempt] = &[
    result!("garbage", REFUSED, |_workspace| ("a".repeat(40), vec![7; 10_000])),
    result!("nothing", REFUSED, |_workspace| ("a".repeat(40), Vec::new())),
    result!("no-tip", REFUSED, |workspace| {
        let copy = committed(&workspace, &[("x.txt", "x")]);
        ("b".repeat(40), bundle(&copy, &["HEAD", "^HEAD~1"]))
    }),
    result!("tip-is-a-word", REFUSED, |workspace| {
        let copy = committed(&workspace, &[("x.txt", "x")]);
        ("--upload-pack=evil".to_owned(), bundle(&copy, &["HEAD", "^HEAD~1"]))
    }),
    result!("tip-is-a-branch", REFUSED, |workspace| {
        let copy = committed(&workspace, &[("x.txt", "x")]);
        ("refs/heads/main".to_owned(), bundle(&copy, &["HEAD", "^HEAD~1"]))
    }),
    result!("unrelated", REFUSED, |_workspace| {
        let other = Fixture::new().file("x.txt", "x").git();
        (tip_of(&other), bundle(&other, &["HEAD"]))
    }),
    result!("cut", REFUSED, |workspace| {
        let copy = committed(&workspace, &[("x.txt", "x")]);
        let mut bytes = bundle(&copy, &["HEAD", "^HEAD~1"]);
        bytes.truncate(bytes.len() - 30);
        (tip_of(&copy), bytes)
    }),
    result!("tree-of-git", REFUSED, |workspace| with_entry(&workspace, "100644", ".git")),
    result!("tree-leads-out", REFUSED, |workspace| with_entry(&workspace, "100644", "..")),
    result!("tree-with-slash", REFUSED, |workspace| with_entry(&workspace, "100644", "a/evil")),
    result!("tree-bad-mode", REFUSED, |workspace| with_entry(&workspace, "104755", "evil")),
    // Each level holds the next one sixteen times: a few objects stand for more files than any disk has.
    result!("bomb", REFUSED, |workspace| {
        let copy = committed(&workspace, &[("x.txt", "x")]);
        let mut hash = copy.run_git(&["rev-parse", "HEAD:x.txt"]).trim().to_owned();
        let path = copy.path().join(".git/level.raw");
        for level in 0..9 {
            let mode = if level == 0 { "100644" } else { "40000" };
            let tree: Vec<u8> = (0..16).flat_map(|n| entry(mode, &format!("{n:x}"), &hash)).collect();
            std::fs::write(&path, tree).unwrap();
            hash =
                copy.run_git(&["hash-object", "-w", "-t", "tree", path.to_str().unwrap()]).trim().to_owned();
        }
        let commit = copy.run_git(&["commit-tree", &hash, "-p", "HEAD", "-m", "bomb"]).trim().to_owned();
        copy.run_git(&["update-ref", "refs/heads/work", &commit]);
        (commit, bundle(&copy, &["refs/heads/work", "^HEAD~1"]))
    }),
    // It names more than it was asked for; only the agent's own branch comes of it.
    result!("more-references", Comes::Completed, |workspace| {
        let copy = committed(&workspace, &[("x.txt", "x")]);
        copy.run_git(&["tag", "v9"]);
        for name in ["refs/heads/main", "refs/heads/other", "refs/posse/results/x", "refs/replace/x"] {
            copy.run_git(&["update-ref", name, "HEAD"]);
        }
        (tip_of(&copy), bundle(&copy, &["--all", "^HEAD~1"]))
    }),
    Attempt {
        name: "no-blob",
        comes: Comes::Failed("cannot be fetched"),
        play: |mut held, _| {
            Box::pin(async move {
                assert!(held.tell(&life()).await);
                let mut result = end();
                result["end"]["tip"] = json!("a".repeat(40));
                result["bundle"] = json!(posse_cluster::BlobId::of(b"never put").unwrap().to_string());
                held.end(&result).await;
            })
        },
    },
    Attempt {
        name: "tip-without-bundle",
        comes: REFUSED,
        play: |mut held, arena| {
            Box::pin(async move {
                assert!(held.tell(&life()).await);
                let copy = copied(&arena.workspace);
                let mut result = end();
                result["end"]["tip"] = json!(tip_of(&copy));
                held.end(&result).await;
            })
        },
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn results_that_are_not_its_work_are_refused() {
    let names: Vec<&str> = RESULTS.iter().map(|attempt| attempt.name).collect();
    let ground = Ground::new(&names, "implementer").await;
    let ran = ground.play(RESULTS).await;
    let branches = ground.stage.files.run_git(&["for-each-ref", "--format=%(refname)", "refs/heads/posse/"]);
    assert_eq!(branches.lines().count(), 2, "two agents have a branch: {branches}");
    for name in names {
        let branch = ran.report_of(name).receipt.branch;
        assert_eq!(branch.is_some(), name == "more-references", "{name}");
    }
    assert!(ground.stage.files.run_git(&["tag"]).is_empty());
}

/// Names that other programs act on by themselves are on the branch, and come into the workspace with nobody's yes but the
/// person's.
#[tokio::test(flavor = "multi_thread")]
async fn what_other_programs_obey_is_merged_by_nobody() {
    const OBEYED: [&str; 4] =
        [".envrc", ".claude/settings.json", ".vscode/tasks.json", "sub/.githooks/pre-commit"];
    let mut stage = Stage::new([(
        "main",
        vec![
            Turn::call("agent", start("implementer", "write it")),
            Turn::call("agent", json!({"action": "wait"})),
            Turn::call("agent", json!({"action": "merge", "agent": "implementer-1"})),
            Turn::text("all done"),
        ],
    )])
    .await;
    stage.grant.approval = Approval::Auto;
    let workspace = stage.files.path().to_owned();
    let attack: Attack = std::sync::Arc::new(move |mut held: Held| {
        let workspace = workspace.clone();
        Box::pin(async move {
            held.claim().await;
            let files: Vec<(&str, &str)> =
                OBEYED.iter().map(|path| (*path, EVIL)).chain([("plain.txt", "plain\n")]).collect();
            let copy = committed(&workspace, &files);
            ends_with(held, &tip_of(&copy), bundle(&copy, &["HEAD", "^HEAD~1"])).await;
        })
    });
    let _foe = Foe::rise(&stage.hub, "two", stage.folder("foe"), attack);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let ran = finish(engine.start(stage.request("go", stage.fleet("home"))).unwrap()).await;
    let report = ran.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed);
    let branch = report.receipt.branch.expect("its work is on a branch");
    assert_eq!(on_branch(&stage.files, &branch.name, ".envrc"), EVIL);
    let obeyed: Vec<&str> =
        OBEYED.into_iter().filter(|path| stage.files.path().join(path).exists()).collect();
    assert_eq!(obeyed, Vec::<&str>::new(), "nobody said yes");
    assert_eq!(stage.files.read("plain.txt"), "plain\n", "the rest is merged");
}
