//! What is being completed.

use posse_terminal::{Completing, Editor};
use proptest::prelude::*;

#[test]
fn what_is_completed_depends_on_where_the_cursor_is() {
    let command = |prefix: &str| Some(Completing::Command { prefix: prefix.to_owned(), start: 0 });
    let file = |prefix: &str, start| Some(Completing::File { prefix: prefix.to_owned(), start });
    let argument = |command: &str, prefix: &str, start| {
        Some(Completing::Argument { command: command.to_owned(), prefix: prefix.to_owned(), start })
    };
    let cases = [
        ("|", None),
        ("hello|", None),
        ("|/model", None),
        ("/|", command("")),
        ("/mo|", command("mo")),
        ("/mo|del", command("mo")),
        (" /mo|", None),
        ("see /mo|", None),
        ("x\n/mo|", None),
        ("/usr/bi|", None),
        ("/usr/bin x|", None),
        ("/ x|", None),
        ("/model |", argument("model", "", 7)),
        ("/model gp|t", argument("model", "gp", 7)),
        ("/agent explore fi|", argument("agent", "fi", 15)),
        ("/model x\ny|", None),
        ("/agent explore @sr|", file("sr", 15)),
        ("@|", file("", 0)),
        ("@src/ma|in", file("src/ma", 0)),
        ("look at @sr|", file("sr", 8)),
        ("look\n@sr|", file("sr", 5)),
        ("look (@sr|)", file("sr", 6)),
        ("look,@日|", file("日", 5)),
        ("a@b|", None),
        ("@a b|", None),
        ("@a @b|", file("b", 3)),
        ("@a@b|", file("a@b", 0)),
        ("@\"my fi|", file("my fi", 0)),
        ("@\"my @fi|", file("my @fi", 0)),
        ("@\"my file\"|", None),
        ("@\"my @file\" and @x|", file("x", 16)),
        ("|@x", None),
    ];
    assert_eq!(cases.len(), 32);
    for (text, want) in cases {
        let cursor = text.find('|').unwrap();
        assert_eq!(Completing::at(&text.replace('|', ""), cursor), want, "{text:?}");
    }
    assert_eq!(Completing::at("日", 1), None);
    assert_eq!(Completing::at("a", 9), None);
}

#[test]
fn what_is_chosen_takes_the_place_of_the_word() {
    let cases =
        [("src/main.rs", "see @src/main.rs"), ("my file", "see @\"my file\""), ("my dir/", "see @\"my dir/")];
    for (path, want) in cases {
        let mut editor = Editor::new();
        editor.insert("see @m");
        let completing = Completing::at(&editor.text(), editor.cursor()).unwrap();
        assert_eq!(completing.prefix(), "m");
        editor.complete(completing.start(), &Completing::file_word(path));
        assert_eq!(editor.text(), want);
    }
    assert_eq!(cases.len(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_word_ends_at_the_cursor(text in "[/@\" \n\ta日(]{0,16}", cursor in 0usize..40) {
        if let Some(completing) = Completing::at(&text, cursor) {
            let word = &text[completing.start()..cursor];
            prop_assert!(word.ends_with(completing.prefix()));
            prop_assert!(word.len() - completing.prefix().len() <= 2, "only signs stand before it: {word:?}");
            prop_assert!(!word.contains('\n'));
        }
    }
}
