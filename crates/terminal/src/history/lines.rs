//! One entry in one line: line ends and backslashes are written as escapes.

use crate::limits::HISTORY_ENTRY_BYTES_MAX;

/// A line with its end.
pub(super) fn encode(entry: &str) -> String {
    let mut line = String::with_capacity(entry.len() + 1);
    for c in entry.chars() {
        match c {
            '\\' => line.push_str("\\\\"),
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            _ => line.push(c),
        }
    }
    line.push('\n');
    line
}

/// The entry of a line, without its end. Escapes that we do not write stay as they are. Nothing for what is no text: a
/// crash may leave anything in a file.
pub(super) fn decode(line: &[u8]) -> Option<String> {
    let is_short = line.len() <= 2 * HISTORY_ENTRY_BYTES_MAX;
    let line = str::from_utf8(line).ok().filter(|line| is_short && !line.contains('\0'))?;
    let mut entry = String::with_capacity(line.len());
    let mut rest = line.strip_suffix('\r').unwrap_or(line);
    while let Some(at) = rest.find('\\') {
        entry.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let (c, taken) = match rest.as_bytes().first() {
            Some(b'n') => ('\n', 1),
            Some(b'r') => ('\r', 1),
            Some(b'\\') => ('\\', 1),
            _ => ('\\', 0),
        };
        entry.push(c);
        rest = &rest[taken..];
    }
    entry.push_str(rest);
    Some(entry)
}
