//! What the chat is set to: `[chat]` of the person's own configuration, and their status line of another program where they have
//! none of their own. Must not know the terminal.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;

use crate::config::{ChatNotify, ChatTheme, Config};
use crate::limits::{CONFIG_BYTES_MAX, STATUS_LINE_BYTES_MAX};
use crate::paths::Paths;
use crate::surroundings::ShownPath;
use crate::warning::SetupWarning;

/// The settings of another program that may have a status line, in the home folder.
const CLAUDE_SETTINGS: &str = ".claude/settings.json";

/// What the chat is set to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChatSettings {
    /// The colours.
    pub theme: ChatTheme,
    /// How a person who looks elsewhere is told.
    pub notify: ChatNotify,
    /// The command that writes the status line, if the person has one.
    pub status_line: Option<StatusLine>,
    /// What the person should know.
    pub warnings: Vec<SetupWarning>,
}

/// A command that writes the status line. It is the person's own and runs with their rights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLine {
    /// A line for the shell.
    pub command: String,
    /// The file that names it.
    pub file: ShownPath,
}

impl ChatSettings {
    /// Those of the person.
    pub fn of(paths: &Paths, config: &Config) -> Self {
        let (theme, notify) = (config.chat.theme.unwrap_or_default(), config.chat.notify.unwrap_or_default());
        let claude = paths.surroundings().home().map(|home| home.join(CLAUDE_SETTINGS));
        let (found, file) = match (&config.chat.status_line, claude) {
            (Some(command), _) => (Ok(Some(command.clone())), paths.shown(&paths.config)),
            (None, Some(file)) => (of_claude(&file), paths.shown(&file)),
            (None, None) => (Ok(None), ShownPath::default()),
        };
        let found = found.and_then(|command| match command {
            Some(command) if command.len() > STATUS_LINE_BYTES_MAX => Err("it is too long".to_owned()),
            // An empty one says that there is to be none.
            command => Ok(command.filter(|command| !command.trim().is_empty())),
        });
        let (status_line, warnings) = match found {
            Ok(command) => (command.map(|command| StatusLine { command, file }), Vec::new()),
            Err(fault) => (None, vec![SetupWarning::StatusLine { path: file, fault }]),
        };
        Self { theme, notify, status_line, warnings }
    }
}

/// The parts of that file that count here.
#[derive(Deserialize)]
struct ClaudeSettings {
    #[serde(rename = "statusLine")]
    status_line: Option<ClaudeStatusLine>,
}

#[derive(Deserialize)]
struct ClaudeStatusLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    command: String,
}

fn of_claude(file: &Path) -> Result<Option<String>, String> {
    let mut text = Vec::new();
    match std::fs::File::open(file) {
        Ok(open) => open.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut text).map_err(|e| e.to_string())?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err("it is too long".to_owned());
    }
    let settings: ClaudeSettings = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    match settings.status_line {
        Some(line) if line.kind == "command" => Ok(Some(line.command)),
        Some(line) => Err(format!("its statusLine has the type {:?}; only \"command\" is known", line.kind)),
        None => Ok(None),
    }
}
