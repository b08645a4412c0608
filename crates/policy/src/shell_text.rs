//! A shell text taken apart into simple commands: words without their quotes, what they redirect, what they are fed. Also
//! those within substitutions. It reads as a shell does as far as that goes without running anything; what only running would tell is marked as unknown.

use crate::limits::{COMMANDS_MAX, LOOK_AHEAD_CHARS, NESTING_MAX};

/// Stands for text that only running tells, without blanks: `$NAME`.
pub(crate) const SOME: char = '\u{1}';
/// Stands for text that only running tells, of any number of words: `$(…)`, `{a,b}`.
pub(crate) const ANY: char = '\u{2}';
/// Stands for text of the names that are there, without a slash: `*`, `?`, `[a-z]`.
pub(crate) const GLOB: char = '\u{3}';
/// All of these.
pub(crate) const UNKNOWN: [char; 3] = [SOME, ANY, GLOB];

/// One command as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Its words, assignments before the program included.
    pub(crate) words: Vec<String>,
    /// The files that it empties before it writes to them.
    pub(crate) empties: Vec<String>,
    /// What it is fed by `<<` and `<<<`.
    pub(crate) fed: Vec<String>,
}

/// All commands of a text; none if it is not to be understood: a quote that does not end, too much, too deep.
pub(crate) fn read(text: &str) -> Option<Vec<Simple>> {
    let mut found = Vec::new();
    read_into(text, 0, &mut found)?;
    Some(found)
}

/// The same for a text within another, `depth` deep.
pub(crate) fn read_into(text: &str, depth: usize, found: &mut Vec<Simple>) -> Option<()> {
    if depth > NESTING_MAX {
        return None;
    }
    let reader = Reader {
        chars: text.chars().collect(),
        at: 0,
        depth,
        word: None,
        command: Simple::default(),
        target: None,
        waiting: Vec::new(),
        found,
    };
    reader.run()
}

/// Where the word goes that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    /// It is emptied.
    Empties,
    /// It is read, appended to, or no file.
    Ignored,
    /// It is what the command is fed.
    Fed,
    /// It ends what the command is fed.
    Ends,
}

struct Reader<'a> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    word: Option<String>,
    command: Simple,
    target: Option<Target>,
    /// The words that end what the next lines feed.
    waiting: Vec<String>,
    found: &'a mut Vec<Simple>,
}

impl Reader<'_> {
    fn run(mut self) -> Option<()> {
        while let Some(c) = self.next() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_command()?;
                    self.skip_fed()?;
                }
                '&' if self.peek() == Some('>') => {
                    self.at += 1;
                    self.redirect('>')?;
                }
                ';' | '&' | '|' | '(' | ')' => self.end_command()?,
                '#' if self.word.is_none() => self.skip_line(),
                '<' | '>' if self.peek() == Some('(') => {
                    self.at += 1;
                    let inner = self.until_closed('(', ')')?;
                    self.within(&inner, ANY)?;
                }
                '<' | '>' => self.redirect(c)?,
                c => self.in_word(c)?,
            }
        }
        self.end_command()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn takes(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        self.at += usize::from(there);
        there
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn in_word(&mut self, c: char) -> Option<()> {
        match c {
            '\'' => {
                self.word.get_or_insert_default();
                loop {
                    match self.next()? {
                        '\'' => return Some(()),
                        c => self.push(c),
                    }
                }
            }
            '"' => return self.quoted(),
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some(c) => self.push(c),
            },
            '$' => return self.dollar(false),
            '`' => return self.backticks(),
            '*' | '?' => self.push(GLOB),
            '[' if self.ahead().contains(']') => {
                while self.next()? != ']' {}
                self.push(GLOB);
            }
            '{' if self.is_braces() => {
                self.until_closed('{', '}')?;
                self.push(ANY);
            }
            c => self.push(c),
        }
        Some(())
    }

    /// Between double quotes.
    fn quoted(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.next()? {
                '"' => return Some(()),
                '\\' => match self.next()? {
                    '\n' => {}
                    c @ ('$' | '`' | '"' | '\\') => self.push(c),
                    c => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.dollar(true)?,
                '`' => self.backticks()?,
                c => self.push(c),
            }
        }
    }

    fn dollar(&mut self, quoted: bool) -> Option<()> {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.until_closed('(', ')')?;
                self.within(&inner, if quoted { SOME } else { ANY })
            }
            Some('{') => {
                self.at += 1;
                let inner = self.until_closed('{', '}')?;
                self.expanded(&inner)
            }
            Some('\'') if !quoted => {
                self.at += 1;
                self.escaped()
            }
            Some('"') if !quoted => Some(()),
            Some(c) if c.is_ascii_alphanumeric() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                    self.at += 1;
                }
                self.expanded(&name)
            }
            Some(c) if "@*#?-$!".contains(c) => {
                self.at += 1;
                self.push(if matches!(c, '@' | '*') { ANY } else { SOME });
                Some(())
            }
            _ => {
                self.push('$');
                Some(())
            }
        }
    }

    /// `$NAME` or `${NAME…}`.
    fn expanded(&mut self, inner: &str) -> Option<()> {
        if inner == "IFS" {
            self.end_word();
            return Some(());
        }
        if inner.contains("$(") || inner.contains('`') {
            read_into(inner, self.depth + 1, self.found)?;
        }
        self.push(SOME);
        Some(())
    }

    /// `$'…'`: with escapes. Those that are rare are not worth being told apart.
    fn escaped(&mut self) -> Option<()> {
        self.word.get_or_insert_default();
        loop {
            match self.next()? {
                '\'' => return Some(()),
                '\\' => {
                    let c = match self.next()? {
                        'n' => '\n',
                        't' => '\t',
                        c @ ('\'' | '"' | '\\') => c,
                        'x' => self.number(16, 2),
                        '0'..='7' => {
                            self.at -= 1;
                            self.number(8, 3)
                        }
                        _ => SOME,
                    };
                    self.push(c);
                }
                c => self.push(c),
            }
        }
    }

    fn number(&mut self, base: u32, digits: usize) -> char {
        let mut value = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(base)) else { break };
            value = value * base + digit;
            self.at += 1;
        }
        char::from_u32(value).unwrap_or(SOME)
    }

    fn backticks(&mut self) -> Option<()> {
        let mut inner = String::new();
        loop {
            match self.next()? {
                '`' => break,
                '\\' => inner.extend(self.next()),
                c => inner.push(c),
            }
        }
        self.within(&inner, ANY)
    }

    /// A command within a word, whose output is unknown.
    fn within(&mut self, inner: &str, unknown: char) -> Option<()> {
        read_into(inner, self.depth + 1, self.found)?;
        self.push(unknown);
        Some(())
    }

    /// Whether a brace begins `{a,b}` or `{1..9}`, and not a group.
    fn is_braces(&self) -> bool {
        let text = self.ahead();
        text.split_once('}').is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."))
    }

    /// What comes next in this word, as far as it is worth looking.
    fn ahead(&self) -> String {
        let rest = self.chars[self.at..].iter().take(LOOK_AHEAD_CHARS);
        rest.take_while(|c| !c.is_whitespace() && **c != ';').collect()
    }

    /// What stands up to the bracket that closes; quotes are minded.
    fn until_closed(&mut self, open: char, close: char) -> Option<String> {
        let (start, mut depth) = (self.at, 1);
        loop {
            match self.next()? {
                '\\' => self.at += 1,
                '\'' => while self.next()? != '\'' {},
                '"' => loop {
                    match self.next()? {
                        '"' => break,
                        '\\' => self.at += 1,
                        _ => {}
                    }
                },
                c if c == open => depth += 1,
                c if c == close => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(self.chars[start..self.at - 1].iter().collect());
            }
        }
    }

    fn redirect(&mut self, arrow: char) -> Option<()> {
        // A number before it is no word of the command.
        if self.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        let target = if arrow == '>' {
            if self.takes('>') {
                Target::Ignored
            } else {
                let _ = self.takes('|') || self.takes('&');
                Target::Empties
            }
        } else if self.takes('<') {
            if self.takes('<') {
                Target::Fed
            } else {
                let _ = self.takes('-');
                Target::Ends
            }
        } else {
            let _ = self.takes('>') || self.takes('&');
            Target::Ignored
        };
        self.target = Some(target);
        Some(())
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        match self.target.take() {
            None => self.command.words.push(word),
            Some(Target::Ignored) => {}
            Some(Target::Fed) => self.command.fed.push(word),
            Some(Target::Ends) => self.waiting.push(word),
            Some(Target::Empties) => {
                let is_number = !word.is_empty() && word.chars().all(|c| c.is_ascii_digit());
                if !is_number && word != "-" {
                    self.command.empties.push(word);
                }
            }
        }
    }

    fn end_command(&mut self) -> Option<()> {
        self.end_word();
        self.target = None;
        let command = std::mem::take(&mut self.command);
        if command != Simple::default() {
            self.found.push(command);
        }
        (self.found.len() <= COMMANDS_MAX).then_some(())
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    /// The lines that feed the commands of the line above.
    fn skip_fed(&mut self) -> Option<()> {
        for end in std::mem::take(&mut self.waiting) {
            let mut fed = String::new();
            while self.at < self.chars.len() {
                let start = self.at;
                self.skip_line();
                let line: String = self.chars[start..self.at].iter().collect();
                self.at += 1;
                if line.trim_start_matches('\t') == end {
                    break;
                }
                fed.push_str(&line);
                fed.push('\n');
            }
            if fed.contains("$(") || fed.contains('`') {
                // Only what is substituted in it runs, but which that is makes no difference here.
                let _ = read_into(&fed, self.depth + 1, self.found);
            }
            if let Some(command) = self.found.last_mut() {
                command.fed.push(fed);
            }
        }
        Some(())
    }
}
