//! Which addresses on the network may be fetched from. Pure, but for looking names up.
//!
//! A page's text can make a model fetch what it would not: what listens on this machine or in its network is out of
//! bounds unless its very host is in the grant. Names are checked by what they resolve to, at the connection itself.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use posse_protocol::Network;
use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// Checks an address before a request, and again after each redirect.
pub(crate) fn check(network: &Network, url: &Url) -> Result<(), String> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(format!("only http and https can be fetched, not {}", url.scheme()));
    } else if !url.username().is_empty() || url.password().is_some() {
        return Err("an address with a user name or password in it is not fetched; leave it out".to_owned());
    }
    let host = host_of(url)?;
    if !posse_policy::reaches(network, &host) {
        return Err(format!("this agent may not reach {host}"));
    }
    let literal: Option<IpAddr> = host.parse().ok();
    if literal.is_some_and(|address| !is_public(address)) && !is_listed(network, &host) {
        return Err(not_public(&host));
    }
    Ok(())
}

fn host_of(url: &Url) -> Result<String, String> {
    let host = url.host_str().ok_or("the address names no host")?;
    Ok(host.trim_start_matches('[').trim_end_matches(']').to_owned())
}

fn not_public(host: &str) -> String {
    format!("{host} is not on the public network; a person must list it by name to allow it")
}

/// Whether a person named this very host.
fn is_listed(network: &Network, host: &str) -> bool {
    matches!(network, Network::Hosts(_)) && posse_policy::reaches(network, host)
}

/// Looks names up and leaves out addresses that are not public, so that no name leads inside.
pub(crate) struct PublicNames(pub(crate) Network);

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let host = name.as_str().to_owned();
        let listed = is_listed(&self.0, &host);
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let public: Vec<SocketAddr> =
                found.into_iter().filter(|address| listed || is_public(address.ip())).collect();
            if public.is_empty() {
                return Err(io::Error::other(not_public(&host)).into());
            }
            Ok(Box::new(public.into_iter()) as Addrs)
        })
    }
}

/// Whether an address belongs to the public network.
pub(crate) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let reserved = a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19));
    !(reserved
        || address.is_loopback()
        || address.is_private()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    // Addresses that carry another one inside lead to that one.
    if let Some(inner) = address.to_ipv4_mapped() {
        return is_public_v4(inner);
    }
    let inner = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => return is_public_v4(inner(high, low)),
        [0x2002, high, low, ..] => return is_public_v4(inner(high, low)),
        // Teredo, documentation, ORCHID and the rest of the block for protocols.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => return false,
        [0x3fff, second, ..] if second < 0x1000 => return false,
        _ => {}
    }
    // Only 2000::/3 is given out for public use.
    segments[0] & 0xe000 == 0x2000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        let public = [
            "8.8.8.8",
            "1.1.1.1",
            "172.32.0.1",
            "192.0.1.1",
            "100.128.0.1",
            "2606:4700::1111",
            "::ffff:8.8.8.8",
        ];
        let inside = [
            "0.0.0.0",
            "0.1.2.3",
            "127.0.0.1",
            "127.255.1.2",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "203.0.113.5",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "2002:a00:1::1",
            "2001:0:1::",
            "2001:db8::1",
            "::127.0.0.1",
            "fec0::1",
            "3fff::1",
        ];
        let parse = |text: &&str| -> IpAddr { text.parse().unwrap() };
        let wrong_public: Vec<_> = public.iter().filter(|text| !is_public(parse(text))).collect();
        let wrong_inside: Vec<_> = inside.iter().filter(|text| is_public(parse(text))).collect();
        assert_eq!((wrong_public, wrong_inside), (vec![], vec![]));
        assert_eq!(public.len() + inside.len(), 40);
    }
}
