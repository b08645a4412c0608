//! Reading a call's arguments. Models send `"10"` for 10, `maxTurns` for `max_turns`, a comma list for an array, JSON
//! within a string, "" for what they leave out. Where the meaning is beyond doubt it is taken; the rest is refused.

use std::cell::RefCell;

use serde_json::{Map, Value};

use crate::{
    limits,
    words::{closest, short, snake},
    wrong::{Wrong, kind},
};

/// Objects that some models put around the arguments.
const WRAPPERS: &[&str] = &["arguments", "parameters", "params", "args", "input"];

/// All names of one field, the proper one first.
pub(crate) type FieldNames = &'static [&'static str];

/// The arguments of one call, by field. A field is asked for by all its names, the proper one first.
pub(crate) struct Fields {
    written: Map<String, Value>,
    /// What was asked for so far: what a call says beyond that, nobody understands.
    asked: RefCell<Vec<FieldNames>>,
}

impl Fields {
    /// Reads what the model wrote. Nothing at all is an empty object.
    pub(crate) fn read(written: &str) -> Result<Self, Wrong> {
        if written.len() > limits::ARGUMENTS_BYTES_MAX {
            return Err(Wrong::ArgumentsTooLong);
        } else if written.trim().is_empty() {
            return Ok(Self::of(Map::new()));
        }
        let parsed = serde_json::from_str(written).map_err(|error| Wrong::NotJson(error.to_string()))?;
        let object = object(parsed).map_err(|other| Wrong::NotObject(kind(&other)))?;
        let mut fields = Self::of(object);
        for wrapper in WRAPPERS {
            if fields.written.len() == 1
                && let Some(inner) = fields.written.get(*wrapper)
                && let Ok(inner) = object_of(inner)
            {
                fields = Self::of(inner);
            }
        }
        Ok(fields)
    }

    /// Takes fields that were read elsewhere.
    pub(crate) fn of(object: Map<String, Value>) -> Self {
        let mut fields = Map::new();
        for (key, value) in object {
            let proper = snake(&key);
            // What is spelled properly wins over what only looks like it.
            if key == proper || !fields.contains_key(&proper) {
                fields.insert(proper, value);
            }
        }
        Self { written: fields, asked: RefCell::default() }
    }

    /// Lifts the fields of an object within into this one, as if they had been given directly.
    pub(crate) fn flatten(&mut self, name: &str) {
        if let Some(inner) = self.written.get(name).and_then(|inner| object_of(inner).ok()) {
            self.written.shift_remove(name);
            for (key, value) in inner {
                self.written.entry(snake(&key)).or_insert(value);
            }
        }
    }

    /// The first of these that says something.
    pub(crate) fn find(&self, names: FieldNames) -> Option<(&'static str, &Value)> {
        self.asked.borrow_mut().push(names);
        names.iter().find_map(|name| {
            let value = self.written.get(*name)?;
            says(value).then_some((*name, value))
        })
    }

    /// Refuses what nobody asked for and the tool does not offer: to leave it out would not be what was meant.
    pub(crate) fn nothing_else(&self, offered: &[String]) -> Result<(), Wrong> {
        let asked = self.asked.borrow();
        let known = |key: &str| {
            offered.iter().any(|name| name == key) || asked.iter().any(|names| names.contains(&key))
        };
        let mut unknown = self.written.iter().filter(|(key, value)| says(value) && !known(key));
        let Some((key, _)) = unknown.next() else { return Ok(()) };
        // The proper name of each field, once; what the tool offers goes by the name it has there.
        let mut also: Vec<&str> = Vec::new();
        for names in asked.iter().filter(|names| !names.iter().any(|name| offered.iter().any(|o| o == name)))
        {
            also.extend(names.first().filter(|name| !also.contains(name)));
        }
        let names = offered.iter().map(String::as_str).chain(also.iter().copied());
        let meant = closest(key, names).map(str::to_owned);
        Err(Wrong::Unknown { field: short(key, limits::SHOWN_CHARS_MAX), meant, also: also.join(", ") })
    }

    /// Whether one of these says something.
    pub(crate) fn has(&self, names: FieldNames) -> bool {
        self.find(names).is_some()
    }

    /// Text exactly as it was written.
    pub(crate) fn text(&self, names: FieldNames) -> Result<Option<String>, Wrong> {
        let Some((name, value)) = self.find(names) else { return Ok(None) };
        match value {
            Value::String(text) => Ok(Some(text.clone())),
            Value::Number(number) => Ok(Some(number.to_string())),
            other => Err(Wrong::of_type(name, "a string", other)),
        }
    }

    /// Text of at most so many bytes.
    pub(crate) fn capped(
        &self,
        names: FieldNames,
        max: usize,
        advice: &'static str,
    ) -> Result<Option<String>, Wrong> {
        let text = self.text(names)?;
        match text {
            Some(text) if text.len() > max => {
                Err(Wrong::TooLong { field: first(names), max, unit: "bytes", advice })
            }
            text => Ok(text),
        }
    }

    /// A name: one trimmed line of at most so many characters.
    pub(crate) fn word(&self, names: FieldNames, max: usize) -> Result<Option<String>, Wrong> {
        let Some(text) = self.text(names)? else { return Ok(None) };
        let text = text.trim();
        if text.chars().count() > max {
            let advice = "Use a shorter one.";
            return Err(Wrong::TooLong { field: first(names), max, unit: "characters", advice });
        }
        Ok(Some(text.to_owned()))
    }

    /// `true`, `"yes"`, 1.
    pub(crate) fn flag(&self, names: FieldNames) -> Result<Option<bool>, Wrong> {
        let Some((name, value)) = self.find(names) else { return Ok(None) };
        let found = match value {
            Value::Bool(flag) => Some(*flag),
            Value::Number(number) => match number.as_u64() {
                Some(0) => Some(false),
                Some(1) => Some(true),
                _ => None,
            },
            Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "on" | "1" => Some(true),
                "false" | "no" | "off" | "0" => Some(false),
                _ => None,
            },
            _ => None,
        };
        found.map(Some).ok_or_else(|| Wrong::of_type(name, "true or false", value))
    }

    /// A whole number from 0.
    pub(crate) fn number(&self, names: FieldNames) -> Result<Option<u64>, Wrong> {
        let Some((name, value)) = self.find(names) else { return Ok(None) };
        whole(value).map(Some).ok_or_else(|| Wrong::of_type(name, "a whole number from 0", value))
    }

    /// A whole number from 1; 0 is "as usual".
    pub(crate) fn positive(&self, names: FieldNames) -> Result<Option<u64>, Wrong> {
        Ok(self.number(names)?.filter(|number| *number > 0))
    }

    /// A number above 0 that need not be whole; 0 is "as usual".
    pub(crate) fn decimal(&self, names: FieldNames) -> Result<Option<f64>, Wrong> {
        let Some((name, value)) = self.find(names) else { return Ok(None) };
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().trim_start_matches('$').parse().ok(),
            _ => None,
        };
        match number.filter(|number: &f64| number.is_finite() && *number >= 0.0) {
            Some(number) => Ok(Some(number).filter(|number| *number > 0.0)),
            None => Err(Wrong::of_type(name, "a number from 0", value)),
        }
    }

    /// Texts: an array, JSON of one within a string, or a list with commas or lines.
    pub(crate) fn list(&self, names: FieldNames, max: usize) -> Result<Vec<String>, Wrong> {
        const WANTS: &str = "an array of strings";
        let Some((name, value)) = self.find(names) else { return Ok(Vec::new()) };
        let wrong = |value: &Value| Wrong::of_type(name, WANTS, value);
        let decoded = match value {
            Value::String(text) => serde_json::from_str(text).ok().filter(Value::is_array),
            _ => None,
        };
        let list = match decoded.as_ref().unwrap_or(value) {
            Value::Array(items) => items
                .iter()
                .map(|item| match item {
                    Value::String(text) => Ok(text.trim().to_owned()),
                    Value::Number(number) => Ok(number.to_string()),
                    other => Err(wrong(other)),
                })
                .collect::<Result<Vec<String>, Wrong>>()?,
            Value::String(text) => text.split([',', '\n']).map(|item| item.trim().to_owned()).collect(),
            Value::Number(number) => vec![number.to_string()],
            other => return Err(wrong(other)),
        };
        let list: Vec<String> = list.into_iter().filter(|item| !item.is_empty()).collect();
        if list.len() > max {
            return Err(Wrong::TooMany { field: first(names), max });
        } else if list.iter().any(|item| item.len() > limits::PATH_BYTES_MAX) {
            let advice = "Shorten the longest entry.";
            return Err(Wrong::TooLong {
                field: first(names),
                max: limits::PATH_BYTES_MAX,
                unit: "bytes",
                advice,
            });
        }
        Ok(list)
    }

    /// Whole numbers, in any form that a list may have.
    pub(crate) fn numbers(&self, names: FieldNames, max: usize) -> Result<Vec<u32>, Wrong> {
        let list = self.list(names, max)?;
        let number = |item: String| {
            let item = Value::String(item);
            let number = whole(&item).and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| Wrong::of_type(first(names), "an array of whole numbers", &item))
        };
        list.into_iter().map(number).collect()
    }

    /// One of some words. `also` are other spellings, which errors do not advertise.
    pub(crate) fn choice<T: Copy>(
        &self,
        names: FieldNames,
        accepted: &[(&str, T)],
        also: &[(&str, T)],
    ) -> Result<Option<T>, Wrong> {
        let Some((name, value)) = self.find(names) else { return Ok(None) };
        let Value::String(text) = value else { return Err(Wrong::of_type(name, "a string", value)) };
        let written = snake(text);
        let found = accepted.iter().chain(also).find(|(word, _)| *word == written);
        found.map(|(_, meaning)| Some(*meaning)).ok_or_else(|| Wrong::Choice {
            field: name.to_owned(),
            got: short(text, limits::SHOWN_CHARS_MAX),
            accepted: accepted.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", "),
        })
    }

    /// The error for a field that must be there.
    pub(crate) fn missing(&self, names: FieldNames) -> Wrong {
        let keys =
            self.written.keys().take(limits::KEYS_COMPARED_MAX).filter(|key| !names.contains(&key.as_str()));
        let mut near = keys.filter(|key| closest(key, names.iter().copied()).is_some());
        let meant = near.next().map(|key| short(key, limits::SHOWN_CHARS_MAX));
        Wrong::Missing { field: first(names), meant }
    }
}

fn first(names: FieldNames) -> &'static str {
    names.first().copied().unwrap_or_default()
}

/// Whether a value says something: null, "" and [] are what models send for "left out".
fn says(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn object(value: Value) -> Result<Map<String, Value>, Value> {
    match value {
        Value::Object(object) => Ok(object),
        other => object_of(&other),
    }
}

/// An object, or a string that holds the JSON of one.
fn object_of(value: &Value) -> Result<Map<String, Value>, Value> {
    let inner = match value {
        Value::Object(object) => return Ok(object.clone()),
        Value::String(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    match inner {
        Some(Value::Object(object)) => Ok(object),
        _ => Err(value.clone()),
    }
}

fn whole(value: &Value) -> Option<u64> {
    const EXACT_MAX: f64 = 9e15;
    let of_float =
        |float: f64| (float.fract() == 0.0 && (0.0..EXACT_MAX).contains(&float)).then_some(float as u64);
    match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(of_float)),
        Value::String(text) => {
            let digits: String = text.trim().chars().filter(|c| !matches!(c, '_' | ',')).collect();
            digits.parse().ok().or_else(|| digits.parse().ok().and_then(of_float))
        }
        _ => None,
    }
}
