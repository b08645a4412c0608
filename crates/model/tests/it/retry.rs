//! Promise M3: what is tried again, how often, after how long, and what never is.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use posse_model::{ModelConfig, Protocol, Retry, Signal, Timeouts};
use posse_protocol::ModelErrorKind::{self, *};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::{PROTOCOLS, ask, config, model, question};

/// Makes one faulty turn after another.
type Fault = fn() -> Turn;

fn retries(signals: &[Signal]) -> Vec<(u32, u64)> {
    let retry = |signal: &Signal| match signal {
        Signal::Retrying { attempt, delay_ms, .. } => Some((*attempt, *delay_ms)),
        _ => None,
    };
    signals.iter().filter_map(retry).collect()
}

#[tokio::test]
async fn what_passes_is_tried_again_until_it_works() {
    let faults: [Fault; 14] = [
        || Turn::status(408),
        || Turn::status(409),
        || Turn::status(425),
        || Turn::status(429),
        || Turn::status(429).retry_after("0"),
        || Turn::status(500),
        || Turn::status(502),
        || Turn::status(503),
        || Turn::status(504),
        || Turn::status(529),
        Turn::reset,
        || Turn::text("x").cut_after(0),
        || Turn::text("x").cut_after(1),
        || {
            Turn::raw(
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n",
            )
        },
    ];
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for fault in faults {
            let server = FakeModel::with([fault(), fault(), Turn::text("ok")]).await;
            let model = model(config(protocol, &server));
            let (reply, signals) = ask(&model, &question(&model)).await;
            assert_eq!(reply.unwrap().text, "ok", "{:?}", fault());
            assert_eq!(retries(&signals).iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2], "{:?}", fault());
            let requests = server.requests();
            assert!(requests.len() == 3 && requests.iter().all(|r| r.body == requests[0].body));
            ran += 1;
        }
    }
    assert_eq!(ran, 42);
}

#[tokio::test]
async fn attempts_end_at_the_limit() {
    let cases: [(Fault, ModelErrorKind); 5] = [
        (|| Turn::status(429), RateLimited),
        (|| Turn::status(529), Overloaded),
        (|| Turn::status(500), Overloaded),
        (Turn::reset, CutOff),
        (|| Turn::text("x").cut_after(1), CutOff),
    ];
    for (fault, want) in cases {
        let server = FakeModel::by_rule(move |_| fault()).await;
        let model = model(config(Protocol::Chat, &server));
        let (reply, signals) = ask(&model, &question(&model)).await;
        let error = reply.unwrap_err();
        assert_eq!((error.kind, server.calls(), retries(&signals).len()), (want, 4, 3));
        assert!(error.message.ends_with(", after 4 tries"), "{error}");
    }
}

#[tokio::test]
async fn what_does_not_pass_is_not_tried_again() {
    for status in [400, 401, 403, 404, 413, 422, 501] {
        let server = FakeModel::by_rule(move |_| Turn::status(status)).await;
        let model = model(config(Protocol::Chat, &server));
        ask(&model, &question(&model)).await.0.unwrap_err();
        assert_eq!(server.calls(), 1, "{status}");
    }
}

#[tokio::test]
async fn nothing_listens() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let server = FakeModel::start().await;
    let config =
        ModelConfig { base_url: format!("http://127.0.0.1:{port}/v1"), ..config(Protocol::Chat, &server) };
    let model = model(config);
    let (reply, signals) = ask(&model, &question(&model)).await;
    let error = reply.unwrap_err();
    assert_eq!((error.kind, retries(&signals).len()), (Unreachable, 1), "nobody has started it");
    let want = format!("no connection to 127.0.0.1:{port}: connection refused, after 2 tries");
    assert_eq!(error.message, want);
    assert!(error.advice.starts_with("start the server"), "{error}");
    let Signal::Retrying { attempts_max, reason, .. } = &signals[0] else { panic!("{signals:?}") };
    assert_eq!(
        (*attempts_max, reason.as_str()),
        (2, format!("127.0.0.1:{port}: connection refused").as_str())
    );
}

/// TLS is set up only when it is needed, and then it is really there.
#[tokio::test]
async fn a_server_that_does_not_speak_tls() {
    let server = FakeModel::by_rule(|_| Turn::text("ok")).await;
    let base_url = server.base_url().replace("http://", "https://");
    let timeouts = Timeouts { connect_ms: 300, ..Timeouts::default() };
    let model = model(ModelConfig { base_url, timeouts, ..config(Protocol::Chat, &server) });
    let error = ask(&model, &question(&model)).await.0.unwrap_err();
    assert_eq!((error.kind, server.calls()), (Unreachable, 0), "{error}");
}

/// Output of any kind, then a cut or a stall: sent again exactly once, and if that is cut too, what had come is told.
#[tokio::test]
async fn after_first_output_it_is_sent_again_exactly_once() {
    let faults: [fn(Turn) -> Turn; 2] = [|t| t.cut_after(5), |t| t.stall_after(5)];
    let turns: [Fault; 3] = [
        || Turn::text("a text that takes several deltas to send, and then some more of it"),
        || Turn::text("x").reasoning("reasoning that takes several deltas to send, and then some"),
        || Turn::call("grep", json!({"pattern": "arguments that take several deltas to send, and more"})),
    ];
    let timeouts = Timeouts { idle_ms: 200, ..Timeouts::default() };
    let mut ran = 0;
    for protocol in PROTOCOLS {
        for turn in turns {
            for fault in faults {
                let server = FakeModel::by_rule(move |_| fault(turn())).await;
                let model = model(ModelConfig { timeouts, ..config(protocol, &server) });
                let (reply, signals) = ask(&model, &question(&model)).await;
                let error = reply.unwrap_err();
                assert!(matches!(error.kind, CutOff | Stalled), "{error:?}");
                assert_eq!((server.calls(), retries(&signals).len()), (2, 1), "{protocol:?} {error}");
                assert!(error.message.ends_with(", twice"), "{error}");
                let server = FakeModel::with([fault(turn()), Turn::text("whole")]).await;
                let model = crate::model(ModelConfig { timeouts, ..config(protocol, &server) });
                let (reply, signals) = ask(&model, &question(&model)).await;
                assert_eq!((reply.unwrap().text, server.calls()), ("whole".to_owned(), 2));
                assert_eq!(retries(&signals).len(), 1);
                let requests = server.requests();
                assert_eq!(requests[0].body, requests[1].body);
                ran += 1;
            }
        }
    }
    assert_eq!(ran, 18);
}

#[tokio::test]
async fn a_stall_is_noticed_in_time() {
    let timeouts = Timeouts { first_byte_ms: 300, idle_ms: 300, connect_ms: 1_000 };
    // Before the answer begins, after its head, and in the middle of its text.
    let cases: [(Fault, &str); 3] = [
        (|| Turn::text("x").delay(Duration::from_secs(30)), ""),
        (|| Turn::text("x").stall_after(0), ""),
        (|| Turn::text("partial text here").stall_after(2), "partial text"),
    ];
    for (turn, partial) in cases {
        let server = FakeModel::by_rule(move |_| turn()).await;
        let retry = Retry { attempts_max: 1, ..Retry::default() };
        let model = model(ModelConfig { timeouts, retry, ..config(Protocol::Chat, &server) });
        let started = Instant::now();
        let error = ask(&model, &question(&model)).await.0.unwrap_err();
        assert!(started.elapsed() < Duration::from_millis(300 + 1_000), "{:?}", started.elapsed());
        assert_eq!((error.kind, error.partial.as_str()), (Stalled, partial));
    }
}

/// A stream that says nothing but "still here" is not a reply that has begun.
#[tokio::test]
async fn comments_do_not_put_off_the_first_event_for_ever() {
    let server = FakeModel::with([Turn::raw(": ping\n\n").stall_after(1)]).await;
    let timeouts = Timeouts { first_byte_ms: 300, ..Timeouts::default() };
    let retry = Retry { attempts_max: 1, ..Retry::default() };
    let model = model(ModelConfig { timeouts, retry, ..config(Protocol::Chat, &server) });
    assert_eq!(ask(&model, &question(&model)).await.0.unwrap_err().kind, Stalled);
}

#[tokio::test]
async fn delays_are_random_and_bounded() {
    let server = FakeModel::by_rule(|_| Turn::status(503)).await;
    let retry = Retry { attempts_max: 12, base_ms: 4, cap_ms: 32 };
    let model = model(ModelConfig { retry, ..config(Protocol::Chat, &server) });
    let mut delays = Vec::new();
    for _ in 0..3 {
        delays.extend(retries(&ask(&model, &question(&model)).await.1));
    }
    assert_eq!(delays.len(), 33);
    for (attempt, delay) in &delays {
        let range = (4u64 << (attempt - 1)).min(32);
        assert!(*delay <= range, "attempt {attempt} waited {delay} ms");
    }
    let distinct: HashSet<u64> = delays.iter().map(|(_, delay)| *delay).collect();
    assert!(distinct.len() > 5, "no jitter in {delays:?}");
}

#[tokio::test]
async fn retry_after_is_a_floor_with_a_ceiling() {
    for (turn, floor_ms) in [
        (Turn::status(429).header("retry-after-ms", "150"), 150),
        (Turn::status(503).retry_after("0.2"), 200),
    ] {
        let server = FakeModel::with([turn, Turn::text("ok")]).await;
        let model = model(config(Protocol::Chat, &server));
        let started = Instant::now();
        let (reply, signals) = ask(&model, &question(&model)).await;
        reply.unwrap();
        assert!(retries(&signals)[0].1 >= floor_ms && started.elapsed() >= Duration::from_millis(floor_ms));
    }
    for value in ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"] {
        let server = FakeModel::by_rule(move |_| Turn::status(429).retry_after(value)).await;
        let model = model(config(Protocol::Chat, &server));
        let error = ask(&model, &question(&model)).await.0.unwrap_err();
        assert_eq!((error.kind, server.calls()), (RateLimited, 1));
        assert!(error.message.contains("asks to wait"), "{error}");
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server =
        FakeModel::with([Turn::status(302).header("location", "http://127.0.0.1:1/elsewhere")]).await;
    let model = model(config(Protocol::Chat, &server));
    let error = ask(&model, &question(&model)).await.0.unwrap_err();
    assert_eq!((error.kind, server.calls()), (BadRequest, 1));
    assert!(error.message.contains("http://127.0.0.1:1/elsewhere"), "{error}");
}
