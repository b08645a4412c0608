//! What outlives a session: notes and skills, and what one agent has of them.
//!
//! Who keeps them is behind a trait. This must not know the database or where skills are: it says what the tools ask.

use std::{fmt, sync::Arc};

use posse_protocol::{Note, NoteScope};

use crate::limits::KEY_CHARS_MAX;

use crate::OutsideTools;

/// Notes and skills. Its calls may wait for files and the database. Every error is a text for the model that asked: what
/// is wrong and what to do.
pub trait Library: Send + Sync + fmt::Debug {
    /// Notes of this project and of the person that fit a query, best first; the newest ones for an empty query.
    fn recall(&self, query: &str, limit: usize) -> Result<Vec<Note>, String>;

    /// Whether there is room for one more note.
    fn room(&self, scope: NoteScope) -> Result<(), String>;

    /// The skills that are told of, in order.
    fn skills(&self) -> Vec<SkillLine>;

    /// A skill as it is now; `None` if there is no such skill.
    fn skill(&self, key: &str) -> Result<Option<LoadedSkill>, String>;

    /// The text of a file that belongs to a skill.
    fn skill_file(&self, key: &str, file: &str) -> Result<String, String>;

    /// Words of somebody else as a model is told them: whose they are and what, and nothing in them ends the quote.
    fn quote(&self, kind: &str, from: &str, words: &str) -> String;

    /// Writes a skill, whole or not at all.
    fn save_skill(&self, skill: &NewSkill) -> Result<SavedSkill, String>;

    /// Keeps a skill as a draft: it is none until the person has looked at it.
    fn draft_skill(&self, skill: &NewSkill) -> Result<(), String>;

    /// Whether a draft of this key waits for the person.
    fn has_draft(&self, key: &str) -> bool;
}

/// A skill as it is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLine {
    /// What it is loaded by.
    pub key: String,
    /// What it calls itself.
    pub name: String,
    /// When to use it.
    pub description: String,
}

/// A skill with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedSkill {
    /// What it is loaded by.
    pub key: String,
    /// How the work is done.
    pub body: String,
    /// Where its files are: relative to the workspace, or absolute where that is elsewhere. Commands see them.
    pub folder: Option<String>,
    /// Files that belong to it.
    pub files: Vec<SkillFile>,
    /// How many more there are.
    pub files_left_out: usize,
}

/// A file that belongs to a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFile {
    /// Relative to the skill's folder.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// A skill that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSkill {
    /// What it is loaded by; see [`valid_skill_key`].
    pub key: String,
    /// When to use it.
    pub description: String,
    /// How the work is done.
    pub body: String,
    /// Who finds it.
    pub scope: NoteScope,
}

/// A skill that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedSkill {
    /// Its file: relative to the workspace for a skill of the project, else absolute.
    pub path: String,
    /// The file as it was; none if it was not there.
    pub before: Option<String>,
    /// The file as it is now.
    pub after: String,
}

/// What one agent has of what outlives a session. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Knowledge {
    /// Who keeps it.
    pub library: Option<Arc<dyn Library>>,
    /// Whether the agent reads and makes notes.
    pub memory: bool,
    /// Whether it is a sub-agent: its notes say so.
    pub sub_agent: bool,
    /// Whether the person trusts the repository. Where they do not, what it could make an agent note for all projects asks.
    pub trusted: bool,
    /// Whether it looks after skills, and so may write them.
    pub writes_skills: bool,
    /// Tools from outside that it can use.
    pub outside: Option<Arc<dyn OutsideTools>>,
}

impl Knowledge {
    /// Whoever keeps notes, for an agent that has a memory.
    pub(crate) fn memory(&self) -> Option<&Arc<dyn Library>> {
        self.library.as_ref().filter(|_| self.memory)
    }
}

/// Whether a skill can have this key, by the rules that all programs with skills share. It is the name of a folder, so
/// this is also what keeps it from leading anywhere else.
pub fn valid_skill_key(key: &str) -> Result<(), String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = (1..=KEY_CHARS_MAX).contains(&key.len())
        && key.chars().all(plain)
        && !key.starts_with('-')
        && !key.ends_with('-')
        && !key.contains("--");
    if good {
        return Ok(());
    }
    Err(format!(
        "key has 1 to {KEY_CHARS_MAX} characters: a-z, 0-9 and single hyphens between them, such as release-notes"
    ))
}
