//! The prompts that a person has typed in a folder, one on each line of a private file in the data directory. How a prompt becomes
//! a line is for the interface to say.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use posse_engine::record::prepare_data_dir;
use sha2::{Digest as _, Sha256};

use crate::limits::{PROMPT_BYTES_MAX, PROMPTS_BYTES_MAX, PROMPTS_KEPT_MAX};
use crate::paths::{Paths, append_private, create_private};

/// Where in the data directory they are.
const FOLDER: &str = "prompts";

/// The prompts of one folder. The file need not be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptHistoryFile {
    path: PathBuf,
}

impl PromptHistoryFile {
    /// That of a folder, links resolved: a path can be longer than a name, so the file has the path's hash for a name.
    pub fn of(paths: &Paths, folder: &Path) -> Self {
        let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
        let name: String = hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { path: paths.data_dir.join(FOLDER).join(name) }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest lines, the oldest of them first. What is no text is left out.
    pub fn lines(&self) -> io::Result<Vec<String>> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            opened => opened?,
        };
        let from = file.metadata()?.len().saturating_sub(PROMPTS_BYTES_MAX);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        file.take(PROMPTS_BYTES_MAX).read_to_end(&mut bytes)?;
        // The first line may be the end of one.
        let lines = bytes.split(|byte| *byte == b'\n').skip(usize::from(from > 0));
        let lines = lines.filter(|line| !line.is_empty() && line.len() <= PROMPT_BYTES_MAX);
        let mut lines: Vec<_> = lines.filter_map(|line| String::from_utf8(line.to_vec()).ok()).collect();
        lines.drain(..lines.len().saturating_sub(PROMPTS_KEPT_MAX));
        Ok(lines)
    }

    /// Adds a line at its end. A file that has become too long keeps its newest lines.
    pub fn append(&self, line: &str) -> io::Result<()> {
        if line.is_empty() || line.contains('\n') || line.len() > PROMPT_BYTES_MAX {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        if let Some(folder) = self.path.parent() {
            prepare_data_dir(folder).map_err(io::Error::other)?;
        }
        let mut file = append_private(&self.path)?;
        // In one piece: other chats in the same folder write here, too.
        file.write_all(format!("{line}\n").as_bytes())?;
        if file.metadata()?.len() > PROMPTS_BYTES_MAX {
            self.shorten()?;
        }
        Ok(())
    }

    fn shorten(&self) -> io::Result<()> {
        let lines = self.lines()?;
        let mut room = PROMPTS_BYTES_MAX / 2;
        let kept = lines.iter().rev().take_while(|line| {
            let length = line.len() as u64 + 1;
            let fits = length <= room;
            room = room.saturating_sub(length);
            fits
        });
        let kept = kept.count();
        let text: String = lines.iter().skip(lines.len() - kept).flat_map(|line| [line, "\n"]).collect();
        let new = self.path.with_extension(format!("{}.new", std::process::id()));
        create_private(&new)?.write_all(text.as_bytes())?;
        std::fs::rename(&new, &self.path)
    }
}
