//! A short title of a session, made of the first meaningful words of its prompt, and the form of a title that a person gives.
//! Pure text work: no model is asked.

use std::fmt;

use crate::limits::{
    NAME_CHARS_MAX, NAME_TYPED_CHARS_MAX, SENTENCE_CHARS_MIN, TITLE_PROMPT_BYTES_MAX, TITLE_SHORT_CHARS_MAX,
};
use crate::visible;

/// Words that a request can begin with and that say nothing about it. Longer ones stand before their beginnings.
const POLITE: &[&str] = &[
    "good morning",
    "good afternoon",
    "good evening",
    "hello there",
    "hi there",
    "hello",
    "hey",
    "hi",
    "dear posse",
    "posse",
    "could you please",
    "can you please",
    "would you please",
    "will you please",
    "could you",
    "can you",
    "would you mind",
    "would you",
    "will you",
    "please",
    "pls",
    "kindly",
    "i would like you to",
    "i'd like you to",
    "i want you to",
    "i need you to",
    "your task is to",
    "thank you",
    "thanks",
    "okay",
    "ok",
    "so",
    "guten morgen",
    "guten tag",
    "hallo",
    "könntest du bitte",
    "kannst du bitte",
    "könntest du",
    "kannst du",
    "bitte",
    "bonjour",
    "s'il te plaît",
    "s'il vous plaît",
    "peux-tu",
    "pouvez-vous",
    "hola",
    "por favor",
    "puedes",
];

/// The title of a session that was begun with this prompt: its first meaningful words, in one line. Empty only for a prompt
/// without anything in it. The title of a title is that title.
pub fn title_of(prompt: &str) -> String {
    let mut title = shortened(&prompt[..prompt.floor_char_boundary(TITLE_PROMPT_BYTES_MAX)]);
    // What stands behind one courtesy can be another. Each round makes it shorter.
    for _ in 0..TITLE_SHORT_CHARS_MAX {
        let again = shortened(&title);
        if again == title {
            break;
        }
        title = again;
    }
    title
}

/// A title as a person typed it, in one line that can be shown; none if it is empty, or why it cannot be a title.
pub fn typed_title(text: &str) -> Result<Option<String>, TitleTooLong> {
    // Nothing longer is looked at. Escapes make a line longer, so both lengths count.
    let typed = text.trim();
    if typed.chars().nth(NAME_TYPED_CHARS_MAX).is_some() {
        return Err(TitleTooLong);
    }
    let title = visible::line(&joined(typed));
    match title.chars().count() {
        0 => Ok(None),
        1..=NAME_CHARS_MAX => Ok(Some(title)),
        _ => Err(TitleTooLong),
    }
}

/// A title has more characters than fit into a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TitleTooLong;

impl fmt::Display for TitleTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a title has at most {NAME_CHARS_MAX} characters")
    }
}

impl std::error::Error for TitleTooLong {}

fn shortened(prompt: &str) -> String {
    let lines = spoken_lines(prompt);
    let words = lines.iter().map(|line| after_courtesies(&unmarked(line))).find(|words| has_words(words));
    // A prompt of code or of a log alone has a title too: its first line.
    let words = words.or_else(|| {
        let any = |line: &&str| has_words(line);
        prompt
            .lines()
            .map(str::trim)
            .find(any)
            .or_else(|| prompt.lines().find(|l| !l.trim().is_empty()))
            .map(joined)
    });
    let words = words.unwrap_or_default();
    cut(&visible::line(first_sentences(&words)))
}

/// The lines that somebody wrote to be read: no code, no quotes, no logs, no rules.
fn spoken_lines(prompt: &str) -> Vec<&str> {
    let (mut fence, mut spoken) = (None, Vec::new());
    for line in prompt.lines() {
        let text = line.trim();
        let opens = ["```", "~~~"].into_iter().find(|mark| text.starts_with(mark));
        match (fence, opens) {
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, Some(mark)) => fence = Some(mark),
            (None, None) if is_spoken(line) => spoken.push(text),
            (None, None) => {}
        }
    }
    spoken
}

fn is_spoken(line: &str) -> bool {
    let text = line.trim();
    let code = line.starts_with("    ") || line.starts_with('\t');
    let tag = text.starts_with('<') && text.ends_with('>');
    has_words(text) && !code && !tag && !text.starts_with('>') && !text.starts_with("$ ") && !is_log(text)
}

/// Lines that programs write: a time first, a level first, or the frames of a stack.
fn is_log(line: &str) -> bool {
    let first = line.split_whitespace().next().unwrap_or_default().trim_matches(['[', ']', ':', '(', ')']);
    let digits = first.chars().filter(char::is_ascii_digit).count();
    let time = digits >= 4
        && first.chars().all(|c| c.is_ascii_digit() || "-:.,TZ+/".contains(c))
        && first.contains(['-', ':', '/']);
    let level = ["ERROR", "WARN", "WARNING", "INFO", "DEBUG", "TRACE", "FATAL"].contains(&first);
    let frame = line.starts_with("at ") && line.contains(['(', ':'])
        || line.starts_with("File \"")
        || line.starts_with("Traceback ");
    time || level || frame
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// A line in single spaces, without the marks of Markdown that only format it.
fn unmarked(line: &str) -> String {
    let mut text = line.trim();
    loop {
        let number = text.find(|c: char| !c.is_ascii_digit()).filter(|end| (1..=3).contains(end));
        let listed =
            number.and_then(|end| text[end..].strip_prefix(". ").or_else(|| text[end..].strip_prefix(") ")));
        let marks = ["# ", "- ", "* ", "+ ", "[ ] ", "[x] ", "#"];
        match listed.or_else(|| marks.iter().find_map(|mark| text.strip_prefix(mark))) {
            // `#12` is the number of an issue.
            Some(rest) if !text.starts_with('#') || !rest.starts_with(|c: char| c.is_ascii_digit()) => {
                text = rest.trim_start();
            }
            _ => break,
        }
    }
    joined(text).replace("**", "").replace('`', "")
}

/// The words in single spaces.
fn joined(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || visible::ends_line(c))
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What is left behind the words that only greet or ask kindly.
fn after_courtesies(text: &str) -> String {
    let mut rest = text.trim();
    while let Some(after) = POLITE.iter().find_map(|words| without(rest, words)) {
        rest = after;
    }
    rest.to_owned()
}

/// The text behind these words, if it begins with them.
fn without<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    let mut chars = text.char_indices();
    for expected in words.chars() {
        let (_, found) = chars.next()?;
        let found = if found == '’' { '\'' } else { found };
        if !found.to_lowercase().eq(expected.to_lowercase()) {
            return None;
        }
    }
    let rest = chars.as_str();
    let ends = rest.is_empty() || rest.starts_with([' ', ',', '!', '.', ':', ';', '-', '–', '—']);
    // `so-called` and `hi-res` are words of their own.
    let joined = rest.starts_with('-') && rest[1..].starts_with(char::is_alphanumeric);
    let named = rest.starts_with('.') && rest[1..].starts_with(char::is_alphanumeric);
    (ends && !joined && !named)
        .then(|| rest.trim_start_matches([' ', ',', '!', '.', ':', ';', '-', '–', '—']))
}

/// The line if it is short enough, else the sentences at its beginning that are; where there are none, the line.
fn first_sentences(text: &str) -> &str {
    let (mut length, mut end) = (0, None);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next().filter(|_| length < TITLE_SHORT_CHARS_MAX) {
        length += 1;
        let next = chars.peek().map(|(_, next)| *next);
        let ends = matches!(c, '。' | '？' | '！') || (matches!(c, '.' | '?' | '!') && next == Some(' '));
        if next.is_none() {
            end = None;
        } else if ends && length > SENTENCE_CHARS_MIN && !abbreviated(&text[..at], c) {
            end = Some(at + c.len_utf8());
        }
    }
    bare(end.map_or(text, |end| &text[..end]))
}

/// Whether a full stop ends a short form and not a sentence.
fn abbreviated(before: &str, mark: char) -> bool {
    let word = before.rsplit(' ').next().unwrap_or_default().trim_start_matches('(').to_lowercase();
    mark == '.' && ["e.g", "i.e", "z.b", "etc", "vs", "cf", "approx", "no", "p"].contains(&word.as_str())
}

/// Without the mark that ends a statement, which a title has not.
fn bare(text: &str) -> &str {
    let bare = text.trim_end_matches(['.', ':', ',', ';', '。', ' ']);
    if bare.is_empty() || text.ends_with("...") { text.trim_end() } else { bare }
}

/// Cut between words where there is a gap, with `…` for what is missing.
fn cut(text: &str) -> String {
    let Some((end, _)) = text.char_indices().nth(TITLE_SHORT_CHARS_MAX) else { return text.to_owned() };
    let room = text.char_indices().nth(TITLE_SHORT_CHARS_MAX - 1).map_or(end, |(end, _)| end);
    // A word that begins in the first half is cut itself: a path without spaces would leave nothing.
    let gap = text[..end].rfind(' ').filter(|gap| text[..*gap].chars().count() >= TITLE_SHORT_CHARS_MAX / 2);
    let kept = text[..gap.unwrap_or(room).min(room)].trim_end_matches([' ', ',', ';', ':', '.', '–', '-']);
    format!("{kept}…")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prompts and their titles.
    const PROMPTS: [(&str, &str); 46] = [
        ("", ""),
        (" \n\t\n", ""),
        ("fix the build", "fix the build"),
        ("Please fix the build.", "fix the build"),
        ("Hi!\n\nCan you please look at src/main.rs?", "look at src/main.rs?"),
        ("Hello there, could you explain the parser?", "explain the parser?"),
        ("Hey Posse, I'd like you to add a flag", "add a flag"),
        ("I’d like you to add a flag", "add a flag"),
        ("Kannst du bitte die Tests reparieren?", "die Tests reparieren?"),
        ("S'il te plaît, ajoute un test", "ajoute un test"),
        ("Por favor arregla la prueba", "arregla la prueba"),
        ("hierarchy of so-called types", "hierarchy of so-called types"),
        ("hi-res images are blurred", "hi-res images are blurred"),
        ("Pleased to meet you", "Pleased to meet you"),
        ("# Task\n\nDo it", "Task"),
        ("## Fix **all** of `foo()`", "Fix all of foo()"),
        ("#12 is still open", "#12 is still open"),
        ("- [ ] write docs", "write docs"),
        ("1. first do this\n2. then that", "first do this"),
        ("2 tests fail", "2 tests fail"),
        ("---\nThe release is broken", "The release is broken"),
        ("```\nerror[E0308]: mismatched types\n```\nWhy does this fail?", "Why does this fail?"),
        ("~~~py\n```\nx = 1\n~~~\nmake it faster", "make it faster"),
        ("```\nlet x = 1;\n```", "let x = 1"),
        ("> it worked yesterday\n> and today not\nfind out why", "find out why"),
        ("2026-01-02T03:04:05Z ERROR boom\n[12:30:01] retry\nWhat happened here?", "What happened here?"),
        (
            "ERROR cannot connect\n    at run (a.js:3)\nat run (a.js:3)\nhelp me with this",
            "help me with this",
        ),
        ("Traceback (most recent call last):\n  File \"a.py\", line 1\nfix it", "fix it"),
        ("$ cargo test\nIt hangs for ever", "It hangs for ever"),
        ("<context>\nsummarise the report", "summarise the report"),
        ("2026-01-02 03:04:05 boom", "2026-01-02 03:04:05 boom"),
        ("Fix it. Then run the tests.", "Fix it. Then run the tests"),
        (
            "Rename the module. Then run the tests. After that, tell me what you think of its interface.",
            "Rename the module. Then run the tests",
        ),
        (
            "Support formats, e.g. TOML and JSON. Also YAML, but only if that needs no new dependency.",
            "Support formats, e.g. TOML and JSON",
        ),
        (
            "It fails. I have no idea why that could be, and nobody else here has one either.",
            "It fails. I have no idea why that could be, and nobody else…",
        ),
        ("Is this right? I doubt it.", "Is this right? I doubt it"),
        ("Bump version 1.2.3 to 1.3.0 now", "Bump version 1.2.3 to 1.3.0 now"),
        ("Do the following:\n- a\n- b", "Do the following"),
        ("wait for it...", "wait for it..."),
        ("a\u{1b}[31mred\u{202e}", "a\\u{1b}[31mred\\u{202e}"),
        ("one  two\tthree\u{a0}four", "one two three four"),
        ("!!!\n???", "!!!"),
        ("please", "please"),
        ("修复这个错误。然后运行测试。", "修复这个错误。然后运行测试"),
        (
            "Implement the exponential back-off of the retry loop in the client module",
            "Implement the exponential back-off of the retry loop in the…",
        ),
        (
            "see https://example.org/a/very/long/address/that/has/no/spaces/in/it/anywhere",
            "see https://example.org/a/very/long/address/that/has/no/spa…",
        ),
    ];

    #[test]
    fn titles_are_the_first_meaningful_words() {
        assert_eq!(PROMPTS.len(), 46);
        for (prompt, want) in PROMPTS {
            let title = title_of(prompt);
            assert_eq!(title, want, "of {prompt:?}");
            assert!(title.chars().count() <= TITLE_SHORT_CHARS_MAX, "{title}");
        }
    }

    /// A record of an older Posse has the first line of the prompt, and its title is made of that when it is read.
    #[test]
    fn the_title_of_a_title_is_that_title() {
        let pieces = [
            "please ",
            "can you ",
            "# ",
            "1. ",
            "```",
            "\n",
            "> ",
            "fix",
            " the build. ",
            "\u{7}",
            "ERROR ",
            "*",
            "**",
            "`",
            "日本語。",
            "é",
            "…",
            ": ",
            "12:30:01 ",
            "    ",
            "<a>",
            "hi",
            "-",
            ".",
            "\u{202e}",
            "word ",
            "? ",
        ];
        let mut state = 0x9e37_79b9_u64;
        let mut ran = 0;
        for _ in 0..20_000 {
            let mut prompt = String::new();
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let mut bits = state;
            for _ in 0..(state >> 59) {
                prompt.push_str(pieces[(bits >> 33) as usize % pieces.len()]);
                bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            }
            let title = title_of(&prompt);
            assert_eq!(title_of(&title), title, "of {prompt:?}");
            assert!(title.chars().count() <= TITLE_SHORT_CHARS_MAX && visible::control(&title).is_none());
            assert_eq!(title.is_empty(), prompt.trim().is_empty(), "of {prompt:?}");
            ran += 1;
        }
        assert_eq!(ran, 20_000);
    }

    #[test]
    fn titles_of_people_are_one_line_of_some_length() {
        let long = "x".repeat(NAME_CHARS_MAX);
        let spaced = format!("{}x", " ".repeat(100_000));
        let cases = [
            ("", Ok(None)),
            (" \n ", Ok(None)),
            ("  the parser\n bug ", Ok(Some("the parser bug"))),
            ("please keep my words.", Ok(Some("please keep my words."))),
            ("a\u{1b}b", Ok(Some("a\\u{1b}b"))),
            (long.as_str(), Ok(Some(long.as_str()))),
            (spaced.as_str(), Ok(Some("x"))),
        ];
        assert_eq!(cases.len(), 7);
        for (typed, want) in cases {
            assert_eq!(typed_title(typed), want.map(|title| title.map(str::to_owned)), "{typed:?}");
        }
        for typed in [format!("{long}x"), "\u{7}".repeat(50), "x".repeat(1_000_000)] {
            assert_eq!(typed_title(&typed), Err(TitleTooLong));
        }
    }
}
