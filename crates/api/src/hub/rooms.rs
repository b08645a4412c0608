//! Where followers of a session meet: one reader of the session, in whichever process it runs, for all of them. A room opens
//! with its first follower and ends after its last.
//!
//! ```text
//!   nobody runs it ──▶ looks at the record now and then ──▶ a process takes it ──▶ follows that process
//!          ▲                                                                               │
//!          └───────────────────────────── it ends, or is gone ◀────────────────────────────┘
//! ```

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use posse_engine::Engine;
use posse_protocol::{Seq, SessionId, Update};
use tokio::sync::broadcast;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::failure::{CallError, CallErrorKind};
use crate::handle::{Following, Handle};
use crate::hub::merging::{MergedUpdates, StreamPiece, UnderWay, recorded};
use crate::limits::{
    EVENTS_AT_ONCE, MERGE_MS, MERGE_MS_OF_MANY, PIECES_AHEAD_MAX, ROOM_FEW, ROOM_FOLLOWERS_MAX, ROOM_LOOK_MS,
};

/// What a room tells its followers.
#[derive(Clone, Debug)]
pub(crate) enum RoomTold {
    /// What happened.
    StreamPiece(StreamPiece),
    /// Whether a process runs the session.
    Running(bool),
    /// The session is not on record any more.
    Gone,
}

/// All rooms.
pub(crate) struct Rooms {
    engine: Engine,
    open: Mutex<HashMap<SessionId, Weak<Room>>>,
}

struct Room {
    session: SessionId,
    state: Mutex<RoomState>,
    telling: broadcast::Sender<RoomTold>,
    followers: AtomicUsize,
    /// Ends the reader with the room.
    _closing: DropGuard,
}

struct RoomState {
    /// The last event that was told.
    last: Seq,
    /// Whether a process runs the session; none before that is known.
    running: Option<bool>,
    under_way: UnderWay,
}

/// One follower of a session.
pub(crate) struct RoomFollower {
    room: Arc<Room>,
    engine: Engine,
    told: broadcast::Receiver<RoomTold>,
    /// The last event that this follower has.
    known: Seq,
    /// The last event that the room had told when this follower came: up to it, the record is read.
    behind: Seq,
    /// What comes after that.
    first: Vec<RoomTold>,
}

/// What a follower gets next.
pub(crate) enum RoomNews {
    /// What the room tells.
    RoomTold(RoomTold),
    /// It was too slow: it has to ask again from after this event.
    Again(Seq),
}

impl Rooms {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine, open: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Weak<Room>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows a session from after an event.
    pub(crate) async fn join(&self, session: SessionId, after: Seq) -> Result<RoomFollower, CallError> {
        let row = self.engine.read(move |engine| engine.find_session(&session.to_string())).await?;
        let room = self.room(session, row.last_seq);
        if room.followers.fetch_add(1, Ordering::AcqRel) >= ROOM_FOLLOWERS_MAX {
            room.followers.fetch_sub(1, Ordering::AcqRel);
            let message = format!("{ROOM_FOLLOWERS_MAX} others follow this session already.");
            return Err(CallError::new(CallErrorKind::TooMany, message));
        }
        // From here on the follower counts, and leaves when it is dropped.
        let follower = {
            let state = room.lock();
            // The last of them comes first.
            let mut first = vec![RoomTold::StreamPiece(state.under_way.so_far())];
            first.extend(state.running.map(RoomTold::Running));
            RoomFollower {
                told: room.telling.subscribe(),
                engine: self.engine.clone(),
                known: after,
                behind: state.last,
                first,
                room: Arc::clone(&room),
            }
        };
        if after > follower.behind.max(row.last_seq) {
            let message =
                format!("The session has {} events; {} is not among them.", row.last_seq.0, after.0);
            return Err(CallError::new(CallErrorKind::Refused, message));
        }
        Ok(follower)
    }

    fn room(&self, session: SessionId, last: Seq) -> Arc<Room> {
        let mut open = self.lock();
        if let Some(room) = open.get(&session).and_then(Weak::upgrade) {
            return room;
        }
        open.retain(|_, room| room.strong_count() > 0);
        let closing = CancellationToken::new();
        let (telling, _) = broadcast::channel(PIECES_AHEAD_MAX);
        let room = Arc::new(Room {
            session,
            state: Mutex::new(RoomState { last, running: None, under_way: UnderWay::default() }),
            telling,
            followers: AtomicUsize::new(0),
            _closing: closing.clone().drop_guard(),
        });
        open.insert(session, Arc::downgrade(&room));
        let reader = read(self.engine.clone(), Arc::downgrade(&room), session);
        tokio::spawn(async move {
            tokio::select! {
                () = closing.cancelled() => {}
                () = reader => {}
            }
        });
        room
    }
}

impl Room {
    fn lock(&self) -> MutexGuard<'_, RoomState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all followers. Under the lock: who joins has heard it, or is told it.
    fn tell(&self, merged: &mut MergedUpdates) {
        let mut state = self.lock();
        let piece = merged.take(&mut state.under_way);
        state.last = piece.last().unwrap_or(state.last).max(state.last);
        // Nobody may be listening any more.
        let _ = self.telling.send(RoomTold::StreamPiece(piece));
    }

    fn set_running(&self, running: bool) {
        let mut state = self.lock();
        if state.running != Some(running) {
            state.running = Some(running);
            if !running {
                state.under_way.clear();
            }
            let _ = self.telling.send(RoomTold::Running(running));
        }
    }

    /// How long updates are gathered: the more followers there are, the longer.
    fn merging(&self) -> Duration {
        let few = self.followers.load(Ordering::Acquire) <= ROOM_FEW;
        Duration::from_millis(if few { MERGE_MS } else { MERGE_MS_OF_MANY })
    }
}

impl RoomFollower {
    pub(crate) fn session(&self) -> SessionId {
        self.room.session
    }

    /// What comes next; none once the room has ended. What is not awaited to the end can be awaited again.
    pub(crate) async fn next(&mut self) -> Option<RoomNews> {
        if self.known < self.behind {
            let (session, after) = (self.room.session, self.known);
            let reading = self.engine.read(move |engine| engine.events_after(session, after, EVENTS_AT_ONCE));
            match reading.await {
                Ok(events) if !events.is_empty() => {
                    let piece = recorded(events);
                    self.known = piece.last().unwrap_or(self.behind);
                    return Some(RoomNews::RoomTold(RoomTold::StreamPiece(piece)));
                }
                // What cannot be read is passed over.
                Ok(_) | Err(_) => self.known = self.behind,
            }
        }
        while let Some(told) = self.first.pop() {
            if !matches!(&told, RoomTold::StreamPiece(piece) if piece.bytes.is_empty()) {
                return Some(RoomNews::RoomTold(told));
            }
        }
        loop {
            return match self.told.recv().await {
                Ok(RoomTold::StreamPiece(piece)) => {
                    // Some of it may have been read from the record before.
                    let piece = piece.after(self.known);
                    if piece.bytes.is_empty() {
                        continue;
                    }
                    self.known = piece.last().unwrap_or(self.known);
                    Some(RoomNews::RoomTold(RoomTold::StreamPiece(piece)))
                }
                Ok(told) => Some(RoomNews::RoomTold(told)),
                Err(broadcast::error::RecvError::Lagged(_)) => Some(RoomNews::Again(self.known)),
                Err(broadcast::error::RecvError::Closed) => None,
            };
        }
    }
}

impl Drop for RoomFollower {
    fn drop(&mut self) {
        self.room.followers.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Reads a session for a room, until the room is gone.
async fn read(engine: Engine, room: Weak<Room>, session: SessionId) {
    loop {
        let Some(after) = room.upgrade().map(|room| room.lock().last) else { return };
        match Handle::of(&engine, session).await {
            Ok(handle) => {
                if let Ok(following) = handle.follow(session, after).await {
                    room.upgrade().iter().for_each(|room| room.set_running(true));
                    gather(&engine, &room, following, session, after).await;
                }
            }
            Err(error) if error.kind == CallErrorKind::NotFound => {
                room.upgrade().iter().for_each(|room| drop(room.telling.send(RoomTold::Gone)));
                return;
            }
            Err(_) => look(&engine, &room, session, after).await,
        }
        sleep(Duration::from_millis(ROOM_LOOK_MS)).await;
    }
}

/// Tells what was put on record by a process that is gone, or by others, and that nobody runs the session.
async fn look(engine: &Engine, room: &Weak<Room>, session: SessionId, mut after: Seq) {
    loop {
        let read = engine.read(move |engine| engine.events_after(session, after, EVENTS_AT_ONCE)).await;
        let Some(room) = room.upgrade() else { return };
        let events = read.unwrap_or_default();
        let Some(last) = events.last() else {
            room.set_running(false);
            return;
        };
        after = last.seq;
        let mut merged = MergedUpdates::default();
        events.into_iter().for_each(|event| merged.add(Update::Event(Arc::new(event))));
        room.tell(&mut merged);
    }
}

/// Tells what a process says, put together for a moment, until it ends. What others put on record meanwhile, such as a title
/// or an undo, that process tells only with its next event: so the record is looked at, too.
async fn gather(
    engine: &Engine,
    room: &Weak<Room>,
    mut following: Following,
    session: SessionId,
    mut last: Seq,
) {
    let mut merged = MergedUpdates::default();
    let (mut told, mut looked) = (None::<Instant>, Instant::now());
    loop {
        let due = told.map_or_else(Instant::now, |told| {
            told + room.upgrade().map(|room| room.merging()).unwrap_or_default()
        });
        let over = tokio::select! {
            next = following.next() => match next {
                Ok(Some(update)) => {
                    add(&mut merged, &mut last, update);
                    // What is long due is told at once.
                    if due > Instant::now() { continue }
                    false
                }
                Ok(None) | Err(_) => true,
            },
            () = sleep_until(due), if !merged.is_empty() => false,
            () = sleep_until(looked + Duration::from_millis(ROOM_LOOK_MS)) => {
                let after = last;
                let read = engine.read(move |engine| engine.events_after(session, after, EVENTS_AT_ONCE)).await;
                for event in read.unwrap_or_default() {
                    add(&mut merged, &mut last, Update::Event(Arc::new(event)));
                }
                looked = Instant::now();
                // A look makes nothing due.
                if due > looked { continue }
                false
            }
        };
        let Some(room) = room.upgrade() else { return };
        if !merged.is_empty() {
            room.tell(&mut merged);
            told = Some(Instant::now());
        }
        if over {
            return;
        }
    }
}

/// Adds an update, unless it was added before.
fn add(merged: &mut MergedUpdates, last: &mut Seq, update: Update) {
    if let Update::Event(event) = &update {
        if event.seq <= *last {
            return;
        }
        *last = event.seq;
    }
    merged.add(update);
}
