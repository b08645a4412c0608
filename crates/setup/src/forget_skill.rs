//! Takes a skill of the person away: it is moved aside, not deleted, so that it can be brought back by hand.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use posse_engine::record::prepare_data_dir;

use crate::{Paths, own_skill_folder, skill_list};

/// Where in the data directory skills are moved to.
const FORGOTTEN: &str = "forgotten-skills";

/// Why a skill stays.
#[derive(Debug, thiserror::Error)]
pub enum ForgetSkillError {
    /// There is none.
    #[error("there is no skill {0}")]
    NotFound(String),
    /// It is not in the folder of the person's skills.
    #[error("{} is not among your own skills in {}; remove its folder by hand", .0.display(), .1.display())]
    NotOwn(PathBuf, PathBuf),
    /// It cannot be moved.
    #[error("the skill cannot be moved: {0}")]
    Files(#[from] std::io::Error),
}

/// Moves a skill out of the folder of the person's skills. Returns where it is now.
pub fn forget_skill(paths: &Paths, folder: &Path, key: &str) -> Result<PathBuf, ForgetSkillError> {
    let not_found = || ForgetSkillError::NotFound(key.to_owned());
    let found = skill_list(paths, folder).into_iter().find(|skill| skill.key == key).ok_or_else(not_found)?;
    let place = found.path.ok_or_else(not_found)?;
    let own = own_skill_folder(paths);
    let (real_place, real_own) = (place.canonicalize()?, own.canonicalize().unwrap_or_else(|_| own.clone()));
    if real_place == real_own || !real_place.starts_with(&real_own) {
        return Err(ForgetSkillError::NotOwn(place, own));
    }
    let aside = paths.data_dir.join(FORGOTTEN);
    prepare_data_dir(&aside).map_err(std::io::Error::other)?;
    let at_ms = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let name = real_place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let target = aside.join(format!("{at_ms}-{name}"));
    std::fs::rename(&real_place, &target)?;
    Ok(target)
}
