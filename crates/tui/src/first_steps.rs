//! What somebody tries first: help, completion, commands without arguments, an answer, going back.

use posse_protocol::{Answer, CallId, CallKind, EventKind, Progress, ProgressKind, Question, Update};
use posse_terminal::{Key, KeyCode, PathIndex, TerminalInput, TextLine};

use crate::chat::{Chat, ChatInput};
use crate::commands::OwnCommand;
use crate::effect::{ChatEffect, ChatFound, ChatOutcome, ChatQuery};
use crate::region;
use crate::views::tests::sample::{WrittenSession, id, session, written};

fn press(chat: &mut Chat, key: impl Into<Key>) -> Vec<ChatEffect> {
    chat.handle(ChatInput::Terminal(TerminalInput::Key(key.into())), 1)
}

fn write(chat: &mut Chat, text: &str) -> Vec<ChatEffect> {
    text.chars().flat_map(|c| press(chat, Key::char(c))).collect()
}

fn printed(chat: &mut Chat) -> Vec<String> {
    chat.take_printed().iter().map(|line| line.text().trim_end().to_owned()).collect()
}

fn shown(chat: &Chat) -> Vec<String> {
    region(chat).lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}

#[test]
fn a_question_mark_helps_and_is_not_sent() {
    let mut chat = Chat::new(80, 24, 0);
    assert!(write(&mut chat, "?").is_empty());
    assert_eq!(printed(&mut chat).first().map(String::as_str), Some("Keys"));
    // Inside of a prompt it is a character.
    write(&mut chat, "why?");
    assert_eq!(chat.composer.editor.text(), "why?");
    assert!(printed(&mut chat).is_empty());
}

#[test]
fn files_are_listed_as_soon_as_they_are_known() {
    let mut chat = Chat::new(80, 24, 0);
    let wanted = write(&mut chat, "see @cal");
    assert!(matches!(wanted.as_slice(), [ChatEffect::Query(ChatQuery::Files)]), "{wanted:?}");
    assert!(!shown(&chat).contains(&"  @src/calc.py".to_owned()));
    let files = Box::new(PathIndex::new(["src/calc.py", "README.md"], []));
    chat.handle(ChatInput::Outcome(ChatOutcome::Found(ChatFound::Files(files))), 2);
    assert!(shown(&chat).contains(&"  @src/calc.py".to_owned()), "{:?}", shown(&chat));
    press(&mut chat, KeyCode::Tab);
    assert_eq!(chat.composer.editor.text(), "see @src/calc.py ");
}

#[test]
fn commands_without_arguments_show_something_instead_of_a_usage() {
    let cases = [
        ("permissions", "rules list"),
        ("skills", "skills list"),
        ("memory", "memory list"),
        ("config", "config show"),
        ("sessions", "sessions list"),
        ("config path", "config path"),
        ("doctor", "doctor"),
    ];
    for (typed, runs) in cases {
        let mut chat = Chat::new(80, 24, 0);
        let effects = chat.handle(ChatInput::Line(format!("/{typed}")), 1);
        let ran = effects.iter().find_map(|effect| match effect {
            ChatEffect::Posse(words) => Some(words.join(" ")),
            _ => None,
        });
        assert_eq!(ran.as_deref(), Some(runs), "/{typed}");
    }
}

#[test]
fn help_breaks_its_lines_at_words_in_every_width() {
    for columns in [40, 60, 80, 200] {
        let mut chat = Chat::new(columns, 24, 0);
        write(&mut chat, "?");
        let lines = chat.take_printed();
        let words = lines.iter().map(|line| line.text()).collect::<Vec<_>>().join(" ");
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let whole = "choose a queued message: Enter edits, Delete withdraws";
        assert!(words.contains(whole), "{columns} columns: {words}");
        let widest = lines.iter().map(TextLine::columns).max();
        assert!(widest <= Some(usize::from(columns)), "{columns} columns: {widest:?}");
    }
}

/// What a chat of 80 columns prints of a session that another one is written on, and the chat.
fn told(more: impl FnOnce(&mut WrittenSession)) -> (Chat, Vec<String>) {
    let mut chat = Chat::new(80, 24, 0);
    chat.handle(ChatInput::Outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() }), 1);
    let mut to = written();
    let before = to.events.len();
    more(&mut to);
    let after = to.events.split_off(before);
    for event in to.events {
        chat.handle(ChatInput::Update(Update::Event(event.into())), 1);
    }
    printed(&mut chat);
    for event in after {
        chat.handle(ChatInput::Update(Update::Event(event.into())), 1);
    }
    let lines = printed(&mut chat);
    (chat, lines)
}

#[test]
fn an_answer_names_what_was_asked_and_a_refused_call_is_told_once() {
    let (_, lines) = told(|to| {
        let call = CallId("4-1-shell".to_owned());
        to.add(4, EventKind::PersonAnswered { call, answer: Answer::Once });
        let call = CallId("1-1-write_file".to_owned());
        to.begin_call(1, 1, "write_file", "write_file a.py", CallKind::Edit);
        let question = Question::new(call.clone(), "write_file", "a.py");
        to.add(1, EventKind::PersonNeeded { question });
        let answer = Answer::No { reason: "not now".to_owned() };
        to.add(1, EventKind::PersonAnswered { call: call.clone(), answer });
        to.add(1, refused(call));
        to.begin_call(1, 1, "write_file", "write_file b.py", CallKind::Edit);
        to.add(1, refused(CallId("1-1-write_file".to_owned())));
    });
    let wanted =
        ["✓ review-1: cargo test: yes, once", "✗ a.py: no, not now", "✗ write_file b.py", "    Not allowed."];
    assert_eq!(lines, wanted);
}

fn refused(call: CallId) -> EventKind {
    EventKind::ToolFinished {
        call,
        tool: "write_file".to_owned(),
        ok: false,
        text: "Not allowed.".to_owned(),
        attachments: Vec::new(),
        effects: Vec::new(),
        duration_ms: 1,
    }
}

#[test]
fn going_back_to_a_turn_gives_its_words_back() {
    let (mut chat, _) = told(|_| {});
    chat.own_command(OwnCommand::Rewind, "");
    let found = ChatFound::Events(session(), None, written().events);
    chat.handle(ChatInput::Outcome(ChatOutcome::Found(found)), 2);
    press(&mut chat, KeyCode::Enter);
    press(&mut chat, Key::char('c'));
    assert_eq!(chat.composer.editor.text(), "Make the basket remember what is in it.");
    assert!(chat.session.is_none());
}

#[test]
fn a_reply_that_broke_off_is_printed_and_does_not_run_into_the_next() {
    let text = |chat: &mut Chat, text: &str| {
        let kind = ProgressKind::Text(text.to_owned());
        let progress = Progress { agent: id(1), kind };
        chat.handle(ChatInput::Update(Update::Progress(progress)), 1);
    };
    let (mut chat, _) = told(|to| to.turn(1, 2));
    text(&mut chat, "The first half");
    let lost = Some("the session's process is gone.".to_owned());
    chat.handle(ChatInput::Outcome(ChatOutcome::SessionOver { lost }), 2);
    let wanted = [
        "",
        "The first half",
        "",
        "  … the reply broke off here",
        "! the session's process is gone. Your next prompt takes the session up again.",
    ];
    assert_eq!(printed(&mut chat), wanted);
    assert!(!shown(&chat).iter().any(|row| row.contains("half")));
}
