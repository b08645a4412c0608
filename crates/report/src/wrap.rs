//! The wrapper around words that an agent reads and that are not its user's: a line that opens, every line of the
//! words behind a mark, a line that closes. Nothing in the words can look like either of the two, since no line of
//! theirs begins without the mark (promise X8).

use posse_protocol::visible::Visible;

use crate::{limits, visible};

/// What stands before every line of the words.
const MARK: &str = "| ";

/// Wraps words of `from`. `kind` says what they are: `report`, `message`, `value`.
pub fn quote(kind: &str, from: &str, text: &str) -> String {
    quote_within(kind, from, text, usize::MAX).0
}

/// The same within a size, and how many characters were left out. The wrapper itself is always whole.
pub(crate) fn quote_within(kind: &str, from: &str, text: &str, bytes_max: usize) -> (String, usize) {
    let kind = word(kind, "text");
    let close = format!("</{kind}>");
    let mut out = format!("<{kind} from=\"{}\">\n", word(from, "unknown"));
    let bytes_max = bytes_max.saturating_sub(close.len());
    for line in visible::lines(text) {
        let mark_end = out.len() + MARK.len();
        if mark_end + 1 > bytes_max {
            return (out + &close, left_out(text, line.as_ptr()));
        }
        out.push_str(MARK);
        let mut visible = Visible::default();
        for (at, c) in line.char_indices() {
            let length = out.len();
            visible.push(&mut out, c);
            if out.len() + 1 > bytes_max {
                out.truncate(length);
                out.push('\n');
                return (out + &close, left_out(text, line[at..].as_ptr()));
            }
        }
        out.push('\n');
    }
    (out + &close, 0)
}

/// How many characters of `text` come at or after a place in it.
fn left_out(text: &str, place: *const u8) -> usize {
    let shown = (place as usize).saturating_sub(text.as_ptr() as usize);
    text.get(shown..).map_or(0, |rest| rest.chars().count())
}

/// Takes wrapped words out again: who they are from, and the words. `None` unless the text is exactly one wrapper.
pub fn unquote(wrapped: &str) -> Option<(String, String)> {
    let (open, rest) = wrapped.split_once('\n')?;
    let (kind, from) = open.strip_prefix('<')?.strip_suffix("\">")?.split_once(" from=\"")?;
    if word(kind, "") != kind || word(from, "") != from {
        return None;
    }
    let close = format!("</{kind}>");
    let body = rest.strip_suffix(&close)?;
    if body.is_empty() {
        return Some((from.to_owned(), String::new()));
    }
    let lines: Option<Vec<&str>> =
        body.strip_suffix('\n')?.split('\n').map(|l| l.strip_prefix(MARK)).collect();
    let text = lines?.join("\n");
    // A character that something may take for the end of a line would be a line without the mark.
    let whole = visible::lines(&text).eq(text.split('\n'));
    whole.then(|| (from.to_owned(), text))
}

/// A name that fits between quotes: letters, digits and a few signs.
pub(crate) fn word(name: &str, otherwise: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    let clean = name.trim().chars().take(limits::NAME_CHARS_MAX).map(|c| if allowed(c) { c } else { '_' });
    let clean: String = clean.collect();
    if clean.is_empty() { otherwise.to_owned() } else { clean }
}
