//! A worker that says thousands of things: home's memory stays bounded, and the honest agent is not stopped by it.

use posse_cluster::{RunId, RunUp, UpBody, WorkerInfo, limits};
use serde_json::json;

use super::foe::{end, life, raw};
use super::ground::{Attempt, Comes, Ground};
use crate::fixture::memory_mb;

pub(super) const ATTEMPTS: usize = FLOODS.len();

/// How many letters each flood has, and how much home may grow by all of them.
const LETTERS: u64 = 1_000;
/// How many have a flood of long ones, and how long these are.
const LONG_LETTERS: u64 = 40;
const LONG_BYTES: usize = limits::MESSAGE_BYTES_MAX - (16 << 10);
const GROWTH_MB_MAX: u64 = 160;

macro_rules! flood {
    ($name:literal, |$held:ident, $n:ident| $said:expr) => {
        Attempt {
            name: $name,
            comes: Comes::Completed,
            play: |mut $held, _| {
                Box::pin(async move {
                    assert!($held.tell(&life()).await);
                    for $n in 0..LETTERS {
                        let said = $said;
                        $held.say(said).await;
                    }
                    $held.end(&end()).await;
                })
            },
        }
    };
}

/// The same letter again and again, which is as long as one can be.
macro_rules! long_flood {
    ($name:literal, |$held:ident, $long:ident| $said:expr) => {
        Attempt {
            name: $name,
            comes: Comes::Completed,
            play: |mut $held, _| {
                Box::pin(async move {
                    assert!($held.tell(&life()).await);
                    let $long = json!("x".repeat(LONG_BYTES));
                    let said = $said;
                    let letter = $held.foe.letter_of("two", &$held.about, said);
                    for _ in 0..LONG_LETTERS {
                        $held.foe.send(&$held.about, letter.clone()).await;
                        // So that home reads it before the next one comes.
                        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
                    }
                    $held.end(&end()).await;
                })
            },
        }
    };
}

static FLOODS: &[Attempt] = &[
    long_flood!("long-progress", |held, long| RunUp::Progress {
        epoch: held.epoch,
        body: raw(&json!({"show": {"text": long}}))
    }),
    long_flood!("long-claims", |held, long| RunUp::Claim { beat: 1, have: raw(&long) }),
    long_flood!("long-repeats", |held, long| held.items(1, std::slice::from_ref(&long))),
    long_flood!("long-gaps", |held, long| held.items(100, std::slice::from_ref(&long))),
    flood!("progress", |held, _n| {
        let text = json!({"show": {"text": "x".repeat(4_000)}});
        RunUp::Progress { epoch: held.epoch, body: raw(&text) }
    }),
    flood!("renewals", |held, n| RunUp::Renew { epoch: held.epoch, beat: n }),
    flood!("claims", |held, n| RunUp::Claim {
        beat: n,
        have: raw(&json!({"commits": vec!["a".repeat(40); 50]}))
    }),
    flood!("idle", |held, n| held.request(n + 1, 0, &json!({"ask": "idle"}))),
    flood!("acks", |held, n| RunUp::CommandAck { epoch: held.epoch, series: 1, upto: n }),
    flood!("repeats", |held, _n| held.items(1, &vec![life()[0].clone(); 10])),
    flood!("gaps", |held, n| held.items(n + 100, &vec![life()[0].clone(); 10])),
    Attempt {
        name: "hellos",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                for n in 0..LETTERS {
                    let labels = (0..10).map(|label| format!("label-{n}-{label}").parse().unwrap()).collect();
                    let have = raw(&json!("x".repeat(2_000)));
                    let program = "x".repeat(1_000);
                    let info = WorkerInfo {
                        labels,
                        capacity: 1,
                        room: 1,
                        program,
                        have,
                        drained: false,
                        process: RunId::random().unwrap(),
                        orders: 0,
                    };
                    held.foe.hello(UpBody::Hello(info), &format!("worker-{n}")).await;
                    tokio::task::yield_now().await;
                }
                held.complete().await;
            })
        },
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn floods_cost_little_memory_and_stop_nobody() {
    let names: Vec<&str> = FLOODS.iter().map(|attempt| attempt.name).collect();
    let ground = Ground::new(&names, "explore").await;
    let before = memory_mb();
    ground.play(FLOODS).await;
    let grown = memory_mb().saturating_sub(before);
    assert!(grown <= GROWTH_MB_MAX, "{grown} MB more");
}
