//! Elements of a text that are one thing: a large paste, a file. In the text each is one character that nobody types.

use std::ops::RangeInclusive;

use crate::limits::{CHIP_BYTES_MAX, CHIP_LABEL_CHARS_MAX, CHIPS_MAX};

/// Private characters of the last plane of Unicode: no font has a use for them.
const MARKS: RangeInclusive<char> = '\u{100000}'..='\u{1000ff}';
const FIRST: u32 = 0x0010_0000;

/// What a chip stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Chip {
    /// Text that is too long to be shown.
    Text(String),
    /// The path of a file that goes along.
    File(String),
}

impl Chip {
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) | Self::File(text) => text.len(),
        }
    }
}

/// The chips that a text may mention.
#[derive(Clone, Debug, Default)]
pub(super) struct ChipRow {
    slots: Vec<Option<(String, Chip)>>,
}

impl ChipRow {
    /// Takes a chip and gives the character for it; nothing when there is no room.
    pub(super) fn add(&mut self, label: &str, chip: Chip) -> Option<char> {
        let bytes: usize = self.slots.iter().flatten().map(|(_, chip)| chip.bytes()).sum();
        let free = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if bytes + chip.bytes() > CHIP_BYTES_MAX || free >= CHIPS_MAX {
            return None;
        }
        let label = label.chars().take(CHIP_LABEL_CHARS_MAX).map(|c| if is_mark(c) { '\u{fffd}' } else { c });
        let chip = Some((label.collect(), chip));
        match self.slots.get_mut(free) {
            Some(slot) => *slot = chip,
            None => self.slots.push(chip),
        }
        u32::try_from(free).ok().and_then(|free| char::from_u32(FIRST + free))
    }

    /// The chip of a character.
    pub(super) fn get(&self, mark: char) -> Option<&(String, Chip)> {
        let slot = u32::from(mark).checked_sub(FIRST)?;
        self.slots.get(usize::try_from(slot).ok()?)?.as_ref()
    }

    /// What is shown for a character.
    pub(super) fn label(&self, mark: char) -> &str {
        self.get(mark).map_or("\u{fffd}", |(label, _)| label)
    }

    /// Forgets the chips that no text mentions.
    pub(super) fn keep<'a>(&mut self, texts: impl Iterator<Item = &'a str>) {
        let mut is_used = vec![false; self.slots.len()];
        for mark in texts.flat_map(|text| text.chars().filter(|c| is_mark(*c))) {
            if let Some(used) = is_used.get_mut((u32::from(mark) - FIRST) as usize) {
                *used = true;
            }
        }
        self.slots.iter_mut().zip(is_used).filter(|(_, is_used)| !is_used).for_each(|(slot, _)| *slot = None);
    }

    /// How long a text is with the texts of its chips.
    pub(super) fn expanded_bytes(&self, text: &str) -> usize {
        let chips = text.chars().filter(|c| is_mark(*c)).filter_map(|mark| self.get(mark));
        text.len() + chips.map(|(label, chip)| label.len() + chip.bytes()).sum::<usize>()
    }

    /// A text with something in the place of each chip.
    pub(super) fn written<'a>(&'a self, text: &str, word: impl Fn(&'a (String, Chip)) -> &'a str) -> String {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            match self.get(c) {
                Some(chip) => out.push_str(word(chip)),
                None => out.push(c),
            }
        }
        out
    }
}

/// Whether a character stands for a chip.
pub(super) fn is_mark(c: char) -> bool {
    MARKS.contains(&c)
}

/// Text from outside: its lines end with LF, and it mentions no chip.
pub(super) fn plain(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    if text.contains(is_mark) { text.replace(is_mark, "\u{fffd}") } else { text }
}
