//! W1: nobody gets in who should not. Every route of the table and every file of the page, against every way of asking that
//! is not the page's own.

use posse_api::{Listen, ROUTES, ServeError, TlsFiles, Verb};
use serde_json::json;

use crate::served::{Options, Served, answer, status};

type Headers<'a> = &'a [(&'a str, &'a str)];

const SESSION: &str = "01890000-0000-7000-8000-000000000000";

fn places() -> Vec<(&'static str, String)> {
    let of_table = ROUTES.iter().map(|route| {
        let method = if route.verb == Verb::Get { "GET" } else { "POST" };
        (method, route.path.replace("{session}", SESSION))
    });
    let others =
        [("GET", "/openapi.json"), ("GET", "/api/no-such-route"), ("POST", "/api/nothing"), ("GET", "/api")];
    of_table.chain(others.map(|(method, path)| (method, path.to_owned()))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_route_answers_a_stranger() {
    let root = tempfile::tempdir().unwrap();
    let served = Served::start(root.path(), &root.path().join("data"), Options::default()).await;
    let (own, port) = (served.host(), served.serving.port);
    let wrong = format!("Bearer {}", "0".repeat(64));
    let bare = served.token.reveal().to_owned();
    let rebound = format!("attacker.example:{port}");
    let (foreign, other_port) = (format!("http://{rebound}"), format!("http://127.0.0.1:{}", port ^ 1));
    let ways: &[(&str, Headers<'_>, u16)] = &[
        ("no token", &[("authorization", "")], 401),
        ("wrong token", &[("authorization", &wrong)], 401),
        ("token without its kind", &[("authorization", &bare)], 401),
        ("token as a cookie", &[("authorization", ""), ("cookie", &bare)], 401),
        ("foreign origin", &[("origin", &foreign)], 403),
        ("origin of another port", &[("origin", &other_port)], 403),
        ("null origin", &[("origin", "null")], 403),
        ("rebinding host", &[("host", &rebound)], 403),
        ("rebinding host with its own origin", &[("host", &rebound), ("origin", &foreign)], 403),
        ("host without port", &[("host", "127.0.0.1")], 403),
        ("no host", &[("host", "")], 400),
        ("cross-site fetch", &[("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors")], 403),
        ("same-site fetch", &[("sec-fetch-site", "same-site"), ("sec-fetch-mode", "cors")], 403),
        (
            "cross-site navigation",
            &[
                ("sec-fetch-site", "cross-site"),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "document"),
            ],
            403,
        ),
    ];
    let mut tried = 0;
    for (method, path) in places() {
        for (what, headers, want) in ways {
            let found = served.status(method, &path, headers).await;
            // Without a host, the request is refused as bad or as forbidden.
            let refused = found == *want || (*want == 400 && found == 403);
            assert!(refused, "{what}: {method} {path} gave {found}");
            tried += 1;
        }
        if method == "POST" && path != "/api/nothing" {
            for kind in ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
                let found = served.status(method, &path, &[("content-type", kind)]).await;
                assert_eq!(found, 400, "{kind:?}: {method} {path}");
                tried += 1;
            }
        }
    }
    assert_eq!(own, served.host());
    let posts = ROUTES.iter().filter(|route| route.verb == Verb::Post).count();
    assert_eq!(tried, places().len() * ways.len() + posts * 4);
    assert!(places().len() > 60, "{}", places().len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_itself_is_open_holds_nothing_and_cannot_be_framed() {
    let root = tempfile::tempdir().unwrap();
    let served = Served::start(root.path(), &root.path().join("data"), Options::default()).await;
    let open = |path: &str| served.request("GET", path, "", &[("authorization", "")]);
    let page = served.raw(&open("/")).await;
    assert_eq!(status(&page), 200);
    let head = page.split("\r\n\r\n").next().unwrap().to_ascii_lowercase();
    for header in [
        "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        "x-content-type-options: nosniff",
        "x-frame-options: deny",
        "referrer-policy: no-referrer",
        "cross-origin-opener-policy: same-origin",
        "content-type: text/html; charset=utf-8",
    ] {
        assert!(head.contains(header), "{header} is missing in {head}");
    }
    assert!(!head.contains("access-control-"), "{head}");
    assert!(!page.contains("<script>") && !page.contains("style="), "nothing is inline");
    // A link in a mail or a terminal in a browser leads here.
    let link = [
        ("authorization", ""),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
        ("sec-fetch-dest", "document"),
    ];
    assert_eq!(served.status("GET", "/", &link).await, 200);
    for headers in [
        [("host", "attacker.example:80"), ("authorization", "")],
        [("origin", "null"), ("authorization", "")],
        [("sec-fetch-site", "cross-site"), ("authorization", "")],
    ] {
        for path in ["/", "/app.js", "/app.css"] {
            assert_eq!(served.status("GET", path, &headers).await, 403, "{path} {headers:?}");
        }
    }
    assert_eq!(served.status("POST", "/", &[]).await, 405);
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/tests/fold.test.js",
        "/package.json",
        "/vendor/../app.js",
        "//app.js",
    ] {
        assert_eq!(
            served.status("GET", path, &[("authorization", "")]).await,
            401,
            "{path} is no file of the page"
        );
    }
    let script = served.raw(&open("/app.js")).await;
    let tag = script.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let again = served.request("GET", "/app.js", "", &[("authorization", ""), ("if-none-match", &tag)]);
    assert_eq!(status(&served.raw(&again).await), 304);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_only_shows_refuses_everything_that_steers() {
    let root = tempfile::tempdir().unwrap();
    let options = Options { read_only: true, ..Options::default() };
    let served = Served::start(root.path(), &root.path().join("data"), options).await;
    let mut refused = 0;
    for route in ROUTES {
        let path = route.path.replace("{session}", SESSION);
        let method = route.verb.method();
        if route.streams {
            continue;
        }
        let body = if method == "POST" { "{}" } else { "" };
        let (_, said) = answer(&served.raw(&served.request(method.as_str(), &path, body, &[])).await);
        assert_eq!(said["kind"] == "read_only", route.steers, "{} {said}", route.name);
        refused += usize::from(route.steers);
    }
    assert!(refused >= 25, "{refused}");
    let (_, server) = served.get("/api/server").await;
    assert_eq!(server["read_only"], true);
    assert_eq!(
        served.post("/api/unknown", &json!({})).await.1["kind"],
        "read_only",
        "what is not known is refused"
    );
}

fn any_address() -> Listen {
    Listen::Address("0.0.0.0:0".parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_others_reach_is_not_served_without_tls() {
    let root = tempfile::tempdir().unwrap();
    let options = Options { listen: any_address(), ..Options::default() };
    let refused = Served::try_start(root.path(), &root.path().join("data"), options).await;
    assert!(matches!(refused, Err(ServeError::Plain)));
}

/// Others can reach it, by its own names.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_addresses_are_served_with_tls_only() {
    let root = tempfile::tempdir().unwrap();
    let certificates = root.path().join("certificates");
    let options = || Options {
        listen: any_address(),
        tls: Some(TlsFiles::Own(certificates.clone())),
        allowed_hosts: vec!["posse.test".to_owned()],
        ..Options::default()
    };
    let served = Served::start(root.path(), &root.path().join("data"), options()).await;
    assert!(served.serving.address.starts_with("https://"), "{}", served.serving.address);
    assert!(
        !served.raw(&served.request("GET", "/", "", &[])).await.contains("200 OK"),
        "no words without TLS"
    );
    let fingerprint = served.serving.fingerprint.clone().unwrap();
    let certificate = std::fs::read_dir(&certificates).unwrap().map(|entry| entry.unwrap().path());
    let certificate = certificate.into_iter().find(|path| path.extension().unwrap() == "crt").unwrap();
    // What other programs make of it: openssl reads it, curl trusts it for its names and for no other.
    let read = posse_testkit::run(
        "openssl",
        &["x509", "-in", certificate.to_str().unwrap(), "-noout", "-text", "-fingerprint", "-sha256"],
    );
    for part in [
        "DNS:localhost",
        "DNS:posse.test",
        "IP Address:127.0.0.1",
        "TLS Web Server Authentication",
        "ecdsa-with-SHA256",
        fingerprint.as_str(),
    ] {
        assert!(read.contains(part), "{part} is not in {read}");
    }
    let port = served.serving.port;
    let bearer = format!("authorization: Bearer {}", served.token.reveal());
    let curl = |name: &str| {
        let (url, resolve) =
            (format!("https://{name}:{port}/api/sessions"), format!("{name}:{port}:127.0.0.1"));
        posse_testkit::run(
            "curl",
            &[
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code} %{ssl_verify_result}",
                "--noproxy",
                "*",
                "--cacert",
                certificate.to_str().unwrap(),
                "--resolve",
                &resolve,
                "-H",
                &bearer,
                &url,
            ],
        )
    };
    assert_eq!(curl("localhost"), "200 0");
    assert_eq!(curl("posse.test"), "200 0");
    assert!(!curl("other.test").starts_with("200"), "a name that is not the certificate's");
    drop(served);
    let again = Served::start(root.path(), &root.path().join("data"), options()).await;
    assert_eq!(
        again.serving.fingerprint.as_deref(),
        Some(fingerprint.as_str()),
        "who has accepted it need not again"
    );
}
