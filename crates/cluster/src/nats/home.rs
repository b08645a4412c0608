//! Home's side of the broker. It makes the queues, and makes them again when the broker has lost them.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, Event, HeaderMap};
use bytes::Bytes;
use futures::StreamExt as _;
use posse_protocol::AgentId;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::address::{NatsAddress, broker_error, is_published, message_bytes_max, must_be_connected};
use super::blobs::Bucket;
use super::subjects::{BlobWay, Subjects, place_of};
use crate::courier::{
    CourierError, CourierFuture, HomeCourier, HomeNews, PostedOffer, SeenWorker, must_fit, seen_lately,
};
use crate::lease_times::LeaseTimes;
use crate::letter_room::{LetterRoom, holding};
use crate::limits;
use crate::names::{BlobId, HomeName, OwnerName, WorkerName};

/// The header of an offer that says what it wants.
pub(super) const WANTS_HEADER: &str = "Posse-Wants";
const ID_HEADER: &str = "Nats-Msg-Id";
/// How long a worker that says nothing is remembered where there are too many.
const SILENT: Duration = Duration::from_millis(limits::WORKER_SILENT_MS_MAX);

/// Home's courier at a broker. Dropped, it hears nothing any more.
pub struct NatsHome {
    shared: Arc<HomeBroker>,
    news: Mutex<Option<mpsc::Receiver<HomeNews>>>,
    sender: mpsc::Sender<HomeNews>,
    /// The homes that it answers to.
    homes: tokio::sync::Mutex<HashSet<HomeName>>,
    tasks: Mutex<JoinSet<()>>,
}

struct HomeBroker {
    client: Client,
    jetstream: Context,
    subjects: Subjects,
    lease: Duration,
    /// How long an offer stays that nobody repeats.
    offers_kept: Duration,
    /// Names this process among those that resume the same session: each counts its offers from 1.
    process: u64,
    made: tokio::sync::Mutex<Made>,
    heard: Mutex<HashMap<WorkerName, Instant>>,
    /// What waits to be read.
    room: LetterRoom<WorkerName>,
    /// Workers with agents of this home: what they send needs a bucket, also after the broker has lost it.
    at_work: Mutex<HashSet<WorkerName>>,
    /// Asks for a look at the broker.
    looks: Arc<Notify>,
    bytes_max: usize,
}

/// What this home has made at the broker.
#[derive(Default)]
struct Made {
    /// When the queue was made, in the broker's words: another time means that it was lost.
    queue: Option<String>,
    places: HashSet<String>,
    /// Workers whose buckets are there.
    buckets: HashSet<WorkerName>,
}

impl NatsHome {
    /// Connects, and makes what is missing.
    pub async fn connect(
        address: &NatsAddress,
        owner: &OwnerName,
        times: LeaseTimes,
    ) -> Result<Self, CourierError> {
        let subjects = Subjects::new(owner.clone());
        let (sender, receiver) = mpsc::channel(limits::BROKER_QUEUE_MAX);
        let looks = Arc::new(Notify::new());
        let hear = {
            let (sender, looks) = (sender.clone(), Arc::clone(&looks));
            move |event| told(&sender, &looks, event)
        };
        let client = address.connect(&subjects.inbox("home"), hear).await?;
        let hellos = client.subscribe(subjects.all_hello()).await.map_err(broker_error)?;
        client.flush().await.map_err(broker_error)?;
        let shared = Arc::new(HomeBroker {
            jetstream: jetstream::new(client.clone()),
            bytes_max: message_bytes_max(&client),
            client,
            subjects,
            lease: Duration::from_millis(times.lease_ms),
            offers_kept: offers_kept(times),
            process: fastrand::u64(..),
            made: tokio::sync::Mutex::new(Made::default()),
            heard: Mutex::default(),
            room: LetterRoom::of_courier(),
            at_work: Mutex::default(),
            looks,
        });
        shared.look().await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(listen(Arc::clone(&shared), hellos, sender.clone(), false));
        tasks.spawn(watch_broker(Arc::clone(&shared), sender.clone()));
        let (news, homes, tasks) = (Mutex::new(Some(receiver)), Default::default(), Mutex::new(tasks));
        Ok(Self { shared, news, sender, homes, tasks })
    }
}

/// Longer than home waits before it repeats an offer, with room for one that is late: what is left of a home that was killed takes
/// workers' time no longer.
fn offers_kept(times: LeaseTimes) -> Duration {
    let again_ms = times.patience_ms(times.lease_ms);
    Duration::from_millis(again_ms.saturating_mul(2).max(limits::OFFERS_KEPT_MS_MIN))
}

/// What the connection tells. Nothing waits here; what does not fit is lost, and looked for anyway.
fn told(news: &mpsc::Sender<HomeNews>, looks: &Notify, event: Event) {
    match event {
        Event::Connected => {
            let _ = news.try_send(HomeNews::Connected);
            looks.notify_one();
        }
        Event::Disconnected | Event::Closed => {
            let _ = news.try_send(HomeNews::Disconnected(event.to_string()));
        }
        // Such as a right that is missing, which no call is told of.
        Event::ServerError(error) => tracing::warn!(%error, "the broker complains"),
        other => tracing::debug!(event = %other, "the broker's connection"),
    }
}

/// Hears hellos, or what workers say of agents: those are at work.
async fn listen(
    shared: Arc<HomeBroker>,
    mut messages: impl futures::Stream<Item = async_nats::Message> + Unpin,
    news: mpsc::Sender<HomeNews>,
    at_work: bool,
) {
    while let Some(message) = messages.next().await {
        if message.payload.len() > limits::MESSAGE_BYTES_MAX || !is_published(&message) {
            continue;
        }
        // The broker lets a worker's user publish only to subjects that end in its own name.
        let Some(Ok(from)) = message.subject.as_str().rsplit('.').next().map(str::parse::<WorkerName>) else {
            continue;
        };
        shared.hear(from.clone());
        if at_work && shared.is_new_at_work(&from) {
            shared.looks.notify_one();
        }
        // Nothing waits here, or letters would pile up in the subscription, where only their number is limited.
        let Some(room) = shared.room.try_take(&from, message.payload.len()) else {
            tracing::debug!(worker = %from, "a letter is dropped: too much of its worker's waits");
            continue;
        };
        let letter = holding(message.payload, room);
        if let Err(TrySendError::Closed(_)) = news.try_send(HomeNews::Message { from, letter }) {
            return;
        }
    }
}

/// Looks now and then, and after each reconnection, whether the broker still has the queue, and makes missing buckets.
async fn watch_broker(shared: Arc<HomeBroker>, news: mpsc::Sender<HomeNews>) {
    loop {
        let pause = Duration::from_millis(limits::BROKER_LOOK_MS);
        let _ = tokio::time::timeout(pause, shared.looks.notified()).await;
        match shared.look().await {
            Ok(false) => {}
            Ok(true) => {
                tracing::warn!("the broker has lost its data; offers are made again");
                if news.send(HomeNews::DataLost).await.is_err() {
                    return;
                }
            }
            Err(error) => tracing::debug!(%error, "the broker's queue cannot be looked at"),
        }
        if let Err(error) = shared.make_buckets().await {
            tracing::warn!(%error, "the broker has no place for the files of a worker");
        }
    }
}

impl HomeBroker {
    fn heard(&self) -> MutexGuard<'_, HashMap<WorkerName, Instant>> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hear(&self, worker: WorkerName) {
        let mut heard = self.heard();
        if heard.len() >= limits::WORKERS_MAX {
            heard.retain(|_, at| at.elapsed() <= SILENT);
        }
        if heard.len() < limits::WORKERS_MAX || heard.contains_key(&worker) {
            heard.insert(worker, Instant::now());
        }
    }

    /// Notes that a worker has an agent. Says whether that was not known.
    fn is_new_at_work(&self, worker: &WorkerName) -> bool {
        let mut at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner);
        if at_work.contains(worker) {
            return false;
        }
        if at_work.len() >= limits::WORKERS_MAX {
            // Those that are silent make room; they are noted again when they speak.
            let heard = self.heard();
            at_work.retain(|known| heard.get(known).is_some_and(|at| at.elapsed() <= SILENT));
        }
        at_work.len() < limits::WORKERS_MAX && at_work.insert(worker.clone())
    }

    /// Makes the buckets that workers need to send their files. They cannot make them themselves.
    async fn make_buckets(&self) -> Result<(), CourierError> {
        let at_work = self.at_work.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let missing: Vec<WorkerName> = at_work.difference(&self.made.lock().await.buckets).cloned().collect();
        for worker in missing {
            self.make_bucket(&worker).await?;
        }
        Ok(())
    }

    /// Makes the queue if it is missing. Says whether it was there before and is another one now.
    async fn look(&self) -> Result<bool, CourierError> {
        must_be_connected(&self.client)?;
        let mut made = self.made.lock().await;
        let bytes_max = i32::try_from(self.client.max_payload()).unwrap_or(i32::MAX);
        let config = Config {
            name: self.subjects.tasks_stream(),
            subjects: vec![self.subjects.tasks()],
            retention: RetentionPolicy::WorkQueue,
            // The newest offer of an agent replaces the one before; beyond the limit, offers are refused.
            max_messages_per_subject: 1,
            max_messages: limits::OFFERS_MAX as i64,
            discard: DiscardPolicy::New,
            max_message_size: bytes_max,
            duplicate_window: Duration::from_millis(limits::BROKER_TWICE_MS),
            max_age: self.offers_kept,
            ..Config::default()
        };
        let stream = self.jetstream.get_or_create_stream(config).await.map_err(broker_error)?;
        let found = stream.cached_info().created.to_string();
        self.age_offers(&stream.cached_info().config).await;
        let is_another = made.queue.as_ref().is_some_and(|known| *known != found);
        if made.queue.as_ref() != Some(&found) {
            *made = Made { queue: Some(found), ..Made::default() };
        }
        Ok(is_another)
    }

    /// A queue of an older posse keeps offers for ever, and one of a home with shorter leases may not keep them long enough.
    async fn age_offers(&self, found: &Config) {
        if !found.max_age.is_zero() && found.max_age >= self.offers_kept {
            return;
        }
        let config = Config { max_age: self.offers_kept, ..found.clone() };
        if let Err(error) = self.jetstream.update_stream(config).await {
            tracing::warn!(%error, "the broker may keep offers of homes that are gone");
        }
    }

    /// Makes sure that workers can take offers from a place.
    async fn open_place(&self, place: &str) -> Result<(), CourierError> {
        let mut made = self.made.lock().await;
        if made.places.contains(place) {
            return Ok(());
        }
        let config = pull::Config {
            durable_name: Some(place.to_owned()),
            filter_subject: self.subjects.place(place),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.lease,
            max_deliver: limits::DELIVERIES_MAX,
            max_ack_pending: limits::OFFERS_MAX as i64,
            ..pull::Config::default()
        };
        let stream = self.subjects.tasks_stream();
        self.jetstream.create_consumer_on_stream(config, stream).await.map_err(broker_error)?;
        made.places.insert(place.to_owned());
        Ok(())
    }

    async fn post(&self, offer: &PostedOffer) -> Result<(), jetstream::context::PublishError> {
        let place = place_of(&offer.wants);
        let subject = self.subjects.task(&place, offer.agent);
        let mut headers = HeaderMap::new();
        let id = format!("{:x}/{}/{}/{}", self.process, offer.agent, offer.epoch, offer.attempt);
        headers.insert(ID_HEADER, id.as_str());
        let wants = serde_json::to_string(&offer.wants).unwrap_or_default();
        headers.insert(WANTS_HEADER, wants.as_str());
        let sent = self.jetstream.publish_with_headers(subject, headers, offer.bytes.clone()).await?;
        sent.await.map(drop)
    }

    async fn offer(&self, offer: PostedOffer) -> Result<(), CourierError> {
        must_fit(&offer.bytes, self.bytes_max)?;
        must_be_connected(&self.client)?;
        let place = place_of(&offer.wants);
        let mut opened = self.open_place(&place).await;
        if opened.is_err() {
            // The queue may be gone. What else was lost is told by the watch.
            self.look().await?;
            opened = self.open_place(&place).await;
        }
        opened?;
        match self.post(&offer).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == PublishErrorKind::StreamNotFound => {
                self.made.lock().await.places.clear();
                self.look().await?;
                self.open_place(&place).await?;
                self.post(&offer).await.map_err(broker_error)
            }
            Err(error) if error.kind() == PublishErrorKind::TimedOut => {
                Err(CourierError::Down(error.to_string()))
            }
            Err(error) => Err(broker_error(error)),
        }
    }

    async fn withdraw(&self, agent: AgentId) -> Result<(), CourierError> {
        must_be_connected(&self.client)?;
        let stream = self.jetstream.get_stream_no_info(self.subjects.tasks_stream()).await;
        let stream = stream.map_err(broker_error)?;
        stream.purge().filter(self.subjects.agent(agent)).await.map(drop).map_err(broker_error)
    }

    /// Where blobs for a worker are, or those of it.
    fn bucket(&self, way: BlobWay, worker: &WorkerName) -> Result<Bucket, CourierError> {
        must_be_connected(&self.client)?;
        Ok(Bucket::new((&self.client, &self.jetstream), &self.subjects, way, worker))
    }

    /// Makes sure that a worker can send its files, and ask for those that are for it.
    async fn make_bucket(&self, worker: &WorkerName) -> Result<(), CourierError> {
        if !self.made.lock().await.buckets.contains(worker) {
            self.bucket(BlobWay::Up, worker)?.make().await?;
            self.bucket(BlobWay::Down, worker)?.make().await?;
            self.made.lock().await.buckets.insert(worker.clone());
        }
        Ok(())
    }

    async fn put_blob(&self, worker: &WorkerName, from: &Path) -> Result<BlobId, CourierError> {
        self.is_new_at_work(worker);
        let bucket = self.bucket(BlobWay::Down, worker)?;
        bucket.make().await?;
        self.make_bucket(worker).await?;
        bucket.put_once(from).await
    }
}

impl HomeCourier for NatsHome {
    /// The subscription outlives reconnections.
    fn answer_to<'a>(&'a self, home: &'a HomeName) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            let mut homes = self.homes.lock().await;
            if homes.contains(home) {
                return Ok(());
            }
            let client = &self.shared.client;
            let letters = client.subscribe(self.shared.subjects.all_up(home)).await.map_err(broker_error)?;
            homes.insert(home.clone());
            let listens = listen(Arc::clone(&self.shared), letters, self.sender.clone(), true);
            self.tasks.lock().unwrap_or_else(PoisonError::into_inner).spawn(listens);
            client.flush().await.map_err(broker_error)
        })
    }

    fn offer(&self, offer: PostedOffer) -> CourierFuture<'_, ()> {
        Box::pin(self.shared.offer(offer))
    }

    fn withdraw(&self, agent: AgentId) -> CourierFuture<'_, ()> {
        Box::pin(self.shared.withdraw(agent))
    }

    fn tell<'a>(&'a self, worker: &'a WorkerName, message: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            must_fit(&message, self.shared.bytes_max)?;
            must_be_connected(&self.shared.client)?;
            let subject = self.shared.subjects.down(worker);
            self.shared.client.publish(subject, message).await.map_err(broker_error)
        })
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<HomeNews>> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { news.ok_or(CourierError::Followed) })
    }

    fn put_blob<'a>(&'a self, worker: &'a WorkerName, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(self.shared.put_blob(worker, from))
    }

    fn get_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move { self.shared.bucket(BlobWay::Up, worker)?.get(id, to).await })
    }

    fn drop_blob<'a>(&'a self, worker: &'a WorkerName, id: BlobId) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            self.shared.bucket(BlobWay::Down, worker)?.remove(id).await?;
            self.shared.bucket(BlobWay::Up, worker)?.remove(id).await
        })
    }

    fn workers(&self) -> Vec<SeenWorker> {
        seen_lately(&self.shared.heard())
    }

    fn message_bytes_max(&self) -> usize {
        self.shared.bytes_max
    }
}
