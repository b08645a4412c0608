//! The words of a query as a full-text question. A query is a stranger's text: every word is quoted, so that nothing
//! in it is taken for an operator. Pure; it must not know the tables.

use crate::limits;

/// The first distinct words of a query.
pub(crate) struct QueryWords(Vec<String>);

impl QueryWords {
    pub(crate) fn of(query: &str) -> Self {
        let query = &query[..query.floor_char_boundary(limits::QUERY_BYTES_MAX)];
        let apart = |c: char| c.is_whitespace() || c.is_control() || c.is_ascii_punctuation();
        let mut words: Vec<String> = Vec::new();
        for word in query.split(apart).filter(|word| !word.is_empty()) {
            let word: String = word.chars().take(limits::QUERY_WORD_CHARS_MAX).collect();
            if !words.contains(&word) {
                words.push(word);
            }
            if words.len() == limits::QUERY_WORDS_MAX {
                break;
            }
        }
        Self(words)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What holds at least one of the words.
    pub(crate) fn any(&self) -> String {
        self.joined(" OR ")
    }

    /// What holds every one of the words.
    pub(crate) fn all(&self) -> String {
        self.joined(" AND ")
    }

    fn joined(&self, between: &str) -> String {
        self.0.iter().map(|word| term(word)).collect::<Vec<_>>().join(between)
    }
}

/// A word finds every longer one that begins with it. Not the shortest ones: `a` would find a tenth of everything.
/// Scripts other than Latin say more with fewer letters.
fn term(word: &str) -> String {
    let prefix = !word.is_ascii() || word.len() >= limits::PREFIX_CHARS_MIN;
    format!("\"{word}\"{}", if prefix { "*" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_quoted_and_nothing_is_an_operator() {
        let cases = [
            ("", ""),
            ("  \t\0\n ?!", ""),
            ("migrat", "\"migrat\"*"),
            ("a to the", "\"a\" OR \"to\" OR \"the\"*"),
            ("foo foo Foo", "\"foo\"* OR \"Foo\"*"),
            ("x\" OR text:y*", "\"x\" OR \"OR\" OR \"text\"* OR \"y\""),
            ("NEAR(\"a b\", 3) ^c", "\"NEAR\"* OR \"a\" OR \"b\" OR \"3\" OR \"c\""),
            ("session_id", "\"session\"* OR \"id\""),
            ("über 東京", "\"über\"* OR \"東京\"*"),
        ];
        assert_eq!(cases.len(), 9);
        for (query, expected) in cases {
            assert_eq!(QueryWords::of(query).any(), expected, "of {query:?}");
        }
        assert_eq!(QueryWords::of("one two").all(), "\"one\"* AND \"two\"*");
    }

    #[test]
    fn long_queries_are_cut() {
        let many: String = (0..1_000).map(|n| format!("word{n} ")).collect();
        assert_eq!(QueryWords::of(&many).0.len(), limits::QUERY_WORDS_MAX);
        let long = "ä".repeat(100_000);
        assert_eq!(QueryWords::of(&long).0, ["ä".repeat(limits::QUERY_WORD_CHARS_MAX)]);
    }
}
