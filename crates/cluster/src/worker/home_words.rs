//! What home said to a run that came as blobs: fetched beside the run's loop, and handed over in the order in which it was said.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use posse_engine::remote::{HomeReply, HostCommand};
use serde::Deserialize;
use tokio::task::JoinSet;

use super::WorkerInner;
use crate::bodies::{Carried, read, read_within};
use crate::courier::once_connected_within;
use crate::limits;
use crate::message::RawBody;
use crate::names::{BlobId, RunId};

/// See the module.
pub(super) struct HomeWords {
    inner: Arc<WorkerInner>,
    run: RunId,
    count: u64,
    /// Commands that have arrived, the next one first.
    commands: VecDeque<RawBody>,
    /// Whether the first of them is being fetched.
    is_fetching: bool,
    /// Requests whose answers are being fetched.
    replies: BTreeSet<u64>,
    /// How often an answer could not be fetched.
    missed: BTreeMap<u64, u32>,
    fetches: JoinSet<Fetched>,
}

/// What was fetched, or why it could not be.
enum Fetched {
    Command(Result<HostCommand, String>),
    Reply(u64, Result<HomeReply, String>),
}

/// What is there now.
pub(super) enum HomeWord {
    Command(Result<HostCommand, String>),
    /// The answer to a request.
    Reply(u64, HomeReply),
    /// An answer cannot be had, and why: home says the same again whenever it is asked.
    Lost(String),
}

impl HomeWords {
    pub(super) fn new(inner: Arc<WorkerInner>, run: RunId) -> Self {
        let (commands, replies, missed) = (VecDeque::new(), BTreeSet::new(), BTreeMap::new());
        Self { inner, run, count: 0, commands, is_fetching: false, replies, missed, fetches: JoinSet::new() }
    }

    /// A command has arrived. False if too many wait for one that is being fetched.
    pub(super) fn command(&mut self, body: RawBody) -> bool {
        self.commands.push_back(body);
        self.commands.len() <= limits::COMMANDS_EARLY_MAX
    }

    /// The next command that is there; none if it has to be fetched first.
    pub(super) fn next_command(&mut self) -> Option<Result<HostCommand, String>> {
        if self.is_fetching {
            return None;
        }
        match read::<Carried<HostCommand>>(&self.commands.pop_front()?) {
            Ok(Carried::Here(command)) => Some(Ok(command)),
            Ok(Carried::Blob(blob)) => {
                self.is_fetching = true;
                let fetched = self.fetch::<HostCommand>(blob);
                self.fetches.spawn(async move { Fetched::Command(fetched.await) });
                None
            }
            Err(why) => Some(Err(why)),
        }
    }

    /// An answer has arrived; none if it has to be fetched first.
    pub(super) fn reply(&mut self, id: u64, body: &RawBody) -> Option<HomeReply> {
        match read::<Carried<HomeReply>>(body) {
            Ok(Carried::Here(reply)) => Some(reply),
            Ok(Carried::Blob(blob)) => {
                if self.replies.insert(id) {
                    let fetched = self.fetch::<HomeReply>(blob);
                    self.fetches.spawn(async move { Fetched::Reply(id, fetched.await) });
                }
                None
            }
            Err(_) => None,
        }
    }

    /// Waits for something that is being fetched.
    pub(super) async fn next(&mut self) -> HomeWord {
        loop {
            match self.fetches.join_next().await {
                Some(Ok(Fetched::Command(command))) => {
                    self.is_fetching = false;
                    return HomeWord::Command(command);
                }
                Some(Ok(Fetched::Reply(id, reply))) => {
                    self.replies.remove(&id);
                    match reply {
                        Ok(reply) => {
                            self.missed.remove(&id);
                            return HomeWord::Reply(id, reply);
                        }
                        Err(why) => {
                            tracing::warn!(why, "an answer of home could not be fetched");
                            let missed = self.missed.entry(id).or_default();
                            *missed += 1;
                            if *missed >= limits::BLOBS_MISSED_MAX {
                                return HomeWord::Lost(why);
                            }
                            // It is asked again.
                        }
                    }
                }
                Some(Err(_)) => {}
                None => std::future::pending().await,
            }
        }
    }

    fn fetch<T: for<'a> Deserialize<'a>>(
        &mut self,
        blob: BlobId,
    ) -> impl Future<Output = Result<T, String>> + use<T> {
        self.count += 1;
        let (inner, name) = (Arc::clone(&self.inner), format!("{}-said-{}", self.run, self.count));
        async move {
            let path = inner.depots.passing_file(&name)?;
            let get = || inner.parts.courier.get_blob(blob, &path);
            let got = once_connected_within(limits::ORPHAN_MS_MAX, get).await;
            let read = match got {
                Ok(()) => read_within(&path, limits::SAID_BYTES_MAX),
                Err(error) => Err(error.to_string()),
            };
            let _ = std::fs::remove_file(&path);
            serde_json::from_slice(&read?).map_err(|_| "what home said cannot be read".to_owned())
        }
    }
}
