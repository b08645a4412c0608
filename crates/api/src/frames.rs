//! The frames of an event stream: what each is called, and how one is written.

use posse_protocol::Seq;
use serde::Serialize;

/// The media type of an event stream.
pub(crate) const EVENT_STREAM: &str = "text/event-stream";
/// An event of a session; its sequence number is the frame's id.
pub(crate) const EVENT: &str = "event";
/// Something that is not recorded.
pub(crate) const PROGRESS: &str = "progress";
/// The session is over in this process.
pub(crate) const END: &str = "end";
/// Whether a process runs a session.
pub(crate) const RUNNING: &str = "running";
/// The reader is too far behind, and has to ask again.
pub(crate) const AGAIN: &str = "again";
/// There is no such session.
pub(crate) const GONE: &str = "gone";
/// The list of sessions, or what waits for a person, has changed.
pub(crate) const SESSIONS: &str = "sessions";
/// A comment: the connection is there.
pub(crate) const STILL_HERE: &[u8] = b": still here\n\n";

/// Writes one frame. JSON has no line breaks outside of strings, and none inside.
pub(crate) fn frame(into: &mut Vec<u8>, id: Option<Seq>, name: &str, data: &impl Serialize) {
    let start = into.len();
    if let Some(Seq(seq)) = id {
        into.extend_from_slice(format!("id: {seq}\n").as_bytes());
    }
    into.extend_from_slice(format!("event: {name}\ndata: ").as_bytes());
    if let Err(error) = serde_json::to_writer(&mut *into, data) {
        tracing::error!(%error, "an update cannot be written as JSON");
        into.truncate(start);
        return;
    }
    into.extend_from_slice(b"\n\n");
}
