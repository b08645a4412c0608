//! A courier over a NATS server with JetStream, for fleets: workers dial out, and one user per worker is held to its subjects.
//!
//! | what | how |
//! |---|---|
//! | offers | a work queue `posse.OWNER.task.WHERE.AGENT`; the newest of an agent replaces the older one |
//! | messages | core NATS, `posse.OWNER.up.HOME.WORKER`, `posse.OWNER.down.WORKER`, `posse.OWNER.hello.WORKER`: they may be lost |
//! | blobs | an object store, checked against their names |
//!
//! The broker is a courier and never the record: it may lose everything it has. Home notices that, makes the queues again, and is
//! told to offer again what has not settled.
//!
//! It must not know what is in a message.

mod address;
mod blobs;
mod doctor;
mod home;
mod subjects;
mod worker;

pub use address::NatsAddress;
pub use doctor::{BrokerRoom, BrokerSync, NatsFindings, examine_nats, look_for_room};
pub use home::NatsHome;
pub use subjects::{NatsSide, nats_user_config};
pub use worker::NatsWorker;
