//! How a piece of prose looks.

use crate::output::Style;

/// What a piece of text is; several can hold at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TextLook {
    pub(super) strong: bool,
    pub(super) emphasis: bool,
    pub(super) code: bool,
}

impl TextLook {
    pub(super) fn strong(self) -> Self {
        Self { strong: true, ..self }
    }

    pub(super) fn emphasis(self) -> Self {
        Self { emphasis: true, ..self }
    }

    pub(super) fn code(self) -> Self {
        Self { code: true, ..self }
    }

    /// The text with its colours.
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        let mut text = text.to_string();
        if self.code {
            text = style.cyan(&text);
        }
        if self.emphasis {
            text = style.italic(&text);
        }
        if self.strong {
            text = style.bold(&text);
        }
        text
    }
}
