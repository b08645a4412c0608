//! What is inside messages about an agent: its task, its events, its requests, its end. What does not fit into a message is a
//! blob.

use std::collections::BTreeMap;
use std::path::Path;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use posse_engine::remote::{HomeRequest, HostedEnd, HostedItem};
use posse_protocol::ProgressKind;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::limits;
use crate::message::RawBody;
use crate::names::BlobId;

/// What a worker needs to have for an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct OfferNeeds {
    /// The configured name of a model that it must have itself.
    pub(crate) model: Option<String>,
    /// Names the repository among those that it keeps.
    pub(crate) repository: String,
}

/// What a worker has of that.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ClaimHave {
    /// Commits of the repository.
    pub(crate) commits: Vec<String>,
}

/// What an agent starts from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Package {
    /// The task, as JSON.
    pub(crate) task: BlobId,
    /// The files, unless the worker has all of them.
    pub(crate) bundle: Option<BlobId>,
    /// Files that the agent had changed on another worker.
    pub(crate) contents: Option<BlobId>,
}

/// Something that is said, or the blob that holds it because it is too long for a letter.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Carried<T> {
    Here(T),
    Blob(BlobId),
}

/// One item of a worker.
pub(crate) type ItemBody = Carried<Box<WireItem>>;

/// Contents of files, by SHA-256.
pub(crate) type Contents = Vec<(String, Vec<u8>)>;

/// An event with the contents of the files that changed before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct WireItem {
    pub(crate) item: HostedItem,
    /// By SHA-256, as base64.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    contents: BTreeMap<String, String>,
}

impl WireItem {
    pub(crate) fn new(item: HostedItem, contents: Contents) -> Self {
        let encoded = contents.into_iter().map(|(name, bytes)| (name, BASE64_STANDARD.encode(bytes)));
        Self { item, contents: encoded.collect() }
    }

    /// How much of it are contents of files.
    pub(crate) fn contents_bytes(&self) -> u64 {
        self.contents.values().map(|text| text.len() as u64).sum()
    }

    /// The event and the contents; none if these are not what they should be.
    pub(crate) fn opened(self) -> Option<(HostedItem, Contents)> {
        let decode = |(name, text): (String, String)| Some((name, BASE64_STANDARD.decode(text).ok()?));
        let contents = self.contents.into_iter().map(decode).collect::<Option<Vec<_>>>()?;
        Some((self.item, contents))
    }
}

/// How a run ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RunResult {
    pub(crate) end: HostedEnd,
    /// The work.
    pub(crate) bundle: Option<BlobId>,
}

/// A request, and how many items come before it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct RequestBody {
    pub(crate) after: u64,
    pub(crate) request: HomeRequest,
}

/// What may be lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Passing {
    /// Something to show.
    Show(ProgressKind),
    /// Nobody waits for the answer to a request any more.
    CallOff(u64),
}

/// Writes a body; none if it is larger than a message takes.
pub(crate) fn write(body: &impl Serialize) -> Option<RawBody> {
    to_raw_value(body).ok().filter(|raw| raw.get().len() < limits::MESSAGE_BYTES_MAX)
}

/// Reads a body.
pub(crate) fn read<T: for<'a> Deserialize<'a>>(body: &RawValue) -> Result<T, String> {
    serde_json::from_str(body.get()).map_err(|error| unreadable(&error))
}

/// That something cannot be read, in our own words: an error of the parser repeats what is there.
pub(crate) fn unreadable(error: &serde_json::Error) -> String {
    format!("a message cannot be read, at line {} and column {}", error.line(), error.column())
}

/// Reads a file that came from another machine, unless it is too long to be held in memory.
pub(crate) fn read_within(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let bytes = std::fs::metadata(path).map_err(|error| error.to_string())?.len();
    if bytes > bytes_max {
        return Err(format!("it has {bytes} bytes, more than the {bytes_max} that are taken"));
    }
    std::fs::read(path).map_err(|error| error.to_string())
}

/// Several contents in one file, each behind its name of 64 digits and its length.
pub(crate) fn join_contents(contents: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut joined = Vec::new();
    for (name, bytes) in contents {
        joined.extend_from_slice(name.as_bytes());
        joined.extend_from_slice(&(bytes.len() as u64).to_be_bytes());
        joined.extend_from_slice(bytes);
    }
    joined
}
