//! Just enough of Rust's grammar: what is code, what is comment, what is text, and where the tests begin.

/// One piece of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a> {
    Code(&'a str),
    Comment(&'a str),
    /// A string literal with its quotes.
    Text(&'a str),
}

/// Cuts a source into its pieces; put together again they are the source.
pub(crate) fn pieces<'a>(source: &'a str) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < source.len() {
        let rest = &source[at..];
        let after_word = source[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        let (end, make): (usize, fn(&'a str) -> Piece<'a>) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), Piece::Comment)
        } else if rest.starts_with("/*") {
            (block_comment(rest), Piece::Comment)
        } else if let Some(end) = literal(rest, after_word) {
            (end, Piece::Text)
        } else {
            at += character(rest);
            continue;
        };
        if begin < at {
            pieces.push(Piece::Code(&source[begin..at]));
        }
        pieces.push(make(&source[at..at + end]));
        at += end;
        begin = at;
    }
    if begin < source.len() {
        pieces.push(Piece::Code(&source[begin..]));
    }
    pieces
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// The length of the string literal that begins here.
fn literal(rest: &str, after_word: bool) -> Option<usize> {
    let body = if after_word { rest } else { rest.trim_start_matches(['b', 'c']) };
    let prefix = rest.len() - body.len();
    if let (false, Some(raw)) = (after_word, body.strip_prefix('r')) {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let inner = &raw[hashes + 1..];
            let end = inner.find(&close).map_or(inner.len(), |n| n + close.len());
            return Some(prefix + 1 + hashes + 1 + end);
        }
    }
    if !body.starts_with('"') || prefix > 1 {
        return None;
    }
    let mut escaped = false;
    for (n, c) in body.char_indices().skip(1) {
        match c {
            '"' if !escaped => return Some(prefix + n + 1),
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    Some(rest.len())
}

/// How far to go on in code: over a whole character literal, so that '"' opens nothing; else one character.
fn character(rest: &str) -> usize {
    let mut chars = rest.chars();
    let first = chars.next().map_or(1, char::len_utf8);
    if !rest.starts_with('\'') {
        return first;
    }
    match (chars.next(), chars.next()) {
        (Some('\\'), Some(escape)) => {
            let from = 2 + escape.len_utf8();
            rest[from..].find('\'').map_or(first, |n| from + n + 1)
        }
        (Some(c), Some('\'')) => 1 + c.len_utf8() + 1,
        _ => first,
    }
}

/// The code alone: comments and strings are blank. Every byte stays where it is.
pub(crate) fn code(source: &str) -> String {
    pieces(source)
        .into_iter()
        .map(|piece| match piece {
            Piece::Code(text) => text.to_owned(),
            Piece::Comment(text) | Piece::Text(text) => blank(text),
        })
        .collect()
}

/// The part of a source that is not inside a `#[cfg(test)] mod … { }`, lines kept. Nothing of a file that begins with
/// `#![cfg(test)]`.
pub(crate) fn without_tests(source: &str) -> String {
    let code = code(source);
    // A file of its own for the tests of another one.
    if code.trim_start().starts_with("#![cfg(test)]") {
        return blank(source);
    }
    let mut kept: String = source.to_owned();
    let mut from = 0;
    while let Some(begin) = code[from..].find("#[cfg(test)]").map(|n| from + n) {
        let end = item_end(&code, begin);
        let blank = blank(&kept[begin..end]);
        kept.replace_range(begin..end, &blank);
        from = end;
    }
    kept
}

/// As many blanks as there are bytes, lines kept.
fn blank(text: &str) -> String {
    text.bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect()
}

/// Where the item that begins here ends: at its closing brace, or at its semicolon.
fn item_end(code: &str, begin: usize) -> usize {
    let mut depth = 0;
    for (n, b) in code.bytes().enumerate().skip(begin) {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 1 => return n + 1,
            b'}' => depth -= 1,
            b';' if depth == 0 => return n + 1,
            _ => {}
        }
    }
    code.len()
}

/// The lines (from 1) where a path such as `std::fs` is used, also as `std::{fs, …}`.
pub(crate) fn lines_using(code: &str, path: &str) -> Vec<usize> {
    let mut places: Vec<usize> =
        code.match_indices(path).map(|(n, _)| n).filter(|n| whole(code, *n, path)).collect();
    if let Some((group, name)) = path.rsplit_once("::") {
        for (n, _) in code.match_indices(&format!("{group}::{{")) {
            let body = &code[n..item_end(code, n).min(code.len())];
            let inside = body
                .match_indices(name)
                .any(|(m, _)| whole(body, m, name) && body[..m].trim_end().ends_with(['{', ',']));
            if inside {
                places.push(n);
            }
        }
    }
    let mut lines: Vec<usize> = places.into_iter().map(|n| line_of(code, n)).collect();
    lines.sort_unstable();
    lines.dedup();
    lines
}

/// Whether what stands here is a word of its own and not a part of a longer one.
fn whole(code: &str, at: usize, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    !code[..at].ends_with(part) && !code[at + word.len()..].starts_with(part)
}

/// The line, from 1, of a place.
pub(crate) fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// String literals with the line they begin on.
pub(crate) fn literals(source: &str) -> Vec<(usize, &str)> {
    let mut at = 0;
    let mut found = Vec::new();
    for piece in pieces(source) {
        let (Piece::Code(text) | Piece::Comment(text) | Piece::Text(text)) = piece;
        if matches!(piece, Piece::Text(_)) {
            found.push((line_of(source, at), text));
        }
        at += text.len();
    }
    found
}

#[test]
fn sources_are_cut_at_the_right_places() {
    use Piece::{Code, Comment, Text};
    let cases: &[(&str, &[Piece<'_>])] = &[
        ("a // b\nc", &[Code("a "), Comment("// b"), Code("\nc")]),
        ("a /* b /* c */ d */ e", &[Code("a "), Comment("/* b /* c */ d */"), Code(" e")]),
        (r#"f("a\"b")"#, &[Code("f("), Text(r#""a\"b""#), Code(")")]),
        (r##"f(r#"a"b"#)"##, &[Code("f("), Text(r##"r#"a"b"#"##), Code(")")]),
        (r#"c"x" b"y""#, &[Text(r#"c"x""#), Code(" "), Text(r#"b"y""#)]),
        ("'\"' + \"//\"", &[Code("'\"' + "), Text("\"//\"")]),
        ("'\\'' \"x\"", &[Code("'\\'' "), Text("\"x\"")]),
        ("fn f<'a>(x: &'a str) // y", &[Code("fn f<'a>(x: &'a str) "), Comment("// y")]),
        ("\"never closed", &[Text("\"never closed")]),
    ];
    assert_eq!(cases.len(), 9);
    for (source, expected) in cases {
        assert_eq!(pieces(source), *expected, "{source}");
    }
}

#[test]
fn tests_are_left_out_and_lines_stay() {
    let source = "a\n#[cfg(test)]\nmod tests {\n  fn ä() { x }\n}\nb\n#[cfg(test)]\nmod more;\nc";
    let kept = without_tests(source);
    assert_eq!(kept.lines().count(), 9);
    assert_eq!(kept.split_whitespace().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn uses_are_found_in_every_form() {
    let cases = [
        ("use std::fs;", "std::fs", 1),
        ("use std::{fs, io};", "std::fs", 1),
        ("use std::{io, fs::File};", "std::fs", 1),
        ("use std::fsync;", "std::fs", 0),
        ("use std::{io, path::fs2};", "std::fs", 0),
        ("x(std::fs::read())", "std::fs", 1),
        ("use std::process::{ExitCode, Command};", "std::process::Command", 1),
        ("use std::process::ExitCode;", "std::process::Command", 0),
    ];
    assert_eq!(cases.len(), 8);
    for (source, path, count) in cases {
        assert_eq!(lines_using(source, path).len(), count, "{path} in {source}");
    }
}
