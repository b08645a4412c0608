//! The user and the password for the broker.

use std::fmt;
use std::path::Path;

use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};
use toml::Value;

use super::error::WorkerFileError;
use super::keyed::KeyedFile;
use super::private::{self, IfThere};
use crate::cluster_settings::CREDENTIALS_FILE;
use crate::limits::SECRET_FILE_BYTES_MAX;
use crate::paths::Paths;
use crate::worker_words::credentials_fault;

/// Who the broker lets in. It prints as nothing.
#[derive(Clone)]
pub struct NatsCredentials {
    /// The user.
    pub user: String,
    /// The password.
    pub password: SecretString,
}

impl NatsCredentials {
    /// What is wrong with them.
    pub(super) fn fault(&self) -> Option<String> {
        credentials_fault(&self.user, self.password.expose_secret())
    }
}

impl fmt::Debug for NatsCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NatsCredentials")
    }
}

/// Reads the file that the configuration names, or the one in its usual place.
pub fn read_credentials(paths: &Paths, path: &Path) -> Result<NatsCredentials, WorkerFileError> {
    let path = paths.shown(path);
    let advice = "write user = \"…\" and password = \"…\" into it, and chmod 600 it";
    let text = private::read(&path, SECRET_FILE_BYTES_MAX)?
        .map(Zeroizing::new)
        .ok_or_else(|| WorkerFileError::Missing { path: path.clone(), advice })?;
    let file = KeyedFile::parse(&text, &path, &["user", "password"])?;
    let credentials = NatsCredentials {
        user: file.text("user")?.to_owned(),
        password: SecretString::from(file.text("password")?),
    };
    credentials.fault().map_or(Ok(credentials), |fault| Err(file.fault(fault)))
}

/// Writes the file in its usual place. What was there is replaced.
pub fn write_credentials(paths: &Paths, credentials: &NatsCredentials) -> Result<(), WorkerFileError> {
    if let Some(fault) = credentials.fault() {
        return Err(WorkerFileError::Unusable { fault });
    }
    let line = |key: &str, value: &str| format!("{key} = {}\n", Value::String(value.to_owned()));
    let password = credentials.password.expose_secret();
    let text = Zeroizing::new(format!("{}{}", line("user", &credentials.user), line("password", password)));
    let path = paths.shown(&paths.workers_folder().join(CREDENTIALS_FILE));
    private::write(&path, &text, IfThere::Replace).map(drop)
}
