//! Every limit of this crate. What another machine sends is bounded before it is looked at.

/// How long a worker holds an agent after its last answered renewal.
pub const LEASE_MS: u64 = 30_000;
/// How often a worker renews.
pub const RENEW_MS: u64 = 10_000;
/// What home waits beyond a lease, for clocks that run at different speeds.
pub const LEASE_MARGIN_MS: u64 = 5_000;
/// How long a worker waits for an answer before it sends again.
pub const ANSWER_MS: u64 = 3_000;
/// How long a worker tries to claim before it gives the offer back.
pub const CLAIM_MS_MAX: u64 = 60_000;
/// The share of a lease that the margin is at least: clocks may differ by one per cent each.
pub const MARGIN_SHARE_MIN: u64 = 25;
/// Grants that may end because the worker was lost.
pub const WORKERS_LOST_MAX: u32 = 5;
/// Grants of one agent altogether, those included that a worker gave up.
pub const GRANTS_MAX: u64 = 32;
/// Renewals without an answer that a worker remembers the time of.
pub const BEATS_OPEN_MAX: usize = 64;
/// Items of one agent that a worker keeps until home has recorded them.
pub const UNACKED_BYTES_MAX: usize = 64 << 20;
/// Items that travel in one message.
pub const PIECE_BYTES_MAX: usize = 512 << 10;
/// One item, as it was given.
pub const ITEM_BYTES_MAX: usize = 768 << 10;

/// How long a worker that gave an agent back rests at first before it gets it again.
pub const GIVEN_BACK_MS_MIN: u64 = 250;
/// How long such a rest becomes.
pub const GIVEN_BACK_MS_MAX: u64 = 60_000;
/// How often an agent is given back in a row, without anything done, before nobody can run it.
pub const GIVEN_BACK_MAX: u32 = 16;
/// How often home tries to keep what a worker has left that had lost its agent.
pub const ASIDE_TRIES_MAX: u32 = 3;
/// How often in a row a worker is asked to put a blob again that the courier has lost.
pub const BLOBS_MISSED_MAX: u32 = 3;
/// How long an agent waits for a worker that home knows and that is not heard.
pub const KNOWN_UNHEARD_MS_MAX: u64 = 600_000;
/// How long an agent waits where nobody that home knows or has heard fits it.
pub const UNKNOWN_UNHEARD_MS_MAX: u64 = 120_000;
/// The longest lease that a worker takes.
pub const LEASE_MS_MAX: u64 = 600_000;

/// Requests of one agent that wait for an answer.
pub const REQUESTS_OPEN_MAX: usize = 64;
/// How many times as long the longest pause between two sendings of a request is as the first.
pub const ASK_AGAIN_TIMES_MAX: u64 = 8;
/// Answers that home keeps for requests that come twice.
pub const ANSWERS_KEPT_MAX: usize = 256;
/// What those answers take together.
pub const ANSWERS_KEPT_BYTES_MAX: usize = 16 << 20;
/// Commands of one agent that are not acknowledged.
pub const COMMANDS_OPEN_MAX: usize = 256;
/// Commands of one agent that wait until others have arrived.
pub const COMMANDS_WAITING_MAX: usize = 16_384;
/// Numberings of commands by homes that were started again, whose late commands a run knows.
pub const COMMAND_SERIES_KEPT_MAX: usize = 64;
/// Commands that came too early and wait for those before them.
pub const COMMANDS_EARLY_MAX: usize = 256;

/// One message on any courier.
pub const MESSAGE_BYTES_MAX: usize = 8 << 20;
/// One blob.
pub const BLOB_BYTES_MAX: u64 = 4 << 30;
/// What a login may print before the other side speaks.
pub const LOGIN_BYTES_MAX: usize = 64 << 10;
/// How long a worker may take to say its name: ssh has to connect before.
pub const GREETING_MS_MAX: u64 = 60_000;
/// A part of a blob in a pipe: small, so that a renewal behind it does not wait.
pub const BLOB_PART_BYTES: usize = 64 << 10;
/// One read of a file.
pub const READ_BYTES: usize = 128 << 10;
/// Blobs that one pipe carries at the same time, in each direction.
pub const BLOB_TRANSFERS_MAX: usize = 4;
/// Blobs that may wait for their turn in one pipe.
pub const BLOBS_WAITING_MAX: usize = 256;
/// How long a blob may stand still on its way.
pub const BLOB_STILL_MS_MAX: u64 = 60_000;
/// What a worker's cache of blobs takes on disk, and what home keeps of the blobs of one worker that it reaches by ssh.
pub const BLOB_CACHE_BYTES_MAX: u64 = 8 << 30;
/// How long home keeps what a worker has sent and nobody has used, after its connection has ended.
pub const UPLOADS_KEPT_MS: u64 = 600_000;
/// Files that a shelf of blobs has at most.
pub const BLOB_CACHE_FILES_MAX: usize = 4_096;

/// Messages that wait to be read by whoever follows.
pub const FOLLOWED_MAX: usize = 256;
/// What the messages of one worker take together that a courier has and home has not read.
pub const COURIER_WAITING_BYTES_MAX: usize = 32 << 20;
/// How many these may be.
pub const COURIER_LETTERS_MAX: usize = 1_024;
/// What the long messages of one worker take together that wait for its agents.
pub const SEAT_WAITING_BYTES_MAX: usize = 64 << 20;
/// The same for messages that only claim, renew, acknowledge, give up or show something.
pub const SHORT_WAITING_BYTES_MAX: usize = 16 << 20;
/// One of those.
pub const SHORT_LETTER_BYTES_MAX: usize = 64 << 10;
/// Which part of that may be for one agent: a quarter.
pub const SEATS_SHARE: usize = 4;
/// How many messages of each of the two kinds may wait that one worker has for one agent.
pub const SEAT_LETTERS_MAX: usize = 64;
/// Workers, or their agents, whose messages wait.
pub const LETTER_ROOMS_MAX: usize = 16_384;
/// What an item takes in memory beside its bytes, about.
pub const ITEM_READ_BYTES: usize = 64;
/// Messages that wait to be written to one pipe.
pub const FRAMES_WAITING_MAX: usize = 64;
/// Parts of blobs that wait to be written to one pipe.
pub const PARTS_WAITING_MAX: usize = 4;
/// Offers that wait for a worker.
pub const OFFERS_MAX: usize = 10_000;
/// Workers that home knows.
pub const WORKERS_MAX: usize = 1_024;
/// How long a worker counts as there after it was heard last.
pub const WORKER_SILENT_MS_MAX: u64 = 60_000;
/// How long an answer of the other side of a courier may take.
pub const COURIER_ANSWER_MS_MAX: u64 = 10_000;
/// A name of an owner, a worker, a home or a label.
pub const NAME_BYTES_MAX: usize = 63;
/// What a worker says about why it gave up.
pub const WHY_CHARS_MAX: usize = 500;
/// Labels of a worker or an offer.
pub const LABELS_MAX: usize = 32;
/// The shortest secret that messages are signed with.
pub const SECRET_BYTES_MIN: usize = 16;

/// How long the first pause before starting ssh again is.
pub const RECONNECT_MS_MIN: u64 = 500;
/// How long such a pause becomes.
pub const RECONNECT_MS_MAX: u64 = 30_000;
/// A connection that lasted this long was a good one: the next pause is a short one again.
pub const CONNECTION_GOOD_MS: u64 = 30_000;
/// Starts of a worker by ssh that never spoke, before nobody waits for it.
pub const SSH_TRIES_MAX: u32 = 3;
/// How long a worker that spoke once may be away, before nobody waits for it.
pub const SSH_AWAY_MS_MAX: u64 = 600_000;
/// How long a blob waits for a courier that has lost its connection.
pub const COURIER_AWAY_MS_MAX: u64 = 600_000;
/// How often is looked whether an agent that waits can have a worker at all.
pub const HOPE_LOOK_MS: u64 = 500;
/// How long ssh has to pass on what the other end says last, once its pipe has ended.
pub(crate) const SSH_LAST_WORDS_MS_MAX: u64 = 5_000;
/// How long ssh may take to end.
pub const SSH_END_MS_MAX: u64 = 2_000;
/// Lines of its standard error that are told when it has ended.
pub const SSH_LINES_SHOWN_MAX: usize = 8;
/// What is kept of the standard error of ssh, from its end.
pub const SSH_SAID_BYTES_MAX: usize = 8 << 10;

/// How long a worker waits for an offer before it asks the broker again.
pub const CLAIM_POLL_MS: u64 = 250;
/// How often a worker looks for places at the broker where nobody has offered anything yet.
pub const PLACE_LOOK_MS: u64 = 1_000;
/// How long the broker may take to answer a place's question.
pub const PLACE_ANSWER_MS_MAX: u64 = 2_000;
/// How long a given-back offer rests before another worker gets it.
pub const GIVE_BACK_MS: u64 = 1_000;
/// Deliveries of one offer by the broker.
pub const DELIVERIES_MAX: i64 = 1_000;
/// How often home looks whether the broker still has its data.
pub const BROKER_LOOK_MS: u64 = 5_000;
/// How long a connection to the broker may take.
pub const BROKER_CONNECT_MS_MAX: u64 = 5_000;
/// Connections to a broker that fail before nobody waits for the first one.
pub const BROKER_TRIES_MAX: u32 = 5;
/// How often the broker is asked whether it is there.
pub const BROKER_PING_MS: u64 = 10_000;
/// Messages that wait in one subscription, and for whoever follows a home at a broker.
pub const BROKER_QUEUE_MAX: usize = 4_096;
/// What the headers of an offer take.
pub const BROKER_HEADERS_BYTES: usize = 8 << 10;
/// How long the broker knows an offer again that comes twice.
pub const BROKER_TWICE_MS: u64 = 120_000;
/// A chunk of a blob at the broker.
pub const BROKER_CHUNK_BYTES: usize = 128 << 10;
/// Chunks of one blob that are on their way at the same time.
pub const BROKER_CHUNKS_AHEAD_MAX: usize = 8;
/// What the broker keeps of one worker's blobs in each direction. It sets that room aside, so that no worker can take that of others.
pub const BROKER_BUCKET_BYTES_MAX: i64 = 2 << 30;
/// The least that it has to have left for that.
pub const BROKER_BUCKET_BYTES_MIN: i64 = 128 << 20;
/// How long the broker keeps a blob that home did not remove.
pub const BROKER_BLOB_MS_MAX: u64 = 7 * 24 * 3_600_000;
/// How long the doctor waits for each answer.
pub const DOCTOR_MS_MAX: u64 = 2_000;
/// How many questions the doctor asks a broker at the same time.
pub const DOCTOR_QUESTIONS_AT_A_TIME: usize = 16;

/// What waits for the engine of one agent.
pub const SEAT_EVENTS_MAX: usize = 64;
/// Claims of one agent that home remembers.
pub const CLAIMS_KEPT_MAX: usize = 16;
/// Commits that a worker says it has.
pub const COMMITS_TOLD_MAX: usize = 16;
/// Agents that have ended of which home can still tell workers.
pub const SETTLED_KEPT_MAX: usize = 16_384;
/// How long home waits before it listens again.
pub const LISTEN_AGAIN_MS: u64 = 1_000;
/// How long a worker keeps an agent whose home says nothing.
pub const ORPHAN_MS_MAX: u64 = 3_600_000;
/// How long a worker waits before it asks for offers again, after that failed.
pub const CLAIM_AGAIN_MS: u64 = 1_000;
/// How often a worker says that it is there.
pub const HELLO_MS: u64 = 15_000;
/// How often it says so at most, however often it is asked.
pub const HELLO_PAUSE_MS: u64 = 100;
/// How often a worker looks whether it is drained.
pub const DRAIN_LOOK_MS: u64 = 500;
/// What of an item's files travels within a message.
pub const CONTENTS_INLINE_BYTES_MAX: usize = 256 << 10;
/// What the items of one letter have together, those included that are blobs.
pub const ITEM_BLOB_BYTES_MAX: u64 = 256 << 20;
/// One thing that home says to an agent, in a blob because it is too long for a letter.
pub const SAID_BYTES_MAX: u64 = 64 << 20;
/// What a worker tells of one agent, without the contents of files.
pub const TOLD_BYTES_MAX: u64 = 256 << 20;
/// A task, with all that workers told of its agent.
pub const TASK_BYTES_MAX: u64 = 320 << 20;
/// The files that an agent had changed on another worker, together: a little more than home keeps of them.
pub const CONTENTS_BYTES_MAX: u64 = 2_100 << 20;
/// Repositories that a worker has open at the same time.
pub const DEPOTS_OPEN_MAX: usize = 64;
/// How long what happened to an agent waits for what happens next, so that home gets both in one letter.
pub(crate) const GATHER_MS: u64 = 5;
/// How long the room that repositories take on a worker is not looked at again: that means a look at each file.
pub(crate) const ROOM_LOOK_MS: u64 = 10_000;
/// How long a worker waits before it tries again to put a result.
pub(crate) const RESULT_AGAIN_MS: u64 = 1_000;
/// How many files of an agent that another worker had are put or removed: a few more than home keeps.
pub const KEPT_PATHS_MAX: usize = 400_000;
/// One of these files: a little more than an agent's history keeps of one.
pub const KEPT_CONTENT_BYTES_MAX: u64 = 32 << 20;
/// How much of them is in memory at a time.
pub(crate) const KEPT_AT_ONCE_BYTES: u64 = 16 << 20;
/// What is around the body of a letter, at most.
pub(crate) const LETTER_HEAD_BYTES: usize = 4 << 10;
/// How often is looked for requests that nobody waits for, where as many are open as there may be.
pub(crate) const CALL_OFF_LOOK_MS: u64 = 500;
/// How many agents of a worker wait for their sub-agents, beside those that it runs at the same time: a few more than one session has, so
/// that no session waits for itself.
pub const RUNS_WAITING_MAX: usize = 1_024;
/// How long a worker keeps work at least that nobody has fetched: 30 days.
pub const LEFT_WORK_MS_MAX: u64 = 30 * 24 * 3_600_000;
/// How long the broker keeps an offer at least that nobody repeats.
pub(crate) const OFFERS_KEPT_MS_MIN: u64 = 300_000;
/// What a worker says that it has, to be looked at.
pub(crate) const HAVE_BYTES_MAX: usize = 64 << 10;
/// Names of models that a worker says at most.
pub(crate) const HAVE_MODELS_MAX: usize = 100;
/// How many offers of an agent a worker leaves to others that took some and did not claim.
pub(crate) const OFFERS_LEFT_MAX: u32 = 8;
/// What the long requests of one worker's agents take together that have no answer yet.
pub(crate) const ASKED_WAITING_BYTES_MAX: usize = 32 << 20;
