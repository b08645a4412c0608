//! `--flag value`, `--flag=value`, `-f`: from words to fields.

use serde_json::{Map, Value};

use crate::words::short;
use crate::{limits, words::snake, wrong::Wrong};

/// What a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// A text.
    Text,
    /// A whole number.
    Number,
    /// Nothing.
    Nothing,
    /// One text or several with commas, each time it is given.
    Each,
    /// One text each time it is given, commas included.
    EachWhole,
}

/// One flag of a command.
pub(crate) struct Flag {
    /// As it is written without dashes, with `_` for `-`; the first is the proper one. One letter is a short flag.
    pub(crate) names: &'static [&'static str],
    /// The field it fills; "" where it changes nothing here.
    pub(crate) field: &'static str,
    /// What it takes.
    pub(crate) takes: Takes,
}

/// The words after a command's name, sorted.
#[derive(Default)]
pub(crate) struct SortedWords {
    /// What flags said.
    pub(crate) fields: Map<String, Value>,
    /// What stood without a flag.
    pub(crate) rest: Vec<String>,
    /// Whether help is wanted.
    pub(crate) help: bool,
}

/// Sorts words. `usage` is for errors.
pub(crate) fn sort(words: &[String], flags: &[Flag], usage: &str) -> Result<SortedWords, Wrong> {
    let mut sorted = SortedWords::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            sorted.rest.extend(words.by_ref().cloned());
        } else if word == "--help" || word == "-h" {
            sorted.help = true;
        } else if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v.to_owned())));
            let name = snake(name);
            let flag = flags.iter().find(|flag| name.len() > 1 && flag.names.contains(&name.as_str()));
            let flag = flag.ok_or_else(|| unknown(word, usage))?;
            let value =
                if flag.takes == Takes::Nothing { value } else { value.or_else(|| words.next().cloned()) };
            sorted.set(flag, value, word, usage)?;
        } else if let Some(letters) =
            word.strip_prefix('-').filter(|letters| letters.starts_with(char::is_alphanumeric))
        {
            sorted.letters(letters, flags, &mut words, word, usage)?;
        } else {
            sorted.rest.push(word.clone());
        }
    }
    Ok(sorted)
}

impl SortedWords {
    /// `-rn`, `-C3`, `-C 3`.
    fn letters<'a>(
        &mut self,
        letters: &str,
        flags: &[Flag],
        words: &mut impl Iterator<Item = &'a String>,
        word: &str,
        usage: &str,
    ) -> Result<(), Wrong> {
        for (at, letter) in letters.char_indices() {
            let mut name = [0; 4];
            let name: &str = letter.encode_utf8(&mut name);
            let flag = flags.iter().find(|flag| flag.names.contains(&name));
            let flag = flag.ok_or_else(|| unknown(word, usage))?;
            if flag.takes != Takes::Nothing {
                let glued = &letters[at + letter.len_utf8()..];
                let value = if glued.is_empty() { words.next().cloned() } else { Some(glued.to_owned()) };
                return self.set(flag, value, word, usage);
            }
            self.set(flag, None, word, usage)?;
        }
        Ok(())
    }

    fn set(&mut self, flag: &Flag, value: Option<String>, word: &str, usage: &str) -> Result<(), Wrong> {
        let wrong = |wants| Wrong::FlagValue {
            flag: short(word, limits::SHOWN_CHARS_MAX),
            wants,
            usage: usage.to_owned(),
        };
        if flag.field.is_empty() {
            return Ok(());
        }
        let value = match (flag.takes, value) {
            (Takes::Nothing, None) => Value::Bool(true),
            (Takes::Nothing, Some(text)) => {
                Value::Bool(text.parse().map_err(|_| wrong("no value, or true or false"))?)
            }
            (_, None) => return Err(wrong("a value")),
            (Takes::Number, Some(text)) => {
                let number: u64 = text.trim().parse().map_err(|_| wrong("a whole number"))?;
                number.into()
            }
            (Takes::Text, Some(text)) => text.into(),
            (Takes::Each | Takes::EachWhole, Some(text)) => {
                let list = self.fields.entry(flag.field).or_insert_with(|| Value::Array(Vec::new()));
                if let Value::Array(list) = list {
                    match flag.takes {
                        Takes::EachWhole => list.push(text.into()),
                        _ => list.extend(text.split(',').map(Value::from)),
                    }
                }
                return Ok(());
            }
        };
        self.fields.insert(flag.field.to_owned(), value);
        Ok(())
    }
}

fn unknown(word: &str, usage: &str) -> Wrong {
    let flag = word.split('=').next().unwrap_or(word);
    Wrong::NoFlag { flag: short(flag, limits::SHOWN_CHARS_MAX), usage: usage.to_owned() }
}
