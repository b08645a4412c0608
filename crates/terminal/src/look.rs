//! How a piece of text looks: what it means, not which colour that is. A [`Theme`](crate::Theme) knows the colours.

/// What a piece of text means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ink {
    /// Ordinary text.
    #[default]
    Plain,
    /// What matters less.
    Quiet,
    /// What belongs to Posse itself: marks, keys, names of commands.
    Accent,
    /// Something went well.
    Good,
    /// Something went wrong.
    Bad,
    /// Something to look at.
    Warning,
    /// What the person said.
    Person,
    /// The name of an agent; the number chooses among a few colours.
    Agent(u8),
    /// Code in a line of text.
    Code,
    /// A heading.
    Heading,
    /// A link.
    Link,
    /// A keyword of a program.
    Keyword,
    /// A string of a program.
    Literal,
    /// A number of a program.
    Number,
    /// A comment of a program.
    Comment,
    /// The name of a type or a function.
    Name,
    /// A line that was added.
    Added,
    /// A line that was removed.
    Removed,
}

/// How a piece of text looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Look {
    /// What it means.
    pub ink: Ink,
    /// Bold.
    pub bold: bool,
    /// Italic.
    pub italic: bool,
    /// Underlined.
    pub underline: bool,
    /// Struck through.
    pub strike: bool,
    /// Foreground and background exchanged.
    pub reverse: bool,
}

impl Look {
    /// Ordinary text.
    pub const PLAIN: Self = Self::of(Ink::Plain);

    /// Only a meaning.
    pub const fn of(ink: Ink) -> Self {
        Self { ink, bold: false, italic: false, underline: false, strike: false, reverse: false }
    }

    /// The same in bold.
    #[must_use]
    pub const fn bold(mut self) -> Self {
        self.bold = true;
        self
    }

    /// The same in italics.
    #[must_use]
    pub const fn italic(mut self) -> Self {
        self.italic = true;
        self
    }

    /// The same underlined.
    #[must_use]
    pub const fn underline(mut self) -> Self {
        self.underline = true;
        self
    }

    /// The same struck through.
    #[must_use]
    pub const fn strike(mut self) -> Self {
        self.strike = true;
        self
    }

    /// The same with foreground and background exchanged.
    #[must_use]
    pub const fn reverse(mut self) -> Self {
        self.reverse = true;
        self
    }
}

impl From<Ink> for Look {
    fn from(ink: Ink) -> Self {
        Self::of(ink)
    }
}
