//! A shell text as steps that are joined: which of them decides the exit code is what matters here. It reads as a shell
//! does as far as that goes without running anything, and what it does not understand decides nothing.

use crate::limits::{TEST_SCRIPT_NESTING_MAX, TEST_SCRIPT_STEPS_MAX};

/// How a step is joined to the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// `;` or a new line, and the beginning.
    Next,
    /// `&&`
    And,
    /// `||`
    Or,
}

/// A command of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// Words without their quotes, and what it is fed by `<<`.
    Simple { words: Vec<String>, fed: Option<String> },
    /// Between `( )`, or what a substitution runs.
    Group(Script),
}

/// One pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) joint: Joint,
    /// Whether `!` turns its exit code around.
    pub(super) negated: bool,
    /// Whether nobody waits for it: `&`.
    pub(super) beside: bool,
    pub(super) parts: Vec<Part>,
    /// What substitutions in its words run.
    pub(super) within: Vec<Script>,
}

/// A whole text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    pub(super) steps: Vec<Step>,
}

/// Reads a text; nothing if it is not to be understood.
pub(super) fn read(text: &str, depth: usize) -> Option<Script> {
    if depth > TEST_SCRIPT_NESTING_MAX {
        return None;
    }
    let chars = text.chars().collect();
    let mut reader = Reader { chars, at: 0, depth, waiting: Vec::new() };
    let script = reader.script(false)?;
    (reader.at >= reader.chars.len()).then_some(script)
}

struct Reader {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    /// The words that end what the next lines feed.
    waiting: Vec<String>,
}

/// A step while it is read.
struct Open {
    step: Step,
    words: Vec<String>,
    fed: Option<String>,
    word: Option<String>,
    /// Whether the word is a file that is written or read, not an argument.
    file: bool,
}

impl Open {
    fn new(joint: Joint) -> Self {
        let step = Step { joint, negated: false, beside: false, parts: Vec::new(), within: Vec::new() };
        Self { step, words: Vec::new(), fed: None, word: None, file: false }
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.file) {
            return;
        }
        if self.words.is_empty() && self.step.parts.is_empty() && word == "!" {
            self.step.negated = !self.step.negated;
        } else {
            self.words.push(word);
        }
    }

    fn end_part(&mut self) {
        self.end_word();
        self.file = false;
        let (words, fed) = (std::mem::take(&mut self.words), self.fed.take());
        if !words.is_empty() {
            self.step.parts.push(Part::Simple { words, fed });
        }
    }
}

impl Reader {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn takes(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        self.at += usize::from(there);
        there
    }

    /// Up to the end, or up to the bracket that closes.
    fn script(&mut self, closes: bool) -> Option<Script> {
        let mut script = Script::default();
        let mut open = Open::new(Joint::Next);
        while let Some(c) = self.peek() {
            self.at += 1;
            match c {
                ' ' | '\t' | '\r' => open.end_word(),
                ')' if closes => {
                    end_step(&mut script, open, Joint::Next)?;
                    return Some(script);
                }
                '\n' => {
                    // A line can end behind `&&` or `|`.
                    let goes_on = open.words.is_empty() && open.word.is_none() && open.step.parts.is_empty();
                    if !goes_on {
                        open = end_step(&mut script, open, Joint::Next)?;
                    }
                    self.feed(&mut script);
                }
                ';' => {
                    while self.takes(';') {}
                    open = end_step(&mut script, open, Joint::Next)?;
                }
                '&' if self.takes('&') => open = end_step(&mut script, open, Joint::And)?,
                '&' if self.peek() == Some('>') => self.redirect(&mut open),
                '&' => {
                    open.step.beside = true;
                    open = end_step(&mut script, open, Joint::Next)?;
                }
                '|' if self.takes('|') => open = end_step(&mut script, open, Joint::Or)?,
                '|' => {
                    self.takes('&');
                    open.end_part();
                }
                '(' if open.word.is_none() && open.words.is_empty() => {
                    let inner = self.deeper(|reader| reader.script(true))?;
                    open.step.parts.push(Part::Group(inner));
                }
                '#' if open.word.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '<' | '>' => {
                    self.at -= 1;
                    self.redirect(&mut open);
                }
                c => self.in_word(c, &mut open)?,
            }
        }
        end_step(&mut script, open, Joint::Next)?;
        (!closes).then_some(script)
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let found = if self.depth > TEST_SCRIPT_NESTING_MAX { None } else { read(self) };
        self.depth -= 1;
        found
    }

    fn in_word(&mut self, c: char, open: &mut Open) -> Option<()> {
        match c {
            '\'' => {
                open.word.get_or_insert_default();
                loop {
                    let c = self.peek()?;
                    self.at += 1;
                    if c == '\'' {
                        return Some(());
                    }
                    open.push(c);
                }
            }
            '"' => return self.quoted(open),
            '\\' => {
                let c = self.peek();
                self.at += 1;
                if let Some(c) = c.filter(|c| *c != '\n') {
                    open.push(c);
                }
            }
            '$' if self.takes('(') => self.substituted(open)?,
            '`' => self.backticks(open)?,
            c => open.push(c),
        }
        Some(())
    }

    fn quoted(&mut self, open: &mut Open) -> Option<()> {
        open.word.get_or_insert_default();
        loop {
            let c = self.peek()?;
            self.at += 1;
            match c {
                '"' => return Some(()),
                '\\' => {
                    let c = self.peek()?;
                    self.at += 1;
                    if !matches!(c, '$' | '`' | '"' | '\\' | '\n') {
                        open.push('\\');
                    }
                    if c != '\n' {
                        open.push(c);
                    }
                }
                '$' if self.takes('(') => self.substituted(open)?,
                '`' => self.backticks(open)?,
                c => open.push(c),
            }
        }
    }

    fn substituted(&mut self, open: &mut Open) -> Option<()> {
        let inner = self.deeper(|reader| reader.script(true))?;
        open.step.within.push(inner);
        open.push('$');
        Some(())
    }

    fn backticks(&mut self, open: &mut Open) -> Option<()> {
        let mut inner = String::new();
        loop {
            let c = self.peek()?;
            self.at += 1;
            match c {
                '`' => break,
                '\\' => {
                    inner.extend(self.peek());
                    self.at += 1;
                }
                c => inner.push(c),
            }
        }
        open.step.within.push(read(&inner, self.depth + 1)?);
        open.push('$');
        Some(())
    }

    /// `>`, `2>&1`, `<<END`: what follows is no argument.
    fn redirect(&mut self, open: &mut Open) {
        if open.word.as_ref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            open.word = None;
        }
        open.end_word();
        let feeds = self.takes('<') && self.takes('<');
        if feeds && !self.takes('<') {
            self.takes('-');
            while self.takes(' ') {}
            let mut end = String::new();
            while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && !";&|<>()".contains(*c)) {
                self.at += 1;
                if !matches!(c, '\'' | '"' | '\\') {
                    end.push(c);
                }
            }
            self.waiting.push(end);
            return;
        }
        while matches!(self.peek(), Some('>' | '&' | '|')) {
            self.at += 1;
        }
        open.file = true;
    }

    /// The lines that feed the commands of the line above.
    fn feed(&mut self, script: &mut Script) {
        for end in std::mem::take(&mut self.waiting) {
            let mut fed = String::new();
            while self.at < self.chars.len() {
                let line: String = self.chars[self.at..].iter().take_while(|c| **c != '\n').collect();
                self.at += line.chars().count() + 1;
                if line.trim_start_matches('\t') == end {
                    break;
                }
                fed.push_str(&line);
                fed.push('\n');
            }
            if let Some(Part::Simple { fed: place, .. }) =
                script.steps.last_mut().and_then(|step| step.parts.first_mut())
            {
                *place = Some(fed);
            }
        }
    }
}

/// Closes a step, and opens the next one.
fn end_step(script: &mut Script, mut open: Open, joint: Joint) -> Option<Open> {
    open.end_part();
    if open.step.parts.is_empty() && open.step.within.is_empty() {
        // Nothing stood there: what was said of the next step still holds.
        let joint = if open.step.joint == Joint::Next { joint } else { open.step.joint };
        return Some(Open::new(joint));
    }
    script.steps.push(open.step);
    (script.steps.len() <= TEST_SCRIPT_STEPS_MAX).then(|| Open::new(joint))
}
