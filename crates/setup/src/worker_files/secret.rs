//! The owner's secret, with which home and workers sign what they say to each other.

use std::fmt;

use ring::rand::{SecureRandom as _, SystemRandom};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretBox};

use super::error::WorkerFileError;
use super::private::{self, IfThere};
use crate::cluster_settings::SECRET_FILE;
use crate::limits::{SECRET_FILE_BYTES_MAX, SIGNING_SECRET_BYTES};
use crate::paths::Paths;
use crate::surroundings::ShownPath;

/// The owner's secret. It prints as nothing.
pub struct SigningSecret(SecretBox<[u8; SIGNING_SECRET_BYTES]>);

impl SigningSecret {
    /// A new one.
    pub fn random() -> Result<Self, WorkerFileError> {
        let mut bytes = Zeroizing::new([0; SIGNING_SECRET_BYTES]);
        SystemRandom::new().fill(bytes.as_mut()).map_err(|_| WorkerFileError::NoRandom)?;
        Ok(Self(SecretBox::new(Box::new(*bytes))))
    }

    /// From the hexadecimal digits in a file.
    pub(super) fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 2 * SIGNING_SECRET_BYTES {
            return None;
        }
        let digit =
            |at: usize| char::from(digits[at]).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let mut bytes = Zeroizing::new([0; SIGNING_SECRET_BYTES]);
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = digit(2 * at)? << 4 | digit(2 * at + 1)?;
        }
        Some(Self(SecretBox::new(Box::new(*bytes))))
    }

    /// As hexadecimal digits, for a file.
    pub(super) fn to_hex(&self) -> Zeroizing<String> {
        Zeroizing::new(self.reveal().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// What home says first to a worker that it starts: the digits, and the end of the line.
    pub(crate) fn preface(&self) -> Vec<u8> {
        format!("{}\n", *self.to_hex()).into_bytes()
    }

    /// From such a line.
    pub fn from_preface(line: &[u8]) -> Option<Self> {
        Self::from_hex(std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?)
    }

    /// Whether both are the same. It takes as long for any other one.
    pub fn is_same(&self, other: &Self) -> bool {
        self.reveal().iter().zip(other.reveal()).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
    }

    /// The secret itself, to sign with.
    pub fn reveal(&self) -> &[u8; SIGNING_SECRET_BYTES] {
        self.0.expose_secret()
    }
}

impl Clone for SigningSecret {
    fn clone(&self) -> Self {
        Self(SecretBox::new(Box::new(*self.reveal())))
    }
}

impl fmt::Debug for SigningSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningSecret")
    }
}

/// The owner's secret. It is made where there is none, and one that is there is never replaced.
pub fn read_or_make_secret(paths: &Paths) -> Result<SigningSecret, WorkerFileError> {
    let path = place(paths);
    if let Some(secret) = read(&path)? {
        return Ok(secret);
    }
    let secret = SigningSecret::random()?;
    let text = Zeroizing::new(format!("{}\n", *secret.to_hex()));
    if private::write(&path, &text, IfThere::Keep)? {
        return Ok(secret);
    }
    // Another process was faster.
    read_secret(paths)
}

/// How many bytes the first line of home to a worker has.
pub const PREFACE_BYTES: usize = 2 * SIGNING_SECRET_BYTES + 1;

/// The owner's secret, if there is one.
pub fn own_secret(paths: &Paths) -> Result<Option<SigningSecret>, WorkerFileError> {
    read(&place(paths))
}

/// The owner's secret, which must be there.
pub fn read_secret(paths: &Paths) -> Result<SigningSecret, WorkerFileError> {
    let path = place(paths);
    let advice =
        "home makes it with `posse workers add NAME`, and a worker gets it with `posse worker --join FILE`";
    read(&path)?.ok_or(WorkerFileError::Missing { path, advice })
}

fn read(path: &ShownPath) -> Result<Option<SigningSecret>, WorkerFileError> {
    let Some(text) = private::read(path, SECRET_FILE_BYTES_MAX)? else { return Ok(None) };
    let text = Zeroizing::new(text);
    let damaged = || WorkerFileError::Faulty {
        path: path.clone(),
        fault: format!(
            "it holds no secret of {} hexadecimal digits; if it is lost, remove the file and let all workers join again",
            2 * SIGNING_SECRET_BYTES
        ),
    };
    SigningSecret::from_hex(text.trim()).map(Some).ok_or_else(damaged)
}

fn place(paths: &Paths) -> ShownPath {
    paths.shown(&paths.workers_folder().join(SECRET_FILE))
}
