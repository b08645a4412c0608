//! The file with which another machine joins as a worker: home writes it, a person carries it there, `posse worker` reads it. It holds the
//! owner's secret, so whoever has it can give and take that owner's tasks.

use std::io;
use std::path::{Path, PathBuf};

use secrecy::ExposeSecret as _;
use secrecy::SecretString;
use secrecy::zeroize::Zeroizing;
use toml::{Table, Value};

use super::access::BrokerAccess;
use super::credentials::NatsCredentials;
use super::error::WorkerFileError;
use super::keyed::KeyedFile;
use super::private::{self, IfThere};
use super::secret::SigningSecret;
use crate::cluster_settings::{ClusterSettings, WorkerSettings};
use crate::config::parse_time_ms;
use crate::limits::JOIN_FILE_BYTES_MAX;
use crate::paths::Paths;
use crate::surroundings::ShownPath;
use crate::worker_words::{broker_fault, ca_fault, labels_fault, name_fault, owner_fault, times_fault};

/// The version of the file that this program writes and reads.
const VERSION: i64 = 1;
/// The keys of the file.
const KEYS: [&str; 11] =
    ["version", "owner", "secret", "broker", "user", "password", "ca", "name", "labels", "lease", "renew"];
/// What a person who opens it should know.
const HEAD: &str = "# Lets a machine join as a worker: posse worker --join THIS-FILE\n\
                    # Whoever has it can run agents in your name. Keep it to yourself, and remove it once the worker has it.\n";

/// What another machine needs to join.
#[derive(Clone, Debug)]
pub struct JoinFile {
    /// How it reaches the broker, and what it signs with.
    pub access: BrokerAccess,
    /// What home calls the worker.
    pub name: String,
    /// What it has.
    pub labels: Vec<String>,
}

impl JoinFile {
    /// For a worker of this name. `credentials` are the worker's own user and password; without them it gets home's.
    pub fn make(
        paths: &Paths,
        cluster: &ClusterSettings,
        name: &str,
        labels: &[String],
        credentials: Option<NatsCredentials>,
    ) -> Result<Self, WorkerFileError> {
        let mut access = BrokerAccess::of_home(paths, cluster)?.ok_or(WorkerFileError::NoBroker)?;
        access.credentials = credentials.or(access.credentials);
        let join = Self { access, name: name.to_owned(), labels: labels.to_vec() };
        join.fault().map_or(Ok(join), |fault| Err(WorkerFileError::Unusable { fault }))
    }

    /// Writes it into the folder of workers, over that of an earlier time, and says where that is.
    pub fn keep(&self, paths: &Paths) -> Result<PathBuf, WorkerFileError> {
        let path = kept_place(paths, &self.name);
        self.write(&paths.shown(&path), IfThere::Replace)?;
        Ok(path)
    }

    /// Writes a new file that its owner alone can read. One that is there is left alone. In a git work tree it would be in commits, and
    /// in what agents get on other machines.
    pub fn save(&self, paths: &Paths, path: &Path) -> Result<(), WorkerFileError> {
        if let Some(top) = work_tree_around(path) {
            return Err(WorkerFileError::InWorkTree { path: paths.shown(path), top: paths.shown(&top) });
        }
        let path = paths.shown(path);
        match self.write(&path, IfThere::Keep)? {
            true => Ok(()),
            false => Err(WorkerFileError::AlreadyThere { path }),
        }
    }

    fn write(&self, path: &ShownPath, if_there: IfThere) -> Result<bool, WorkerFileError> {
        if let Some(fault) = self.fault() {
            return Err(WorkerFileError::Unusable { fault });
        }
        let text = toml::to_string(&self.table()).map_err(|error| WorkerFileError::Config(error.into()))?;
        let text = Zeroizing::new(format!("{HEAD}{text}"));
        if text.len() as u64 > JOIN_FILE_BYTES_MAX {
            return Err(WorkerFileError::TooLarge { path: path.clone(), bytes_max: JOIN_FILE_BYTES_MAX });
        }
        private::write(path, &text, if_there)
    }

    /// Reads such a file and checks all of it.
    pub fn read(paths: &Paths, path: &Path) -> Result<Self, WorkerFileError> {
        let path = paths.shown(path);
        let advice = "make it at home with `posse workers add NAME`, and copy it here";
        let text = private::read(&path, JOIN_FILE_BYTES_MAX)?
            .map(Zeroizing::new)
            .ok_or_else(|| WorkerFileError::Missing { path: path.clone(), advice })?;
        let file = KeyedFile::parse(&text, &path, &KEYS)?;
        let version = file.number("version")?;
        if version != VERSION {
            return Err(file.fault(format!(
                "it has version {version}, and this program knows {VERSION}; use the same posse on both machines"
            )));
        }
        let join = Self {
            access: access(&file)?,
            name: file.text("name")?.to_owned(),
            labels: file.texts("labels")?,
        };
        join.fault().map_or(Ok(join), |fault| Err(file.fault(fault)))
    }

    /// This machine with what home says of it: its name, and its labels beside those of the configuration.
    #[must_use]
    pub fn applied_to(&self, mut worker: WorkerSettings) -> WorkerSettings {
        worker.name.clone_from(&self.name);
        for label in &self.labels {
            if !worker.labels.contains(label) {
                worker.labels.push(label.clone());
            }
        }
        worker
    }

    /// What is wrong with it. No secret is told.
    fn fault(&self) -> Option<String> {
        let access = &self.access;
        name_fault(&self.name)
            .or_else(|| labels_fault(&self.labels))
            .or_else(|| owner_fault(&access.owner))
            .or_else(|| broker_fault(&access.address))
            .or_else(|| access.credentials.as_ref().and_then(NatsCredentials::fault))
            .or_else(|| access.ca_pem.as_deref().and_then(ca_fault))
            .or_else(|| times_fault(access.lease_ms, access.renew_ms))
    }

    fn table(&self) -> Table {
        let access = &self.access;
        let mut table = Table::new();
        let mut put = |key: &str, value: Value| drop(table.insert(key.to_owned(), value));
        let text = |text: &str| Value::String(text.to_owned());
        put("version", Value::Integer(VERSION));
        put("owner", text(&access.owner));
        put("secret", text(&access.secret.to_hex()));
        put("broker", text(&access.address));
        if let Some(credentials) = &access.credentials {
            put("user", text(&credentials.user));
            put("password", text(credentials.password.expose_secret()));
        }
        if let Some(ca) = &access.ca_pem {
            put("ca", text(ca));
        }
        put("name", text(&self.name));
        put("labels", Value::Array(self.labels.iter().map(|label| text(label)).collect()));
        put("lease", Value::String(format!("{}ms", access.lease_ms)));
        put("renew", Value::String(format!("{}ms", access.renew_ms)));
        table
    }
}

/// Removes the file of a worker that was kept. One that is not there is fine.
pub(super) fn forget_kept(paths: &Paths, name: &str) -> Result<(), WorkerFileError> {
    let path = paths.shown(&kept_place(paths, name));
    match std::fs::remove_file(path.path()) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(WorkerFileError::Unwritable { path, source })
        }
        _ => Ok(()),
    }
}

fn kept_place(paths: &Paths, name: &str) -> PathBuf {
    paths.workers_folder().join(format!("{name}.join"))
}

/// The top of the git work tree that a place, there or not, is in.
fn work_tree_around(place: &Path) -> Option<PathBuf> {
    let real = place.ancestors().skip(1).find_map(|folder| folder.canonicalize().ok())?;
    real.ancestors().find(|folder| folder.join(".git").symlink_metadata().is_ok()).map(Path::to_path_buf)
}

fn access(file: &KeyedFile<'_>) -> Result<BrokerAccess, WorkerFileError> {
    let time = |key: &str| {
        let wrong = |_| file.fault(format!("`{key}` must be a time such as 30s"));
        parse_time_ms(file.text(key)?).map_err(wrong)
    };
    let secret = SigningSecret::from_hex(file.text("secret")?);
    let secret = secret.ok_or_else(|| file.fault("`secret` must be 64 hexadecimal digits".to_owned()))?;
    let credentials = match (file.optional("user")?, file.optional("password")?) {
        (Some(user), Some(password)) => {
            Some(NatsCredentials { user: user.to_owned(), password: SecretString::from(password) })
        }
        (None, None) => None,
        _ => return Err(file.fault("`user` and `password` go together".to_owned())),
    };
    Ok(BrokerAccess {
        owner: file.text("owner")?.to_owned(),
        secret,
        address: file.text("broker")?.to_owned(),
        credentials,
        ca_pem: file.optional("ca")?.map(str::to_owned),
        lease_ms: time("lease")?,
        renew_ms: time("renew")?,
    })
}
