//! The workers of a process: which of its sessions share them, and when there are others.

use std::sync::Arc;

use posse_setup::{KnownWorker, SessionPlan, Wishes, add_known_worker};

use crate::world::{TWO_MODELS, World};

/// A process that lives long sees workers that are added later; sessions that run keep those that they began with.
#[tokio::test]
async fn a_new_session_has_the_workers_that_are_configured_then() {
    let broker = format!("{TWO_MODELS}[cluster]\nnats = \"nats://127.0.0.1:1\"\n");
    let world = World::new(&format!("{broker}[workers.first]\n"));
    let (paths, folder) = (world.paths(), world.project());
    let begin = async || {
        let plan = SessionPlan::read(&paths, &folder, Wishes::default()).unwrap();
        let choice = plan.choose_model().await.unwrap();
        plan.terms(choice).unwrap().request("do it".to_owned(), None).unwrap().workers.unwrap()
    };
    let first = begin().await;
    assert!(Arc::ptr_eq(&first, &begin().await), "nothing has changed");
    let added = KnownWorker { name: "added".to_owned(), labels: Vec::new(), added_ms: 0 };
    add_known_worker(&paths, &added).unwrap();
    assert_eq!(begin().await.places(), ["first", "added"]);
    world.write("home/.config/posse/config.toml", &format!("{broker}[workers.second]\n"));
    assert_eq!(begin().await.places(), ["second", "added"]);
    assert_eq!(first.places(), ["first"]);
}
