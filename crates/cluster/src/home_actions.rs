//! What happens to home's side of a lease, and what it makes the caller do. Plain data, without rules.

/// What happens to the lease. `H` names one run of an agent by one worker and is never used twice.
#[derive(Clone, Debug)]
pub enum HomeInput<T, R, H> {
    /// A worker wants the agent.
    Claim {
        /// Which run.
        holder: H,
        /// The worker's number of this message.
        beat: u64,
    },
    /// A worker is still there.
    Renew {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// The worker's number of this message.
        beat: u64,
    },
    /// Items, in order.
    Items {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// The number of the first item, from 1.
        first: u64,
        /// The items.
        items: Vec<T>,
    },
    /// The end of a run.
    Final {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// How many items come before it.
        after: u64,
        /// Whether the run was told that it is stale: then this is not the agent's result, whatever home remembers.
        aside: bool,
        /// What came of it.
        result: R,
    },
    /// A worker ends a run by itself and acts no more.
    GiveUp {
        /// Which run.
        holder: H,
    },
    /// Time has passed.
    Tick,
    /// Offers may be lost, or somebody may take one now: if nobody has the agent, it is offered again at once.
    OfferAgain,
    /// The caller has made a grant durable.
    GrantRecorded {
        /// The grant's epoch.
        epoch: u64,
    },
    /// The caller has made all items up to this number durable.
    Recorded {
        /// The number.
        upto: u64,
    },
    /// The caller has stored what a run of an older epoch has left.
    TakenAside {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
    },
    /// The agent's end is durable: its result, its loss, or because home ended it.
    Settled {
        /// Whether home has what the run left that settled it. If not, the run keeps it.
        with_result: bool,
    },
}

/// What the caller has to do, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HomeAction<T, R, H> {
    /// Offer the agent to workers.
    Offer {
        /// The epoch that a grant would follow.
        epoch: u64,
        /// Counts offers since the lease was made.
        attempt: u64,
    },
    /// Make a grant durable, then say [`HomeInput::GrantRecorded`].
    RecordGrant {
        /// Who gets it.
        holder: H,
        /// The new epoch.
        epoch: u64,
        /// How long its lease is.
        lease_ms: u64,
    },
    /// Tell a worker that its claim is being dealt with: to hand over an agent can take longer than a worker waits.
    Wait {
        /// Which run.
        holder: H,
    },
    /// Tell a worker that it has the agent.
    Granted {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// How long its lease is.
        lease_ms: u64,
        /// The claim that this answers.
        beat: u64,
        /// How many items are on record: the run continues after them.
        recorded: u64,
    },
    /// Tell a worker that it does not get the agent.
    Refuse {
        /// Which run.
        holder: H,
        /// Why.
        reason: ClaimRefusal,
    },
    /// Tell a worker that its lease is renewed.
    Renewed {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// The renewal that this answers.
        beat: u64,
        /// How many items are on record.
        recorded: u64,
    },
    /// Make items durable, then say [`HomeInput::Recorded`].
    Record {
        /// Their epoch.
        epoch: u64,
        /// The number of the first one; there is no gap before it.
        first: u64,
        /// The items.
        items: Vec<T>,
    },
    /// Tell a worker how many items are on record.
    Ack {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// How many.
        upto: u64,
        /// Whether something is missing between these and what came.
        missing: bool,
    },
    /// Tell a worker that its epoch is over.
    Stale {
        /// Which run.
        holder: H,
        /// The epoch of now.
        epoch: u64,
    },
    /// Store what a run of an older epoch has left, beside the agent's own work; then say [`HomeInput::TakenAside`].
    /// May be asked more than once for the same run.
    TakeAside {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
        /// What came of it.
        result: R,
    },
    /// Settle the agent, then say [`HomeInput::Settled`]. Once.
    Settle {
        /// The epoch that did it.
        epoch: u64,
        /// What came of it.
        result: R,
    },
    /// Tell a worker that home has the end of its run.
    SettledAck {
        /// Which run.
        holder: H,
        /// Its epoch.
        epoch: u64,
    },
    /// Settle the agent as failed: too many workers were lost, or gave up. Once; then say [`HomeInput::Settled`].
    Lost {
        /// How many were lost.
        lost: u32,
    },
}

/// Why a worker does not get an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ClaimRefusal {
    /// Another worker has it, or may still act on it.
    Held,
    /// This run had it, and another one got it after that.
    Superseded,
    /// It has ended.
    Ended,
    /// The run contradicts itself.
    Contradiction,
    /// Home does not know the agent.
    Unknown,
}

/// What a home finds on record when it starts again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeRestored<H> {
    /// The newest epoch on record; 0 if there is none.
    pub epoch: u64,
    /// Who got it.
    pub holder: Option<H>,
    /// How long the lease of that epoch is.
    pub lease_ms: u64,
    /// How many items are on record.
    pub recorded: u64,
}
