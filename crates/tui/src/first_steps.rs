//! What somebody tries first: help, completion, commands without arguments.

use posse_terminal::{Key, KeyCode, PathIndex, TerminalInput};

use crate::chat::{Chat, ChatInput};
use crate::effect::{ChatEffect, ChatFound, ChatOutcome, ChatQuery};
use crate::region;

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
