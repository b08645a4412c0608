//! Names and ids of calls on their way back into a conversation. A model may call a tool by any words, but providers
//! refuse every later request that holds a name or an id of other characters than these.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::limits::ID_CHARS_KEPT;
use crate::limits::{CALL_ID_CHARS_MAX, TOOL_NAME_CHARS_MAX};

/// Stands where a call has no name.
const NO_NAME: &str = "unnamed";

/// The name as it is, or what all providers take in its place.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    if name.is_empty() {
        return Cow::Borrowed(NO_NAME);
    }
    if fits(name, TOOL_NAME_CHARS_MAX) {
        Cow::Borrowed(name)
    } else {
        Cow::Owned(replaced(name, TOOL_NAME_CHARS_MAX))
    }
}

/// The id as it is, or another that all providers take. A call and its result get the same, and two ids that differ only in
/// what is replaced stay two.
pub(crate) fn id(id: &str) -> Cow<'_, str> {
    if !id.is_empty() && fits(id, CALL_ID_CHARS_MAX) {
        return Cow::Borrowed(id);
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    let kept = replaced(if id.is_empty() { "call" } else { id }, ID_CHARS_KEPT);
    Cow::Owned(format!("{kept}_{:016x}", hasher.finish()))
}

fn fits(word: &str, chars_max: usize) -> bool {
    word.len() <= chars_max && word.chars().all(is_safe)
}

fn replaced(word: &str, chars_max: usize) -> String {
    word.chars().take(chars_max).map(|c| if is_safe(c) { c } else { '_' }).collect()
}

fn is_safe(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_ids_are_what_providers_take() {
        let long = "x".repeat(200);
        let odd = [
            "",
            " ",
            "read file",
            "fs.read",
            "a/b",
            "läsen",
            "読む",
            "🎉",
            "a\nb",
            "a\"b",
            &long,
            "functions.shell:0",
        ];
        let is_fine = |word: &str| (1..=64).contains(&word.len()) && word.chars().all(is_safe);
        for word in odd {
            assert!(is_fine(&name(word)), "{word:?}");
            assert!(is_fine(&id(word)), "{word:?}");
            assert_eq!(id(word), id(word));
        }
        assert_eq!((name("read_file"), id("call_1")), ("read_file".into(), "call_1".into()));
        assert_eq!(name("fs.read file"), "fs_read_file");
        let ids: std::collections::BTreeSet<String> = ["a.b", "a:b", "a b", "", &long, &format!("{long}y")]
            .iter()
            .map(|word| id(word).into_owned())
            .collect();
        assert_eq!(ids.len(), 6);
    }
}
