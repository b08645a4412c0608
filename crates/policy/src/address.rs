//! Patterns on the addresses of the fetch tool: on the host, or on the whole address where the pattern holds `://`.

use crate::pattern::matches;

/// An address taken apart, host and scheme in small letters.
struct Address<'a> {
    scheme: String,
    host: String,
    /// From the first `/`, `?` or `#` on.
    rest: &'a str,
    /// Nothing in it is read differently by different programs.
    is_plain: bool,
}

impl<'a> Address<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (scheme, after) = text.split_once("://")?;
        let end = after.find(['/', '?', '#', '\\']).unwrap_or(after.len());
        let (authority, rest) = after.split_at(end);
        let with_port = authority.rsplit('@').next().unwrap_or(authority);
        let host = match with_port.strip_prefix('[') {
            Some(v6) => v6.split(']').next().unwrap_or(v6),
            None => with_port.split(':').next().unwrap_or(with_port),
        };
        let is_plain = text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\')
            && !authority.contains('@')
            && !host.is_empty()
            && host.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':'));
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        Some(Self { scheme: scheme.to_ascii_lowercase(), host, rest, is_plain })
    }
}

/// The host of an address, if there is no doubt about it.
pub(crate) fn host(address: &str) -> Option<String> {
    Address::read(address).filter(|address| address.is_plain).map(|address| address.host)
}

/// Whether an `allow` pattern is about an address. One that could be read in two ways is about none.
pub(crate) fn allows(pattern: &str, address: &str) -> bool {
    Address::read(address).is_some_and(|address| address.is_plain && fits(pattern, &address))
}

/// Whether a `deny` or `ask` pattern is about an address; in doubt it is.
pub(crate) fn catches(pattern: &str, address: &str) -> bool {
    let host_pattern = on_host(pattern);
    let parent = host_pattern.strip_prefix("*.");
    (pattern.contains("://") && matches(pattern, address))
        || Address::read(address).is_none_or(|address| {
            fits(pattern, &address) || parent.is_some_and(|parent| matches(parent, &address.host))
        })
}

fn fits(pattern: &str, address: &Address<'_>) -> bool {
    let Some(parts) = Address::read(pattern) else { return matches(&on_host(pattern), &address.host) };
    let rest = if parts.rest.is_empty() { "/" } else { parts.rest };
    let path = if address.rest.is_empty() { "/" } else { address.rest };
    matches(&parts.scheme, &address.scheme) && matches(&parts.host, &address.host) && matches(rest, path)
}

/// Other programs write `domain:` before a host.
fn on_host(pattern: &str) -> String {
    pattern.strip_prefix("domain:").unwrap_or(pattern).trim_end_matches('.').to_ascii_lowercase()
}
