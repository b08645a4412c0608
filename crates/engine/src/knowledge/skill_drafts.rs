//! Skills that were saved while nobody was there to look at them. They wait in the data directory, where no agent sees
//! them, and are no skills until the person accepts them. What they say is a stranger's.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use posse_protocol::{NoteScope, SessionId};
use posse_tools::{NewSkill, SavedSkill, valid_skill_key};
use posse_workspace::{Expect, Workspace};
use serde::{Deserialize, Serialize};

use crate::knowledge::skill_files::{FoundSkill, SkillHomes};
use crate::limits::{SKILL_DRAFT_BYTES_MAX, SKILL_DRAFTS_MAX};

/// Where in the data directory they are.
const FOLDER: &str = "skill-drafts";

/// A skill that waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillDraft {
    /// What it will be loaded by.
    pub key: String,
    /// When to use it.
    pub description: String,
    /// How the work is done.
    pub body: String,
    /// Who will find it.
    pub scope: NoteScope,
    /// The project in which it was written.
    pub project: String,
    /// The folder of the session in which it was written.
    pub workspace: PathBuf,
    /// That session.
    pub session: SessionId,
    /// When: milliseconds since 1970, UTC.
    pub at_ms: u64,
}

impl SkillDraft {
    fn file(&self) -> String {
        format!("{}-{}-{}.json", self.session, self.scope.word(), self.key)
    }
}

/// All drafts of a data directory.
#[derive(Clone, Debug)]
pub struct SkillDrafts {
    folder: PathBuf,
}

impl SkillDrafts {
    /// Those of this data directory. The folder need not be there.
    pub fn of(data_dir: &Path) -> Self {
        Self { folder: data_dir.join(FOLDER) }
    }

    /// All that can be read, the oldest first.
    pub fn list(&self) -> Vec<SkillDraft> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = entries.flatten().take(SKILL_DRAFTS_MAX * 2).map(|entry| entry.path());
        let mut drafts = paths.filter_map(|path| read(&path)).collect::<Vec<_>>();
        drafts.sort_by(|a, b| (a.at_ms, &a.key).cmp(&(b.at_ms, &b.key)));
        drafts
    }

    /// Keeps one. The same skill of the same session takes the place of the one before.
    pub(crate) fn put(&self, draft: &SkillDraft) -> Result<(), String> {
        valid_skill_key(&draft.key)?;
        let failed = |error: String| format!("The draft cannot be kept: {error}");
        let waiting = self.list();
        let again = waiting.iter().any(|known| known.file() == draft.file());
        if waiting.len() >= SKILL_DRAFTS_MAX && !again {
            return Err(format!(
                "{SKILL_DRAFTS_MAX} drafts wait already, which is all there can be. Nothing was kept; say in your report \
                 that `posse skills review` makes room."
            ));
        }
        std::fs::create_dir_all(&self.folder).map_err(|error| failed(error.to_string()))?;
        let files = Workspace::open(&self.folder).map_err(|error| failed(error.to_string()))?;
        let path = files.resolve(&draft.file()).map_err(|error| failed(error.to_string()))?;
        let text = serde_json::to_string(draft).map_err(|error| failed(error.to_string()))?;
        let expect = match files.look(&path).map_err(|error| failed(error.to_string()))? {
            Some((_, stamp)) => Expect::Unchanged(stamp),
            None => Expect::Absent,
        };
        files
            .write_atomic(&path, text.as_bytes(), expect)
            .map(drop)
            .map_err(|error| failed(error.to_string()))
    }

    /// Makes a skill of one; it waits no longer. `known` is the skill that its key stands for so far, and `own` the
    /// person's folder.
    pub fn accept(
        &self,
        draft: &SkillDraft,
        own: PathBuf,
        known: Option<&FoundSkill>,
    ) -> Result<SavedSkill, String> {
        let SkillDraft { key, description, body, scope, workspace, .. } = draft.clone();
        let homes = SkillHomes { workspace, own: Some(own) };
        let saved = homes.save(&NewSkill { key, description, body, scope }, known)?;
        self.remove(draft).map_err(|error| format!("The draft cannot be removed: {error}"))?;
        Ok(saved)
    }

    /// Throws one away.
    pub fn remove(&self, draft: &SkillDraft) -> std::io::Result<()> {
        std::fs::remove_file(self.folder.join(draft.file()))
    }
}

/// One that is what it says: its name is made of what is in it.
fn read(path: &Path) -> Option<SkillDraft> {
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(SKILL_DRAFT_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let draft: SkillDraft = serde_json::from_slice(&bytes).ok()?;
    let named = path.file_name().is_some_and(|name| name.to_string_lossy() == draft.file());
    (valid_skill_key(&draft.key).is_ok() && named).then_some(draft)
}
