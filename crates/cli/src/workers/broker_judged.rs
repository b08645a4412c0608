//! Whether a broker is set up as home needs it, and what to change if not.

use posse_cluster::limits::{BROKER_BUCKET_BYTES_MAX, BROKER_BUCKET_BYTES_MIN, MESSAGE_BYTES_MAX};
use posse_cluster::{BrokerRoom, BrokerSync, NatsFindings};

use super::findings::Findings;
use crate::limits::BROKER_VERSION_MIN;
use crate::output::grouped;

pub(super) fn judge_broker(findings: &mut Findings, address: &str, seen: &NatsFindings) {
    let number = |part: Option<&str>| part.and_then(|part| part.parse::<u32>().ok()).unwrap_or(0);
    let mut parts = seen.version.split('.');
    let version = (number(parts.next()), number(parts.next()));
    match version >= BROKER_VERSION_MIN {
        true => findings.good(address, "server", seen.version.clone()),
        false => findings.bad(address, "server", seen.version.clone(), "use nats-server 2.11 or newer"),
    }
    match seen.tls {
        true => findings.good(address, "tls", "the connection is encrypted"),
        false => findings.good(address, "tls", "not encrypted, and on this machine"),
    }
    match &seen.jetstream {
        Ok(()) => findings.good(address, "jetstream", "it keeps queues and files"),
        Err(why) => {
            findings.bad(address, "jetstream", why.clone(), "add jetstream { … } to its configuration")
        }
    }
    sync(findings, address, seen.sync);
    let takes = format!("it takes messages of {} bytes", grouped(seen.payload_bytes_max as u64));
    match seen.payload_bytes_max >= MESSAGE_BYTES_MAX {
        true => findings.good(address, "messages", takes),
        false => findings.bad(
            address,
            "messages",
            format!("{takes}, and home and workers send up to {}", grouped(MESSAGE_BYTES_MAX as u64)),
            "write max_payload: 8MB into its configuration",
        ),
    }
    rights(findings, address, seen);
}

/// Whether each worker gets its two buckets.
pub(super) fn judge_room(findings: &mut Findings, address: &str, room: Option<BrokerRoom>) {
    let Some(BrokerRoom { left_bytes, buckets_missing }) = room else { return };
    let Some(left_bytes) = left_bytes else {
        let advice = "max_file_store: at least 256 MB for each worker; it tells home with the exports and imports of \
                      examples/workers/nats-server.conf";
        return findings.note(address, "room", "it does not tell home how much it can keep", advice);
    };
    let least = buckets_missing * BROKER_BUCKET_BYTES_MIN.unsigned_abs();
    let usual = buckets_missing * BROKER_BUCKET_BYTES_MAX.unsigned_abs();
    let mb = |bytes: u64| format!("{} MB", grouped(bytes >> 20));
    let left = format!("{} are left for files", mb(left_bytes));
    match left_bytes {
        left_bytes if left_bytes < least => findings.bad(
            address,
            "room",
            format!("{left}, and workers that have had no agent yet take at least {}", mb(least)),
            "raise max_file_store in jetstream { … } of its configuration, or the limit of the account; or remove the buckets of \
             workers that are gone (nats stream ls -a)",
        ),
        left_bytes if left_bytes < usual => {
            findings.good(address, "room", format!("{left}: enough, but not for {} as usual", mb(usual)));
        }
        _ => findings.good(address, "room", left),
    }
}

fn sync(findings: &mut Findings, address: &str, sync: BrokerSync) {
    const ADD: &str = "write sync_interval: always into jetstream { … } of its configuration";
    match sync {
        BrokerSync::Always => findings.good(address, "sync", "always"),
        BrokerSync::Every { ms } => findings.bad(
            address,
            "sync",
            format!(
                "it writes to its disk every {} s, and a power failure loses what is younger",
                ms / 1_000
            ),
            ADD,
        ),
        BrokerSync::Unknown => findings.note(
            address,
            "sync",
            "it does not tell home when it writes to its disk",
            format!("{ADD}, if it is not there; it tells home with the exports and imports of examples/workers/nats-server.conf"),
        ),
    }
}

fn rights(findings: &mut Findings, address: &str, seen: &NatsFindings) {
    let missing: Vec<&str> =
        seen.missing_publish.iter().chain(&seen.missing_subscribe).map(String::as_str).collect();
    match (seen.rights_known, missing.is_empty()) {
        (true, true) => findings.good(address, "rights", "this user may do all that home does"),
        (false, _) => {
            let advice = "if agents are not taken, compare the rights of home's user with examples/workers/nats-server.conf";
            findings.note(address, "rights", "the broker does not tell them", advice);
        }
        (true, false) => {
            let advice = "permit these subjects to home's user, as in examples/workers/nats-server.conf";
            findings.bad(address, "rights", format!("missing: {}", missing.join(", ")), advice);
        }
    }
}
