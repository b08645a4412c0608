//! What the person has trusted: whole file contents, kept word for word, so that any change asks again.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write as _;
use std::path::Path;

use posse_engine::record::prepare_data_dir;

use crate::error::ConfigError;
use crate::paths::{Paths, create_private};
use crate::surroundings::ShownPath;

const FILE: &str = "trusted.json";

/// Trusted contents by path. The default trusts nothing and is kept nowhere.
#[derive(Clone, Debug, Default)]
pub struct Trusted {
    file: ShownPath,
    contents: BTreeMap<String, String>,
}

impl Trusted {
    /// Reads the list. A damaged list trusts nothing and says so.
    pub fn load(paths: &Paths) -> Result<Self, ConfigError> {
        let file = paths.shown(&paths.data_dir.join(FILE));
        let contents = match std::fs::read(file.path()) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(contents) => contents,
                Err(source) => return Err(ConfigError::TrustDamaged { path: file, source }),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(ConfigError::Unreadable { path: file, source: error.into() }),
        };
        Ok(Self { file, contents })
    }

    /// Whether this very content of this file was trusted.
    pub fn holds(&self, path: &Path, content: &str) -> bool {
        self.contents.get(&key(path)).is_some_and(|trusted| trusted == content)
    }

    /// What was trusted of this file before, if anything.
    pub fn before(&self, path: &Path) -> Option<&str> {
        self.contents.get(&key(path)).map(String::as_str)
    }

    /// Trusts this content of this file.
    pub fn add(&mut self, path: &Path, content: &str) -> Result<(), ConfigError> {
        self.contents.insert(key(path), content.to_string());
        self.save()
    }

    /// Returns whether there was anything to revoke.
    pub fn revoke(&mut self, path: &Path) -> Result<bool, ConfigError> {
        let was = self.contents.remove(&key(path)).is_some();
        self.save()?;
        Ok(was)
    }

    fn save(&self) -> Result<(), ConfigError> {
        let write = || -> Result<(), Box<dyn Error + Send + Sync>> {
            let path = self.file.path();
            if let Some(dir) = path.parent() {
                prepare_data_dir(dir)?;
            }
            let new = path.with_extension("new");
            create_private(&new)?.write_all(serde_json::to_string_pretty(&self.contents)?.as_bytes())?;
            Ok(std::fs::rename(&new, path)?)
        };
        write().map_err(|source| ConfigError::Unwritable { path: self.file.clone(), source })
    }
}

/// The real path, so that a link to a folder is not another folder.
fn key(path: &Path) -> String {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}
