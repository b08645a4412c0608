//! What people and terminals send: keys, pasted text, focus, and answers to what we asked the terminal.
//! [`KeyReader`] makes it from bytes. Must not know what a key does.

mod decode;
mod paste;
mod reader;

pub use paste::PastedText;
pub use reader::KeyReader;

/// Something that came from a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TerminalInput {
    /// A key was pressed, or repeats.
    Key(Key),
    /// Text was pasted. It is text, whatever is in it: it never submits anything.
    Paste(PastedText),
    /// Whether the person looks at this terminal now.
    Focus(bool),
    /// The terminal answers a question.
    Reply(TerminalReply),
}

/// What a terminal says when it is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalReply {
    /// The colour of the background.
    Background {
        /// Red.
        r: u8,
        /// Green.
        g: u8,
        /// Blue.
        b: u8,
    },
    /// The terminal speaks the keyboard protocol of kitty; these parts of it are on.
    KeyboardFlags(u8),
    /// What kind of terminal it is. Every terminal answers this: what was asked before it and has no answer yet gets none.
    DeviceAttributes,
    /// Where the cursor is, counted from 1.
    CursorPosition {
        /// Its row.
        row: u16,
        /// Its column.
        column: u16,
    },
    /// Another answer.
    Other,
}

/// A key with what was held while it was pressed.
///
/// There is one way to write each: a shifted letter is the capital one without `shift`, with `ctrl` a letter is a small
/// one and `shift` says whether Shift was held, and Shift+Tab is [`KeyCode::BackTab`] without `shift`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Which key.
    pub code: KeyCode,
    /// Whether Ctrl was held.
    pub ctrl: bool,
    /// Whether Alt was held.
    pub alt: bool,
    /// Whether Shift was held, where the code does not say so already.
    pub shift: bool,
}

/// Which key was pressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A character.
    Char(char),
    /// Enter.
    Enter,
    /// Tab.
    Tab,
    /// Shift+Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// Esc.
    Escape,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// A function key, counted from 1.
    Function(u8),
}

impl Key {
    /// A key by itself.
    pub const fn new(code: KeyCode) -> Self {
        Self { code, ctrl: false, alt: false, shift: false }
    }

    /// A character.
    pub const fn char(c: char) -> Self {
        Self::new(KeyCode::Char(c))
    }

    /// Ctrl and a character.
    pub const fn ctrl(c: char) -> Self {
        Self::char(c).with_ctrl()
    }

    /// Alt and a character.
    pub const fn alt(c: char) -> Self {
        Self::char(c).with_alt()
    }

    /// The same with Ctrl held.
    #[must_use]
    pub const fn with_ctrl(mut self) -> Self {
        self.ctrl = true;
        self
    }

    /// The same with Alt held.
    #[must_use]
    pub const fn with_alt(mut self) -> Self {
        self.alt = true;
        self
    }

    /// The same with Shift held.
    #[must_use]
    pub const fn with_shift(mut self) -> Self {
        self.shift = true;
        self
    }

    /// The character that it types, if it types one.
    pub fn typed(&self) -> Option<char> {
        match self.code {
            KeyCode::Char(c) if !self.ctrl && !self.alt => Some(c),
            _ => None,
        }
    }

    /// The one way to write a key.
    #[must_use]
    fn normal(mut self) -> Self {
        match self.code {
            KeyCode::Char(c) if self.ctrl => {
                self.shift |= c.is_ascii_uppercase();
                self.code = KeyCode::Char(c.to_ascii_lowercase());
            }
            KeyCode::Char(c) if self.shift && c.is_alphabetic() => {
                let mut upper = c.to_uppercase();
                if let (Some(c), None) = (upper.next(), upper.next()) {
                    self.code = KeyCode::Char(c);
                }
                self.shift = false;
            }
            // Shift is what makes a space or a capital letter, or changes nothing.
            KeyCode::Char(' ') => self.shift = false,
            KeyCode::Tab if self.shift => (self.code, self.shift) = (KeyCode::BackTab, false),
            KeyCode::BackTab => self.shift = false,
            _ => {}
        }
        self
    }
}

impl From<KeyCode> for Key {
    fn from(code: KeyCode) -> Self {
        Self::new(code)
    }
}
