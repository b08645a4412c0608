//! A shell text as a shell reads it: pipelines that are joined, groups, functions, and what may run never or often. Nothing
//! is run or expanded; what is not understood makes the whole text one that is not.

use super::word::ShellWord;
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

/// A whole text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellScript {
    pub(super) steps: Vec<Pipeline>,
}

/// One pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pipeline {
    pub(super) joint: Joint,
    /// Whether `!` turns its exit code around.
    pub(super) negated: bool,
    /// Whether nobody waits for it: `&`.
    pub(super) beside: bool,
    pub(super) parts: Vec<Part>,
}

/// A command of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Simple(SimpleCommand),
    /// `( … )` in a shell of its own, or `{ …; }`.
    Group {
        script: ShellScript,
        apart: bool,
    },
    /// What may run never, once or often: `if`, `while`, `for`, `case`.
    Maybe {
        keyword: &'static str,
        scripts: Vec<ShellScript>,
    },
    /// `name() { …; }`
    Function {
        name: String,
        body: Box<Part>,
    },
    /// `[[ … ]]`, `(( … ))`
    Condition,
}

/// A command with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// What stands before its words: `NAME=value`.
    pub(super) assigned: Vec<(String, ShellWord)>,
    pub(super) words: Vec<ShellWord>,
    pub(super) fed: Option<Fed>,
    /// The files that it is led to or from.
    pub(super) files: Vec<ShellWord>,
}

/// What a command reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fed {
    /// A text as it stands: `<<'END'`.
    Text(String),
    /// `<<< word`
    Word(ShellWord),
    /// `< file`
    File(ShellWord),
    /// A text that is put together when it runs.
    Unknown,
}

/// Reads a text; nothing if it is not to be understood.
pub(super) fn read(text: &str, depth: usize) -> Option<ShellScript> {
    let chars = text.chars().collect();
    let mut reader = ScriptReader { chars, at: 0, depth, steps: 0, resumes: None };
    match reader.deeper(|reader| reader.script(&[]))? {
        (script, Stop::End) => Some(script),
        _ => None,
    }
}

pub(super) struct ScriptReader {
    pub(super) chars: Vec<char>,
    pub(super) at: usize,
    depth: usize,
    steps: usize,
    /// Where the next line begins, behind what this one feeds to commands.
    pub(super) resumes: Option<usize>,
}

/// What ends a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    End,
    /// `)`
    Bracket,
    /// `;;`
    Case,
    Word(&'static str),
}

/// Words that cannot begin a command.
const CLOSING: &[&str] = &["then", "elif", "else", "fi", "do", "done", "esac", "}", "in"];

impl ScriptReader {
    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at += 1;
        Some(c)
    }

    pub(super) fn takes(&mut self, text: &str) -> bool {
        let there = text.chars().enumerate().all(|(at, c)| self.chars.get(self.at + at) == Some(&c));
        if there {
            self.at += text.chars().count();
        }
        there
    }

    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let found = if self.depth > TEST_SCRIPT_NESTING_MAX { None } else { read(self) };
        self.depth -= 1;
        found
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// What stands between `$(` and `)`.
    pub(super) fn bracketed(&mut self) -> Option<ShellScript> {
        match self.deeper(|reader| reader.script(&[]))? {
            (script, Stop::Bracket) => Some(script),
            _ => None,
        }
    }

    pub(super) fn blanks(&mut self) {
        loop {
            if matches!(self.peek(), Some(' ' | '\t' | '\r')) {
                self.at += 1;
            } else if !self.takes("\\\n") {
                return;
            }
        }
    }

    /// Skips empty lines and comments.
    fn lines(&mut self) {
        loop {
            self.blanks();
            match self.peek() {
                Some('\n') => {
                    self.at = self.resumes.take().unwrap_or(0).max(self.at + 1);
                }
                Some('#') => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                _ => return,
            }
        }
    }

    /// Steps up to one of the words, or to what closes.
    fn script(&mut self, until: &[&'static str]) -> Option<(ShellScript, Stop)> {
        let mut script = ShellScript::default();
        let mut joint = Joint::Next;
        loop {
            self.lines();
            if let Some(stop) = self.stop(until) {
                // Something must follow `&&`.
                return (joint == Joint::Next).then_some((script, stop));
            }
            let mut step = self.pipeline(joint)?;
            self.steps += 1;
            self.blanks();
            joint = Joint::Next;
            if self.takes("&&") {
                joint = Joint::And;
            } else if self.takes("||") {
                joint = Joint::Or;
            } else if self.takes("&") {
                step.beside = true;
            } else if self.peek() == Some(';') && self.chars.get(self.at + 1) != Some(&';') {
                self.at += 1;
            } else if !matches!(self.peek(), None | Some('\n' | '#' | ')' | ';')) {
                return None;
            }
            script.steps.push(step);
            if self.steps > TEST_SCRIPT_STEPS_MAX {
                return None;
            }
        }
    }

    fn stop(&mut self, until: &[&'static str]) -> Option<Stop> {
        if self.at >= self.chars.len() {
            return Some(Stop::End);
        } else if self.takes(")") {
            return Some(Stop::Bracket);
        } else if self.takes(";;") {
            let _ = self.takes("&");
            return Some(Stop::Case);
        }
        let before = self.at;
        let word = self.bare_word();
        let found = until.iter().find(|one| word.as_deref() == Some(**one));
        if found.is_none() {
            self.at = before;
        }
        found.map(|word| Stop::Word(word))
    }

    /// A word without quotes and anything to expand, if the next one is.
    fn bare_word(&mut self) -> Option<String> {
        let begin = self.at;
        while self.peek().is_some_and(|c| !c.is_whitespace() && !";&|<>()\"'`$\\".contains(c)) {
            self.at += 1;
        }
        let ends = self.peek().is_none_or(|c| c.is_whitespace() || ";&|<>()".contains(c));
        (ends && self.at > begin).then(|| self.chars[begin..self.at].iter().collect())
    }

    fn pipeline(&mut self, joint: Joint) -> Option<Pipeline> {
        let mut step = Pipeline { joint, negated: false, beside: false, parts: Vec::new() };
        while self.peek() == Some('!') && self.chars.get(self.at + 1).is_some_and(|c| c.is_whitespace()) {
            step.negated = !step.negated;
            self.at += 1;
            self.blanks();
        }
        loop {
            let part = self.deeper(Self::part)?;
            step.parts.push(part);
            self.blanks();
            let pipes = self.peek() == Some('|') && self.chars.get(self.at + 1) != Some(&'|');
            if !pipes {
                return Some(step);
            }
            self.at += 1;
            let _ = self.takes("&");
            self.lines();
        }
    }

    fn part(&mut self) -> Option<Part> {
        self.blanks();
        if self.takes("((") {
            self.until_double(')')?;
            return self.led(Part::Condition);
        } else if self.takes("(") {
            let script = self.bracketed()?;
            return self.led(Part::Group { script, apart: true });
        }
        let before = self.at;
        let word = self.bare_word().unwrap_or_default();
        let part = match word.as_str() {
            "{" => Part::Group { script: self.up_to("}")?, apart: false },
            "if" => self.conditional()?,
            "while" | "until" => {
                let keyword = if word == "while" { "while" } else { "until" };
                let test = self.up_to("do")?;
                Part::Maybe { keyword, scripts: vec![test, self.up_to("done")?] }
            }
            "for" | "select" => self.repeated()?,
            "case" => self.cases()?,
            "[[" => {
                self.condition()?;
                Part::Condition
            }
            "function" => {
                self.blanks();
                let name = self.bare_word()?;
                self.blanks();
                if self.takes("(") {
                    self.blanks();
                    self.takes(")").then_some(())?;
                }
                return self.function(name);
            }
            "coproc" => return None,
            word if CLOSING.contains(&word) => return None,
            _ => {
                self.blanks();
                if word == "time" && matches!(self.peek(), Some('(' | '{')) {
                    return self.deeper(Self::part);
                }
                // `NAME=(…)` is a list.
                if !word.is_empty() && !word.ends_with('=') && self.takes("(") {
                    self.blanks();
                    return if self.takes(")") { self.function(word) } else { None };
                }
                self.at = before;
                return self.simple().map(Part::Simple);
            }
        };
        self.led(part)
    }

    fn up_to(&mut self, word: &'static str) -> Option<ShellScript> {
        match self.deeper(|reader| reader.script(&[word]))? {
            (script, Stop::Word(_)) => Some(script),
            _ => None,
        }
    }

    fn function(&mut self, name: String) -> Option<Part> {
        self.lines();
        let body = self.deeper(Self::part)?;
        // Anything else is no body.
        let whole = matches!(body, Part::Group { .. } | Part::Maybe { .. });
        whole.then(|| Part::Function { name, body: Box::new(body) })
    }

    fn conditional(&mut self) -> Option<Part> {
        let mut scripts = vec![self.up_to("then")?];
        loop {
            let (script, stop) = self.deeper(|reader| reader.script(&["elif", "else", "fi"]))?;
            scripts.push(script);
            match stop {
                Stop::Word("elif") => scripts.push(self.up_to("then")?),
                Stop::Word("else") => {}
                Stop::Word(_) => return Some(Part::Maybe { keyword: "if", scripts }),
                _ => return None,
            }
        }
    }

    /// `for NAME in WORDS; do …; done`, `for ((…)); do …; done`.
    fn repeated(&mut self) -> Option<Part> {
        self.blanks();
        if self.takes("((") {
            self.until_double(')')?;
        } else {
            self.bare_word()?;
        }
        loop {
            self.blanks();
            match self.peek()? {
                ';' | '\n' => break,
                _ => drop(self.word()?),
            }
        }
        let _ = self.takes(";");
        self.lines();
        (self.bare_word()? == "do").then_some(())?;
        Some(Part::Maybe { keyword: "for", scripts: vec![self.up_to("done")?] })
    }

    fn cases(&mut self) -> Option<Part> {
        self.blanks();
        self.word()?;
        self.lines();
        (self.bare_word()? == "in").then_some(())?;
        let mut scripts = Vec::new();
        loop {
            self.lines();
            if self.stop(&["esac"]).is_some_and(|stop| stop == Stop::Word("esac")) {
                return Some(Part::Maybe { keyword: "case", scripts });
            }
            let _ = self.takes("(");
            loop {
                self.blanks();
                match self.peek()? {
                    ')' => break,
                    '|' => self.at += 1,
                    _ => drop(self.word()?),
                }
            }
            self.at += 1;
            let (script, stop) = self.deeper(|reader| reader.script(&["esac"]))?;
            scripts.push(script);
            match stop {
                Stop::Case => {}
                Stop::Word(_) => return Some(Part::Maybe { keyword: "case", scripts }),
                _ => return None,
            }
        }
    }

    /// Up to `]]`, with its own operators.
    fn condition(&mut self) -> Option<()> {
        loop {
            self.blanks();
            match self.peek()? {
                '\n' | '&' | '|' | '(' | ')' | '<' | '>' | '!' | ';' => self.at += 1,
                _ => {
                    let word = self.word()?;
                    if word.bare() == Some("]]") {
                        return Some(());
                    }
                }
            }
        }
    }

    /// Up to two of these in a row.
    pub(super) fn until_double(&mut self, close: char) -> Option<()> {
        let mut open = 0_usize;
        loop {
            match self.next()? {
                '(' => open += 1,
                c if c == close && open > 0 => open -= 1,
                c if c == close && self.peek() == Some(close) => {
                    self.at += 1;
                    return Some(());
                }
                c if c == close || "'\"`".contains(c) => return None,
                _ => {}
            }
        }
    }
}
