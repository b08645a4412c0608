//! How much of what each worker has said may wait to be read at home. Somebody who floods home loses letters of their own, and costs
//! neither memory without end nor letters of others. The leases send again what was lost.
//!
//! It must not know couriers, and of letters only how large they may be.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use posse_protocol::AgentId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::limits;
use crate::message::RunUp;
use crate::names::WorkerName;

/// The room of one letter; dropped, it is free again.
pub(crate) type Room = OwnedSemaphorePermit;

/// The room that each of several has, by whom or what it is for.
#[derive(Debug)]
pub(crate) struct LetterRoom<K> {
    bytes_max: usize,
    /// What a letter counts for at least, so that their number is limited, too.
    counted_min: usize,
    rooms: Mutex<HashMap<K, Arc<Semaphore>>>,
}

impl LetterRoom<WorkerName> {
    /// For letters that a courier has, and nobody has read.
    pub(crate) fn of_courier() -> Self {
        Self::new(limits::COURIER_WAITING_BYTES_MAX, limits::COURIER_LETTERS_MAX)
    }

    /// For long requests of its agents that wait for an answer.
    pub(crate) fn of_requests() -> Self {
        Self::new(limits::ASKED_WAITING_BYTES_MAX, limits::COURIER_LETTERS_MAX)
    }

    /// Turns: one letter of each worker at a time, however short it is.
    pub(crate) fn of_turns() -> Self {
        Self::new(1, 1)
    }
}

impl<K: Clone + Eq + Hash> LetterRoom<K> {
    fn new(bytes_max: usize, letters_max: usize) -> Self {
        Self { bytes_max, counted_min: bytes_max / letters_max, rooms: Mutex::default() }
    }

    /// Room for a letter, if there is some now.
    pub(crate) fn try_take(&self, of: &K, bytes: usize) -> Option<Room> {
        self.room(of)?.try_acquire_many_owned(self.counted(bytes)?).ok()
    }

    /// Room for a letter, once there is some; none if there never is.
    pub(crate) async fn take(&self, of: &K, bytes: usize) -> Option<Room> {
        let counted = self.counted(bytes)?;
        self.room(of)?.acquire_many_owned(counted).await.ok()
    }

    fn counted(&self, bytes: usize) -> Option<u32> {
        let counted = bytes.max(self.counted_min);
        u32::try_from(counted).ok().filter(|_| counted <= self.bytes_max)
    }

    fn room(&self, of: &K) -> Option<Arc<Semaphore>> {
        let mut rooms = self.rooms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(room) = rooms.get(of) {
            return Some(Arc::clone(room));
        }
        if rooms.len() >= limits::LETTER_ROOMS_MAX {
            // Each letter that waits holds on to the room that it is in.
            rooms.retain(|_, room| Arc::strong_count(room) > 1);
        }
        if rooms.len() >= limits::LETTER_ROOMS_MAX {
            return None;
        }
        let room = Arc::new(Semaphore::new(self.bytes_max));
        rooms.insert(of.clone(), Arc::clone(&room));
        Some(room)
    }
}

/// Room for letters that were read and wait for their agents: a worker has so much, and not all of it for one agent. An agent that is
/// slow costs those beside it no letters. What keeps leases is short and has room of its own.
#[derive(Debug)]
pub(crate) struct SeatRoom {
    long: KindRoom,
    short: KindRoom,
}

#[derive(Debug)]
struct KindRoom {
    worker: LetterRoom<WorkerName>,
    agent: LetterRoom<(WorkerName, AgentId)>,
}

impl Default for SeatRoom {
    fn default() -> Self {
        let (long, short) = (limits::SEAT_WAITING_BYTES_MAX, limits::SHORT_WAITING_BYTES_MAX);
        let of = |bytes_max: usize| KindRoom {
            worker: LetterRoom::new(bytes_max, limits::COURIER_LETTERS_MAX),
            agent: LetterRoom::new(bytes_max / limits::SEATS_SHARE, limits::SEAT_LETTERS_MAX),
        };
        Self { long: of(long), short: of(short) }
    }
}

impl SeatRoom {
    /// Room for what a worker says to an agent, if there is some now.
    pub(crate) fn try_take(
        &self,
        worker: &WorkerName,
        agent: AgentId,
        said: &RunUp,
        bytes: usize,
    ) -> Option<[Room; 2]> {
        let (room, bytes) = match is_short(said) {
            true => (&self.short, bytes),
            false => (&self.long, read_bytes(said, bytes)),
        };
        let of_agent = room.agent.try_take(&(worker.clone(), agent), bytes)?;
        Some([room.worker.try_take(worker, bytes)?, of_agent])
    }
}

/// A letter that takes its room as long as there is any copy of it.
pub(crate) fn holding(letter: Bytes, room: Room) -> Bytes {
    struct Held {
        letter: Bytes,
        _room: Room,
    }
    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.letter
        }
    }
    Bytes::from_owner(Held { letter, _room: room })
}

/// Whether it only claims, renews, acknowledges, gives up or shows something.
fn is_short(said: &RunUp) -> bool {
    match said {
        RunUp::Claim { .. }
        | RunUp::Renew { .. }
        | RunUp::GiveUp { .. }
        | RunUp::Progress { .. }
        | RunUp::CommandAck { .. } => true,
        RunUp::Items { .. } | RunUp::Final { .. } | RunUp::Request { .. } => false,
    }
}

/// How long a letter may be that says this.
pub(crate) fn letter_bytes_max(said: &RunUp) -> usize {
    if is_short(said) { limits::SHORT_LETTER_BYTES_MAX } else { limits::MESSAGE_BYTES_MAX }
}

/// What a letter takes once it is read: many small items take more than their bytes.
fn read_bytes(said: &RunUp, letter_bytes: usize) -> usize {
    match said {
        RunUp::Items { items, .. } => {
            letter_bytes.saturating_add(items.len().saturating_mul(limits::ITEM_READ_BYTES))
        }
        _ => letter_bytes,
    }
}
