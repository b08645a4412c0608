//! Agents that have sub-agents, report to others, or go on from a conversation.

use std::sync::Arc;

use posse_agent::{Agent, Done, Input, Kin, Settings, Step};
use posse_protocol::{Budget, CallId, Ending, Message, ModelError, ModelErrorKind, Purpose, Sender};

use crate::drive::{calls, says, settings, well_formed};

fn told(text: &str) -> Input {
    Input::Told { from: Sender::Person, text: text.into() }
}

fn started(settings: Settings) -> Agent {
    let mut agent = Agent::new(settings);
    agent.handle(told("go"), 0);
    agent
}

#[test]
fn with_sub_agents_at_work_it_idles_and_is_woken_by_what_it_is_told() {
    let mut agent = started(settings());
    agent.set_kin(Kin { live: 2, ..Kin::default() });
    assert_eq!(agent.handle(Input::Replied(says("They are on it.")), 1).step, Step::Wait);
    assert!(agent.is_idle() && agent.ending().is_none());
    agent.set_kin(Kin { live: 1, ..Kin::default() });
    let woken = agent.handle(Input::Told { from: Sender::Reports, text: "one is done".into() }, 2);
    assert!(matches!(woken.step, Step::CallModel { turn: 2, .. }));
    agent.set_kin(Kin::default());
    assert_eq!(agent.handle(Input::Replied(says("All done.")), 3).step, Step::Settle(Ending::Completed));
}

#[test]
fn idle_agents_are_stopped_like_others() {
    for (input, want) in [
        (Input::Cancel { partial: String::new(), done: vec![] }, Step::Settle(Ending::Cancelled)),
        (Input::Interrupted { partial: String::new(), done: vec![] }, Step::Wait),
    ] {
        let mut agent = started(settings());
        agent.set_kin(Kin { live: 1, ..Kin::default() });
        agent.handle(Input::Replied(says("waiting")), 1);
        assert_eq!(agent.handle(input, 2).step, want);
    }
    let mut agent = started(settings());
    agent.set_kin(Kin { live: 1, ..Kin::default() });
    agent.handle(Input::Replied(says("waiting")), 1);
    let last = agent.handle(Input::TimeUp { partial: String::new(), done: vec![] }, 2).step;
    assert!(matches!(last, Step::CallModel { .. }), "one last word: {last:?}");
    assert_eq!(agent.handle(Input::Replied(says("so far")), 3).step, Step::Settle(Ending::TimedOut));
}

#[test]
fn what_sub_agents_use_counts_against_the_budget() {
    let cases = [
        (Budget { tokens: Some(1000), ..Budget::UNLIMITED }, Ending::OutOfTokens),
        (Budget { cost_usd: Some(0.5), ..Budget::UNLIMITED }, Ending::OutOfMoney),
    ];
    for (budget, ending) in cases {
        let mut agent = started(Settings { budget, ..settings() });
        let step = agent.handle(Input::Replied(calls(&[("read", "{}")])), 1).step;
        assert!(matches!(step, Step::CallTools { .. }));
        agent.set_kin(Kin { live: 0, tokens: 1000, cost_usd: 0.5 });
        let done = Done {
            id: CallId("c0".into()),
            ok: true,
            text: "x".into(),
            attachments: Vec::new(),
            ran: true,
            read_only: true,
        };
        let last = agent.handle(Input::ToolsDone(vec![done]), 2).step;
        assert!(matches!(last, Step::CallModel { .. }));
        assert_eq!(agent.handle(Input::Replied(says("what I have")), 3).step, Step::Settle(ending));
    }
}

#[test]
fn an_interrupt_stops_what_is_under_way_and_what_was_told_comes_next() {
    let mut agent = started(settings());
    assert_eq!(agent.handle(told("stop that, look at b"), 1).step, Step::Wait);
    let next = agent.handle(Input::Interrupted { partial: "I was about".into(), done: vec![] }, 2);
    assert!(matches!(next.step, Step::CallModel { turn: 2, .. }));
    let messages = agent.conversation().messages().iter().map(|m| (**m).clone()).collect::<Vec<_>>();
    let partial = Message::Assistant { text: "I was about".into(), reasoning: vec![], calls: vec![] };
    assert_eq!(messages, [Message::user("go"), partial, Message::user("stop that, look at b")]);

    agent.handle(Input::Replied(calls(&[("read", "{}"), ("test", "{}")])), 3);
    agent.handle(told("and c"), 4);
    let done = Done {
        id: CallId("c0".into()),
        ok: true,
        text: "x".into(),
        attachments: Vec::new(),
        ran: true,
        read_only: true,
    };
    let next = agent.handle(Input::Interrupted { partial: String::new(), done: vec![done] }, 5);
    assert!(matches!(next.step, Step::CallModel { turn: 3, .. }));
    well_formed(&agent);
    let Message::Tools { results } = &*agent.conversation().messages()[4] else { panic!("no results") };
    assert_eq!((results[0].ok, results[1].ok), (true, false));
    assert!(results[1].text.contains("message that came in"));
}

#[test]
fn a_short_answer_is_an_answer() {
    for answer in ["42", "Done.", "ok", "完成", "y"] {
        let mut agent = started(settings());
        assert_eq!(agent.handle(Input::Replied(says(answer)), 1).step, Step::Settle(Ending::Completed));
        assert_eq!(agent.last_words(), answer);
    }
}

#[test]
fn a_report_too_long_for_its_reader_is_summed_up_once() {
    let long = "found it. ".repeat(50);
    let summing = Settings { sum_up_over: Some(400), ..settings() };
    let asked = |settings: &Settings| {
        let mut agent = started(settings.clone());
        let step = agent.handle(Input::Replied(says(&long)), 1).step;
        (agent, step)
    };
    let sum_up = Step::CallModel { turn: 2, purpose: Purpose::SumUp };
    let done = Step::Settle(Ending::Completed);
    let (mut agent, step) = asked(&summing);
    assert_eq!(step, sum_up);
    assert_eq!(agent.handle(Input::Replied(says("All found.")), 2).step, done);
    assert_eq!((agent.last_words(), agent.in_short()), (long.as_str(), Some("All found.")));
    assert_eq!(agent.conversation().messages().len(), 2, "the request for it does not stay");
    // What is no summary changes nothing: the work is done.
    let error = ModelError { partial: "All".into(), ..ModelError::new(ModelErrorKind::Overloaded, "down") };
    let (partial, done_calls) = (String::from("Al"), Vec::new());
    for bad in [
        Input::Replied(says("")),
        Input::Replied(calls(&[("read", "{}")])),
        Input::Replied(says(&"longer than before ".repeat(40))),
        Input::ModelFailed(error),
        Input::TimeUp { partial, done: done_calls },
    ] {
        let (mut agent, _) = asked(&summing);
        assert_eq!(agent.handle(bad, 2).step, done);
        assert_eq!((agent.last_words(), agent.in_short()), (long.as_str(), None));
    }
    // Without a turn left, and where it is not wished, nothing is asked.
    let budget = Budget { turns: Some(1), ..Budget::UNLIMITED };
    assert_eq!(asked(&Settings { budget, ..summing.clone() }).1, done);
    assert_eq!(asked(&settings()).1, done);
    // Words that come meanwhile are answered, and then the report is another.
    let (mut agent, _) = asked(&summing);
    agent.handle(told("and b?"), 2);
    let next = agent.handle(Input::Replied(says("All found.")), 3).step;
    assert_eq!(next, Step::CallModel { turn: 3, purpose: Purpose::Work });
    assert_eq!(agent.handle(Input::Replied(says("b, too.")), 4).step, done);
    assert_eq!((agent.last_words(), agent.in_short()), ("b, too.", None));
}

#[test]
fn a_conversation_is_taken_up_without_copying_it() {
    let known = vec![Arc::new(Message::user("before")), Arc::new(Message::user("more"))];
    let mut agent = Agent::knowing(settings(), &known);
    agent.handle(told("the new task"), 0);
    let messages = agent.conversation().messages();
    assert!(Arc::ptr_eq(&messages[0], &known[0]) && Arc::ptr_eq(&messages[1], &known[1]));
    assert_eq!(*messages[2], Message::user("the new task"));
    assert_eq!(agent.task(), "the new task");
}
