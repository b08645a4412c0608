//! What is said to the terminal beside text: its title, its clipboard, and that it should tell the person something. Only our
//! own sequences, and in them only text that cannot end them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use posse_protocol::visible;
use posse_setup::ChatNotify;

use crate::limits::CLIPBOARD_BYTES_MAX;

/// Sets the title.
pub(super) fn title(text: &str) -> Vec<u8> {
    format!("\x1b]0;{}\x1b\\", visible::one_line(text, 80)).into_bytes()
}

/// Puts a text on the clipboard through the terminal, also over ssh.
pub(super) fn copied(text: &str) -> Vec<u8> {
    if text.len() > CLIPBOARD_BYTES_MAX {
        return Vec::new();
    }
    format!("\x1b]52;c;{}\x1b\\", STANDARD.encode(text)).into_bytes()
}

/// Tells the person who looks elsewhere: the ways of several terminals, of which each ignores the others'.
pub(super) fn notification(text: &str, notify: ChatNotify) -> Vec<u8> {
    let text = visible::one_line(text, 120).replace([';', '\\'], " ");
    match notify {
        ChatNotify::Off => Vec::new(),
        ChatNotify::Bell => b"\x07".to_vec(),
        ChatNotify::Auto => {
            format!("\x07\x1b]9;{text}\x1b\\\x1b]99;;{text}\x1b\\\x1b]777;notify;posse;{text}\x1b\\")
                .into_bytes()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_cannot_end_a_sequence() {
        let text = "a\x1b\\\x07\x1b]52;c;eA==\x07b";
        let bytes = [title(text), notification(text, ChatNotify::Auto), copied(text)].concat();
        let ours = bytes.iter().filter(|byte| **byte == 0x1b).count();
        assert_eq!(ours, 2 + 6 + 2, "{}", String::from_utf8_lossy(&bytes));
        assert_eq!(bytes.iter().filter(|byte| **byte == 7).count(), 1);
    }
}
