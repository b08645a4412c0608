//! The text of a user command with its arguments put in, and the commands inside it. It runs nothing.
//!
//! What is a command is decided before arguments are put in, so no argument can become one. Inside a command an argument is
//! quoted for the shell, as it has to be where it stands.

use crate::limits::{COMMAND_RUNS_MAX, EXPANDED_BYTES_MAX};

/// A user command with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpandedCommand {
    /// The prompt, with the commands in it as they are written.
    pub text: String,
    /// The commands to be run, in order. What each prints takes its place: [`ExpandedCommand::filled`].
    pub commands: Vec<String>,
    pieces: Vec<CommandPiece>,
}

/// Why a user command cannot be used with these arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// It is too long with them.
    #[error("the command is longer than {EXPANDED_BYTES_MAX} bytes with these arguments")]
    TooLong,
    /// It runs too many commands.
    #[error("the command runs more than {COMMAND_RUNS_MAX} commands")]
    TooManyCommands,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum CommandPiece {
    Text(String),
    /// What is to be run.
    Run(String),
}

impl ExpandedCommand {
    /// The prompt with what the commands printed in their places, in their order. One that did not run stays as it is written.
    pub fn filled(&self, outputs: &[String]) -> String {
        let mut outputs = outputs.iter();
        let filled = self.pieces.iter().map(|piece| match piece {
            CommandPiece::Text(text) => text.clone(),
            CommandPiece::Run(command) => outputs.next().cloned().unwrap_or_else(|| written(command)),
        });
        filled.collect()
    }
}

fn written(command: &str) -> String {
    format!("!`{command}`")
}

/// The commands in a text, before arguments are put in.
pub(crate) fn commands_in(body: &str) -> Vec<&str> {
    pieces(body).into_iter().filter_map(Result::err).collect()
}

/// Puts arguments into a text.
pub(crate) fn expand(body: &str, arguments: &str) -> Result<ExpandedCommand, ExpandError> {
    let arguments = Arguments::read(arguments);
    let mut room = EXPANDED_BYTES_MAX;
    let mut expanded = ExpandedCommand { text: String::new(), commands: Vec::new(), pieces: Vec::new() };
    let mut used = false;
    for piece in pieces(body) {
        let template = piece.unwrap_or_else(|command| command);
        let (put, uses) = arguments.put_into(template, piece.is_err(), room).ok_or(ExpandError::TooLong)?;
        room -= put.len();
        used |= uses;
        let piece = match piece {
            Ok(_) => CommandPiece::Text(put),
            Err(_) => {
                expanded.commands.push(put.clone());
                CommandPiece::Run(put)
            }
        };
        expanded.pieces.push(piece);
    }
    if expanded.commands.len() > COMMAND_RUNS_MAX {
        return Err(ExpandError::TooManyCommands);
    }
    if !used && !arguments.whole.is_empty() {
        if arguments.whole.len() > room {
            return Err(ExpandError::TooLong);
        }
        // A text with no place for them gets them at its end.
        expanded.pieces.push(CommandPiece::Text(format!("\n\n{}", arguments.whole)));
    }
    expanded.text = expanded.filled(&[]);
    Ok(expanded)
}

/// A text cut into plain text (`Ok`) and commands (`Err`): ``!`command` `` at the beginning of a word, on one line.
fn pieces(body: &str) -> Vec<Result<&str, &str>> {
    let (mut found, mut rest, mut from) = (Vec::new(), body, 0);
    while let Some(at) = rest.get(from..).and_then(|text| text.find("!`")).map(|at| at + from) {
        let begins = rest[..at].chars().next_back().is_none_or(char::is_whitespace);
        let inside = &rest[at + 2..];
        let end = inside.find(['`', '\n']).filter(|end| inside[*end..].starts_with('`'));
        match end.filter(|end| begins && !inside[..*end].trim().is_empty()) {
            Some(end) => {
                found.extend([Ok(&rest[..at]), Err(inside[..end].trim())]);
                (rest, from) = (&inside[end + 1..], 0);
            }
            None => from = at + 2,
        }
    }
    found.push(Ok(rest));
    found
}

/// What was typed behind the name of a command.
struct Arguments {
    whole: String,
    words: Vec<String>,
}

/// Where in a line for the shell an argument stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    /// In parentheses, or in none: words are split here.
    None,
    Single,
    Double,
}

/// Reads what a line for the shell begins with: what is open behind it, and how long it is.
fn step(open: &mut Vec<Quote>, line: &str, first: char) -> usize {
    let inside = open.last().copied().unwrap_or(Quote::None);
    let next = line.chars().nth(1);
    match (first, inside) {
        ('\'', Quote::Single) | ('"', Quote::Double) => drop(open.pop()),
        (_, Quote::Single) => {}
        ('\\', _) => return 1 + next.map_or(0, char::len_utf8),
        ('$', _) if next == Some('(') => {
            open.push(Quote::None);
            return 2;
        }
        ('\'', Quote::None) => open.push(Quote::Single),
        ('"', Quote::None) => open.push(Quote::Double),
        ('(', Quote::None) => open.push(Quote::None),
        (')', Quote::None) => drop(open.pop()),
        _ => {}
    }
    first.len_utf8()
}

impl Arguments {
    fn read(typed: &str) -> Self {
        let whole = typed.trim().to_owned();
        // A quote that is not closed is one that is meant.
        let words =
            shlex::split(&whole).unwrap_or_else(|| whole.split_whitespace().map(str::to_owned).collect());
        Self { whole, words }
    }

    /// A text with `$ARGUMENTS` and `$1` to `$9` replaced, and whether it had any of them. None if it becomes too long.
    fn put_into(&self, template: &str, for_shell: bool, room: usize) -> Option<(String, bool)> {
        let (mut out, mut rest, mut used, mut open) = (String::new(), template, false, Vec::new());
        while let Some(c) = rest.chars().next() {
            if let Some((number, length)) = placeholder(rest) {
                used = true;
                let inside = open.last().copied().unwrap_or(Quote::None);
                out.push_str(&if for_shell { self.quoted(number, inside) } else { self.plain(number) });
                rest = &rest[length..];
            } else {
                let length = if for_shell { step(&mut open, rest, c) } else { c.len_utf8() };
                out.push_str(&rest[..length]);
                rest = &rest[length..];
            }
            if out.len() > room {
                return None;
            }
        }
        Some((out, used))
    }

    fn plain(&self, number: Option<usize>) -> String {
        match number {
            None => self.whole.clone(),
            Some(number) => self.words.get(number - 1).cloned().unwrap_or_default(),
        }
    }

    /// The same as a shell reads it back.
    fn quoted(&self, number: Option<usize>, quote: Quote) -> String {
        match quote {
            Quote::Single => self.plain(number).replace('\'', r"'\''"),
            Quote::Double => {
                let escaped =
                    |c: char| matches!(c, '"' | '\\' | '$' | '`').then_some('\\').into_iter().chain([c]);
                self.plain(number).chars().flat_map(escaped).collect()
            }
            Quote::None => {
                let words = match number {
                    None => self.words.as_slice(),
                    Some(number) => self.words.get(number - 1..number).unwrap_or_default(),
                };
                words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// A word as the shell takes it for that word.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What a text begins with, if that stands for arguments: all of them, or one, and its length.
fn placeholder(text: &str) -> Option<(Option<usize>, usize)> {
    const ALL: &str = "$ARGUMENTS";
    if let Some(rest) = text.strip_prefix(ALL) {
        let goes_on = rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        return (!goes_on).then_some((None, ALL.len()));
    }
    let rest = text.strip_prefix('$')?;
    let number = rest.chars().next()?.to_digit(10).filter(|number| *number > 0)?;
    let goes_on = rest[1..].starts_with(|c: char| c.is_ascii_digit());
    (!goes_on).then_some((usize::try_from(number).ok(), 2))
}

#[cfg(test)]
mod tests {
    use super::{ExpandError, expand};

    #[test]
    fn arguments_are_put_where_the_text_has_a_place_for_them() {
        let cases = [
            ("Fix $ARGUMENTS now", "a  'b c'", "Fix a  'b c' now"),
            ("Fix $1, then $2; $3.", "a 'b c'", "Fix a, then b c; ."),
            ("Fix it.", "a b", "Fix it.\n\na b"),
            ("Fix it.", "  ", "Fix it."),
            ("$10 $ARGUMENTS_X $0 $$ $", "a", "$10 $ARGUMENTS_X $0 $$ $\n\na"),
            ("It's \\$1 and $1", "don't", "It's \\don't and don't"),
            ("See @src/$1.rs", "main", "See @src/main.rs"),
            ("no !command, hey!`x` !`` !`a\n`", "", "no !command, hey!`x` !`` !`a\n`"),
            // An argument is never a command.
            ("Say $1", "'!`rm -rf .`'", "Say !`rm -rf .`"),
            ("Say !$ARGUMENTS", "`id`", "Say !`id`"),
        ];
        let mut ran = 0;
        for (body, arguments, want) in cases {
            let found = expand(body, arguments).unwrap();
            assert_eq!((found.text.as_str(), found.commands.len()), (want, 0), "{body}");
            assert_eq!(found.filled(&["out".to_owned()]), want);
            ran += 1;
        }
        assert_eq!(ran, 10);
    }

    #[test]
    fn arguments_in_commands_stay_arguments() {
        let cases = [
            ("git log $1", "main", "git log main"),
            ("git log $1", "'; id'", "git log '; id'"),
            ("git log \"$1\"", "'$(id) \"x'", "git log \"\\$(id) \\\"x\""),
            ("git log '$1'", "\"it's\"", "git log 'it'\\''s'"),
            ("git log $ARGUMENTS", "a '; id' it\\'s", "git log a '; id' 'it'\\''s'"),
            ("echo \\\" $1", "'a b'", "echo \\\" 'a b'"),
            ("echo $1$2", "a", "echo a"),
            (
                "echo \"$(git log $1 \"$2\")\" \"$2\"",
                "';id' '$(id)'",
                "echo \"$(git log ';id' \"\\$(id)\")\" \"\\$(id)\"",
            ),
            ("(echo '$1' ) $1", "\";\"", "(echo ';' ) ';'"),
            ("echo \\$1 $1", "a", "echo \\$1 a"),
        ];
        let mut ran = 0;
        for (command, arguments, want) in cases {
            let body = format!("Log:\n!`{command}`\nEnd");
            let found = expand(&body, arguments).unwrap();
            assert_eq!(found.commands, [want], "{command}");
            assert_eq!(found.text, format!("Log:\n!`{want}`\nEnd"));
            assert_eq!(found.filled(&["out".to_owned()]), "Log:\nout\nEnd");
            ran += 1;
        }
        assert_eq!(ran, 10);
        let two = expand("!`a` and !`b`", "").unwrap();
        assert_eq!(two.commands, ["a", "b"]);
        assert_eq!(two.filled(&["1".to_owned()]), "1 and !`b`");
    }

    #[test]
    fn what_becomes_too_much_is_refused() {
        let (many, long) = ("$ARGUMENTS ".repeat(5_000), "x".repeat(1_000));
        assert_eq!(expand(&many, &long), Err(ExpandError::TooLong));
        assert_eq!(expand("x", &"y".repeat(2_000_000)), Err(ExpandError::TooLong));
        assert_eq!(expand(&"!`a` ".repeat(21), ""), Err(ExpandError::TooManyCommands));
        assert_eq!(expand(&"!`a` ".repeat(20), "").unwrap().commands.len(), 20);
    }
}
