//! A home that was started again, while its agent is still on the worker that it knew: all that it says arrives, once.

use posse_engine::{AnswerOutcome, Engine, SessionRequest};
use posse_protocol::{Answer, Approval, Budget, Ending, EventKind, Seq, Update};
use posse_testkit::Turn;
use serde_json::json;

use crate::stage::{REPORT, Ran, Stage, start};

#[tokio::test(flavor = "multi_thread")]
async fn answers_words_and_budgets_reach_an_agent_whose_home_was_started_again() {
    let mut stage = Stage::new([
        (
            "main",
            vec![
                Turn::call("agent", start("implementer", "write it")),
                Turn::call("agent", json!({"action": "wait"})),
                Turn::text("all done"),
            ],
        ),
        (
            "implementer-1",
            vec![
                Turn::call("shell", json!({"command": "echo 1 > one.txt"})),
                Turn::text(REPORT),
                Turn::text(REPORT),
                Turn::text(REPORT),
            ],
        ),
    ])
    .await;
    stage.models_at_home = false;
    stage.grant.approval = Approval::Ask;
    stage.approvals.person = true;
    let worker = stage.worker("one", &[]);
    let engine = Engine::open(&stage.folder("home")).unwrap();
    let mut session = engine.start(stage.request("go", stage.fleet("home"))).unwrap();
    let id = session.id;
    let (agent, asked) = loop {
        if let Update::Event(event) = session.next().await.expect("the session goes on")
            && let EventKind::PersonNeeded { question } = &event.kind
        {
            break (event.agent, question.call.clone());
        }
    };
    // It takes that in at its next turn, so no home has it on record when the first one ends.
    assert!(session.tell("implementer-1", "be quick", false));
    tokio::time::sleep(stage_moment()).await;
    session.detach().await.unwrap();
    drop((session, engine));

    let engine = Engine::open(&stage.folder("home")).unwrap();
    let request = SessionRequest { prompt: String::new(), ..stage.request("", stage.fleet("home")) };
    let mut session = engine.resume(id, request).await.unwrap();
    assert!(session.tell("implementer-1", "and be kind", false));
    let more = Budget { turns: Some(5), ..Budget::UNLIMITED };
    engine.top_up(id, Some("implementer-1"), more).await.unwrap();
    assert_eq!(session.answer(agent, &asked, Answer::Once), AnswerOutcome::Accepted);
    while session.next().await.is_some() {}
    let report = session.report().await.expect("a report");
    let all = Ran { events: engine.events_after(id, Seq(0), 100_000).unwrap(), report };
    assert_eq!(all.workers_of("implementer-1"), ["one"], "the same run goes on");
    let report = all.report_of("implementer-1");
    assert_eq!(report.ending, Ending::Completed, "{report:?}");
    for words in ["be quick", "and be kind"] {
        let told = all.of("implementer-1").into_iter();
        let told = told.filter(|kind| matches!(kind, EventKind::Told { text, .. } if text.contains(words)));
        assert_eq!(told.count(), 1, "{words}");
    }
    worker.kill();
}

/// Long enough that words of the first home have arrived, most of the time; either way they are told once.
fn stage_moment() -> std::time::Duration {
    std::time::Duration::from_millis(200)
}
