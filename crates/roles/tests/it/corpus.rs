//! Agent files in the style of public collections, odd ones, and broken ones: each with what it comes to.
//!
//! The files are in `corpus/*.txt`: `@@ path flags`, the text, then `@> ` and the outcome in one line.

use posse_protocol::RoleOrigin;
use posse_roles::{Parsed, parse};

use crate::show::show;

struct Case {
    path: String,
    text: String,
    want: String,
}

const SOURCES: [&str; 3] =
    [include_str!("corpus/public.txt"), include_str!("corpus/odd.txt"), include_str!("corpus/broken.txt")];

fn cases(source: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    for chunk in source.split("@@ ").skip(1) {
        let (head, rest) = chunk.split_once('\n').unwrap();
        let (text, want) = rest.split_once("@> ").unwrap_or((rest, ""));
        let mut words = head.split_whitespace();
        let path = words.next().unwrap().to_string();
        let mut text = text.to_string();
        for flag in words {
            text = match flag {
                "bom" => format!("\u{feff}{text}"),
                "crlf" => text.replace('\n', "\r\n"),
                "cr" => text.replace('\n', "\r"),
                other => panic!("{path}: {other} is no flag"),
            };
        }
        cases.push(Case { path, text, want: want.trim_end().to_string() });
    }
    cases
}

fn read(case: &Case) -> Parsed {
    parse(&case.text, &case.path, RoleOrigin::User(case.path.clone()))
}

fn check(source: &str, count: usize) {
    let cases = cases(source);
    let wrong = cases.iter().filter_map(|case| {
        let got = show(&read(case));
        (got != case.want).then(|| format!("{}\n  want {}\n  got  {got}", case.path, case.want))
    });
    let wrong = wrong.collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cases.len(), count);
}

#[test]
fn public_collections_load_as_they_are() {
    check(SOURCES[0], 32);
}

#[test]
fn odd_files_load() {
    check(SOURCES[1], 55);
}

#[test]
fn broken_files_say_what_to_do() {
    check(SOURCES[2], 11);
}

#[test]
fn only_broken_files_are_no_roles() {
    let good = |source| cases(source).iter().filter(|case| read(case).role.is_ok()).count();
    assert_eq!(SOURCES.map(good), [32, 55, 0]);
}

#[test]
fn dialogues_stay_in_the_description() {
    let case = &cases(SOURCES[0])[0];
    let role = read(case).role.unwrap();
    for part in ["user: \"Please", "assistant: \"Here", "</commentary></example>"] {
        assert!(role.description.contains(part), "{}", role.description);
    }
    let escaped = read(&cases(SOURCES[0])[1]).role.unwrap();
    assert_eq!(escaped.description.lines().count(), 7, "{}", escaped.description);
}
