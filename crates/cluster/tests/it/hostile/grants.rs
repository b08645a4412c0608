//! A home that speaks raw signed letters: grants that cannot be, and numbers that leave no room.

use std::time::Duration;

use posse_cluster::{
    Down, HomeCourier, HomeNews, LocalHome, PostedOffer, RunDown, RunUp, TaskOffer, UpBody, Wants, limits,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::foe::raw;
use super::home::{FalseHome, Got, any_uuid};
use super::homes::{Yard, ceiling, offer_by};
use crate::stage::seal;

pub(super) const ATTEMPTS: usize = GRANTS.len();

/// A grant, and whether the worker begins with it.
struct Grant {
    name: &'static str,
    recorded: u64,
    begins: bool,
    task: fn(Value, &TaskOffer) -> Vec<u8>,
    package: fn(Value) -> Value,
}

fn as_offered(mut task: Value, offer: &TaskOffer) -> Vec<u8> {
    (task["agent"], task["session"]) = (json!(offer.agent), json!(offer.session));
    serde_json::to_vec(&task).unwrap()
}

const PLAIN: Grant =
    Grant { name: "plain", recorded: 0, begins: true, task: as_offered, package: |package| package };

static GRANTS: &[Grant] = &[
    Grant { name: "no-package", begins: false, package: |_| json!(["evil"]), ..PLAIN },
    Grant {
        name: "no-such-blob",
        begins: false,
        package: |mut package| {
            package["task"] = json!("ab".repeat(32));
            package
        },
        ..PLAIN
    },
    Grant {
        name: "path-as-blob",
        begins: false,
        package: |mut package| {
            package["task"] = json!("../../data/secret.txt");
            package
        },
        ..PLAIN
    },
    Grant { name: "no-task", begins: false, task: |_, _| b"{}".to_vec(), ..PLAIN },
    Grant {
        name: "deep-task",
        begins: false,
        task: |_, _| format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes(),
        ..PLAIN
    },
    // The offer was about another agent.
    Grant {
        name: "other-agent",
        begins: false,
        task: |task, offer| as_offered(task, &TaskOffer { agent: any_uuid().into(), ..offer.clone() }),
        ..PLAIN
    },
    Grant {
        name: "other-session",
        begins: false,
        task: |task, offer| as_offered(task, &TaskOffer { session: any_uuid().into(), ..offer.clone() }),
        ..PLAIN
    },
    Grant {
        name: "huge-task",
        begins: false,
        task: |_, _| vec![b' '; usize::try_from(limits::TASK_BYTES_MAX).unwrap() + 1],
        ..PLAIN
    },
    Grant {
        name: "damaged-files",
        begins: false,
        package: |mut package| {
            package["contents"] = package["task"].clone();
            package
        },
        ..PLAIN
    },
    Grant { name: "no-room-for-numbers", recorded: u64::MAX, ..PLAIN },
];

/// Posts an offer, and gives what the worker's run says that took it.
async fn posted(home: &LocalHome) -> TaskOffer {
    let offer = TaskOffer { home: "raw".parse().unwrap(), ..offer_by("me", any_uuid().into()) };
    let bytes = seal().seal_offer(&offer).unwrap();
    let wants = Wants::default();
    home.offer(PostedOffer { agent: offer.agent, epoch: 0, attempt: 1, wants, bytes }).await.unwrap();
    offer
}

/// The next thing that a run of an agent says.
async fn heard(news: &mut mpsc::Receiver<HomeNews>, offer: &TaskOffer) -> (posse_cluster::RunAbout, RunUp) {
    loop {
        let next =
            tokio::time::timeout(Duration::from_secs(60), news.recv()).await.expect("the worker speaks");
        let Some(HomeNews::Message { from, letter }) = next else { continue };
        let UpBody::Run { about, said } = seal().open_up(&letter, &from).unwrap().body else { continue };
        if about.agent == offer.agent {
            return (about, said);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn grants_that_cannot_be_are_given_back() {
    let mut yard = Yard::new().await;
    let worker = yard.stage.worker_within("one", &[], ceiling(), 4);
    yard.serves_honestly("home").await;
    yard.others = yard.depots();
    let given = FalseHome::new(&yard.stage).given().await;
    let task = serde_json::to_value(&given.task).unwrap();
    let home = yard.stage.hub.home("raw".parse().unwrap());
    let mut news = home.follow().await.unwrap();
    let put = |bytes: Vec<u8>| {
        let path = yard.stage.folder("raw.file");
        std::fs::write(&path, bytes).unwrap();
        let home = &home;
        async move { home.put_blob(&"one".parse().unwrap(), &path).await.unwrap().to_string() }
    };
    let bundle = put(given.bundle.unwrap()).await;
    let mut ran = 0;
    for grant in GRANTS {
        let offer = posted(&home).await;
        let task = put((grant.task)(task.clone(), &offer)).await;
        let package = (grant.package)(json!({"task": task, "bundle": bundle, "contents": null}));
        let begins = loop {
            match heard(&mut news, &offer).await {
                (about, RunUp::Claim { beat, .. }) => {
                    let (worker, recorded) = ("one".parse().unwrap(), grant.recorded);
                    let said = RunDown::Granted {
                        epoch: 1,
                        beat,
                        recorded,
                        lease_ms: 30_000,
                        renew_ms: 10_000,
                        package: raw(&package),
                    };
                    let down = Down::run(worker, about, said);
                    home.tell(&"one".parse().unwrap(), seal().seal_down(&down).unwrap()).await.unwrap();
                }
                (_, RunUp::GiveUp { why }) => {
                    assert!(!why.contains("evil"), "{why}");
                    break false;
                }
                (_, RunUp::Items { .. }) => break true,
                _ => {}
            }
        };
        assert_eq!(begins, grant.begins, "{}", grant.name);
        yard.check(grant.name, &Got::default());
        home.withdraw(offer.agent).await.unwrap();
        ran += 1;
    }
    assert_eq!(ran, GRANTS.len());
    yard.serves_honestly("home-2").await;
    worker.kill();
}
