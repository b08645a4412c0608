//! The program that the person writes long texts with: as `[chat] editor`, `VISUAL` or `EDITOR` says, or `vi`. It is looked for
//! outside the folders that agents write.

use std::path::Path;

use posse_protocol::visible::one_line;
use posse_sandbox::Program;

use crate::config::Config;
use crate::limits::FAULT_COLUMNS_MAX;
use crate::paths::Paths;
use crate::person_tool::person_tool;

/// What is used where the person says nothing.
const USUAL: &str = "vi";

/// A program to write with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternalEditor {
    /// Where it is.
    pub program: Program,
    /// What it is started with, before the file.
    pub arguments: Vec<String>,
}

/// The editor that the person named cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{named} names {said:?}, which is not found, or lies in a folder that agents may write; set editor in [chat], VISUAL or EDITOR"
)]
pub struct NoEditor {
    /// What names it.
    pub named: &'static str,
    /// What it says.
    pub said: String,
}

impl ExternalEditor {
    /// The person's, for texts about this folder. The first that is named counts.
    pub fn of(paths: &Paths, config: &Config, folder: &Path) -> Result<Self, NoEditor> {
        let variable = |name: &'static str| (name, paths.surroundings().text(name));
        let places = [
            ("[chat] editor", config.chat.editor.as_deref()),
            variable("VISUAL"),
            variable("EDITOR"),
            ("the default", Some(USUAL)),
        ];
        let said = places.into_iter().find_map(|(named, said)| {
            // A line for a shell is not read as one.
            let mut words = said?.split_whitespace().map(str::to_owned);
            Some((named, words.next()?, words.collect::<Vec<_>>()))
        });
        let (named, name, arguments) = said.unwrap_or(("the default", USUAL.to_owned(), Vec::new()));
        match person_tool(paths, folder, &name) {
            Some(program) => Ok(Self { program, arguments }),
            None => Err(NoEditor { named, said: one_line(&name, FAULT_COLUMNS_MAX) }),
        }
    }
}
