//! Writing a cassette of calls that were made before, from a record of them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use posse_protocol::{Message, Reply};

use super::tape::{Existing, Tape};
use super::{CassetteError, Matching, MessageLog, Substitutions};
use crate::limits;

/// One call as it is on record: the whole request, and what came back.
#[derive(Clone, Debug)]
pub struct Exported {
    /// The configured name of the model.
    pub model: String,
    /// The system prompt.
    pub system: Arc<str>,
    /// All messages of the request. Those that an earlier call of the same conversation had are best shared with it, or
    /// every call costs as much as the whole conversation.
    pub messages: Vec<Arc<Message>>,
    /// The reply.
    pub reply: Reply,
}

/// Writes a new cassette of these calls, in their order, and returns how many there were. Requests are compared by
/// their messages when it is played, because a record does not hold the tools that were offered. A file that is there
/// is not replaced, and nothing is left of one that could not be completed.
pub fn export(
    path: &Path,
    calls: impl IntoIterator<Item = Exported>,
    substitutions: Vec<(String, String)>,
) -> Result<usize, CassetteError> {
    let substitutions = Substitutions::new(&substitutions);
    let tape = Tape::create(path, Existing::Refuse, Matching::Conversation, substitutions.clone())
        .map_err(|source| CassetteError::File { path: path.to_owned(), source })?;
    let written = write(path, tape, calls, &substitutions);
    if written.is_err() {
        // What matters is why it could not be written; half a cassette is of no use.
        let _ = std::fs::remove_file(path);
    }
    written
}

fn write(
    path: &Path,
    mut tape: Tape,
    calls: impl IntoIterator<Item = Exported>,
    substitutions: &Substitutions,
) -> Result<usize, CassetteError> {
    let mut conversations = Conversations::default();
    let mut count = 0;
    for call in calls {
        let log = conversations.log(&call, substitutions);
        tape.write(&call.model, log, &call.reply)
            .map_err(|source| CassetteError::File { path: path.to_owned(), source })?;
        if tape.bytes() > limits::CASSETTE_BYTES_MAX {
            let bytes_max = limits::CASSETTE_BYTES_MAX;
            return Err(CassetteError::TooLarge { path: path.to_owned(), bytes_max });
        }
        count += 1;
    }
    Ok(count)
}

/// The conversations so far, by their first message, so that a call costs what is new in it.
#[derive(Default)]
struct Conversations {
    by_first: HashMap<Option<*const Message>, Conversation>,
}

/// The last call of a conversation. It holds its messages, so that their addresses are not given to others.
struct Conversation {
    system: Arc<str>,
    messages: Vec<Arc<Message>>,
    log: MessageLog,
}

impl Conversations {
    /// The request as a cassette sees it.
    fn log(&mut self, call: &Exported, substitutions: &Substitutions) -> &MessageLog {
        let begin = || Conversation {
            system: Arc::clone(&call.system),
            messages: Vec::new(),
            log: MessageLog::new(&call.system, &[], substitutions.clone()),
        };
        let known = self.by_first.entry(call.messages.first().map(Arc::as_ptr)).or_insert_with(begin);
        if known.system != call.system {
            *known = begin();
        }
        let same = known.messages.iter().zip(&call.messages).take_while(|(a, b)| Arc::ptr_eq(a, b)).count();
        known.log.truncate(same);
        for message in &call.messages[same..] {
            known.log.push(message);
        }
        known.messages.clone_from(&call.messages);
        &known.log
    }
}
