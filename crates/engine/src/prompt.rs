//! The system prompt, put together from parts that each have a cap.

use std::fmt;

use crate::project::ProjectContext;

const MAIN: &str = include_str!("../prompts/main.md").trim_ascii_end();

/// The main agent's system prompt.
pub(crate) struct MainPrompt<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) project: Option<&'a ProjectContext>,
}

impl fmt::Display for MainPrompt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MAIN}\n\nWorkspace: {} ({})", self.workspace, std::env::consts::OS)?;
        if let Some(project) = self.project {
            write!(f, "\n\nThe project's own notes, from {}:\n{}", project.name, project.text)?;
        }
        Ok(())
    }
}
