//! What a terminal shows of Markdown, however it arrives.

use super::*;

const TEXT: &str = include_str!("sample.md");

const COLUMNS: usize = 40;

#[test]
fn markdown_is_shown_in_rows_that_fit() {
    insta::assert_snapshot!(shown(Style::plain(), TEXT, COLUMNS));
}

#[test]
fn colours_take_the_place_of_marks() {
    let text = shown(Style::coloured(), TEXT, COLUMNS);
    for part in [
        "\u{1b}[1mThe\u{1b}[0m \u{1b}[1mparts\u{1b}[0m\n",
        "has \u{1b}[1mthree\u{1b}[0m \u{1b}[1mparts\u{1b}[0m, and",
        "• the \u{1b}[3mparser\u{1b}[0m, which",
        "\u{1b}[2m│ \u{1b}[0mfn main() {\n",
        "\u{1b}[1mpart\u{1b}[0m     \u{1b}[1mlines\u{1b}[0m\n",
    ] {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    assert!(!text.contains("**") && !text.contains('`') && !text.contains("|--"), "{text}");
}

#[test]
fn it_does_not_matter_how_text_is_cut() {
    let chars = TEXT.chars().collect::<Vec<_>>();
    let mut cuts = 0;
    for style in [Style::plain(), Style::coloured()] {
        let whole = shown(style, TEXT, COLUMNS);
        for size in [1, 2, 3, 5, 7, 11, 64] {
            let mut prose = Prose::new(style);
            let mut out = String::new();
            for piece in chars.chunks(size) {
                out.push_str(&prose.push(&piece.iter().collect::<String>(), COLUMNS));
            }
            out.push_str(&prose.finish(COLUMNS));
            assert_eq!(out, whole, "in pieces of {size}");
            cuts += 1;
        }
    }
    assert_eq!(cuts, 14);
}

#[test]
fn words_appear_when_they_are_complete_and_marks_when_they_are_closed() {
    let mut prose = Prose::new(Style::coloured());
    let steps = [
        ("He", "", false),
        ("llo ", "Hello", true),
        ("the **bo", " the", true),
        ("ld** w", " \u{1b}[1mbold\u{1b}[0m", true),
        ("\n", " w\n", false),
        ("```sh\n", "", false),
        ("ls -", "\u{1b}[2m│ \u{1b}[0mls -", true),
        ("l\n```", "l\n", false),
    ];
    assert_eq!(steps.len(), 8);
    for (piece, expected, mid_row) in steps {
        assert_eq!(prose.push(piece, COLUMNS), expected, "{piece:?}");
        assert_eq!(prose.is_mid_row(), mid_row, "{piece:?}");
    }
    assert!(prose.is_open());
    assert_eq!(prose.finish(COLUMNS), "");
    assert!(!prose.is_open());
}

#[test]
fn a_row_can_be_left_and_the_line_continues() {
    let cases = [("some wor", "ds more\n", "some wor\nds more\n"), ("```\nab", "cd\n```", "│ ab\n│ cd\n")];
    for (before, after, expected) in cases {
        let mut prose = Prose::new(Style::plain());
        let mut out = prose.push(before, COLUMNS);
        prose.pause(&mut out, COLUMNS);
        assert!(!prose.is_mid_row());
        out.push_str(&prose.push(after, COLUMNS));
        out.push_str(&prose.finish(COLUMNS));
        assert_eq!(out, expected);
    }
}

#[test]
fn raw_text_stays_as_it_is() {
    let mut prose = Prose::raw();
    assert_eq!(prose.push(TEXT, COLUMNS), TEXT);
    assert!(!prose.is_mid_row());
    prose.push("more", COLUMNS);
    assert!(prose.is_mid_row());
    assert_eq!(prose.finish(COLUMNS), "\n");
    assert_eq!(prose.finish(COLUMNS), "");
}

#[test]
fn text_without_end_is_held_back_up_to_a_limit() {
    let long = "x".repeat(START_BYTES_MAX + 1);
    let mut prose = Prose::new(Style::plain());
    assert!(prose.push(&format!("| {long}"), COLUMNS).len() > START_BYTES_MAX);
}
