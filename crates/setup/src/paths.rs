//! Where things are kept: the one place that knows the platform's folders.

use std::fs::{File, OpenOptions};
use std::path::{Path, PathBuf};

use posse_telemetry::{Telemetry, TelemetrySettings};

use crate::error::PrepareError;
use crate::process_fleet::ProcessFleet;
use crate::surroundings::{ShownPath, Surroundings};

/// The variable that moves the data folder.
const DATA_VARIABLE: &str = "POSSE_HOME";
/// The variable that names the configuration file.
const CONFIG_VARIABLE: &str = "POSSE_CONFIG";

/// The folder for secrets of workers and the list of them.
const WORKERS_FOLDER: &str = "workers";

/// The folders and files of one person, and the surroundings that they were derived from.
#[derive(Clone, Debug)]
pub struct Paths {
    surroundings: Surroundings,
    telemetry: Telemetry,
    fleet: ProcessFleet,
    /// What is wrong with how the environment wants it.
    pub(crate) telemetry_faults: Vec<String>,
    /// The record and what was trusted.
    pub data_dir: PathBuf,
    /// The user's configuration.
    pub config: PathBuf,
    /// Whether `config` was named, so that it must be there.
    pub(crate) config_named: bool,
    /// Private files that were named where this process was started.
    private_files: Vec<PathBuf>,
}

impl Paths {
    /// What is named counts, else what the environment says, else the platform's folders.
    pub fn find(
        surroundings: Surroundings,
        data_dir: Option<&Path>,
        config: Option<&Path>,
    ) -> Result<Self, PrepareError> {
        let named = |path: Option<&Path>, variable: &'static str| match path {
            Some(path) => Ok(Some(path.to_path_buf())),
            None => match surroundings.variable(variable) {
                Some(value) if value.is_empty() => Err(PrepareError::EmptyVariable { variable }),
                value => Ok(value.map(PathBuf::from)),
            },
        };
        let data_dir = named(data_dir, DATA_VARIABLE)?
            .or_else(|| default_data_dir(&surroundings))
            .ok_or(PrepareError::NoHome)?;
        let config = named(config, CONFIG_VARIABLE)?;
        let config_named = config.is_some();
        let config = config.unwrap_or_else(|| {
            default_config_dir(&surroundings).unwrap_or(data_dir.clone()).join("config.toml")
        });
        let (data_dir, config) = (absolute(&surroundings, &data_dir)?, absolute(&surroundings, &config)?);
        let (settings, telemetry_faults) =
            TelemetrySettings::read(&|name| surroundings.text(name).map(str::to_owned));
        let telemetry = Telemetry::new(settings);
        let fleet = ProcessFleet::default();
        let private_files = Vec::new();
        Ok(Self {
            surroundings,
            telemetry,
            fleet,
            telemetry_faults,
            data_dir,
            config,
            config_named,
            private_files,
        })
    }

    /// The same, with a private file that agents do not get to see either.
    pub fn hiding(mut self, private_file: &Path) -> Result<Self, PrepareError> {
        self.private_files.push(absolute(&self.surroundings, private_file)?);
        Ok(self)
    }

    /// What this process exports of its sessions.
    pub fn telemetry(&self) -> &Telemetry {
        &self.telemetry
    }

    /// The workers of this process.
    pub(crate) fn fleet(&self) -> &ProcessFleet {
        &self.fleet
    }

    /// What these paths were derived from.
    pub fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// A path as people write it.
    pub fn shown(&self, path: &Path) -> ShownPath {
        self.surroundings.shown(path)
    }

    /// Where the files about workers are: beside the configuration.
    pub(crate) fn workers_folder(&self) -> PathBuf {
        self.config.with_file_name(WORKERS_FOLDER)
    }

    /// What belongs to Posse and to nobody it runs: the folder of the configuration, a file that was named in its place
    /// and what is kept beside it, the record, private files that were named elsewhere.
    pub(crate) fn own_places(&self) -> Vec<PathBuf> {
        let named = self.config_named.then(|| [self.config.clone(), self.workers_folder()]);
        default_config_dir(&self.surroundings)
            .into_iter()
            .chain(named.into_iter().flatten())
            .chain([self.data_dir.clone()])
            .chain(self.private_files.iter().cloned())
            .collect()
    }
}

/// Makes or empties a file that its owner alone can read.
pub(crate) fn create_private(path: &Path) -> std::io::Result<File> {
    private().create(true).write(true).truncate(true).open(path)
}

/// Makes a file that was not there, and that its owner alone can read.
pub fn create_new_private(path: &Path) -> std::io::Result<File> {
    private().create_new(true).write(true).open(path)
}

/// Opens a file that its owner alone can read, to write at its end.
pub fn append_private(path: &Path) -> std::io::Result<File> {
    private().create(true).append(true).open(path)
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// A path from the current folder on.
fn absolute(surroundings: &Surroundings, path: &Path) -> Result<PathBuf, PrepareError> {
    let whole = if path.is_absolute() { path.to_path_buf() } else { surroundings.folder()?.join(path) };
    std::path::absolute(whole).map_err(PrepareError::Path)
}

fn default_data_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    if cfg!(windows) {
        return surroundings.absolute_path("LOCALAPPDATA").map(|dir| dir.join("posse"));
    }
    if cfg!(target_os = "macos") {
        return surroundings.home().map(|home| home.join("Library/Application Support/posse"));
    }
    let base = surroundings.absolute_path("XDG_DATA_HOME");
    let base = base.or_else(|| surroundings.home().map(|home| home.join(".local/share")));
    base.map(|base| base.join("posse"))
}

fn default_config_dir(surroundings: &Surroundings) -> Option<PathBuf> {
    if cfg!(windows) {
        return surroundings.absolute_path("APPDATA").map(|dir| dir.join("posse"));
    }
    let base = surroundings.absolute_path("XDG_CONFIG_HOME");
    let base = base.or_else(|| surroundings.home().map(|home| home.join(".config")));
    base.map(|base| base.join("posse"))
}
