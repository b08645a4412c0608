//! Where one can be in a text: between grapheme clusters, at ends of words and lines. A chip is a cluster and a word.

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation as _};

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
            let cluster = rest.graphemes(true).next().unwrap_or_default();
            &cluster[..cluster.find(is_single).unwrap_or(cluster.len())]
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
            let cluster = rest.graphemes(true).next_back().unwrap_or_default();
            let single = cluster.rfind(is_single).map_or(0, |at| after(cluster, at));
            position - cluster.len() + single
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
    let mut place = GraphemeCursor::new(position - begin, run.len(), true);
    match place.is_boundary(run, 0) {
        Ok(false) => place.next_boundary(run, 0).ok().flatten().map_or(end, |at| begin + at),
        _ => position,
    }
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
    // Cut from the beginning: each step back might have to look as far as that, as in a row of flags.
    let next = |start: &usize| Some(after(text, *start)).filter(|next| *next < position);
    let starts: Vec<usize> = std::iter::successors(Some(0), next).collect();
    let mut is_inside = false;
    for start in starts.into_iter().rev() {
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
