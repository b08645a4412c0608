//! Reports: splits an agent's text into sections, checks it against what was measured, cuts it to size, and makes it safe to
//! read.
//!
//! Pure: text and facts in, text out. This crate must not know files, clocks, models or the tree of agents; the
//! caller looks up the facts. Everything an agent wrote is treated as hostile: it may be huge, forged, or not what it claims.
#![forbid(unsafe_code)]

mod changes;
mod check;
mod citations;
mod claims;
mod cut;
mod facts;
mod handle;
mod json;
mod json_path;
pub mod limits;
mod paths;
mod section_names;
mod sections;
mod test_files;
mod told;
mod visible;
mod wrap;

pub use changes::claimed_changes;
pub use check::{Facts, FileFacts, check};
pub use citations::{Citation, citations};
pub use facts::files;
pub use facts::{About, Fact, facts, facts_line};
pub use handle::{Piece, read};
pub use json::{summary, to_json, to_json_text};
pub use sections::{Sections, blocked, sections};
pub use test_files::{is_for_tests, is_test_setting, test_file_delta};
pub use told::{ToldReport, spawn_text, to_text};
pub use wrap::{quote, unquote};
