//! What becomes of Markdown, however it arrives and whatever it is.

use std::collections::BTreeMap;

use posse_terminal::limits::{PARAGRAPH_BYTES_MAX, SOURCE_LINE_BYTES_MAX, TABLE_BYTES_MAX, TAIL_ROWS_MAX};
use posse_terminal::{Ink, Look, Markdown, TextLine, Theme};
use proptest::prelude::*;

const SAMPLE: &str = include_str!("sample.md");

fn finished(text: &str, width: usize) -> Vec<TextLine> {
    let mut markdown = Markdown::new(width);
    let mut lines = markdown.push(text);
    lines.extend(markdown.finish());
    lines
}

fn texts(lines: &[TextLine]) -> Vec<String> {
    lines.iter().map(TextLine::text).collect()
}

#[test]
fn blocks_become_lines() {
    insta::assert_snapshot!(texts(&finished(SAMPLE, 40)).join("\n"));
}

#[test]
fn blocks_become_looks() {
    let lines = finished(SAMPLE, 40).iter().map(|line| line.painted(Theme::Ansi)).collect::<Vec<_>>();
    insta::assert_snapshot!(lines.join("\n").replace('\u{1b}', "␛"));
}

#[test]
fn lines_are_finished_as_soon_as_nothing_can_change_them() {
    let steps: [(&str, &[&str], &[&str]); 16] = [
        ("Hel", &[], &["Hel"]),
        ("lo **wor", &[], &["Hello wor"]),
        ("ld** and\nmo", &[], &["Hello world and", "mo"]),
        ("re\n", &[], &["Hello world and", "more"]),
        ("\n", &["Hello world and", "more"], &[]),
        ("#", &[], &[]),
        (" Head", &[], &["", "Head"]),
        ("ing\n", &["", "Heading"], &[]),
        ("- a", &[], &["• a"]),
        ("\n-", &[], &["• a"]),
        (" b", &[], &["• a", "• b"]),
        ("\n```rs\n", &["• a", "• b", "rs"], &[]),
        ("let x", &[], &["let x"]),
        ("\n``", &["let x"], &[]),
        ("`\n| a | b |\n|--", &[], &["| a | b |"]),
        ("-|---|\n| 1 | 2", &[], &["a  b", "─  ─", "1  2"]),
    ];
    let mut markdown = Markdown::new(40);
    assert_eq!(steps.len(), 16);
    for (piece, out, tail) in steps {
        assert_eq!(texts(&markdown.push(piece)), out, "{piece:?}");
        assert_eq!(texts(&markdown.tail()), tail, "{piece:?}");
    }
    assert_eq!(texts(&markdown.finish()), ["a  b", "─  ─", "1  2"]);
    assert!(markdown.tail().is_empty() && markdown.finish().is_empty());
}

#[test]
fn looks_say_what_marks_said() {
    let bold = Look::PLAIN.bold();
    let cases = [
        ("# a `b`", TextLine::of("a ", Look::of(Ink::Heading).bold()).with("b", Look::of(Ink::Code).bold())),
        ("**a**b", TextLine::of("a", bold).with("b", Look::PLAIN)),
        ("> x", TextLine::of("│ ", Ink::Quiet).with("x", Look::PLAIN)),
        ("[a](b)", TextLine::of("a", Ink::Link).with(" (b)", Ink::Quiet)),
        ("* ~~a~~", TextLine::of("• ", Ink::Accent).with("a", Look::PLAIN.strike())),
        ("<b>*x*</b>", TextLine::plain("<b>*x*</b>")),
        ("---", TextLine::of(&"─".repeat(40), Ink::Quiet)),
    ];
    assert_eq!(cases.len(), 7);
    for (source, line) in cases {
        assert_eq!(finished(source, 80), [line], "{source}");
    }
}

#[test]
fn blocks_stand_inside_of_others() {
    let cases: [(&str, &[&str]); 12] = [
        ("- a\n\n      code  x\n      more\n", &["• a", "", "code  x", "more"]),
        ("1. a\n   b\n   - c\n     d\n\n   e\nf", &["1. a", "   b", "   • c", "     d", "", "   e", "   f"]),
        ("- ```rs\n  x\n  ```\n- b", &["•", "rs", "x", "• b"]),
        ("> a\nb\n> - c\n> ```\n>  d\n> ```\ne", &["│ a", "│ b", "│ • c", "│  d", "e"]),
        ("> ```\n> a\nb", &["│ a", "b"]),
        ("````md\n```\na\n```\n````\nb", &["md", "```", "a", "```", "b"]),
        ("a\n| x | y |\n|---|---|\n| 1 |\nb", &["a", "x  y", "─  ─", "1", "b"]),
        ("> | x |\n> |---|\n> | 1 |\n\nb", &["│ x", "│ ─", "│ 1", "", "b"]),
        ("a\r\n\r\nb\r\n", &["a", "", "b"]),
        ("\n\n\na\n\n\n\nb\n\n\n", &["a", "", "b"]),
        ("a\\\nb  \nc", &["a", "b", "c"]),
        ("# a ##\nb\n===\nc\n---\nd", &["a", "b", "c", "────────────────────────────────────────", "d"]),
    ];
    for (source, expected) in cases {
        assert_eq!(texts(&finished(source, 80)), expected, "{source:?}");
    }
    let mut markdown = Markdown::new(80);
    markdown.push("a\r");
    assert_eq!(texts(&markdown.tail()), ["a"]);
}

/// What is pushed comes out again, up to what may be held back.
fn stays_small(part: &str, parts: usize, held_max: usize) {
    let mut markdown = Markdown::new(80);
    let (mut pushed, mut out) = (0, 0);
    for n in 0..parts {
        let lines = markdown.push(part);
        pushed += part.chars().filter(|c| c.is_alphanumeric()).count();
        let shown = lines.iter().map(TextLine::text);
        out += shown.map(|line| line.chars().filter(|c| c.is_alphanumeric()).count()).sum::<usize>();
        assert!(out + held_max >= pushed, "{} of {pushed} came out of {part:.20}", out);
        if n % 97 == 0 {
            let tail = markdown.tail();
            assert!(tail.len() <= TAIL_ROWS_MAX && tail.iter().all(|row| row.columns() <= 80));
        }
    }
    let rest = markdown.finish().iter().map(TextLine::text).collect::<String>();
    assert_eq!(out + rest.chars().filter(|c| c.is_alphanumeric()).count(), pushed, "{part:.20}");
}

#[test]
fn a_text_without_end_is_not_held_back() {
    let line = format!("{} ", "word".repeat(200));
    let held = SOURCE_LINE_BYTES_MAX + PARAGRAPH_BYTES_MAX + 1024;
    stays_small(&line, 400, held);
    stays_small(&line.replace(' ', ""), 400, held);
    stays_small(&format!("{line}\n"), 400, held);
    stays_small(&format!("> {line}\n"), 400, held);
    stays_small(&format!("| {line} | x |\n|--|--|\n").repeat(2), 300, TABLE_BYTES_MAX + held);
    let mut markdown = Markdown::new(80);
    let mut lines = markdown.push("```rust\n").len();
    for _ in 0..1_000 {
        lines += markdown.push("let x = 1;\n").len();
    }
    assert_eq!(lines, 1_001);
    let mut markdown = Markdown::new(80);
    let mut rows = markdown.push("| a | b |\n|---|---|\n").len();
    for n in 0..100_000 {
        rows += markdown.push(&format!("| {n} | x |\n")).len();
        assert!(rows + 500 >= n, "{rows} of {n}");
    }
    assert_eq!(rows + markdown.finish().len(), 100_002);
}

#[test]
fn hostile_texts_take_time_that_grows_with_their_length() {
    let parts = [
        "*a ", "`", "``a ", "[", "[a](b", "> ", "- ", "| ", "|-", "#", "~~", "\\", "<a ", "1. ", "\t", "\r",
        "    ",
    ];
    for part in parts {
        for end in ["", "\n"] {
            let text = format!("{part}{end}").repeat(60_000 / part.len());
            let mut markdown = Markdown::new(20);
            let _ = markdown.push(&text);
            let _ = markdown.tail();
            let _ = markdown.finish();
        }
    }
}

/// Words that are in a text, with how often they are.
fn words<'a>(text: impl IntoIterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut words = BTreeMap::new();
    for text in text {
        for (begin, _) in text.match_indices('w') {
            let end = text[begin..].find('z').map_or(text.len(), |end| begin + end);
            *words.entry(&text[begin..end]).or_insert(0) += 1;
        }
    }
    words
}

/// Text that has much to do with Markdown. `W` becomes a word of its own.
fn source() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => Just("W"),
        4 => Just(" "),
        3 => Just("\n"),
        1 => Just("\n\n"),
        2 => prop::sample::select(vec![
            "*", "**", "***", "_", "`", "``", "```", "~~", "~~~", "[", "](", ")", "!", "<", ">", "\\", "|", "-", "|-|-|\n",
            "| W | W |\n|--|:-:|\n", "# ", "> ", "- ", "1. ", "  ", "    ", "\t", "- [x] ", "===", "---", "\r", "é", "日",
            "```W\n", "<https://W", "\n- W\n  ```\n", "[W](W)",
        ]),
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| {
        let mut number = 0;
        let mut numbered = String::new();
        for c in parts.concat().chars() {
            if c == 'W' {
                number += 1;
                numbered.push_str(&format!("w{number}z"));
            } else {
                numbered.push(c);
            }
        }
        numbered
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn it_does_not_matter_how_text_is_cut(text in source(), sizes in prop::collection::vec(1_usize..9, 1..8)) {
        let whole = finished(&text, 30);
        let mut markdown = Markdown::new(30);
        let (mut lines, mut chars) = (Vec::new(), text.chars().peekable());
        for size in sizes.iter().cycle() {
            if chars.peek().is_none() {
                break;
            }
            let piece = chars.by_ref().take(*size).collect::<String>();
            lines.extend(markdown.push(&piece));
            prop_assert!(markdown.tail().iter().all(|row| row.columns() <= 30));
        }
        lines.extend(markdown.finish());
        prop_assert_eq!(texts(&lines), texts(&whole));
        prop_assert_eq!(lines, whole);
    }

    #[test]
    fn every_word_is_shown_once(text in source()) {
        // Wide enough that no cell breaks a word.
        let lines = texts(&finished(&text, 400));
        prop_assert_eq!(words(lines.iter().map(String::as_str)), words([text.as_str()]), "{:?}", lines);
    }

    #[test]
    fn nothing_is_too_strange(text in "\\PC*|.*", width in 0_usize..50) {
        let mut markdown = Markdown::new(width);
        for line in text.split_inclusive(' ') {
            markdown.push(line);
            prop_assert!(markdown.tail().len() <= TAIL_ROWS_MAX);
        }
        markdown.set_width(width / 2);
        markdown.finish();
    }
}
