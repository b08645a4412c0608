//! The secret that lets somebody in: made at random, kept in a file of its owner, and compared in the same time whatever it
//! is compared with.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use posse_setup::create_new_private;
use sha2::{Digest as _, Sha256};

use crate::limits::{SECRET_FILE_BYTES_MAX, TOKEN_BYTES};

/// A token. It prints as nothing.
#[derive(Clone)]
pub struct AccessToken {
    text: String,
    digest: [u8; 32],
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AccessToken")
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// A file cannot be read or written.
    #[error("the token file {0} cannot be used: {1}")]
    File(String, io::Error),
    /// Others can read the file.
    #[error("others than you can read {0}; `chmod 600` it, or let posse make a new one")]
    NotPrivate(String),
    /// It is no token.
    #[error("{0} holds no token: 64 hexadecimal digits are wanted")]
    NotAToken(String),
    /// The system has no random numbers.
    #[error("no random numbers are to be had: {0}")]
    Random(io::Error),
}

impl AccessToken {
    /// A new one.
    pub fn random() -> Result<Self, TokenError> {
        Ok(Self::of(hex(&random::<TOKEN_BYTES>().map_err(TokenError::Random)?)))
    }

    /// The one in a file, which is made with a new one where it is missing. Others must not be able to read it.
    pub fn in_file(path: &Path) -> Result<Self, TokenError> {
        let name = || path.display().to_string();
        let failed = |error| TokenError::File(name(), error);
        match create_new_private(path) {
            Ok(mut file) => {
                let token = Self::random()?;
                writeln!(file, "{}", token.text).map_err(failed)?;
                return Ok(token);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(error)),
        }
        let file = std::fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !is_private(&metadata) {
            return Err(TokenError::NotPrivate(name()));
        }
        let mut text = String::new();
        file.take(SECRET_FILE_BYTES_MAX).read_to_string(&mut text).map_err(failed)?;
        let text = text.trim().to_ascii_lowercase();
        let is_token = text.len() == 2 * TOKEN_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        if is_token { Ok(Self::of(text)) } else { Err(TokenError::NotAToken(name())) }
    }

    fn of(text: String) -> Self {
        let digest = Sha256::digest(text.as_bytes()).into();
        Self { text, digest }
    }

    /// Whether somebody has said it. Digests are compared, all of them, so that time tells nothing.
    pub fn is(&self, said: &str) -> bool {
        let other: [u8; 32] = Sha256::digest(said.as_bytes()).into();
        let differing = self.digest.iter().zip(other).fold(0, |all, (one, two)| all | (one ^ two));
        std::hint::black_box(differing) == 0
    }

    /// The token itself, for the link and the file.
    pub fn reveal(&self) -> &str {
        &self.text
    }
}

/// A name that nobody guesses.
pub(crate) fn random_name() -> io::Result<String> {
    Ok(hex(&random::<16>()?))
}

fn random<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| io::Error::other("the system gives none"))?;
    Ok(bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
pub(crate) fn is_private(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    metadata.is_file() && metadata.mode() & 0o077 == 0
}

#[cfg(not(unix))]
pub(crate) fn is_private(metadata: &std::fs::Metadata) -> bool {
    metadata.is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = AccessToken::random().unwrap();
        assert_eq!(token.reveal().len(), 64);
        assert!(token.is(token.reveal()));
        for other in ["", "x", &token.reveal()[1..], &format!("{} ", token.reveal()), &"0".repeat(64)] {
            assert!(!token.is(other), "{other:?}");
        }
        assert_ne!(token.reveal(), AccessToken::random().unwrap().reveal());
        assert_eq!(format!("{token:?}"), "AccessToken", "it is in no log");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_a_token_for_its_owner_alone() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        let token = AccessToken::in_file(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(AccessToken::in_file(&path).unwrap().is(token.reveal()));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(AccessToken::in_file(&path), Err(TokenError::NotPrivate(_))));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short").unwrap();
        assert!(matches!(AccessToken::in_file(&path), Err(TokenError::NotAToken(_))));
    }
}
