//! What the person has trusted: whole file contents, kept word for word, so that any change asks again.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use posse_engine::record::prepare_data_dir;

use crate::surroundings::shown;

const FILE: &str = "trusted.json";

/// Trusted contents by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trusted {
    file: PathBuf,
    contents: BTreeMap<String, String>,
}

impl Trusted {
    /// Reads the list. A damaged list trusts nothing and says so.
    pub(crate) fn load(data_dir: &Path) -> anyhow::Result<Self> {
        let file = data_dir.join(FILE);
        let contents = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .with_context(|| format!("{} is damaged; remove it to trust anew", shown(&file)))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error).with_context(|| format!("cannot read {}", shown(&file))),
        };
        Ok(Self { file, contents })
    }

    /// Whether this very content of this file was trusted.
    pub(crate) fn holds(&self, path: &Path, content: &str) -> bool {
        self.contents.get(&key(path)).is_some_and(|trusted| trusted == content)
    }

    /// What was trusted of this file before, if anything.
    pub(crate) fn before(&self, path: &Path) -> Option<&str> {
        self.contents.get(&key(path)).map(String::as_str)
    }

    pub(crate) fn add(&mut self, path: &Path, content: &str) -> anyhow::Result<()> {
        self.contents.insert(key(path), content.to_string());
        self.save()
    }

    /// Returns whether there was anything to revoke.
    pub(crate) fn revoke(&mut self, path: &Path) -> anyhow::Result<bool> {
        let was = self.contents.remove(&key(path)).is_some();
        self.save()?;
        Ok(was)
    }

    fn save(&self) -> anyhow::Result<()> {
        let write = || -> anyhow::Result<()> {
            if let Some(dir) = self.file.parent() {
                prepare_data_dir(dir)?;
            }
            let new = self.file.with_extension("new");
            let mut file = posse_setup::create_private(&new)?;
            file.write_all(serde_json::to_string_pretty(&self.contents)?.as_bytes())?;
            Ok(std::fs::rename(&new, &self.file)?)
        };
        write().with_context(|| format!("cannot write {}", shown(&self.file)))
    }
}

/// The real path, so that a link to a folder is not another folder.
fn key(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}
