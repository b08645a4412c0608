//! Cassettes: model exchanges on file, to be written by `--record` or from a record, and played by
//! `protocol = "replay"`.
//!
//! A cassette is JSON Lines. The first line says what it is and how requests are compared:
//!
//! ```json
//! {"posse_cassette":1,"match":"request"}
//! ```
//!
//! Every other line is one exchange:
//!
//! ```json
//! {"id":1,"model":"small","system":"…","tools":[{"name":"…","description":"…","schema":{}}],"new":[…],"reply":{…}}
//! {"id":2,"model":"small","after":1,"new":[…],"reply":{…}}
//! ```
//!
//! `new` holds messages in Posse's own format. With `after`, the request is that exchange's whole request followed by
//! `new`; without, it begins here, with its system prompt and tools. So a conversation of n turns takes n lines of
//! about equal size, and a fork is a second line with the same `after`.
//!
//! A request matches an exchange by content, whatever the order: `"match":"request"` compares system prompt, tools
//! and messages; `"match":"conversation"` compares messages only, and wants the tools that the reply calls to be among
//! those offered. Each exchange is played once. Texts that differ from machine to machine are replaced by
//! placeholders on the way in and put back on the way out (`substitutions`).

mod diff;
mod export;
mod log;
mod play;
mod record;
mod recorded;
mod substitute;
mod tape;
mod times;

use std::path::PathBuf;

use posse_protocol::{Message, Reply};
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use export::{Exported, export};
pub(crate) use log::MessageLog;
pub(crate) use play::Player;
pub use record::Recorder;
pub(crate) use substitute::Substitutions;

/// A cassette that cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CassetteError {
    /// The file cannot be opened, read or written.
    #[error("cassette {}: {source}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The file is too large.
    #[error("cassette {}: larger than {bytes_max} bytes", path.display())]
    TooLarge {
        /// Which file.
        path: PathBuf,
        /// The limit.
        bytes_max: u64,
    },
    /// A line is not what it should be.
    #[error("cassette {}, line {line}: {problem}", path.display())]
    Line {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    posse_cassette: u32,
    #[serde(rename = "match")]
    matching: Matching,
}

/// How requests are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Matching {
    Request,
    Conversation,
}

/// One line of a cassette.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    id: u64,
    #[serde(default)]
    model: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<Tool>>,
    new: Vec<Message>,
    reply: Reply,
}

/// A tool as it was offered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Tool {
    name: String,
    description: String,
    schema: Value,
}
