//! The files of the record: made for their owner alone, whatever the umask. It must not know SQLite.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::StoreError;

const DIR_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// The database's name in the data directory.
pub const DATABASE_FILE: &str = "posse.db";

/// Makes the data directory if there is none, for its owner alone, and says where in it the database is.
///
/// A directory that is there already keeps its mode: it may be the person's own. The files in it are always private.
pub fn prepare_data_dir(path: &Path) -> Result<PathBuf, StoreError> {
    let error = |what, source| StoreError::Io { what, path: path.to_path_buf(), source };
    if !path.exists() {
        DirBuilder::new().recursive(true).mode(DIR_MODE).create(path).map_err(|e| error("create", e))?;
        fs::set_permissions(path, Permissions::from_mode(DIR_MODE)).map_err(|e| error("protect", e))?;
    }
    if !path.is_dir() {
        return Err(error("use as a directory", io::ErrorKind::NotADirectory.into()));
    }
    Ok(path.join(DATABASE_FILE))
}

/// Makes the database file before SQLite does, and takes it and its side files away from everyone else. SQLite
/// gives the side files it makes later the mode of the database.
pub(crate) fn protect_database(path: &Path) -> Result<(), StoreError> {
    let error = |what| move |source| StoreError::Io { what, path: path.to_path_buf(), source };
    OpenOptions::new().create(true).append(true).mode(FILE_MODE).open(path).map_err(error("open"))?;
    for file in [path.to_path_buf(), side_file(path, "-wal"), side_file(path, "-shm")] {
        match fs::metadata(&file).map(|m| m.permissions().mode() & 0o777) {
            Ok(FILE_MODE) => {}
            Ok(_) => {
                fs::set_permissions(&file, Permissions::from_mode(FILE_MODE)).map_err(error("protect"))?
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(error("look at")(e)),
        }
    }
    Ok(())
}

pub(crate) fn side_file(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
