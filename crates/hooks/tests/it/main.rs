//! What the crate promises, by topic.

mod answers;
mod inputs;
mod matching;
mod reading;
mod within;
