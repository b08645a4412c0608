//! Which folders a server may be asked about: those of sessions on record, those below where it was started, and those
//! that were named at its start.

use std::path::{Path, PathBuf};

use posse_engine::Engine;

use crate::failure::{CallError, CallErrorKind};
use crate::limits::{FOLDERS_MAX, QUERY_BYTES_MAX};

/// The folders of a server.
#[derive(Debug)]
pub struct Folders {
    /// Where it was started, then those that were named.
    roots: Vec<PathBuf>,
}

impl Folders {
    /// With links resolved; a root that is not there is left out.
    pub fn new(roots: Vec<PathBuf>) -> Self {
        Self { roots: roots.iter().filter_map(|root| root.canonicalize().ok()).collect() }
    }

    /// Where the server was started.
    pub fn first(&self) -> Option<&Path> {
        self.roots.first().map(PathBuf::as_path)
    }

    /// A folder by what a client calls it, links resolved, if the server may be asked about it.
    pub(crate) async fn permit(&self, engine: &Engine, folder: &str) -> Result<PathBuf, CallError> {
        let real = real_folder(folder).await?;
        // The same answer for a folder that is not there and for one that may not be asked about.
        let refused = || {
            let message = format!(
                "{folder} is not a folder that this server may work in: those on record, those below where it was started, \
                 and those named with --folder."
            );
            CallError::new(CallErrorKind::Refused, message)
        };
        let real = real.ok_or_else(refused)?;
        if self.hold(&real) {
            return Ok(real);
        }
        let recorded = recorded(engine).await?;
        let known = |known: &String| Path::new(known) == real || Path::new(known) == Path::new(folder);
        if recorded.iter().any(known) { Ok(real) } else { Err(refused()) }
    }

    /// The same without those on record: only where the server was started, what was named then, and what is below.
    pub async fn within(&self, folder: &str) -> Result<PathBuf, CallError> {
        let real = real_folder(folder).await?;
        real.filter(|real| self.hold(real)).ok_or_else(|| {
            let message = format!(
                "{folder} is not a folder that this server may work in: those below where it was started, and those \
                 named with --folder."
            );
            CallError::new(CallErrorKind::Refused, message)
        })
    }

    /// Whether a folder, links resolved, is one of them or below one of them.
    pub fn hold(&self, real: &Path) -> bool {
        self.roots.iter().any(|root| real.starts_with(root))
    }

    /// The folders to choose from: where the server was started, those named, and those on record, the newest first.
    pub(crate) async fn known(&self, engine: &Engine) -> Result<Vec<String>, CallError> {
        let mut all: Vec<String> = self.roots.iter().map(|root| root.display().to_string()).collect();
        for folder in recorded(engine).await? {
            if !all.contains(&folder) {
                all.push(folder);
            }
        }
        all.truncate(FOLDERS_MAX);
        Ok(all)
    }
}

/// A folder with links resolved; none if it is not there, or not written from the root.
async fn real_folder(folder: &str) -> Result<Option<PathBuf>, CallError> {
    if folder.len() > QUERY_BYTES_MAX {
        return Err(CallError::new(CallErrorKind::TooLarge, "The path of the folder is too long."));
    }
    let asked = PathBuf::from(folder);
    let resolving = tokio::task::spawn_blocking(move || {
        asked.canonicalize().ok().filter(|path| asked.is_absolute() && path.is_dir())
    });
    Ok(resolving.await.ok().flatten())
}

/// The folders of sessions on record, those of the newest first.
async fn recorded(engine: &Engine) -> Result<Vec<String>, CallError> {
    Ok(engine.read(Engine::folders).await?)
}
