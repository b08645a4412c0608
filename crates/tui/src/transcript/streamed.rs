//! How much of a reply was printed as it came. Pieces may be lost on the way, so the whole reply is compared with what came.

/// What came so far: its length and a hash, since a reply may be large.
#[derive(Clone, Copy, Debug)]
pub(super) struct Streamed {
    bytes: usize,
    hash: u64,
    open: bool,
    /// Whether lines of it were finished, which cannot be taken back.
    pub(super) has_lines: bool,
}

impl Default for Streamed {
    fn default() -> Self {
        Self { bytes: 0, hash: 0xcbf2_9ce4_8422_2325, open: false, has_lines: false }
    }
}

impl Streamed {
    pub(super) fn push(&mut self, text: &str) {
        self.bytes += text.len();
        self.hash = hash(self.hash, text);
        self.open |= !text.trim().is_empty();
    }

    /// How much came.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether something was printed since it was last closed.
    pub(super) fn is_open(&self) -> bool {
        self.open
    }

    pub(super) fn close(&mut self) {
        self.open = false;
    }

    /// The part of a whole reply that did not come yet; none if it does not begin with what came.
    pub(super) fn rest<'a>(&self, whole: &'a str) -> Option<&'a str> {
        let (came, rest) = whole.split_at_checked(self.bytes)?;
        (hash(Self::default().hash, came) == self.hash).then_some(rest)
    }
}

/// FNV-1a, which does not depend on where a text is cut into pieces.
fn hash(start: u64, text: &str) -> u64 {
    text.bytes().fold(start, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_came_is_passed_over() {
        let mut streamed = Streamed::default();
        assert_eq!(streamed.rest("all"), Some("all"));
        streamed.push("He");
        streamed.push("llo");
        assert_eq!(streamed.rest("Hello you"), Some(" you"));
        assert_eq!(streamed.rest("Hello"), Some(""));
        assert_eq!(streamed.rest("Hullo you"), None, "a piece was lost");
        assert_eq!(streamed.rest("Hell"), None);
    }
}
