//! What commands from another process do to a session.

use posse_api::Handle;
use posse_api::calls::record::SessionQuestions;
use posse_api::calls::steering::{
    AnswerQuestion, CancelSession, ChangeSettings, CloseSession, PromptSession, StopTurn, TellAgent,
};
use posse_engine::{AnswerOutcome, Delivery};
use posse_protocol::{Answer, Approval, Ending, Event, EventKind, Question, Seq, SessionId, Update};
use posse_setup::Wishes;
use posse_testkit::Turn;
use serde_json::json;

use crate::stage::Stage;

/// Follows from elsewhere until an event of this kind.
async fn until<T>(handle: &Handle, session: SessionId, wanted: impl Fn(&Event) -> Option<T>) -> T {
    let mut following = handle.follow(session, Seq(0)).await.unwrap();
    while let Some(update) = following.next().await.unwrap() {
        if let Update::Event(event) = update
            && let Some(found) = wanted(&event)
        {
            return found;
        }
    }
    panic!("the session is over")
}

fn question(event: &Event) -> Option<Question> {
    match &event.kind {
        EventKind::PersonNeeded { question } => Some(question.clone()),
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_is_answered_from_another_process_and_the_first_answer_counts() {
    let stage = Stage::new().await;
    let wishes = Wishes { person: true, approval: Some(Approval::Ask), ..Wishes::default() };
    let write = Turn::call("write_file", json!({"path": "new.txt", "content": "new\n"}));
    let session = stage.start_with(wishes, [write, Turn::text("Written.")]).await;
    let id = session.id;
    let [here, elsewhere] = stage.handles(id).await;
    stage.let_go();
    let (agent, call) = until(&elsewhere, id, |event| Some((event.agent, question(event)?.call))).await;
    for handle in [&here, &elsewhere] {
        let waiting = handle.call(id, SessionQuestions {}).await.unwrap().questions;
        let asked = waiting.iter().map(|waiting| (waiting.agent, waiting.question.call.clone()));
        assert_eq!(asked.collect::<Vec<_>>(), [(agent, call.clone())]);
    }
    let answer = |answer| AnswerQuestion { agent, call: call.clone(), answer };
    let first = elsewhere.call(id, answer(Answer::Once)).await.unwrap();
    let no = Answer::No { reason: "No.".to_owned() };
    let second = here.call(id, answer(no)).await.unwrap();
    assert_eq!((first.outcome, second.outcome), (AnswerOutcome::Accepted, AnswerOutcome::NotOpen));
    assert_eq!(session.report().await.unwrap().text, "Written.");
    assert_eq!(std::fs::read_to_string(stage.root.path().join("project/new.txt")).unwrap(), "new\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_that_stays_is_prompted_told_stopped_and_closed_from_another_process() {
    let stage = Stage::new().await;
    let wishes = Wishes { stay: true, ..Wishes::default() };
    let list = || Turn::call("list_files", json!({}));
    let session = stage.start_with(wishes, [list(), Turn::text("One."), Turn::text("Two.")]).await;
    let id = session.id;
    let [_, elsewhere] = stage.handles(id).await;
    let rested = |nth: usize| {
        let elsewhere = elsewhere.clone();
        async move {
            let count = std::cell::Cell::new(0);
            let wanted = |event: &Event| {
                let rests = matches!(event.kind, EventKind::AgentRested { .. });
                count.set(count.get() + usize::from(rests));
                (rests && count.get() == nth).then_some(())
            };
            until(&elsewhere, id, wanted).await;
        }
    };
    let words = "Mind the gap.".to_owned();
    let tell = TellAgent { agent: None, text: words.clone(), delivery: Delivery::NextTurn };
    elsewhere.call(id, tell).await.unwrap();
    stage.let_go();
    rested(1).await;
    assert!(stage.model.requests().last().unwrap().json().to_string().contains(&words));
    let next = "What else?".to_owned();
    elsewhere.call(id, PromptSession { text: next.clone(), attachments: Vec::new() }).await.unwrap();
    rested(2).await;
    assert!(stage.model.requests().last().unwrap().json().to_string().contains(&next));
    let plan = ChangeSettings { approval: Some(Approval::Plan), ..ChangeSettings::default() };
    elsewhere.call(id, plan).await.unwrap();
    elsewhere.call(id, StopTurn {}).await.unwrap();
    elsewhere.call(id, CloseSession {}).await.unwrap();
    let report = session.report().await.unwrap();
    assert_eq!((report.ending, report.text.as_str()), (Ending::Completed, "Two."));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_is_cancelled_from_another_process() {
    let stage = Stage::new().await;
    let session = stage.start([Turn::text("Never.")]).await;
    let [_, elsewhere] = stage.handles(session.id).await;
    elsewhere.call(session.id, CancelSession {}).await.unwrap();
    assert_eq!(session.report().await.unwrap().ending, Ending::Cancelled);
}
