//! `posse` as people and scripts use it: the real binary against a fake model on a real socket.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, clippy::disallowed_types)]

#[cfg(target_os = "linux")]
mod acp;
mod agents;
mod answers;
mod asking;
#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod background;
mod changes;
#[cfg(target_os = "linux")]
mod chat;
mod claims;
mod collection;
mod config;
mod contract;
mod crew;
mod demo;
mod designs;
mod dialects;
mod examples;
mod facts;
mod faults;
#[cfg(target_os = "linux")]
mod flat;
mod fork;
mod hooks;
#[cfg(target_os = "linux")]
mod images;
mod killed;
mod lean;
mod mcp;
#[cfg(target_os = "linux")]
mod mcp_serve;
mod memory;
mod modes;
mod names;
mod own_git;
#[cfg(target_os = "linux")]
mod pane;
mod phoenix;
mod posse;
mod record;
mod reporting;
mod resume;
mod run;
mod scripted;
mod seeing;
mod serve;
mod sessions;
mod size;
mod skills;
mod stats;
#[cfg(target_os = "linux")]
mod steering;
mod surfaces;
mod tasks;
mod team;
mod telemetry;
mod terminal;
mod typing;
mod view;
#[cfg(target_os = "linux")]
mod web;
mod wire;
#[cfg(target_os = "linux")]
mod workers;
