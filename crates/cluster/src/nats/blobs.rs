//! Blobs at the broker: for each worker one bucket with what home sends to it, and one with what it sends. Each blob is named by its
//! SHA-256, checked when it arrives, and kept in numbered chunks, each under a subject of its own.
//!
//! ```text
//!   posse.OWNER.blob.down.WORKER.BLOB.0, .1, …   a byte that says whether it is the last one, then the bytes
//! ```
//!
//! A worker never reads what it has written itself. The broker sends an answer to any subject that it is told to, its own interface
//! included, with rights that nobody checks. So a worker that could store a question, and have it sent, could ask anything in the
//! name of the broker. The first byte of a chunk keeps the files that home passes on from being such a question. What needs no
//! question, such as to empty a bucket, it can still have done: that loses what the broker has, which home and workers send again.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::{PublishAckFuture, PublishErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy};
use async_nats::{Client, StatusCode};
use bytes::{BufMut as _, Bytes, BytesMut};
use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesOrdered;
use ring::digest;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::address::broker_error;
use super::subjects::{BlobWay, Subjects};
use crate::courier::CourierError;
use crate::limits;
use crate::names::{BlobId, WorkerName};

/// How a chunk begins.
const MORE: u8 = 0;
const LAST: u8 = 1;

/// The blobs of one worker in one direction.
#[derive(Clone)]
pub(super) struct Bucket {
    client: Client,
    jetstream: Context,
    stream: String,
    /// What all subjects of its blobs begin with.
    prefix: String,
}

impl Bucket {
    pub(super) fn new(
        (client, jetstream): (&Client, &Context),
        subjects: &Subjects,
        way: BlobWay,
        worker: &WorkerName,
    ) -> Self {
        let (stream, prefix) = (subjects.bucket(way, worker), subjects.blobs(way, worker));
        Self { client: client.clone(), jetstream: jetstream.clone(), stream, prefix }
    }

    /// Makes it if it is missing. Where the broker cannot set as much room aside, it is a smaller one.
    pub(super) async fn make(&self) -> Result<(), CourierError> {
        if self.jetstream.get_stream(&self.stream).await.is_ok() {
            return Ok(());
        }
        let mut max_bytes = limits::BROKER_BUCKET_BYTES_MAX;
        loop {
            let config = Config {
                name: self.stream.clone(),
                subjects: vec![format!("{}.>", self.prefix)],
                max_age: Duration::from_millis(limits::BROKER_BLOB_MS_MAX),
                max_bytes,
                max_messages_per_subject: 1,
                max_message_size: (limits::BROKER_CHUNK_BYTES + limits::BROKER_HEADERS_BYTES) as i32,
                discard: DiscardPolicy::New,
                allow_direct: true,
                ..Config::default()
            };
            match self.jetstream.create_stream(config).await.map_err(broker_error) {
                Err(CourierError::Refused(why)) if max_bytes > limits::BROKER_BUCKET_BYTES_MIN => {
                    tracing::debug!(
                        bucket = self.stream,
                        max_bytes,
                        why,
                        "the broker makes no bucket of this size"
                    );
                    max_bytes /= 4;
                }
                made => return made.map(drop),
            }
        }
    }

    fn subject(&self, id: BlobId, chunk: u64) -> String {
        format!("{}.{id}.{chunk}", self.prefix)
    }

    /// Puts a file that is not there yet, or not whole. The last chunk is sent when the broker has all others.
    pub(super) async fn put(&self, from: &Path) -> Result<BlobId, CourierError> {
        let (id, bytes) = hash(from).await?;
        self.send(from, id, chunks_of(bytes)).await?;
        Ok(id)
    }

    /// The same for one who may read it: what is there is not sent again.
    pub(super) async fn put_once(&self, from: &Path) -> Result<BlobId, CourierError> {
        let (id, bytes) = hash(from).await?;
        let chunks = chunks_of(bytes);
        let is_there = self.chunk(id, 0).await?.is_some() && self.chunk(id, chunks - 1).await?.is_some();
        if !is_there {
            self.send(from, id, chunks).await?;
        }
        Ok(id)
    }

    async fn send(&self, from: &Path, id: BlobId, chunks: u64) -> Result<(), CourierError> {
        let mut file = File::open(from).await?;
        let mut acks: VecDeque<PublishAckFuture> = VecDeque::new();
        for number in 0..chunks {
            let is_last = number + 1 == chunks;
            let mut chunk = BytesMut::with_capacity(limits::BROKER_CHUNK_BYTES + 1);
            chunk.put_u8(if is_last { LAST } else { MORE });
            let mut rest = (&mut file).take(limits::BROKER_CHUNK_BYTES as u64);
            while rest.read_buf(&mut chunk).await? > 0 {}
            let ahead_max = if is_last { 0 } else { limits::BROKER_CHUNKS_AHEAD_MAX };
            while acks.len() > ahead_max {
                acknowledged(acks.pop_front()).await?;
            }
            let sent = self.jetstream.publish(self.subject(id, number), chunk.freeze()).await;
            acks.push_back(sent.map_err(publish_error)?);
        }
        acknowledged(acks.pop_front()).await
    }

    /// One chunk, if it is there.
    async fn chunk(&self, id: BlobId, number: u64) -> Result<Option<Bytes>, CourierError> {
        let subject = format!("$JS.API.DIRECT.GET.{}.{}", self.stream, self.subject(id, number));
        match self.client.request(subject, Bytes::new()).await {
            Ok(answer) if answer.status == Some(StatusCode::NOT_FOUND) => Ok(None),
            Ok(answer) if answer.status.is_some() => {
                Err(CourierError::Refused("the broker does not give a blob".to_owned()))
            }
            Ok(answer) => Ok(Some(answer.payload)),
            Err(error) if error.kind() == RequestErrorKind::NoResponders => Err(no_place()),
            Err(error) => Err(broker_error(error)),
        }
    }

    /// Fetches a blob into a new file. A file that is not whole does not stay.
    pub(super) async fn get(&self, id: BlobId, to: &Path) -> Result<(), CourierError> {
        let mut blob = BrokerBlob::open(self, id).await?;
        let mut file = File::create_new(to).await?;
        let outcome = copy(&mut blob, &mut file).await;
        if outcome.is_err() {
            drop(file);
            tokio::fs::remove_file(to).await?;
        }
        if let Err(CourierError::BadBlob(_)) = outcome {
            self.remove(id).await?;
        }
        outcome
    }

    /// Removes a blob, if it is there.
    pub(super) async fn remove(&self, id: BlobId) -> Result<(), CourierError> {
        let stream = self.jetstream.get_stream_no_info(&self.stream).await.map_err(broker_error)?;
        match stream.purge().filter(format!("{}.{id}.>", self.prefix)).await {
            Err(error) if !error.to_string().contains("stream not found") => Err(broker_error(error)),
            _ => Ok(()),
        }
    }
}

fn chunks_of(bytes: u64) -> u64 {
    bytes.div_ceil(limits::BROKER_CHUNK_BYTES as u64).max(1)
}

async fn acknowledged(ack: Option<PublishAckFuture>) -> Result<(), CourierError> {
    match ack {
        Some(ack) => ack.await.map(drop).map_err(publish_error),
        None => Ok(()),
    }
}

fn publish_error(error: async_nats::jetstream::context::PublishError) -> CourierError {
    match error.kind() {
        PublishErrorKind::StreamNotFound => no_place(),
        _ => broker_error(error),
    }
}

/// It is made when home is there.
fn no_place() -> CourierError {
    CourierError::Down("the broker has no place for blobs".to_owned())
}

async fn hash(from: &Path) -> Result<(BlobId, u64), CourierError> {
    let bytes = tokio::fs::metadata(from).await?.len();
    if bytes > limits::BLOB_BYTES_MAX {
        return Err(CourierError::BlobTooLarge { bytes, max: limits::BLOB_BYTES_MAX });
    }
    let file = from.to_owned();
    let named = tokio::task::spawn_blocking(move || BlobId::of_file(&file)).await;
    Ok((named.map_err(std::io::Error::other)??, bytes))
}

type Asked = FuturesOrdered<BoxFuture<'static, Result<Option<Bytes>, CourierError>>>;

/// A blob that is on its way. Several of its chunks are asked for at a time.
pub(super) struct BrokerBlob {
    bucket: Bucket,
    id: BlobId,
    ready: Option<Bytes>,
    asked: Asked,
    next: u64,
    bytes: u64,
    is_over: bool,
}

impl BrokerBlob {
    pub(super) async fn open(bucket: &Bucket, id: BlobId) -> Result<Self, CourierError> {
        let first = bucket.chunk(id, 0).await?.ok_or(CourierError::NoBlob(id))?;
        let (bucket, asked) = (bucket.clone(), Asked::new());
        Ok(Self { bucket, id, ready: Some(first), asked, next: 1, bytes: 0, is_over: false })
    }

    /// The next bytes; none at the end. A blob that stands still, or is too large, is an error.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>, CourierError> {
        if self.is_over {
            return Ok(None);
        }
        let chunk = match self.ready.take() {
            Some(first) => Some(first),
            None => self.asked.next().await.transpose()?.flatten(),
        };
        let mut chunk = chunk.ok_or(CourierError::BadBlob(self.id))?;
        let mark = (!chunk.is_empty()).then(|| chunk.split_to(1)[0]);
        self.is_over = mark == Some(LAST);
        if !self.is_over && (mark != Some(MORE) || chunk.len() != limits::BROKER_CHUNK_BYTES) {
            return Err(CourierError::BadBlob(self.id));
        }
        self.bytes = self.bytes.saturating_add(chunk.len() as u64);
        if self.bytes > limits::BLOB_BYTES_MAX {
            return Err(CourierError::BlobTooLarge { bytes: self.bytes, max: limits::BLOB_BYTES_MAX });
        }
        while !self.is_over && self.asked.len() < limits::BROKER_CHUNKS_AHEAD_MAX {
            let (bucket, id, number) = (self.bucket.clone(), self.id, self.next);
            self.asked.push_back(Box::pin(async move { bucket.chunk(id, number).await }));
            self.next += 1;
        }
        Ok(Some(chunk))
    }
}

async fn copy(blob: &mut BrokerBlob, file: &mut File) -> Result<(), CourierError> {
    let mut hash = digest::Context::new(&digest::SHA256);
    while let Some(piece) = blob.next().await? {
        hash.update(&piece);
        file.write_all(&piece).await?;
    }
    file.flush().await?;
    match BlobId::of_digest(&hash.finish()) == Some(blob.id) {
        true => Ok(()),
        false => Err(CourierError::BadBlob(blob.id)),
    }
}
