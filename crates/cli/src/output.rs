//! Writing to the person: what came from strangers is made visible first, and a closed pipe is no error. All that is
//! written to standard output and standard error goes through here or through the display's terminal.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write as _};
use std::num::NonZeroU16;
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use posse_protocol::{Event, EventKind, visible};
use posse_report::facts_line;
use serde::Serialize;
use serde_json::Value;

pub(crate) use crate::surroundings::can_draw;
use crate::surroundings::colour_wanted;

/// Columns of lines that go to a file or a pipe.
const WIDTH_WITHOUT_TERMINAL: usize = 200;

/// The same where somebody has said how wide they are.
static COLUMNS: OnceLock<NonZeroU16> = OnceLock::new();

/// Says how wide lines are where there is no terminal. The first call counts.
pub(crate) fn set_columns(columns: Option<NonZeroU16>) {
    if let Some(columns) = columns {
        let _ = COLUMNS.set(columns);
    }
}

/// A text as people are shown it: nothing is left out, and what a terminal acts on or nobody sees is written as an escape.
pub(crate) use posse_protocol::visible::text as visible;
pub(crate) use posse_protocol::visible::{columns, one_line};
pub(crate) use posse_view::words::{counted, duration, grouped};

/// The colours of [`Style`].
const COLOURS: [&str; 11] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[3m", "\x1b[9m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[34m",
    "\x1b[35m", "\x1b[36m",
];

/// A text without the blank space around it. Only what is blank without doubt goes.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches([' ', '\n', '\t'])
}

/// What may go out: colours of ours where there are colours, and nothing else that a terminal acts on. What comes here was
/// made visible before; this is for what was forgotten.
pub(crate) fn guarded(text: &str, colour: bool) -> Cow<'_, str> {
    let safe = |c: char| matches!(c, '\n' | '\t' | '\u{fe0f}') || !visible::hides(c);
    if text.chars().all(safe) {
        return Cow::Borrowed(text);
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(c) = rest.chars().next() {
        let ours = COLOURS.iter().find(|ours| colour && rest.starts_with(**ours));
        let length = ours.map_or(c.len_utf8(), |ours| ours.len());
        match ours {
            Some(ours) => out.push_str(ours),
            None if safe(c) => out.push(c),
            None => out.extend(c.escape_unicode()),
        }
        rest = &rest[length..];
    }
    Cow::Owned(out)
}

/// The columns of a line and what comes last, cut to a width.
pub(crate) fn fitted(head: &str, last: &str, width: usize) -> String {
    match width.checked_sub(columns(head)) {
        Some(room @ 1..) => format!("{head}{}", one_line(last, room)).trim_end().to_string(),
        _ => head.chars().take(width).collect::<String>().trim_end().to_string(),
    }
}

/// Prints to standard output.
pub(crate) fn print(text: &str) -> io::Result<()> {
    let text = guarded(text, Style::for_stdout().colour);
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Writes what is not for reading to standard output, for another program.
pub(crate) fn print_bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Standard output for a program that speaks a protocol with this one. Nothing else may be written there.
pub(crate) fn for_program() -> tokio::io::Stdout {
    tokio::io::stdout()
}

/// Writes to standard error.
pub(crate) fn print_aside(text: &str) -> io::Result<()> {
    io::stderr().write_all(guarded(text, Style::for_stderr().colour).as_bytes())
}

/// A value as a line of JSON in which nothing is left that a terminal acts on. It is the same value.
pub(crate) fn json_line(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(format!("{}\n", visible::json(&serde_json::to_string(value)?)))
}

/// An event as a line of JSON, without the contents of attachments: those are megabytes.
pub(crate) fn event_json(event: &Event) -> serde_json::Result<String> {
    whole_event_json(&event.without_data())
}

/// An event as a line of JSON: as it is on record, and a report with its facts in words before the rest.
pub(crate) fn whole_event_json(event: &Event) -> serde_json::Result<String> {
    let EventKind::AgentSettled { report } = &event.kind else { return json_line(event) };
    let mut value = serde_json::to_value(event)?;
    if let Some(Value::Object(told)) = value.get_mut("report") {
        told.shift_insert(0, "facts".to_string(), facts_line(&report.receipt).into());
    }
    json_line(&value)
}

/// Prints a value as a line of JSON.
pub(crate) fn print_json(value: &impl Serialize) -> io::Result<()> {
    print(&json_line(value)?)
}

/// Whether a person types what is read.
pub(crate) fn stdin_is_terminal() -> bool {
    io::stdin().is_terminal()
}

/// Whether a person sees what is written.
pub(crate) fn stdout_is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Whether a person sees what is written beside the answer.
pub(crate) fn stderr_is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// Throws away what was typed and not read yet.
pub(crate) fn forget_typed() {
    #[cfg(unix)]
    let _ = rustix::termios::tcflush(io::stdin(), rustix::termios::QueueSelector::IFlush);
}

/// Columns and rows of the terminal behind standard error.
pub(crate) fn stderr_size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(io::stderr())?;
    Some((usize::from(width.0), usize::from(height.0)))
}

/// Columns of the terminal behind standard output; where there is none, enough for whole lines.
pub(crate) fn stdout_width() -> usize {
    width(terminal_size::terminal_size_of(io::stdout()))
}

/// Columns of the terminal behind standard output where prose is drawn; none where it is written as it is.
pub(crate) fn prose_width() -> Option<usize> {
    (io::stdout().is_terminal() && can_draw()).then(stdout_width)
}

/// Rows of the terminal behind standard output.
pub(crate) fn stdout_rows() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(_, rows)| usize::from(rows.0))
}

/// Columns of the terminal behind standard error, the same way.
pub(crate) fn stderr_width() -> usize {
    width(terminal_size::terminal_size_of(io::stderr()))
}

fn width(size: Option<(terminal_size::Width, terminal_size::Height)>) -> usize {
    let said = || COLUMNS.get().map(|columns| usize::from(columns.get()));
    let width = size.map(|(width, _)| usize::from(width.0)).or_else(said);
    width.map_or(WIDTH_WITHOUT_TERMINAL, |width| width.max(20))
}

/// Says on standard error why the program cannot go on: all causes, in one paragraph.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text = if text.is_empty() { cause } else { format!("{text}: {cause}") };
        }
    }
    // A line of it must not pass for another message.
    let text = visible(&text).replace('\n', "\n  ");
    let _ = print_aside(&format!("{} {text}\n", Style::for_stderr().red("posse:")));
}

/// Whether an error only says that nobody reads any more.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let io_error = |cause: &(dyn std::error::Error + 'static)| {
        cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
    };
    error.chain().any(io_error)
}

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    pub(crate) fn for_stderr() -> Self {
        Self { colour: io::stderr().is_terminal() && colour_wanted() }
    }

    pub(crate) fn for_stdout() -> Self {
        Self { colour: io::stdout().is_terminal() && colour_wanted() }
    }

    pub(crate) fn has_colours(self) -> bool {
        self.colour
    }

    /// No colours.
    pub(crate) fn plain() -> Self {
        Self { colour: false }
    }

    /// Colours, whatever the terminal.
    #[cfg(test)]
    pub(crate) fn coloured() -> Self {
        Self { colour: true }
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn italic(self, text: &str) -> String {
        self.paint("3", text)
    }

    pub(crate) fn strike(self, text: &str) -> String {
        self.paint("9", text)
    }

    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn blue(self, text: &str) -> String {
        self.paint("34", text)
    }

    pub(crate) fn magenta(self, text: &str) -> String {
        self.paint("35", text)
    }

    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if !self.colour {
            return text.to_string();
        }
        // The end of a line stays outside, so that nothing comes before the next one's beginning.
        let (text, end) = text.strip_suffix('\n').map_or((text, ""), |text| (text, "\n"));
        format!("\x1b[{code}m{text}\x1b[0m{end}")
    }
}

/// A moment as people write it, where they are.
pub(crate) fn local_time(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    match jiff::Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned(jiff::tz::TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string(),
        Err(_) => "?".to_string(),
    }
}

/// How long ago a moment was, in a word or two; the day where that is long ago.
pub(crate) fn ago(ms: u64, now_ms: u64) -> String {
    let minutes = now_ms.saturating_sub(ms) / 60_000;
    match minutes {
        0 => "just now".to_string(),
        1..60 => format!("{minutes} min ago"),
        60..1_440 => format!("{} h ago", minutes / 60),
        1_440..43_200 => format!("{} d ago", minutes / 1_440),
        _ => local_time(ms).chars().take(10).collect(),
    }
}

/// Now: milliseconds since 1970, UTC.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{ago, fitted, guarded, json_line, one_line, visible};

    #[test]
    fn strangers_cannot_drive_the_terminal() {
        let cases = [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\x1b[2Jgone", "\\u{1b}[2Jgone"),
            ("\x1b[31mred\x1b[0m", "\\u{1b}[31mred\\u{1b}[0m"),
            ("\x1b]0;title\x07x", "\\u{1b}]0;title\\u{7}x"),
            ("a\rb", "a\\rb"),
            ("\u{202E}txt.exe", "\\u{202e}txt.exe"),
            ("\u{9b}31mred", "\\u{9b}31mred"),
        ];
        for (text, want) in cases {
            assert_eq!(visible(text), want, "{text:?}");
            assert_eq!(guarded(want, true), want, "what is visible stays as it is");
            assert_eq!(guarded(text, false).replace("\\u{d}", "\\r"), want, "{text:?} was forgotten");
        }
        assert_eq!(guarded("\x1b[31mred\x1b[0m\x1b[8mx", true), "\x1b[31mred\x1b[0m\\u{1b}[8mx");
        assert_eq!(json_line(&"a\u{9b}\u{e0041}\n").unwrap(), "\"a\\u009b\\udb40\\udc41\\n\"\n");
        assert_eq!(one_line("a\n b\x07 c ", 30), "a\\n b\\u{7} c ");
        assert_eq!(one_line("abcdefgh", 5), "abcd…");
    }

    #[test]
    fn moments_are_told_from_now() {
        const MINUTE: u64 = 60_000;
        let cases = [
            (0, "just now"),
            (MINUTE, "1 min ago"),
            (59 * MINUTE, "59 min ago"),
            (60 * MINUTE, "1 h ago"),
            (24 * 60 * MINUTE, "1 d ago"),
            (29 * 24 * 60 * MINUTE, "29 d ago"),
        ];
        let now = 1_900_000_000_000;
        for (before, want) in cases {
            assert_eq!(ago(now - before, now), want);
        }
        assert!(ago(now - 40 * 24 * 60 * MINUTE, now).starts_with("2030-0"));
        assert_eq!(ago(now + MINUTE, now), "just now", "clocks differ");
    }

    #[test]
    fn the_last_column_is_cut_and_nothing_wraps() {
        let cases = [
            ("id  ", "the task", 12, "id  the task"),
            ("id  ", "the task", 9, "id  the…"),
            ("a long head  ", "x", 6, "a long"),
        ];
        for (head, last, width, want) in cases {
            assert_eq!(fitted(head, last, width), want, "{head}{last} in {width}");
        }
    }
}
