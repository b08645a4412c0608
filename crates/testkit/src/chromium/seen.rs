//! What a tab has said on its own so far: console, requests, loaded documents, trace. Asks the browser nothing.

use std::fmt;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long the browser, or a page, may take for anything: a last resort, for busy machines.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(60);

/// One line of a tab's console.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsoleLine {
    /// As the page called it (`log`, `warning`, `error`, …); `exception` for one that nobody caught, `dialog` for `alert()`
    /// and its kin. What the browser says by itself (a refused script, a failed request) is `error` or `warning`.
    pub level: String,
    /// What it says, with the address it is about where there is one.
    pub text: String,
}

impl fmt::Display for ConsoleLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.level, self.text)
    }
}

/// Everything a tab said since it was opened.
#[derive(Default)]
pub(super) struct Said {
    pub(super) console: Vec<ConsoleLine>,
    /// Addresses, in order.
    pub(super) requests: Vec<String>,
    /// The loaders of documents that have loaded completely.
    pub(super) loaded: Vec<String>,
    pub(super) trace: Vec<Value>,
    pub(super) trace_complete: bool,
    /// Why nothing more comes.
    pub(super) closed: Option<String>,
}

/// `Said`, filled by the reading thread.
pub(super) struct Seen {
    /// The tab's own frame; others are frames within it.
    frame: String,
    said: Mutex<Said>,
    more: Condvar,
}

impl Seen {
    pub(super) fn new(frame: &str) -> Self {
        Self { frame: frame.to_owned(), said: Mutex::default(), more: Condvar::new() }
    }

    /// Looks at what there is now.
    pub(super) fn with<T>(&self, look: impl FnOnce(&mut Said) -> T) -> T {
        look(&mut self.said.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Waits until `look` finds something.
    pub(super) fn wait<T>(
        &self,
        what: &str,
        mut look: impl FnMut(&mut Said) -> Option<T>,
    ) -> Result<T, String> {
        let until = Instant::now() + ANSWER_MAX;
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(found) = look(&mut said) {
                return Ok(found);
            }
            if let Some(why) = &said.closed {
                return Err(format!("{what} did not happen: {why}"));
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!("{what} did not happen within {} s", ANSWER_MAX.as_secs()));
            }
            said = self.more.wait_timeout(said, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    pub(super) fn close(&self, why: &str) {
        self.with(|said| said.closed = Some(why.to_owned()));
        self.more.notify_all();
    }

    /// Takes what the tab says by itself.
    pub(super) fn take(&self, method: &str, mut params: Value) {
        self.with(|said| match method {
            "Runtime.consoleAPICalled" => {
                let texts = params["args"].as_array().into_iter().flatten().map(shown);
                let text = texts.collect::<Vec<_>>().join(" ");
                said.console.push(ConsoleLine { level: word(&params["type"]), text });
            }
            "Runtime.exceptionThrown" => {
                let text = exception_text(&params["exceptionDetails"]);
                said.console.push(ConsoleLine { level: "exception".to_owned(), text });
            }
            "Log.entryAdded" => {
                let entry = &params["entry"];
                let text = match entry["url"].as_str() {
                    Some(url) if !url.is_empty() => format!("{} ({url})", word(&entry["text"])),
                    _ => word(&entry["text"]),
                };
                said.console.push(ConsoleLine { level: word(&entry["level"]), text });
            }
            "Page.javascriptDialogOpening" => {
                said.console.push(ConsoleLine { level: "dialog".to_owned(), text: word(&params["message"]) });
            }
            "Network.requestWillBeSent" => said.requests.push(word(&params["request"]["url"])),
            "Page.lifecycleEvent" if params["name"] == "load" && params["frameId"] == *self.frame => {
                said.loaded.push(word(&params["loaderId"]));
            }
            "Tracing.dataCollected" => {
                if let Value::Array(events) = params["value"].take() {
                    said.trace.extend(events);
                }
            }
            "Tracing.tracingComplete" => said.trace_complete = true,
            _ => {}
        });
        self.more.notify_all();
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A value of the page as its console shows it.
fn shown(value: &Value) -> String {
    match (&value["value"], value["description"].as_str()) {
        (Value::String(text), _) => text.clone(),
        (Value::Null, Some(description)) => description.to_owned(),
        (Value::Null, None) => word(&value["type"]),
        (other, _) => other.to_string(),
    }
}

/// What an exception says: with its stack if it is an `Error`, else the value that was thrown.
pub(super) fn exception_text(details: &Value) -> String {
    match &details["exception"] {
        Value::Null => word(&details["text"]),
        exception => shown(exception),
    }
}
