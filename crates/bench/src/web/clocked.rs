//! A model that writes its replies slowly, with the time of the clock in every piece. It keeps to its pace whatever the
//! machine does, as a model elsewhere would: a piece that is late does not delay those after it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::crew::asker;

/// Pieces of a paragraph.
const PARAGRAPH: usize = 12;

/// What the model does with a request.
pub(crate) enum ClockedReply {
    /// Says this at once.
    Says(String),
    /// Calls a tool with each of these, at once.
    Calls(&'static str, Vec<Value>),
    /// Writes so many pieces, one every so often and the first after a while, and calls a tool in the end.
    Writes { pieces: usize, every: Duration, first: Duration, tool: &'static str, arguments: Value },
    /// Looks a moment later what to do.
    Waits,
}

/// A piece that was written.
#[derive(Clone)]
pub(crate) struct WrittenPiece {
    pub(crate) agent: String,
    /// Microseconds since 1970; no two are the same.
    pub(crate) at_us: u64,
}

/// A request that was answered.
#[derive(Clone)]
pub(crate) struct ClockedExchange {
    pub(crate) agent: String,
    pub(crate) asked: Instant,
    pub(crate) answered: Instant,
}

type Rule = dyn Fn(&str, usize) -> ClockedReply + Send + Sync;

pub(crate) struct ClockedModel {
    pub(crate) base_url: String,
    state: Arc<State>,
}

struct State {
    rule: Box<Rule>,
    pieces: Mutex<Vec<WrittenPiece>>,
    exchanges: Mutex<Vec<ClockedExchange>>,
    writing: AtomicUsize,
}

impl ClockedModel {
    /// A model that answers by a rule, from who asks and how often it has answered them. It has a thread of its own.
    pub(crate) fn start(
        rule: impl Fn(&str, usize) -> ClockedReply + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let listener = std::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        listener.set_nonblocking(true)?;
        let base_url = format!("http://{}/v1", listener.local_addr()?);
        let state = Arc::new(State {
            rule: Box::new(rule),
            pieces: Mutex::default(),
            exchanges: Mutex::default(),
            writing: AtomicUsize::new(0),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let served = Arc::clone(&state);
        std::thread::spawn(move || {
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener)?;
                loop {
                    let (stream, _) = listener.accept().await?;
                    let state = Arc::clone(&served);
                    // Who goes away in the middle has its reasons.
                    tokio::spawn(async move { serve(stream, &state).await.ok() });
                }
                #[allow(unreachable_code, reason = "it says what the loop may fail with")]
                anyhow::Ok(())
            })
        });
        Ok(Self { base_url, state })
    }

    /// Replies that are being written now.
    pub(crate) fn writing(&self) -> usize {
        self.state.writing.load(Ordering::Relaxed)
    }

    /// What was written so far.
    pub(crate) fn pieces(&self) -> Vec<WrittenPiece> {
        lock(&self.state.pieces).clone()
    }

    /// Takes what was answered since the last time, in the order of the answers.
    pub(crate) fn take(&self) -> Vec<ClockedExchange> {
        std::mem::take(&mut *lock(&self.state.exchanges))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Microseconds since 1970.
pub(crate) fn now_us() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or_default()
}

/// The times in a text that was written here.
pub(crate) fn stamps(text: &[u8]) -> impl Iterator<Item = u64> {
    let words = text.split(|byte| !byte.is_ascii_alphanumeric());
    words.filter_map(|word| {
        let digits = word.strip_prefix(b"at")?.strip_suffix(b"z")?;
        std::str::from_utf8(digits).ok().filter(|digits| digits.len() == 16)?.parse().ok()
    })
}

async fn serve(mut stream: TcpStream, state: &State) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(64 * 1024);
    while let Some((head, body)) = request(&mut stream, &mut buffer).await? {
        if head.starts_with("GET") {
            let list =
                json!({"object": "list", "data": [{"id": "fake-model", "object": "model"}]}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                list.len()
            );
            stream.write_all((head + &list).as_bytes()).await?;
            continue;
        }
        let asked = Instant::now();
        let agent = asker(&body).to_owned();
        let turn = body.matches("\"role\":\"assistant\"").count();
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head.as_bytes()).await?;
        answer(&mut stream, state, &agent, turn).await?;
        chunk(&mut stream, "data: [DONE]\n\n").await?;
        stream.write_all(b"0\r\n\r\n").await?;
        lock(&state.exchanges).push(ClockedExchange { agent, asked, answered: Instant::now() });
    }
    Ok(())
}

/// The next request, head and body; none when the client is done.
async fn request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> anyhow::Result<Option<(String, String)>> {
    let end = loop {
        if let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let length = head.lines().filter_map(|line| line.split_once(':'));
    let mut length = length.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.next().map_or(Ok(0), |(_, value)| value.trim().parse::<usize>())?;
    while buffer.len() < length {
        anyhow::ensure!(stream.read_buf(buffer).await? > 0, "a request breaks off");
    }
    let rest = buffer.split_off(length);
    let body = std::mem::replace(buffer, rest);
    Ok(Some((head, String::from_utf8(body).context("a request that is no text")?)))
}

async fn answer(stream: &mut TcpStream, state: &State, agent: &str, turn: usize) -> anyhow::Result<()> {
    let reply = loop {
        match (state.rule)(agent, turn) {
            ClockedReply::Waits => tokio::time::sleep(Duration::from_millis(2)).await,
            reply => break reply,
        }
    };
    let calls = |tool: &str, all: &[Value]| {
        let call = |(n, arguments): (usize, &Value)| {
            json!({"index": n, "id": format!("call_{turn}_{n}"), "type": "function",
                "function": {"name": tool, "arguments": arguments.to_string()}})
        };
        json!({"tool_calls": all.iter().enumerate().map(call).collect::<Vec<_>>()})
    };
    match reply {
        ClockedReply::Waits => {}
        ClockedReply::Says(text) => {
            chunk(stream, &event(&json!({"role": "assistant", "content": text}), None)).await?;
            chunk(stream, &event(&json!({}), Some("stop"))).await?;
        }
        ClockedReply::Calls(tool, all) => {
            chunk(stream, &event(&calls(tool, &all), None)).await?;
            chunk(stream, &event(&json!({}), Some("tool_calls"))).await?;
        }
        ClockedReply::Writes { pieces, every, first, tool, arguments } => {
            state.writing.fetch_add(1, Ordering::Relaxed);
            let written = write(stream, state, agent, pieces, every, first).await;
            state.writing.fetch_sub(1, Ordering::Relaxed);
            written?;
            chunk(stream, &event(&calls(tool, &[arguments]), None)).await?;
            chunk(stream, &event(&json!({}), Some("tool_calls"))).await?;
        }
    }
    Ok(())
}

async fn write(
    stream: &mut TcpStream,
    state: &State,
    agent: &str,
    pieces: usize,
    every: Duration,
    first: Duration,
) -> anyhow::Result<()> {
    let begin = tokio::time::Instant::now() + first;
    for n in 0..pieces {
        tokio::time::sleep_until(begin + every * u32::try_from(n)?).await;
        let at_us = {
            let mut all = lock(&state.pieces);
            let at_us = now_us().max(all.last().map_or(0, |last| last.at_us + 1));
            all.push(WrittenPiece { agent: agent.to_owned(), at_us });
            at_us
        };
        let end = if (n + 1) % PARAGRAPH == 0 { ".\n\n" } else { ", " };
        let text = format!("I read part {n} at{at_us}z of the notes{end}");
        chunk(stream, &event(&json!({"role": "assistant", "content": text}), None)).await?;
    }
    Ok(())
}

fn event(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model",
        "choices": [choice]});
    format!("data: {chunk}\n\n")
}

async fn chunk(stream: &mut TcpStream, text: &str) -> anyhow::Result<()> {
    Ok(stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await?)
}
