//! Servers that are reached by their address, good and bad.

use std::sync::{Arc, Mutex};

use posse_mcp::{EntryOrigin, SecretValue, ServerEntry, ServerReach, Servers};
use posse_tools::OutsideTools;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::{World, call};

/// What a server does with a call of its tool.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Answers,
    /// A body without end.
    FloodsJson,
    /// An event without end.
    FloodsEvents,
    Hangs,
    /// Another address.
    Redirects,
    Html,
    Fails,
}

/// A server of the older era. Gives back its address, and the heads of the requests that came.
async fn serve(how: How, elsewhere: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&heads);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (seen, elsewhere) = (Arc::clone(&seen), elsewhere.clone());
            // Whoever hangs up has had enough.
            tokio::spawn(async move { drop(answer(stream, how, &seen, &elsewhere).await) });
        }
    });
    (address, heads)
}

async fn answer(
    stream: TcpStream,
    how: How,
    seen: &Mutex<Vec<String>>,
    elsewhere: &str,
) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head.push_str(&line);
        if line.trim().is_empty() {
            break;
        }
    }
    seen.lock().unwrap().push(head.clone());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "http", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "go", "inputSchema": {"type": "object"}}]}),
        "tools/call" => match bad(&mut stream, how, elsewhere).await? {
            true => return Ok(()),
            false => json!({"content": [{"type": "text", "text": "gone"}]}),
        },
        "notifications/initialized" | "notifications/cancelled" => {
            return stream
                .write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await;
        }
        _ => {
            return stream
                .write_all(b"HTTP/1.1 405 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
                .await;
        }
    };
    let text = json!({"jsonrpc": "2.0", "id": request["id"], "result": result}).to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        text.len()
    );
    stream.write_all(format!("{head}{text}").as_bytes()).await
}

/// Does what a bad server does. Says whether that was all.
async fn bad(stream: &mut BufReader<TcpStream>, how: How, elsewhere: &str) -> std::io::Result<bool> {
    let flood = |kind: &str, begin: &str| {
        format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n{begin}")
    };
    let begin = match how {
        How::Answers => return Ok(false),
        How::Hangs => std::future::pending().await,
        How::FloodsJson => flood("application/json", "{\"jsonrpc\": \"2.0\", \"x\": \""),
        How::FloodsEvents => flood("text/event-stream", "data: "),
        How::Redirects => {
            let to = format!(
                "HTTP/1.1 307 There\r\nlocation: {elsewhere}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            return stream.write_all(to.as_bytes()).await.map(|()| true);
        }
        How::Html => {
            let page = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 3\r\nconnection: close\r\n\r\n<p>";
            return stream.write_all(page.as_bytes()).await.map(|()| true);
        }
        How::Fails => {
            let page = "HTTP/1.1 500 Oh\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
            return stream.write_all(page.as_bytes()).await.map(|()| true);
        }
    };
    stream.write_all(begin.as_bytes()).await?;
    let piece = vec![b'x'; 1 << 16];
    loop {
        stream.write_all(&piece).await?;
    }
}

fn at(url: String) -> ServerEntry {
    let headers = vec![("Authorization".to_owned(), SecretValue::new("Bearer s3cret"))];
    let mut entry =
        ServerEntry::new("web", ServerReach::Address { url, headers }, EntryOrigin::Person("c".into()));
    entry.timeout = std::time::Duration::from_secs(3);
    entry
}

#[tokio::test]
async fn a_server_is_reached_by_its_address_with_its_headers() {
    let (url, heads) = serve(How::Answers, String::new()).await;
    let world = World::new();
    let servers = world.begun(vec![at(url)]);
    let said = call(&servers, "mcp__web__go", json!({})).await;
    assert!(said.ok && said.text.contains("gone"), "{said:?}");
    let heads = heads.lock().unwrap().clone();
    assert!(
        heads.iter().all(|head| head.to_ascii_lowercase().contains("authorization: bearer s3cret")),
        "{heads:?}"
    );
}

/// A flood is cut off, silence has an end, and what is no answer is told; the next call works as ever.
#[tokio::test]
async fn bad_answers_are_told_and_end() {
    let (elsewhere, strangers) = serve(How::Answers, String::new()).await;
    let cases = [
        (How::FloodsJson, "it sent more than 16384 KiB at once"),
        (How::FloodsEvents, "The server web: "),
        (How::Hangs, "it did not answer and told no progress for 3 s"),
        (How::Redirects, "The server web: "),
        (How::Html, "The server web: "),
        (How::Fails, "The server web: "),
    ];
    for (how, told) in cases {
        let (url, _) = serve(how, elsewhere.replace("127.0.0.1", "localhost")).await;
        let world = World::new();
        let servers = world.begun(vec![at(url)]);
        let said = call(&servers, "mcp__web__go", json!({})).await;
        assert!(!said.ok && said.text.contains(told), "{said:?}");
        assert!(!said.text.contains("s3cret"), "{said:?}");
        servers.end().await;
    }
    assert_eq!(strangers.lock().unwrap().len(), 0, "nothing goes to another address");
}

#[tokio::test]
async fn nobody_at_an_address_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    drop(listener);
    let world = World::new();
    let servers: Servers = world.begun(vec![at(url)]);
    let said = call(&servers, "mcp__web__go", json!({})).await;
    assert!(said.text.contains("it cannot be reached") && !said.text.contains("rmcp"), "{said:?}");
}
