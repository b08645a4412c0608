//! Letters of runs, epochs, owners and workers that the hostile worker is not, and letters that contradict each other.

use posse_cluster::{
    OwnerSecret, RunAbout, RunDown, RunId, RunUp, Seal, TaskOffer, Up, UpBody, Wants, WorkerInfo,
};
use posse_protocol::{EventKind, Purpose, Reply};
use serde_json::{Value, json};

use super::foe::{Held, end, is_over, item, life, raw};
use super::ground::{Arena, Attempt, Comes, FORGED, Ground};
use crate::stage::seal;

pub(super) const ATTEMPTS: usize = LETTERS.len();

/// Something that is a worker's to tell, and must not be believed here.
fn lie() -> Value {
    let reply = Reply { text: FORGED.to_owned(), ..Reply::default() };
    item(&EventKind::Replied { turn: 1, reply, duration_ms: 1, cost_usd: None })
}

fn lies() -> Vec<Value> {
    let mut lies = life();
    lies[2] = lie();
    lies
}

/// All that a run can say, of one epoch.
fn all_of(epoch: u64) -> Vec<RunUp> {
    let items = || lies().iter().map(raw).collect::<Vec<_>>();
    let result = || {
        raw(
            &json!({"end": {"ending": {"status": "completed"}, "short": FORGED, "notes": [FORGED], "tip": null}, "bundle": null}),
        )
    };
    vec![
        RunUp::Claim { beat: 9, have: raw(&json!({"commits": [FORGED]})) },
        RunUp::Renew { epoch, beat: 9 },
        RunUp::Items { epoch, first: 1, items: items() },
        RunUp::Items { epoch, first: 0, items: items() },
        RunUp::Items { epoch, first: u64::MAX, items: items() },
        RunUp::Final { epoch, after: 0, aside: false, result: result() },
        RunUp::Final { epoch, after: u64::MAX, aside: false, result: result() },
        RunUp::Final { epoch, after: 0, aside: true, result: result() },
        RunUp::Progress { epoch, body: raw(&json!({"show": FORGED})) },
        RunUp::Request {
            epoch,
            id: 1,
            open_from: 1,
            body: raw(&json!({"after": 0, "request": {"ask": "idle"}})),
        },
        RunUp::CommandAck { epoch, series: 1, upto: u64::MAX },
        RunUp::GiveUp { why: FORGED.to_owned() },
    ]
}

/// Says all of it for an epoch that is none of its own, then ends honestly.
async fn of_epoch(mut held: Held, epoch: u64) {
    for said in all_of(epoch).into_iter().filter(|said| {
        !matches!(said, RunUp::Claim { .. } | RunUp::GiveUp { .. } | RunUp::Final { aside: true, .. })
    }) {
        held.say(said).await;
    }
    held.calm().await;
    held.complete().await;
}

/// Says all of it about the honest agent, with a run that it made up.
async fn about_honest(mut held: Held, arena: Arena, worker: &str) {
    let honest = arena.id("honest").await;
    let about = RunAbout { agent: honest, run: RunId::random().unwrap(), ..held.about.clone() };
    for epoch in [0, 1, 2, u64::MAX] {
        for said in all_of(epoch) {
            let letter = held.foe.letter_of(worker, &about, said);
            held.foe.send(&about, letter).await;
        }
    }
    held.calm().await;
    held.complete().await;
}

/// Sends letters as they are, then ends honestly.
async fn sends(mut held: Held, letters: Vec<bytes::Bytes>) {
    for letter in letters {
        held.foe.send(&held.about.clone(), letter).await;
    }
    held.calm().await;
    held.complete().await;
}

fn up(held: &Held, said: RunUp) -> Up {
    let body = UpBody::Run { about: held.about.clone(), said };
    Up { version: posse_cluster::CLUSTER_VERSION, worker: held.foe.name(), body }
}

macro_rules! attempt {
    ($name:literal, |$held:ident, $arena:ident| $play:expr) => {
        Attempt {
            name: $name,
            comes: Comes::Completed,
            play: |$held, $arena| Box::pin(async move { $play.await }),
        }
    };
}

static LETTERS: &[Attempt] = &[
    attempt!("older-epoch", |held, _arena| of_epoch(held, 0)),
    attempt!("newer-epoch", |held, _arena| of_epoch(held, 2)),
    attempt!("last-epoch", |held, _arena| of_epoch(held, u64::MAX)),
    attempt!("guessed-run", |held, arena| about_honest(held, arena, "two")),
    attempt!("name-of-other", |held, arena| about_honest(held, arena, "one")),
    attempt!("own-name-of-other", |held, _arena| async move {
        // Its own run, as another worker has it.
        let mut held = held;
        for said in all_of(held.epoch) {
            let letter = held.foe.letter_of("one", &held.about, said);
            held.foe.send(&held.about.clone(), letter).await;
        }
        held.calm().await;
        held.complete().await;
    }),
    attempt!("other-secret", |held, _arena| async move {
        let other = Seal::new("me".parse().unwrap(), OwnerSecret::new(&[8; 32]).unwrap());
        let stranger = Seal::new("you".parse().unwrap(), OwnerSecret::new(&[7; 32]).unwrap());
        let letters = [other, stranger].map(|seal| {
            all_of(held.epoch)
                .into_iter()
                .map(|said| seal.seal_up(&up(&held, said)).unwrap())
                .collect::<Vec<_>>()
        });
        sends(held, letters.concat()).await;
    }),
    attempt!("other-way", |held, _arena| async move {
        // What home says, and an offer, sent back to it.
        let said = RunDown::SettledAck { epoch: held.epoch };
        let down = posse_cluster::Down::run(held.foe.name(), held.about.clone(), said);
        let offer = TaskOffer { wants: Wants::default(), ..held.offer.clone() };
        let letters = vec![seal().seal_down(&down).unwrap(), seal().seal_offer(&offer).unwrap()];
        sends(held, letters).await;
    }),
    attempt!("damaged", |held, _arena| async move {
        let whole = seal().seal_up(&up(&held, held.items(1, &lies()))).unwrap().to_vec();
        let mut letters: Vec<bytes::Bytes> =
            (0..40).map(|cut| whole[..cut * whole.len() / 40].to_vec().into()).collect();
        for at in (0..whole.len()).step_by(whole.len() / 40) {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            letters.push(flipped.into());
        }
        sends(held, letters).await;
    }),
    attempt!("other-version", |held, _arena| async move {
        let letter = seal().seal_up(&Up { version: 9, ..up(&held, held.items(1, &lies())) }).unwrap();
        sends(held, vec![letter]).await;
    }),
    attempt!("replayed", |held, _arena| async move {
        let mut held = held;
        let letter = held.foe.letter_of("two", &held.about, held.items(1, &life()));
        for _ in 0..50 {
            held.foe.send(&held.about.clone(), letter.clone()).await;
        }
        held.recorded = 0;
        held.complete().await;
        let end = RunUp::Final { epoch: held.epoch, after: 3, aside: false, result: raw(&end()) };
        for _ in 0..50 {
            held.say(end.clone()).await;
        }
    }),
    attempt!("gaps", |held, _arena| async move {
        let mut held = held;
        for first in [0, 2, 3, 100, u64::MAX] {
            held.say(held.items(first, &[lie()])).await;
        }
        held.complete().await;
    }),
    attempt!("same-number", |held, _arena| async move {
        // Other words under numbers that are on record.
        let mut held = held;
        assert!(held.tell(&life()).await);
        for first in 1..=3 {
            held.say(held.items(first, &[lie()])).await;
        }
        held.say(held.items(1, &lies())).await;
        held.end(&end()).await;
    }),
    attempt!("final-twice", |held, _arena| async move {
        let mut held = held;
        held.complete().await;
        for said in all_of(held.epoch).into_iter().chain(all_of(held.epoch + 1)) {
            held.say(said).await;
        }
    }),
    attempt!("fewer-than-told", |held, _arena| async move {
        // It ends before what it has told; nothing that it says is relied on, and another run ends honestly.
        let mut held = held;
        let told = EventKind::TurnStarted { turn: 1, purpose: Purpose::Work };
        assert!(held.tell(&[life()[0].clone(), item(&told)]).await);
        let said = RunUp::Final { epoch: held.epoch, after: 1, aside: false, result: raw(&end()) };
        held.until(said, |heard| (is_over(heard) || matches!(heard, RunDown::Refused(_))).then_some(()))
            .await;
    }),
    attempt!("held-by-two-runs", |held, _arena| async move {
        let mut held = held;
        let about = RunAbout { run: RunId::random().unwrap(), ..held.about.clone() };
        let mut told = held.foe.listens_for(&about.run);
        loop {
            held.foe.say(&about, RunUp::Claim { beat: 1, have: raw(&json!({})) }).await;
            held.say(RunUp::Renew { epoch: held.epoch, beat: 1 }).await;
            let heard = tokio::time::timeout(std::time::Duration::from_millis(500), told.recv()).await;
            match heard {
                Ok(Some(RunDown::Refused(_))) => break,
                Ok(Some(RunDown::Granted { .. })) => panic!("two runs have one agent"),
                _ => {}
            }
        }
        held.complete().await;
    }),
    attempt!("other-session", |held, _arena| async move {
        let mut held = held;
        let home: posse_cluster::HomeName = "elsewhere".parse().unwrap();
        let about = RunAbout { home, ..held.about.clone() };
        for said in all_of(held.epoch) {
            let letter = held.foe.letter_of("two", &about, said);
            held.foe.send(&held.about.clone(), letter).await;
        }
        held.calm().await;
        held.complete().await;
    }),
    attempt!("hello-lies", |held, _arena| async move {
        let mut held = held;
        let labels = (0..5_000).map(|n| format!("label-{n}").parse().unwrap()).collect();
        let info = WorkerInfo {
            labels,
            capacity: u32::MAX,
            room: u32::MAX,
            program: FORGED.repeat(1_000),
            have: raw(&json!([FORGED])),
            drained: true,
            process: RunId::random().unwrap(),
            orders: u64::MAX,
        };
        for worker in ["one", "two", "home", "nobody"] {
            held.foe.hello(UpBody::Hello(info.clone()), worker).await;
            held.foe.hello(UpBody::Leaving, worker).await;
        }
        held.complete().await;
    }),
];

#[tokio::test(flavor = "multi_thread")]
async fn letters_that_are_not_its_own_change_nothing() {
    let names: Vec<&str> = LETTERS.iter().map(|attempt| attempt.name).collect();
    let mut ground = Ground::new(&names, "implementer").await;
    // One of them has to be lost before another run gets its agent.
    ground.stage.times = posse_cluster::LeaseTimes::for_lease(8_000);
    let ran = ground.play(LETTERS).await;
    for name in names {
        let placed = if name == "fewer-than-told" { 2 } else { 1 };
        assert_eq!(ran.workers_of(name), vec!["two"; placed], "{name}");
        let told = ran.of(name).into_iter().filter(|kind| matches!(kind, EventKind::Told { .. })).count();
        assert_eq!(told, placed, "{name}: each is on record once");
    }
    let branches = ground.stage.files.run_git(&["for-each-ref", "--format=%(refname)", "refs/heads/posse/"]);
    assert_eq!(branches.lines().count(), 1, "only the honest agent has a branch: {branches}");
}
