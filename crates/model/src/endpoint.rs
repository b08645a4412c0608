//! What an address tells: its parts, whether it is this machine, and how to show it without credentials.

use reqwest::Url;
use secrecy::SecretString;

/// Parses an http(s) base address.
pub(crate) fn parse(base_url: &str) -> Option<Url> {
    let url = Url::parse(base_url.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host_str().is_some()).then_some(url)
}

/// Operations that are joined to a base address; one that ends in them has them twice.
const OPERATIONS: [&str; 4] = ["/chat/completions", "/completions", "/responses", "/messages"];

/// Why a base address cannot work, if it cannot: what is wrong, and what to write.
pub fn fault(address: &str) -> Option<String> {
    const SUCH: &str = "write it like http://127.0.0.1:8080/v1";
    let shown = shown(address);
    // `http:///v1` would be read as the host v1.
    let host_follows = |(_, rest): (&str, &str)| !rest.starts_with(['/', '\\', '?', '#']);
    let written = address.trim().split_once("://").is_some_and(host_follows);
    let Some(url) = parse(address).filter(|_| written) else {
        return Some(format!("{shown:?} is no http(s) address; {SUCH}"));
    };
    if address.trim().contains(char::is_whitespace) || url.port() == Some(0) {
        return Some(format!("{shown:?} cannot be reached; {SUCH}"));
    }
    if url.fragment().is_some() {
        return Some(format!("{shown:?} has a part after #, which no server gets; leave it out"));
    }
    let path = url.path().trim_end_matches('/');
    let operation = OPERATIONS.iter().find(|operation| path.ends_with(*operation))?;
    let base = shown.strip_suffix(operation).unwrap_or(&shown);
    Some(format!("{shown:?} ends in {operation}, which Posse adds itself; write {base:?}"))
}

/// Whether the address is on this machine.
pub(crate) fn is_loopback(base_url: &str) -> bool {
    parse(base_url).is_some_and(|url| url_is_loopback(&url))
}

pub(crate) fn url_is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host.ends_with(".localhost")
        || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Host and port, for messages.
pub(crate) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or("?");
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

/// An address without user, password, query and fragment: what may be told and recorded of it.
pub fn shown(address: &str) -> String {
    match Url::parse(address.trim()) {
        Ok(url) if url.has_host() => {
            format!("{}://{}{}", url.scheme(), host(&url), url.path().trim_end_matches('/'))
        }
        // What is no address may still hold a password.
        _ => {
            let before = address.split(['?', '#']).next().unwrap_or_default();
            before.rsplit('@').next().unwrap_or_default().to_owned()
        }
    }
}

/// What of an address may be a secret, as it is written and as it is meant.
pub(crate) fn secrets(url: &Url) -> Vec<SecretString> {
    let written = [Some(url.username()), url.password(), url.query(), url.fragment()].into_iter().flatten();
    let mut found: Vec<String> = written.map(str::to_owned).collect();
    for pair in url.query().unwrap_or_default().split('&') {
        found.extend(pair.split_once('=').map(|(_, value)| value.to_owned()));
    }
    found.extend(url.query_pairs().map(|(_, value)| value.into_owned()));
    // Read as a query, a text loses its escapes.
    let meant = [url.username(), url.password().unwrap_or_default()].map(|text| text.replace('+', "%2B"));
    for text in meant.iter().filter(|text| text.contains('%')) {
        let mut plain = url.clone();
        plain.set_query(Some(&format!("x={}", text.replace('&', "%26"))));
        found.extend(plain.query_pairs().map(|(_, value)| value.into_owned()));
    }
    // The longest first, so that no part of one stays when another is taken out.
    found.sort_by_key(|text| std::cmp::Reverse(text.len()));
    found.into_iter().map(SecretString::from).collect()
}

/// The address of one operation below the base.
pub(crate) fn join(base: &Url, operation: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{operation}", base.path().trim_end_matches('/')));
    url
}

/// What makes two addresses the same endpoint.
pub(crate) fn key(url: &Url) -> String {
    format!("{}://{}{}", url.scheme(), host(url), url.path().trim_end_matches('/'))
}
