//! The text that a person writes.

use posse_terminal::{
    Chip, Editor, EditorWindow, Key, KeyCode, PastedText, Submission, TextLine, columns, limits,
};
use proptest::prelude::*;

/// An editor with a text; `|` is the cursor.
fn editor(text: &str) -> Editor {
    let (before, after) = text.split_once('|').unwrap_or((text, ""));
    let mut editor = Editor::new();
    editor.insert(&format!("{before}{after}"));
    while editor.cursor() > before.len() {
        assert!(editor.key(&Key::new(KeyCode::Left)));
    }
    editor
}

fn shown(editor: &Editor) -> String {
    let mut text = editor.text();
    text.insert(editor.cursor(), '|');
    text
}

/// Keys as people write them: `C-a`, `M-b`, `C-left`, or characters to type.
fn press(editor: &mut Editor, keys: &str) {
    for word in keys.split(' ') {
        let mut name = word;
        let mut key = Key::char('?');
        while let Some((held, rest)) =
            name.split_once('-').filter(|(held, rest)| held.len() == 1 && !rest.is_empty())
        {
            match held {
                "C" => key.ctrl = true,
                "M" => key.alt = true,
                _ => key.shift = true,
            }
            name = rest;
        }
        key.code = match name {
            "left" => KeyCode::Left,
            "right" => KeyCode::Right,
            "up" => KeyCode::Up,
            "down" => KeyCode::Down,
            "home" => KeyCode::Home,
            "end" => KeyCode::End,
            "back" => KeyCode::Backspace,
            "del" => KeyCode::Delete,
            "enter" => KeyCode::Enter,
            "space" => KeyCode::Char(' '),
            _ => KeyCode::Char(name.chars().next().unwrap()),
        };
        assert!(editor.key(&key), "{word} is a key of the editor");
    }
}

#[test]
fn keys_do_what_they_do_elsewhere() {
    let cases = [
        ("ab|c", "C-a", "|abc"),
        ("a\nb|c", "C-a", "a\n|bc"),
        ("a|b\nc", "C-e", "ab|\nc"),
        ("a|b\nc", "end", "ab|\nc"),
        ("a\nbc|", "home", "a\n|bc"),
        ("a\nbc|", "C-home", "|a\nbc"),
        ("|a\nbc", "C-end", "a\nbc|"),
        ("|a\nbc", "M->", "a\nbc|"),
        ("ab|", "C-b", "a|b"),
        ("|", "left", "|"),
        ("a|e\u{301}b", "C-f", "ae\u{301}|b"),
        ("日本|", "left", "日|本"),
        ("🇩🇪🇫🇷|", "left", "🇩🇪|🇫🇷"),
        ("one two.three|", "M-b", "one two.|three"),
        ("one two.three|", "C-left M-left", "one |two.three"),
        ("|one two", "M-f", "one| two"),
        ("one| two", "C-right", "one two|"),
        ("ab|c", "C-h", "a|c"),
        ("ab\n|c", "back", "ab|c"),
        ("e\u{301}|", "back", "|"),
        ("a|bc", "C-d", "a|c"),
        ("a|\nc", "del", "a|c"),
        ("one two.three |x", "C-w", "one |x"),
        ("one two.three|", "M-back", "one two.|"),
        ("one two.three|", "C-back", "one two.|"),
        ("one| two three", "M-d", "one| three"),
        ("a|bc\nd", "C-k", "a|\nd"),
        ("a|\nd", "C-k", "a|d"),
        ("a\nbc|d", "C-u", "a\n|d"),
        ("a\n|d", "C-u", "a|d"),
        ("one two|", "C-w C-w C-y", "one two|"),
        ("one two|", "C-w C-a C-y", "two|one "),
        ("a b|", "C-w C-e C-w C-y M-y", "b|"),
        ("one|two", "C-k C-u C-y", "onetwo|"),
        ("one two three|", "C-w left C-w C-y", "one two| "),
        ("one two three|", "C-w left C-w C-y M-y", "one three| "),
        ("one two three|", "C-w left C-w C-y M-y M-y", "one two| "),
        ("one|", "M-y", "one|"),
        ("a|b", "C-t", "ba|"),
        ("ab|", "C-t", "ba|"),
        ("a|", "C-t", "a|"),
        ("x\n|ab", "C-t", "x\n|ab"),
        ("x|", "y C-j z", "xy\nz|"),
        ("x|", "S-enter", "x\n|"),
        ("x|", "M-enter", "x\n|"),
    ];
    assert_eq!(cases.len(), 45);
    for (before, keys, after) in cases {
        let mut editor = editor(before);
        press(&mut editor, keys);
        assert_eq!(shown(&editor), after, "{before:?} {keys}");
    }
}

#[test]
fn keys_of_others_are_left_to_them() {
    let keys = [
        Key::new(KeyCode::Enter),
        Key::new(KeyCode::Tab),
        Key::new(KeyCode::BackTab),
        Key::new(KeyCode::Escape),
        Key::new(KeyCode::PageUp),
        Key::new(KeyCode::Function(1)),
        Key::ctrl('c'),
        Key::ctrl('r'),
        Key::ctrl('g'),
        Key::ctrl('z'),
        Key::alt('x'),
        Key::ctrl('a').with_alt(),
        Key::new(KeyCode::Up),
        Key::new(KeyCode::Down),
        Key::ctrl('p'),
    ];
    assert_eq!(keys.len(), 15);
    let mut editor = editor("a b");
    for key in keys {
        assert!(!editor.key(&key), "{key:?}");
    }
    assert_eq!(shown(&editor), "a b|");
    assert!(editor.key(&Key::ctrl('d')), "nothing is after the cursor, but there is text");
    editor.clear();
    assert!(!editor.key(&Key::ctrl('d')), "without text it is for others");
}

#[test]
fn going_up_and_down_follows_the_rows_that_are_seen() {
    let mut editor = editor("abcdef gh\nij\nklmnop|");
    editor.set_width(5);
    // abcde / "f gh" / ij / klmno / p
    let steps = [
        (KeyCode::Up, "abcdef gh\nij\nk|lmnop", true),
        (KeyCode::Up, "abcdef gh\ni|j\nklmnop", true),
        (KeyCode::End, "abcdef gh\nij|\nklmnop", true),
        (KeyCode::Up, "abcdef |gh\nij\nklmnop", true),
        (KeyCode::Right, "abcdef g|h\nij\nklmnop", true),
        (KeyCode::Down, "abcdef gh\nij|\nklmnop", true),
        (KeyCode::Down, "abcdef gh\nij\nklm|nop", true),
        (KeyCode::Up, "abcdef gh\nij|\nklmnop", true),
        (KeyCode::Up, "abcdef g|h\nij\nklmnop", true),
        (KeyCode::Up, "abc|def gh\nij\nklmnop", true),
        (KeyCode::Up, "abc|def gh\nij\nklmnop", false),
        (KeyCode::Home, "|abcdef gh\nij\nklmnop", true),
        (KeyCode::Down, "abcde|f gh\nij\nklmnop", true),
    ];
    assert_eq!(steps.len(), 13);
    for (at, (code, want, is_own)) in steps.into_iter().enumerate() {
        assert_eq!(editor.key(&Key::new(code)), is_own, "{at}");
        assert_eq!(shown(&editor), want, "{at}");
    }
}

#[test]
fn changes_are_taken_back_word_by_word() {
    let mut editor = Editor::new();
    press(&mut editor, "o n e space t w o C-w x");
    let back = ["one |", "one two|", "one |", "|", "|"];
    for want in back {
        press(&mut editor, "C-_");
        assert_eq!(shown(&editor), want);
    }
    for want in ["one |", "one two|", "one |", "one x|", "one x|"] {
        press(&mut editor, "M-_");
        assert_eq!(shown(&editor), want);
    }
    press(&mut editor, "C-/ y M-_");
    assert_eq!(shown(&editor), "one y|", "what was written since then replaces what was taken back");
    editor.clear();
    press(&mut editor, "C-_");
    assert_eq!(shown(&editor), "one y|");
}

#[test]
fn undo_has_a_limit() {
    let mut editor = Editor::new();
    for _ in 0..limits::UNDO_STEPS_MAX + 10 {
        editor.insert("x");
    }
    for _ in 0..limits::UNDO_STEPS_MAX + 10 {
        editor.key(&Key::ctrl('_'));
    }
    assert_eq!(editor.text(), "x".repeat(10));
}

#[test]
fn a_chip_is_one_thing() {
    let mut editor = Editor::new();
    editor.insert("see ");
    assert!(editor.insert_chip("[long]", Chip::Text("a\nb".to_owned())));
    editor.insert("\u{301} and ");
    assert!(editor.insert_chip("[picture]", Chip::File("/p.png".to_owned())));
    assert_eq!(shown(&editor), "see [long]\u{301} and [picture]|");
    assert!(editor.has_chips());
    press(&mut editor, "left");
    assert_eq!(shown(&editor), "see [long]\u{301} and |[picture]");
    press(&mut editor, "M-b M-b");
    assert_eq!(shown(&editor), "see |[long]\u{301} and [picture]");
    press(&mut editor, "M-f back");
    assert_eq!(shown(&editor), "see \u{301}| and [picture]", "the accent is on the space now");
    press(&mut editor, "C-_ C-e C-w");
    assert_eq!(shown(&editor), "see [long]\u{301} and |");
    press(&mut editor, "C-y C-y");
    let want =
        Submission { text: "see a\nb\u{301} and [picture][picture]".into(), files: vec!["/p.png".into()] };
    assert_eq!(editor.expanded(), want.text);
    assert_eq!(editor.submit(), want);
    assert!(editor.is_empty() && !editor.has_chips());
    press(&mut editor, "C-_");
    assert!(editor.is_empty(), "what was sent is sent");
    press(&mut editor, "C-y");
    assert_eq!(editor.submit().files, ["/p.png"], "what was cut out can be put back");
}

#[test]
fn pastes_are_text_or_chips() {
    let lines = |count: usize| "line\n".repeat(count);
    let cases = [
        ("short".to_owned(), "short".to_owned()),
        (lines(10), lines(10)),
        (lines(11), "[pasted 11 lines]".to_owned()),
        (lines(1_234), "[pasted 1,234 lines]".to_owned()),
        ("é".repeat(2_000), "é".repeat(2_000)),
        ("é".repeat(2_001), "[pasted 2,001 characters]".to_owned()),
        ("日".repeat(3_333_333), "[pasted 3,333,333 characters]".to_owned()),
    ];
    assert_eq!(cases.len(), 7);
    for (text, want) in cases {
        let mut editor = Editor::new();
        assert!(editor.paste(&PastedText::new(&text)));
        assert_eq!(editor.text(), want);
        assert_eq!(editor.submit().text, text);
    }
    let cut = PastedText { text: lines(11), dropped_bytes: 1 };
    let mut editor = Editor::new();
    assert!(editor.paste(&cut));
    assert_eq!(editor.text(), "[pasted 11 lines, cut off]");
}

#[test]
fn there_is_only_so_much_room() {
    let mut editor = Editor::new();
    editor.insert(&"日".repeat(limits::EDITOR_BYTES_MAX));
    assert_eq!(editor.text().len(), limits::EDITOR_BYTES_MAX / 3 * 3);
    press(&mut editor, "日");
    assert!(editor.text().len() <= limits::EDITOR_BYTES_MAX);
    assert!(!editor.insert_chip("[no room]", Chip::Text(String::new())));
    assert!(!editor.paste(&PastedText::new("no room")));

    let mut editor = Editor::new();
    let large = Chip::Text("x".repeat(20 * 1024 * 1024));
    for is_room in [true, true, true, false] {
        assert_eq!(editor.insert_chip("[large]", large.clone()), is_room);
    }
    press(&mut editor, "C-w");
    for _ in 0..20 {
        press(&mut editor, "C-y");
    }
    assert_eq!(editor.text(), "[large]".repeat(3), "the same chip many times takes room, too");
    editor.submit();
    let mut editor = Editor::new();
    let chips = (0..limits::CHIPS_MAX + 5).filter(|_| editor.insert_chip("[x]", Chip::Text("y".to_owned())));
    assert_eq!(chips.count(), limits::CHIPS_MAX);
    editor.submit();
    assert!(editor.insert_chip("[x]", Chip::Text("y".to_owned())), "there is room again");
    editor.set_text(&"long\n".repeat(limits::EDITOR_BYTES_MAX));
    assert_eq!(editor.text(), "[262,144 lines]");
}

#[test]
fn the_longest_line_can_be_edited() {
    for text in ["日", "é", "e\u{301}", "x", "🇩🇪"] {
        let mut editor = Editor::new();
        editor.insert(&text.repeat(limits::EDITOR_BYTES_MAX / text.len()));
        let length = editor.text().len();
        press(&mut editor, "home right back left");
        assert_eq!(editor.text().len(), length - text.len());
        assert_eq!(editor.window(80, 5).rows.len(), 5);
        press(&mut editor, "M-f M-b end C-w");
        assert_eq!(editor.window(80, 5).above, 0, "{text}");
    }
}

#[test]
fn nobody_types_a_chip() {
    let mut editor = Editor::new();
    editor.insert_chip("[x]", Chip::Text("secret".to_owned()));
    editor.insert("\u{100000}\r\n");
    editor.key(&Key::char('\u{100000}'));
    assert_eq!(editor.submit().text, "secret\u{fffd}\n\u{fffd}");
}

#[test]
fn words_are_completed_in_place() {
    let mut editor = editor("look at @sr| now");
    editor.complete("look at ".len(), "@src/main.rs");
    assert_eq!(shown(&editor), "look at @src/main.rs| now");
    let mut editor = Editor::new();
    editor.insert_chip("[long label]", Chip::Text("x".to_owned()));
    editor.insert("@a");
    editor.complete("[long label]".len(), "@abc");
    assert_eq!(shown(&editor), "[long label]@abc|");
    editor.complete(3, "y");
    assert_eq!(shown(&editor), "y|", "a place inside a chip is its beginning");
    let mut editor = self::editor("a\\|b");
    assert!(editor.continue_line());
    assert_eq!(shown(&editor), "a\n|b");
    assert!(!editor.continue_line());
}

#[test]
fn a_text_is_put_aside_with_its_chips() {
    let mut editor = editor("ab|c");
    editor.insert_chip("[x]", Chip::Text("value".to_owned()));
    let draft = editor.put_aside();
    assert!(editor.is_empty());
    editor.insert_chip("[y]", Chip::Text("other".to_owned()));
    editor.take_up(draft);
    assert_eq!(shown(&editor), "ab[x]|c");
    assert_eq!(editor.submit().text, "abvaluec");
}

#[test]
fn rows_fit_and_the_cursor_is_inside() {
    type Case<'a> = (&'a str, usize, &'a [&'a str], (usize, usize));
    let cases: &[Case<'_>] = &[
        ("|", 10, &[""], (0, 0)),
        ("one two|", 10, &["one two"], (0, 7)),
        ("one two three|", 8, &["one two ", "three"], (1, 5)),
        ("one two |three", 8, &["one two ", "three"], (1, 0)),
        ("abcdefgh|", 8, &["abcdefgh", ""], (1, 0)),
        ("|abcdefgh", 8, &["abcdefgh"], (0, 0)),
        ("abcdefgh|\nx", 8, &["abcdefgh", "", "x"], (1, 0)),
        ("abcdefghij|", 8, &["abcdefgh", "ij"], (1, 2)),
        ("a\n\n|b", 8, &["a", "", "b"], (2, 0)),
        ("a\n|", 8, &["a", ""], (1, 0)),
        ("日本語|", 5, &["日本", "語"], (1, 2)),
        ("e\u{301}e\u{301}|", 5, &["e\u{301}e\u{301}"], (0, 2)),
        ("\tx|", 9, &["    x"], (0, 5)),
        ("\x1b[2J|", 12, &["\\u{1b}[2J"], (0, 9)),
        ("日|", 1, &["…", ""], (1, 0)),
        ("ab|", 0, &["a", "b", ""], (2, 0)),
        ("one     two|", 5, &["one  ", "   ", "two"], (2, 3)),
    ];
    assert_eq!(cases.len(), 17);
    for (text, width, rows, cursor) in cases {
        let found = editor(text).rows(*width);
        assert_eq!(found.rows.iter().map(TextLine::text).collect::<Vec<_>>(), *rows, "{text:?} in {width}");
        assert_eq!(found.cursor, *cursor, "{text:?} in {width}");
    }
    let mut editor = Editor::new();
    editor.insert_chip("[pasted 1,234 lines]", Chip::Text(String::new()));
    let rows = editor.rows(12);
    assert_eq!(rows.rows.iter().map(TextLine::text).collect::<Vec<_>>(), ["[pasted 1,2…", ""]);
}

#[test]
fn a_window_keeps_the_cursor_in_sight() {
    let mut editor = editor("a\nb\nc\nd\ne\nf|");
    let window = |editor: &Editor, rows_max| {
        let EditorWindow { rows, cursor, above, below } = editor.window(10, rows_max);
        (rows.iter().map(TextLine::text).collect::<String>(), cursor, above, below)
    };
    assert_eq!(window(&editor, 3), ("def".to_owned(), (2, 1), 3, 0));
    press(&mut editor, "up up");
    assert_eq!(window(&editor, 3), ("cde".to_owned(), (1, 1), 2, 1));
    press(&mut editor, "C-home");
    assert_eq!(window(&editor, 3), ("abc".to_owned(), (0, 0), 0, 3));
    assert_eq!(window(&editor, 0), ("a".to_owned(), (0, 0), 0, 5));
    assert_eq!(window(&editor, 9), ("abcdef".to_owned(), (0, 0), 0, 0));
}

#[derive(Clone, Debug)]
enum Act {
    Key(Key),
    Insert(String),
    Chip,
    Width(usize),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    use KeyCode::{Backspace, Char, Delete, Down, End, Enter, Home, Left, Right, Up};
    let codes = "abdefhjkptuwy_/<> xé\u{301}日\u{200d}👩\u{1f1e9}\t\x1b".chars().map(Char);
    let codes = codes.chain([Backspace, Delete, Down, End, Enter, Home, Left, Right, Up]).collect::<Vec<_>>();
    let key = (proptest::sample::select(codes), any::<[bool; 3]>())
        .prop_map(|(code, [ctrl, alt, shift])| Act::Key(Key { code, ctrl, alt, shift }));
    let insert =
        prop_oneof![Just("two words"), Just("日本\n\u{301}"), Just("\r\n \u{fe0f}"), Just("👩\u{200d}💻")]
            .prop_map(|text| Act::Insert(text.to_owned()));
    let width = (0usize..12).prop_map(Act::Width);
    proptest::collection::vec(prop_oneof![12 => key, 3 => insert, 1 => Just(Act::Chip), 1 => width], 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_pressed_the_cursor_is_inside_and_everything_can_be_taken_back(acts in acts(), first in "[a-z \n]{0,20}") {
        let mut editor = Editor::new();
        editor.insert(&first);
        let mut width = 8;
        for act in &acts {
            match act {
                Act::Key(key) => { editor.key(key); }
                Act::Insert(text) => editor.insert(text),
                Act::Chip => { editor.insert_chip("[chip]", Chip::Text("value".to_owned())); }
                Act::Width(columns) => {
                    width = *columns;
                    editor.set_width(width);
                }
            }
            let text = editor.text();
            prop_assert!(text.is_char_boundary(editor.cursor()));
            let rows = editor.rows(width);
            prop_assert!(rows.cursor.0 < rows.rows.len() && rows.cursor.1 < width.max(1), "{:?}", rows.cursor);
            for row in &rows.rows {
                prop_assert!(row.columns() <= width.max(1), "{row:?} in {width}");
                prop_assert_eq!(row.columns(), columns(&row.text()));
            }
            if !editor.has_chips() {
                let seen: Vec<String> = editor.rows(9_999).rows.iter().map(TextLine::text).collect();
                let lines: Vec<String> = text.split('\n').map(|line| TextLine::plain(line).text()).collect();
                prop_assert_eq!(seen, lines);
            }
            let window = editor.window(width, 3);
            prop_assert_eq!(window.above + window.rows.len() + window.below, rows.rows.len());
            prop_assert_eq!((window.above + window.cursor.0, window.cursor.1), rows.cursor);
            prop_assert_eq!(&window.rows[..], &rows.rows[window.above..window.above + window.rows.len()]);
        }
        let last = editor.text();
        for _ in 0..2 * acts.len() {
            editor.key(&Key::ctrl('_'));
        }
        editor.key(&Key::alt('_'));
        editor.key(&Key::ctrl('_'));
        prop_assert_eq!(editor.text(), "");
        for _ in 0..2 * acts.len() + 2 {
            editor.key(&Key::alt('_'));
        }
        // Redo among the keys may have found nothing to do again; then the last text is where it stops.
        if !acts.iter().any(|act| matches!(act, Act::Key(key) if key.alt || key.ctrl)) {
            prop_assert_eq!(editor.text(), last);
        }
    }

    #[test]
    fn what_is_typed_is_the_text(pieces in proptest::collection::vec("[a-z日é👩\u{301} \n]{0,6}", 0..20)) {
        let mut editor = Editor::new();
        for (at, piece) in pieces.iter().enumerate() {
            if at % 2 == 0 {
                editor.insert(piece);
            } else {
                for c in piece.chars() {
                    editor.key(&if c == '\n' { Key::ctrl('j') } else { Key::char(c) });
                }
            }
        }
        prop_assert_eq!(editor.cursor(), editor.text().len());
        prop_assert_eq!(editor.submit().text, pieces.concat());
    }
}
