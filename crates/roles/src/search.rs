//! Roles found by words, for a model that knows what it needs and not what that is called.

use posse_protocol::Role;

use crate::limits::{ABOUT_CHARS_MAX, ROLES_FITTING_MAX};

/// How much more a word says in a name than in a description.
const IN_NAME: usize = 3;

/// The roles whose names and descriptions have these words, best first: name and what it is for.
pub(crate) fn fitting<'a>(wanted: &str, roles: impl Iterator<Item = &'a Role>) -> Vec<(String, String)> {
    let wanted = wanted.to_lowercase();
    let words: Vec<&str> = wanted
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.chars().count() > 1)
        .map(|word| word.strip_suffix('s').filter(|one| one.len() > 3).unwrap_or(word))
        .collect();
    let mut found: Vec<(usize, &Role)> =
        roles.map(|role| (score(role, &words), role)).filter(|(score, _)| *score > 0).collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    let told = |(_, role): (usize, &Role)| {
        let about = role.description.split_whitespace().collect::<Vec<_>>().join(" ");
        (role.name.clone(), about.chars().take(ABOUT_CHARS_MAX).collect())
    };
    found.into_iter().take(ROLES_FITTING_MAX).map(told).collect()
}

/// How well a role fits: each word counts once, whole words double.
fn score(role: &Role, words: &[&str]) -> usize {
    let name = format!("{} {}", role.name, role.aliases.join(" ")).to_lowercase();
    let about = role.description.to_lowercase();
    let whole = |text: &str, word: &str| text.split(|c: char| !c.is_alphanumeric()).any(|one| one == word);
    let counts = |text: &str, word: &str| usize::from(text.contains(word)) + usize::from(whole(text, word));
    words.iter().map(|word| counts(&name, word) * IN_NAME + counts(&about, word)).sum()
}
