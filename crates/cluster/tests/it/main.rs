//! The lease machines in a simulated world, the couriers against one contract, and agents on workers: as they work, as everything around
//! them fails, and as somebody hostile is at either end.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod agents;
mod broker_agents;
mod broker_rights;
mod brokers;
mod budgets;
mod contract;
mod couriers;
mod documented;
mod family;
mod fixture;
mod forgetful;
mod handed_over;
mod hostile;
mod killed;
mod leases;
mod letters;
mod lost_work;
mod orders;
mod pipes;
mod resumed;
mod seats;
mod shelf;
mod simulation;
mod ssh;
mod stage;
mod together;
mod unrecorded;
