//! The fake server on its socket, spoken to in plain bytes.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use posse_testkit::{FakeModel, Turn};
use serde_json::json;

fn connect(server: &FakeModel) -> TcpStream {
    let address = server.base_url().replace("http://", "").replace("/v1", "");
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// Sends a request on a connection of its own and returns the whole answer; the client closes its half.
fn exchange(server: &FakeModel, request: &str) -> String {
    let mut stream = connect(server);
    stream.write_all(request.as_bytes()).unwrap();
    // A server that resets may have done so by now; what it answered is what counts.
    stream.shutdown(std::net::Shutdown::Write).ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok();
    String::from_utf8_lossy(&answer).into_owned()
}

fn post(path: &str, body: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn answers_in_the_format_of_the_path() {
    let cases = [
        ("/v1/chat/completions", "data: [DONE]"),
        ("/v1/responses", "event: response.completed"),
        ("/v1/messages", "event: message_stop"),
    ];
    let mut ran = 0;
    for (path, terminal) in cases {
        let server = FakeModel::start_blocking();
        server.push(Turn::call("read_file", json!({"path": "a"})).and_text("hi").reasoning("hm"));
        let answer = exchange(&server, &post(path, "{\"n\":1}"));
        assert!(answer.contains(terminal), "{path}: {answer}");
        assert!(answer.ends_with("0\r\n\r\n"), "{path}: {answer}");
        assert_eq!(server.requests()[0].json(), json!({"n": 1}));
        ran += 1;
    }
    assert_eq!(ran, 3);
}

#[test]
fn keeps_connections_and_reads_chunked_bodies() {
    let server = FakeModel::start_blocking();
    server.push(Turn::text("one"));
    server.push(Turn::status(429).retry_after("2"));
    let chunked = "POST /v1/responses HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    let answer = exchange(&server, &format!("{}{chunked}", post("/v1/chat/completions", "{}")));
    assert!(
        answer.contains("\"one\"") && answer.contains("429") && answer.contains("retry-after: 2"),
        "{answer}"
    );
    assert_eq!(server.requests()[1].json(), json!({"a": 1}));
    assert_eq!((server.connections(), server.calls(), server.turns_left()), (1, 2, 0));
}

#[test]
fn faults_and_the_end_of_the_script() {
    let server = FakeModel::start_blocking();
    server.capture(false);
    server.push(Turn::text("cut here").cut_after(2));
    server.push(Turn::reset());
    let cut = exchange(&server, &post("/v1/chat/completions", "{}"));
    assert!(cut.contains("cut here") && !cut.ends_with("0\r\n\r\n"), "{cut}");
    assert_eq!(exchange(&server, &post("/v1/chat/completions", "{}")), "");
    assert!(exchange(&server, &post("/v1/chat/completions", "{}")).contains("used up"));
    assert!(exchange(&server, "GET /v1/models HTTP/1.1\r\n\r\n").contains("fake-model"));
    assert_eq!((server.calls(), server.requests().len()), (3, 0));
}
