//! A worker's side of one run of an agent, without clock or IO: claims it, numbers its items, keeps them until home has them,
//! and knows whether the run may still act.
//!
//! ```text
//!   claiming ──granted──▶ held ──stale──▶ stale ──final, put aside──▶ done
//!      │  └─refused─▶ refused └──final, settled──────────────────────▶ done
//!      └───── no answer, or the caller ends it ─────▶ given up
//! ```
//!
//! The caller asks [`WorkerLease::may_act`] right before each effect. Home counts the lease from when a renewal arrived, the
//! worker from when it was sent, so the worker always stops first.
//!
//! It must not know messages, couriers or what an item is.

use std::collections::VecDeque;

use crate::home_actions::ClaimRefusal;
use crate::lease_times::LeaseTimes;
use crate::limits;

/// What home said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerInput {
    /// The run has the agent.
    Granted {
        /// Its epoch.
        epoch: u64,
        /// The claim that this answers.
        beat: u64,
        /// How many items home has: the run continues after them.
        recorded: u64,
        /// How long home's leases are.
        lease_ms: u64,
        /// How often to renew.
        renew_ms: u64,
    },
    /// Home is about to answer.
    Wait,
    /// It does not.
    Refused(ClaimRefusal),
    /// The lease is renewed.
    Renewed {
        /// Its epoch.
        epoch: u64,
        /// The renewal that this answers.
        beat: u64,
        /// How many items home has.
        recorded: u64,
    },
    /// Home has items.
    Ack {
        /// Their epoch.
        epoch: u64,
        /// How many.
        upto: u64,
        /// Whether home misses some between these and what came.
        missing: bool,
    },
    /// Another run has the agent.
    Stale {
        /// The epoch of now.
        epoch: u64,
    },
    /// Home has the end of the run.
    SettledAck {
        /// The run's epoch.
        epoch: u64,
    },
}

/// What to send to home.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerSend<T, R> {
    /// Wants the agent.
    Claim {
        /// The number of this message.
        beat: u64,
    },
    /// Is still there.
    Renew {
        /// The run's epoch.
        epoch: u64,
        /// The number of this message.
        beat: u64,
    },
    /// Items, in order.
    Items {
        /// The run's epoch.
        epoch: u64,
        /// The number of the first one.
        first: u64,
        /// The items.
        items: Vec<T>,
    },
    /// The end of the run.
    Final {
        /// The run's epoch.
        epoch: u64,
        /// How many items come before it.
        after: u64,
        /// Whether the run is stale, and this is what it leaves.
        aside: bool,
        /// What came of it.
        result: R,
    },
    /// The run ends and acts no more.
    GiveUp,
}

/// Where a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerPhase {
    /// Home has not answered.
    Claiming,
    /// It has the agent; whether it may act is another question.
    Held,
    /// Another run has the agent. What was done goes aside, by [`WorkerLease::finish`].
    Stale,
    /// It did not get the agent.
    Refused(ClaimRefusal),
    /// It ended before it had a result.
    GivenUp,
    /// Home has its result.
    Done,
}

/// How much a run keeps and sends at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferLimits {
    /// Items that home has not recorded; beyond this the run must stop before its next effect.
    pub unacked_bytes_max: usize,
    /// Items of one message.
    pub piece_bytes_max: usize,
    /// One item.
    pub item_bytes_max: usize,
}

impl Default for BufferLimits {
    fn default() -> Self {
        Self {
            unacked_bytes_max: limits::UNACKED_BYTES_MAX,
            piece_bytes_max: limits::PIECE_BYTES_MAX,
            item_bytes_max: limits::ITEM_BYTES_MAX,
        }
    }
}

/// Why an item was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotPushed {
    /// The run does not have the agent, or has ended.
    #[error("the run does not have the agent")]
    NotHeld,
    /// The item does not fit into a message; put it into a blob.
    #[error("the item has {bytes} bytes, more than the {max} that a message takes")]
    TooLarge {
        /// What it has.
        bytes: usize,
        /// What it may have.
        max: usize,
    },
}

/// A worker's side of one run.
#[derive(Clone, Debug)]
pub struct WorkerLease<T, R> {
    times: LeaseTimes,
    buffer: BufferLimits,
    phase: WorkerPhase,
    epoch: u64,
    began_ms: u64,
    /// The number of the newest claim or renewal, and when those without an answer were sent.
    beat: u64,
    beats: VecDeque<(u64, u64)>,
    /// When the newest answered one was sent.
    answered_ms: Option<u64>,
    /// When the next claim or renewal is due.
    beat_at_ms: u64,
    /// Items that home has.
    acked: u64,
    /// The items after those.
    unacked: VecDeque<(T, usize)>,
    unacked_bytes: usize,
    /// How many of them were sent.
    sent: usize,
    /// Until when those that were not wait for more.
    gather_until_ms: u64,
    /// When all of them are sent again.
    resend_at_ms: u64,
    result: Option<R>,
    final_at_ms: u64,
    gave_up: bool,
}

impl<T: Clone, R: Clone> WorkerLease<T, R> {
    /// A run that begins to claim now.
    pub fn new(times: LeaseTimes, buffer: BufferLimits, now_ms: u64) -> Self {
        Self {
            times,
            buffer,
            phase: WorkerPhase::Claiming,
            epoch: 0,
            began_ms: now_ms,
            beat: 0,
            beats: VecDeque::new(),
            answered_ms: None,
            beat_at_ms: now_ms,
            acked: 0,
            unacked: VecDeque::new(),
            unacked_bytes: 0,
            sent: 0,
            gather_until_ms: 0,
            resend_at_ms: now_ms,
            result: None,
            final_at_ms: now_ms,
            gave_up: false,
        }
    }

    /// Where the run is.
    pub fn phase(&self) -> WorkerPhase {
        self.phase
    }

    /// Its epoch; 0 before it has one.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// The number of its newest item.
    pub fn pushed(&self) -> u64 {
        self.acked + self.unacked.len() as u64
    }

    /// How many items home has on record.
    pub fn acked(&self) -> u64 {
        self.acked
    }

    /// The items that home is not known to have, for a run that is stale and packs what it did.
    pub fn unacked(&self) -> impl Iterator<Item = &T> {
        self.unacked.iter().map(|(item, _)| item)
    }

    /// Whether the run may have an effect at this moment. False as soon as home may have given the agent to another run.
    pub fn may_act(&self, now_ms: u64) -> bool {
        let until = self.answered_ms.map(|sent| sent.saturating_add(self.times.lease_ms));
        self.phase == WorkerPhase::Held && self.result.is_none() && until.is_some_and(|until| now_ms < until)
    }

    /// After how much silence home has given the agent to another run, or will.
    pub fn patience_ms(&self) -> u64 {
        self.times.patience_ms(self.times.lease_ms)
    }

    /// Whether so much waits for home that the run has to stop before its next effect.
    pub fn is_full(&self) -> bool {
        self.unacked_bytes >= self.buffer.unacked_bytes_max
    }

    /// The same for an item that is in a blob: its message is short, and what it holds counts.
    pub fn push_blob(&mut self, item: T, bytes: usize) -> Result<u64, NotPushed> {
        if self.phase != WorkerPhase::Held || self.result.is_some() {
            return Err(NotPushed::NotHeld);
        }
        self.unacked.push_back((item, bytes));
        self.unacked_bytes = self.unacked_bytes.saturating_add(bytes);
        Ok(self.pushed())
    }

    /// Items that come next wait for each other until then, so that one message takes them all; unless some wait already.
    pub fn gather(&mut self, until_ms: u64) {
        if self.sent == self.unacked.len() {
            self.gather_until_ms = until_ms;
        }
    }

    /// What waits for more is sent at the next tick.
    pub fn gather_no_more(&mut self) {
        self.gather_until_ms = 0;
    }

    /// Takes an item of this many bytes, and gives it its number. It is sent at the next tick, unless it waits for more.
    pub fn push(&mut self, item: T, bytes: usize) -> Result<u64, NotPushed> {
        let is_held = self.phase == WorkerPhase::Held && self.result.is_none();
        if is_held && bytes > self.buffer.item_bytes_max {
            return Err(NotPushed::TooLarge { bytes, max: self.buffer.item_bytes_max });
        }
        self.push_blob(item, bytes)
    }

    /// Ends the run with a result. It is sent when home has all items, and again until home has it. For a run that is stale
    /// this is the work that home puts aside.
    pub fn finish(&mut self, result: R, now_ms: u64) {
        if matches!(self.phase, WorkerPhase::Held | WorkerPhase::Stale) && self.result.is_none() {
            self.result = Some(result);
            self.final_at_ms = now_ms;
            self.gather_no_more();
        }
    }

    /// Ends the run without a result: the worker drains, or cannot do it. Home is told at the next tick.
    pub fn give_up(&mut self) {
        if matches!(self.phase, WorkerPhase::Claiming | WorkerPhase::Held) {
            self.phase = WorkerPhase::GivenUp;
        }
    }

    /// When [`WorkerLease::tick`] is due next.
    pub fn tick_at_ms(&self) -> Option<u64> {
        match self.phase {
            WorkerPhase::Claiming => Some(self.beat_at_ms.min(self.claims_until_ms())),
            WorkerPhase::Held => {
                let items = match self.unacked.len() {
                    0 => self.result.is_some().then_some(self.final_at_ms),
                    waiting if self.sent < waiting => Some(self.gather_until_ms),
                    _ => Some(self.resend_at_ms),
                };
                Some(items.map_or(self.beat_at_ms, |items| items.min(self.beat_at_ms)))
            }
            WorkerPhase::Stale => self.result.is_some().then_some(self.final_at_ms),
            WorkerPhase::GivenUp => (!self.gave_up).then_some(0),
            WorkerPhase::Refused(_) | WorkerPhase::Done => None,
        }
    }

    /// What is to be sent now.
    pub fn tick(&mut self, now_ms: u64) -> Vec<WorkerSend<T, R>> {
        if self.phase == WorkerPhase::Claiming && now_ms >= self.claims_until_ms() {
            self.phase = WorkerPhase::GivenUp;
        }
        let mut sends = Vec::new();
        match self.phase {
            WorkerPhase::Claiming if now_ms >= self.beat_at_ms => {
                let beat = self.next_beat(now_ms, self.times.answer_ms);
                sends.push(WorkerSend::Claim { beat });
            }
            WorkerPhase::Held => {
                if now_ms >= self.beat_at_ms {
                    let beat = self.next_beat(now_ms, self.times.renew_ms);
                    sends.push(WorkerSend::Renew { epoch: self.epoch, beat });
                }
                self.send_items(now_ms, &mut sends);
                if self.unacked.is_empty() {
                    self.send_final(now_ms, &mut sends);
                }
            }
            WorkerPhase::Stale => self.send_final(now_ms, &mut sends),
            WorkerPhase::GivenUp if !self.gave_up => {
                self.gave_up = true;
                sends.push(WorkerSend::GiveUp);
            }
            _ => {}
        }
        sends
    }

    /// Takes what home said.
    pub fn hear(&mut self, now_ms: u64, said: WorkerInput) {
        match (self.phase, said) {
            (WorkerPhase::Claiming, WorkerInput::Wait) => self.began_ms = now_ms,
            (WorkerPhase::Claiming, WorkerInput::Granted { epoch, beat, recorded, lease_ms, renew_ms }) => {
                self.phase = WorkerPhase::Held;
                self.epoch = epoch;
                // Home counts by these, so they are the ones that count; a shorter lease is never wrong.
                self.times.lease_ms = lease_ms.min(limits::LEASE_MS_MAX);
                self.times.renew_ms = renew_ms.clamp(1, (self.times.lease_ms / 2).max(1));
                self.times.answer_ms = self.times.answer_ms.min((self.times.lease_ms / 10).max(1));
                // Numbers follow it: one that leaves no room for them was made up.
                self.acked = recorded.min(u64::MAX / 2);
                self.answer(beat);
                self.beat_at_ms = now_ms.saturating_add(self.times.renew_ms);
            }
            (WorkerPhase::Claiming, WorkerInput::Refused(reason)) => {
                self.phase = WorkerPhase::Refused(reason);
            }
            // A contradiction ends the epoch; what was done can still go aside.
            (WorkerPhase::Held, WorkerInput::Refused(ClaimRefusal::Contradiction)) => {
                self.phase = WorkerPhase::Stale;
            }
            (WorkerPhase::Held, WorkerInput::Renewed { epoch, beat, recorded }) if epoch == self.epoch => {
                self.answer(beat);
                self.record(now_ms, recorded);
            }
            (WorkerPhase::Held, WorkerInput::Ack { epoch, upto, missing }) if epoch == self.epoch => {
                self.record(now_ms, upto);
                if missing {
                    self.resend_at_ms = now_ms;
                }
            }
            (WorkerPhase::Held, WorkerInput::Stale { .. }) => {
                self.phase = WorkerPhase::Stale;
                self.final_at_ms = now_ms;
            }
            (WorkerPhase::Held | WorkerPhase::Stale, WorkerInput::SettledAck { epoch })
                if epoch == self.epoch =>
            {
                self.phase = WorkerPhase::Done;
            }
            _ => {}
        }
    }

    fn claims_until_ms(&self) -> u64 {
        self.began_ms.saturating_add(self.times.claim_ms_max)
    }

    fn next_beat(&mut self, now_ms: u64, again_ms: u64) -> u64 {
        self.beat += 1;
        if self.beats.len() == limits::BEATS_OPEN_MAX {
            self.beats.pop_front();
        }
        self.beats.push_back((self.beat, now_ms));
        self.beat_at_ms = now_ms.saturating_add(again_ms);
        self.beat
    }

    /// Counts the lease from when the answered message was sent. One that is not remembered counts for nothing.
    fn answer(&mut self, beat: u64) {
        let sent = self.beats.iter().find(|(number, _)| *number == beat).map(|(_, sent)| *sent);
        self.answered_ms = self.answered_ms.max(sent);
        self.beats.retain(|(number, _)| *number > beat);
    }

    /// Home has this many items.
    fn record(&mut self, now_ms: u64, upto: u64) {
        while self.acked < upto {
            let Some((_, bytes)) = self.unacked.pop_front() else { break };
            self.acked += 1;
            self.unacked_bytes = self.unacked_bytes.saturating_sub(bytes);
            self.sent = self.sent.saturating_sub(1);
            self.resend_at_ms = now_ms.saturating_add(self.times.answer_ms);
        }
    }

    fn send_items(&mut self, now_ms: u64, sends: &mut Vec<WorkerSend<T, R>>) {
        if self.sent > 0 && now_ms >= self.resend_at_ms {
            self.sent = 0;
        }
        if self.sent == self.unacked.len() || now_ms < self.gather_until_ms {
            return;
        }
        let mut first = self.acked + 1 + self.sent as u64;
        let (mut items, mut piece_bytes) = (Vec::new(), 0_usize);
        for (item, bytes) in self.unacked.iter().skip(self.sent) {
            if !items.is_empty() && piece_bytes.saturating_add(*bytes) > self.buffer.piece_bytes_max {
                let count = items.len() as u64;
                let items = std::mem::take(&mut items);
                sends.push(WorkerSend::Items { epoch: self.epoch, first, items });
                first += count;
                piece_bytes = 0;
            }
            items.push(item.clone());
            piece_bytes = piece_bytes.saturating_add(*bytes);
        }
        sends.push(WorkerSend::Items { epoch: self.epoch, first, items });
        self.sent = self.unacked.len();
        self.resend_at_ms = now_ms.saturating_add(self.times.answer_ms);
    }

    fn send_final(&mut self, now_ms: u64, sends: &mut Vec<WorkerSend<T, R>>) {
        if let Some(result) = self.result.clone()
            && now_ms >= self.final_at_ms
        {
            self.final_at_ms = now_ms.saturating_add(self.times.answer_ms);
            let aside = self.phase == WorkerPhase::Stale;
            sends.push(WorkerSend::Final { epoch: self.epoch, after: self.pushed(), aside, result });
        }
    }
}
