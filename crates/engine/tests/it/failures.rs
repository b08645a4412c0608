//! Failure is honest: every kind ends typed, with what there is, and on record (promise T5, for one agent).

use posse_model::Protocol;
use posse_protocol::{Ending, EventKind, Failure, ModelErrorKind, StopReason};
use posse_testkit::Turn;
use serde_json::json;

use crate::check::World;

/// The ending in one word: `completed`, or the failure's kind.
fn word(ending: &Ending) -> String {
    match ending {
        Ending::Failed { failure: Failure::Model { kind, .. } } => format!("{kind:?}"),
        Ending::Failed { failure } => {
            format!("{failure:?}").split([' ', '{']).next().unwrap_or_default().to_string()
        }
        other => other.word().to_string(),
    }
}

#[tokio::test]
async fn every_kind_of_failure_ends_typed() {
    let many = |turn: Turn| vec![turn; 12];
    let error = |code: u16, text: &str| Turn::status_body(code, json!({"error": {"message": text}}));
    let cases = [
        ("429", many(Turn::status(429).retry_after("0")), "RateLimited"),
        ("529", many(Turn::status(529)), "Overloaded"),
        ("500", many(Turn::status(500)), "Overloaded"),
        ("401", many(error(401, "bad key")), "NotAuthorised"),
        ("400", many(error(400, "what?")), "BadRequest"),
        ("cut stream", many(Turn::text("some words here").split_every(50).cut_after(3)), "CutOff"),
        ("stall", many(Turn::text("some words here").split_every(50).stall_after(3)), "Stalled"),
        ("garbage", many(Turn::raw("data: {not json}\n\n")), "BadReply"),
        ("empty replies", many(Turn::empty()), "EmptyReply"),
        ("cut at the output limit", many(Turn::text("and").stop(StopReason::MaxTokens)), "ReplyCutOff"),
        ("refusal", many(Turn::text("no").stop(StopReason::Refusal)), "refused"),
        ("unknown tools", many(Turn::call("nope", json!({}))), "RepeatedCall"),
        ("the same call", many(Turn::call("read_file", json!({"path": "a.txt"}))), "RepeatedCall"),
        ("context", many(error(400, "context_length_exceeded: maximum context length is 5")), "ContextFull"),
    ];
    for (name, turns, want) in &cases {
        let world = World::new(turns.clone()).await;
        let ran = world.run("go").await;
        assert_eq!(word(&ran.report.ending), *want, "{name}: {:?}", ran.report.ending);
        let last = ran.events().last().map(|e| e.kind.clone());
        assert_eq!(
            last,
            Some(EventKind::AgentSettled { report: ran.report }),
            "{name}: the end is on record"
        );
    }
    assert_eq!(cases.len(), 14);
}

#[tokio::test]
async fn a_failing_start_is_tried_again_and_said() {
    for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Anthropic] {
        let mut world = World::new([Turn::status(503), Turn::reset(), Turn::text("done")]).await;
        world.protocol = protocol;
        let ran = world.run("go").await;
        assert_eq!(ran.report.ending, Ending::Completed, "{protocol:?}");
        let retries = ran.events().filter(|e| matches!(e.kind, EventKind::Retrying { .. })).count();
        assert_eq!(retries, 2, "{protocol:?}");
    }
}

#[tokio::test]
async fn a_stream_that_is_cut_after_its_first_words_is_asked_for_once_more() {
    let cut = || Turn::text("words ".repeat(50)).split_every(50).cut_after(5);
    let world = World::new([cut(), Turn::text("all of it")]).await;
    let ran = world.run("go").await;
    assert_eq!((&ran.report.ending, ran.report.text.as_str()), (&Ending::Completed, "all of it"));
    let retries: Vec<_> = ran.events().filter(|e| matches!(e.kind, EventKind::Retrying { .. })).collect();
    assert_eq!((world.model.calls(), retries.len()), (2, 1), "{retries:?}");

    let world = World::new([cut(), cut(), Turn::text("too late")]).await;
    let ran = world.run("go").await;
    assert_eq!(word(&ran.report.ending), "CutOff");
    assert_eq!(world.model.calls(), 2);
    assert!(ran.report.text.starts_with("words"), "partial text is reported");
    assert!(ran.report.text.len() <= 300, "and only that of the second time: {}", ran.report.text);
}

#[tokio::test]
async fn an_unreachable_model_is_said_to_be() {
    let world = World::new([]).await;
    let url = world.model.base_url();
    let mut config = posse_model::ModelConfig::new("gone", "m", Protocol::Chat, "http://127.0.0.1:9/v1");
    (config.retry.base_ms, config.retry.cap_ms) = (1, 2);
    let model = posse_model::Model::new(config, &posse_model::Governors::default()).unwrap();
    let request = posse_engine::SessionRequest {
        workspace: world.files.path().to_path_buf(),
        prompt: "go".into(),
        attachments: Vec::new(),
        models: posse_engine::models::Models::new(model, None),
        grant: world.grant.clone(),
        budget: world.budget,
        stay: false,
        tools: posse_tools::ToolSettings::default(),
        project: None,
        delegation: None,
        approvals: posse_engine::ApprovalSettings::default(),
        knowledge: posse_engine::KnowledgeSettings::default(),
        hooks: None,
        outside: None,
        workers: None,
        traceparent: None,
        watcher: None,
    };
    let ran = crate::check::finish(world.engine.start(request).unwrap()).await;
    let Ending::Failed { failure: Failure::Model { kind, message, advice, .. } } = &ran.report.ending else {
        panic!("{:?} ({url})", ran.report.ending);
    };
    assert_eq!(*kind, ModelErrorKind::Unreachable);
    assert_eq!(message, "no connection to 127.0.0.1:9: connection refused, after 2 tries");
    assert!(advice.contains("start the server"), "{advice}");
}
