//! Questions to the browser and what it says on its own: JSON, each message ended by a zero byte, over two pipes.
//! A thread reads; it ends with the browser.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, ChildStdout};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use serde_json::{Value, json};

use super::seen::{ANSWER_MAX, Seen};

/// How much of the browser's log an error shows.
const LOG_LINES_MAX: usize = 20;

pub(super) struct BrowserPipe {
    to: Mutex<ChildStdin>,
    next: AtomicU64,
    /// Who waits for which answer; none after the browser has gone.
    waiting: Mutex<Option<HashMap<u64, Waiting>>>,
    /// The tabs by their session.
    tabs: Mutex<HashMap<String, Arc<Seen>>>,
    log: PathBuf,
}

struct Waiting {
    session: Option<String>,
    answer: mpsc::Sender<Result<Value, String>>,
}

impl BrowserPipe {
    pub(super) fn new(to: ChildStdin, from: ChildStdout, log: PathBuf) -> Arc<Self> {
        let wire = Arc::new(Self {
            to: Mutex::new(to),
            next: AtomicU64::new(1),
            waiting: Mutex::new(Some(HashMap::new())),
            tabs: Mutex::default(),
            log,
        });
        let reader = Arc::clone(&wire);
        std::thread::spawn(move || reader.read(from));
        wire
    }

    /// Asks and waits for the answer.
    pub(super) fn call(&self, session: Option<&str>, method: &str, params: Value) -> Result<Value, String> {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = mpsc::channel();
        match lock(&self.waiting).as_mut() {
            Some(waiting) => waiting.insert(id, Waiting { session: session.map(str::to_owned), answer }),
            None => return Err(self.gone()),
        };
        if self.send(id, session, method, params).is_err() {
            return Err(self.gone());
        }
        match answered.recv_timeout(ANSWER_MAX) {
            Ok(answer) => answer.map_err(|problem| format!("{method}: {problem}")),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                Err(format!("{method}: no answer within {} s", ANSWER_MAX.as_secs()))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(self.gone()),
        }
    }

    /// Hands everything that this session says to `seen`.
    pub(super) fn listen(&self, session: &str, seen: &Arc<Seen>) {
        lock(&self.tabs).insert(session.to_owned(), Arc::clone(seen));
    }

    fn send(&self, id: u64, session: Option<&str>, method: &str, params: Value) -> std::io::Result<()> {
        let mut message = json!({"id": id, "method": method, "params": params});
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        lock(&self.to).write_all(&bytes)
    }

    fn gone(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        let last = &lines[lines.len().saturating_sub(LOG_LINES_MAX)..];
        format!("Chromium has gone; its log ends with:\n{}", last.join("\n"))
    }

    fn read(&self, from: ChildStdout) {
        let mut from = BufReader::with_capacity(256 * 1024, from);
        let mut bytes = Vec::new();
        while from.read_until(0, &mut bytes).is_ok_and(|count| count > 0) && bytes.pop() == Some(0) {
            if let Ok(message) = serde_json::from_slice::<Value>(&bytes) {
                self.take(message);
            }
            bytes.clear();
        }
        // Dropping the senders wakes everybody who waits.
        lock(&self.waiting).take();
        lock(&self.tabs).drain().for_each(|(_, seen)| seen.close("Chromium has gone"));
    }

    fn take(&self, mut message: Value) {
        if let Some(id) = message["id"].as_u64() {
            let waiting = lock(&self.waiting).as_mut().and_then(|all| all.remove(&id));
            let answer = match message["error"]["message"].as_str() {
                Some(problem) => Err(problem.to_owned()),
                None => Ok(message["result"].take()),
            };
            // Who asked may have given up.
            waiting.map(|waiting| waiting.answer.send(answer).ok());
            return;
        }
        let method = message["method"].as_str().unwrap_or_default().to_owned();
        let params = message["params"].take();
        match (method.as_str(), message["sessionId"].as_str()) {
            ("Target.detachedFromTarget", _) => {
                self.end(params["sessionId"].as_str().unwrap_or_default(), "the tab is closed");
            }
            ("Inspector.targetCrashed", Some(session)) => self.end(session, "the tab has crashed"),
            (_, Some(session)) => {
                if method == "Page.javascriptDialogOpening" {
                    // Until somebody answers, the page stands still.
                    let id = self.next.fetch_add(1, Ordering::Relaxed);
                    let yes = json!({"accept": true});
                    self.send(id, Some(session), "Page.handleJavaScriptDialog", yes).ok();
                }
                let seen = lock(&self.tabs).get(session).cloned();
                seen.inspect(|seen| seen.take(&method, params));
            }
            (_, None) => {}
        }
    }

    /// Nothing more comes from this tab.
    fn end(&self, session: &str, why: &str) {
        if let Some(waiting) = lock(&self.waiting).as_mut() {
            let lost = waiting.extract_if(|_, waiting| waiting.session.as_deref() == Some(session));
            lost.for_each(|(_, waiting)| drop(waiting.answer.send(Err(why.to_owned()))));
        }
        let seen = lock(&self.tabs).remove(session);
        seen.inspect(|seen| seen.close(why));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
