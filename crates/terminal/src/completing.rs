//! What a person is about to complete: a command, its argument, or the path of a file. Must not know which there are.

/// What is being written at the cursor. Each `start` is where the word begins in the text, with its sign: what is chosen
/// replaces everything from there to the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Completing {
    /// The name of a command: `/` at the very beginning of the text.
    Command {
        /// What is there of the name, without `/`.
        prefix: String,
        /// Always 0.
        start: usize,
    },
    /// What follows the name of a command in the first line.
    Argument {
        /// The command, without `/`.
        command: String,
        /// What is there of the word.
        prefix: String,
        /// Where the word begins.
        start: usize,
    },
    /// The path of a file: `@` at the beginning of a word. A path in quotes may have spaces.
    File {
        /// What is there of the path, without `@` and quotes.
        prefix: String,
        /// Where the `@` is.
        start: usize,
    },
}

impl Completing {
    /// What is being completed when the cursor is at this byte of the text.
    pub fn at(text: &str, cursor: usize) -> Option<Self> {
        let before = text.get(..cursor)?;
        file(before).or_else(|| command(before))
    }

    /// Where the word begins.
    pub fn start(&self) -> usize {
        match self {
            Self::Command { start, .. } | Self::Argument { start, .. } | Self::File { start, .. } => *start,
        }
    }

    /// What is there of the word, without signs.
    pub fn prefix(&self) -> &str {
        match self {
            Self::Command { prefix, .. } | Self::Argument { prefix, .. } | Self::File { prefix, .. } => {
                prefix
            }
        }
    }

    /// The word for a path: `@path`, in quotes where that is needed. A folder in quotes is left open, so that its files can be
    /// completed next.
    pub fn file_word(path: &str) -> String {
        match path {
            _ if !path.contains(char::is_whitespace) => format!("@{path}"),
            _ if path.ends_with('/') => format!("@\"{path}"),
            _ => format!("@\"{path}\""),
        }
    }
}

/// The last `@` at the beginning of a word, if the word goes on to the end.
fn file(before: &str) -> Option<Completing> {
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = &before[line_start..];
    let starts = line.match_indices('@').map(|(at, _)| at).filter(|at| begins_word(&line[..*at]));
    // In quotes an `@` is part of the path: the first word that is still open counts.
    let mut closed = 0;
    for at in starts {
        if at < closed {
            continue;
        }
        let word = &line[at + 1..];
        let (prefix, is_open) = match word.strip_prefix('"') {
            Some(quoted) => match quoted.find('"') {
                Some(end) => {
                    closed = at + 1 + 1 + end + 1;
                    (quoted, false)
                }
                None => (quoted, true),
            },
            None => (word, !word.contains(char::is_whitespace)),
        };
        if is_open {
            return Some(Completing::File { prefix: prefix.to_owned(), start: line_start + at });
        }
    }
    None
}

/// Whether a word begins behind this text: behind nothing, a space, or something that opens.
fn begins_word(before: &str) -> bool {
    before.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{<'\"`,;:=".contains(c))
}

fn command(before: &str) -> Option<Completing> {
    let line = before.strip_prefix('/').filter(|line| !line.contains('\n'))?;
    let Some((command, rest)) = line.split_once(' ') else {
        // A path, not a command.
        let prefix = (!line.contains(['/', '\t'])).then(|| line.to_owned())?;
        return Some(Completing::Command { prefix, start: 0 });
    };
    if command.is_empty() || command.contains(['/', '\t']) {
        return None;
    }
    let prefix = rest.rsplit(char::is_whitespace).next().unwrap_or_default().to_owned();
    Some(Completing::Argument { command: command.to_owned(), start: before.len() - prefix.len(), prefix })
}
