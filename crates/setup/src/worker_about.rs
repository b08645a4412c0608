//! What a worker says of itself: its version, its sandbox, its git, its models. `posse worker --check` prints it, and over a broker it is
//! in every hello.
//!
//! Home reads it as a stranger's words: up to a limit, and nothing in it does anything to a terminal.

use posse_cluster::{CLUSTER_VERSION, RawBody, WorkerInfo};
use posse_protocol::visible::one_line;
use posse_workspace::git;
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;

use crate::cluster_settings::WorkerSettings;
use crate::config::ModelsAt;
use crate::limits::{ABOUT_BYTES_MAX, ABOUT_COLUMNS_MAX, ABOUT_NAMES_MAX};

/// What a worker says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerAbout {
    /// The version of its program.
    pub version: String,
    /// The version of what it speaks.
    pub protocol: u16,
    /// What it is called.
    #[serde(default)]
    pub name: String,
    /// What it has.
    #[serde(default)]
    pub labels: Vec<String>,
    /// How many agents it runs at the same time.
    #[serde(default)]
    pub capacity: u64,
    /// Whether commands are confined there.
    pub sandbox: SandboxAbout,
    /// The version of its git.
    #[serde(default)]
    pub git: Option<String>,
    /// Why there is none that can be used.
    #[serde(default)]
    pub git_missing: Option<String>,
    /// The names of the models of its own that agents may use.
    #[serde(default)]
    pub models: Vec<String>,
    /// Whether its person lets agents use those. An older posse does not say so, and lets them.
    #[serde(default = "lends_models")]
    pub lends_models: bool,
    /// Whether it takes nothing new.
    #[serde(default)]
    pub drained: bool,
    /// How long it may be silent. Over ssh home says that, so it is not told there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// How often it says that it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub renew_ms: Option<u64>,
}

fn lends_models() -> bool {
    true
}

/// Whether commands are confined somewhere.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxAbout {
    /// Whether they are.
    pub ok: bool,
    /// Why not.
    #[serde(default)]
    pub why: Option<String>,
}

impl SandboxAbout {
    /// Tries it on this machine.
    pub async fn tried() -> Self {
        let why = match tokio::task::spawn_blocking(posse_sandbox::available).await {
            Ok(tried) => tried.err().map(|missing| missing.to_string()),
            Err(error) => Some(error.to_string()),
        };
        Self { ok: why.is_none(), why }
    }
}

impl WorkerAbout {
    /// This machine, which is not drained. Its git has been settled before.
    pub async fn of_this_machine(
        settings: &WorkerSettings,
        sandbox: SandboxAbout,
        models: Vec<String>,
    ) -> Self {
        let git = git::version().await;
        Self {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            protocol: CLUSTER_VERSION,
            name: settings.name.clone(),
            labels: settings.labels.clone(),
            capacity: settings.capacity as u64,
            sandbox,
            git: git.as_ref().ok().cloned(),
            git_missing: git.err().map(|error| error.to_string()),
            models,
            lends_models: settings.models == ModelsAt::Worker,
            drained: false,
            lease_ms: None,
            renew_ms: None,
        }
    }

    /// Reads what another machine says. What it says too much is cut off.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.len() > ABOUT_BYTES_MAX {
            return Err(format!("it says more than {ABOUT_BYTES_MAX} bytes of itself"));
        }
        let said: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(said.bounded())
    }

    /// Reads it from a hello; none if it is not in there, as in that of an older posse. What the hello itself says counts more.
    pub(crate) fn from_hello(info: &WorkerInfo) -> Option<Self> {
        let said = Self::read(info.have.get()).ok()?;
        Some(Self {
            version: one_line(&info.program, ABOUT_COLUMNS_MAX),
            // Its letter could be read.
            protocol: CLUSTER_VERSION,
            labels: info.labels.iter().map(ToString::to_string).collect(),
            capacity: info.capacity.into(),
            drained: info.drained,
            ..said
        })
    }

    /// For a hello.
    pub(crate) fn for_hello(self) -> RawBody {
        // What cannot be written is not said.
        to_raw_value(&self.bounded()).unwrap_or_default()
    }

    fn bounded(self) -> Self {
        let text = |text: String| one_line(&text, ABOUT_COLUMNS_MAX);
        let texts = |all: Vec<String>| all.into_iter().take(ABOUT_NAMES_MAX).map(text).collect();
        Self {
            version: text(self.version),
            name: text(self.name),
            labels: texts(self.labels),
            sandbox: SandboxAbout { why: self.sandbox.why.map(text), ..self.sandbox },
            git: self.git.map(text),
            git_missing: self.git_missing.map(text),
            models: texts(self.models),
            ..self
        }
    }
}
