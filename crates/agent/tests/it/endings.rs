//! Every kind of ending is reached, carries what text there is, and is final.

use posse_agent::{Agent, Done, Input, Output, Step};
use posse_protocol::{
    CallId, Ending, EventKind, Failure, Message, ModelError, ModelErrorKind, Purpose, Reply, Sender,
    StopReason, ToolResult,
};

use crate::drive::{calls, fine, run, says, script, settings, well_formed};

fn told() -> Input {
    Input::Told { from: Sender::Person, text: "do it".into() }
}

#[test]
fn a_task_step_by_step() {
    let mut agent = Agent::new(settings());
    let Output { record, step } = agent.handle(told(), 0);
    assert_eq!(step, Step::CallModel { turn: 1, purpose: Purpose::Work });
    let asked = EventKind::told(Sender::Person, "do it");
    assert_eq!(record, [asked, EventKind::TurnStarted { turn: 1, purpose: Purpose::Work }]);

    let reply = calls(&[("read", r#"{"path":"a"}"#), ("read", r#"{"path":"b"}"#)]);
    let Output { record, step } = agent.handle(Input::Replied(reply.clone()), 5);
    assert_eq!(step, Step::CallTools { calls: reply.calls.clone() });
    assert_eq!(record, []);

    // Answered out of order; told in order.
    let done = |id: &str, text: &str| Done {
        id: CallId(id.into()),
        ok: true,
        text: text.into(),
        attachments: Vec::new(),
        ran: true,
        read_only: true,
    };
    let Output { step, .. } = agent.handle(Input::ToolsDone(vec![done("c1", "B"), done("c0", "A")]), 9);
    assert_eq!(step, Step::CallModel { turn: 2, purpose: Purpose::Work });
    let result = |id: &str, text: &str| ToolResult {
        id: CallId(id.into()),
        ok: true,
        text: text.into(),
        attachments: Vec::new(),
    };
    let last = agent.conversation().messages().last().map(|m| m.as_ref().clone());
    assert_eq!(last, Some(Message::Tools { results: vec![result("c0", "A"), result("c1", "B")] }));

    let Output { step, .. } = agent.handle(Input::Replied(says("done")), 12);
    assert_eq!(step, Step::Settle(Ending::Completed));
    assert_eq!((agent.last_words(), agent.tool_calls(), agent.spent().turns), ("done", 2, 2));
    assert_eq!(agent.spent().usage.input_tokens, None, "unknown is not zero");

    // Settled is settled.
    let before = agent.clone();
    for input in [told(), Input::Replied(says("more")), Input::Cancel { partial: "x".into(), done: vec![] }] {
        assert_eq!(agent.handle(input, 12).step, Step::Settle(Ending::Completed));
        assert_eq!(agent, before);
    }
}

#[test]
fn how_replies_end_an_agent() {
    let failed = |failure| Ending::Failed { failure };
    let cut = Reply { stop: StopReason::MaxTokens, ..says("and then") };
    let refused = Reply { stop: StopReason::Refusal, ..says("I will not") };
    let paused = Reply { stop: StopReason::Other("pause_turn".into()), ..says("so ") };
    let cases = [
        ("text", vec![says("done")], Ending::Completed, "done", 1),
        ("paused", vec![paused, says("far")], Ending::Completed, "so far", 2),
        ("empty twice", vec![says(""), says(" \n")], failed(Failure::EmptyReply), "", 2),
        ("empty once", vec![says(""), says("done")], Ending::Completed, "done", 2),
        ("cut once", vec![cut.clone(), says(" it was done")], Ending::Completed, "and then it was done", 2),
        ("always cut", vec![cut], failed(Failure::ReplyCutOff), "and thenand thenand then", 3),
        ("refusal", vec![refused], Ending::Refused, "I will not", 1),
    ];
    for (name, replies, ending, words, turns) in cases {
        let run = run(settings(), script(replies), fine);
        assert_eq!(run.ending, Some(ending), "{name}");
        assert_eq!(run.agent.last_words(), words, "{name}");
        assert_eq!(run.agent.spent().turns, turns, "{name}");
    }
}

#[test]
fn a_failing_model_ends_it_with_what_had_arrived() {
    use ModelErrorKind::*;
    let kinds = [
        NotAuthorised,
        RateLimited,
        Overloaded,
        Unreachable,
        Stalled,
        CutOff,
        BadReply,
        BadRequest,
        NotRecorded,
    ];
    for kind in kinds {
        let error = ModelError { partial: "I was about to".into(), ..ModelError::new(kind, "went wrong") };
        let run = run(settings(), |_, _| Err(error.clone()), fine);
        let failure =
            Failure::Model { kind, message: "went wrong".into(), said: String::new(), advice: String::new() };
        assert_eq!(run.ending, Some(Ending::Failed { failure }));
        assert_eq!(run.agent.last_words(), "I was about to");
        assert_eq!(run.agent.spent().turns, 1, "the loop itself never tries again");
    }
}

#[test]
fn cancel_answers_what_was_under_way() {
    let mut agent = Agent::new(settings());
    agent.handle(told(), 0);
    agent.handle(Input::Replied(calls(&[("read", "{}"), ("test", "{}"), ("nope", "{")])), 1);
    let finished = Done {
        id: CallId("c0".into()),
        ok: true,
        text: "A".into(),
        attachments: Vec::new(),
        ran: true,
        read_only: true,
    };
    let output = agent.handle(Input::Cancel { partial: String::new(), done: vec![finished] }, 2);
    assert_eq!(output.step, Step::Settle(Ending::Cancelled));
    let Some(Message::Tools { results }) = agent.conversation().messages().last().map(|m| m.as_ref()) else {
        panic!("results expected");
    };
    let texts = results.iter().map(|r| r.text.split(':').next().unwrap_or("")).collect::<Vec<_>>();
    assert_eq!(texts, ["A", "stopped before it was done; what it did so far is unknown", "not run"]);
    well_formed(&agent);
}

#[test]
fn a_broken_record_and_a_cancel_before_the_start() {
    let mut agent = Agent::new(settings());
    agent.handle(told(), 0);
    let output = agent.handle(Input::Broken { message: "disk full".into() }, 0);
    let failure = Failure::Internal { message: "disk full".into() };
    assert_eq!(output.step, Step::Settle(Ending::Failed { failure }));

    let mut agent = Agent::new(settings());
    let output = agent.handle(Input::Cancel { partial: String::new(), done: vec![] }, 0);
    assert_eq!(output.step, Step::Settle(Ending::Cancelled));
}

#[test]
fn words_told_while_busy_come_at_the_next_turn() {
    let mut agent = Agent::new(settings());
    agent.handle(told(), 0);
    let more = Input::Told { from: Sender::Person, text: "and hurry".into() };
    assert_eq!(agent.handle(more, 1).step, Step::Wait);
    let output = agent.handle(Input::Replied(says("done")), 2);
    assert_eq!(output.step, Step::CallModel { turn: 2, purpose: Purpose::Work });
    let last = agent.conversation().messages().last().map(|m| m.as_ref().clone());
    assert_eq!(last, Some(Message::user("and hurry")));
}

#[test]
fn inputs_nobody_waits_for_change_nothing() {
    let mut agent = Agent::new(settings());
    agent.handle(told(), 0);
    let before = agent.clone();
    assert_eq!(agent.handle(Input::ToolsDone(vec![]), 0).step, Step::Wait);
    assert_eq!(agent, before);
}
