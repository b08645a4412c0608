//! Where one can be in a text: between grapheme clusters, at ends of words and lines. A chip is a cluster and a word.

use unicode_segmentation::UnicodeSegmentation as _;

use super::chips::is_mark;

/// Chips and line ends are by themselves, whatever stands beside them.
fn is_single(c: char) -> bool {
    c == '\n' || is_mark(c)
}

/// The cluster that begins here.
pub(super) fn at(text: &str, at: usize) -> &str {
    let rest = &text[at..];
    match rest.chars().next() {
        Some(c) if is_single(c) => &rest[..c.len_utf8()],
        Some(' '..='~') if rest.as_bytes().get(1).is_none_or(u8::is_ascii) => &rest[..1],
        _ => {
            let end = rest.find(is_single).unwrap_or(rest.len());
            rest[..end].graphemes(true).next().unwrap_or_default()
        }
    }
}

/// The end of the cluster that begins here.
pub(super) fn after(text: &str, position: usize) -> usize {
    position + at(text, position).len()
}

/// The beginning of the cluster that ends here.
pub(super) fn before(text: &str, position: usize) -> usize {
    let rest = &text[..position];
    match rest.chars().next_back() {
        Some(c) if is_single(c) => position - c.len_utf8(),
        _ => {
            let begin = rest.rfind(is_single).map_or(0, |at| at + after(&rest[at..], 0));
            position - rest[begin..].graphemes(true).next_back().map_or(0, str::len)
        }
    }
}

/// The first place at or after this one that is between clusters.
pub(super) fn boundary(text: &str, position: usize) -> usize {
    let mut position = position.min(text.len());
    while !text.is_char_boundary(position) {
        position += 1;
    }
    let begin = text[..position].rfind(is_single).map_or(0, |at| after(text, at));
    let end = text[position..].find(is_single).map_or(text.len(), |at| position + at);
    let run = &text[begin..end];
    run.grapheme_indices(true).map(|(at, _)| begin + at).find(|at| *at >= position).unwrap_or(end)
}

/// The beginning of the line.
pub(super) fn line_start(text: &str, position: usize) -> usize {
    text[..position].rfind('\n').map_or(0, |at| at + 1)
}

/// The end of the line.
pub(super) fn line_end(text: &str, position: usize) -> usize {
    text[position..].find('\n').map_or(text.len(), |at| position + at)
}

/// What makes words.
#[derive(Clone, Copy)]
pub(super) enum WordKind {
    /// Letters and digits.
    Letters,
    /// Everything between spaces.
    Spaced,
}

impl WordKind {
    fn has(self, cluster: &str) -> bool {
        let is_in = |c: char| match self {
            Self::Letters => c.is_alphanumeric() || c == '_',
            Self::Spaced => !c.is_whitespace(),
        };
        cluster.chars().next().is_some_and(is_in)
    }
}

fn is_chip(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(is_mark)
}

/// The beginning of this word or the one before.
pub(super) fn word_before(text: &str, mut position: usize, words: WordKind) -> usize {
    let mut is_inside = false;
    while position > 0 {
        let start = before(text, position);
        let cluster = &text[start..position];
        if is_chip(cluster) {
            return if is_inside { position } else { start };
        }
        let is_word = words.has(cluster);
        if is_inside && !is_word {
            break;
        }
        (is_inside, position) = (is_word, start);
    }
    position
}

/// The end of this word or the one after.
pub(super) fn word_after(text: &str, mut position: usize, words: WordKind) -> usize {
    let mut is_inside = false;
    while position < text.len() {
        let cluster = at(text, position);
        if is_chip(cluster) {
            return if is_inside { position } else { position + cluster.len() };
        }
        let is_word = words.has(cluster);
        if is_inside && !is_word {
            break;
        }
        (is_inside, position) = (is_word, position + cluster.len());
    }
    position
}
