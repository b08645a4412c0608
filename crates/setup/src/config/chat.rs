//! `[chat]`: how the chat looks, and which of the person's programs it runs. Only the person's own file has a say in it: a status
//! line is a program, and a repository names none, trusted or not.

use serde::{Deserialize, Serialize};

/// `[chat]` as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ChatFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) theme: Option<ChatTheme>,
    /// A command for the shell; an empty one is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status_line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) notify: Option<ChatNotify>,
    /// A program and its arguments, with blanks between.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) editor: Option<String>,
}

/// The colours of the chat.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatTheme {
    /// By the background of the terminal.
    #[default]
    Auto,
    /// For a dark background.
    Dark,
    /// For a light background.
    Light,
    /// The terminal's own sixteen colours.
    Ansi,
    /// No colours.
    None,
}

/// How the chat tells a person who looks elsewhere that it needs them or is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatNotify {
    /// As well as the terminal can.
    #[default]
    Auto,
    /// With the bell alone.
    Bell,
    /// Not at all.
    Off,
}
