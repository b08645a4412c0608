//! Traces in a real back end, Arize Phoenix. It is large, so this is among the tests for soaking (`scripts/test --soak`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::posse::Ran;
use crate::telemetry::three_levels;

struct Phoenix {
    process: Child,
    _folder: tempfile::TempDir,
    port: u16,
}

impl Drop for Phoenix {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Phoenix {
    fn start() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let parts = Command::new(root.join("../../scripts/python-parts"))
            .arg(root.join("tests/phoenix/parts.txt"))
            .output()
            .unwrap();
        assert!(parts.status.success(), "{}", String::from_utf8_lossy(&parts.stderr));
        let programs = String::from_utf8(parts.stdout).unwrap();
        let (folder, port, other) = (tempfile::tempdir().unwrap(), free_port(), free_port());
        let process = Command::new(Path::new(programs.trim()).join("phoenix"))
            .arg("serve")
            .env("PHOENIX_WORKING_DIR", folder.path())
            .env("PHOENIX_HOST", "127.0.0.1")
            .env("PHOENIX_PORT", port.to_string())
            .env("PHOENIX_GRPC_PORT", other.to_string())
            .env("PHOENIX_TELEMETRY_ENABLED", "false")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut phoenix = Self { process, _folder: folder, port };
        while phoenix.get("/healthz").is_none() {
            assert!(phoenix.process.try_wait().unwrap().is_none(), "it ended");
            std::thread::sleep(Duration::from_millis(200));
        }
        phoenix
    }

    fn get(&self, path: &str) -> Option<String> {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        let output = Command::new("curl").args(["-sf", &url]).output().unwrap();
        output.status.success().then(|| String::from_utf8(output.stdout).unwrap())
    }

    /// Its spans, once both processes have told their last one.
    fn spans(&self) -> Vec<Value> {
        loop {
            let page = self.get("/v1/projects/default/spans?limit=1000").unwrap_or_default();
            let page: Value = serde_json::from_str(&page).unwrap_or_default();
            let spans = page["data"].as_array().cloned().unwrap_or_default();
            if spans.iter().filter(|span| span["name"] == "session").count() == 2 {
                return spans;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

#[test]
fn a_session_of_three_levels_that_was_resumed_is_one_tree_there() {
    let (person, phoenix) = (three_levels(), Phoenix::start());
    for args in [&["run", "Do it."][..], &["resume", "last", "And more."]] {
        let mut command = person.command(args);
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{}", phoenix.port));
        let ran = Ran::from(command.output().unwrap());
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        assert!(!ran.stderr.contains("were not sent"), "{ran:#?}");
    }
    let spans = phoenix.spans();
    let known: BTreeMap<&str, &Value> =
        spans.iter().map(|span| (span["context"]["span_id"].as_str().unwrap(), span)).collect();
    let path = |name: &str| {
        let mut at =
            spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
        let mut path = vec![name];
        while let Some(above) = at["parent_id"].as_str().and_then(|id| known.get(id)) {
            path.push(above["name"].as_str().unwrap());
            at = above;
        }
        path.join(" < ")
    };
    assert_eq!(
        path("invoke_agent bob"),
        "invoke_agent bob < execute_tool agent bob < invoke_agent ann < execute_tool agent ann < invoke_agent main \
         < session"
    );
    let traces: BTreeSet<_> = spans.iter().map(|span| span["context"]["trace_id"].to_string()).collect();
    assert_eq!(traces.len(), 1, "one trace");
    assert!(spans.iter().all(|span| span["parent_id"].is_null() == (span["name"] == "session")));
    for (start, want) in [("invoke_agent", "AGENT"), ("chat", "LLM"), ("execute_tool", "TOOL")] {
        let of_kind = spans.iter().filter(|span| span["name"].as_str().unwrap().starts_with(start));
        let kinds: BTreeSet<_> = of_kind.map(|span| span["span_kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, BTreeSet::from([want]), "{start}");
    }
}
