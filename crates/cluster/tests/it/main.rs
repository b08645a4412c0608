//! The lease machines in a simulated world, the couriers against one contract, and agents on workers: as they work, as everything around
//! them fails, and as somebody hostile is at either end.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod broker_rights;
mod brokers;
mod contract;
mod couriers;
mod documented;
mod fixture;
mod leases;
mod letters;
mod pipes;
mod shelf;
mod simulation;
mod ssh;
mod together;
