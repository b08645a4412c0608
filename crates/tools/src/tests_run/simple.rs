//! Reads one command of a shell text: what is assigned before it, its words, and what it is led to or fed.

use super::script::{Fed, Part, ScriptReader, SimpleCommand};
use super::word::WordPiece;

impl ScriptReader {
    /// A part, and the files behind it: `( … ) > log 2>&1`.
    pub(super) fn led(&mut self, part: Part) -> Option<Part> {
        let more = self.simple_or_nothing()?;
        (more.words.is_empty() && more.assigned.is_empty()).then_some(())?;
        Some(part)
    }

    pub(super) fn simple(&mut self) -> Option<SimpleCommand> {
        let simple = self.simple_or_nothing()?;
        (simple != SimpleCommand::default()).then_some(simple)
    }

    fn simple_or_nothing(&mut self) -> Option<SimpleCommand> {
        let mut simple = SimpleCommand::default();
        loop {
            self.blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')' | '#') => return Some(simple),
                Some('&') if self.chars.get(self.at + 1) == Some(&'>') => {
                    self.at += 1;
                    self.redirect(&mut simple)?;
                }
                Some('&') => return Some(simple),
                Some('(') => return None,
                Some('<' | '>') if self.chars.get(self.at + 1) != Some(&'(') => self.redirect(&mut simple)?,
                Some(_) => {
                    let word = self.word()?;
                    let descriptor = matches!(self.peek(), Some('<' | '>'))
                        && word.bare().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()));
                    match word.assignment().filter(|_| simple.words.is_empty()) {
                        _ if descriptor => {}
                        Some(assigned) => simple.assigned.push(assigned),
                        None => simple.words.push(word),
                    }
                }
            }
        }
    }

    /// `>`, `2>&1`, `<<END`: what follows is no argument.
    fn redirect(&mut self, simple: &mut SimpleCommand) -> Option<()> {
        if self.takes("<<<") {
            self.blanks();
            simple.fed = Some(Fed::Word(self.word()?));
        } else if self.takes("<<") {
            simple.fed = Some(self.fed()?);
        } else {
            let reads = self.takes("<");
            while matches!(self.peek(), Some('>' | '&' | '|')) {
                self.at += 1;
            }
            self.blanks();
            let word = self.word()?;
            if reads && word.bare().is_none_or(|word| word.parse::<u32>().is_err()) {
                simple.fed = Some(Fed::File(word.clone()));
            }
            simple.files.push(word);
        }
        Some(())
    }

    /// The lines below, up to the word that ends them.
    fn fed(&mut self) -> Option<Fed> {
        let strips = self.takes("-");
        self.blanks();
        let word = self.word()?;
        let end: String = word.pieces.iter().map(WordPiece::written).collect::<Option<String>>()?;
        let rest: Vec<char> = self.chars[self.at..].iter().copied().take_while(|c| *c != '\n').collect();
        // A quote that does not end on this line would put the lines elsewhere.
        let odd = |mark: char| rest.iter().filter(|c| **c == mark).count() % 2 == 1;
        (!odd('\'') && !odd('"') && !odd('`') && rest.last() != Some(&'\\')).then_some(())?;
        let mut at = self.resumes.unwrap_or(self.at + rest.len() + 1);
        let mut text = String::new();
        loop {
            let line: String = self.chars.get(at..)?.iter().take_while(|c| **c != '\n').collect();
            at += line.chars().count() + 1;
            if (if strips { line.trim_start_matches('\t') } else { line.as_str() }) == end {
                break;
            }
            (at <= self.chars.len()).then_some(())?;
            text.push_str(&line);
            text.push('\n');
        }
        self.resumes = Some(at.min(self.chars.len()));
        let plain = word.bare().is_none() || !text.contains(['$', '`', '\\']);
        Some(if plain { Fed::Text(text) } else { Fed::Unknown })
    }
}
