//! Bytes become keys, however they are cut.

use posse_terminal::{Key, KeyCode, KeyReader, PastedText, TerminalInput, TerminalReply, limits};
use proptest::prelude::*;

fn read(bytes: &[u8]) -> Vec<TerminalInput> {
    let mut reader = KeyReader::new();
    let mut inputs = reader.push(bytes);
    inputs.extend(reader.flush());
    inputs
}

fn key(key: impl Into<Key>) -> TerminalInput {
    TerminalInput::Key(key.into())
}

fn check(cases: &[(&[u8], Key)], count: usize) {
    assert_eq!(cases.len(), count);
    for (bytes, want) in cases {
        assert_eq!(read(bytes), [key(*want)], "{:?}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn characters_and_control_characters_are_keys() {
    let code = Key::new;
    check(
        &[
            (b"a", Key::char('a')),
            (b"A", Key::char('A')),
            (b" ", Key::char(' ')),
            ("é".as_bytes(), Key::char('é')),
            ("日".as_bytes(), Key::char('日')),
            ("👩".as_bytes(), Key::char('👩')),
            (b"\r", code(KeyCode::Enter)),
            (b"\n", Key::ctrl('j')),
            (b"\t", code(KeyCode::Tab)),
            (b"\x7f", code(KeyCode::Backspace)),
            (b"\x08", code(KeyCode::Backspace)),
            (b"\x00", Key::ctrl(' ')),
            (b"\x01", Key::ctrl('a')),
            (b"\x03", Key::ctrl('c')),
            (b"\x1a", Key::ctrl('z')),
            (b"\x1c", Key::ctrl('\\')),
            (b"\x1f", Key::ctrl('_')),
            (b"\x1b", code(KeyCode::Escape)),
            (b"\x1bb", Key::alt('b')),
            (b"\x1bB", Key::alt('B')),
            ("\x1bé".as_bytes(), Key::alt('é')),
            (b"\x1b\r", code(KeyCode::Enter).with_alt()),
            (b"\x1b\x7f", code(KeyCode::Backspace).with_alt()),
            (b"\x1b\x02", Key::ctrl('b').with_alt()),
            (b"\x1b[", Key::alt('[')),
            (b"\x1bO", Key::alt('O')),
            (b"\x1b]", Key::alt(']')),
            (b"\x1b_", Key::alt('_')),
        ],
        28,
    );
}

#[test]
fn keys_of_older_terminals_are_known() {
    use KeyCode::{
        BackTab, Delete, Down, End, Enter, Function, Home, Insert, Left, PageDown, PageUp, Right, Up,
    };
    let code = Key::new;
    check(
        &[
            (b"\x1b[A", code(Up)),
            (b"\x1b[B", code(Down)),
            (b"\x1b[C", code(Right)),
            (b"\x1b[D", code(Left)),
            (b"\x1bOA", code(Up)),
            (b"\x1b[H", code(Home)),
            (b"\x1bOF", code(End)),
            (b"\x1b[1~", code(Home)),
            (b"\x1b[7~", code(Home)),
            (b"\x1b[4~", code(End)),
            (b"\x1b[2~", code(Insert)),
            (b"\x1b[3~", code(Delete)),
            (b"\x1b[5~", code(PageUp)),
            (b"\x1b[6~", code(PageDown)),
            (b"\x1b[Z", code(BackTab)),
            (b"\x1b[1;5C", code(Right).with_ctrl()),
            (b"\x1b[1;3D", code(Left).with_alt()),
            (b"\x1b[1;2A", code(Up).with_shift()),
            (b"\x1b[1;6B", code(Down).with_ctrl().with_shift()),
            (b"\x1b[3;5~", code(Delete).with_ctrl()),
            (b"\x1b[1;2H", code(Home).with_shift()),
            (b"\x1bOP", code(Function(1))),
            (b"\x1b[R", code(Function(3))),
            (b"\x1b[1;5Q", code(Function(2)).with_ctrl()),
            (b"\x1b[15~", code(Function(5))),
            (b"\x1b[17~", code(Function(6))),
            (b"\x1b[24;2~", code(Function(12)).with_shift()),
            (b"\x1b[34~", code(Function(20))),
            (b"\x1b[[C", code(Function(3))),
            (b"\x1b\x1b[A", code(Up).with_alt()),
            (b"\x1b\x1bOC", code(Right).with_alt()),
            (b"\x1b[a", code(Up).with_shift()),
            (b"\x1bOd", code(Left).with_ctrl()),
            (b"\x1b[3$", code(Delete).with_shift()),
            (b"\x1b[3^", code(Delete).with_ctrl()),
            (b"\x1bO5C", code(Right).with_ctrl()),
            (b"\x1bOM", code(Enter)),
            (b"\x1bOq", Key::char('1')),
            (b"\x1bOk", Key::char('+')),
        ],
        39,
    );
}

#[test]
fn keys_of_newer_terminals_are_known() {
    use KeyCode::{BackTab, Backspace, Enter, Escape, Function, Left, Tab, Up};
    let code = Key::new;
    check(
        &[
            (b"\x1b[13;2u", code(Enter).with_shift()),
            (b"\x1b[13u", code(Enter)),
            (b"\x1b[27u", code(Escape)),
            (b"\x1b[9u", code(Tab)),
            (b"\x1b[9;2u", code(BackTab)),
            (b"\x1b[127;5u", code(Backspace).with_ctrl()),
            (b"\x1b[99;5u", Key::ctrl('c')),
            (b"\x1b[99;6u", Key::ctrl('c').with_shift()),
            (b"\x1b[99:67;6u", Key::ctrl('c').with_shift()),
            (b"\x1b[45:95;6u", Key::ctrl('_')),
            (b"\x1b[45:95;4u", Key::alt('_')),
            (b"\x1b[47;5u", Key::ctrl('/')),
            (b"\x1b[98;3u", Key::alt('b')),
            (b"\x1b[98;4u", Key::alt('B')),
            (b"\x1b[98;33u", Key::alt('b')),
            (b"\x1b[99;69u", Key::ctrl('c')),
            (b"\x1b[97;2u", Key::char('A')),
            (b"\x1b[97;;97u", Key::char('a')),
            (b"\x1b[97;2;65u", Key::char('A')),
            (b"\x1b[49;2;33u", Key::char('!')),
            (b"\x1b[97;1:2u", Key::char('a')),
            (b"\x1b[1;1:1A", code(Up)),
            (b"\x1b[1;5:2D", code(Left).with_ctrl()),
            (b"\x1b[57399u", Key::char('0')),
            (b"\x1b[57413;129u", Key::char('+')),
            (b"\x1b[57414;2u", code(Enter).with_shift()),
            (b"\x1b[57417u", code(Left)),
            (b"\x1b[57376u", code(Function(13))),
            (b"\x1b[27;2;13~", code(Enter).with_shift()),
            (b"\x1b[27;5;105~", Key::ctrl('i')),
            (b"\x1b[27;2;9~", code(BackTab)),
        ],
        31,
    );
    let two = [key(Key::char('e')), key(Key::char('\u{301}'))];
    assert_eq!(read(b"\x1b[101;;101:769u"), two, "one key typed two characters");
}

#[test]
fn what_is_no_key_is_none() {
    let cases: &[&[u8]] = &[
        b"\x1b[97;1:3u",
        b"\x1b[13;2:3u",
        b"\x1b[1;1:3A",
        b"\x1b[3;5:3~",
        b"\x1b[57441;2u",
        b"\x1b[57358u",
        b"\x1b[99;9u",
        b"\x1b[1;9D",
        b"\x1b[u",
        b"\x1b[99999999999999999999u",
        b"\x1b[1114112u",
        b"\x1b[201~",
        b"\x1b[<0;10;20M",
        b"\x1b[<0;10;20m",
        b"\x1b[M !!",
        b"\x1b[E",
        b"\x1b[99~",
        b"\x1b[12;34;56x",
        b"\x1b[!p",
        b"\x1bOz",
        "\u{9b}".as_bytes(),
    ];
    assert_eq!(cases.len(), 21);
    for bytes in cases {
        let bytes = [bytes, &b"x"[..]].concat();
        assert_eq!(read(&bytes), [key(Key::char('x'))], "{:?}", String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn terminals_answer() {
    use TerminalReply::{Background, CursorPosition, DeviceAttributes, KeyboardFlags, Other};
    let cases: &[(&[u8], TerminalReply)] = &[
        (b"\x1b]11;rgb:1e1e/2020/ffff\x07", Background { r: 0x1e, g: 0x20, b: 255 }),
        (b"\x1b]11;rgb:1e/20/ff\x1b\\", Background { r: 0x1e, g: 0x20, b: 255 }),
        (b"\x1b]11;rgb:0/8/f\x07", Background { r: 0, g: 0x88, b: 255 }),
        (b"\x1b]11;rgb:fff/000/800\x07", Background { r: 255, g: 0, b: 128 }),
        (b"\x1b]11;rgba:0000/0000/0000/ffff\x07", Background { r: 0, g: 0, b: 0 }),
        (b"\x1b]11;rgb:12345/0/0\x07", Other),
        (b"\x1b]11;rgb:+1/0/0\x07", Other),
        (b"\x1b]11;rgb:1/0\x07", Other),
        (b"\x1b]10;rgb:ffff/ffff/ffff\x07", Other),
        (b"\x1bP>|xterm(390)\x1b\\", Other),
        (b"\x1b_Gi=31;OK\x1b\\", Other),
        (b"\x1b[?1u", KeyboardFlags(1)),
        (b"\x1b[?31u", KeyboardFlags(31)),
        (b"\x1b[?62;22c", DeviceAttributes),
        (b"\x1b[12;40R", CursorPosition { row: 12, column: 40 }),
        (b"\x1b[1;5R", CursorPosition { row: 1, column: 5 }),
        (b"\x1b[99999;0R", CursorPosition { row: u16::MAX, column: 1 }),
        (b"\x1b[?2026;2$y", Other),
        (b"\x1b[>0;276;0c", Other),
    ];
    assert_eq!(cases.len(), 19);
    for (bytes, want) in cases {
        assert_eq!(read(bytes), [TerminalInput::Reply(*want)], "{:?}", String::from_utf8_lossy(bytes));
    }
    assert_eq!(read(b"\x1b[I\x1b[O"), [TerminalInput::Focus(true), TerminalInput::Focus(false)]);
}

#[test]
fn an_escape_is_a_key_when_nothing_follows() {
    let mut reader = KeyReader::new();
    let escape = || key(KeyCode::Escape);
    assert_eq!(reader.push(b"\x1b"), []);
    assert!(reader.is_waiting());
    assert_eq!(reader.flush(), [escape()]);
    assert_eq!(reader.push(b"b"), [key(Key::char('b'))], "not Alt+B");
    assert_eq!(reader.push(b"\x1b\x1b"), []);
    assert_eq!(reader.flush(), [escape(), escape()], "pressed twice");
    assert_eq!(reader.push(b"\x1b\x1b\x1b"), [escape()]);
    assert_eq!(reader.flush(), [escape(), escape()]);
    assert_eq!(read(b"\x1b\x1bx"), [escape(), key(Key::alt('x'))]);
    assert_eq!(read(b"\x1b\x1b[I"), [escape(), TerminalInput::Focus(true)]);
    assert_eq!(reader.flush(), []);
    assert!(!reader.is_waiting());
}

#[test]
fn slow_lines_may_cut_a_sequence_anywhere_behind_its_beginning() {
    let whole: &[&[u8]] =
        &[b"\x1b[1;5C", b"\x1b]11;rgb:ff/ff/ff\x1b\\", "日".as_bytes(), b"\x1b[200~a\x1b[201~"];
    let mut cuts = 0;
    for bytes in whole {
        for at in (if bytes[0] == 0x1b { 3 } else { 1 })..bytes.len() {
            if bytes[at - 1] == 0x1b {
                continue;
            }
            let mut reader = KeyReader::new();
            let mut inputs = reader.push(&bytes[..at]);
            inputs.extend(reader.flush());
            inputs.extend(reader.push(&bytes[at..]));
            assert_eq!(inputs, read(bytes), "{at}: {:?}", String::from_utf8_lossy(bytes));
            cuts += 1;
        }
    }
    assert_eq!(cuts, 29);
}

#[test]
fn nobody_is_locked_out_by_a_string_without_end() {
    for begin in [&b"\x1b]11;rgb"[..], b"\x1bPxyz", b"\x1b_G", b"\x1b[12;", b"\x1bO1"] {
        let mut reader = KeyReader::new();
        assert_eq!(reader.push(begin), []);
        assert_eq!(reader.flush(), [], "{:?}", String::from_utf8_lossy(begin));
        assert_eq!(reader.push(b"\x03"), [key(Key::ctrl('c'))], "{:?}", String::from_utf8_lossy(begin));
        assert_eq!(reader.push(b"a"), [key(Key::char('a'))]);
        assert_eq!(reader.push(begin), []);
        assert_eq!(reader.push(b"\x1b"), []);
        assert_eq!(reader.flush(), [key(KeyCode::Escape)]);
    }
    let mut reader = KeyReader::new();
    assert_eq!(reader.push(b"\x1b]52;c;"), []);
    let long = vec![b'A'; limits::STRING_BYTES_MAX - "52;c;".len()];
    assert_eq!(reader.push(&long), []);
    assert_eq!(reader.held_bytes(), limits::STRING_KEPT_BYTES_MAX);
    assert_eq!(reader.push(b"b"), [key(Key::char('b'))], "longer than any string");
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let chars = |bytes: &[u8]| {
        let inputs = read(bytes).into_iter().map(|input| match input {
            TerminalInput::Key(Key { code: KeyCode::Char(c), .. }) => c,
            other => panic!("{other:?}"),
        });
        inputs.collect::<String>()
    };
    let cases: &[&[u8]] = &[
        b"a\xffb",
        b"\xe6\x97x",
        b"\xe6\x97\xe6\x97\xa5",
        b"\xc0\xafz",
        b"\xf0\x9f\x91\xc3\xa9",
        b"\xed\xa0\x80.",
    ];
    assert_eq!(cases.len(), 6);
    for bytes in cases {
        assert_eq!(chars(bytes), String::from_utf8_lossy(bytes), "{bytes:x?}");
    }
}

#[test]
fn a_paste_is_text_whatever_is_in_it() {
    let paste = |text: &str| TerminalInput::Paste(PastedText { text: text.to_owned(), dropped_bytes: 0 });
    let cases: &[(&[u8], &str)] = &[
        (b"\x1b[200~\x1b[201~", ""),
        (b"\x1b[200~a\rb\r\nc\nd\r\x1b[201~", "a\nb\nc\nd\n"),
        (b"\x1b[200~\x03\x1b[A\x1b[200~\x1b]0;x\x07\x1b[201~", "\x03\x1b[A\x1b[200~\x1b]0;x\x07"),
        (b"\x1b[200~\x1b\x1b[201\x1b[20\x1b[201~", "\x1b\x1b[201\x1b[20"),
        ("\x1b[200~日\u{301}\x1b[201~".as_bytes(), "日\u{301}"),
        (b"\x1b[200~a\xffb\xe6\x1b[201~", "a\u{fffd}b\u{fffd}"),
    ];
    assert_eq!(cases.len(), 6);
    for (bytes, want) in cases {
        let bytes = [bytes, &b"\r"[..]].concat();
        assert_eq!(read(&bytes), [paste(want), key(KeyCode::Enter)], "{want:?}");
    }
    let mut reader = KeyReader::new();
    assert_eq!(reader.push(b"\x1b[200~some\x1b[20"), []);
    assert!(reader.is_pasting());
    assert_eq!(reader.flush(), [], "a paste may take its time");
    assert_eq!(reader.give_up_paste(), [paste("some\x1b[20")]);
    assert_eq!(reader.give_up_paste(), []);
    assert_eq!(reader.push(b"x"), [key(Key::char('x'))]);
}

#[test]
fn a_paste_without_end_takes_no_more_room() {
    let mut reader = KeyReader::new();
    assert_eq!(reader.push(b"\x1b[200~a"), []);
    let piece = "日".repeat(1024 * 1024);
    for _ in 0..8 {
        assert_eq!(reader.push(piece.as_bytes()), []);
        assert!(reader.held_bytes() <= limits::PASTE_BYTES_MAX);
    }
    assert_eq!(reader.held_bytes(), limits::PASTE_BYTES_MAX);
    let inputs = reader.push(b"\x1b[201~");
    let [TerminalInput::Paste(pasted)] = &inputs[..] else { panic!("{} inputs", inputs.len()) };
    // 16 MiB less the first byte are 5,592,405 characters: nothing is left of another one.
    assert_eq!(pasted.text.len(), limits::PASTE_BYTES_MAX);
    assert_eq!(pasted.dropped_bytes, (1 + 8 * piece.len() - limits::PASTE_BYTES_MAX) as u64);
    assert!(pasted.text.ends_with('日'));
    let cut = PastedText::new(&format!("ab{}", "日".repeat(6 * 1024 * 1024)));
    assert_eq!(cut.text.len(), limits::PASTE_BYTES_MAX - 2, "no half characters");
    assert_eq!(cut.text.len() as u64 + cut.dropped_bytes, 2 + 18 * 1024 * 1024);
}

/// Bytes of which many are the beginnings of something.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"\x1b",
        b"\x1b[",
        b"\x1bO",
        b"\x1b]11;rgb:ff/00/11",
        b"\x07",
        b"\x1b\\",
        b"\x1bP",
        b"\x1b[200~",
        b"\x1b[201~",
        b"\x1b[13;2u",
        b"\x1b[97;1:3u",
        b"1;5",
        b"C",
        b"~",
        b"u",
        b"$",
        b"[",
        b"M",
        b"\r",
        b"\n",
        b"\xe6\x97\xa5",
        b"\xe6\x97",
        b"\xf0\x9f\x91\xa9",
        b"text",
        b"\x03",
    ];
    let known = proptest::sample::select(known).prop_map(<[u8]>::to_vec);
    let any = proptest::collection::vec(any::<u8>(), 1..4);
    proptest::collection::vec(prop_oneof![4 => known, 1 => any], 0..40).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1024, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_does_not_matter_how_bytes_are_cut(bytes in bytes(), cuts in proptest::collection::vec(0usize..200, 0..12)) {
        let whole = read(&bytes);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let (mut reader, mut inputs) = (KeyReader::new(), Vec::new());
        for pair in cuts.windows(2) {
            inputs.extend(reader.push(&bytes[pair[0]..pair[1]]));
        }
        inputs.extend(reader.flush());
        prop_assert_eq!(inputs, whole);
    }

    #[test]
    fn any_bytes_are_read_and_little_is_held(parts in proptest::collection::vec((bytes(), any::<bool>()), 0..12)) {
        let mut reader = KeyReader::new();
        let mut pushed = 0;
        for (bytes, is_quiet) in parts {
            pushed += bytes.len();
            let inputs = reader.push(&bytes).len();
            prop_assert!(inputs <= bytes.len() + 8, "{} inputs of {} bytes", inputs, bytes.len());
            if is_quiet {
                reader.flush();
            }
            let held_max = if reader.is_pasting() { pushed } else { limits::STRING_KEPT_BYTES_MAX };
            prop_assert!(reader.held_bytes() <= held_max);
        }
        reader.flush();
        reader.give_up_paste();
        // Whatever was before, this is a key again.
        reader.push(b"\x1b");
        reader.flush();
        reader.flush();
        reader.push(b"\x03\x03\x03\x03");
        prop_assert_eq!(reader.push(b"x"), [key(Key::char('x'))]);
    }
}
