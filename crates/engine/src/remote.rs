//! Agents on other machines, as data: what travels between home, where the session is, and a worker, which runs one of its
//! agents. It must not know how that travels, and nothing of sockets, brokers or ssh.

mod home;
mod items;
mod task;
mod workers;

pub use home::{HomeLink, HomeReply, HomeRequest, HostCommand};
pub use items::{HostedItem, travels};
pub use task::{HostedEnd, HostedModel, HostedTask, HostedWork};
pub use workers::{PlacedTask, Seat, SeatCommand, SeatEvent, SeatStart, WantedPlace, WorkerRun, Workers};

pub(crate) use home::{Home, HomeModel};
pub(crate) use items::{kept, kept_of};
