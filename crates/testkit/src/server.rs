//! The fake model server: takes requests on a real socket, captures them, answers by script.
//!
//! It runs on a thread of its own, so that tests without a runtime can use it and benchmarks do not share theirs
//! with it. It ends when the `FakeModel` is dropped.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

use crate::captured::Captured;
use crate::http::Connection;
use crate::render;
use crate::turn::{MODEL_ID, Pace, ScriptedAnswer, StreamEnd, Turn};

/// How often an answer that waits for something looks whether it is there.
const LOOK_AGAIN: Duration = Duration::from_millis(2);

type Rule = dyn Fn(&Captured) -> Turn + Send + Sync;

/// A model server that does as scripted.
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
    /// Dropping it ends the server's thread.
    _stop: oneshot::Sender<()>,
}

struct Shared {
    queue: Mutex<VecDeque<Turn>>,
    rule: Mutex<Option<Arc<Rule>>>,
    captured: Mutex<Vec<Captured>>,
    capture: AtomicBool,
    calls: AtomicUsize,
    running: AtomicUsize,
    running_peak: AtomicUsize,
    connections: AtomicUsize,
    /// When the last byte of the last answer was sent.
    answered_at: Mutex<Option<Instant>>,
}

impl FakeModel {
    /// A server with an empty script: every model call is answered with 400 until turns are pushed.
    pub async fn start() -> Self {
        Self::start_blocking()
    }

    /// A server that answers with these turns, in order.
    pub async fn with(turns: impl IntoIterator<Item = Turn>) -> Self {
        let server = Self::start_blocking();
        lock(&server.shared.queue).extend(turns);
        server
    }

    /// A server that answers each call by this rule.
    pub async fn by_rule(rule: impl Fn(&Captured) -> Turn + Send + Sync + 'static) -> Self {
        Self::by_rule_blocking(rule)
    }

    /// `by_rule` for tests that have no runtime.
    pub fn by_rule_blocking(rule: impl Fn(&Captured) -> Turn + Send + Sync + 'static) -> Self {
        let server = Self::start_blocking();
        *lock(&server.shared.rule) = Some(Arc::new(rule));
        server
    }

    /// `start` for tests that have no runtime.
    ///
    /// # Panics
    /// If no port of the loopback interface can be had.
    pub fn start_blocking() -> Self {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            rule: Mutex::default(),
            captured: Mutex::default(),
            capture: AtomicBool::new(true),
            calls: AtomicUsize::new(0),
            running: AtomicUsize::new(0),
            running_peak: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            answered_at: Mutex::default(),
        });
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a loopback port");
        listener.set_nonblocking(true).expect("a non-blocking listener");
        let address = listener.local_addr().expect("a local address");
        let (stop, stopped) = oneshot::channel();
        let for_thread = Arc::clone(&shared);
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let listener = TcpListener::from_std(listener).expect("a listener");
                tokio::select! {
                    () = accept(listener, for_thread) => {}
                    _ = stopped => {}
                }
            });
        });
        Self { address, shared, _stop: stop }
    }

    /// Adds one turn to the script.
    pub fn push(&self, turn: Turn) {
        lock(&self.shared.queue).push_back(turn);
    }

    /// Whether requests are kept (they are, unless told otherwise). Rules see them in any case.
    pub fn capture(&self, on: bool) {
        self.shared.capture.store(on, Ordering::Relaxed);
    }

    /// Where it is; ends in `/v1`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// The model calls that arrived, in order.
    pub fn requests(&self) -> Vec<Captured> {
        lock(&self.shared.captured).clone()
    }

    /// How many model calls arrived, kept or not.
    pub fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::Relaxed)
    }

    /// The most model calls that were being answered at the same time.
    pub fn running_peak(&self) -> usize {
        self.shared.running_peak.load(Ordering::Relaxed)
    }

    /// How many connections were made.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// When the last byte of the last answer to a model call was sent.
    pub fn answered_at(&self) -> Option<Instant> {
        *lock(&self.shared.answered_at)
    }

    /// How many turns of the script are left.
    pub fn turns_left(&self) -> usize {
        lock(&self.shared.queue).len()
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        shared.connections.fetch_add(1, Ordering::Relaxed);
        let shared = Arc::clone(&shared);
        // A client that goes away in the middle is part of what tests do: its error is nobody's.
        tokio::spawn(async move { serve(stream, &shared).await.ok() });
    }
}

async fn serve(stream: TcpStream, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut connection = Connection::new(stream);
    while let Some(request) = connection.request().await? {
        if request.method == "GET" {
            get(&mut connection, &request).await?;
            continue;
        }
        let running = Running::start(shared);
        let keep = call(&mut connection, request, shared).await?;
        *lock(&shared.answered_at) = Some(Instant::now());
        drop(running);
        if !keep {
            return Ok(());
        }
    }
    Ok(())
}

async fn get(connection: &mut Connection, request: &Captured) -> io::Result<()> {
    const JSON: &str = "content-type: application/json\r\n";
    if request.path.ends_with("/models") {
        let list = json!({"object": "list", "data": [{"id": MODEL_ID, "object": "model"}]});
        return connection.answer(200, JSON, list.to_string().as_bytes()).await;
    }
    connection.answer(404, JSON, br#"{"error":{"message":"not found"}}"#).await
}

/// Answers one model call; false when the connection is not to be used again.
async fn call(connection: &mut Connection, request: Captured, shared: &Shared) -> io::Result<bool> {
    let turn = shared.turn(&request);
    let path = request.path.clone();
    shared.calls.fetch_add(1, Ordering::Relaxed);
    if shared.capture.load(Ordering::Relaxed) {
        lock(&shared.captured).push(request);
    }
    if !turn.delay.is_zero() {
        tokio::time::sleep(turn.delay).await;
    }
    until_set(turn.after.as_ref()).await;
    match &turn.answer {
        ScriptedAnswer::Reset => {
            connection.stream.set_zero_linger()?;
            Ok(false)
        }
        ScriptedAnswer::Status { code, headers, body } => {
            let mut lines = String::from("content-type: application/json\r\n");
            for (name, value) in headers {
                lines.push_str(&format!("{name}: {value}\r\n"));
            }
            connection.answer(*code, &lines, body.as_bytes()).await?;
            Ok(true)
        }
        ScriptedAnswer::Raw { content_type, body } => {
            stream(connection, content_type, std::slice::from_ref(body), &turn).await
        }
        ScriptedAnswer::Reply(script) => {
            stream(connection, "text/event-stream", &render::events(&path, script), &turn).await
        }
    }
}

async fn until_set(set: Option<&Arc<AtomicBool>>) {
    while set.is_some_and(|set| !set.load(Ordering::Acquire)) {
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

async fn stream<E: AsRef<[u8]>>(
    connection: &mut Connection,
    content_type: &str,
    events: &[E],
    turn: &Turn,
) -> io::Result<bool> {
    let pace = turn.pace;
    let count = match pace.end {
        StreamEnd::Whole => events.len(),
        StreamEnd::CutAfter(events) | StreamEnd::StallAfter(events) => events,
    };
    connection.begin_stream(content_type).await?;
    let events = &events[..count.min(events.len())];
    let held = turn.hold.as_ref().map_or(events.len(), |(sent, _)| events.len().min(*sent));
    send(connection, &events[..held], pace).await?;
    until_set(turn.hold.as_ref().map(|(_, set)| set)).await;
    send(connection, &events[held..], pace).await?;
    match pace.end {
        StreamEnd::Whole => {
            connection.end_stream().await?;
            Ok(true)
        }
        StreamEnd::CutAfter(_) => Ok(false),
        StreamEnd::StallAfter(_) => {
            connection.until_closed().await;
            Ok(false)
        }
    }
}

/// Sends events in the writes that the pace says.
async fn send<E: AsRef<[u8]>>(connection: &mut Connection, events: &[E], pace: Pace) -> io::Result<()> {
    let bytes: Vec<u8> = events.iter().flat_map(|e| e.as_ref().iter().copied()).collect();
    let Some(size) = pace.split_bytes else { return connection.chunk(&bytes).await };
    for part in bytes.chunks(size) {
        connection.chunk(part).await?;
        match pace.pause {
            Duration::ZERO => tokio::task::yield_now().await,
            pause => tokio::time::sleep(pause).await,
        }
    }
    Ok(())
}

impl Shared {
    fn turn(&self, request: &Captured) -> Turn {
        if let Some(turn) = lock(&self.queue).pop_front() {
            return turn;
        }
        let rule = lock(&self.rule).clone();
        match rule {
            Some(rule) => rule(request),
            None => Turn::status_body(
                400,
                json!({"error": {"message": "the fake model's script is used up: this call was not expected"}}),
            ),
        }
    }
}

/// Counts a call as running for as long as it lives.
struct Running<'a>(&'a Shared);

impl<'a> Running<'a> {
    fn start(shared: &'a Shared) -> Self {
        let now = shared.running.fetch_add(1, Ordering::Relaxed) + 1;
        shared.running_peak.fetch_max(now, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}
