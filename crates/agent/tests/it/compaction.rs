//! A conversation that gets long is shortened; what matters survives; what cannot fit ends (promise T6).

use posse_agent::{Agent, Done, Input, Output, Settings, Step};
use posse_protocol::{
    Ending, EventKind, Failure, Message, ModelError, ModelErrorKind, Purpose, Reply, Sender,
};

use crate::drive::{calls, fine, run, says, settings, used};

fn window(tokens: u64) -> Settings {
    Settings { context_window: Some(tokens), ..settings() }
}

fn last(agent: &Agent) -> String {
    agent.conversation().messages().last().map(|m| format!("{m:?}")).unwrap_or_default()
}

fn compactions(events: &[EventKind]) -> usize {
    events.iter().filter(|e| matches!(e, EventKind::Compacted { .. })).count()
}

/// Reads `turns` new things, then says it is done; writes notes when asked.
fn reader(turns: u32, notes: &'static str) -> impl FnMut(u32, &Agent) -> Result<Reply, ModelError> {
    let mut reads = 0;
    move |_, agent| {
        if last(agent).contains("too long") {
            return Ok(says(notes));
        }
        reads += 1;
        Ok(if reads > turns { says("done") } else { calls(&[("read", &format!(r#"{{"n":{reads}}}"#))]) })
    }
}

#[test]
fn notes_replace_the_conversation_and_task_and_pins_stay() {
    let mut agent = None;
    let mut model = reader(20, "I have read a lot");
    let outcome = run(
        window(4000),
        |turn, a| {
            agent = Some(a.clone());
            model(turn, a)
        },
        |_| (true, "x".repeat(1000)),
    );
    assert_eq!(outcome.ending, Some(Ending::Completed));
    assert!(compactions(&outcome.events) >= 1);
    let messages = outcome.agent.conversation().messages();
    let Some(Message::User { text, .. }) = messages.first().map(|m| m.as_ref()) else { panic!("task first") };
    assert!(text.starts_with("do it") && text.contains("I have read a lot"), "{text}");
    assert!(outcome.agent.conversation().epoch() >= 1);
}

#[test]
fn pinned_texts_are_kept_word_for_word() {
    let mut pinned = Agent::new(window(4000));
    pinned.pin("To-do", "- [ ] first\n- [x] second".into());
    let mut model = reader(20, "notes");
    let mut input = posse_agent::Input::Told { from: posse_protocol::Sender::Person, text: "do it".into() };
    let mut done = false;
    for ms in 0..200 {
        input = match pinned.handle(input, ms).step {
            posse_agent::Step::CallModel { turn, .. } => match model(turn, &pinned) {
                Ok(reply) => posse_agent::Input::Replied(reply),
                Err(error) => posse_agent::Input::ModelFailed(error),
            },
            posse_agent::Step::CallTools { calls } => {
                let answer = |c: &posse_protocol::ToolCall| posse_agent::Done {
                    id: c.id.clone(),
                    ok: true,
                    text: "x".repeat(1000),
                    attachments: Vec::new(),
                    ran: true,
                    read_only: true,
                };
                posse_agent::Input::ToolsDone(calls.iter().map(answer).collect())
            }
            _ => {
                done = true;
                break;
            }
        };
    }
    assert!(done);
    let first = format!("{:?}", pinned.conversation().messages()[0]);
    assert!(first.contains("To-do:\\n- [ ] first\\n- [x] second"), "{first}");
}

#[test]
fn reported_tokens_count_more_than_the_estimate() {
    let mut asked = false;
    let model = |turn: u32, agent: &Agent| {
        asked |= last(agent).contains("too long");
        Ok(match turn {
            1 => used(calls(&[("read", "{}")]), 9000, 10),
            2 => says("notes"),
            _ => says("done"),
        })
    };
    let run = run(window(10_000), model, fine);
    assert_eq!((run.ending, compactions(&run.events)), (Some(Ending::Completed), 1));
    assert!(asked);
}

#[test]
fn an_overflow_drops_the_older_part_and_goes_on() {
    let mut overflowed = false;
    let model = |turn: u32, _: &Agent| {
        if turn == 8 && !std::mem::replace(&mut overflowed, true) {
            return Err(ModelError::new(ModelErrorKind::ContextTooLong, "too many tokens"));
        }
        Ok(if turn > 10 { says("done") } else { calls(&[("read", &format!(r#"{{"n":{turn}}}"#))]) })
    };
    let run = run(settings(), model, |_| (true, "x".repeat(1000)));
    assert_eq!((run.ending, compactions(&run.events)), (Some(Ending::Completed), 1));
}

#[test]
fn without_notes_the_older_part_is_dropped_and_the_work_goes_on() {
    // The first time it is asked for notes it fails, calls a tool instead, or says nothing.
    let ways: [fn() -> Result<Reply, ModelError>; 3] = [
        || Err(ModelError::new(ModelErrorKind::Overloaded, "busy")),
        || Ok(calls(&[("read", "{}")])),
        || Ok(says("")),
    ];
    for way in ways {
        let (mut asked, mut asked_again) = (0, false);
        let mut model = reader(12, "unused");
        let run = run(
            window(4000),
            |turn, agent| {
                if last(agent).contains("too long") {
                    asked += 1;
                    return way();
                }
                let all = format!("{:?}", agent.conversation().messages());
                asked_again |= all.contains("will be replaced by your next message");
                model(turn, agent)
            },
            |_| (true, "x".repeat(1000)),
        );
        assert_eq!(run.ending, Some(Ending::Completed));
        assert!(asked >= 1 && !asked_again, "the request for notes does not stay in the conversation");
    }
}

#[test]
fn what_cannot_fit_ends_after_two_tries() {
    let too_long = || Err(ModelError::new(ModelErrorKind::ContextTooLong, "too many tokens"));
    // A window smaller than the system prompt, a model that always overflows, one that gives no notes.
    let tiny = run(window(100), |_, _| Ok(says("notes")), fine);
    let always = run(settings(), |_, _| too_long(), fine);
    let mute = run(window(100), |_, _| Ok(says("")), fine);
    let broken = run(window(100), |_, _| too_long(), fine);
    for (name, run) in [("tiny", tiny), ("always", always), ("mute", mute), ("broken", broken)] {
        let Some(Ending::Failed { failure: Failure::ContextFull { tokens: Some(1..), .. } }) = run.ending
        else {
            panic!("{name}: {:?}", run.ending)
        };
        assert!(compactions(&run.events) <= 2, "{name}");
        assert!(run.agent.spent().turns <= 3, "{name}: {} turns", run.agent.spent().turns);
    }
}

fn reads(agent: &mut Agent, n: u32, text: &str) -> Output {
    let call = format!(r#"{{"n":{n}}}"#);
    let Step::CallTools { calls } = agent.handle(Input::Replied(calls(&[("read", &call)])), 1).step else {
        panic!("the call runs")
    };
    let (id, text) = (calls[0].id.clone(), text.to_string());
    agent.handle(
        Input::ToolsDone(vec![Done {
            id,
            ok: true,
            text,
            attachments: Vec::new(),
            ran: true,
            read_only: true,
        }]),
        2,
    )
}

/// An agent that has read so much that the next result makes it write notes.
fn nearly_full() -> Agent {
    let mut agent = Agent::new(window(4000));
    agent.handle(Input::Told { from: Sender::Person, text: "the task".into() }, 0);
    let output = reads(&mut agent, 1, &"x".repeat(11_000));
    assert!(matches!(output.step, Step::CallModel { purpose: Purpose::Work, .. }), "{:?}", output.step);
    agent
}

fn texts(agent: &Agent) -> Vec<String> {
    agent.conversation().messages().iter().map(|message| format!("{message:?}")).collect()
}

#[test]
fn results_that_were_not_acted_on_stay_word_for_word() {
    let mut agent = nearly_full();
    let unread = format!("report of explore-1: it is in line 7{}", ".".repeat(1500));
    let asked = reads(&mut agent, 2, &unread);
    assert!(matches!(asked.step, Step::CallModel { purpose: Purpose::Summary, .. }), "{:?}", asked.step);
    let output = agent.handle(Input::Replied(says("my notes")), 3);
    let texts = texts(&agent);
    assert_eq!(texts.len(), 3, "{texts:?}");
    assert!(texts[0].contains("the task") && texts[0].contains("my notes"), "{}", texts[0]);
    assert!(texts[2].contains(&unread), "{}", texts[2]);
    let kept = output.record.iter().find_map(|event| match event {
        EventKind::Compacted { opening, kept, .. } => Some((opening.contains("my notes"), *kept)),
        _ => None,
    });
    assert_eq!(kept, Some((true, 2)), "the record says what is left");
}

#[test]
fn completions_that_came_meanwhile_are_told_after_the_notes_word_for_word() {
    let mut agent = nearly_full();
    let id = "00000000-0000-7000-8000-000000000007".parse().unwrap();
    let report = format!("explore-1: completed{}", ".".repeat(2000));
    agent.hear_reports(report.clone(), vec![id]);
    let asked = reads(&mut agent, 2, "short");
    assert!(matches!(asked.step, Step::CallModel { purpose: Purpose::Summary, .. }), "{:?}", asked.step);
    let told = |output: &Output| output.record.contains(&EventKind::ReportsDelivered { agents: vec![id] });
    assert!(!told(&asked), "what is not told is not delivered");
    let output = agent.handle(Input::Replied(says("my notes")), 3);
    assert!(told(&output));
    assert_eq!(
        agent.conversation().messages().last().map(|last| (**last).clone()),
        Some(Message::user(report))
    );
}
