//! The workers that were added by command: their names, their labels and since when.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::error::WorkerFileError;
use super::join::forget_kept;
use super::private::{self, FolderTurn, IfThere};
use crate::limits::{KNOWN_WORKERS_BYTES_MAX, WORKERS_MAX};
use crate::paths::Paths;
use crate::surroundings::ShownPath;
use crate::worker_words::{labels_fault, name_fault};

/// The list, in the folder of workers.
const FILE: &str = "known.toml";

/// A worker that was added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownWorker {
    /// What it is called.
    pub name: String,
    /// What it has.
    pub labels: Vec<String>,
    /// When it was added, in milliseconds since 1970.
    pub added_ms: i64,
}

/// The file as it is written.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    workers: BTreeMap<String, WrittenWorker>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenWorker {
    #[serde(default)]
    labels: Vec<String>,
    /// In words, for people.
    added: String,
}

/// All of them, by name.
pub fn known_workers(paths: &Paths) -> Result<Vec<KnownWorker>, WorkerFileError> {
    let path = place(paths);
    let known = read(&path)?.workers.into_iter().map(|(name, worker)| {
        let added = worker.added.parse::<Timestamp>();
        let wrong =
            |_| WorkerFileError::Faulty { path: path.clone(), fault: format!("when was {name} added?") };
        let added_ms = added.map_err(wrong)?.as_millisecond();
        Ok(KnownWorker { name, labels: worker.labels, added_ms })
    });
    known.collect()
}

/// Adds one. One of this name that is known gets these labels, and stays known since when it was; false then.
pub fn add_known_worker(paths: &Paths, worker: &KnownWorker) -> Result<bool, WorkerFileError> {
    let unusable = |fault: String| WorkerFileError::Unusable { fault };
    if let Some(fault) = name_fault(&worker.name).or_else(|| labels_fault(&worker.labels)) {
        return Err(unusable(fault));
    }
    let added = Timestamp::from_millisecond(worker.added_ms).map_err(|error| unusable(error.to_string()))?;
    let path = place(paths);
    let turn = private::turn(&path)?;
    let mut file = read(&path)?;
    if let Some(known) = file.workers.get_mut(&worker.name) {
        known.labels.clone_from(&worker.labels);
        write(&path, &file, &turn)?;
        return Ok(false);
    }
    if file.workers.len() >= WORKERS_MAX {
        return Err(unusable(format!("{WORKERS_MAX} workers are known; remove one first")));
    }
    file.workers.insert(
        worker.name.clone(),
        WrittenWorker { labels: worker.labels.clone(), added: added.to_string() },
    );
    write(&path, &file, &turn)?;
    Ok(true)
}

/// Forgets one, and the file with which it joins if that is kept. False if there is none of this name.
pub fn remove_known_worker(paths: &Paths, name: &str) -> Result<bool, WorkerFileError> {
    let path = place(paths);
    let turn = private::turn(&path)?;
    let mut file = read(&path)?;
    if file.workers.remove(name).is_none() {
        return Ok(false);
    }
    write(&path, &file, &turn)?;
    forget_kept(paths, name)?;
    Ok(true)
}

fn place(paths: &Paths) -> ShownPath {
    paths.shown(&paths.workers_folder().join(FILE))
}

fn read(path: &ShownPath) -> Result<Written, WorkerFileError> {
    let faulty = |fault: String| WorkerFileError::Faulty { path: path.clone(), fault };
    let Some(text) = private::read(path, KNOWN_WORKERS_BYTES_MAX)? else { return Ok(Written::default()) };
    let file: Written = toml::from_str(&text).map_err(|error| faulty(error.message().to_owned()))?;
    if file.workers.len() > WORKERS_MAX {
        return Err(faulty(format!("{} workers are too many; at most {WORKERS_MAX}", file.workers.len())));
    }
    let wrong =
        |(name, worker): (&String, &WrittenWorker)| name_fault(name).or_else(|| labels_fault(&worker.labels));
    file.workers.iter().find_map(wrong).map_or(Ok(file), |fault| Err(faulty(fault)))
}

fn write(path: &ShownPath, file: &Written, turn: &FolderTurn) -> Result<(), WorkerFileError> {
    let text = toml::to_string(file).map_err(|error| WorkerFileError::Config(error.into()))?;
    if text.len() as u64 > KNOWN_WORKERS_BYTES_MAX {
        return Err(WorkerFileError::TooLarge { path: path.clone(), bytes_max: KNOWN_WORKERS_BYTES_MAX });
    }
    private::write_in_turn(path, &text, IfThere::Replace, turn).map(drop)
}
