//! Where the broker is and how it is spoken with: TLS everywhere but on this machine itself, user and password, and reconnecting.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::{Client, ConnectOptions, Event, Message, ServerAddr};

use crate::courier::CourierError;
use crate::limits;
use crate::ssh::with_jitter;

/// How to reach a broker.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct NatsAddress {
    /// `nats://HOST:PORT` or `tls://HOST:PORT`, without user and password.
    pub url: String,
    /// The user.
    pub user: Option<String>,
    /// Their password.
    pub password: Option<String>,
    /// A file with the certificates that vouch for the server, in place of the system's.
    pub ca_file: Option<PathBuf>,
}

impl fmt::Debug for NatsAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let password = self.password.as_ref().map(|_| "…");
        f.debug_struct("NatsAddress")
            .field("url", &self.url)
            .field("user", &self.user)
            .field("password", &password)
            .field("ca_file", &self.ca_file)
            .finish()
    }
}

impl NatsAddress {
    /// The server, if it may be spoken with.
    pub(super) fn server(&self) -> Result<ServerAddr, CourierError> {
        let refused = |why: &str| CourierError::Refused(format!("the address of the broker {why}"));
        let server: ServerAddr = self.url.parse().map_err(|error| refused(&format!("is none: {error}")))?;
        match server.scheme() {
            "nats" | "tls" => {}
            _ => return Err(refused("begins with neither nats:// nor tls://")),
        }
        if server.host().is_empty() {
            return Err(refused("has no host"));
        }
        if server.username().is_some() || server.password().is_some() {
            return Err(refused("has a user or password in it; give them apart, so that they are not shown"));
        }
        Ok(server)
    }

    /// Whether the connection has to be encrypted: always, unless it stays on this machine.
    pub(super) fn needs_tls(&self) -> Result<bool, CourierError> {
        let server = self.server()?;
        let host = server.host();
        let is_here = host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback());
        Ok(!is_here || server.scheme() == "tls" || self.ca_file.is_some())
    }

    /// Connects. Later losses of the connection are repaired by themselves; `hear` is told of them.
    pub(super) async fn connect(
        &self,
        inbox: &str,
        hear: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Client, CourierError> {
        let server = self.server()?;
        let mut options = ConnectOptions::new()
            .name("posse")
            .require_tls(self.needs_tls()?)
            .custom_inbox_prefix(inbox)
            // Others that the server tells of may be elsewhere, and are not what the person has named.
            .ignore_discovered_servers()
            .connection_timeout(Duration::from_millis(limits::BROKER_CONNECT_MS_MAX))
            .request_timeout(Some(Duration::from_millis(limits::COURIER_ANSWER_MS_MAX)))
            .ping_interval(Duration::from_millis(limits::BROKER_PING_MS))
            .subscription_capacity(limits::BROKER_QUEUE_MAX)
            .reconnect_delay_callback(|attempts| Duration::from_millis(pause_ms(attempts)))
            .max_reconnects(None)
            .event_callback(move |event| {
                hear(event);
                async {}
            });
        if let (Some(user), Some(password)) = (&self.user, &self.password) {
            options = options.user_and_password(user.clone(), password.clone());
        }
        if let Some(file) = &self.ca_file {
            options = options.add_root_certificates(file.clone());
        }
        let hint = match self.needs_tls()? {
            true => "; the connection has to be encrypted here, and the server's certificate known",
            false => "",
        };
        options.connect(server).await.map_err(|error| CourierError::Down(format!("{error}{hint}")))
    }
}

/// The pause before an attempt: growing, and not the same for everybody.
fn pause_ms(attempts: usize) -> u64 {
    let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    let pause = limits::RECONNECT_MS_MIN.saturating_mul(1 << doublings);
    with_jitter(pause.min(limits::RECONNECT_MS_MAX))
}

/// Refuses to do anything while there is no connection, instead of waiting for one.
pub(super) fn must_be_connected(client: &Client) -> Result<(), CourierError> {
    match client.connection_state() {
        State::Connected => Ok(()),
        State::Pending | State::Disconnected => {
            Err(CourierError::Down("the broker is not there; it is tried again".to_owned()))
        }
    }
}

/// Whether somebody has published a message, who had the right to. The broker itself sends what it keeps to any subject that it is
/// told to, with headers or a subject for answers, and asks nobody whether they may speak there. Letters have neither.
pub(super) fn is_published(message: &Message) -> bool {
    message.headers.is_none() && message.reply.is_none()
}

/// How long messages may be that this broker takes, with some room for headers.
pub(super) fn message_bytes_max(client: &Client) -> usize {
    client.max_payload().saturating_sub(limits::BROKER_HEADERS_BYTES).min(limits::MESSAGE_BYTES_MAX)
}

/// What an error of the broker means, by its words where there is no other sign.
pub(super) fn broker_error(error: impl fmt::Display) -> CourierError {
    let words = error.to_string();
    let says = |what: &str| words.to_ascii_lowercase().contains(what);
    if says("permissions violation") {
        CourierError::Denied(words)
    } else if says("timed out") {
        // Also what a user gets who may not ask: the broker tells that to the connection, not to the question.
        CourierError::Down(format!("the broker does not answer, or may not: {words}"))
    } else {
        CourierError::Refused(format!("the broker says: {words}"))
    }
}
