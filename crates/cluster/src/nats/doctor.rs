//! Looks at a broker and says what a person should know: its version, whether it encrypts, keeps queues and syncs its disk, and
//! which rights are missing. It changes nothing there.

use std::future::ready;
use std::time::Duration;

use async_nats::{Client, Request};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use serde::Deserialize;
use serde_json::Value;

use super::address::NatsAddress;
use super::subjects::{ABOUT_SERVER, BlobWay, NatsSide, Subjects, covers};
use crate::courier::CourierError;
use crate::limits;
use crate::names::{OwnerName, WorkerName};

/// How often a broker writes to its disk what it has acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokerSync {
    /// Before it acknowledges: a power failure loses nothing.
    Always,
    /// After so long: a power failure loses what is younger.
    Every {
        /// How long.
        ms: u64,
    },
    /// The broker does not tell this user.
    Unknown,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsFindings {
    /// The server's version.
    pub version: String,
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// Whether the server keeps queues and blobs for this user; if not, why.
    pub jetstream: Result<(), String>,
    /// How it syncs.
    pub sync: BrokerSync,
    /// The longest message that it is configured to take. Posse sends up to [`limits::MESSAGE_BYTES_MAX`].
    pub payload_bytes_max: usize,
    /// Subjects that the user may not publish to, and would have to.
    pub missing_publish: Vec<String>,
    /// Subjects that the user may not subscribe to, and would have to.
    pub missing_subscribe: Vec<String>,
    /// Whether the broker told the user's rights; without that, nothing is known to be missing.
    pub rights_known: bool,
}

/// What room a broker has for the files of workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokerRoom {
    /// Bytes of its disk that are set aside for nothing yet. None where it does not tell home.
    pub left_bytes: Option<u64>,
    /// How many buckets the workers still lack: two for each that has had no agent yet.
    pub buckets_missing: u64,
}

/// Looks as home how much room there is, and how much these workers will take. It changes nothing there.
pub async fn look_for_room(
    address: &NatsAddress,
    owner: &OwnerName,
    workers: &[WorkerName],
) -> Result<BrokerRoom, CourierError> {
    let subjects = Subjects::new(owner.clone());
    let client = &address.connect(&subjects.inbox("home"), |_| {}).await?;
    let buckets = workers
        .iter()
        .flat_map(|worker| [BlobWay::Down, BlobWay::Up].map(|way| subjects.bucket(way, worker)));
    let is_missing = |bucket: String| async move {
        let answer = ask(client, &format!("$JS.API.STREAM.INFO.{bucket}")).await;
        answer.is_some_and(|answer| answer.pointer("/error/code").and_then(Value::as_u64) == Some(404))
    };
    let missing = stream::iter(buckets).map(is_missing).buffer_unordered(limits::DOCTOR_QUESTIONS_AT_A_TIME);
    let buckets_missing = missing.filter(|missing| ready(*missing)).count().await as u64;
    Ok(BrokerRoom { left_bytes: left_bytes(client).await, buckets_missing })
}

/// What the limit of the account leaves; where it has none, what the whole server leaves.
async fn left_bytes(client: &Client) -> Option<u64> {
    let account = ask(client, "$JS.API.INFO").await?;
    let number = |of: &Value, path: &str| of.pointer(path).and_then(Value::as_u64);
    // A limit of -1 is none.
    if let Some(max) = number(&account, "/limits/max_storage") {
        return Some(max.saturating_sub(number(&account, "/reserved_storage").unwrap_or(0)));
    }
    let server = ask(client, ABOUT_SERVER).await?;
    let max = number(&server, "/data/jetstream/config/max_storage")?;
    Some(max.saturating_sub(number(&server, "/data/jetstream/stats/reserved_storage").unwrap_or(0)))
}

/// Looks at a broker as a home or a worker of an owner.
pub async fn examine_nats(
    address: &NatsAddress,
    owner: &OwnerName,
    side: &NatsSide,
) -> Result<NatsFindings, CourierError> {
    let subjects = Subjects::new(owner.clone());
    let who = match side {
        NatsSide::Home => "home".to_owned(),
        NatsSide::Worker { name, .. } => format!("worker.{name}"),
    };
    let client = address.connect(&subjects.inbox(&who), |_| {}).await?;
    let info = client.server_info();
    let rights = rights(&client).await;
    let missing = |allowed: Option<&Permission>, needed: Vec<String>| {
        let is_missing = |subject: &String| allowed.is_some_and(|allowed| !allowed.covers(subject));
        needed.into_iter().filter(is_missing).collect::<Vec<_>>()
    };
    let permissions = rights.as_ref().and_then(|rights| rights.permissions.as_ref());
    let publish = permissions.and_then(|all| all.publish.as_ref());
    let subscribe = permissions.and_then(|all| all.subscribe.as_ref());
    Ok(NatsFindings {
        version: info.version.clone(),
        tls: address.needs_tls()? || info.tls_required,
        jetstream: match side {
            NatsSide::Home => jetstream(&client, info.jetstream).await,
            // A worker has no right to ask for its account.
            NatsSide::Worker { .. } if info.jetstream => Ok(()),
            NatsSide::Worker { .. } => Err("the server runs without JetStream".to_owned()),
        },
        // Who may not ask would wait for nothing.
        sync: match publish.is_none_or(|allowed| allowed.covers(ABOUT_SERVER)) {
            true => sync(&client).await,
            false => BrokerSync::Unknown,
        },
        payload_bytes_max: client.max_payload(),
        missing_publish: missing(publish, subjects.publishes(side)),
        missing_subscribe: missing(subscribe, subjects.subscribes(side)),
        rights_known: rights.is_some(),
    })
}

async fn jetstream(client: &Client, is_on: bool) -> Result<(), String> {
    if !is_on {
        return Err("the server runs without JetStream".to_owned());
    }
    match ask(client, "$JS.API.INFO").await {
        Some(answer) => match answer.pointer("/error/description").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(()),
        },
        None => Err("the server does not answer this user about JetStream".to_owned()),
    }
}

#[derive(Deserialize)]
struct UserRights {
    #[serde(default)]
    permissions: Option<Permissions>,
}

#[derive(Deserialize)]
struct Permissions {
    #[serde(default)]
    publish: Option<Permission>,
    #[serde(default)]
    subscribe: Option<Permission>,
}

#[derive(Deserialize)]
struct Permission {
    /// Without it, everything is allowed that is not denied.
    #[serde(default)]
    allow: Option<Vec<String>>,
    #[serde(default)]
    deny: Option<Vec<String>>,
}

impl Permission {
    fn covers(&self, needed: &str) -> bool {
        let any = |list: &[String]| list.iter().any(|right| covers(right, needed));
        self.allow.as_deref().is_none_or(any) && !self.deny.as_deref().is_some_and(any)
    }
}

async fn rights(client: &Client) -> Option<UserRights> {
    let answer = ask(client, "$SYS.REQ.USER.INFO").await?;
    serde_json::from_value(answer.get("data")?.clone()).ok()
}

/// Told to users of the system account, and to those whose account imports that service from it.
async fn sync(client: &Client) -> BrokerSync {
    let Some(answer) = ask(client, ABOUT_SERVER).await else { return BrokerSync::Unknown };
    let config = answer.pointer("/data/jetstream/config");
    let of = |name: &str| config.and_then(|config| config.get(name));
    match (of("sync_always").and_then(Value::as_bool), of("sync_interval").and_then(Value::as_u64)) {
        (Some(true), _) => BrokerSync::Always,
        (_, Some(ns)) => BrokerSync::Every { ms: ns / 1_000_000 },
        _ => BrokerSync::Unknown,
    }
}

async fn ask(client: &Client, subject: &str) -> Option<Value> {
    let patience = Duration::from_millis(limits::DOCTOR_MS_MAX);
    let request = Request::new().payload(Bytes::new()).timeout(Some(patience));
    let answer = client.send_request(subject.to_owned(), request).await.ok()?;
    serde_json::from_slice(&answer.payload).ok()
}
