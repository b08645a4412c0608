//! The words of settings about workers, and what is wrong with one: names, labels, owners, the address of a broker, what ssh is told.
//! It looks at texts alone, and knows no files.

use std::net::{IpAddr, Ipv6Addr};

use crate::limits::{
    BROKER_ADDRESS_BYTES_MAX, BROKER_PASSWORD_BYTES_MAX, BROKER_USER_BYTES_MAX, CA_BYTES_MAX, LEASE_MS_MAX,
    LEASE_MS_MIN, NAME_BYTES_MAX, OWNER_BYTES_MAX, RENEW_MS_MIN, SSH_HOST_BYTES_MAX, SSH_OPTION_BYTES_MAX,
    SSH_OPTIONS_MAX, SSH_PROGRAM_BYTES_MAX, WORKER_LABELS_MAX, WORKER_NAME_BYTES_MAX,
};

/// Words that say where agents run, so that no worker and no label is called so.
const RESERVED: [&str; 2] = ["home", "anywhere"];

/// What the name of a machine becomes where nothing of it fits.
const NAMELESS: &str = "worker";

/// What is wrong with the name of a worker or a label.
pub(crate) fn name_fault(text: &str) -> Option<String> {
    if is_reserved(text) {
        return Some(format!("{text:?} is reserved: it says where agents run; choose another name"));
    }
    let fits = is_word(text, "-_", WORKER_NAME_BYTES_MAX);
    (!fits).then(|| {
        format!(
            "{:?} cannot name a worker or a label; write up to {WORKER_NAME_BYTES_MAX} letters, digits, - and _, a letter \
             or digit first",
            shown(text)
        )
    })
}

/// What is wrong with a list of labels.
pub(crate) fn labels_fault(labels: &[String]) -> Option<String> {
    if labels.len() > WORKER_LABELS_MAX {
        return Some(format!(
            "{} labels are too many; a worker has at most {WORKER_LABELS_MAX}",
            labels.len()
        ));
    }
    labels.iter().find_map(|label| name_fault(label))
}

/// What is wrong with the name of an owner.
pub(crate) fn owner_fault(text: &str) -> Option<String> {
    let fits = is_word(text, "-_", OWNER_BYTES_MAX);
    (!fits).then(|| {
        format!(
            "{:?} cannot name an owner; write up to {OWNER_BYTES_MAX} letters, digits, - and _, a letter or digit first",
            shown(text)
        )
    })
}

/// What is wrong with the address of a broker. Nothing of an address with a password in it is told.
pub(crate) fn broker_fault(address: &str) -> Option<String> {
    if address.contains('@') {
        return Some(
            "the address of a broker holds no user and no password; they belong in the file that nats_credentials names"
                .to_owned(),
        );
    }
    let wrong = || {
        Some(format!(
            "{:?} is no address of a broker; write it like tls://broker.example:4222",
            shown(address)
        ))
    };
    let Some((scheme, rest)) = address.split_once("://") else { return wrong() };
    let Some(host) = host_of(rest).filter(|_| address.len() <= BROKER_ADDRESS_BYTES_MAX) else {
        return wrong();
    };
    match scheme {
        "tls" => None,
        "nats" if is_loopback(host) => None,
        "nats" => Some(format!(
            "{address:?} is not encrypted, and only a broker on this machine may be; write tls://{rest}"
        )),
        _ => wrong(),
    }
}

/// What is wrong with how long a worker may be silent, and how often it says that it is there.
pub(crate) fn times_fault(lease_ms: u64, renew_ms: u64) -> Option<String> {
    if !(LEASE_MS_MIN..=LEASE_MS_MAX).contains(&lease_ms) {
        return Some("lease is between 1s and 10m".to_owned());
    }
    let fits = (RENEW_MS_MIN..=lease_ms / 2).contains(&renew_ms);
    (!fits).then(|| "renew is at least 100ms and at most half of lease".to_owned())
}

/// What is wrong with a host for ssh.
pub(crate) fn ssh_host_fault(host: &str) -> Option<String> {
    if host.starts_with('-') {
        return Some(format!("ssh = {:?} would be an option of ssh; write the name of a host", shown(host)));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@:[]%+".contains(c);
    let fits = !host.is_empty() && host.len() <= SSH_HOST_BYTES_MAX && host.chars().all(plain);
    (!fits).then(|| {
        format!(
            "ssh = {:?} is no host; write one word, as behind Host in your ssh configuration",
            shown(host)
        )
    })
}

/// What is wrong with the program that ssh runs at the other end, where a shell reads it.
pub(crate) fn ssh_program_fault(program: &str) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./~+".contains(c);
    let fits = !program.is_empty() && program.len() <= SSH_PROGRAM_BYTES_MAX && program.chars().all(plain);
    (!fits || program.starts_with('-')).then(|| {
        format!(
            "program = {:?} is no program; write its name or path there, without blanks and arguments",
            shown(program)
        )
    })
}

/// What is wrong with additional arguments for ssh.
pub(crate) fn ssh_options_fault(options: &[String]) -> Option<String> {
    if options.len() > SSH_OPTIONS_MAX {
        return Some(format!("ssh_options has {} words; at most {SSH_OPTIONS_MAX}", options.len()));
    }
    let plain = |option: &String| {
        let length = (1..=SSH_OPTION_BYTES_MAX).contains(&option.len());
        length && option != "--" && !option.chars().any(char::is_control)
    };
    let wrong = options.iter().find(|option| !plain(option));
    // A first word that is no option would be the host.
    let wrong = wrong.or_else(|| options.first().filter(|first| !first.starts_with('-')));
    wrong.map(|wrong| {
        format!("ssh_options: {:?} cannot be there; write it like [\"-p\", \"2222\"]", shown(wrong))
    })
}

/// What is wrong with a user and a password of a broker. Neither is told.
pub(crate) fn credentials_fault(user: &str, password: &str) -> Option<String> {
    let parts = [("user", user, BROKER_USER_BYTES_MAX), ("password", password, BROKER_PASSWORD_BYTES_MAX)];
    let fits =
        |text: &str, bytes_max| (1..=bytes_max).contains(&text.len()) && !text.chars().any(char::is_control);
    let wrong = parts.into_iter().find(|(_, text, bytes_max)| !fits(text, *bytes_max));
    wrong.map(|(key, _, bytes_max)| format!("`{key}` has one line of 1 to {bytes_max} bytes"))
}

/// What is wrong with the text of a certificate authority.
pub(crate) fn ca_fault(pem: &str) -> Option<String> {
    if pem.len() as u64 > CA_BYTES_MAX {
        return Some(format!("a certificate authority of more than {CA_BYTES_MAX} bytes"));
    }
    if pem.contains("PRIVATE KEY-----") {
        return Some("a private key where a certificate belongs; it never leaves its machine".to_owned());
    }
    let is_certificate = pem.contains("-----BEGIN CERTIFICATE-----");
    (!is_certificate).then(|| "no certificate in PEM form".to_owned())
}

/// The name of a machine as the name of a worker: what stands before the first dot, with `-` for what does not fit.
pub(crate) fn fitting_name(host: &str) -> String {
    let first = host.trim().split('.').next().unwrap_or_default();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_".contains(c) { c } else { '-' };
    let word: String = first.chars().map(plain).take(WORKER_NAME_BYTES_MAX).collect();
    let word = word.trim_start_matches(['-', '_']);
    if word.is_empty() || is_reserved(word) { NAMELESS.to_owned() } else { word.to_owned() }
}

fn is_reserved(text: &str) -> bool {
    RESERVED.iter().any(|word| text.eq_ignore_ascii_case(word))
}

fn is_word(text: &str, marks: &str, bytes_max: usize) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    text.len() <= bytes_max
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(plain)
}

/// The host of `host`, `host:port` or `[address]:port`.
fn host_of(rest: &str) -> Option<&str> {
    let (host, port) = match rest.strip_prefix('[') {
        Some(inside) => {
            let (host, port) = inside.split_once(']')?;
            host.parse::<Ipv6Addr>().ok()?;
            (host, port.strip_prefix(':').or_else(|| port.is_empty().then_some("4222"))?)
        }
        None => rest.split_once(':').unwrap_or((rest, "4222")),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.:".contains(c);
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let port = port.parse::<u16>().ok().filter(|port| digits && *port > 0);
    (!host.is_empty() && host.chars().all(plain)).then_some(host).filter(|_| port.is_some())
}

fn is_loopback(host: &str) -> bool {
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The beginning of a text, for a message.
fn shown(text: &str) -> String {
    text.chars().take(NAME_BYTES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_machines_become_names_of_workers() {
        let long = "x".repeat(100);
        let cases = [
            ("gpu-1", "gpu-1"),
            ("gpu-1.example.com\n", "gpu-1"),
            ("Build Box", "Build-Box"),
            ("größe", "gr--e"),
            ("-_x", "x"),
            ("home", "worker"),
            ("ANYWHERE.local", "worker"),
            ("", "worker"),
            ("...", "worker"),
            (&long, &long[..63]),
        ];
        assert_eq!(cases.len(), 10);
        for (host, want) in cases {
            let name = fitting_name(host);
            assert_eq!((name.as_str(), name_fault(&name)), (want, None), "{host:?}");
        }
    }

    #[test]
    fn addresses_of_brokers() {
        let good = [
            "tls://broker.example:4222",
            "tls://broker",
            "tls://10.0.0.7:1",
            "tls://[fd00::1]:4222",
            "tls://[fd00::1]",
            "nats://127.0.0.1:4222",
            "nats://127.8.9.1",
            "nats://LOCALHOST:4222",
            "nats://[::1]:4222",
        ];
        for address in good {
            assert_eq!(broker_fault(address), None, "{address}");
        }
        let long = format!("tls://{}", "a".repeat(300));
        let bad = [
            "",
            "broker",
            "broker:4222",
            "ws://broker",
            "https://broker:4222",
            "tls://",
            "tls://:4222",
            "tls://broker:0",
            "tls://broker:99999",
            "tls://broker:",
            "tls://broker:+1",
            "tls://broker/x",
            "tls://broker,other",
            "tls://bro ker",
            "tls://[broker]:4222",
            "tls://[::1",
            "tls://[::1]x",
            "tls://u:p@broker",
            "nats://broker:4222",
            "nats://localhost.example",
            "nats://0.0.0.0:4222",
            "nats://[::]:4222",
            &long,
        ];
        assert_eq!((good.len(), bad.len()), (9, 23));
        for address in bad {
            assert!(broker_fault(address).is_some(), "{address}");
        }
    }
}
