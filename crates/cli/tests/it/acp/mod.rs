//! `posse acp` as an editor uses it: a real process on pipes, and every line that it writes checked against the published schema.

mod asking;
mod bad;
mod children;
pub(crate) mod editor;
mod official;
mod recorded;
mod talking;
