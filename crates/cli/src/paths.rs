//! Where things are kept: the one place that knows the platform's folders.

use std::env;
use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use posse_protocol::visible;

/// The folders and files of this person.
#[derive(Clone, Debug)]
pub(crate) struct Paths {
    /// The record and what was trusted.
    pub(crate) data_dir: PathBuf,
    /// The user's configuration.
    pub(crate) config: PathBuf,
    /// Whether `config` was named on the command line, so that it must be there.
    pub(crate) config_named: bool,
}

impl Paths {
    pub(crate) fn find(data_dir: Option<&Path>, config: Option<&Path>) -> anyhow::Result<Self> {
        let data_dir = match data_dir {
            Some(dir) => dir.to_path_buf(),
            None => {
                default_data_dir().context("no home folder is known; give --data-dir or set POSSE_HOME")?
            }
        };
        let config_named = config.is_some();
        let config = match config {
            Some(file) => file.to_path_buf(),
            None => default_config_dir()
                .map_or_else(|| data_dir.join("config.toml"), |dir| dir.join("config.toml")),
        };
        Ok(Self {
            data_dir: std::path::absolute(data_dir)?,
            config: std::path::absolute(config)?,
            config_named,
        })
    }
}

impl Paths {
    /// What belongs to Posse and to nobody it runs: the folder of the configuration, a file that was named in its place,
    /// the record.
    pub(crate) fn own_places(&self) -> Vec<PathBuf> {
        let named = self.config_named.then(|| self.config.clone());
        default_config_dir().into_iter().chain(named).chain([self.data_dir.clone()]).collect()
    }
}

/// Makes or empties a file that its owner alone can read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    private().create(true).write(true).truncate(true).open(path)
}

/// Makes a file that was not there, and that its owner alone can read.
pub(crate) fn create_new_private(path: &Path) -> std::io::Result<File> {
    private().create_new(true).write(true).open(path)
}

/// Opens a file that its owner alone can read, to write at its end.
pub(crate) fn append_private(path: &Path) -> std::io::Result<File> {
    private().create(true).append(true).open(path)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A path as people write it, in one line: the home folder as `~`.
pub(crate) fn shown(path: &Path) -> String {
    match env::home_dir().and_then(|home| path.strip_prefix(home).ok().map(Path::to_path_buf)) {
        Some(rest) => format!("~/{}", whole(&rest)),
        None => whole(path),
    }
}

/// A whole path in one line, whatever its bytes.
pub(crate) fn whole(path: &Path) -> String {
    visible::name(path.as_os_str().as_encoded_bytes())
}

fn absolute_from(variable: &str) -> Option<PathBuf> {
    env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}

fn default_data_dir() -> Option<PathBuf> {
    if cfg!(windows) {
        return absolute_from("LOCALAPPDATA").map(|dir| dir.join("posse"));
    }
    if cfg!(target_os = "macos") {
        return env::home_dir().map(|home| home.join("Library/Application Support/posse"));
    }
    let base =
        absolute_from("XDG_DATA_HOME").or_else(|| env::home_dir().map(|home| home.join(".local/share")));
    base.map(|base| base.join("posse"))
}

fn default_config_dir() -> Option<PathBuf> {
    if cfg!(windows) {
        return absolute_from("APPDATA").map(|dir| dir.join("posse"));
    }
    let base = absolute_from("XDG_CONFIG_HOME").or_else(|| env::home_dir().map(|home| home.join(".config")));
    base.map(|base| base.join("posse"))
}
