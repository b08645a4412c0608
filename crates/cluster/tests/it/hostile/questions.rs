//! Questions that a hostile worker puts to the person.

use std::time::Duration;

use posse_engine::AnswerOutcome;
use posse_protocol::{Answer, Approval, CallId, Event, EventKind, FreeQuestion, Question, Update};
use posse_testkit::{Turn, asker};
use serde_json::{Value, json};

use super::foe::{Attack, Foe, Held, end, item, life};
use super::ground::{Attempt, Comes, FORGED, Ground};
use crate::stage::{REPORT, Ran, Stage};

pub(super) const ATTEMPTS: usize = ASKED.len() + 1;

fn question(tool: &str, what: &str) -> Question {
    Question { why: "because".to_owned(), ..Question::new(CallId("ask".to_owned()), tool, what) }
}

macro_rules! asked {
    ($name:literal, $why:literal, $question:expr) => {
        Attempt {
            name: $name,
            comes: Comes::Failed($why),
            play: |mut held, _| {
                Box::pin(async move {
                    let question: Question = $question;
                    held.is_refused_for(&[life()[0].clone(), item(&EventKind::PersonNeeded { question })])
                        .await;
                })
            },
        }
    };
}

static ASKED: &[Attempt] = &[
    asked!("leaves", "a question", Question { leaves: true, ..question("shell", FORGED) }),
    asked!("huge", "a question", question("shell", &FORGED.repeat(300_000))),
    asked!("control", "a question", question("shell", "echo \u{1b}[2J FORGED")),
    asked!("no-tool", "a question", question(FORGED, "x")),
    asked!("not-offered", "a question", question("write_file", FORGED)),
    asked!(
        "in-words",
        "a question",
        Question { asks: Some(FreeQuestion::default()), ..question("ask_person", "FORGED: your password?") }
    ),
    Attempt {
        name: "many",
        comes: Comes::Failed("a question"),
        play: |mut held, _| {
            Box::pin(async move {
                let asks = (0..500).map(|n| {
                    let call = CallId(format!("ask-{n}"));
                    item(&EventKind::PersonNeeded { question: Question { call, ..question("shell", "ls") } })
                });
                let items: Vec<Value> = [life()[0].clone()].into_iter().chain(asks).collect();
                held.is_refused_for(&items).await;
            })
        },
    },
];

#[tokio::test(flavor = "multi_thread")]
async fn questions_that_no_agent_there_can_have_are_not_asked() {
    let names: Vec<&str> = ASKED.iter().map(|attempt| attempt.name).collect();
    let mut ground = Ground::new(&names, "explore").await;
    ground.stage.approvals.person = true;
    let ran = ground.play(ASKED).await;
    let asked = ran.events.iter().filter(|event| matches!(event.kind, EventKind::PersonNeeded { .. }));
    assert!(asked.count() < 40, "the person is not flooded");
}

/// What the person allows an agent there is not allowed to agents here, whatever the question said.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_learnt_from_the_questions_of_a_worker() {
    for answer in [Answer::Session, Answer::Pattern { pattern: "write_file(*)".to_owned() }] {
        let rule = |request: &posse_testkit::Captured| {
            let request = request.json();
            let messages = request["messages"].as_array().unwrap();
            let turn = messages.iter().filter(|one| one["role"] == "assistant").count();
            let start = |name: &str, on: &str| json!({"action": "start", "role": "implementer", "prompt": "go", "name": name, "on": on});
            match (asker(&request).as_str(), turn) {
                ("main", 0) => Turn::call("agent", start("victim", "two")),
                ("main", 1) => Turn::text("I wait for it."),
                ("main", 2) => Turn::call("agent", start("local", "home")),
                ("local", 0) => Turn::call("write_file", json!({"path": "new.txt", "content": "x"})),
                ("local", _) => Turn::text(REPORT),
                _ => Turn::text("I wait."),
            }
        };
        let mut stage = Stage::by_rule(rule, None).await;
        stage.grant.approval = Approval::Ask;
        stage.approvals.person = true;
        let attack: Attack = std::sync::Arc::new(|mut held: Held| {
            Box::pin(async move {
                held.claim().await;
                let question =
                    Question { pattern: "write_file(*)".to_owned(), ..question("write_file", "new.txt") };
                let call = question.call.clone();
                assert!(held.tell(&[life()[0].clone(), item(&EventKind::PersonNeeded { question })]).await);
                // The answer comes as a command, again and again.
                loop {
                    if let Some(posse_cluster::RunDown::Command { body, series, number, .. }) =
                        held.hear().await
                    {
                        let upto = number;
                        held.say(posse_cluster::RunUp::CommandAck { epoch: held.epoch, series, upto }).await;
                        if body.get().contains("\"answer\"") {
                            break;
                        }
                    }
                    held.say(posse_cluster::RunUp::Renew { epoch: held.epoch, beat: 2 }).await;
                }
                let answered = EventKind::PersonAnswered { call, answer: Answer::Once };
                let items: Vec<Value> = [item(&answered)].into_iter().chain(life()[1..].to_vec()).collect();
                assert!(held.tell(&items).await);
                held.end(&end()).await;
            })
        });
        let _foe = Foe::rise(&stage.hub, "two", stage.folder("foe"), attack);
        let engine = posse_engine::Engine::open(&stage.folder("home")).unwrap();
        let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
        let (mut events, mut asked) = (Vec::new(), Vec::new());
        let ended = tokio::time::timeout(Duration::from_secs(60), async {
            while let Some(update) = session.next().await {
                let Update::Event(event) = update else { continue };
                if let EventKind::PersonNeeded { question } = &event.kind {
                    let first = asked.is_empty();
                    asked.push(event.agent);
                    let given = if first { answer.clone() } else { Answer::No { reason: "no".to_owned() } };
                    let outcome = session.answer(event.agent, &question.call, given);
                    assert_eq!(outcome, AnswerOutcome::Accepted);
                }
                events.push(Event::clone(&event));
            }
        });
        ended.await.expect("the session ends");
        let ran = Ran { events, report: session.report().await.unwrap() };
        assert_eq!(asked, [ran.agent("victim"), ran.agent("local")], "who was asked for: {answer:?}");
        assert!(!stage.files.path().join("new.txt").exists(), "the person said no");
    }
}
