//! A home of its own with `posse serve` in it, and calls to that server. Sessions that it began end with it.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::chat::session_process;
use crate::startup::built;

/// How long the process of a session may take to end.
const ENDS: Duration = Duration::from_secs(20);
/// Agents that may work at once.
const AGENTS_MAX: usize = 64;

/// Where everything of a person is.
pub(crate) struct WebHome {
    place: tempfile::TempDir,
    pub(crate) work: PathBuf,
}

impl WebHome {
    /// A new home, or one in which something is on record already.
    pub(crate) fn new(place: tempfile::TempDir, base_url: &str) -> anyhow::Result<Self> {
        let work = place.path().join("work");
        std::fs::create_dir_all(&work)?;
        let notes = (1..=1000).map(|n| format!("line {n} of the notes\n")).collect::<String>();
        std::fs::write(work.join("notes.txt"), notes)?;
        let config = format!(
            "[models.fake]\nendpoint = \"{base_url}\"\nmodel = \"fake-model\"\nmax_concurrent = {AGENTS_MAX}\n\
            [limits]\nmax_turns = 1000\n\
            [sub_agents]\nmax_running = {AGENTS_MAX}\nmax_running_in_process = {AGENTS_MAX}\n"
        );
        std::fs::write(place.path().join("config.toml"), config)?;
        Ok(Self { place, work })
    }

    /// Where the record is.
    pub(crate) fn data(place: &Path) -> PathBuf {
        place.join("data")
    }

    /// Starts the server, and returns when it has said where it is.
    pub(crate) fn serve(&self) -> anyhow::Result<WebServer> {
        let mut child = Command::new(built()?)
            .args(["serve", "--json"])
            .current_dir(&self.work)
            .env("HOME", self.place.path())
            .env("POSSE_HOME", Self::data(self.place.path()))
            .env("POSSE_CONFIG", self.place.path().join("config.toml"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()?;
        let mut said = String::new();
        BufReader::new(child.stdout.take().context("no output")?).read_line(&mut said)?;
        let served: Value =
            serde_json::from_str(&said).with_context(|| format!("posse serve said {said:?}"))?;
        let text = |name: &str| served[name].as_str().map(str::to_owned).context("something is missing");
        let token = std::fs::read_to_string(text("token_file")?)?.trim().to_owned();
        // The client wants a provider even where nothing is encrypted; it may be there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(WebServer {
            child,
            address: text("address")?.trim_end_matches('/').to_owned(),
            token,
            work: self.work.clone(),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build()?,
            // The server closes connections that rest for long.
            client: reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build()?,
        })
    }
}

/// A server that runs.
pub(crate) struct WebServer {
    child: Child,
    /// `http://HOST:PORT`.
    pub(crate) address: String,
    pub(crate) token: String,
    work: PathBuf,
    runtime: tokio::runtime::Runtime,
    client: reqwest::Client,
}

impl WebServer {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `HOST:PORT`.
    pub(crate) fn host(&self) -> &str {
        self.address.trim_start_matches("http://")
    }

    pub(crate) fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.answer(self.client.get(format!("{}{path}", self.address)))
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.client.post(format!("{}{path}", self.address));
        self.answer(request.header("content-type", "application/json").body(body.to_string()))
    }

    fn answer(&self, request: reqwest::RequestBuilder) -> anyhow::Result<Value> {
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let (status, bytes) = self.runtime.block_on(async {
            let response = request.send().await?;
            anyhow::Ok((response.status(), response.bytes().await?))
        })?;
        ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
        Ok(if bytes.is_empty() { Value::Null } else { serde_json::from_slice(&bytes)? })
    }

    /// Begins a session in the folder of this home, and names it.
    pub(crate) fn begin(&self, prompt: &str) -> anyhow::Result<String> {
        let folder = self.work.to_string_lossy();
        let begun = self.post("/api/sessions", &json!({"folder": folder, "prompt": prompt}))?;
        Ok(begun["session"].as_str().context("no session")?.to_owned())
    }

    /// Ends a session, and waits until its process is gone.
    pub(crate) fn end(&self, session: &str) -> anyhow::Result<()> {
        self.post(&format!("/api/sessions/{session}/cancel"), &json!({}))?;
        let since = Instant::now();
        while session_process(&self.work).is_some() {
            ensure!(since.elapsed() < ENDS, "the session's process does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    /// The process of the session that runs here.
    pub(crate) fn session_process(&self) -> Option<u32> {
        session_process(&self.work)
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let left = session_process(&self.work).and_then(|pid| Pid::from_raw(i32::try_from(pid).ok()?));
        if let Some(pid) = left {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}
