//! Where a server listens, and the names that it is asked by.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::net::TcpListener;

/// Where a server listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// On this machine only; 0 for any port.
    Loopback(u16),
    /// On an address that others can reach, with TLS.
    Address(SocketAddr),
}

/// Sockets that listen, all at the same port.
pub(crate) struct Bound {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) port: u16,
}

pub(crate) async fn bind(listen: Listen) -> io::Result<Bound> {
    let (first, port) = match listen {
        Listen::Loopback(port) => (IpAddr::from(Ipv4Addr::LOCALHOST), port),
        Listen::Address(address) => (address.ip(), address.port()),
    };
    let listener = TcpListener::bind((first, port)).await?;
    let port = listener.local_addr()?.port();
    let mut listeners = vec![listener];
    if matches!(listen, Listen::Loopback(_)) {
        // `localhost` may mean either; a machine without the second has only the first.
        listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await);
    }
    Ok(Bound { listeners, port })
}

/// The names that a server is asked by, without port.
pub(crate) fn names(listen: Listen, allowed: &[String]) -> Vec<String> {
    let mut names = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "::1".to_owned()];
    if let Listen::Address(address) = listen
        && !address.ip().is_unspecified()
    {
        names.insert(0, address.ip().to_string());
    }
    names.extend(allowed.iter().cloned());
    names.dedup();
    names
}

/// A name as it is in a `Host` header and in a link.
pub(crate) fn with_port(name: &str, port: u16) -> String {
    if name.parse::<Ipv6Addr>().is_ok() { format!("[{name}]:{port}") } else { format!("{name}:{port}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_asked_by_its_own_names() {
        let here = names(Listen::Loopback(7), &["box.local".to_owned()]);
        assert_eq!(here, ["127.0.0.1", "localhost", "::1", "box.local"]);
        let there = names(Listen::Address("192.0.2.7:443".parse().unwrap()), &[]);
        assert_eq!(there[0], "192.0.2.7");
        let any = names(Listen::Address("0.0.0.0:443".parse().unwrap()), &[]);
        assert_eq!(any[0], "127.0.0.1", "an address that stands for all is nobody's name");
        assert_eq!(with_port("::1", 80), "[::1]:80");
        assert_eq!(with_port("localhost", 80), "localhost:80");
    }
}
