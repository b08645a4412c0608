//! Texts cut to a length. What they hold is left as it is.

/// The beginning of a text, as many characters as are kept.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => text[..end].to_owned(),
        None => text.to_owned(),
    }
}

/// The first line with something in it, without control characters, and with a mark where it is cut.
pub(crate) fn first_line(text: &str, chars_max: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut chars = line.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut kept: String = chars.by_ref().take(chars_max).collect();
    if chars.next().is_some() {
        kept.pop();
        kept.push('…');
    }
    kept
}
