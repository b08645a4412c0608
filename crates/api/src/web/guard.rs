//! Who may ask a server that others can reach: decides from the head of a request alone. Pure.
//!
//! A page of another site can make a browser send requests here. It can choose neither their `Host` nor their `Origin`, and
//! knows no token. A name that an attacker lets point to this machine (DNS rebinding) is not among the names that are served.

use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, Method, header};

use crate::failure::{CallError, CallErrorKind};
use crate::token::AccessToken;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const FETCH_MODE: HeaderName = HeaderName::from_static("sec-fetch-mode");
const FETCH_DEST: HeaderName = HeaderName::from_static("sec-fetch-dest");

/// What is known about a path before a request to it is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestTarget {
    /// The page itself, which holds no data. A link in another program may lead to it.
    Page,
    /// A file of the page, which holds no data.
    Asset,
    /// Anything else.
    Data,
}

/// The rules of one server.
#[derive(Debug)]
pub(crate) struct Guard {
    token: AccessToken,
    /// The names of this server with its port, in lower case.
    hosts: Vec<String>,
    /// `http` or `https`.
    scheme: &'static str,
}

impl Guard {
    pub(crate) fn new(token: AccessToken, hosts: Vec<String>, scheme: &'static str) -> Self {
        Self { token, hosts: hosts.iter().map(|host| host.to_ascii_lowercase()).collect(), scheme }
    }

    /// Whether a request may be answered.
    pub(crate) fn check(&self, parts: &Parts, asked: RequestTarget) -> Result<(), CallError> {
        self.check_host(parts)?;
        self.check_origin(&parts.headers)?;
        check_site(parts, asked)?;
        match asked {
            RequestTarget::Page | RequestTarget::Asset => Ok(()),
            RequestTarget::Data => self.check_token(&parts.headers),
        }
    }

    fn check_host(&self, parts: &Parts) -> Result<(), CallError> {
        let served = |host: &str| self.hosts.iter().any(|name| *name == host.to_ascii_lowercase());
        let host =
            only(&parts.headers, &header::HOST)?.ok_or_else(|| forbidden("The request names no host."))?;
        let authority = parts.uri.authority().map(|authority| authority.as_str());
        if served(host) && authority.is_none_or(served) {
            return Ok(());
        }
        Err(forbidden("The request is for a host that this server does not serve; --allow-host adds a name."))
    }

    fn check_origin(&self, headers: &HeaderMap) -> Result<(), CallError> {
        let Some(origin) = only(headers, &header::ORIGIN)? else { return Ok(()) };
        let origin = origin.to_ascii_lowercase();
        let own = origin.strip_prefix(self.scheme).and_then(|rest| rest.strip_prefix("://"));
        if own.is_some_and(|host| self.hosts.iter().any(|name| name == host)) {
            return Ok(());
        }
        Err(forbidden("The request comes from a page of another site."))
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), CallError> {
        let said = only(headers, &header::AUTHORIZATION)?;
        let token = said.and_then(|said| {
            let (kind, token) = said.split_once(' ')?;
            kind.eq_ignore_ascii_case("bearer").then_some(token)
        });
        if token.is_some_and(|token| self.token.is(token)) {
            return Ok(());
        }
        Err(CallError::new(
            CallErrorKind::Unauthorized,
            "The request has no valid token. `posse serve` prints a link that has it.",
        ))
    }
}

/// Browsers say where a request comes from. Another port of this machine is another site's, too.
fn check_site(parts: &Parts, asked: RequestTarget) -> Result<(), CallError> {
    let Some(site) = only(&parts.headers, &FETCH_SITE)? else { return Ok(()) };
    if site == "same-origin" || site == "none" {
        return Ok(());
    }
    let followed_link = asked == RequestTarget::Page
        && parts.method == Method::GET
        && only(&parts.headers, &FETCH_MODE)? == Some("navigate")
        && only(&parts.headers, &FETCH_DEST)? == Some("document");
    if followed_link { Ok(()) } else { Err(forbidden("The request comes from a page of another site.")) }
}

/// The only value of a header. Two of them could be read differently by two readers.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, CallError> {
    let mut values = headers.get_all(name).iter();
    let (first, second) = (values.next(), values.next());
    let bad = || CallError::new(CallErrorKind::BadRequest, format!("The header {name} is not understood."));
    if second.is_some() {
        return Err(bad());
    }
    first.map(|value| value.to_str().map_err(|_| bad())).transpose()
}

fn forbidden(message: &str) -> CallError {
    CallError::new(CallErrorKind::Forbidden, message)
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    type Headers<'a> = &'a [(&'a str, &'a str)];

    fn parts(method: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().method(method).uri("/api/sessions");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn guard() -> (Guard, String) {
        let token = AccessToken::random().unwrap();
        let bearer = format!("Bearer {}", token.reveal());
        let hosts = ["127.0.0.1:7007", "localhost:7007", "[::1]:7007"].map(str::to_owned).to_vec();
        (Guard::new(token, hosts, "http"), bearer)
    }

    const HOST: (&str, &str) = ("host", "127.0.0.1:7007");

    #[test]
    fn only_those_who_know_the_token_and_come_from_here_are_let_in() {
        use CallErrorKind::{BadRequest, Forbidden, Unauthorized};
        let (guard, bearer) = guard();
        let token = ("authorization", bearer.as_str());
        let wrong = format!("Bearer {}", "0".repeat(64));
        let cases: &[(Headers<'_>, Option<CallErrorKind>)] = &[
            (&[HOST, token], None),
            (&[("host", "LocalHost:7007"), token], None),
            (&[("host", "[::1]:7007"), token], None),
            (&[HOST, token, ("origin", "http://127.0.0.1:7007"), ("sec-fetch-site", "same-origin")], None),
            (&[HOST], Some(Unauthorized)),
            (&[HOST, ("authorization", &wrong)], Some(Unauthorized)),
            (&[HOST, ("authorization", bearer.trim_start_matches("Bearer "))], Some(Unauthorized)),
            (&[HOST, token, token], Some(BadRequest)),
            (&[token], Some(Forbidden)),
            (&[("host", "evil.example:7007"), token], Some(Forbidden)),
            (&[("host", "127.0.0.1:7008"), token], Some(Forbidden)),
            (&[("host", "127.0.0.1"), token], Some(Forbidden)),
            (&[HOST, HOST, token], Some(BadRequest)),
            (&[HOST, token, ("origin", "null")], Some(Forbidden)),
            (&[HOST, token, ("origin", "http://evil.example")], Some(Forbidden)),
            (&[HOST, token, ("origin", "https://127.0.0.1:7007")], Some(Forbidden)),
            (&[HOST, token, ("origin", "http://127.0.0.1:9999")], Some(Forbidden)),
            (&[HOST, token, ("sec-fetch-site", "cross-site")], Some(Forbidden)),
            (&[HOST, token, ("sec-fetch-site", "same-site")], Some(Forbidden)),
        ];
        for (headers, want) in cases {
            let found =
                guard.check(&parts("GET", headers), RequestTarget::Data).err().map(|error| error.kind);
            assert_eq!(found, *want, "{headers:?}");
        }
    }

    #[test]
    fn a_link_from_elsewhere_leads_to_the_page_and_to_nothing_else() {
        let (guard, _) = guard();
        let link = [
            HOST,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "document"),
        ];
        assert!(guard.check(&parts("GET", &link), RequestTarget::Page).is_ok());
        assert!(guard.check(&parts("GET", &link), RequestTarget::Asset).is_err());
        assert!(guard.check(&parts("GET", &link), RequestTarget::Data).is_err());
        let framed = [
            HOST,
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-mode", "navigate"),
            ("sec-fetch-dest", "iframe"),
        ];
        assert!(guard.check(&parts("GET", &framed), RequestTarget::Page).is_err());
    }
}
