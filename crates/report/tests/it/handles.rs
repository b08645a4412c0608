//! Handles: every way to read a value, and what is said when it cannot be read so.

use posse_protocol::HandleRead;
use posse_report::{Piece, limits, read};
use proptest::prelude::*;

fn slice(offset: usize, length: usize) -> HandleRead {
    HandleRead::Slice { offset, length }
}

fn lines(from: usize, to: usize) -> HandleRead {
    HandleRead::Lines { from, to }
}

fn path(path: &str) -> HandleRead {
    HandleRead::JsonPath(path.into())
}

const JSON: &str =
    r#"{"files":[{"path":"a.rs","ok":true},{"path":"b.rs","ok":false}],"note":"häß","deep":{"path":"c"}}"#;

#[test]
fn pieces_come_back() {
    let text = "eins\nzwéi\ndrei\n";
    let cases = [
        (text, slice(0, 4), "eins", "11 more characters: read on from offset 4."),
        (text, slice(5, 3), "zwé", "7 more characters: read on from offset 8."),
        (text, slice(10, 99), "drei\n", ""),
        (text, slice(0, usize::MAX), text, ""),
        ("", slice(0, 1), "", "The value is empty."),
        (text, lines(1, 1), "eins", "2 more lines: read on from line 2."),
        (text, lines(2, 3), "zwéi\ndrei", ""),
        (text, lines(2, 9), "zwéi\ndrei", "The value ends with line 3."),
        (text, lines(0, usize::MAX), "eins\nzwéi\ndrei", ""),
        ("", lines(1, 2), "", "The value is empty."),
        (text, HandleRead::Count, "15 characters, 3 lines", ""),
        ("[1,2,[3]]", HandleRead::Count, "9 characters, 1 lines, a JSON list of 3 elements", ""),
        (JSON, HandleRead::Count, "97 characters, 1 lines, a JSON object of 3 keys: files, note, deep", ""),
        (JSON, path("$.note"), "\"häß\"", "1 match."),
        (JSON, path("note"), "\"häß\"", "1 match."),
        (JSON, path(".deep"), "{\"path\":\"c\"}", "1 match."),
        (JSON, path("$.files[*].path"), "\"a.rs\"\n\"b.rs\"", "2 matches."),
        (JSON, path("$..path"), "\"a.rs\"\n\"b.rs\"\n\"c\"", "3 matches."),
        (JSON, path("$.files[?@.ok == true].path"), "\"a.rs\"", "1 match."),
        (JSON, path("$.files[?search(@.path, '^b')].path"), "\"b.rs\"", "1 match."),
        (JSON, path("$.files[0:1].ok"), "true", "1 match."),
        (JSON, path("$['note','nope']"), "\"häß\"", "1 match."),
        (JSON, path("$.files[-1].path"), "\"b.rs\"", "1 match."),
        (JSON, path("$.nope"), "", "No matches."),
        ("7", path(""), "7", "1 match."),
    ];
    assert_eq!(cases.len(), 25);
    for (value, how, wanted, note) in cases {
        let piece = Piece { text: wanted.to_owned(), note: note.to_owned() };
        assert_eq!(read(value, &how), Ok(piece), "{how:?}");
    }
}

#[test]
fn what_cannot_be_read_is_explained() {
    let nested = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let large = format!("[{}1]", "1,".repeat(limits::JSON_BYTES_MAX / 2));
    let cases = [
        ("abc", slice(3, 1), "the value has 3 characters; offset must be less than that"),
        ("abc", slice(0, 0), "length is 0; ask for at least 1 character"),
        ("abc", lines(2, 2), "the value has 1 lines; the first line must be one of them"),
        ("abc", lines(5, 2), "the last line (2) comes before the first (5); lines count from 1"),
        (
            "abc",
            path("$.a"),
            "the value is not JSON, so JSONPath finds nothing in it; read it by slice or lines",
        ),
        (
            &nested,
            path("$"),
            "the value is JSON, but nested too deeply for JSONPath; read it by slice or lines",
        ),
        (&large, path("$"), "are read as JSON; read it by slice or lines"),
        (JSON, path("$.a["), "the JSONPath $.a[ cannot be read at character 5. Paths look like"),
        (JSON, path("$.a]"), "cannot be read at character"),
        (JSON, path("$[?"), "cannot be read"),
        (JSON, path(&"$.a".repeat(1_000)), "longer than 500 bytes"),
        (JSON, path(&format!("$[?{}", "length(".repeat(60))), "brackets in brackets"),
        (JSON, path(&format!("$[?{}x", "length(".repeat(5))), "cannot be read"),
        (JSON, path(&format!("$[?{}x", "match(1,".repeat(5))), "cannot be read"),
        (JSON, path("$[?search(@.a, @.b)]"), "not written out in quotes"),
        (JSON, path("$[?search(@[\"a, 'b\"], @.c)]"), "not written out in quotes"),
        (JSON, path("$[?search(@.a, '(a{99}){99}')]"), "too large or counts"),
    ];
    assert_eq!(cases.len(), 17);
    for (value, how, wanted) in cases {
        let error = read(value, &how).expect_err(wanted);
        assert!(error.contains(wanted), "{how:?}: {error}");
        assert!(error.len() < 500, "{error}");
    }
}

#[test]
fn paths_that_cost_too_much_are_refused() {
    let deep = format!("{}1{}", "[".repeat(120), "]".repeat(120));
    let wide = format!("[{}1]", "1,".repeat(200_000));
    let long_key = format!("{{\"{}\":[{}1]}}", "k".repeat(1_000_000), "1,".repeat(200));
    let cases = [
        (&deep, "$..*..*..*..*..*"),
        (&deep, "$..[?@..[?@..*]]"),
        (&wide, "$[?$[*]]"),
        (&wide, "$[?search(@, 'a')]"),
        (&wide, "$[*,*,*,*,*,*,*,*,*,*,*,*]"),
        (&wide, "$[?any_of(@, @)]"),
        (&long_key, "$..*"),
    ];
    assert_eq!(cases.len(), 7);
    for (value, how) in cases {
        let error = read(value, &path(how)).unwrap_err();
        assert!(error.contains("would look at too much of a value with"), "{how}: {error}");
    }
    assert!(read(&wide, &path("$[199999:]")).is_ok());
    assert!(read(&deep, &path("$..*")).is_ok());
}

#[test]
fn a_read_is_capped_and_says_how_to_go_on() {
    let max = limits::READ_BYTES_MAX;
    let long = "é".repeat(max);
    let ends = |value: &str, how: &HandleRead, note: &str| {
        let piece = read(value, how).unwrap();
        assert!(piece.note.ends_with(note), "{}", piece.note);
        piece.text
    };
    let text = ends(
        &long,
        &slice(0, usize::MAX),
        &format!("{} more characters: read on from offset {}.", max / 2, max / 2),
    );
    assert_eq!(text, long[..max]);
    let text = ends(&format!("x\n{long}\ny"), &lines(1, 3), "2 more lines: read on from line 2.");
    assert_eq!(text, "x");
    let note =
        format!("Line 2 is longer: read on by offset {}. 1 more lines: read on from line 3.", max / 2 + 2);
    ends(&format!("x\n{long}\ny"), &lines(2, 3), &note);
    let many = format!("[{}1]", "\"0123456789\",".repeat(5_000));
    let piece = read(&many, &path("$[*]")).unwrap();
    assert!(
        piece.note.starts_with("5001 matches.")
            && piece.note.contains("are not shown: narrow the path, with ["),
        "{}",
        piece.note
    );
    let one = format!("[\"{long}\",2]");
    ends(
        &one,
        &path("$[*]"),
        "more characters and 1 more matches: go deeper with the path, or read by offset.",
    );
}

proptest! {
    #[test]
    fn no_read_panics_or_is_too_long(
        value in prop_oneof![".{0,300}", "[\\[\\]{}\",:0-9a\\n]{0,300}", Just(JSON.to_owned())],
        offset in 0_usize..400, length in 0_usize..400,
        how in prop_oneof!["[$.@?*a\\[\\]()'\",:<=!&| -]{0,60}", ".{0,40}"],
    ) {
        for how in [slice(offset, length), lines(offset, length), HandleRead::Count, path(&how)] {
            match read(&value, &how) {
                Ok(piece) => prop_assert!(piece.text.len() <= limits::READ_BYTES_MAX && piece.note.len() < 500),
                Err(why) => prop_assert!(why.len() < 1_000),
            }
        }
    }
}
