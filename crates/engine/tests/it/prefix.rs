//! Request n+1 starts with request n's bytes up to its last message, on every protocol, over hundreds of turns.

use posse_model::Protocol;
use posse_protocol::{Ending, EventKind};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use crate::check::World;

const TURNS: usize = 500;

/// How many bytes two requests share at their start.
fn shared(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// Where the last message of a request begins.
fn last_message(body: &[u8]) -> usize {
    let text = String::from_utf8_lossy(body);
    ["{\"role\":", "{\"type\":\"function_call", "{\"type\":\"message\""]
        .iter()
        .filter_map(|m| text.rfind(m))
        .max()
        .unwrap()
}

#[tokio::test]
async fn five_hundred_turns_are_prefix_stable() {
    for protocol in [Protocol::Chat, Protocol::Responses, Protocol::Anthropic] {
        let turns = (0..TURNS).map(|n| {
            Turn::text(format!("Step {n}."))
                .reasoning(format!("thought {n}"))
                .and_call("grep", json!({"pattern": format!("beta|{n}")}))
        });
        let mut world = World::of(FakeModel::with(turns.chain([Turn::text("done")])).await);
        world.protocol = protocol;
        let ran = world.run("go").await;
        assert_eq!(ran.report.ending, Ending::Completed, "{protocol:?}");
        let requests = world.model.requests();
        assert_eq!(requests.len(), TURNS + 1, "{protocol:?}");
        for pair in requests.windows(2) {
            let (before, after) = (&pair[0].body, &pair[1].body);
            let (same, wanted) = (shared(before, after), last_message(before));
            assert!(same >= wanted, "{protocol:?}: only {same} of {wanted} bytes are shared");
        }
    }
}

#[tokio::test]
async fn after_compaction_the_prefix_starts_anew_and_is_stable_again() {
    let rule = |request: &posse_testkit::Captured| {
        let json = request.json();
        let last = json["messages"].as_array().unwrap().last().unwrap().to_string();
        if last.contains("getting too long") {
            return Turn::text("Notes: I have read a lot.").no_usage();
        }
        let n = json["messages"].as_array().unwrap().len();
        let done = request.body.len() > 8_000 && json.to_string().contains("I have read a lot") && n > 8;
        let call = Turn::call("shell", json!({"command": format!("printf '%0900d' {n}")}));
        if done { Turn::text("done").no_usage() } else { call.no_usage() }
    };
    let mut world = World::of(FakeModel::by_rule(rule).await);
    world.context_window = Some(6_000);
    let ran = world.run("the task").await;
    assert_eq!(ran.report.ending, Ending::Completed, "{:?}", ran.report);
    let compactions = ran.events().filter(|e| matches!(e.kind, EventKind::Compacted { .. })).count();
    assert_eq!(compactions, 1);
    let requests = world.model.requests();
    let breaks =
        requests.windows(2).filter(|pair| shared(&pair[0].body, &pair[1].body) < last_message(&pair[0].body));
    assert_eq!(breaks.count(), 1, "only the compaction breaks the prefix");
    let last = requests.last().unwrap().json().to_string();
    assert!(last.contains("the task") && last.contains("I have read a lot"), "{last}");
}
