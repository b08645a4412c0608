//! Texts as a view keeps them: of bounded length, and otherwise as they are.

use posse_protocol::clip::first_chars;

/// The beginning of a text, without a mark where it is cut.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    first_chars(text, chars_max).0.to_owned()
}
