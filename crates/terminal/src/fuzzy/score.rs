//! How well a query fits a text: its characters stand in the text in this order, better together and at beginnings of words.

use crate::limits::QUERY_BYTES_MAX;

/// What a character that fits is worth.
const FITS: i32 = 16;
/// What it is worth more behind the one before it.
const TOGETHER: i32 = 12;
/// What it is worth more in the last part of a path.
const IN_NAME: i32 = 6;
/// What each character between two that fit costs.
const BETWEEN: i32 = 1;
/// What the whole name is worth more, or all of it before its last dot.
const WHOLE_NAME: i32 = 40;
const NEVER: i32 = i32::MIN / 2;

/// What somebody looks for. Without capital letters it finds them, too.
pub(super) struct Query {
    bytes: Vec<u8>,
    is_exact: bool,
    /// Which characters are in it.
    mask: u64,
    /// For each byte of a text, as bits, which characters of the query it is.
    places: Box<[u128; 256]>,
    /// For each character of the query, what was found of it in the text that is looked at.
    found: Vec<Found>,
}

/// The places in a text where a character of the query may stand, with all those before it.
#[derive(Clone, Copy)]
struct Found {
    /// The best score up to such a place, with what is saved by standing further right.
    best: i32,
    /// The last such place, and its score.
    last: usize,
    last_score: i32,
}

impl Found {
    const NOTHING: Self = Self { best: NEVER, last: usize::MAX, last_score: NEVER };
}

impl Query {
    /// What is looked for; nothing that is too long.
    pub(super) fn new(query: &str) -> Option<Self> {
        let bytes: Vec<u8> = query.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
        if bytes.len() > QUERY_BYTES_MAX {
            return None;
        }
        let is_exact = bytes.iter().any(u8::is_ascii_uppercase);
        let mut places = Box::new([0; 256]);
        for (at, byte) in bytes.iter().enumerate() {
            places[usize::from(*byte)] |= 1 << at;
            if !is_exact && byte.is_ascii_lowercase() {
                places[usize::from(byte.to_ascii_uppercase())] |= 1 << at;
            }
        }
        Some(Self { is_exact, mask: mask(&bytes), places, found: vec![Found::NOTHING; bytes.len()], bytes })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Whether a text with this mask may fit.
    pub(super) fn may_fit(&self, mask: u64) -> bool {
        self.mask & !mask == 0
    }

    /// How well it fits a text whose last part begins at a byte; nothing when it does not. More is better.
    ///
    /// One pass: at each byte, for each character of the query that it is, the best way to stand there.
    pub(super) fn score(&mut self, text: &[u8], name_start: usize) -> Option<i32> {
        self.found.fill(Found::NOTHING);
        let end = self.bytes.len().checked_sub(1)?;
        let mut best = NEVER;
        for (at, byte) in text.iter().enumerate() {
            let mut places = self.places[usize::from(*byte)];
            if places == 0 {
                continue;
            }
            let worth = worth(text, at, name_start);
            let right = i32::try_from(at).unwrap_or(i32::MAX / 4) * BETWEEN;
            // From the last character on: each looks at what was found of the one before it to the left of this byte.
            while places != 0 {
                let place = 127 - places.leading_zeros() as usize;
                places &= !(1 << place);
                let score = match place.checked_sub(1).map(|before| self.found[before]) {
                    None => 2 * worth,
                    Some(Found { best: NEVER, .. }) => continue,
                    Some(before) if before.last.wrapping_add(1) == at => {
                        (before.best - right + BETWEEN).max(before.last_score + TOGETHER) + worth
                    }
                    Some(before) => before.best - right + BETWEEN + worth,
                };
                let found = &mut self.found[place];
                *found = Found { best: found.best.max(score + right), last: at, last_score: score };
                if place == end {
                    best = best.max(score);
                }
            }
        }
        let whole = if best > NEVER && self.is_whole_name(&text[name_start..]) { WHOLE_NAME } else { 0 };
        (best > NEVER).then_some(best + whole)
    }

    fn is_whole_name(&self, name: &[u8]) -> bool {
        let name = name.strip_suffix(b"/").unwrap_or(name);
        let stem = name.iter().rposition(|byte| *byte == b'.').map_or(name, |dot| &name[..dot]);
        let is_it = |part: &[u8]| {
            if self.is_exact { part == self.bytes } else { part.eq_ignore_ascii_case(&self.bytes) }
        };
        is_it(name) || is_it(stem)
    }
}

/// Which characters are in a text, whatever their case: some share a bit.
pub(super) fn mask(text: &[u8]) -> u64 {
    text.iter().fold(0, |mask, byte| mask | 1 << (byte.to_ascii_lowercase() & 63))
}

/// What a character at this place is worth.
fn worth(text: &[u8], at: usize, name_start: usize) -> i32 {
    let in_name = if at >= name_start { IN_NAME } else { 0 };
    let begins = match (at.checked_sub(1).map(|before| text[before]), text[at]) {
        (None | Some(b'/'), _) => 14,
        (Some(b'_' | b'-' | b'.' | b' ' | b':'), _) => 10,
        (Some(before), byte) if before.is_ascii_lowercase() && byte.is_ascii_uppercase() => 9,
        (Some(before), byte) if !before.is_ascii_digit() && byte.is_ascii_digit() => 4,
        _ => 0,
    };
    FITS + in_name + begins
}
