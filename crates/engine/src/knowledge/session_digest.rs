//! What happened in a session, in short, for an agent that is to learn from it: who said what, which calls were made and
//! what failed. Bounded, and quoted by whoever tells it: everything in it is data.

use std::collections::{HashMap, VecDeque};

use posse_protocol::visible::one_line;
use posse_protocol::{AgentId, Answer, CallId, Event, EventKind, Sender, Seq, SessionId};
use posse_store::{Store, StoreError};

use crate::agents::context::first_chars;
use crate::limits::{
    EVENTS_PER_PAGE, VIEW_HEAD_BYTES_MAX, VIEW_RESULT_CHARS_MAX, VIEW_SAID_CHARS_MAX, VIEW_TAIL_BYTES_MAX,
};
use crate::limits::{ID_CHARS, ID_CHARS_MIN};

/// How models write the id of the session that they are in.
const THIS: [&str; 7] = [
    "${session-id}",
    "${session_id}",
    "${sessionId}",
    "${SESSION_ID}",
    "$SESSION_ID",
    "{session-id}",
    "<session-id>",
];

/// The session that a task is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AboutSession {
    /// The one it is in.
    This,
    /// One by its id.
    Named(String),
    /// What may be the beginning of an id, or only a word.
    Perhaps(String),
}

/// Which session words are about.
pub(crate) fn about(words: &str) -> AboutSession {
    let id = |word: &&str| word.chars().all(|c| c.is_ascii_hexdigit() || c == '-');
    let mut words = words
        .split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .filter(|word| {
            (ID_CHARS_MIN..=ID_CHARS).contains(&word.len()) && word.contains(|c: char| c.is_ascii_digit())
        })
        .filter(id);
    match words.next() {
        Some(word) if word.len() == ID_CHARS => AboutSession::Named(word.to_string()),
        Some(word) => AboutSession::Perhaps(word.to_string()),
        None => AboutSession::This,
    }
}

/// The same words with the id where its name stood.
pub(crate) fn named(words: &str, session: SessionId) -> String {
    THIS.iter().fold(words.to_string(), |words, this| words.replace(this, &session.to_string()))
}

/// The session that words are about: this one, or another of the same project. The error is for the model.
pub(crate) fn find(store: &Store, words: &str, this: SessionId, project: &str) -> Result<SessionId, String> {
    let (wanted, must) = match about(words) {
        AboutSession::This => return Ok(this),
        AboutSession::Named(id) if id == this.to_string() => return Ok(this),
        AboutSession::Named(id) => (id, true),
        AboutSession::Perhaps(begin) => (begin, false),
    };
    match store.find_session(&wanted) {
        // Other projects are as if they were not there.
        Ok(row) if row.id == this || row.project == project => Ok(row.id),
        Ok(_) | Err(StoreError::NoSession { .. } | StoreError::Ambiguous { .. }) if !must => Ok(this),
        Ok(_) | Err(StoreError::NoSession { .. } | StoreError::Ambiguous { .. }) => Err(format!(
            "There is no session {wanted} of this project on record. Give the id of one, or words about this session."
        )),
        Err(error) => Err(format!("The record cannot be read ({error}).")),
    }
}

/// What happened in a session, as far as it is on record now.
pub(crate) fn view(store: &Store, session: SessionId) -> Result<String, StoreError> {
    store.flush()?;
    let (mut view, mut after) = (View::default(), Seq(0));
    loop {
        match store.events_after(session, after, EVENTS_PER_PAGE) {
            Ok(page) if page.is_empty() => return Ok(view.text()),
            Ok(page) => {
                after = page.last().map_or(after, |event| event.seq);
                page.iter().for_each(|event| view.event(event));
            }
            Err(StoreError::DamagedEvent { seq, .. }) => after = seq,
            Err(error) => return Err(error),
        }
    }
}

/// The lines so far: the first ones, and the last ones.
#[derive(Default)]
struct View {
    names: HashMap<AgentId, String>,
    titles: HashMap<CallId, String>,
    head: String,
    tail: VecDeque<String>,
    tail_bytes: usize,
    left_out: usize,
}

impl View {
    fn event(&mut self, event: &Event) {
        let name = self.names.get(&event.agent).cloned().unwrap_or_else(|| "main".to_string());
        let said = |text: &str| {
            let (start, cut) = first_chars(text.trim(), VIEW_SAID_CHARS_MAX);
            format!("{start}{}", if cut { " …" } else { "" })
        };
        match &event.kind {
            EventKind::AgentAdmitted { name: child, role, title, .. } => {
                self.names.insert(event.agent, child.clone());
                self.line(format!("{child} ({role}) is started: {title}"));
            }
            EventKind::Told { from: Sender::Person, text, .. } => {
                self.line(format!("person: {}", said(text)))
            }
            EventKind::Replied { reply, .. } if !reply.text.trim().is_empty() => {
                self.line(format!("{name}: {}", said(&reply.text)));
            }
            EventKind::ToolStarted { call, title, .. } => {
                self.titles.insert(call.clone(), title.clone());
            }
            EventKind::ToolFinished { call, tool, ok, text, .. } => {
                let title = self.titles.remove(call).unwrap_or_else(|| tool.clone());
                let (word, text) = (if *ok { "ok" } else { "failed" }, one_line(text, VIEW_RESULT_CHARS_MAX));
                self.line(format!("{name} runs {title}: {word}: {text}"));
            }
            EventKind::PersonAnswered { answer: Answer::No { reason }, .. } => {
                self.line(format!("person says no to {name}: {}", said(reason)));
            }
            EventKind::PersonAnswered { answer: Answer::Said { text }, .. } => {
                self.line(format!("person answers {name}: {}", said(text)));
            }
            EventKind::AgentSettled { report } => {
                self.line(format!("{name} ends: {}", report.ending.word()));
            }
            _ => {}
        }
    }

    fn line(&mut self, line: String) {
        if self.tail.is_empty() && self.head.len() + line.len() < VIEW_HEAD_BYTES_MAX {
            self.head.push_str(&line);
            self.head.push('\n');
            return;
        }
        self.tail_bytes += line.len() + 1;
        self.tail.push_back(line);
        while self.tail_bytes > VIEW_TAIL_BYTES_MAX
            && let Some(first) = self.tail.pop_front()
        {
            self.tail_bytes -= first.len() + 1;
            self.left_out += 1;
        }
    }

    fn text(self) -> String {
        let mut text = self.head;
        if self.left_out > 0 {
            text.push_str(&format!("({} lines left out)\n", self.left_out));
        }
        for line in self.tail {
            text.push_str(&line);
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_a_session_by_its_id_only() {
        let id = "0198c5a4-0000-7000-8000-000000000001";
        let cases = [
            ("${session-id}".to_string(), AboutSession::This),
            ("what we learnt today".to_string(), AboutSession::This),
            ("the facade of 2026".to_string(), AboutSession::This),
            (id.to_string(), AboutSession::Named(id.to_string())),
            (format!("session \"{id}\", please"), AboutSession::Named(id.to_string())),
            ("0198c5a4".to_string(), AboutSession::Perhaps("0198c5a4".to_string())),
        ];
        for (words, wanted) in cases {
            assert_eq!(about(&words), wanted, "{words}");
        }
        let told = named("from ${session-id} or $SESSION_ID", id.parse().unwrap());
        assert_eq!(told, format!("from {id} or {id}"));
    }

    #[test]
    fn a_long_session_keeps_its_beginning_and_its_end() {
        let mut view = View::default();
        (0..2_000).for_each(|n| view.line(format!("line {n} {}", "x".repeat(90))));
        let text = view.text();
        assert!(text.len() < VIEW_HEAD_BYTES_MAX + VIEW_TAIL_BYTES_MAX + 100, "{}", text.len());
        assert!(text.starts_with("line 0 ") && text.contains("\nline 1999 "), "{text}");
        assert!(text.contains(" lines left out)\n"));
    }
}
