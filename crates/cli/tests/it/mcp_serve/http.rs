//! The same over HTTP: a route of `posse serve`, behind its token and its guard.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use posse_testkit::Turn;
use serde_json::{Value, json};

use super::talk::with_tasks;
use crate::posse::Person;

/// A server that ends with the test.
struct HttpServer {
    child: Child,
    address: String,
    token: String,
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl HttpServer {
    fn start(person: &Person, flags: &[&str]) -> Self {
        let mut child = person.spawn(&[&["serve"], flags].concat());
        let mut link = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut link).unwrap();
        let (address, token) = link.trim().split_once("/#token=").unwrap();
        Self { address: address.trim_start_matches("http://").to_owned(), token: token.to_owned(), child }
    }

    /// Posts a message; its status, and the last message of the answer.
    fn post(&self, headers: &[(&str, &str)], message: &Value) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let body = message.to_string();
        let head = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect::<String>();
        write!(
            stream,
            "POST /mcp HTTP/1.1\r\nconnection: close\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\n{head}\r\n",
            body.len()
        )
        .unwrap();
        // It may be refused before it is read.
        let _ = stream.write_all(body.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let data = answer
            .lines()
            .filter_map(|line| line.trim().strip_prefix("data:").or(line.strip_prefix('{').map(|_| line)));
        (
            status,
            data.filter_map(|data| serde_json::from_str(data.trim()).ok()).next_back().unwrap_or_default(),
        )
    }

    fn ask(&self, method: &str, name: Option<&str>, mut params: Value) -> (u16, Value) {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "tester", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": with_tasks(),
        });
        let bearer = format!("Bearer {}", self.token);
        let mut headers = vec![
            ("host", self.address.as_str()),
            ("authorization", bearer.as_str()),
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        headers.extend(name.map(|name| ("mcp-name", name)));
        self.post(&headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }))
    }
}

#[test]
fn a_task_is_run_over_http_behind_the_token() {
    let person = Person::new([Turn::text("Over HTTP.")]);
    let server = HttpServer::start(&person, &[]);
    let (status, begun) = server.ask(
        "tools/call",
        Some("run_task"),
        json!({ "name": "run_task", "arguments": { "prompt": "Go" } }),
    );
    assert_eq!((status, &begun["result"]["resultType"]), (200, &json!("task")), "{begun}");
    let task = begun["result"]["taskId"].as_str().unwrap().to_owned();
    crate::posse::eventually("completed", || {
        let (_, found) = server.ask("tasks/get", Some(&task), json!({ "taskId": task }));
        let summary = &found["result"]["result"]["structuredContent"]["report"]["summary"];
        found["result"]["status"] == "completed" && summary == "Over HTTP."
    });

    let bearer = format!("Bearer {}", server.token);
    let (host, token) = (("host", server.address.as_str()), ("authorization", bearer.as_str()));
    let client = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client });
    let (status, answer) = server.post(&[host, token], &begin);
    assert_eq!(
        (status, &answer["result"]["protocolVersion"]),
        (200, &json!("2025-11-25")),
        "the older era: {answer}"
    );
    let refused: [&[(&str, &str)]; 4] = [
        &[host],
        &[host, ("authorization", "Bearer 0000")],
        &[("host", "evil.example"), token],
        &[host, token, ("origin", "http://evil.example")],
    ];
    for (headers, want) in refused.into_iter().zip([401, 401, 403, 403]) {
        assert_eq!(server.post(headers, &begin).0, want, "{headers:?}");
    }
    let large =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "ping", "params": { "x": "x".repeat(5 << 20) } });
    assert_eq!(server.post(&[host, token], &large).0, 413);
    person.posse(&["stop", &task]);
}

#[test]
fn a_server_that_only_shows_runs_no_task() {
    let person = Person::new([]);
    let server = HttpServer::start(&person, &["--read-only"]);
    let (status, _) = server.ask("tools/list", None, json!({}));
    assert_eq!(status, 403);
}
