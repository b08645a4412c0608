//! Bad input on the socket: a typed error or a closed connection, limits hold, and the session goes on.

use posse_api::calls::record::ShowSession;
use posse_protocol::{Event, EventKind, Seq};
use posse_testkit::Turn;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;

use crate::stage::{Stage, get, post, rest};

/// What must come back: a status, and the kind of the error; no kind where the HTTP library refuses the request before
/// it is a request.
fn told(answer: &str) -> (u16, Option<String>) {
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Option<serde_json::Value> = serde_json::from_str(body).ok();
    (status, body.and_then(|body| Some(body["kind"].as_str()?.to_owned())))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_requests_get_a_typed_error_and_the_session_goes_on() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let id = session.id;
    let own = format!("/api/sessions/{id}");
    let many = format!("GET {own} HTTP/1.1\r\nhost: posse\r\n{}\r\n", "a: b\r\n".repeat(100));
    let long = format!("GET {own} HTTP/1.1\r\nhost: posse\r\na: {}\r\n\r\n", "b".repeat(64 << 10));
    let cases: Vec<(Vec<u8>, u16, Option<&str>)> = vec![
        (b"what is this\r\n\r\n".to_vec(), 400, None),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x00\xff\r\n\r\n".to_vec(), 400, None),
        (b"GET /api/sessions HTTP/9.9\r\n\r\n".to_vec(), 400, None),
        (b"GET /api/\x00sessions HTTP/1.1\r\nhost: posse\r\n\r\n".to_vec(), 400, None),
        (many.into_bytes(), 431, None),
        (long.into_bytes(), 431, None),
        (get(&format!("/{}", "a".repeat(32 << 10))), 431, None),
        (get("/"), 404, Some("no_such_route")),
        (get("/api/nothing"), 404, Some("no_such_route")),
        (get(&format!("{own}/become-root")), 404, Some("no_such_route")),
        (get("/api/sessions/../../etc/passwd"), 404, Some("no_such_route")),
        (get("/api/sessions/not-an-id"), 400, Some("bad_request")),
        (get("/api/sessions/%ff%fe"), 400, Some("bad_request")),
        (get("/api/sessions/01890000-0000-7000-8000-000000000000"), 404, Some("not_found")),
        (get("/api/sessions?limit=many"), 400, Some("bad_request")),
        (get("/api/sessions?limit=-1"), 400, Some("bad_request")),
        (get("/api/sessions?limit=1001"), 400, Some("bad_request")),
        (get("/api/sessions?limit=99999999999999999999999"), 400, Some("bad_request")),
        (get("/api/sessions?colour=red"), 400, Some("bad_request")),
        (get(&format!("{own}/events?after=18446744073709551615")), 422, Some("refused")),
        (get(&format!("{own}/events?after=-1")), 400, Some("bad_request")),
        (get(&format!("{own}/events?after=1e9")), 400, Some("bad_request")),
        (get(&format!("{own}/events?after=0&after=1")), 400, Some("bad_request")),
        (
            format!(
                "GET {own}/events HTTP/1.1\r\nhost: posse\r\nconnection: close\r\nlast-event-id: x\r\n\r\n"
            )
            .into_bytes(),
            400,
            Some("bad_request"),
        ),
        (
            format!("DELETE {own} HTTP/1.1\r\nhost: posse\r\nconnection: close\r\n\r\n").into_bytes(),
            405,
            Some("wrong_method"),
        ),
        (post(&own, b"{}"), 405, Some("wrong_method")),
        (
            format!("BREW {own} HTTP/1.1\r\nhost: posse\r\nconnection: close\r\n\r\n").into_bytes(),
            405,
            Some("wrong_method"),
        ),
    ];
    let count = cases.len();
    for (bytes, status, kind) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        let answer = stage.raw(&bytes).await;
        assert_eq!(told(&answer), (status, kind.map(str::to_owned)), "{shown:?} -> {answer}");
    }
    assert_eq!(count, 27);
    let [_, elsewhere] = stage.handles(id).await;
    assert_eq!(elsewhere.call(id, ShowSession {}).await.unwrap().session.id, id);
    stage.let_go();
    assert_eq!(session.report().await.unwrap().text, "Done.");
}

/// Bodies of commands that are not what they have to be. The session hears nothing of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_bodies_get_a_typed_error_and_the_session_goes_on() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let id = session.id;
    let tell = format!("/api/sessions/{id}/tell");
    let head =
        |fields: &str| format!("POST {tell} HTTP/1.1\r\nhost: posse\r\nconnection: close\r\n{fields}\r\n");
    let nested = format!("{{\"text\":{}", "[".repeat(100_000));
    let large = format!("{{\"text\":\"{}\"}}", "x".repeat(300 << 10));
    let long = format!("{{\"text\":\"{}\"}}", "x".repeat(200 << 10));
    let name = format!("{{\"text\":\"x\",\"agent\":\"{}\"}}", "x".repeat(2 << 10));
    let chunked = format!(
        "{}{}",
        head("content-type: application/json\r\ntransfer-encoding: chunked\r\n"),
        format!("{:x}\r\n{}\r\n", 64 << 10, "x".repeat(64 << 10)).repeat(8)
    );
    let json = "content-type: application/json\r\n";
    let cases: Vec<(Vec<u8>, u16, &str)> = vec![
        (post(&tell, b""), 400, "bad_request"),
        (post(&tell, b"{}"), 400, "bad_request"),
        (post(&tell, b"nothing"), 400, "bad_request"),
        (post(&tell, b"{\"text\":"), 400, "bad_request"),
        (post(&tell, b"{\"text\":1}"), 400, "bad_request"),
        (post(&tell, b"{\"text\":null}"), 400, "bad_request"),
        (post(&tell, b"[\"text\"]"), 400, "bad_request"),
        (post(&tell, b"{\"text\":\"x\",\"sudo\":true}"), 400, "bad_request"),
        (post(&tell, b"{\"text\":\"x\",\"text\":\"y\"}"), 400, "bad_request"),
        (post(&tell, b"{\"text\":\"x\",\"delivery\":\"never\"}"), 400, "bad_request"),
        (post(&tell, b"{\"text\":\"x\"} and more"), 400, "bad_request"),
        (post(&tell, b"{\"text\":\"\xff\xfe\"}"), 400, "bad_request"),
        (post(&tell, b"{\"text\":\"\\ud800\"}"), 400, "bad_request"),
        (post(&tell, nested.as_bytes()), 400, "bad_request"),
        (post(&tell, large.as_bytes()), 413, "too_large"),
        (post(&tell, long.as_bytes()), 413, "too_large"),
        (post(&tell, name.as_bytes()), 413, "too_large"),
        (chunked.into_bytes(), 413, "too_large"),
        (head(&format!("{json}content-length: 999999999999\r\n")).into_bytes(), 413, "too_large"),
        (format!("{}{{}}", head("content-length: 2\r\n")).into_bytes(), 400, "bad_request"),
        (
            format!("{}{{}}", head("content-type: text/plain\r\ncontent-length: 2\r\n")).into_bytes(),
            400,
            "bad_request",
        ),
        (get(&tell), 405, "wrong_method"),
        (post(&format!("/api/sessions/{id}/settings"), b"{\"approval\":\"root\"}"), 400, "bad_request"),
        (post(&format!("/api/sessions/{id}/withdraw-message"), b"{\"mail\":-1}"), 400, "bad_request"),
        (
            post(
                &format!("/api/sessions/{id}/answer"),
                b"{\"agent\":\"main\",\"call\":\"x\",\"answer\":{\"answer\":\"once\"}}",
            ),
            400,
            "bad_request",
        ),
    ];
    let count = cases.len();
    for (bytes, status, kind) in cases {
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(250)]).into_owned();
        let answer = stage.raw(&bytes).await;
        assert_eq!(told(&answer), (status, Some(kind.to_owned())), "{shown:?} -> {answer}");
    }
    assert_eq!(count, 25);
    let mailed = |event: &Event| matches!(event.kind, EventKind::Mailed { .. });
    let events = stage.engine.events_after(id, Seq(0), 1000).unwrap();
    assert!(!events.iter().any(mailed), "nobody was told anything");
    stage.let_go();
    assert_eq!(session.report().await.unwrap().text, "Done.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_one_after_the_other_on_a_connection_are_all_answered() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let keep = "GET /api/sessions HTTP/1.1\r\nhost: posse\r\n\r\n".repeat(50);
    let all = [keep.as_bytes(), &get("/api/nothing"), &get("/api/sessions")].concat();
    let answer = stage.raw(&all).await;
    // What follows a request that closes is not heard.
    assert_eq!((answer.matches("HTTP/1.1 200 OK").count(), answer.matches("HTTP/1.1 404").count()), (50, 1));
    stage.let_go();
    session.report().await.unwrap();
}

/// Clients that never finish what they began are disconnected; meanwhile others are served.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_clients_are_disconnected_and_hold_nobody_up() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Done.")]).await;
    let body = format!(
        "POST /api/sessions/{}/tell HTTP/1.1\r\nhost: posse\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{",
        session.id
    );
    let begun: [&[u8]; 4] =
        [b"", b"GET /api/sess", b"GET /api/sessions HTTP/1.1\r\nhost: po", body.as_bytes()];
    let mut slow = Vec::new();
    for bytes in begun {
        let mut stream = UnixStream::connect(&stage.socket).await.unwrap();
        stream.write_all(bytes).await.unwrap();
        slow.push(stream);
    }
    assert!(stage.raw(&get("/api/sessions")).await.starts_with("HTTP/1.1 200"));
    let mut ended = 0;
    for mut stream in slow {
        let said = rest(&mut stream).await;
        assert!(said.is_empty() || said.starts_with("HTTP/1.1 408"), "{said}");
        ended += 1;
    }
    assert_eq!(ended, 4);
    stage.let_go();
    assert_eq!(session.report().await.unwrap().text, "Done.");
}
