//! Traces and metrics: what a collector gets while sessions run, what a file holds, and that a bad collector changes
//! nothing. What is sent is decoded with the official messages of another language.

mod collector;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use posse_testkit::{Captured, FakeModel, Fixture, Turn, asker};
use serde_json::{Value, json};

use crate::crew::REPORT;
use crate::posse::{Person, Ran};
use collector::{Behaviour, Collector};

/// Main asks ann, ann asks bob, and whoever has the report of the other reports.
pub(crate) fn three_levels() -> Person {
    fn answer(request: &Captured) -> Turn {
        let request = request.json();
        let text = request.to_string();
        let told = |name: &str| text.contains(&format!("report from=\\\"{name}"));
        let start = |name: &str| {
            Turn::call(
                "agent",
                json!({"action": "start", "name": name, "role": "general", "prompt": "Do it."}),
            )
        };
        match asker(&request).as_str() {
            "bob" => Turn::text(REPORT),
            "ann" if told("bob") => Turn::text(REPORT),
            "ann" if text.contains("\"role\":\"tool\"") => Turn::text("Bob is at it."),
            "ann" => start("bob"),
            _ if told("ann") => Turn::text("All is done, secretly."),
            _ if text.contains("\"role\":\"tool\"") => Turn::text("Ann is at it."),
            _ => start("ann"),
        }
    }
    let model = FakeModel::by_rule_blocking(answer);
    Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git())
}

fn run(person: &Person, collector: &Collector, args: &[&str], more: &[(&str, &str)]) -> Ran {
    let mut command = person.command(args);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.address()).envs(more.iter().copied());
    Ran::from(command.output().unwrap())
}

/// What official messages say of requests.
fn decoded(requests: &[(&str, Vec<u8>)]) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let parts = Command::new(root.join("../../scripts/python-parts")).output().unwrap();
    assert!(parts.status.success(), "{}", String::from_utf8_lossy(&parts.stderr));
    let mut python = Command::new(Path::new(String::from_utf8(parts.stdout).unwrap().trim()).join("python"));
    python.arg(root.join("tests/it/decode_otlp.py"));
    for (place, (kind, body)) in requests.iter().enumerate() {
        let file = folder.path().join(place.to_string());
        std::fs::write(&file, body).unwrap();
        python.arg(kind).arg(file);
    }
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn collected(collector: &Collector) -> Value {
    let requests = collector.requests();
    for request in &requests {
        assert_eq!(request.header("content-type"), "application/x-protobuf");
    }
    let kind = |path: &str| if path == "/v1/traces" { "traces" } else { "metrics" };
    decoded(&requests.iter().map(|request| (kind(&request.path), request.body.clone())).collect::<Vec<_>>())
}

fn spans(all: &Value) -> Vec<Value> {
    all["spans"].as_array().unwrap().clone()
}

/// Each span as `PARENT > NAME`, with links.
fn lines(spans: &[Value]) -> Vec<String> {
    let names: BTreeMap<&str, &str> =
        spans.iter().map(|span| (span["id"].as_str().unwrap(), span["name"].as_str().unwrap())).collect();
    assert_eq!(names.len(), spans.len(), "ids are unique");
    let mut lines: Vec<String> = spans
        .iter()
        .map(|span| {
            let parent = span["parent"].as_str().unwrap();
            let above =
                names.get(parent).copied().unwrap_or(if parent.is_empty() { "" } else { "elsewhere" });
            let mut line = format!("{above} > {}", span["name"].as_str().unwrap());
            for link in span["links"].as_array().unwrap() {
                let to = names.get(link["id"].as_str().unwrap()).copied().unwrap_or("elsewhere");
                line += &format!(" ({}: {to})", link["posse.link"].as_str().unwrap());
            }
            line
        })
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_collector_gets_the_tree_and_a_file_holds_the_same() {
    let (person, collector) = (three_levels(), Collector::start(Behaviour::Takes));
    let outside = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    let more = [
        ("TRACEPARENT", outside),
        ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20k3y"),
        ("OTEL_SERVICE_NAME", "mine"),
    ];
    let ran = run(&person, &collector, &["run", "Do it, secretly."], &more);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(!ran.stderr.contains("Traces"), "{ran:#?}");
    let live = collected(&collector);
    insta::assert_snapshot!("three_levels", lines(&spans(&live)).join("\n"));
    assert!(spans(&live).iter().all(|span| span["trace"] == outside[3..35]));
    let root = spans(&live).into_iter().find(|span| span["name"] == "session").unwrap();
    assert_eq!(root["parent"], outside[36..52]);
    assert!(collector.requests().iter().all(|request| request.header("authorization") == "Bearer k3y"));
    assert!(
        live["resources"].as_array().unwrap().iter().all(|one| one["service.name"] == "mine"),
        "{live:#}"
    );
    let bytes: Vec<u8> = collector.requests().into_iter().flat_map(|request| request.body).collect();
    assert!(!contains(&bytes, b"secretly"), "nobody opted in");

    // Once more, in a process of its own.
    let again = Collector::start(Behaviour::Takes);
    let ran = run(&person, &again, &["resume", "last", "And more."], &[]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let both: Vec<Value> = spans(&live).into_iter().chain(spans(&collected(&again))).collect();
    let both = lines(&both);
    assert!(both.contains(&" > session (resumed: session)".to_owned()), "{both:#?}");
    assert!(
        both.contains(&"session > invoke_agent main (resumed: invoke_agent main)".to_owned()),
        "{both:#?}"
    );

    let file = person.data_dir().join("../trace.bin");
    let path = file.to_str().unwrap();
    assert_eq!(person.posse(&["sessions", "export", "--format", "otlp", "-o", path]).code, Some(0));
    let recorded = decoded(&[("traces", std::fs::read(&file).unwrap())]);
    assert_eq!(lines(&spans(&recorded)), both, "the same spans");
    let piped = person.command(&["sessions", "export", "--format", "otlp", "--content"]).output().unwrap();
    assert!(contains(&piped.stdout, b"secretly"), "content was asked for");
    assert!(!contains(&std::fs::read(&file).unwrap(), b"secretly"));
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn metrics_count_what_is_on_record() {
    let (person, collector) = (three_levels(), Collector::start(Behaviour::Takes));
    let ran = run(&person, &collector, &["run", "Do it."], &[("OTEL_TRACES_EXPORTER", "none")]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let told = collected(&collector);
    assert_eq!(told["spans"], json!([]), "none are wanted");
    let all = told["metrics"].as_array().unwrap();
    let points = |name: &str| {
        let metric =
            all.iter().find(|metric| metric["name"] == name).unwrap_or_else(|| panic!("{name}: {all:#?}"));
        metric["points"].as_array().unwrap().clone()
    };
    let sum =
        |name: &str, field: &str| points(name).iter().map(|one| one[field].as_f64().unwrap()).sum::<f64>();
    let requests = person.model.requests().len() as f64;
    assert_eq!(sum("gen_ai.client.inference.duration", "count"), requests);
    assert_eq!(sum("gen_ai.invoke_agent.duration", "count"), 3.0);
    assert_eq!(sum("gen_ai.invoke_agent.inference_calls", "sum"), requests);
    assert_eq!(sum("gen_ai.execute_tool.duration", "count"), 2.0);
    assert_eq!(sum("posse.agents.running", "value"), 0.0);
    let (input, output) =
        ("gen_ai.client.inference.usage.input_tokens", "gen_ai.client.inference.usage.output_tokens");
    let cost = (sum(input, "value") + 2.0 * sum(output, "value")) / 1e6;
    assert!((sum("posse.cost", "value") - cost).abs() < 1e-9 && cost > 0.0);
    assert_eq!(points("posse.cost")[0]["attributes"]["gen_ai.request.model"], "fake-model");
}

#[test]
fn a_bad_collector_is_mentioned_once_and_changes_nothing() {
    for behaviour in
        [Behaviour::Gone, Behaviour::Hangs, Behaviour::Refuses, Behaviour::Babbles, Behaviour::HangsUp]
    {
        let (person, collector) = (three_levels(), Collector::start(behaviour));
        let began = Instant::now();
        let ran = run(&person, &collector, &["run", "Do it."], &[("OTEL_EXPORTER_OTLP_HEADERS", "k=s3cret")]);
        assert_eq!(ran.code, Some(0), "{behaviour:?} {ran:#?}");
        assert!(ran.stdout.contains("All is done"), "{behaviour:?} {ran:#?}");
        let mentions = ran.stderr.lines().filter(|line| line.contains("were not sent to")).count();
        assert_eq!(mentions, 1, "{behaviour:?} {}", ran.stderr);
        assert!(
            ran.stderr.contains(&collector.address()) && !ran.stderr.contains("s3cret"),
            "{}",
            ran.stderr
        );
        // Not a promise about speed: nobody waits for a collector without an end.
        assert!(began.elapsed().as_secs() < 60, "{behaviour:?}");
    }
}

#[test]
fn a_collector_that_is_busy_gets_all_in_the_end() {
    let (person, collector) = (three_levels(), Collector::start(Behaviour::BusyAtFirst));
    let ran = run(&person, &collector, &["run", "Do it."], &[("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(collector.requests().iter().all(|request| request.header("content-encoding") == "gzip"));
    assert!(!ran.stderr.contains("were not sent"), "{ran:#?}");
    let told = collected(&collector);
    assert!(lines(&spans(&told)).contains(&"session > invoke_agent main".to_owned()), "{told:#}");
    assert!(!told["metrics"].as_array().unwrap().is_empty());
}

#[test]
fn a_collector_that_knows_no_metrics_is_not_mentioned_unless_it_was_named_for_them() {
    let (person, collector) = (three_levels(), Collector::start(Behaviour::TracesAlone));
    let ran = run(&person, &collector, &["run", "Do it."], &[]);
    assert!(!ran.stderr.contains("were not sent"), "{ran:#?}");
    assert!(!spans(&collected(&collector)).is_empty());
    let metrics = format!("{}/v1/metrics", collector.address());
    let ran =
        run(&person, &collector, &["run", "Do it."], &[("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", &metrics)]);
    assert!(ran.stderr.contains("Metrics were not sent to"), "{ran:#?}");
}

#[test]
fn what_cannot_be_exported_is_told_before_the_work() {
    let person = Person::new([Turn::text("Hello.")]);
    let mut command = person.command(&["run", "Hi."]);
    command
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:1")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let ran = Ran::from(command.output().unwrap());
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    assert!(
        ran.stderr.contains("OTEL_EXPORTER_OTLP_PROTOCOL is grpc, and only http/protobuf is spoken"),
        "{ran:#?}"
    );
}
