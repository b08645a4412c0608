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
mod followers;
mod frames;
mod handle;
pub mod limits;
mod listening;
mod openapi;
mod patience;
mod routes;
mod server;
mod serving;
mod shared;
mod site;
mod socket;
mod streams;
mod token;
mod updates;
mod web;

pub use background::{BackgroundProgram, BegunSession, NewSession, SessionOrigin};
pub use call::{Call, Subject, Verb};
pub use client::Client;
pub use failure::{CallError, CallErrorKind, Problem};
pub use follow::FollowSession;
pub use handle::{Following, Handle};
pub use listening::{Listening, listen};
pub use openapi::document as openapi;
pub use routes::{ROUTES, Route};
pub use site::SiteStart;
pub use site::overview::SessionsChanged;
pub use streams::FollowSessions;
pub use token::{Token, TokenError};
pub use updates::RemoteUpdates;
pub use web::{Listen, ServeError, Serving, TlsError, TlsFiles, WebStart, serve};
