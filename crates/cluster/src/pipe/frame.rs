//! Frames: a length of four bytes, a kind of one byte, and the rest. A frame that is too long or makes no sense ends its pipe,
//! and costs no more memory than what was really sent.

use std::collections::BTreeSet;
use std::io;

use bytes::{BufMut, Bytes, BytesMut};
use posse_protocol::AgentId;
use tokio::io::{AsyncRead, AsyncReadExt};

use crate::limits;
use crate::names::{BlobId, LabelName, WorkerName};
use crate::offer_book::OfferKey;

/// What both sides begin with. Home looks for it behind whatever a login prints.
pub(super) const MAGIC: &[u8; 14] = b"\0posse pipe 1\n";

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PipeFrame {
    /// The worker's first: who it is.
    Greeting(WorkerName),
    /// A message, either way.
    Message(Bytes),
    /// The worker wants an offer for these labels.
    Want(BTreeSet<LabelName>),
    /// It does not any more.
    Unwant,
    /// An offer for the worker.
    Offer(OfferKey, Bytes),
    /// The worker has used an offer up.
    Done(OfferKey),
    /// The worker gives an offer back.
    GiveBack(OfferKey),
    /// An offer arrived when the worker did not want one any more.
    Unused(OfferKey),
    /// Asks for a blob.
    BlobWant(BlobId),
    /// There is no such blob.
    BlobMissing(BlobId),
    /// A blob of so many bytes begins.
    BlobBegin(BlobId, u64),
    /// The next bytes of it.
    BlobPart(BlobId, Bytes),
    /// It is complete.
    BlobEnd(BlobId),
    /// It has arrived, and is what its name says.
    BlobStored(BlobId),
    /// It is not taken.
    BlobRefused(BlobId),
}

/// The longest frame: a message, or an offer with its key.
const FRAME_BYTES: usize = limits::MESSAGE_BYTES_MAX + 64;
const KEY_BYTES: usize = 32;

impl PipeFrame {
    fn kind(&self) -> u8 {
        match self {
            Self::Greeting(_) => 1,
            Self::Message(_) => 2,
            Self::Want(_) => 3,
            Self::Unwant => 4,
            Self::Offer(..) => 5,
            Self::Done(_) => 6,
            Self::GiveBack(_) => 7,
            Self::BlobWant(_) => 8,
            Self::BlobMissing(_) => 9,
            Self::BlobBegin(..) => 10,
            Self::BlobPart(..) => 11,
            Self::BlobEnd(_) => 12,
            Self::BlobStored(_) => 13,
            Self::BlobRefused(_) => 14,
            Self::Unused(_) => 15,
        }
    }

    /// What is written before the bytes of [`PipeFrame::tail`].
    pub(super) fn head(&self) -> io::Result<BytesMut> {
        let mut body = BytesMut::new();
        match self {
            Self::Greeting(name) => body.put_slice(name.as_str().as_bytes()),
            Self::Want(labels) => body.put_slice(&serde_json::to_vec(labels)?),
            Self::Offer(key, _) | Self::Done(key) | Self::GiveBack(key) | Self::Unused(key) => {
                put_key(&mut body, key)
            }
            Self::BlobBegin(id, bytes) => {
                body.put_slice(id.bytes());
                body.put_u64(*bytes);
            }
            Self::BlobWant(id)
            | Self::BlobMissing(id)
            | Self::BlobPart(id, _)
            | Self::BlobEnd(id)
            | Self::BlobStored(id)
            | Self::BlobRefused(id) => body.put_slice(id.bytes()),
            Self::Message(_) | Self::Unwant => {}
        }
        let length = 1 + body.len() + self.tail().map_or(0, Bytes::len);
        if length > FRAME_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the frame is too long"));
        }
        let mut head = BytesMut::with_capacity(5 + body.len());
        head.put_u32(u32::try_from(length).map_err(io::Error::other)?);
        head.put_u8(self.kind());
        head.extend_from_slice(&body);
        Ok(head)
    }

    /// The bytes that are carried as they are.
    pub(super) fn tail(&self) -> Option<&Bytes> {
        match self {
            Self::Message(bytes) | Self::Offer(_, bytes) | Self::BlobPart(_, bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Reads the next frame; none at the end of the stream.
    pub(super) async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<Self>> {
        let mut length = [0; 4];
        match from.read(&mut length[..1]).await? {
            0 => return Ok(None),
            _ => from.read_exact(&mut length[1..]).await?,
        };
        let length = usize::try_from(u32::from_be_bytes(length)).map_err(io::Error::other)?;
        if length == 0 || length > FRAME_BYTES {
            return Err(bad("a frame has a bad length"));
        }
        // Memory grows with what arrives, not with what is announced.
        let mut body = Vec::with_capacity(length.min(limits::READ_BYTES));
        from.take(length as u64).read_to_end(&mut body).await?;
        if body.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Self::parse(Bytes::from(body)).map(Some)
    }

    fn parse(mut body: Bytes) -> io::Result<Self> {
        let kind = body.split_to(1);
        Ok(match kind.first() {
            Some(1) => {
                let name = std::str::from_utf8(&body).map_err(|_| bad("a name is not text"))?;
                Self::Greeting(name.parse().map_err(|_| bad("a greeting has a bad name"))?)
            }
            Some(2) => Self::Message(body),
            Some(3) => {
                let labels: BTreeSet<LabelName> = serde_json::from_slice(&body)?;
                if labels.len() > limits::LABELS_MAX {
                    return Err(bad("a worker has too many labels"));
                }
                Self::Want(labels)
            }
            Some(4) if body.is_empty() => Self::Unwant,
            Some(5) => Self::Offer(take_key(&mut body)?, body),
            Some(6) => Self::Done(only(take_key(&mut body)?, &body)?),
            Some(7) => Self::GiveBack(only(take_key(&mut body)?, &body)?),
            Some(8) => Self::BlobWant(only(take_id(&mut body)?, &body)?),
            Some(9) => Self::BlobMissing(only(take_id(&mut body)?, &body)?),
            Some(10) => {
                let id = take_id(&mut body)?;
                let bytes = body.as_ref().try_into().map_err(|_| bad("a frame has a bad length"))?;
                Self::BlobBegin(id, u64::from_be_bytes(bytes))
            }
            Some(11) => Self::BlobPart(take_id(&mut body)?, body),
            Some(12) => Self::BlobEnd(only(take_id(&mut body)?, &body)?),
            Some(13) => Self::BlobStored(only(take_id(&mut body)?, &body)?),
            Some(14) => Self::BlobRefused(only(take_id(&mut body)?, &body)?),
            Some(15) => Self::Unused(only(take_key(&mut body)?, &body)?),
            _ => return Err(bad("a frame has an unknown kind")),
        })
    }
}

fn put_key(body: &mut BytesMut, key: &OfferKey) {
    body.put_slice(&key.agent.bytes());
    body.put_u64(key.epoch);
    body.put_u64(key.attempt);
}

fn take_key(body: &mut Bytes) -> io::Result<OfferKey> {
    let parts = || -> Option<([u8; 16], [u8; 8], [u8; 8])> {
        let agent = body.get(..16)?.try_into().ok()?;
        Some((agent, body.get(16..24)?.try_into().ok()?, body.get(24..KEY_BYTES)?.try_into().ok()?))
    };
    let (agent, epoch, attempt) = parts().ok_or_else(|| bad("a frame is too short"))?;
    let agent = agent_of(agent)?;
    let _ = body.split_to(KEY_BYTES);
    Ok(OfferKey { agent, epoch: u64::from_be_bytes(epoch), attempt: u64::from_be_bytes(attempt) })
}

/// An agent's id from its bytes, by way of its text.
fn agent_of(bytes: [u8; 16]) -> io::Result<AgentId> {
    let text = format!("{:032x}", u128::from_be_bytes(bytes));
    text.parse().map_err(|_| bad("an agent has a bad id"))
}

fn take_id(body: &mut Bytes) -> io::Result<BlobId> {
    let id: [u8; 32] = match body.get(..32).map(TryInto::try_into) {
        Some(Ok(id)) => id,
        _ => return Err(bad("a frame is too short")),
    };
    let _ = body.split_to(32);
    Ok(BlobId::from(id))
}

fn only<T>(value: T, rest: &Bytes) -> io::Result<T> {
    if rest.is_empty() { Ok(value) } else { Err(bad("a frame is too long")) }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
