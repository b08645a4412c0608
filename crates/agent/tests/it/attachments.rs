//! What is shown goes with its message: into the conversation, through a shortening, and out of the record.

use posse_agent::{Agent, Done, Input, Next, Recall, Settings, Step};
use posse_protocol::{
    CallId, EventKind, MailId, Message, ModelError, ModelErrorKind, Purpose, Sender, ToolResult, Words,
};

use crate::drive::{calls, image, says, settings};

fn words(text: &str, name: &str) -> Words {
    Words { text: text.into(), attachments: vec![image(name)] }
}

fn told(text: &str, name: &str) -> Input {
    Input::Told { from: Sender::Person, text: words(text, name) }
}

fn done(id: &str, text: &str) -> Done {
    let attachments = vec![image("found.png")];
    Done { id: CallId(id.into()), ok: true, text: text.into(), attachments, ran: true, read_only: true }
}

#[test]
fn what_is_shown_is_on_record_and_in_the_conversation() {
    let mut agent = Agent::new(settings());
    let mut events = agent.handle(told("look", "task.png"), 0).record;
    let asked = EventKind::told(Sender::Person, words("look", "task.png"));
    assert_eq!(events[0], asked);
    let reply = calls(&[("read", "{}")]);
    events.push(EventKind::Replied { turn: 1, reply: reply.clone(), duration_ms: 1, cost_usd: None });
    events.extend(agent.handle(Input::Replied(reply.clone()), 1).record);
    // Mail waits for the next turn with what it shows.
    agent.hear(MailId::default(), Sender::Person, words("and this", "more.png"));
    agent.handle(Input::ToolsDone(vec![done("c0", "shown")]), 2);
    let wanted = [
        Message::User { text: "look".into(), attachments: vec![image("task.png")] },
        Message::Assistant { text: String::new(), reasoning: Vec::new(), calls: reply.calls },
        Message::Tools {
            results: vec![ToolResult {
                id: CallId("c0".into()),
                ok: true,
                text: "shown".into(),
                attachments: vec![image("found.png")],
            }],
        },
        Message::User { text: "and this".into(), attachments: vec![image("more.png")] },
    ];
    let messages: Vec<Message> = agent.conversation().messages().iter().map(|m| (**m).clone()).collect();
    assert_eq!(messages, wanted);
}

/// Mail that was on its way when the process ended still shows what it showed, once.
#[test]
fn mail_on_record_keeps_what_it_shows() {
    let shown = || words("look", "mail.png");
    let mut recall = Recall::new(settings(), &[]);
    recall.event(&EventKind::mailed(Sender::Person, "look"));
    recall.event(&EventKind::mailed(Sender::Person, shown()));
    recall.event(&EventKind::told(Sender::Person, "look"));
    let mut recalled = recall.finish();
    assert_eq!(recalled.next, Next::TakeIn(Box::new(Input::GoOn)));
    let record = recalled.agent.handle(Input::GoOn, 0).record;
    assert_eq!(record[0], EventKind::told(Sender::Person, shown()));
}

/// The estimate takes an image for 400 tokens and not for its base64, so ten of them fit where their text would not.
#[test]
fn images_count_by_what_they_show() {
    let window = Settings { context_window: Some(10_000), ..settings() };
    let mut agent = Agent::new(window);
    agent.handle(told("look", "task.png"), 0);
    let mut step = Step::Wait;
    for turn in 0..12 {
        let arguments = format!("{{\"n\":{turn}}}");
        agent.handle(Input::Replied(calls(&[("read", &arguments)])), turn);
        step = agent.handle(Input::ToolsDone(vec![done("c0", &arguments)]), turn).step;
        if turn == 9 {
            assert!(matches!(step, Step::CallModel { purpose: Purpose::Work, .. }), "{step:?}");
        }
    }
    // 13 images of 400 tokens, and what they stand in.
    assert!(matches!(step, Step::CallModel { purpose: Purpose::Work, .. }), "{step:?}");
    for turn in 12..30 {
        let arguments = format!("{{\"n\":{turn}}}");
        agent.handle(Input::Replied(calls(&[("read", &arguments)])), turn);
        step = agent.handle(Input::ToolsDone(vec![done("c0", &arguments)]), turn).step;
        if matches!(step, Step::CallModel { purpose: Purpose::Summary, .. }) {
            break;
        }
    }
    assert!(matches!(step, Step::CallModel { purpose: Purpose::Summary, .. }), "{step:?}");
}

/// The task keeps its image through both ways of shortening; older images go with their messages.
#[test]
fn the_task_keeps_what_it_shows_when_the_conversation_is_shortened() {
    let overflow = || Input::ModelFailed(ModelError::new(ModelErrorKind::ContextTooLong, "too long"));
    let mut ran = 0;
    for by_notes in [true, false] {
        let mut agent = Agent::new(Settings { context_window: Some(6_000), ..settings() });
        let mut events = agent.handle(told("look", "task.png"), 0).record;
        for turn in 0..40 {
            let arguments = format!("{{\"n\":{turn}}}");
            agent.handle(Input::Replied(calls(&[("read", &arguments)])), turn);
            let output = agent.handle(Input::ToolsDone(vec![done("c0", &arguments)]), turn);
            events.extend(output.record);
            if matches!(output.step, Step::CallModel { purpose: Purpose::Summary, .. }) {
                break;
            }
        }
        let answer = if by_notes { Input::Replied(says("notes")) } else { overflow() };
        events.extend(agent.handle(answer, 50).record);
        assert!(events.iter().any(|event| matches!(event, EventKind::Compacted { .. })), "{by_notes}");
        let messages = agent.conversation().messages();
        let shown: Vec<&str> = messages
            .iter()
            .flat_map(|m| m.attachments())
            .map(|attachment| attachment.name.as_str())
            .collect();
        assert_eq!(shown[0], "task.png");
        assert!(shown.len() <= 6, "{shown:?}");
        let Message::User { text, attachments } = &*messages[0] else { panic!("the task comes first") };
        assert!(text.starts_with("look") && *attachments == [image("task.png")]);
        ran += 1;
    }
    assert_eq!(ran, 2);
}
