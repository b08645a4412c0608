//! Which colours looks have on a dark and on a light background, with the sixteen colours of the terminal, and without
//! any. A mark stands beside every colour that means something, so that nothing is lost without them.

use std::fmt::Write as _;

use crate::{Ink, Look};

/// A set of colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For a dark background.
    #[default]
    Dark,
    /// For a light background.
    Light,
    /// The sixteen colours that the person's terminal has its own shades for.
    Ansi,
    /// No colours; bold, italic, underlined and reversed text stay.
    Colourless,
    /// Nothing but the text: for pipes and dumb terminals.
    Plain,
}

impl Theme {
    /// All of them by name, as people choose them.
    pub const NAMED: [(&'static str, Self); 4] =
        [("dark", Self::Dark), ("light", Self::Light), ("ansi", Self::Ansi), ("none", Self::Colourless)];

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, theme)| *theme == self).map_or("plain", |(name, _)| name)
    }

    /// The sequence that switches a look on, from ordinary text; empty where it looks like ordinary text.
    pub fn sequence(self, look: Look) -> String {
        if self == Self::Plain {
            return String::new();
        }
        let mut codes = String::new();
        let flags = [
            (look.bold, "1"),
            (look.italic, "3"),
            (look.underline, "4"),
            (look.reverse, "7"),
            (look.strike, "9"),
        ];
        for code in flags.iter().filter(|(is_on, _)| *is_on).map(|(_, code)| *code).chain(self.ink(look.ink))
        {
            let _ = write!(codes, "{}{code}", if codes.is_empty() { "" } else { ";" });
        }
        if codes.is_empty() { codes } else { format!("\x1b[{codes}m") }
    }

    /// The code of a colour.
    fn ink(self, ink: Ink) -> Option<&'static str> {
        match self {
            Self::Dark => dark(ink),
            Self::Light => light(ink),
            Self::Ansi => ansi(ink),
            Self::Colourless | Self::Plain => None,
        }
    }
}

fn dark(ink: Ink) -> Option<&'static str> {
    Some(match ink {
        Ink::Plain => return None,
        Ink::Quiet | Ink::Comment => "38;5;245",
        Ink::Accent | Ink::Link | Ink::Code => "38;5;80",
        Ink::Good | Ink::Added => "38;5;114",
        Ink::Bad | Ink::Removed => "38;5;210",
        Ink::Warning => "38;5;221",
        Ink::Person | Ink::Heading => "38;5;117",
        Ink::Agent(number) => {
            ["38;5;117", "38;5;183", "38;5;114", "38;5;221", "38;5;80", "38;5;216"][usize::from(number % 6)]
        }
        Ink::Keyword => "38;5;176",
        Ink::Literal => "38;5;150",
        Ink::Number => "38;5;215",
        Ink::Name => "38;5;111",
    })
}

fn light(ink: Ink) -> Option<&'static str> {
    Some(match ink {
        Ink::Plain => return None,
        Ink::Quiet | Ink::Comment => "38;5;242",
        Ink::Accent | Ink::Link | Ink::Code => "38;5;30",
        Ink::Good | Ink::Added => "38;5;28",
        Ink::Bad | Ink::Removed => "38;5;124",
        Ink::Warning => "38;5;130",
        Ink::Person | Ink::Heading => "38;5;25",
        Ink::Agent(number) => {
            ["38;5;25", "38;5;90", "38;5;28", "38;5;130", "38;5;30", "38;5;125"][usize::from(number % 6)]
        }
        Ink::Keyword => "38;5;90",
        Ink::Literal => "38;5;28",
        Ink::Number => "38;5;130",
        Ink::Name => "38;5;25",
    })
}

fn ansi(ink: Ink) -> Option<&'static str> {
    Some(match ink {
        Ink::Plain => return None,
        Ink::Quiet | Ink::Comment => "2",
        Ink::Accent | Ink::Link | Ink::Code => "36",
        Ink::Good | Ink::Added | Ink::Literal => "32",
        Ink::Bad | Ink::Removed => "31",
        Ink::Warning | Ink::Number => "33",
        Ink::Person | Ink::Heading | Ink::Name => "34",
        Ink::Agent(number) => ["34", "35", "32", "33", "36", "31"][usize::from(number % 6)],
        Ink::Keyword => "35",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_one_sequence_and_ordinary_text_none() {
        let cases = [
            (Theme::Dark, Look::PLAIN, ""),
            (Theme::Dark, Look::of(Ink::Bad).bold(), "\x1b[1;38;5;210m"),
            (Theme::Light, Look::of(Ink::Agent(7)), "\x1b[38;5;90m"),
            (Theme::Ansi, Look::of(Ink::Quiet), "\x1b[2m"),
            (Theme::Colourless, Look::of(Ink::Bad).reverse().strike(), "\x1b[7;9m"),
            (Theme::Colourless, Look::of(Ink::Bad), ""),
            (Theme::Plain, Look::of(Ink::Bad).bold(), ""),
        ];
        assert_eq!(cases.len(), 7);
        for (theme, look, want) in cases {
            assert_eq!(theme.sequence(look), want, "{theme:?} {look:?}");
        }
    }

    #[test]
    fn themes_have_names() {
        assert_eq!(Theme::NAMED.map(|(name, theme)| theme.name() == name), [true; 4]);
        assert_eq!(Theme::Plain.name(), "plain");
    }
}
