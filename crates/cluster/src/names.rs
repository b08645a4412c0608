//! The names of owners, homes, workers, labels, runs and blobs, checked when they are made: each fits into a file name and into
//! one word of a broker's subject. They must not mean anything beyond that.

use std::fmt;
use std::str::FromStr;

use posse_protocol::SessionId;
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use crate::limits;

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is not a name: letters, digits, - and _ are allowed, at most 63, and - not first")]
pub struct BadName {
    /// What was given, shortened.
    pub text: String,
}

fn checked(text: &str) -> Result<String, BadName> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    let is_good = !text.is_empty()
        && text.len() <= limits::NAME_BYTES_MAX
        && text.bytes().all(plain)
        && !text.starts_with('-');
    match is_good {
        true => Ok(text.to_owned()),
        false => Err(BadName { text: text.chars().take(limits::NAME_BYTES_MAX).collect() }),
    }
}

macro_rules! names {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// As text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadName;

            fn from_str(text: &str) -> Result<Self, BadName> {
                checked(text).map(Self)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;

            fn try_from(text: String) -> Result<Self, BadName> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
    )*};
}

names! {
    /// Whose sessions and workers these are. All that share a secret have the same.
    OwnerName;
    /// Where the letters of one session's agents go. A process that continues the session answers to the same name, so
    /// workers need not know which process that is.
    HomeName;
    /// One worker. Two processes never use the same name at the same time.
    WorkerName;
    /// Something that a worker has and a task may want.
    LabelName;
    /// One run of an agent by one worker: made anew for each claim, and never used twice.
    RunId;
}

impl HomeName {
    /// The home of a session.
    pub fn of_session(session: SessionId) -> Self {
        Self(session.to_string())
    }
}

impl RunId {
    /// A new one. None if the system has no randomness.
    pub fn random() -> Option<Self> {
        let mut bytes = [0; 16];
        SystemRandom::new().fill(&mut bytes).ok()?;
        Some(Self(hex(&bytes)))
    }
}

/// The SHA-256 of a blob.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct BlobId([u8; 32]);

impl BlobId {
    /// The blob with this digest.
    pub fn of_digest(digest: &ring::digest::Digest) -> Option<Self> {
        digest.as_ref().try_into().ok().map(Self)
    }

    /// The blob with these bytes.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        Self::of_digest(&ring::digest::digest(&ring::digest::SHA256, bytes))
    }

    /// The blob that a file would be.
    pub(crate) fn of_file(path: &std::path::Path) -> std::io::Result<Self> {
        let mut file = std::fs::File::open(path)?;
        let mut hash = ring::digest::Context::new(&ring::digest::SHA256);
        let mut piece = vec![0; limits::READ_BYTES];
        loop {
            match std::io::Read::read(&mut file, &mut piece)? {
                0 => break,
                count => hash.update(&piece[..count]),
            }
        }
        Self::of_digest(&hash.finish()).ok_or_else(|| std::io::Error::other("a blob has no digest"))
    }

    /// Its 32 bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for BlobId {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlobId({self})")
    }
}

/// A text is not the name of a blob.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a blob's name has 64 hexadecimal digits")]
pub struct BadBlobId;

impl FromStr for BlobId {
    type Err = BadBlobId;

    fn from_str(text: &str) -> Result<Self, BadBlobId> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 32 || !rest.is_empty() {
            return Err(BadBlobId);
        }
        let mut bytes = [0; 32];
        for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
            let (Some(high), Some(low)) = (digit(*high), digit(*low)) else { return Err(BadBlobId) };
            *byte = high << 4 | low;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for BlobId {
    type Error = BadBlobId;

    fn try_from(text: String) -> Result<Self, BadBlobId> {
        text.parse()
    }
}

impl From<BlobId> for String {
    fn from(id: BlobId) -> Self {
        id.to_string()
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = |byte: &u8| [DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]];
    bytes.iter().flat_map(digits).map(char::from).collect()
}
