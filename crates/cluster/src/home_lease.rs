//! Home's side of one agent that runs elsewhere, without clock or IO: who holds it, what of it is on record, how it ends.
//!
//! ```text
//!   nobody ──claim──▶ pending ──grant on record──▶ held ──silent too long──▶ lapsed ──claim of another──▶ pending (next epoch)
//!     ▲                                            │  ▲                        │
//!     └────────────── gave up ─────────────────────┘  └── heard of it again ───┘        final ──▶ settling ──▶ settled
//! ```
//!
//! An epoch is one grant. Home alone makes epochs, and a grant is on record before the worker hears of it, so that a broker that
//! loses its data and a home that crashes change nothing. What comes from an older epoch is never recorded.
//!
//! It must not know messages, couriers or what an item is.

use std::fmt::Debug;

use crate::home_actions::{ClaimRefusal, HomeAction, HomeInput, HomeRestored};
use crate::lease_times::LeaseTimes;
use crate::limits;

/// Home's side of one agent's lease.
#[derive(Clone, Debug)]
pub struct HomeLease<R, H> {
    times: LeaseTimes,
    /// The lease of the newest epoch: what was granted, whatever is configured when home starts again.
    lease_ms: u64,
    epoch: u64,
    standing: Standing<H>,
    end: End,
    /// Items on record.
    recorded: u64,
    /// Items handed to the caller, which are on record soon.
    taken: u64,
    lost: u32,
    attempt: u64,
    offer_at_ms: u64,
    /// The runs of earlier epochs.
    past: Vec<H>,
    /// Up to this epoch it was another process that granted, and nobody remembers all the runs.
    forgotten: u64,
    /// Runs whose work was put aside.
    aside: Vec<(H, u64)>,
    result: std::marker::PhantomData<R>,
}

#[derive(Clone, Debug)]
enum Standing<H> {
    /// Nobody may act; a grant is not made before that time.
    Nobody { not_before_ms: u64 },
    /// A grant is being recorded.
    Pending { holder: H, beat: u64, is_durable: bool },
    /// A worker acts.
    Held { holder: H, deadline_ms: u64 },
    /// The worker was silent too long. It may come back until another one gets the agent.
    Lapsed { holder: H },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    None,
    /// The result of this epoch is being recorded.
    Settling(u64),
    Lost,
    /// On record; with the epoch whose result it is.
    Settled(Option<u64>),
}

type Actions<T, R, H> = Vec<HomeAction<T, R, H>>;

impl<R, H: Clone + Eq + Debug> HomeLease<R, H> {
    /// For an agent that was never offered.
    pub fn new(times: LeaseTimes) -> Self {
        Self {
            times,
            lease_ms: times.lease_ms,
            epoch: 0,
            standing: Standing::Nobody { not_before_ms: 0 },
            end: End::None,
            recorded: 0,
            taken: 0,
            lost: 0,
            attempt: 0,
            offer_at_ms: 0,
            past: Vec::new(),
            forgotten: 0,
            aside: Vec::new(),
            result: std::marker::PhantomData,
        }
    }

    /// After a crash of home. Whoever had the agent is waited for as long as a lease may last, before it is offered again.
    pub fn restored(times: LeaseTimes, from: HomeRestored<H>, now_ms: u64) -> Self {
        let lease_ms = from.lease_ms;
        let deadline_ms = now_ms.saturating_add(times.patience_ms(lease_ms));
        let standing = match from.holder {
            Some(holder) => Standing::Held { holder, deadline_ms },
            None if from.epoch == 0 => Standing::Nobody { not_before_ms: 0 },
            None => Standing::Nobody { not_before_ms: deadline_ms },
        };
        let offer_at_ms = if from.epoch == 0 { 0 } else { deadline_ms };
        let (epoch, recorded) = (from.epoch, from.recorded);
        let (taken, forgotten) = (recorded, epoch);
        Self { lease_ms, epoch, standing, recorded, taken, offer_at_ms, forgotten, ..Self::new(times) }
    }

    /// The newest epoch, on record or about to be.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// How many items are on record.
    pub fn recorded(&self) -> u64 {
        self.recorded
    }

    /// Who acts now, as far as home knows.
    pub fn holder(&self) -> Option<&H> {
        match &self.standing {
            Standing::Held { holder, .. } => Some(holder),
            Standing::Nobody { .. } | Standing::Pending { .. } | Standing::Lapsed { .. } => None,
        }
    }

    /// Whether the agent's end is on record.
    pub fn is_settled(&self) -> bool {
        matches!(self.end, End::Settled(_))
    }

    /// Who has it, also one that was silent too long: it may come back.
    pub fn current(&self) -> Option<&H> {
        match &self.standing {
            Standing::Held { holder, .. } | Standing::Lapsed { holder } => Some(holder),
            Standing::Nobody { .. } | Standing::Pending { .. } => None,
        }
    }

    /// Who is about to get it.
    pub fn pending(&self) -> Option<&H> {
        match &self.standing {
            Standing::Pending { holder, .. } => Some(holder),
            _ => None,
        }
    }

    /// How many items were taken, on record or not.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whose result settled it; none if it has not settled, or home ended it.
    pub fn settled_by(&self) -> Option<u64> {
        if let End::Settled(epoch) = self.end { epoch } else { None }
    }

    /// When [`HomeInput::Tick`] is due.
    pub fn tick_at_ms(&self) -> Option<u64> {
        match (&self.standing, self.end) {
            (_, End::Settling(_) | End::Lost | End::Settled(_)) | (Standing::Pending { .. }, _) => None,
            (Standing::Held { deadline_ms, .. }, End::None) => Some(deadline_ms.saturating_add(1)),
            (Standing::Nobody { .. } | Standing::Lapsed { .. }, End::None) => Some(self.offer_at_ms),
        }
    }

    /// Takes one input. Time is of a monotonic clock; each call has a time not before the last one's.
    pub fn handle<T>(&mut self, now_ms: u64, input: HomeInput<T, R, H>) -> Actions<T, R, H> {
        match input {
            HomeInput::Claim { holder, beat } => self.claim(now_ms, holder, beat),
            HomeInput::Renew { holder, epoch, beat } => self.renew(now_ms, holder, epoch, beat),
            HomeInput::Items { holder, epoch, first, items } => {
                self.items(now_ms, holder, epoch, first, items)
            }
            HomeInput::Final { holder, epoch, aside: true, result, .. } => {
                self.left_aside(now_ms, holder, epoch, result)
            }
            HomeInput::Final { holder, epoch, after, aside: false, result } => {
                self.finished(now_ms, holder, epoch, after, result)
            }
            HomeInput::GiveUp { holder } => self.give_up(now_ms, &holder),
            HomeInput::Tick => self.tick(now_ms),
            HomeInput::OfferAgain => {
                self.offer_at_ms = self.offer_at_ms.min(now_ms);
                self.tick(now_ms)
            }
            HomeInput::GrantRecorded { epoch } => self.grant_recorded(now_ms, epoch),
            HomeInput::Recorded { upto } => self.items_recorded(now_ms, upto),
            HomeInput::TakenAside { holder, epoch } => {
                let is_known = self.aside.contains(&(holder.clone(), epoch));
                if !is_known && (self.aside.len() as u64) < limits::GRANTS_MAX {
                    self.aside.push((holder.clone(), epoch));
                }
                vec![HomeAction::SettledAck { holder, epoch }]
            }
            HomeInput::Settled { with_result } => self.settled(with_result),
        }
    }

    fn claim<T>(&mut self, now_ms: u64, holder: H, beat: u64) -> Actions<T, R, H> {
        if self.end != End::None {
            return vec![HomeAction::Refuse { holder, reason: ClaimRefusal::Ended }];
        }
        match &mut self.standing {
            // Its answer was lost: the same again.
            Standing::Held { holder: known, .. } | Standing::Lapsed { holder: known } if *known == holder => {
                self.hear(now_ms, &holder);
                let (epoch, lease_ms, recorded) = (self.epoch, self.lease_ms, self.recorded);
                return vec![HomeAction::Granted { holder, epoch, lease_ms, beat, recorded }];
            }
            Standing::Pending { holder: known, beat: newest, .. } if *known == holder => {
                *newest = beat.max(*newest);
                return vec![HomeAction::Wait { holder }];
            }
            _ => {}
        }
        if self.past.contains(&holder) {
            return vec![HomeAction::Refuse { holder, reason: ClaimRefusal::Superseded }];
        }
        let mut actions = self.tick(now_ms);
        if self.end != End::None {
            actions.push(HomeAction::Refuse { holder, reason: ClaimRefusal::Ended });
            return actions;
        }
        let before = match &self.standing {
            Standing::Nobody { not_before_ms } if now_ms >= *not_before_ms => None,
            Standing::Lapsed { holder } => Some(holder.clone()),
            Standing::Nobody { .. } | Standing::Pending { .. } | Standing::Held { .. } => {
                actions.push(HomeAction::Refuse { holder, reason: ClaimRefusal::Held });
                return actions;
            }
        };
        self.past.extend(before);
        self.epoch += 1;
        self.lease_ms = self.times.lease_ms;
        self.standing = Standing::Pending { holder: holder.clone(), beat, is_durable: false };
        actions.push(HomeAction::RecordGrant { holder, epoch: self.epoch, lease_ms: self.lease_ms });
        actions
    }

    fn grant_recorded<T>(&mut self, now_ms: u64, recorded_epoch: u64) -> Actions<T, R, H> {
        if let Standing::Pending { is_durable, .. } = &mut self.standing
            && recorded_epoch == self.epoch
        {
            *is_durable = true;
        }
        self.grant_if_ready(now_ms)
    }

    /// A run begins after all that was taken before, so all of that has to be on record.
    fn grant_if_ready<T>(&mut self, now_ms: u64) -> Actions<T, R, H> {
        let Standing::Pending { holder, beat, is_durable: true } = &self.standing else { return Vec::new() };
        if self.recorded < self.taken || self.end != End::None {
            return Vec::new();
        }
        let (holder, beat) = (holder.clone(), *beat);
        self.standing = Standing::Held { holder: holder.clone(), deadline_ms: self.deadline(now_ms) };
        let (epoch, lease_ms, recorded) = (self.epoch, self.lease_ms, self.recorded);
        vec![HomeAction::Granted { holder, epoch, lease_ms, beat, recorded }]
    }

    fn renew<T>(&mut self, now_ms: u64, holder: H, epoch: u64, beat: u64) -> Actions<T, R, H> {
        if self.is_current(&holder, epoch) {
            self.hear(now_ms, &holder);
            return vec![HomeAction::Renewed { holder, epoch, beat, recorded: self.recorded }];
        }
        self.not_current(holder, epoch)
    }

    fn items<T>(
        &mut self,
        now_ms: u64,
        holder: H,
        epoch: u64,
        first: u64,
        items: Vec<T>,
    ) -> Actions<T, R, H> {
        if !self.is_current(&holder, epoch) {
            return self.not_current(holder, epoch);
        }
        self.hear(now_ms, &holder);
        let next = self.taken + 1;
        let known = next.saturating_sub(first);
        if first == 0 || first > next {
            return vec![HomeAction::Ack { holder, epoch, upto: self.recorded, missing: true }];
        }
        let fresh: Vec<T> = items.into_iter().skip(usize::try_from(known).unwrap_or(usize::MAX)).collect();
        if fresh.is_empty() {
            return vec![HomeAction::Ack { holder, epoch, upto: self.recorded, missing: false }];
        }
        self.taken += fresh.len() as u64;
        vec![HomeAction::Record { epoch, first: next, items: fresh }]
    }

    fn items_recorded<T>(&mut self, now_ms: u64, upto: u64) -> Actions<T, R, H> {
        self.recorded = self.recorded.max(upto.min(self.taken));
        let mut actions = self.grant_if_ready(now_ms);
        if let Standing::Held { holder, .. } | Standing::Lapsed { holder } = &self.standing
            && actions.is_empty()
        {
            let (holder, epoch, upto) = (holder.clone(), self.epoch, self.recorded);
            actions.push(HomeAction::Ack { holder, epoch, upto, missing: false });
        }
        actions
    }

    /// A run that was told it is stale leaves what it did. Home may have forgotten that it told so, in a crash before the newer
    /// grant was on record: then nobody has the agent now.
    fn left_aside<T>(&mut self, now_ms: u64, holder: H, epoch: u64, result: R) -> Actions<T, R, H> {
        let mut actions = self.give_up(now_ms, &holder);
        actions.push(self.aside_of(holder, epoch, result));
        actions
    }

    /// What a run has left is taken once, and only from one that had the agent: anybody could say so. Of epochs that another process
    /// granted nobody knows who had them, so there each may leave something, and none keeps the others from it.
    fn aside_of<T>(&self, holder: H, epoch: u64, result: R) -> HomeAction<T, R, H> {
        let had = self.past.contains(&holder) || self.is_run_of_epoch(&holder);
        let may_have_had = epoch <= self.forgotten;
        let is_known = self.aside.contains(&(holder.clone(), epoch));
        let room = (self.aside.len() as u64) < limits::GRANTS_MAX;
        match (1..=self.epoch).contains(&epoch) && (had || may_have_had) && room && !is_known {
            true => HomeAction::TakeAside { holder, epoch, result },
            false => HomeAction::SettledAck { holder, epoch },
        }
    }

    fn finished<T>(&mut self, now_ms: u64, holder: H, epoch: u64, after: u64, result: R) -> Actions<T, R, H> {
        let is_known = |own: u64| own == epoch && self.is_run_of_epoch(&holder);
        match self.end {
            End::Settled(Some(own)) if is_known(own) => {
                return vec![HomeAction::SettledAck { holder, epoch }];
            }
            End::Settling(own) if is_known(own) => return Vec::new(),
            _ if self.aside.contains(&(holder.clone(), epoch)) => {
                return vec![HomeAction::SettledAck { holder, epoch }];
            }
            _ if self.may_be_current_again(epoch) => return Vec::new(),
            _ if !self.is_current(&holder, epoch) => {
                return vec![self.aside_of(holder, epoch, result)];
            }
            _ => {}
        }
        self.hear(now_ms, &holder);
        match after.cmp(&self.taken) {
            std::cmp::Ordering::Equal => {
                self.end = End::Settling(epoch);
                vec![HomeAction::Settle { epoch, result }]
            }
            std::cmp::Ordering::Greater => {
                vec![HomeAction::Ack { holder, epoch, upto: self.recorded, missing: true }]
            }
            // It sent more items than it now says there were. Nothing that it says can be relied on.
            std::cmp::Ordering::Less => {
                let mut actions =
                    vec![HomeAction::Refuse { holder: holder.clone(), reason: ClaimRefusal::Contradiction }];
                self.past.push(holder);
                self.lost += 1;
                self.standing = Standing::Nobody { not_before_ms: self.deadline(now_ms) };
                self.offer_at_ms = self.deadline(now_ms);
                actions.extend(self.lost_if_too_many());
                actions
            }
        }
    }

    fn give_up<T>(&mut self, now_ms: u64, who: &H) -> Actions<T, R, H> {
        match &self.standing {
            Standing::Held { holder, .. }
            | Standing::Lapsed { holder }
            | Standing::Pending { holder, .. }
                if holder == who && self.end == End::None =>
            {
                self.past.push(who.clone());
                self.standing = Standing::Nobody { not_before_ms: now_ms };
                self.offer_at_ms = now_ms;
                self.tick(now_ms)
            }
            _ => Vec::new(),
        }
    }

    fn tick<T>(&mut self, now_ms: u64) -> Actions<T, R, H> {
        if self.end != End::None {
            return Vec::new();
        }
        if let Standing::Held { holder, deadline_ms } = &self.standing
            && now_ms > *deadline_ms
        {
            self.standing = Standing::Lapsed { holder: holder.clone() };
            self.lost += 1;
            self.offer_at_ms = now_ms;
        }
        let is_free = matches!(self.standing, Standing::Nobody { .. } | Standing::Lapsed { .. });
        if !is_free || now_ms < self.offer_at_ms {
            return Vec::new();
        }
        let lost: Actions<T, R, H> = self.lost_if_too_many();
        if !lost.is_empty() {
            return lost;
        }
        self.attempt += 1;
        self.offer_at_ms = self.deadline(now_ms);
        vec![HomeAction::Offer { epoch: self.epoch, attempt: self.attempt }]
    }

    fn lost_if_too_many<T>(&mut self) -> Actions<T, R, H> {
        if self.lost < limits::WORKERS_LOST_MAX && self.epoch < limits::GRANTS_MAX {
            return Vec::new();
        }
        self.end = End::Lost;
        vec![HomeAction::Lost { lost: self.lost }]
    }

    fn settled<T>(&mut self, with_result: bool) -> Actions<T, R, H> {
        let epoch = match self.end {
            End::Settling(epoch) => with_result.then_some(epoch),
            End::Settled(epoch) => epoch,
            End::None | End::Lost => None,
        };
        self.end = End::Settled(epoch);
        match (&self.standing, epoch) {
            (Standing::Held { holder, .. } | Standing::Lapsed { holder }, Some(epoch)) => {
                vec![HomeAction::SettledAck { holder: holder.clone(), epoch }]
            }
            (Standing::Held { holder, .. } | Standing::Lapsed { holder }, None) => {
                vec![HomeAction::Stale { holder: holder.clone(), epoch: self.epoch }]
            }
            (Standing::Nobody { .. } | Standing::Pending { .. }, _) => Vec::new(),
        }
    }

    /// What a run is told whose words do not count any more.
    fn not_current<T>(&self, holder: H, epoch: u64) -> Actions<T, R, H> {
        match self.end {
            End::Settled(Some(own)) if own == epoch && self.is_run_of_epoch(&holder) => {
                vec![HomeAction::SettledAck { holder, epoch }]
            }
            End::Settling(own) if own == epoch && self.is_run_of_epoch(&holder) => Vec::new(),
            _ if self.may_be_current_again(epoch) => Vec::new(),
            _ => vec![HomeAction::Stale { holder, epoch: self.epoch }],
        }
    }

    /// The grant after this epoch is not on record yet: a crash now would forget it. Nothing is said until it is.
    fn may_be_current_again(&self, epoch: u64) -> bool {
        epoch.checked_add(1) == Some(self.epoch)
            && matches!(self.standing, Standing::Pending { is_durable: false, .. })
    }

    fn is_run_of_epoch(&self, who: &H) -> bool {
        matches!(&self.standing, Standing::Held { holder, .. } | Standing::Lapsed { holder } if holder == who)
    }

    /// Whether a run has the agent, so that its requests and its progress count. A run that was silent too long still has it
    /// until another one gets it.
    pub fn is_current(&self, holder: &H, epoch: u64) -> bool {
        epoch == self.epoch && self.end == End::None && self.is_run_of_epoch(holder)
    }

    /// The holder was heard; one that had lapsed has it again.
    fn hear(&mut self, now_ms: u64, holder: &H) {
        if matches!(self.standing, Standing::Lapsed { .. }) {
            self.lost = self.lost.saturating_sub(1);
        }
        self.standing = Standing::Held { holder: holder.clone(), deadline_ms: self.deadline(now_ms) };
    }

    fn deadline(&self, now_ms: u64) -> u64 {
        now_ms.saturating_add(self.times.patience_ms(self.lease_ms))
    }
}
