//! What is known of a server from one session to the next: what it speaks, and what it has. So a session need not wait for it.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;

use posse_tools::{OutsidePrompt, OutsideTool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::limits;
use crate::names::tool_name;

/// Which of the two ways of beginning a server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Era {
    /// It wants to be initialized: revisions up to 2025-11-25.
    Older,
    /// Each request says all there is to know: 2026-07-28.
    Newer,
}

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Known {
    pub(crate) era: Option<Era>,
    /// The name and version that it says of itself.
    pub(crate) title: String,
    /// None where they were never asked for.
    pub(crate) tools: Option<Vec<KnownTool>>,
    pub(crate) prompts: Vec<KnownPrompt>,
    pub(crate) resources: Vec<KnownResource>,
}

/// A tool, by the server's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownTool {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) schema: Arc<Value>,
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
}

impl KnownTool {
    /// As agents are offered it.
    pub(crate) fn offered(&self, server: &str) -> OutsideTool {
        OutsideTool {
            name: tool_name(server, &self.name),
            description: self.description.clone(),
            schema: Arc::clone(&self.schema),
            says_read_only: self.read_only,
            says_destructive: self.destructive,
        }
    }
}

/// A prompt, by the server's name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownPrompt {
    pub(crate) name: String,
    pub(crate) description: String,
    /// The names of its arguments, and whether each is needed.
    pub(crate) arguments: Vec<(String, bool)>,
}

impl KnownPrompt {
    pub(crate) fn offered(&self, server: &str) -> OutsidePrompt {
        OutsidePrompt {
            name: tool_name(server, &self.name),
            description: self.description.clone(),
            arguments: self.arguments.clone(),
        }
    }
}

/// A resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct KnownResource {
    pub(crate) uri: String,
    pub(crate) title: String,
}

const FILE: &str = "known.json";

impl Known {
    /// What is kept in a folder. What cannot be read is not known.
    pub(crate) fn load(folder: &Path) -> Self {
        let read = || -> Option<Self> {
            let mut text = String::new();
            let file = std::fs::File::open(folder.join(FILE)).ok()?;
            file.take(limits::KNOWN_BYTES_MAX as u64).read_to_string(&mut text).ok()?;
            serde_json::from_str(&text).ok()
        };
        read().unwrap_or_default()
    }

    /// Keeps it. If that fails, the next session finds it out again.
    pub(crate) fn save(&self, folder: &Path) {
        let write = || -> std::io::Result<()> {
            let new = folder.join("known.new");
            let mut file = std::fs::File::create(&new)?;
            file.write_all(&serde_json::to_vec(self)?)?;
            std::fs::rename(&new, folder.join(FILE))
        };
        if let Err(error) = write() {
            tracing::warn!(%error, "what is known of a server cannot be kept");
        }
    }
}
