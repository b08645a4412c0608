//! Sub-agents on other machines: leases, signed messages, and the couriers that carry them.
//!
//! ```text
//!            home                                                            worker
//!   HomeLease  CommandSender                                     WorkerLease  CommandInbox
//!   RequestAnswerer                                              RequestAsker
//!       │ Down                                                          │ Up
//!       ▼                                                               ▼
//!      Seal ──▶ HomeCourier ═══ channels, pipe (ssh), NATS ═══ WorkerCourier ◀── Seal
//! ```
//!
//! A courier may lose, repeat and reorder whatever it carries, and a broker may lose its data. The machines above it are pure and
//! make it right: each agent settles once, what home has acknowledged is on record, and no run acts after home has given its agent
//! to another one. Home alone decides who has an agent.
//!
//! It must not know the tree or the record, flags or the environment.
#![forbid(unsafe_code)]

mod blob_shelf;
mod blob_shelves;
mod bodies;
mod courier;
mod fleet;
mod home_actions;
mod home_lease;
mod later_home;
mod lease_times;
mod letter_room;
pub mod limits;
mod local;
mod message;
mod names;
mod nats;
mod offer_book;
mod pipe;
mod requests;
mod sign;
mod ssh;
mod ssh_home;
mod worker;
mod worker_lease;

pub use blob_shelf::{BlobShelf, WhenFull};
pub use blob_shelves::BlobShelves;
pub use courier::{
    ClaimedOffer, CourierError, CourierFuture, HomeCourier, HomeNews, OfferLease, PostedOffer, SeenWorker,
    WorkerCourier, WorkerNews,
};
pub use fleet::{Fleet, FleetParts, FleetWorker};
pub use home_actions::{ClaimRefusal, HomeAction, HomeInput, HomeRestored};
pub use home_lease::HomeLease;
pub use later_home::{Connect, LaterHome};
pub use lease_times::LeaseTimes;
pub use local::{CarryFaults, LocalHome, LocalHub, LocalWay, LocalWorker};
pub use message::{
    CLUSTER_VERSION, Down, DownBody, LeaseHolder, RawBody, RunAbout, RunDown, RunUp, TaskOffer, Up, UpBody,
    Wants, WorkerInfo,
};
pub use names::{BadBlobId, BadName, BlobId, HomeName, LabelName, OwnerName, RunId, WorkerName};
pub use nats::{
    BrokerRoom, BrokerSync, NatsAddress, NatsFindings, NatsHome, NatsSide, NatsWorker, examine_nats,
    look_for_room, nats_user_config,
};
pub use pipe::{PipeEnd, PipeHome, PipeWorker};
pub use requests::{
    CommandInbox, CommandSender, RequestAnswerer, RequestArrival, RequestAsker, RequestSend, TooManyOpen,
};
pub use sign::{OwnerSecret, Seal, SealError};
pub use ssh::{Preface, SshStart, SshState, SshWorker, remote_command, ssh_arguments};
pub use ssh_home::{SshEntry, SshHome};
pub use worker::{WorkerParts, serve};
pub use worker_lease::{BufferLimits, NotPushed, WorkerInput, WorkerLease, WorkerPhase, WorkerSend};
