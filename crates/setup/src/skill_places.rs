//! Where skills are looked for, and where those of the person are written.

use std::path::{Path, PathBuf};

use posse_engine::skills::{SkillFolder, project_skill_folders};

use crate::paths::Paths;

/// Where skills are looked for; earlier ones win. The person's own come first, so that no project replaces one of them;
/// then the project's folders, the closest first.
pub fn skill_folders(paths: &Paths, folder: &Path) -> Vec<SkillFolder> {
    let claude = paths.surroundings().home().map(|home| home.join(".claude/skills"));
    let own = [own_skill_folder(paths)].into_iter().chain(claude);
    let own = own.map(|path| SkillFolder { path, within: None, hides: None });
    own.chain(project_skill_folders(folder)).collect()
}

/// Where the person's own skills are written.
pub fn own_skill_folder(paths: &Paths) -> PathBuf {
    paths.config.with_file_name("skills")
}
