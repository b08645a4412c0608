//! What a hostile worker asks of home: calls of delegation tools that its agent may not make, and model calls.

use posse_protocol::EventKind;
use serde_json::{Value, json};

use super::foe::{Held, is_over, life};
use super::ground::{Attempt, Comes, FORGED, Ground};

pub(super) const ATTEMPTS: usize = REQUESTS.len() + SPENT.len() + 1;

fn call(name: &str, arguments: &Value) -> Value {
    json!({"ask": "delegate", "call": {"id": format!("call-{name}"), "name": name, "arguments": arguments.to_string()}})
}

/// Asks, and expects that home says no.
async fn is_denied(mut held: Held, request: Value, why: &str) {
    assert!(held.tell(&life()[..1]).await);
    let reply = held.ask(1, &request).await;
    let denied = reply["came"] == "refused" || reply["outcome"]["ok"] == false;
    assert!(denied && reply.to_string().contains(why), "{why}: {reply}");
    let rest: Vec<Value> = life()[1..].to_vec();
    assert!(held.tell(&rest).await);
    held.end(&super::foe::end()).await;
}

macro_rules! denied {
    ($name:literal, $request:expr, $why:literal) => {
        Attempt {
            name: $name,
            comes: Comes::Completed,
            play: |held, _| Box::pin(is_denied(held, $request, $why)),
        }
    };
}

static REQUESTS: &[Attempt] = &[
    denied!(
        "starts",
        call("agent", &json!({"action": "start", "role": "implementer", "prompt": FORGED})),
        ""
    ),
    denied!("merges", call("agent", &json!({"action": "merge", "agent": "honest"})), ""),
    denied!("cancels", call("agent", &json!({"action": "cancel", "agent": "honest"})), ""),
    denied!(
        "messages",
        call("agent", &json!({"action": "message", "agent": "honest", "message": FORGED})),
        ""
    ),
    denied!("writes-at-home", call("write_file", &json!({"path": "evil.txt", "content": FORGED})), ""),
    denied!("runs-at-home", call("shell", &json!({"command": "touch evil.txt"})), ""),
    Attempt {
        name: "unknown",
        comes: Comes::Failed("cannot be read"),
        play: |mut held, _| {
            Box::pin(async move {
                let said = held.request(1, 0, &json!({"ask": FORGED}));
                held.until(said, |heard| is_over(heard).then_some(())).await;
            })
        },
    },
    // Requests that wait for what is never told.
    Attempt {
        name: "early",
        comes: Comes::Failed("more than"),
        play: |mut held, _| {
            Box::pin(async move {
                let wait = call("agent", &json!({"action": "status", "why": "x".repeat(100_000)}));
                held.say_until_over(|held, id| held.request(id, u64::MAX, &wait)).await;
            })
        },
    },
    // One call whose answer is awaited under ever new numbers: one of them gets it.
    Attempt {
        name: "many-waiters",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                assert!(held.tell(&life()[..1]).await);
                let wait = call("agent", &json!({"action": "wait", "seconds": 3}));
                for id in 1..2_000 {
                    held.say(held.request(id, held.recorded, &wait)).await;
                }
                let reply = held.ask(2_000, &wait).await;
                assert_eq!(reply["came"], "delegated", "{reply}");
                assert!(held.tell(&life()[1..]).await);
                held.end(&super::foe::end()).await;
            })
        },
    },
    // Calls whose answers nobody takes.
    Attempt {
        name: "many-calls",
        comes: Comes::Failed("more than"),
        play: |mut held, _| {
            Box::pin(async move {
                let status = |id: u64| {
                    json!({"ask": "delegate", "call": {"id": format!("call-{id}"), "name": "agent",
                        "arguments": "{\"action\": \"status\"}"}})
                };
                held.say_until_over(|held, id| held.request(id, 0, &status(id))).await;
            })
        },
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_delegates_no_more_than_it_may() {
    let names: Vec<&str> = REQUESTS.iter().map(|attempt| attempt.name).collect();
    let ground = Ground::new(&names, "explore").await;
    let ran = ground.play(REQUESTS).await;
    let admitted = ran.events.iter().filter(|event| matches!(event.kind, EventKind::AgentAdmitted { .. }));
    assert_eq!(admitted.count(), names.len() + 1, "nobody else was started");
}

static SPENT: &[Attempt] = &[
    // Many calls at the same time, of which it forgets each at once.
    Attempt {
        name: "at-once",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                assert!(held.tell(&life()[..1]).await);
                for id in 1..300 {
                    held.say(held.request(id, 0, &json!({"ask": "call_model"}))).await;
                }
                let rest: Vec<Value> = life()[1..].to_vec();
                assert!(held.tell(&rest).await);
                held.end(&super::foe::end()).await;
            })
        },
    },
    // One after the other, and it tells nothing of what came.
    Attempt {
        name: "untold",
        comes: Comes::Completed,
        play: |mut held, _| {
            Box::pin(async move {
                assert!(held.tell(&life()[..1]).await);
                for id in 1..200 {
                    let reply = held.ask(id, &json!({"ask": "call_model"})).await;
                    if reply["came"] == "refused" {
                        break;
                    }
                    assert!(id < 199, "it is refused at some time");
                }
                let rest: Vec<Value> = life()[1..].to_vec();
                assert!(held.tell(&rest).await);
                held.end(&super::foe::end()).await;
            })
        },
    },
];

/// Home counts model calls itself: a worker that says nothing of them spends no more than its agent may.
#[tokio::test(flavor = "multi_thread")]
async fn model_calls_are_counted_at_home() {
    let names: Vec<&str> = SPENT.iter().map(|attempt| attempt.name).collect();
    let mut ground = Ground::new(&names, "explore").await;
    ground.stage.delegation.sub_agents.max_turns = 10;
    ground.play(SPENT).await;
    for name in names {
        let calls = ground.arena.calls_of(name);
        assert!(calls <= 60, "{name} made {calls} calls");
    }
}

static ABSENT: &[Attempt] = &[denied!("no-models", json!({"ask": "call_model"}), "no models")];

#[tokio::test(flavor = "multi_thread")]
async fn home_calls_no_models_for_workers_that_have_their_own() {
    let mut ground = Ground::new(&["no-models"], "explore").await;
    ground.stage.models_at_home = false;
    ground.play(ABSENT).await;
    assert_eq!(ground.arena.calls_of("no-models"), 0);
}
