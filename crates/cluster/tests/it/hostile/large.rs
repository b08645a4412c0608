//! Homes that give a worker more than it takes: it says so before it costs memory, and takes all that an honest home has.

use posse_cluster::BlobId;
use posse_cluster::limits::{CONTENTS_BYTES_MAX, KEPT_CONTENT_BYTES_MAX, KEPT_PATHS_MAX};
use posse_protocol::{Grant, KeptFile, Network, Saved};
use posse_testkit::Turn;
use posse_workspace::limits::DEPOT_FILES_MAX;
use serde_json::json;

use super::home::{FalseHome, Given};
use crate::fixture::memory_mb;
use crate::stage::{Stage, StagedWorker};

async fn stage() -> (Stage, StagedWorker, FalseHome) {
    let stage = Stage::new([("main", vec![Turn::text("nothing")])]).await;
    let ceiling = Grant { network: Network::None, ..Grant::full() };
    let worker = stage.worker_within("one", &[], ceiling, 4);
    let home = FalseHome::new(&stage);
    (stage, worker, home)
}

/// A content, and what names it.
fn content(given: &mut Given, bytes: Vec<u8>) -> Option<Saved> {
    let blob = BlobId::of(&bytes).unwrap().to_string();
    given.contents.push((blob.clone(), bytes));
    Some(Saved { mode: "100644".to_owned(), blob })
}

fn keep(given: &mut Given, after: &Option<Saved>, count: usize) {
    let file = |number| KeptFile { path: format!("many/{number}"), after: after.clone() };
    given.task.work.kept.extend((0..count).map(file));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_had_changed_many_files_is_taken_over() {
    let (_stage, worker, home) = stage().await;
    let mut given = home.given().await;
    let same = content(&mut given, b"the same\n".to_vec());
    keep(&mut given, &same, DEPOT_FILES_MAX + 10);
    given.task.work.kept.push(KeptFile { path: "a.txt".to_owned(), after: None });
    given.calls = vec![("shell", json!({"command": "ls many | wc -l; cat many/* | sort -u; ls"}))];
    let got = home.play(given).await;
    let results = got.results();
    let [(true, text)] = results[..] else { panic!("{results:?}") };
    assert!(text.contains(&format!("{}\nthe same\nmany\nsub", DEPOT_FILES_MAX + 10)), "{text}");
    worker.kill();
}

/// There are no contents then, and something is to be done all the same.
#[tokio::test(flavor = "multi_thread")]
async fn files_that_an_agent_only_removed_are_gone_on_the_next_worker() {
    let (_stage, worker, home) = stage().await;
    let mut given = home.given().await;
    given.task.work.kept.push(KeptFile { path: "a.txt".to_owned(), after: None });
    given.calls = vec![("shell", json!({"command": "ls"}))];
    let got = home.play(given).await;
    assert!(matches!(&got.results()[..], [(true, text)] if !text.contains("a.txt")), "{got:?}");
    worker.kill();
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_more_than_a_worker_takes_are_not_put() {
    type Case = (&'static str, fn(&mut Given));
    let (stage, worker, home) = stage().await;
    let honest = home.given().await;
    let before = memory_mb();
    let mebibyte = 1 << 20;
    let cases: [Case; 4] = [
        ("one content for many files", |given| {
            let large = content(given, vec![7; 1 << 20]);
            keep(given, &large, (CONTENTS_BYTES_MAX >> 20) as usize + 1);
        }),
        ("more files than there may be", |given| keep(given, &None, KEPT_PATHS_MAX + 1)),
        ("a large content", |given| {
            let large = content(given, vec![7; KEPT_CONTENT_BYTES_MAX as usize + 1]);
            keep(given, &large, 1);
        }),
        ("a content that is not there", |given| {
            let blob = "a".repeat(64);
            keep(given, &Some(Saved { mode: "100644".to_owned(), blob }), 1);
        }),
    ];
    let mut refused = 0;
    for (name, make) in cases {
        let mut given = honest.clone();
        make(&mut given);
        let got = home.play(given).await;
        assert!(got.end.is_none(), "{name}: {:?}", got.end);
        refused += 1;
    }
    assert_eq!(refused, 4);
    // What home itself has of it counts, too.
    let more = memory_mb().saturating_sub(before);
    assert!(more < (CONTENTS_BYTES_MAX / mebibyte) / 2, "{more} MB more");
    let passing = stage.folder("one/repositories/passing");
    assert_eq!(std::fs::read_dir(passing).unwrap().count(), 0, "nothing of it stays");
    worker.kill();
}
