//! Text that was pasted: collected in pieces, bounded, with line ends of one kind.

use crate::limits::PASTE_BYTES_MAX;

/// What ends a paste.
const END: &[u8] = b"\x1b[201~";

/// Text that was pasted. Its lines end with LF.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PastedText {
    /// The text.
    pub text: String,
    /// How many bytes after it were more than is kept, and are lost.
    pub dropped_bytes: u64,
}

impl PastedText {
    /// A text as the clipboard has it.
    pub fn new(text: &str) -> Self {
        let mut collecting = Collecting::default();
        collecting.keep(text.as_bytes());
        collecting.finish()
    }
}

/// A paste that has not ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Collecting {
    bytes: Vec<u8>,
    dropped_bytes: u64,
    /// How much of [`END`] the last bytes are.
    matched: usize,
}

impl Collecting {
    /// Takes the next bytes. When they end the paste: how many of them belonged to it, with its end.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() {
            if self.matched == 0 {
                let plain = bytes[at..].iter().position(|byte| *byte == END[0]).unwrap_or(bytes.len() - at);
                self.keep(&bytes[at..at + plain]);
                at += plain;
            }
            let Some(byte) = bytes.get(at) else { break };
            if *byte == END[self.matched] {
                (self.matched, at) = (self.matched + 1, at + 1);
            } else {
                // The end begins with the only escape in it: what did not match can only begin again here.
                let matched = std::mem::take(&mut self.matched);
                self.keep(&END[..matched]);
            }
            if self.matched == END.len() {
                self.matched = 0;
                return Some(at);
            }
        }
        None
    }

    fn keep(&mut self, bytes: &[u8]) {
        let kept = bytes.len().min(PASTE_BYTES_MAX - self.bytes.len());
        self.bytes.extend_from_slice(&bytes[..kept]);
        self.dropped_bytes = self.dropped_bytes.saturating_add((bytes.len() - kept) as u64);
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The paste, as far as it came.
    pub(super) fn finish(mut self) -> PastedText {
        self.keep(&END[..self.matched]);
        if self.dropped_bytes > 0 {
            let cut = cut_character(&self.bytes);
            self.bytes.truncate(self.bytes.len() - cut);
            self.dropped_bytes = self.dropped_bytes.saturating_add(cut as u64);
        }
        let text = String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        let text = if text.contains('\r') { text.replace("\r\n", "\n").replace('\r', "\n") } else { text };
        PastedText { text, dropped_bytes: self.dropped_bytes }
    }
}

/// How many bytes at the end are the beginning of a character that is not whole.
fn cut_character(bytes: &[u8]) -> usize {
    let tail = bytes.len().saturating_sub(3);
    let begins = |at: &usize| bytes[*at] >= 0xc0;
    let Some(at) = (tail..bytes.len()).rev().find(begins) else { return 0 };
    let is_cut = str::from_utf8(&bytes[at..]).is_err_and(|error| error.error_len().is_none());
    if is_cut { bytes.len() - at } else { 0 }
}
