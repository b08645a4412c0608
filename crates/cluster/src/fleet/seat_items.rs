//! Items that are too long for a letter: each is a blob, which is fetched and read beside the seat, before its letter counts. Of each
//! worker one letter at a time: what it names is in memory until it is on record. It must not know leases.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use posse_engine::remote::HostedItem;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::seat_files::{SeatFiles, Way};
use crate::bodies::{Contents, ItemBody, RunResult, WireItem, read, read_within, unreadable};
use crate::courier::CourierError;
use crate::letter_room::Room;
use crate::limits;
use crate::message::RunUp;
use crate::names::BlobId;

/// What has to be there before a letter counts.
pub(super) enum LetterNeeds {
    /// The items of a letter that are blobs, in order.
    Items(Vec<BlobId>),
    /// The work of a run that has ended.
    Result(BlobId),
}

impl LetterNeeds {
    /// What a letter needs, and the epoch that it is about. Items that were taken already are repeated.
    pub(super) fn of(said: &RunUp, taken: u64) -> Option<(u64, Self)> {
        match said {
            // What comes before these is missing, and they come again after that.
            RunUp::Items { first, .. } if *first > taken + 1 => None,
            RunUp::Items { epoch, first, items } => {
                let known = usize::try_from((taken + 1).saturating_sub(*first)).unwrap_or(usize::MAX);
                let blobs: Vec<BlobId> = items.iter().skip(known).filter_map(|item| blob_of(item)).collect();
                (!blobs.is_empty()).then_some((*epoch, Self::Items(blobs)))
            }
            RunUp::Final { epoch, aside: false, result, .. } => {
                let bundle = read::<RunResult>(result).ok()?.bundle?;
                Some((*epoch, Self::Result(bundle)))
            }
            _ => None,
        }
    }

    /// Fetches and reads it. The error names a blob that the courier has lost.
    pub(super) async fn arrive(self, files: SeatFiles, way: Way) -> Result<Arrived, BlobId> {
        match self {
            Self::Items(blobs) => items_of(&files, &way, blobs).await,
            Self::Result(blob) => {
                let bundle = Some((blob, found(blob, files.fetch(&way, blob).await)?));
                Ok(Arrived { bundle, ..Arrived::default() })
            }
        }
    }
}

fn blob_of(item: &RawValue) -> Option<BlobId> {
    match read(item) {
        Ok(ItemBody::Blob(blob)) => Some(blob),
        _ => None,
    }
}

/// A file that goes with this.
struct Fetched(PathBuf);

impl Drop for Fetched {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn found(blob: BlobId, fetched: Result<PathBuf, CourierError>) -> Result<Result<Fetched, String>, BlobId> {
    match fetched {
        Err(CourierError::NoBlob(_)) => Err(blob),
        fetched => {
            Ok(fetched.map(Fetched).map_err(|error| format!("what it sent cannot be fetched: {error}")))
        }
    }
}

/// Reads as many as are taken at once; the others come again.
async fn items_of(files: &SeatFiles, way: &Way, blobs: Vec<BlobId>) -> Result<Arrived, BlobId> {
    let mut arrived = Arrived { turn: files.turn(&way.worker).await, ..Arrived::default() };
    if arrived.turn.is_none() {
        return Ok(arrived);
    }
    let mut left_bytes = limits::ITEM_BLOB_BYTES_MAX;
    for blob in blobs {
        let fetched = match found(blob, files.fetch(way, blob).await) {
            Err(_) if !arrived.items.is_empty() => break,
            fetched => fetched?,
        };
        let bytes = fetched.as_ref().ok().and_then(|file| std::fs::metadata(&file.0).ok());
        let bytes = bytes.map_or(0, |about| about.len());
        if bytes > left_bytes && !arrived.items.is_empty() {
            break;
        }
        left_bytes = left_bytes.saturating_sub(bytes);
        let turn = arrived.turn.take();
        // What it takes counts until it has been read, also if nobody waits for that any more.
        let done = tokio::task::spawn_blocking(move || {
            let item = fetched.and_then(|file| ReadItem::of_file(&file.0));
            (item, turn)
        });
        let (item, turn) = done.await.unwrap_or_else(|error| (Err(error.to_string()), None));
        arrived.turn = turn;
        let is_bad = item.is_err();
        arrived.items.push_back((blob, item));
        if is_bad {
            break;
        }
    }
    Ok(arrived)
}

/// What was fetched for a letter, before it counts.
#[derive(Default)]
pub(super) struct Arrived {
    /// Its items that are blobs, in order.
    items: VecDeque<(BlobId, Result<ReadItem, String>)>,
    bundle: Option<(BlobId, Result<Fetched, String>)>,
    /// The turn of its worker, until all of it is on record.
    turn: Option<Room>,
}

impl Arrived {
    /// Leaves out the items that were not fetched, and all behind them: they come again.
    pub(super) fn cut(&self, said: &mut RunUp, taken: u64) {
        let RunUp::Items { first, items, .. } = said else { return };
        let known = usize::try_from((taken + 1).saturating_sub(*first)).unwrap_or(usize::MAX);
        let mut blobs = items.iter().enumerate().skip(known).filter(|(_, item)| blob_of(item).is_some());
        if let Some((place, _)) = blobs.nth(self.items.len()) {
            items.truncate(place);
        }
    }

    /// The next item that is a blob.
    pub(super) fn next_item(&mut self, blob: BlobId) -> Result<ReadItem, String> {
        match self.items.pop_front() {
            Some((known, item)) if known == blob => item,
            _ => Err("what it sent is not there".to_owned()),
        }
    }

    /// The work of a run, as a file that is the caller's from now on.
    pub(super) fn take_bundle(&mut self, blob: BlobId) -> Result<PathBuf, String> {
        let (_, fetched) =
            self.bundle.take_if(|(known, _)| *known == blob).ok_or("what it sent is not there")?;
        let mut fetched = fetched?;
        Ok(std::mem::take(&mut fetched.0))
    }

    pub(super) fn take_turn(&mut self) -> Option<Room> {
        self.turn.take()
    }
}

/// An item, and the contents of the files that it names.
pub(super) struct ReadItem {
    pub(super) item: HostedItem,
    pub(super) contents: Contents,
    /// What it takes beside these contents.
    pub(super) told_bytes: u64,
}

/// An item in a blob. What is long in it stays where it was read.
#[derive(Deserialize)]
struct BlobItem<'a> {
    #[serde(borrow)]
    item: &'a RawValue,
    /// By SHA-256, as base64.
    #[serde(borrow, default)]
    contents: BTreeMap<&'a str, &'a str>,
}

impl ReadItem {
    /// One that was in the letter itself, with so many bytes.
    pub(super) fn of_letter(wire: WireItem, bytes: usize) -> Result<Self, String> {
        let told_bytes = (bytes as u64).saturating_sub(wire.contents_bytes());
        let (item, contents) = wire.opened().ok_or("a file in a message cannot be read")?;
        Ok(Self { item, contents, told_bytes })
    }

    fn of_file(path: &Path) -> Result<Self, String> {
        let bytes = read_within(path, limits::ITEM_BLOB_BYTES_MAX);
        let bytes = bytes.map_err(|why| format!("what it sent cannot be read: {why}"))?;
        let BlobItem { item, contents } =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(&error))?;
        let told_bytes = item.get().len() as u64;
        if told_bytes > limits::SAID_BYTES_MAX {
            return Err(format!("what it told is longer than {} bytes", limits::SAID_BYTES_MAX));
        }
        let decode = |(name, text): (&str, &str)| Some((name.to_owned(), BASE64_STANDARD.decode(text).ok()?));
        let contents = contents.into_iter().map(decode).collect::<Option<Contents>>();
        let contents = contents.ok_or("a file in a message cannot be read")?;
        Ok(Self { item: read(item)?, contents, told_bytes })
    }
}
