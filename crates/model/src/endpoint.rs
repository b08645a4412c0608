//! What an address tells: its parts, whether it is this machine, and how to show it without credentials.

use reqwest::Url;

/// Parses an http(s) base address.
pub(crate) fn parse(base_url: &str) -> Option<Url> {
    let url = Url::parse(base_url.trim()).ok()?;
    (matches!(url.scheme(), "http" | "https") && url.host_str().is_some()).then_some(url)
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

/// The address without user, password and query.
pub(crate) fn shown(base_url: &str) -> String {
    match Url::parse(base_url) {
        Ok(url) => format!("{}://{}{}", url.scheme(), host(&url), url.path().trim_end_matches('/')),
        Err(_) => "(not an address)".to_owned(),
    }
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
