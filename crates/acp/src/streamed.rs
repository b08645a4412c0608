//! How much of a reply the client has. Pieces may be lost on the way, so the whole reply is compared with what was sent.

/// What was sent of the message that an agent writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamedMessage {
    sent: String,
    /// How many times it was begun again because a piece was lost.
    again: u32,
}

impl StreamedMessage {
    /// The next piece.
    pub(crate) fn push(&mut self, piece: &str) {
        self.sent.push_str(piece);
    }

    /// What is missing of a text that is whole so far. Where that does not begin with what was sent, it is a new message.
    pub(crate) fn missing<'a>(&mut self, whole: &'a str) -> &'a str {
        let missing = match whole.strip_prefix(self.sent.as_str()) {
            Some(missing) => missing,
            // It is further than this text.
            None if self.sent.starts_with(whole) => return "",
            None => {
                self.again += 1;
                self.sent.clear();
                whole
            }
        };
        self.sent.push_str(missing);
        missing
    }

    /// Which message it is, among those of one turn.
    pub(crate) fn again(&self) -> u32 {
        self.again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_missing_is_sent() {
        let mut message = StreamedMessage::default();
        message.push("He");
        assert_eq!(message.missing("Hello"), "llo");
        assert_eq!(message.missing("Hel"), "", "older news");
        assert_eq!(message.missing("Hello"), "");
        assert_eq!((message.missing("Hullo"), message.again()), ("Hullo", 1), "a piece was lost");
    }
}
