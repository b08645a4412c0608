//! A command line as a shell would see it: words, what stands between commands, and a here-document.
//!
//! It is read to find out whether it is one plain command, never to grant anything: what is not plain runs in the
//! real shell under the agent's own rights, or is refused.

use shlex::Shlex;

use crate::limits;

/// How models begin a long text within double quotes.
const CAT: &str = "$(cat <<";
/// What separates words and lines. Other blanks are part of a word, as in a shell.
const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];

/// One command line.
pub(crate) struct CommandLine {
    /// The words, without their quotes.
    pub(crate) words: Vec<String>,
    /// The text of its here-document.
    pub(crate) here: Option<String>,
    /// The first thing outside quotes that makes it more than one plain command.
    pub(crate) operator: Option<String>,
    /// The first words of the commands after operators.
    pub(crate) heads: Vec<String>,
    /// Whether a quote is not closed.
    pub(crate) open_quote: bool,
}

impl CommandLine {
    /// Reads a command line.
    pub(crate) fn read(text: &str) -> Self {
        let rest = without_comments(text).trim_end_matches(BLANKS);
        let last_line_bytes = rest.rsplit('\n').next().unwrap_or_default().len();
        let mut scan = Scan { rest, last_line_bytes, ..Scan::default() };
        scan.run();
        let mut words = Shlex::new(&scan.plain);
        let found: Vec<String> = words.by_ref().collect();
        let open_quote = words.had_error;
        Self { words: found, here: scan.here, operator: scan.operator, heads: scan.heads, open_quote }
    }
}

/// What is left of a text after blank lines and comments at its start.
fn without_comments(text: &str) -> &str {
    let mut rest = text.trim_start_matches(BLANKS);
    while rest.starts_with('#') {
        rest = rest.split_once('\n').map_or("", |(_, rest)| rest).trim_start_matches(BLANKS);
    }
    rest
}

/// Goes through a line once, writing down what is left for the word splitter. It takes time for each character once:
/// whatever looks further ahead is done a bounded number of times.
#[derive(Default)]
struct Scan<'a> {
    rest: &'a str,
    /// How long the last of its lines is.
    last_line_bytes: usize,
    plain: String,
    /// A line has ended, and so far nothing but blanks and comments came after it.
    line_ended: bool,
    /// A `$(cat <<` had no end; the others will not have one either.
    cat_failed: bool,
    here: Option<String>,
    /// The end mark of a here-document whose text is still to come, and whether tabs before it do not count.
    awaited: Option<(String, bool)>,
    operator: Option<String>,
    heads: Vec<String>,
}

impl Scan<'_> {
    fn run(&mut self) {
        while let Some(character) = self.rest.chars().next() {
            let at_word = self.plain.ends_with([' ', '\t']) || self.plain.is_empty();
            if self.line_ended && !BLANKS.contains(&character) && character != '#' {
                self.line_ended = false;
                self.note("a new line".to_owned());
            }
            match character {
                '\r' if self.rest.starts_with("\r\n") => self.rest = &self.rest[1..],
                '\\' => self.escape(),
                '\'' => self.single(),
                '"' => self.double(),
                '#' if at_word => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                '\n' => self.newline(),
                '<' if self.here_mark() => {}
                '|' | '&' | ';' | '(' | ')' | '`' | '<' | '>' => self.operator(1),
                '$' if self.expands() => self.operator(2),
                _ => self.keep(character.len_utf8()),
            }
        }
    }

    fn keep(&mut self, bytes: usize) {
        let (kept, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.plain.push_str(kept);
        self.rest = rest;
    }

    /// A backslash and what it protects; a line that goes on after it is one line.
    fn escape(&mut self) {
        let after = &self.rest[1..];
        if let Some(rest) = after.strip_prefix('\n').or_else(|| after.strip_prefix("\r\n")) {
            self.rest = rest;
            return;
        }
        self.keep(1 + after.chars().next().map_or(0, char::len_utf8));
    }

    fn single(&mut self) {
        let end = self.rest[1..].find('\'').map_or(self.rest.len(), |at| at + 2);
        self.keep(end);
    }

    fn double(&mut self) {
        self.keep(1);
        while let Some(character) = self.rest.chars().next() {
            let cat = self.rest.starts_with(CAT) && !self.cat_failed;
            let found = cat.then(|| cat_here(self.rest)).flatten();
            self.cat_failed |= cat && found.is_none();
            if let Some((text, rest)) = found {
                for character in text.chars() {
                    if matches!(character, '"' | '\\' | '$' | '`') {
                        self.plain.push('\\');
                    }
                    self.plain.push(character);
                }
                self.rest = rest;
                continue;
            }
            let escaped = if character == '\\' { self.rest[1..].chars().next() } else { None };
            self.keep(character.len_utf8() + escaped.map_or(0, char::len_utf8));
            if character == '"' {
                return;
            }
        }
    }

    /// The end of a line: the here-document begins, or another command, unless nothing but comments follows.
    fn newline(&mut self) {
        self.rest = &self.rest[1..];
        self.plain.push(' ');
        self.line_ended = true;
        if let Some((mark, tabs)) = self.awaited.take() {
            let (text, rest) = here_text(self.rest, &mark, tabs);
            self.here = Some(text);
            self.rest = rest;
        }
    }

    /// Whether a single `<<MARK` begins here; if so, it is taken in.
    fn here_mark(&mut self) -> bool {
        let Some(after) = self.rest.strip_prefix("<<").filter(|after| !after.starts_with('<')) else {
            return false;
        };
        if self.awaited.is_some() || self.here.is_some() {
            return false;
        }
        let (tabs, after) = after.strip_prefix('-').map_or((false, after), |after| (true, after));
        let Some((mark, rest)) = end_mark(after.trim_start_matches([' ', '\t'])) else { return false };
        // Without lines after it there is no text, and it is something else.
        if rest.len() <= self.last_line_bytes {
            return false;
        }
        self.awaited = Some((mark.to_owned(), tabs));
        self.plain.push(' ');
        self.rest = rest;
        true
    }

    /// Whether the dollar here stands for something else.
    fn expands(&self) -> bool {
        let next = self.rest[1..].chars().next();
        next.is_some_and(|c| {
            c.is_alphanumeric() || matches!(c, '(' | '{' | '\'' | '_' | '@' | '?' | '!' | '*')
        })
    }

    fn operator(&mut self, bytes: usize) {
        let length = self.rest.chars().take(bytes).map(char::len_utf8).sum();
        let (found, rest) = self.rest.split_at(length);
        // `&&` and `||` are one.
        let double = rest.chars().next().filter(|next| found == next.to_string());
        let name = format!("{found}{}", double.map(String::from).unwrap_or_default());
        self.rest = &rest[double.map_or(0, char::len_utf8)..];
        self.plain.push(' ');
        if name.starts_with(['<', '>']) || (name.starts_with('$') && name != "$(") {
            self.operator.get_or_insert(name);
        } else {
            self.note(name);
        }
    }

    /// Notes an operator and the command after it.
    fn note(&mut self, operator: String) {
        if self.heads.len() < limits::LINE_HEADS_MAX {
            let near = &self.rest[..self.rest.floor_char_boundary(limits::LINE_HEAD_BYTES_MAX)];
            let after = near.trim_start_matches(|c: char| c.is_whitespace() || "|&;()`".contains(c));
            let head = after.split(|c: char| c.is_whitespace() || "|&;()<>`".contains(c)).next();
            self.heads.extend(head.map(str::to_owned));
        }
        self.operator.get_or_insert(operator);
    }
}

/// The mark after `<<`, with or without quotes, and what follows it.
fn end_mark(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'));
    let (mark, rest) = match quote {
        Some(quote) => text[1..].split_once(quote)?,
        None => {
            let end = text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '.')));
            text.split_at(end.unwrap_or(text.len()))
        }
    };
    let plain = !mark.is_empty() && mark.len() <= limits::HERE_MARK_BYTES_MAX && !mark.contains(['\n', '\r']);
    plain.then_some((mark, rest))
}

/// The lines up to the mark, or to the end where it is missing, and what follows the mark.
fn here_text<'a>(text: &'a str, mark: &str, tabs: bool) -> (String, &'a str) {
    let mut kept = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
        let (line, after) = rest.split_at(end);
        let line = if tabs { line.trim_start_matches('\t') } else { line };
        if line.trim_end_matches(['\r', '\n']) == mark {
            return (kept, after);
        }
        kept.push_str(line);
        rest = after;
    }
    (kept, "")
}

/// `$(cat <<'EOF' … EOF )`, by which models put long texts into double quotes: the text, and what follows.
fn cat_here(text: &str) -> Option<(String, &str)> {
    let after = text.strip_prefix(CAT)?;
    let (mark, rest) = end_mark(after)?;
    let rest = rest.strip_prefix('\r').unwrap_or(rest).strip_prefix('\n')?;
    let (mut kept, rest) = here_text(rest, mark, false);
    let rest = rest.trim_start().strip_prefix(')')?;
    kept.truncate(kept.trim_end_matches('\n').len());
    Some((kept, rest))
}
