//! One tab: where it is, what its scripts say, how it is shown. Mouse and keyboard are in `input`.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::seen::{ANSWER_MAX, ConsoleLine, Seen, exception_text};
use super::value::FromPage;
use super::wire::BrowserPipe;

/// How often Rust asks again when a page could not even be asked.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How much of a page's text a failure shows.
const TEXT_CHARS_MAX: usize = 4_000;

/// A tab of a [`super::Browser`]. Its methods wait; several threads may use several tabs at once.
pub struct Page {
    wire: Arc<BrowserPipe>,
    target: String,
    session: String,
    pub(super) seen: Arc<Seen>,
    /// How long `wait_for` waits.
    patience: Duration,
}

/// Why an expression has no value.
pub(super) enum NoValue {
    /// It threw, or is not JavaScript.
    Thrown(String),
    /// The document went away meanwhile, or the browser did.
    Lost(String),
}

impl Page {
    pub(super) fn new(wire: &Arc<BrowserPipe>) -> Result<Self, String> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let new = json!({"url": "about:blank", "newWindow": true});
        let target = text(&wire.call(None, "Target.createTarget", new)?["targetId"]);
        let attach = json!({"targetId": target, "flatten": true});
        let session = text(&wire.call(None, "Target.attachToTarget", attach)?["sessionId"]);
        let seen = Arc::new(Seen::new(&target));
        wire.listen(&session, &seen);
        let page = Self { wire: Arc::clone(wire), target, session, seen, patience: ANSWER_MAX };
        for (method, params) in [
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", json!({"enabled": true})),
            ("Runtime.enable", json!({})),
            ("Log.enable", json!({})),
            ("Network.enable", json!({})),
            ("Performance.enable", json!({})),
            ("Emulation.setFocusEmulationEnabled", json!({"enabled": true})),
            ("Page.addScriptToEvaluateOnNewDocument", json!({"source": include_str!("long_tasks.js")})),
        ] {
            page.try_call(method, params)?;
        }
        Ok(page)
    }

    /// The id of the tab's own frame.
    pub(super) fn frame(&self) -> &str {
        &self.target
    }

    /// The same tab, giving up sooner or later than after a minute.
    #[must_use]
    pub fn patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Any method of the DevTools protocol, for what has no method here.
    ///
    /// # Panics
    /// If the browser refuses it.
    #[track_caller]
    pub fn call(&self, method: &str, params: Value) -> Value {
        self.try_call(method, params).unwrap_or_else(|problem| panic!("{problem}"))
    }

    fn try_call(&self, method: &str, params: Value) -> Result<Value, String> {
        self.wire.call(Some(&self.session), method, params)
    }

    /// Goes to an address and returns when it has loaded.
    ///
    /// # Panics
    /// If it cannot be loaded.
    #[track_caller]
    pub fn open(&self, url: &str) {
        let answer = self.call("Page.navigate", json!({"url": url}));
        if let Some(problem) = answer["errorText"].as_str() {
            panic!("{url} does not open: {problem}");
        }
        // None if only the fragment changed.
        if let Some(loader) = answer["loaderId"].as_str() {
            self.wait_loaded(url, |loaded| loaded.iter().any(|one| one == loader));
        }
    }

    /// Loads the same address again and returns when it has loaded, or the browser's own page says why not.
    #[track_caller]
    pub fn reload(&self) {
        let tree = self.call("Page.getFrameTree", json!({}));
        let old = tree["frameTree"]["frame"]["loaderId"].as_str().unwrap_or_default();
        let before = self.seen.with(|said| said.loaded.len());
        self.call("Page.reload", json!({}));
        self.wait_loaded("the page again", |loaded| loaded[before..].iter().any(|one| one != old));
    }

    #[track_caller]
    fn wait_loaded(&self, what: &str, is_it: impl Fn(&[String]) -> bool) {
        let loaded = self.seen.wait(&format!("loading {what}"), |said| is_it(&said.loaded).then_some(()));
        loaded.unwrap_or_else(|problem| panic!("{problem}\n{}", self.shown()));
    }

    /// Closes the tab and returns when it is gone.
    ///
    /// # Panics
    /// If the browser has gone.
    #[track_caller]
    pub fn close(self) {
        let closed = self.wire.call(None, "Target.closeTarget", json!({"targetId": self.target}));
        let gone = closed.and_then(|_| self.seen.wait("closing", |said| said.closed.as_ref().map(|_| ())));
        gone.unwrap_or_else(|problem| panic!("{problem}"));
    }

    /// The value of an expression; a promise is waited for, and `await` may be used.
    ///
    /// # Panics
    /// If it throws, with what it says; or if its value is of another kind.
    #[track_caller]
    pub fn eval<T: FromPage>(&self, js: &str) -> T {
        self.try_eval(js).unwrap_or_else(|problem| panic!("{problem}\nin: {js}"))
    }

    /// `eval` for what may throw.
    ///
    /// # Errors
    /// What the exception says, with its stack; or that the page or the browser has gone.
    pub fn try_eval<T: FromPage>(&self, js: &str) -> Result<T, String> {
        let value = self.value(js).map_err(|(NoValue::Thrown(why) | NoValue::Lost(why))| why)?;
        let said = value.to_string();
        T::from_page(value).ok_or_else(|| format!("not a {}: {said}", std::any::type_name::<T>()))
    }

    fn value(&self, js: &str) -> Result<Value, NoValue> {
        let expression = format!("(async () => (\n{}\n))()", js.trim_end_matches([';', ' ', '\n']));
        let wish = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let mut answer = self.try_call("Runtime.evaluate", wish).map_err(NoValue::Lost)?;
        match &answer["exceptionDetails"] {
            Value::Null => Ok(answer["result"]["value"].take()),
            details => Err(NoValue::Thrown(exception_text(details))),
        }
    }

    /// Waits until an expression is true. One that throws is not true yet.
    ///
    /// # Panics
    /// If it is not true within a minute: says what was waited for, and shows the page's text and console.
    #[track_caller]
    pub fn wait_for(&self, condition: &str, what: &str) {
        self.wait_value::<bool>(&format!("!!(await (\n{condition}\n))"), what);
    }

    /// Waits until an expression has a value that counts as true, and returns it.
    ///
    /// # Panics
    /// As `wait_for`.
    #[track_caller]
    pub fn wait_value<T: FromPage>(&self, js: &str, what: &str) -> T {
        let script = format!("{}(async () => (\n{js}\n))", include_str!("wait.js").trim());
        let until = Instant::now() + self.patience;
        let mut why;
        loop {
            match self.value(&script) {
                Ok(Value::Array(mut found)) if found.len() == 1 => {
                    let said = found[0].to_string();
                    return T::from_page(found.remove(0)).unwrap_or_else(|| {
                        panic!("waited for {what}: not a {}: {said}", std::any::type_name::<T>())
                    });
                }
                Ok(last) => why = last.as_str().unwrap_or_default().to_owned(),
                // What threw inside was caught there: this is no JavaScript.
                Err(NoValue::Thrown(problem)) => panic!("waited for {what}: {problem}\nin: {js}"),
                Err(NoValue::Lost(problem)) => why = problem,
            }
            if Instant::now() > until || self.seen.with(|said| said.closed.is_some()) {
                panic!("waited for {what}: {why}\n{js}\n{}", self.shown());
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    /// The text that the first element shows which a selector finds; waits until there is one.
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        let found = format!("[document.querySelector({}).innerText]", json!(selector));
        self.wait_value::<Vec<String>>(&found, selector).remove(0)
    }

    /// Sets the size of the page's window, in CSS pixels.
    #[track_caller]
    pub fn resize(&self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", size);
        self.wait_for(&format!("innerWidth === {width} && innerHeight === {height}"), "the new size");
    }

    /// Whether the person prefers a dark theme.
    #[track_caller]
    pub fn dark(&self, dark: bool) {
        let scheme = if dark { "dark" } else { "light" };
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.call("Emulation.setEmulatedMedia", json!({"features": features}));
        self.wait_for(&format!("matchMedia('(prefers-color-scheme: {scheme})').matches"), "the theme");
    }

    /// Whether the tab has lost its network: new requests fail, and the page is told. Streams that have begun go on; to cut
    /// those, stop the server.
    #[track_caller]
    pub fn offline(&self, offline: bool) {
        let line =
            json!({"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.call("Network.emulateNetworkConditions", line);
    }

    /// Writes what the window shows as a PNG.
    ///
    /// # Panics
    /// If the file cannot be written.
    #[track_caller]
    pub fn screenshot(&self, path: impl AsRef<Path>) {
        let taken = self.call("Page.captureScreenshot", json!({"format": "png"}));
        let picture = from_base64(taken["data"].as_str().unwrap_or_default());
        std::fs::write(&path, picture).unwrap_or_else(|e| panic!("{}: {e}", path.as_ref().display()));
    }

    /// Messages and exceptions so far, from all documents that the tab had.
    pub fn console(&self) -> Vec<ConsoleLine> {
        self.seen.with(|said| said.console.clone())
    }

    /// The addresses that the tab asked for so far, in order, those of redirections included.
    pub fn requests(&self) -> Vec<String> {
        self.seen.with(|said| said.requests.clone())
    }

    /// The page in words, for a failure.
    fn shown(&self) -> String {
        let text = self.try_eval::<String>("location.href + '\\n' + document.body.innerText");
        let text: String = text.unwrap_or_else(|problem| problem).chars().take(TEXT_CHARS_MAX).collect();
        let console: Vec<String> = self.console().iter().map(ToString::to_string).collect();
        format!("--- page\n{text}\n--- console\n{}\n---", console.join("\n"))
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let (mut bytes, mut bits, mut count) = (Vec::with_capacity(text.len() * 3 / 4), 0u32, 0);
    for letter in text.bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    bytes
}
