//! Skills on disk: finds folders with a SKILL.md, reads what is asked for within bounds, and writes one.
//!
//! A project's skills are a stranger's: nothing outside the project is read for them, whatever links say. A skill's files
//! are those in its own folder. Must not know the home folder or the configuration: it is told where to look.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use posse_protocol::NoteScope;
use posse_roles::{Skill, parse_skill, skill_text};
use posse_tools::{LoadedSkill, NewSkill, SavedSkill, SkillFile, valid_skill_key};
use posse_workspace::{Expect, Hides, Kind, Permit, Stop, Workspace, WorkspaceError, WorkspacePath, text};

use crate::limits::SKILL_BYTES_MAX;
use crate::limits::{
    SKILL_DEPTH_MAX, SKILL_ENTRIES_MAX, SKILL_FILE_BYTES_MAX, SKILL_FILES_DEPTH_MAX, SKILL_FILES_MAX,
    SKILL_KEY_CHARS_MAX, SKILLS_MAX,
};
use crate::project::project_folders;

/// What the file of a skill is called; some collections write it small.
const NAMES: [&str; 2] = ["SKILL.md", "skill.md"];
/// Where a project keeps skills; earlier ones win.
const PROJECT_FOLDERS: [&str; 2] = [OWN_FOLDER, ".claude/skills"];
/// What a folder of skills is called.
const KEPT_IN: &str = "skills";
/// Where skills of the project are written.
const OWN_FOLDER: &str = ".posse/skills";

/// A folder with skills. It need not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillFolder {
    /// The folder.
    pub path: PathBuf,
    /// What links may not lead out of: the top of the project. None for the person's own, whose links are their own too.
    pub within: Option<PathBuf>,
    /// What in it no agent sees.
    pub hides: Option<Hides>,
}

/// The folders of the project that `folder` is in, the closest first.
pub fn project_skill_folders(folder: &Path) -> Vec<SkillFolder> {
    let Some(top) = project_folders(folder).last() else { return Vec::new() };
    let at = |place: &Path, name: &str| SkillFolder {
        path: place.join(name),
        within: Some(top.to_path_buf()),
        hides: None,
    };
    project_folders(folder).flat_map(|place| PROJECT_FOLDERS.map(|name| at(place, name))).collect()
}

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundSkill {
    /// What it says of itself, without its text.
    pub skill: Skill,
    /// Its folder, then those of skills with the same key that it goes before.
    pub folders: Vec<SkillFolder>,
}

/// Finds all skills of these folders, `KEY/SKILL.md` at any depth. Of those with the same key the first counts.
pub fn find_skills(folders: &[SkillFolder]) -> Vec<FoundSkill> {
    let mut search = Search { found: Vec::new(), entries_left: SKILL_ENTRIES_MAX, seen: BTreeSet::new() };
    for folder in folders {
        search.look_in(folder, SKILL_DEPTH_MAX);
    }
    search.found
}

struct Search {
    found: Vec<FoundSkill>,
    entries_left: usize,
    /// Folders that were looked at, links resolved: these may lead back.
    seen: BTreeSet<PathBuf>,
}

impl Search {
    /// Skills have no skills inside.
    fn look_in(&mut self, folder: &SkillFolder, depth_left: usize) {
        for inside in self.folders_in(folder) {
            let real = inside.open().map(|files| files.root().to_path_buf());
            let is_new = real.is_some_and(|real| self.seen.insert(real));
            if is_new && !self.add(&inside) && depth_left > 1 {
                self.look_in(&inside, depth_left - 1);
            }
        }
    }

    /// The folders in a folder, by name.
    fn folders_in(&mut self, folder: &SkillFolder) -> Vec<SkillFolder> {
        if folder.open().is_none() {
            return Vec::new();
        }
        let Ok(entries) = std::fs::read_dir(&folder.path) else { return Vec::new() };
        let mut paths = Vec::new();
        for entry in entries.flatten().take(self.entries_left) {
            self.entries_left -= 1;
            if can_be_key(&entry.file_name().to_string_lossy()) && entry.path().is_dir() {
                paths.push(entry.path());
            }
        }
        paths.sort();
        let inside = |path| SkillFolder { path, ..folder.clone() };
        paths.into_iter().map(inside).collect()
    }

    /// Adds the skill of a folder; says whether it is one.
    fn add(&mut self, folder: &SkillFolder) -> bool {
        let text = folder.open().and_then(|files| skill_file(&files, SKILL_BYTES_MAX));
        let Some((_, text)) = text else { return false };
        let key = folder.path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(known) = self.found.iter_mut().find(|known| known.skill.key == key) {
            known.folders.push(folder.clone());
        } else if self.found.len() < SKILLS_MAX {
            let skill = Skill { body: String::new(), ..parse_skill(&text, &key) };
            self.found.push(FoundSkill { skill, folders: vec![folder.clone()] });
        }
        true
    }
}

/// Whether a folder's name can stand in a list that a model reads. Public collections are not strict about names.
fn can_be_key(name: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.starts_with('.') && name.chars().count() <= SKILL_KEY_CHARS_MAX && name.chars().all(plain)
}

impl SkillFolder {
    /// Opens it, unless links have led somewhere else.
    fn open(&self) -> Option<Workspace> {
        let files = Workspace::open(&self.path).ok()?.hiding_where(self.hides.clone());
        let Some(top) = &self.within else { return Some(files) };
        files.root().starts_with(top.canonicalize().ok()?).then_some(files)
    }
}

/// A skill's own file: its path, and its text as far as it is read.
fn skill_file(files: &Workspace, bytes_max: u64) -> Option<(WorkspacePath, String)> {
    NAMES.iter().find_map(|name| {
        let path = files.resolve(name).ok()?;
        let mut bytes = Vec::new();
        files.open_file(&path).ok()?.file.take(bytes_max).read_to_end(&mut bytes).ok()?;
        Some((path, String::from_utf8_lossy(&bytes).into_owned()))
    })
}

impl FoundSkill {
    /// The skill as it is now; `None` if it has gone.
    pub fn load(&self, workspace: &Path) -> Option<LoadedSkill> {
        let files = self.folders.first()?.open()?;
        let (_, text) = skill_file(&files, SKILL_FILE_BYTES_MAX)?;
        let key = self.skill.key.clone();
        let body = parse_skill(&text, &key).body;
        let Some((place, mut files)) = self.files() else {
            return Some(LoadedSkill { key, body, folder: None, files: Vec::new(), files_left_out: 0 });
        };
        let root = workspace.canonicalize().ok();
        let inside = root.and_then(|root| place.root().strip_prefix(root).ok().map(Path::to_path_buf));
        let folder = inside.unwrap_or_else(|| place.root().to_path_buf()).display().to_string();
        let files_left_out = files.len().saturating_sub(SKILL_FILES_MAX);
        files.truncate(SKILL_FILES_MAX);
        Some(LoadedSkill { key, body, folder: Some(folder), files, files_left_out })
    }

    /// The files beside the skill's own, and where they are: one that was improved keeps those of the one before.
    fn files(&self) -> Option<(Workspace, Vec<SkillFile>)> {
        self.folders.iter().find_map(|folder| {
            let place = folder.open()?;
            let (root, stop) = (WorkspacePath::root(), Stop::default());
            let found =
                place.list(&root, SKILL_FILES_DEPTH_MAX, SKILL_FILES_MAX * 10, u64::MAX, &stop).ok()?;
            let is_own = |path: &WorkspacePath| NAMES.contains(&path.as_str());
            let file = |path: &WorkspacePath| match place.look(path) {
                Ok(Some((Kind::File, stamp))) => {
                    Some(SkillFile { path: path.to_string(), bytes: stamp.bytes() })
                }
                _ => None,
            };
            let paths = found.entries.iter().map(|entry| &entry.path).filter(|path| !is_own(path));
            let files = paths.filter_map(file).collect::<Vec<_>>();
            (!files.is_empty()).then_some((place, files))
        })
    }

    /// The text of one of its files.
    pub fn file(&self, written: &str) -> Result<String, String> {
        let gone = || format!("The skill {} has no files besides its own text.", self.skill.key);
        let (place, _) = self.files().ok_or_else(gone)?;
        let read = place.resolve(written).and_then(|path| place.read(&path, SKILL_FILE_BYTES_MAX));
        let (bytes, _) = read.map_err(|error| match error {
            WorkspaceError::Outside { path } | WorkspaceError::LinkOutside { path } => {
                format!(
                    "{path} is not in the skill's folder; name one of its files, such as references/more.md"
                )
            }
            error => error.to_string(),
        })?;
        match text::is_binary(&bytes) {
            true => Err(format!("{written} is no text, so it cannot be shown.")),
            false => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        }
    }
}

/// What commands must see for these skills to be of use: where they are kept, and where those are that links lead to.
pub(crate) fn places(folders: &[SkillFolder], found: &[FoundSkill]) -> Vec<PathBuf> {
    let real = |folder: &SkillFolder| folder.open().map(|files| files.root().to_path_buf());
    // One that leads somewhere else as a whole may lead to more than skills.
    let is_kept = |path: &PathBuf| path.file_name().is_some_and(|name| name == KEPT_IN);
    let mut places: Vec<PathBuf> = folders.iter().filter_map(real).filter(is_kept).collect();
    for folder in found.iter().flat_map(|skill| &skill.folders).filter_map(real) {
        if !places.iter().any(|place| folder.starts_with(place)) {
            places.push(folder);
        }
    }
    places
}

/// Where skills are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkillHomes {
    /// The session's workspace, for those of the project.
    pub(crate) workspace: PathBuf,
    /// The person's own folder.
    pub(crate) own: Option<PathBuf>,
}

impl SkillHomes {
    /// Writes a skill. `known` is the one that its key stands for so far: what that says of itself stays.
    pub(crate) fn save(&self, skill: &NewSkill, known: Option<&FoundSkill>) -> Result<SavedSkill, String> {
        valid_skill_key(&skill.key)?;
        let (files, inside) = self.folder(skill.scope)?;
        let path = files.resolve(&format!("{inside}{}/{}", skill.key, NAMES[0]));
        let path = path.map_err(|error| error.to_string())?;
        // In the project a link could lead anywhere.
        if files.real_path(&path) != Some(files.root().join(path.as_str())) {
            return Err(format!("{} is reached through a link, so nothing is written there.", path));
        }
        let files = files.permitting(Permit::These(vec![path.to_string()]));
        let (before, expect) = match files.read(&path, SKILL_FILE_BYTES_MAX) {
            Ok((bytes, stamp)) => {
                (Some(String::from_utf8_lossy(&bytes).into_owned()), Expect::Unchanged(stamp))
            }
            Err(WorkspaceError::Missing { .. }) => (None, Expect::Absent),
            Err(error) => return Err(error.to_string()),
        };
        let covered = || {
            known
                .and_then(|known| skill_file(&known.folders.first()?.open()?, SKILL_FILE_BYTES_MAX))
                .map(|(_, text)| text)
        };
        let said = before.clone().or_else(covered);
        let after = skill_text(&skill.key, &skill.description, &skill.body, said.as_deref());
        if before.as_ref() != Some(&after) {
            files.write_atomic(&path, after.as_bytes(), expect).map_err(|error| error.to_string())?;
        }
        let path = match skill.scope {
            NoteScope::Project => path.to_string(),
            NoteScope::User => files.root().join(path.as_str()).display().to_string(),
        };
        Ok(SavedSkill { path, before, after })
    }

    /// Where skills are written, and the folder for them in there. What is missing is made by the write, which follows no
    /// link out of it.
    fn folder(&self, scope: NoteScope) -> Result<(Workspace, String), String> {
        if scope == NoteScope::Project {
            let files = Workspace::open(&self.workspace).map_err(|error| error.to_string())?;
            return Ok((files, format!("{OWN_FOLDER}/")));
        }
        let own = self.own.as_ref().ok_or("The person has no folder for skills; use scope project.")?;
        std::fs::create_dir_all(own).map_err(|error| format!("{}: {error}", own.display()))?;
        Ok((Workspace::open(own).map_err(|error| error.to_string())?, String::new()))
    }
}
