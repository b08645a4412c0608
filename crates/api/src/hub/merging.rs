//! What happened in a moment, as one piece of an event stream: every event, and progress put together agent by agent. Many
//! followers get the same bytes. Pure: it knows no time and no connection.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use posse_protocol::{AgentId, Event, EventKind, Progress, ProgressKind, Seq, Update};

use crate::frames::{EVENT, PROGRESS, frame};

/// A piece of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StreamPiece {
    /// The events that are in it, each with where its frame ends.
    ends: Arc<[(Seq, usize)]>,
    /// Frames of the stream.
    pub(crate) bytes: Bytes,
}

impl StreamPiece {
    /// The last event that is in it, if there is one.
    pub(crate) fn last(&self) -> Option<Seq> {
        self.ends.last().map(|(seq, _)| *seq)
    }

    /// The rest of it for one who has all events up to `known`.
    pub(crate) fn after(self, known: Seq) -> Self {
        let had = self.ends.partition_point(|(seq, _)| *seq <= known);
        match had.checked_sub(1).map(|at| self.ends[at].1) {
            None => self,
            Some(end) => Self {
                ends: self.ends[had..].iter().map(|(seq, at)| (*seq, at - end)).collect(),
                bytes: self.bytes.slice(end..),
            },
        }
    }
}

/// Updates that wait to be sent together.
#[derive(Default)]
pub(crate) struct MergedUpdates {
    waiting: Vec<Update>,
}

impl MergedUpdates {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Adds an update. Progress joins what the same agent has said since the last event.
    pub(crate) fn add(&mut self, update: Update) {
        let Update::Progress(progress) = update else {
            self.waiting.push(update);
            return;
        };
        for before in self.waiting.iter_mut().rev() {
            match before {
                Update::Event(_) => break,
                Update::Progress(before) if before.agent == progress.agent => {
                    if joined(&mut before.kind, &progress.kind) {
                        return;
                    }
                    // What came in between keeps its place.
                    break;
                }
                Update::Progress(_) => {}
            }
        }
        self.waiting.push(Update::Progress(progress));
    }

    /// All that waits, as one piece. What is under way afterwards is noted.
    pub(crate) fn take(&mut self, under_way: &mut UnderWay) -> StreamPiece {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for update in self.waiting.drain(..) {
            under_way.note(&update);
            match update {
                Update::Event(event) => {
                    frame(&mut bytes, Some(event.seq), EVENT, &*event.without_data());
                    ends.push((event.seq, bytes.len()));
                }
                Update::Progress(progress) => frame(&mut bytes, None, PROGRESS, &progress),
            }
        }
        StreamPiece { ends: ends.into(), bytes: bytes.into() }
    }
}

/// Recorded events as one piece.
pub(crate) fn recorded(events: Vec<Event>) -> StreamPiece {
    let mut merged = MergedUpdates::default();
    events.into_iter().for_each(|event| merged.add(Update::Event(Arc::new(event))));
    merged.take(&mut UnderWay::default())
}

/// Adds what an agent says to what it said just before, if the two can be one.
fn joined(before: &mut ProgressKind, next: &ProgressKind) -> bool {
    match (&mut *before, next) {
        (ProgressKind::Text(text) | ProgressKind::TextSoFar(text), ProgressKind::Text(more))
        | (ProgressKind::Reasoning(text), ProgressKind::Reasoning(more)) => text.push_str(more),
        (ProgressKind::Output { call, text }, ProgressKind::Output { call: same, text: more })
            if call == same =>
        {
            text.push_str(more)
        }
        (ProgressKind::Arriving, ProgressKind::Arriving)
        | (ProgressKind::Queued, ProgressKind::Queued)
        | (ProgressKind::Served, ProgressKind::Served) => {}
        (ProgressKind::Keeping(files), ProgressKind::Keeping(more)) => *files = *more,
        (ProgressKind::Text(_) | ProgressKind::TextSoFar(_), ProgressKind::TextSoFar(_)) => {
            *before = next.clone();
        }
        _ => return false,
    }
    true
}

/// The text of replies that are under way, for those who begin to follow.
#[derive(Default)]
pub(crate) struct UnderWay {
    texts: HashMap<AgentId, String>,
}

impl UnderWay {
    fn note(&mut self, update: &Update) {
        match update {
            Update::Progress(Progress { agent, kind: ProgressKind::Text(more) }) => {
                self.texts.entry(*agent).or_default().push_str(more);
            }
            Update::Progress(Progress { agent, kind: ProgressKind::TextSoFar(all) }) => {
                self.texts.insert(*agent, all.clone());
            }
            Update::Event(event) if ends_reply(&event.kind) => drop(self.texts.remove(&event.agent)),
            Update::Event(_) | Update::Progress(_) => {}
        }
    }

    /// As a piece, for one who follows from now on.
    pub(crate) fn so_far(&self) -> StreamPiece {
        let mut bytes = Vec::new();
        for (agent, text) in &self.texts {
            let progress = Progress { agent: *agent, kind: ProgressKind::TextSoFar(text.clone()) };
            frame(&mut bytes, None, PROGRESS, &progress);
        }
        StreamPiece { ends: Arc::default(), bytes: bytes.into() }
    }

    /// Nobody runs the session: nothing is under way.
    pub(crate) fn clear(&mut self) {
        self.texts.clear();
    }
}

fn ends_reply(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Replied { .. }
            | EventKind::CutShort { .. }
            | EventKind::ModelFailed { .. }
            | EventKind::Retrying { .. }
            | EventKind::TurnStarted { .. }
            | EventKind::AgentSettled { .. }
            | EventKind::SessionInterrupted { .. }
    )
}

#[cfg(test)]
mod tests {
    use posse_protocol::CallId;

    use super::*;

    fn agent(n: u8) -> AgentId {
        format!("00000000-0000-7000-8000-0000000000{n:02}").parse().unwrap()
    }

    fn progress(of: u8, kind: ProgressKind) -> Update {
        Update::Progress(Progress { agent: agent(of), kind })
    }

    fn text(of: u8, text: &str) -> Update {
        progress(of, ProgressKind::Text(text.to_owned()))
    }

    fn event(of: u8, seq: u64, kind: EventKind) -> Update {
        let session = "00000000-0000-7000-8000-000000000099".parse().unwrap();
        Update::Event(Arc::new(Event {
            seq: Seq(seq),
            session,
            agent: agent(of),
            parent: None,
            at_ms: 0,
            kind,
        }))
    }

    fn turn(of: u8, seq: u64) -> Update {
        event(of, seq, EventKind::TurnStarted { turn: 1, purpose: Default::default() })
    }

    fn lines(piece: &StreamPiece) -> Vec<String> {
        let text = String::from_utf8(piece.bytes.to_vec()).unwrap();
        text.lines().filter(|line| line.starts_with("data:")).map(str::to_owned).collect()
    }

    #[test]
    fn progress_joins_agent_by_agent_and_never_across_an_event() {
        let mut merged = MergedUpdates::default();
        for update in [text(1, "a"), text(2, "x"), text(1, "b"), turn(1, 7), text(1, "c"), text(1, "d")] {
            merged.add(update);
        }
        let piece = merged.take(&mut UnderWay::default());
        let said = lines(&piece);
        assert_eq!((said.len(), piece.last()), (4, Some(Seq(7))));
        for (line, want) in said.iter().zip(["\"ab\"", "\"x\"", "turn_started", "\"cd\""]) {
            assert!(line.contains(want), "{line}");
        }
        assert!(merged.is_empty() && merged.take(&mut UnderWay::default()).bytes.is_empty());
    }

    #[test]
    fn who_has_the_beginning_of_a_piece_gets_its_rest() {
        let mut merged = MergedUpdates::default();
        [turn(1, 5), text(1, "a"), turn(1, 6), text(1, "b")]
            .into_iter()
            .for_each(|update| merged.add(update));
        let piece = merged.take(&mut UnderWay::default());
        let rest = |known| {
            let rest = piece.clone().after(Seq(known));
            (lines(&rest).len(), rest.last(), rest.after(Seq(5)).last())
        };
        assert_eq!(rest(4), (4, Some(Seq(6)), Some(Seq(6))));
        assert_eq!(rest(5), (3, Some(Seq(6)), Some(Seq(6))));
        assert_eq!(rest(6), (1, None, None));
        assert_eq!(rest(9), (1, None, None));
    }

    #[test]
    fn only_what_is_alike_joins() {
        let call = |n: &str| CallId(n.to_owned());
        let output = |n: &str, text: &str| ProgressKind::Output { call: call(n), text: text.to_owned() };
        let cases = [
            (ProgressKind::Arriving, ProgressKind::Arriving, 1),
            (ProgressKind::Queued, ProgressKind::Served, 2),
            (output("1", "a"), output("1", "b"), 1),
            (output("1", "a"), output("2", "b"), 2),
            (ProgressKind::Keeping(1), ProgressKind::Keeping(9), 1),
            (ProgressKind::Calling("a".into()), ProgressKind::Calling("b".into()), 2),
            (ProgressKind::Text("a".into()), ProgressKind::TextSoFar("all".into()), 1),
            (ProgressKind::Text("a".into()), ProgressKind::Reasoning("b".into()), 2),
        ];
        for (first, second, want) in cases {
            let mut merged = MergedUpdates::default();
            merged.add(progress(1, first.clone()));
            merged.add(progress(1, second.clone()));
            assert_eq!(lines(&merged.take(&mut UnderWay::default())).len(), want, "{first:?} {second:?}");
        }
    }

    #[test]
    fn who_comes_late_gets_the_text_so_far_and_nothing_that_is_over() {
        let mut under_way = UnderWay::default();
        for update in [text(1, "Hel"), text(1, "lo"), text(2, "gone"), turn(2, 3)] {
            under_way.note(&update);
        }
        let so_far = lines(&under_way.so_far());
        assert_eq!(so_far.len(), 1);
        assert!(so_far[0].contains("{\"text_so_far\":\"Hello\"}"), "{so_far:?}");
    }
}
