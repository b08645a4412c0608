//! The governor: as a pure state machine, and in front of a real socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use posse_model::governor::{Governor, Outcome};
use posse_model::{Governors, Model, ModelConfig, Protocol, Signal, limits};
use posse_testkit::{FakeModel, Turn};

use crate::{ask, config, question};

fn granted(governor: &mut Governor, now_ms: u64) -> usize {
    std::iter::from_fn(|| governor.grant(now_ms)).count()
}

#[test]
fn first_in_first_out_up_to_the_limit() {
    let mut governor = Governor::new(2);
    let tickets: Vec<_> = (0..4).map(|_| governor.join()).collect();
    assert_eq!(
        [governor.grant(0), governor.grant(0), governor.grant(0)],
        [Some(tickets[0]), Some(tickets[1]), None]
    );
    governor.forget(tickets[2]);
    governor.leave(Outcome::Success);
    assert_eq!((governor.grant(0), governor.grant(0)), (Some(tickets[3]), None));
    assert_eq!((governor.running(), governor.waiting(), governor.limit()), (2, 0, 2));
}

#[test]
fn slowing_down_and_recovering() {
    let mut governor = Governor::new(8);
    for _ in 0..20 {
        governor.join();
    }
    assert_eq!(granted(&mut governor, 0), 8);
    governor.leave(Outcome::SlowDown { until_ms: 1_000 });
    governor.leave(Outcome::SlowDown { until_ms: 500 });
    (0..6).for_each(|_| governor.leave(Outcome::Neither));
    assert_eq!((governor.limit(), governor.running()), (2, 0));
    assert_eq!((granted(&mut governor, 999), governor.wake_ms(999)), (0, Some(1_000)));
    assert_eq!((granted(&mut governor, 1_000), governor.wake_ms(1_000)), (2, None));
    for _ in 0..limits::RECOVERY_SUCCESSES {
        governor.leave(Outcome::Success);
        governor.grant(1_000);
    }
    assert_eq!(governor.limit(), 3);
    (0..10).for_each(|_| governor.leave(Outcome::SlowDown { until_ms: 0 }));
    assert_eq!(governor.limit(), 1);
    (0..limits::RECOVERY_SUCCESSES * 20).for_each(|_| governor.leave(Outcome::Success));
    assert_eq!(governor.limit(), 8);
    governor.restrict(3);
    governor.restrict(5);
    assert_eq!(governor.limit(), 3);
}

/// Whatever happens, never more run than allowed, nobody is granted twice or forgotten, and holds are kept.
#[test]
fn random_histories_keep_the_rules() {
    let mut ran = 0;
    for seed in 0..500 {
        let mut random = fastrand::Rng::with_seed(seed);
        let max = random.usize(1..6);
        let mut governor = Governor::new(max);
        let (mut waiting, mut running, mut hold, mut now) = (Vec::new(), 0usize, 0u64, 0u64);
        for _ in 0..200 {
            now += random.u64(0..20);
            match random.u8(0..5) {
                0 | 1 => waiting.push(governor.join()),
                2 if running > 0 => {
                    running -= 1;
                    let until_ms = now + random.u64(0..50);
                    hold = hold.max(until_ms);
                    governor.leave(Outcome::SlowDown { until_ms });
                }
                3 if running > 0 => {
                    running -= 1;
                    governor.leave(Outcome::Success);
                }
                4 if !waiting.is_empty() => governor.forget(waiting.remove(random.usize(0..waiting.len()))),
                _ => {}
            }
            while let Some(ticket) = governor.grant(now) {
                assert!(now >= hold, "seed {seed}: granted during a hold");
                assert_eq!(ticket, waiting.remove(0), "seed {seed}: out of order");
                running += 1;
            }
            assert!(running <= max, "seed {seed}");
            assert_eq!((governor.running(), governor.waiting()), (running, waiting.len()), "seed {seed}");
            let stuck = !waiting.is_empty() && running < governor.limit() && governor.wake_ms(now).is_none();
            assert!(!stuck, "seed {seed}: nobody would ever wake those who wait");
        }
        ran += 1;
    }
    assert_eq!(ran, 500);
}

async fn run_many(model: &Model, count: usize) -> usize {
    let queued = Arc::new(AtomicUsize::new(0));
    let calls: Vec<_> = (0..count)
        .map(|_| {
            let (model, queued) = (model.clone(), Arc::clone(&queued));
            tokio::spawn(async move {
                let (reply, signals) = ask(&model, &question(&model)).await;
                queued.fetch_add(signals.iter().filter(|s| **s == Signal::Queued).count(), Ordering::Relaxed);
                reply.unwrap();
            })
        })
        .collect();
    for call in calls {
        tokio::time::timeout(Duration::from_secs(30), call).await.expect("no call is forgotten").unwrap();
    }
    queued.load(Ordering::Relaxed)
}

#[tokio::test]
async fn models_of_one_endpoint_share_its_limit() {
    let server = FakeModel::by_rule(|_| Turn::text("ok").delay(Duration::from_millis(20))).await;
    let governors = Governors::new();
    let make = |max_concurrent, base_url| {
        Model::new(ModelConfig { max_concurrent, base_url, ..config(Protocol::Chat, &server) }, &governors)
            .unwrap()
    };
    let one = make(6, server.base_url());
    let other = make(2, format!("{}/", server.base_url()));
    run_many(&other, 1).await;
    let (a, b) = tokio::join!(run_many(&one, 6), run_many(&other, 6));
    assert_eq!(server.running_peak(), 2);
    assert_eq!(a + b, 10, "all but the first two had to wait, and were told so");
}

#[tokio::test]
async fn a_model_that_nobody_uses_restricts_nobody() {
    let server = FakeModel::by_rule(|_| Turn::text("ok").delay(Duration::from_millis(20))).await;
    let governors = Governors::new();
    let make = |max_concurrent| {
        Model::new(ModelConfig { max_concurrent, ..config(Protocol::Chat, &server) }, &governors).unwrap()
    };
    let (used, _unused) = (make(4), make(1));
    assert_eq!(run_many(&used, 4).await, 0, "nobody waits");
}

#[tokio::test]
async fn whoever_waited_is_told_when_the_turn_has_come() {
    let server = FakeModel::by_rule(|_| Turn::text("ok").delay(Duration::from_millis(20))).await;
    let model = crate::model(ModelConfig { max_concurrent: 1, ..config(Protocol::Chat, &server) });
    let transcript = question(&model);
    let (first, second) = tokio::join!(ask(&model, &transcript), ask(&model, &transcript));
    let waiting = |signals: &[Signal]| {
        let news = signals.iter().filter(|signal| matches!(signal, Signal::Queued | Signal::Served));
        news.cloned().collect::<Vec<_>>()
    };
    assert_eq!((waiting(&first.1), waiting(&second.1)), (vec![], vec![Signal::Queued, Signal::Served]));
}

#[tokio::test]
async fn too_many_requests_hold_the_whole_endpoint() {
    let server = FakeModel::by_rule(|_| Turn::text("ok")).await;
    server.push(Turn::status(429).header("retry-after-ms", "300"));
    let model = crate::model(config(Protocol::Chat, &server));
    let started = Instant::now();
    run_many(&model, 1).await;
    assert!(started.elapsed() >= Duration::from_millis(300));

    server.push(Turn::status(429).header("retry-after-ms", "300").delay(Duration::from_millis(50)));
    let model = crate::model(ModelConfig { max_concurrent: 1, ..config(Protocol::Chat, &server) });
    let started = Instant::now();
    // Those behind the refused one do not even try before the time is over.
    run_many(&model, 4).await;
    assert!(started.elapsed() >= Duration::from_millis(350));
    assert_eq!(server.calls(), 2 + 5);
}

#[tokio::test]
async fn a_dropped_call_gives_its_place_back() {
    let server = FakeModel::by_rule(|_| Turn::text("ok")).await;
    server.push(Turn::text("never").stall_after(1));
    let model = crate::model(ModelConfig { max_concurrent: 1, ..config(Protocol::Chat, &server) });
    let running = tokio::spawn({
        let model = model.clone();
        async move { ask(&model, &question(&model)).await.0.map(|_| ()) }
    });
    while server.calls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let waiting = tokio::spawn({
        let model = model.clone();
        async move { ask(&model, &question(&model)).await.0.map(|_| ()) }
    });
    tokio::time::sleep(Duration::from_millis(30)).await;
    assert_eq!(server.calls(), 1);
    waiting.abort();
    running.abort();
    run_many(&model, 3).await;
    assert_eq!(server.calls(), 4);
}
