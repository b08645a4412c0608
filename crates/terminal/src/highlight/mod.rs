//! Code with looks: comments, strings, numbers, keywords and names. A small lexer that tables drive; it has nothing to
//! load, keeps a state of constant size between lines, and reads each character once. Pure.

mod grammars;
mod lexer;

use self::grammars::{GRAMMARS, Grammar};
use self::lexer::LexState;
use crate::{Look, Span, TextLine};

/// Gives looks to the lines of one piece of code, in their order.
#[derive(Clone, Debug)]
pub struct Highlighter {
    grammar: Option<&'static Grammar>,
    state: LexState,
}

impl Highlighter {
    /// For a language as people call it (`rust`, `py`, `c++`), or a path. What nobody knows stays plain.
    pub fn new(language: &str) -> Self {
        Self { grammar: grammar(language), state: LexState::default() }
    }

    /// The next line of the code. Its text stays as it is.
    pub fn line(&mut self, line: &str) -> TextLine {
        // Made harmless as a whole: what is escaped depends on what stands before it.
        let whole = Span::new(line, Look::PLAIN);
        let Some(grammar) = self.grammar else {
            let mut line = TextLine::default();
            line.push_span(whole);
            return line;
        };
        let (parts, state) = lexer::parts(grammar, whole.text(), self.state);
        self.state = state;
        let (mut line, mut begin) = (TextLine::default(), 0);
        for (end, look) in parts {
            line.push_span(whole.part(begin..end, look));
            begin = end;
        }
        line
    }
}

fn grammar(language: &str) -> Option<&'static Grammar> {
    let name = language.trim().trim_start_matches(['.', '{']);
    let name = name.split([' ', ',', '{', '}', ';', '\t']).next().unwrap_or_default();
    let name = name.strip_prefix("language-").unwrap_or(name);
    let lower = name.to_lowercase();
    let named = GRAMMARS.iter().find(|grammar| has_word(grammar.names, &lower));
    let of_path = language_of_path(name);
    named.or_else(|| GRAMMARS.iter().find(|grammar| has_word(grammar.names, of_path)))
}

/// The language of a file, by its name; empty if it is not known.
pub fn language_of_path(path: &str) -> &'static str {
    let name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    let ending = name.rfind('.').map(|at| name[at..].to_lowercase()).unwrap_or_default();
    let is_its = |grammar: &&Grammar| has_word(grammar.files, name) || has_word(grammar.files, &ending);
    let grammar = GRAMMARS.iter().find(is_its);
    grammar.and_then(|grammar| grammar.names.split(' ').next()).unwrap_or_default()
}

/// Whether a word is in a list of words with spaces between them.
fn has_word(words: &str, word: &str) -> bool {
    !word.is_empty() && words.split_ascii_whitespace().any(|known| known == word)
}

#[cfg(test)]
mod tests;
