//! Questions from a run to home, and commands from home to a run, over a courier that loses, repeats and reorders. Pure.
//!
//! A request is sent until it is answered, and carried out once. A command is sent until it is acknowledged, and handed over
//! once, in order. It must not know what is in either.

use std::collections::{BTreeMap, VecDeque};

use crate::limits;

/// There are as many open as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{max} are open already")]
pub struct TooManyOpen {
    /// How many there may be.
    pub max: usize,
}

/// The asking side of requests. `B` is what is asked.
#[derive(Clone, Debug)]
pub struct RequestAsker<B> {
    newest: u64,
    open: BTreeMap<u64, OpenRequest<B>>,
    again_ms: u64,
}

/// A request without an answer.
#[derive(Clone, Debug)]
struct OpenRequest<B> {
    body: B,
    due_ms: u64,
    /// How long it is waited for after it is sent next.
    pause_ms: u64,
}

/// One request, to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSend<B> {
    /// Its number, from 1.
    pub id: u64,
    /// All requests before this one have their answers.
    pub open_from: u64,
    /// What is asked.
    pub body: B,
}

impl<B: Clone> RequestAsker<B> {
    /// Sends what has no answer again after so long; then after twice as long, and so on, up to a limit: a model may take minutes.
    pub fn new(again_ms: u64) -> Self {
        Self { newest: 0, open: BTreeMap::new(), again_ms }
    }

    /// Whether another request can be open.
    pub fn has_room(&self) -> bool {
        self.open.len() < limits::REQUESTS_OPEN_MAX
    }

    /// A new request. It is sent at the next tick.
    pub fn ask(&mut self, body: B) -> Result<u64, TooManyOpen> {
        if !self.has_room() {
            return Err(TooManyOpen { max: limits::REQUESTS_OPEN_MAX });
        }
        self.newest += 1;
        self.open.insert(self.newest, OpenRequest { body, due_ms: 0, pause_ms: self.again_ms });
        Ok(self.newest)
    }

    /// An answer came. Says whether it is the first one to an open request.
    pub fn answered(&mut self, id: u64) -> bool {
        self.open.remove(&id).is_some()
    }

    /// What is to be sent now.
    pub fn tick(&mut self, now_ms: u64) -> Vec<RequestSend<B>> {
        let open_from = self.open_from();
        let pause_ms_max = self.again_ms.saturating_mul(limits::ASK_AGAIN_TIMES_MAX);
        let mut sends = Vec::new();
        for (id, request) in self.open.iter_mut().filter(|(_, request)| now_ms >= request.due_ms) {
            request.due_ms = now_ms.saturating_add(request.pause_ms);
            request.pause_ms = request.pause_ms.saturating_mul(2).min(pause_ms_max);
            sends.push(RequestSend { id: *id, open_from, body: request.body.clone() });
        }
        sends
    }

    /// When the next tick is due.
    pub fn tick_at_ms(&self) -> Option<u64> {
        self.open.values().map(|request| request.due_ms).min()
    }

    fn open_from(&self) -> u64 {
        self.open.keys().next().copied().unwrap_or(self.newest + 1)
    }
}

/// What to do with a request that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestArrival<A> {
    /// Carry it out, then say [`RequestAnswerer::answer`].
    New,
    /// It is being carried out.
    InProgress,
    /// It was answered: send the same again.
    Answered(A),
    /// Its answer is not kept any more, and it is not carried out a second time: answer that. An asker that has the answer
    /// ignores it.
    Forgotten,
    /// Too many are being carried out. It will be sent again.
    Busy,
}

/// The answering side of requests, for one run.
#[derive(Clone, Debug)]
pub struct RequestAnswerer<A> {
    /// Requests before this one are over.
    open_from: u64,
    known: BTreeMap<u64, Option<(A, usize)>>,
    kept_bytes: usize,
}

impl<A: Clone> Default for RequestAnswerer<A> {
    fn default() -> Self {
        Self { open_from: 1, known: BTreeMap::new(), kept_bytes: 0 }
    }
}

impl<A: Clone> RequestAnswerer<A> {
    /// A request came.
    pub fn arrive(&mut self, id: u64, open_from: u64) -> RequestArrival<A> {
        self.forget_before(open_from.min(id));
        if id < self.open_from {
            return RequestArrival::Forgotten;
        }
        match self.known.get(&id) {
            Some(Some((answer, _))) => return RequestArrival::Answered(answer.clone()),
            Some(None) => return RequestArrival::InProgress,
            None => {}
        }
        if self.known.len() >= limits::ANSWERS_KEPT_MAX {
            return RequestArrival::Busy;
        }
        self.known.insert(id, None);
        RequestArrival::New
    }

    /// A request was carried out; the answer has this many bytes. Where the answers take too much, the oldest is not kept.
    pub fn answer(&mut self, id: u64, answer: A, bytes: usize) {
        let Some(known) = self.known.get_mut(&id).filter(|known| known.is_none()) else { return };
        *known = Some((answer, bytes));
        self.kept_bytes = self.kept_bytes.saturating_add(bytes);
        while self.kept_bytes > limits::ANSWERS_KEPT_BYTES_MAX {
            // What is still being carried out is never forgotten: it would be carried out twice.
            let Some(oldest) = self.known.keys().next().copied() else { break };
            if oldest >= id || self.known.get(&oldest).is_some_and(Option::is_none) {
                break;
            }
            self.forget_before(oldest + 1);
        }
    }

    fn forget_before(&mut self, open_from: u64) {
        if open_from <= self.open_from {
            return;
        }
        let kept = self.known.split_off(&open_from);
        let gone = std::mem::replace(&mut self.known, kept);
        let gone_bytes = gone.values().flatten().fold(0_usize, |sum, (_, bytes)| sum.saturating_add(*bytes));
        self.kept_bytes = self.kept_bytes.saturating_sub(gone_bytes);
        self.open_from = open_from;
    }
}

/// Home's commands for one run, until they are acknowledged.
#[derive(Clone, Debug)]
pub struct CommandSender<C> {
    series: u64,
    newest: u64,
    open: VecDeque<(u64, C, u64)>,
    again_ms: u64,
}

impl<C: Clone> CommandSender<C> {
    /// Sends what is not acknowledged again after so long. The series names these numbers: a home that was started again
    /// knows nothing of those before, and begins another.
    pub fn new(series: u64, again_ms: u64) -> Self {
        Self { series, newest: 0, open: VecDeque::new(), again_ms }
    }

    /// What names its numbers.
    pub fn series(&self) -> u64 {
        self.series
    }

    /// Whether another command can be sent.
    pub fn has_room(&self) -> bool {
        self.open.len() < limits::COMMANDS_OPEN_MAX
    }

    /// A new command. It is sent at the next tick.
    pub fn command(&mut self, body: C) -> Result<u64, TooManyOpen> {
        if self.open.len() >= limits::COMMANDS_OPEN_MAX {
            return Err(TooManyOpen { max: limits::COMMANDS_OPEN_MAX });
        }
        self.newest += 1;
        self.open.push_back((self.newest, body, 0));
        Ok(self.newest)
    }

    /// All up to this number of a series have arrived.
    pub fn acknowledged(&mut self, series: u64, upto: u64) {
        while series == self.series && self.open.front().is_some_and(|(number, ..)| *number <= upto) {
            self.open.pop_front();
        }
    }

    /// The commands to send now, with their numbers.
    pub fn tick(&mut self, now_ms: u64) -> Vec<(u64, C)> {
        let mut sends = Vec::new();
        for (number, body, due_ms) in &mut self.open {
            if now_ms >= *due_ms {
                *due_ms = now_ms.saturating_add(self.again_ms);
                sends.push((*number, body.clone()));
            }
        }
        sends
    }

    /// When the next tick is due.
    pub fn tick_at_ms(&self) -> Option<u64> {
        self.open.iter().map(|(_, _, due_ms)| *due_ms).min()
    }
}

/// The commands that a run gets, each once and in order.
#[derive(Clone, Debug)]
pub struct CommandInbox<C> {
    series: Option<u64>,
    /// Series before it, of which something may still be on its way.
    past: VecDeque<u64>,
    delivered: u64,
    early: BTreeMap<u64, C>,
}

impl<C> Default for CommandInbox<C> {
    fn default() -> Self {
        Self { series: None, past: VecDeque::new(), delivered: 0, early: BTreeMap::new() }
    }
}

impl<C> CommandInbox<C> {
    /// A command came. Gives back those that are due now; then [`CommandInbox::delivered`] is to be acknowledged, even if there
    /// is nothing new: the last acknowledgement may have been lost. Another series is that of a home which was started again;
    /// what is late of an earlier one counts for nothing.
    pub fn arrive(&mut self, series: u64, number: u64, body: C) -> Vec<C> {
        if self.past.contains(&series) {
            return Vec::new();
        }
        if self.series != Some(series) {
            self.past.extend(self.series.replace(series));
            if self.past.len() > limits::COMMAND_SERIES_KEPT_MAX {
                self.past.pop_front();
            }
            (self.delivered, self.early) = (0, BTreeMap::new());
        }
        if number > self.delivered
            && (self.early.len() < limits::COMMANDS_EARLY_MAX || number == self.delivered + 1)
        {
            self.early.entry(number).or_insert(body);
        }
        let mut due = Vec::new();
        while let Some(body) = self.early.remove(&(self.delivered + 1)) {
            self.delivered += 1;
            due.push(body);
        }
        due
    }

    /// The series, and the number of the last command of it that was handed over.
    pub fn delivered(&self) -> (u64, u64) {
        (self.series.unwrap_or_default(), self.delivered)
    }
}
