//! Lets other processes use the engine: commands, queries and following, over HTTP on a Unix socket.
//!
//! One table ([`ROUTES`]) has every route. A [`Call`] is one command or query; its route, its request and the call in
//! this process all come from it. Interfaces hold a [`Handle`], which works alike for a session in this process and in
//! another. It must not know the store, the tree or any interface.
#![forbid(unsafe_code)]

mod background;
mod call;
pub mod calls;
mod client;
mod connections;
mod exchange;
mod failure;
mod follow;
mod follow_request;
mod followers;
mod frames;
mod handle;
mod hub;
pub mod limits;
mod lines;
mod listening;
mod openapi;
mod patience;
mod routes;
mod server;
mod serving;
mod shared;
mod socket;
mod streams;
mod token;
mod updates;
mod web;

pub use background::{BackgroundProgram, BegunSession, NewSession, SessionOrigin};
pub use call::{Call, Subject, Verb};
pub use client::Client;
pub use failure::{CallError, CallErrorKind, ProblemDocument};
pub use follow_request::{FollowSession, FollowSessions};
pub use handle::{Following, Handle};
pub use hub::HubStart;
pub use hub::folders::Folders;
pub use hub::overview::SessionsChanged;
pub use hub::views::Views;
pub use lines::{BoundedLine, BoundedLines};
pub use listening::{Listening, listen};
pub use openapi::document as openapi;
pub use routes::{ROUTES, Route};
pub use token::{AccessToken, TokenError};
pub use updates::RemoteUpdates;
pub use web::{Listen, ServeError, Serving, TlsError, TlsFiles, WebStart, serve};
