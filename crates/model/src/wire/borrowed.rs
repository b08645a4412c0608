//! Pieces of a stream's JSON that are read without copying them: a stream has thousands of them, and each is looked at once.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// A string.
#[derive(Default)]
pub(super) struct Text<'a>(pub(super) Cow<'a, str>);

impl Text<'_> {
    /// The string, unless it says nothing.
    pub(super) fn said(&self) -> Option<&str> {
        Some(&*self.0).filter(|text| !text.is_empty())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads<'a>(PhantomData<&'a str>);
        impl<'de: 'a, 'a> Visitor<'de> for Reads<'a> {
            type Value = Text<'a>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Text<'a>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Reads(PhantomData))
    }
}

/// What servers send as content: a string, or a list of parts with texts. Anything else says nothing.
#[derive(Default)]
pub(super) struct Content<'a>(pub(super) Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ReadsContent(PhantomData))
    }
}

struct ReadsContent<'a>(PhantomData<&'a str>);

impl<'de: 'a, 'a> Visitor<'de> for ReadsContent<'a> {
    type Value = Content<'a>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("content")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Content<'a>, E> {
        Ok(Content(Cow::Borrowed(text)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Content<'a>, E> {
        Ok(Content(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Content<'a>, A::Error> {
        let mut text = String::new();
        while let Some(part) = parts.next_element::<Value>()? {
            text.push_str(part["text"].as_str().unwrap_or_default());
        }
        Ok(Content(Cow::Owned(text)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Content<'a>, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Content::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Content<'a>, E> {
        Ok(Content::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Content<'a>, E> {
        Ok(Content::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Content<'a>, E> {
        Ok(Content::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Content<'a>, E> {
        Ok(Content::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Content<'a>, E> {
        Ok(Content::default())
    }
}

/// A list that nearly always has one element, which then takes no memory of its own.
pub(super) struct Few<T> {
    first: Option<T>,
    more: Vec<T>,
}

impl<T> Default for Few<T> {
    fn default() -> Self {
        Self { first: None, more: Vec::new() }
    }
}

impl<T> IntoIterator for Few<T> {
    type Item = T;
    type IntoIter = std::iter::Chain<std::option::IntoIter<T>, std::vec::IntoIter<T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.first.into_iter().chain(self.more)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Few<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reads<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reads<T> {
            type Value = Few<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Few<T>, A::Error> {
                let mut few = Few { first: list.next_element()?, more: Vec::new() };
                while let Some(more) = list.next_element()? {
                    few.more.push(more);
                }
                Ok(few)
            }
        }
        from.deserialize_seq(Reads(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_text_or_parts_and_anything_else_says_nothing() {
        let cases = [
            (r#""plain""#, "plain"),
            (r#""an \"escape\" \u00e9""#, "an \"escape\" é"),
            (r#"[{"type":"text","text":"a"},{"type":"image"},{"text":"b"},7]"#, "ab"),
            (r#"{"text":"a"}"#, ""),
            ("null", ""),
            ("true", ""),
            ("-7", ""),
            ("7", ""),
            ("7.5", ""),
        ];
        assert_eq!(cases.len(), 9);
        for (json, want) in cases {
            assert_eq!(serde_json::from_str::<Content<'_>>(json).unwrap().0, want, "{json}");
        }
        assert!(serde_json::from_str::<Text<'_>>("7").is_err());
        let few = |json| serde_json::from_str::<Few<u8>>(json).unwrap().into_iter().collect::<Vec<_>>();
        assert_eq!([few("[]"), few("[1]"), few("[1,2,3]")], [vec![], vec![1], vec![1, 2, 3]]);
    }
}
