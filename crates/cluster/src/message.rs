//! What home and workers say to each other, as JSON. What is inside the bodies is decided by whoever uses this crate; here they
//! are passed on byte by byte.
//!
//! It must not know couriers, and has no rules: those are in the lease machines.

use std::collections::BTreeSet;

use posse_protocol::{AgentId, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::home_actions::{ClaimRefusal, HomeAction, HomeInput};
use crate::limits;
use crate::names::{BlobId, HomeName, LabelName, OwnerName, RunId, WorkerName};
use crate::worker_lease::{WorkerInput, WorkerSend};

/// The version of these messages. Who has another one is not spoken with.
pub const CLUSTER_VERSION: u16 = 1;

/// Any JSON.
pub type RawBody = Box<RawValue>;

/// What a task wants of the worker that runs it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wants {
    /// A worker by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WorkerName>,
    /// Labels that it must have, all of them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub labels: BTreeSet<LabelName>,
}

impl Wants {
    /// Whether a worker has all that is wanted.
    pub fn fit(&self, worker: &WorkerName, labels: &BTreeSet<LabelName>) -> bool {
        self.name.as_ref().is_none_or(|name| name == worker) && self.labels.is_subset(labels)
    }
}

/// An agent that home offers to workers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskOffer {
    /// [`CLUSTER_VERSION`] of home.
    pub version: u16,
    /// Whose it is.
    pub owner: OwnerName,
    /// Where the answer goes.
    pub home: HomeName,
    /// The session of the agent.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// The epoch that a grant would follow.
    pub epoch: u64,
    /// Counts offers of the agent.
    pub attempt: u64,
    /// Which worker it is for.
    pub wants: Wants,
    /// What the worker must be able to do; decided by whoever reads it.
    pub needs: RawBody,
}

/// What a worker says of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerInfo {
    /// Its labels.
    pub labels: BTreeSet<LabelName>,
    /// Agents that it runs at the same time.
    pub capacity: u32,
    /// Agents that it could begin now.
    pub room: u32,
    /// The version of its program.
    pub program: String,
    /// What it has already, such as commits, models and tools; decided by whoever reads it.
    pub have: RawBody,
    /// Whether it is drained: it takes nothing new.
    pub drained: bool,
    /// Names its process.
    pub process: RunId,
    /// How many orders that process has carried out.
    pub orders: u64,
}

/// From a worker to home.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Up {
    /// [`CLUSTER_VERSION`] of the worker.
    pub version: u16,
    /// Which worker.
    pub worker: WorkerName,
    /// What it says.
    pub body: UpBody,
}

/// What a worker says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UpBody {
    /// It is there.
    Hello(WorkerInfo),
    /// It takes no more work.
    Leaving,
    /// About a run.
    Run {
        /// Which run.
        about: RunAbout,
        /// What of it.
        said: RunUp,
    },
}

/// Which run of which agent.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RunAbout {
    /// Whose session it is.
    pub home: HomeName,
    /// The session.
    pub session: SessionId,
    /// The agent.
    pub agent: AgentId,
    /// The run.
    pub run: RunId,
}

/// What a run says to home.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunUp {
    /// It wants the agent.
    Claim {
        /// The number of this message among claims and renewals.
        beat: u64,
        /// What it has already of what the agent needs; decided by whoever reads it.
        have: RawBody,
    },
    /// It is still there.
    Renew {
        /// Its epoch.
        epoch: u64,
        /// The number of this message among claims and renewals.
        beat: u64,
    },
    /// Items, in order.
    Items {
        /// Its epoch.
        epoch: u64,
        /// The number of the first one, from 1.
        first: u64,
        /// The items.
        items: Vec<RawBody>,
    },
    /// Its end.
    Final {
        /// Its epoch.
        epoch: u64,
        /// How many items come before.
        after: u64,
        /// Whether it is stale, and this is what it leaves.
        aside: bool,
        /// What came of it.
        result: RawBody,
    },
    /// It ends without a result and acts no more.
    GiveUp {
        /// Why, for people.
        why: String,
    },
    /// Something worth showing; may be lost.
    Progress {
        /// Its epoch.
        epoch: u64,
        /// What.
        body: RawBody,
    },
    /// It asks something and waits.
    Request {
        /// Its epoch.
        epoch: u64,
        /// The number of the request, from 1.
        id: u64,
        /// All requests before this number have their answers.
        open_from: u64,
        /// What it asks.
        body: RawBody,
    },
    /// It has carried over all commands up to this number.
    CommandAck {
        /// Its epoch.
        epoch: u64,
        /// The series of the command.
        series: u64,
        /// The number.
        upto: u64,
    },
}

/// From home to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Down {
    /// [`CLUSTER_VERSION`] of home.
    pub version: u16,
    /// Which worker it is for.
    pub worker: WorkerName,
    /// What home says.
    pub body: DownBody,
}

impl Down {
    /// Words about a run.
    pub fn run(worker: WorkerName, about: RunAbout, said: RunDown) -> Self {
        Self { version: CLUSTER_VERSION, worker, body: DownBody::Run { about, said } }
    }
}

/// What home says.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DownBody {
    /// About a run.
    Run {
        /// Which run.
        about: RunAbout,
        /// What of it.
        said: RunDown,
    },
    /// Say hello now. Whoever repeats this letter only makes it say hello.
    SayHello,
    /// Take nothing new, or take agents again. It counts once: for this process, as its order of this number.
    Drain {
        /// Whether it is to be drained.
        drained: bool,
        /// [`WorkerInfo::process`] of the worker's hello.
        process: RunId,
        /// One more than [`WorkerInfo::orders`].
        order: u64,
    },
}

/// What home says to a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunDown {
    /// It has the agent.
    Granted {
        /// Its epoch.
        epoch: u64,
        /// The claim that this answers.
        beat: u64,
        /// How many items are on record.
        recorded: u64,
        /// How long home's leases are. Both sides must count the same, whatever a worker is configured with.
        lease_ms: u64,
        /// How often the lease is to be renewed.
        renew_ms: u64,
        /// Where it starts from: blobs and settings, decided by whoever reads it.
        package: RawBody,
    },
    /// Its claim is being dealt with.
    Wait,
    /// It does not get the agent.
    Refused(ClaimRefusal),
    /// Its lease is renewed.
    Renewed {
        /// Its epoch.
        epoch: u64,
        /// The renewal that this answers.
        beat: u64,
        /// How many items are on record.
        recorded: u64,
    },
    /// How many items are on record.
    Ack {
        /// Its epoch.
        epoch: u64,
        /// How many.
        upto: u64,
        /// Whether some are missing between these and what came.
        missing: bool,
    },
    /// Another run has the agent.
    Stale {
        /// The epoch of now.
        epoch: u64,
    },
    /// Home has its end.
    SettledAck {
        /// Its epoch.
        epoch: u64,
    },
    /// A blob that it named is not there any more. It is to be put again; then what names it is sent again.
    Missing {
        /// Its epoch.
        epoch: u64,
        /// The blob.
        blob: BlobId,
    },
    /// Something to do. Sent until it is acknowledged.
    Command {
        /// The epoch that it is for.
        epoch: u64,
        /// Names the numbers: each process of home has its own.
        series: u64,
        /// Its number, from 1 in each series.
        number: u64,
        /// What.
        body: RawBody,
    },
    /// The answer to a request.
    Reply {
        /// The epoch of the request.
        epoch: u64,
        /// The number of the request.
        id: u64,
        /// The answer.
        body: RawBody,
    },
}

/// Who holds an agent: the worker that is told, and the run that counts.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LeaseHolder {
    /// The worker.
    pub worker: WorkerName,
    /// Its run.
    pub run: RunId,
}

impl RunUp {
    /// The words for what the worker's lease wants to say.
    pub fn of_lease(send: WorkerSend<RawBody, RawBody>, have: &RawBody, why_given_up: &str) -> Self {
        match send {
            WorkerSend::Claim { beat } => Self::Claim { beat, have: have.clone() },
            WorkerSend::Renew { epoch, beat } => Self::Renew { epoch, beat },
            WorkerSend::Items { epoch, first, items } => Self::Items { epoch, first, items },
            WorkerSend::Final { epoch, after, aside, result } => Self::Final { epoch, after, aside, result },
            WorkerSend::GiveUp => {
                Self::GiveUp { why: why_given_up.chars().take(limits::WHY_CHARS_MAX).collect() }
            }
        }
    }

    /// What home's lease has to hear of it; the words themselves if they are not about the lease.
    pub fn into_lease(self, holder: LeaseHolder) -> Result<HomeInput<RawBody, RawBody, LeaseHolder>, Self> {
        Ok(match self {
            Self::Claim { beat, .. } => HomeInput::Claim { holder, beat },
            Self::Renew { epoch, beat } => HomeInput::Renew { holder, epoch, beat },
            Self::Items { epoch, first, items } => HomeInput::Items { holder, epoch, first, items },
            Self::Final { epoch, after, aside, result } => {
                HomeInput::Final { holder, epoch, after, aside, result }
            }
            Self::GiveUp { .. } => HomeInput::GiveUp { holder },
            other @ (Self::Progress { .. } | Self::Request { .. } | Self::CommandAck { .. }) => {
                return Err(other);
            }
        })
    }
}

impl RunDown {
    /// What the worker's lease has to hear of it; none if it is not about the lease.
    pub fn to_lease(&self) -> Option<WorkerInput> {
        Some(match *self {
            Self::Wait => WorkerInput::Wait,
            Self::Granted { epoch, beat, recorded, lease_ms, renew_ms, .. } => {
                WorkerInput::Granted { epoch, beat, recorded, lease_ms, renew_ms }
            }
            Self::Refused(reason) => WorkerInput::Refused(reason),
            Self::Renewed { epoch, beat, recorded } => WorkerInput::Renewed { epoch, beat, recorded },
            Self::Ack { epoch, upto, missing } => WorkerInput::Ack { epoch, upto, missing },
            Self::Stale { epoch } => WorkerInput::Stale { epoch },
            Self::SettledAck { epoch } => WorkerInput::SettledAck { epoch },
            Self::Missing { .. } | Self::Command { .. } | Self::Reply { .. } => return None,
        })
    }

    /// The words for what home's lease wants to tell a worker, and which run is told; none if it is something to do at home, or
    /// a grant, which needs a package.
    pub fn of_lease<T, R>(action: &HomeAction<T, R, LeaseHolder>) -> Option<(LeaseHolder, Self)> {
        Some(match action {
            HomeAction::Wait { holder } => (holder.clone(), Self::Wait),
            HomeAction::Refuse { holder, reason } => (holder.clone(), Self::Refused(*reason)),
            HomeAction::Renewed { holder, epoch, beat, recorded } => {
                let (epoch, beat, recorded) = (*epoch, *beat, *recorded);
                (holder.clone(), Self::Renewed { epoch, beat, recorded })
            }
            HomeAction::Ack { holder, epoch, upto, missing } => {
                (holder.clone(), Self::Ack { epoch: *epoch, upto: *upto, missing: *missing })
            }
            HomeAction::Stale { holder, epoch } => (holder.clone(), Self::Stale { epoch: *epoch }),
            HomeAction::SettledAck { holder, epoch } => (holder.clone(), Self::SettledAck { epoch: *epoch }),
            HomeAction::Offer { .. }
            | HomeAction::RecordGrant { .. }
            | HomeAction::Granted { .. }
            | HomeAction::Record { .. }
            | HomeAction::TakeAside { .. }
            | HomeAction::Settle { .. }
            | HomeAction::Lost { .. } => return None,
        })
    }
}
