//! One word of a shell text: its quotes read, what is put in when it runs kept apart.

use super::script::{ScriptReader, ShellScript, read};

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellWord {
    pub(super) pieces: Vec<WordPiece>,
    /// Whether it stands there without any quotes.
    plain: bool,
}

/// A part of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WordPiece {
    Text(String),
    /// `$NAME`, or `${NAME:-other}` with what stands for it where it is not set.
    Variable {
        name: String,
        other: Option<String>,
        quoted: bool,
    },
    /// `$(…)`, `<(…)`
    Runs {
        script: ShellScript,
        quoted: bool,
    },
    /// What only running tells: `{a,b}`, `${NAME%x}`.
    Unknown {
        quoted: bool,
    },
}

impl WordPiece {
    /// Its text, if it is one.
    pub(super) fn written(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl ShellWord {
    /// The word as it stands, if it has neither quotes nor anything to put in.
    pub(super) fn bare(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [WordPiece::Text(text)] if self.plain => Some(text),
            _ => None,
        }
    }

    /// `NAME=value`.
    pub(super) fn assignment(&self) -> Option<(String, Self)> {
        let (WordPiece::Text(first), rest) = self.pieces.split_first()? else { return None };
        let (name, value) = first.split_once('=')?;
        let adds = name.ends_with('+');
        let name = name.trim_end_matches('+');
        if !is_name(name) {
            return None;
        }
        let mut pieces = vec![WordPiece::Text(value.to_owned())];
        pieces.extend_from_slice(rest);
        if adds {
            pieces = vec![WordPiece::Unknown { quoted: true }];
        }
        Some((name.to_owned(), Self { pieces, plain: self.plain }))
    }
}

/// Whether something can be assigned to it.
pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl ScriptReader {
    /// Reads one word; nothing if none is there, or if it does not end.
    pub(super) fn word(&mut self) -> Option<ShellWord> {
        let begin = self.at;
        let mut word = ShellWord { pieces: Vec::new(), plain: true };
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.chars.get(self.at + 1) == Some(&'(') => {
                    self.at += 2;
                    let script = self.bracketed()?;
                    word.pieces.push(WordPiece::Runs { script, quoted: true });
                }
                '(' if ends_with_equals(&word) => {
                    self.at += 1;
                    self.list()?;
                    word.pieces.push(WordPiece::Unknown { quoted: false });
                }
                c if c.is_whitespace() || ";&|<>()".contains(c) => break,
                _ => {
                    self.at += 1;
                    self.in_word(c, &mut word)?;
                }
            }
        }
        (self.at > begin).then_some(word)
    }

    /// What stands in the brackets of `NAME=(a b)`.
    fn list(&mut self) -> Option<()> {
        loop {
            while self.peek()?.is_whitespace() {
                self.at += 1;
            }
            if self.takes(")") {
                return Some(());
            }
            self.deeper(Self::word)?;
        }
    }

    fn in_word(&mut self, c: char, word: &mut ShellWord) -> Option<()> {
        word.plain &= !"'\"\\$`".contains(c);
        match c {
            '\'' => {
                let mut text = String::new();
                loop {
                    match self.next()? {
                        '\'' => break,
                        c => text.push(c),
                    }
                }
                word.text(&text)
            }
            '"' => self.quoted(word),
            '\\' => match self.next() {
                Some('\n') | None => Some(()),
                Some(c) => word.push(c),
            },
            '$' => self.dollar(false, word),
            '`' => self.backticks(false, word),
            '{' if self.is_list() => {
                while self.next()? != '}' {}
                word.pieces.push(WordPiece::Unknown { quoted: false });
                Some(())
            }
            c => word.push(c),
        }
    }

    /// Whether a brace begins `{a,b}` or `{1..9}`.
    fn is_list(&self) -> bool {
        let rest = self.chars[self.at..].iter().take_while(|c| !c.is_whitespace());
        let text: String = rest.collect();
        text.split_once('}').is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."))
    }

    /// Between double quotes.
    fn quoted(&mut self, word: &mut ShellWord) -> Option<()> {
        word.text("")?;
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => {
                    let c = self.next()?;
                    if !matches!(c, '$' | '`' | '"' | '\\' | '\n') {
                        word.push('\\')?;
                    }
                    if c != '\n' {
                        word.push(c)?;
                    }
                }
                '$' => self.dollar(true, word)?,
                '`' => self.backticks(true, word)?,
                c => word.push(c)?,
            }
        }
    }

    fn dollar(&mut self, quoted: bool, word: &mut ShellWord) -> Option<()> {
        let unknown = WordPiece::Unknown { quoted };
        let piece = if self.takes("((") {
            self.until_double(')')?;
            unknown
        } else if self.takes("(") {
            WordPiece::Runs { script: self.bracketed()?, quoted }
        } else if self.takes("{") {
            self.braced(quoted)?
        } else {
            match self.peek() {
                // With escapes: too rare to be worth reading.
                Some('\'') if !quoted => return None,
                Some('"') if !quoted => return Some(()),
                Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                    let mut name = String::new();
                    while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                        name.push(c);
                        self.at += 1;
                    }
                    WordPiece::Variable { name, other: None, quoted }
                }
                Some(c) if c.is_ascii_digit() || "@*#?-$!".contains(c) => {
                    self.at += 1;
                    WordPiece::Variable { name: c.to_string(), other: None, quoted }
                }
                _ => return word.push('$'),
            }
        };
        word.pieces.push(piece);
        Some(())
    }

    /// `${NAME}`, `${NAME:-other}`, and what else there is, which is not looked into.
    fn braced(&mut self, quoted: bool) -> Option<WordPiece> {
        let (begin, mut open) = (self.at, 1_usize);
        while open > 0 {
            match self.next()? {
                '{' => open += 1,
                '}' => open -= 1,
                // What it runs is not looked for.
                '`' | '(' | '\'' | '"' | '\\' => return None,
                _ => {}
            }
        }
        let inner: String = self.chars[begin..self.at - 1].iter().collect();
        let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(inner.len());
        let (name, rest) = inner.split_at(end);
        let other = [":-", "-", ":=", "="].iter().find_map(|mark| rest.strip_prefix(mark));
        let known = rest.is_empty() || other.is_some_and(|other| !other.contains('$'));
        let whole = match inner.as_str() {
            "@" | "*" => Some(inner.as_str()),
            "BASH_SOURCE[0]" => Some("0"),
            "PIPESTATUS[0]" => Some("?"),
            _ => None,
        };
        if let Some(name) = whole.map(str::to_owned) {
            return Some(WordPiece::Variable { name, other: None, quoted });
        } else if name.is_empty() || !known {
            return Some(WordPiece::Unknown { quoted });
        }
        Some(WordPiece::Variable { name: name.to_owned(), other: other.map(str::to_owned), quoted })
    }

    fn backticks(&mut self, quoted: bool, word: &mut ShellWord) -> Option<()> {
        let mut inner = String::new();
        loop {
            match self.next()? {
                '`' => break,
                '\\' => inner.extend(self.next()),
                c => inner.push(c),
            }
        }
        let script = read(&inner, self.depth())?;
        word.pieces.push(WordPiece::Runs { script, quoted });
        Some(())
    }
}

impl ShellWord {
    fn push(&mut self, c: char) -> Option<()> {
        self.text(c.encode_utf8(&mut [0; 4]))
    }

    /// Adds text. Marks that stand for something else in here are no text of a command.
    fn text(&mut self, text: &str) -> Option<()> {
        let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\r');
        if text.contains(odd) {
            return None;
        }
        match self.pieces.last_mut() {
            Some(WordPiece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(WordPiece::Text(text.to_owned())),
        }
        Some(())
    }
}

fn ends_with_equals(word: &ShellWord) -> bool {
    matches!(word.pieces.last(), Some(WordPiece::Text(text)) if text.ends_with('='))
}
