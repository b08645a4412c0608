//! Signs and checks what home and workers say, with a secret that they share: HMAC-SHA256 over the exact bytes.
//!
//! The direction and the owner are part of what is signed, and the worker, the agent and the run are inside the bytes; the worker
//! is compared here with the channel that a message came by, since workers share the secret. So nothing can be passed off as another owner's, sent back, or given to another worker. What is sent again as
//! it was is a repetition, which the lease machines ignore.
//!
//! It must not know couriers. A secret is never shown.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use ring::hmac;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::limits;
use crate::message::{CLUSTER_VERSION, Down, TaskOffer, Up};
use crate::names::{OwnerName, WorkerName};

const TAG_BYTES: usize = 32;

/// What an owner's homes and workers share.
#[derive(Clone)]
pub struct OwnerSecret(hmac::Key);

impl OwnerSecret {
    /// From its bytes.
    pub fn new(bytes: &[u8]) -> Result<Self, SealError> {
        match bytes.len() >= limits::SECRET_BYTES_MIN {
            true => Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))),
            false => Err(SealError::ShortSecret),
        }
    }
}

impl fmt::Debug for OwnerSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnerSecret(…)")
    }
}

/// Why a message was not written or not accepted.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say it
pub enum SealError {
    #[error("the secret is shorter than {} bytes", limits::SECRET_BYTES_MIN)]
    ShortSecret,
    #[error("the message is longer than {} bytes", limits::MESSAGE_BYTES_MAX)]
    TooLong,
    #[error("the message is not signed with the owner's secret")]
    BadSignature,
    #[error("the message is of version {0}, and this is version {CLUSTER_VERSION}")]
    OtherVersion(u16),
    #[error("the message is of or for another owner or worker")]
    NotForUs,
    #[error("the message cannot be read: {0}")]
    Unreadable(#[from] serde_json::Error),
}

/// Signs and opens messages of one owner, and counts those that were not accepted.
#[derive(Debug)]
pub struct Seal {
    owner: OwnerName,
    secret: OwnerSecret,
    refused: AtomicU64,
}

#[derive(Clone, Copy)]
enum LetterKind {
    Offer,
    Up,
    Down,
}

impl LetterKind {
    fn label(self) -> &'static str {
        match self {
            Self::Offer => "posse cluster 1 offer",
            Self::Up => "posse cluster 1 up",
            Self::Down => "posse cluster 1 down",
        }
    }
}

impl Seal {
    /// For one owner.
    pub fn new(owner: OwnerName, secret: OwnerSecret) -> Self {
        Self { owner, secret, refused: AtomicU64::new(0) }
    }

    /// Whose messages these are.
    pub fn owner(&self) -> &OwnerName {
        &self.owner
    }

    /// How many messages were not accepted.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// An offer, ready to be carried.
    pub fn seal_offer(&self, offer: &TaskOffer) -> Result<Bytes, SealError> {
        self.seal(LetterKind::Offer, offer)
    }

    /// Words of a worker, ready to be carried.
    pub fn seal_up(&self, up: &Up) -> Result<Bytes, SealError> {
        self.seal(LetterKind::Up, up)
    }

    /// Words of home, ready to be carried.
    pub fn seal_down(&self, down: &Down) -> Result<Bytes, SealError> {
        self.seal(LetterKind::Down, down)
    }

    /// An offer that came.
    pub fn open_offer(&self, letter: &[u8]) -> Result<TaskOffer, SealError> {
        let opened = self
            .open(LetterKind::Offer, letter, |offer: &TaskOffer| (offer.version, offer.owner == self.owner));
        self.counted(opened)
    }

    /// Words of a worker that came by that worker's channel. All workers have the secret, so a signature says only that one of
    /// them wrote it; in the name of another it is refused.
    pub fn open_up(&self, letter: &[u8], from: &WorkerName) -> Result<Up, SealError> {
        let opened = self.open(LetterKind::Up, letter, |up: &Up| (up.version, up.worker == *from));
        self.counted(opened)
    }

    /// The worker that says something in another version of these messages, and which version that is. Nothing else of it is read.
    pub fn other_version(&self, letter: &[u8]) -> Option<(WorkerName, u16)> {
        let said: Envelope = serde_json::from_slice(self.signed(LetterKind::Up, letter).ok()?).ok()?;
        Some((said.worker?, said.version)).filter(|(_, version)| *version != CLUSTER_VERSION)
    }

    /// Words of home that came to this worker.
    pub fn open_down(&self, letter: &[u8], own: &WorkerName) -> Result<Down, SealError> {
        let opened = self.open(LetterKind::Down, letter, |down: &Down| (down.version, down.worker == *own));
        self.counted(opened)
    }

    fn counted<T>(&self, opened: Result<T, SealError>) -> Result<T, SealError> {
        if opened.is_err() {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        opened
    }

    fn seal(&self, kind: LetterKind, what: &impl Serialize) -> Result<Bytes, SealError> {
        let payload = serde_json::to_vec(what)?;
        if payload.len() + TAG_BYTES > limits::MESSAGE_BYTES_MAX {
            return Err(SealError::TooLong);
        }
        let tag = hmac::sign(&self.secret.0, &signed_bytes(kind, &self.owner, &payload));
        let mut letter = BytesMut::with_capacity(TAG_BYTES + payload.len());
        letter.put_slice(tag.as_ref());
        letter.put_slice(&payload);
        Ok(letter.freeze())
    }

    /// `about` gives the version, and whether the message is for us.
    fn open<T: DeserializeOwned>(
        &self,
        kind: LetterKind,
        letter: &[u8],
        about: impl Fn(&T) -> (u16, bool),
    ) -> Result<T, SealError> {
        let payload = self.signed(kind, letter)?;
        let opened: T = serde_json::from_slice(payload).map_err(|error| {
            // Another version may look quite different. That is said first.
            match serde_json::from_slice::<Envelope>(payload) {
                Ok(said) if said.version != CLUSTER_VERSION => SealError::OtherVersion(said.version),
                _ => SealError::Unreadable(error),
            }
        })?;
        match about(&opened) {
            (version, _) if version != CLUSTER_VERSION => Err(SealError::OtherVersion(version)),
            (_, false) => Err(SealError::NotForUs),
            (_, true) => Ok(opened),
        }
    }

    /// What was signed, if it was.
    fn signed<'a>(&self, kind: LetterKind, letter: &'a [u8]) -> Result<&'a [u8], SealError> {
        if letter.len() > limits::MESSAGE_BYTES_MAX {
            return Err(SealError::TooLong);
        }
        let (tag, payload) = letter.split_at_checked(TAG_BYTES).ok_or(SealError::BadSignature)?;
        let message = signed_bytes(kind, &self.owner, payload);
        hmac::verify(&self.secret.0, &message, tag).map_err(|_| SealError::BadSignature)?;
        Ok(payload)
    }
}

/// What all versions have in common.
#[derive(Deserialize)]
struct Envelope {
    version: u16,
    #[serde(default)]
    worker: Option<WorkerName>,
}

/// What is signed. Names have no zero bytes, so nothing can be shifted from one part to another.
fn signed_bytes(kind: LetterKind, owner: &OwnerName, payload: &[u8]) -> Vec<u8> {
    [kind.label().as_bytes(), b"\0", owner.as_str().as_bytes(), b"\0", payload].concat()
}
