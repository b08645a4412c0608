//! A worker's side of the broker. It makes nothing there, and gets by with the rights of one worker.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::{self, Context};
use async_nats::{Client, Event, Message, Request, Subject};
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::address::{NatsAddress, broker_error, is_published, message_bytes_max, must_be_connected};
use super::blobs::{BrokerBlob, Bucket};
use super::home::WANTS_HEADER;
use super::subjects::{BlobWay, Subjects, places};
use crate::blob_shelf::BlobShelf;
use crate::courier::{
    ClaimedOffer, CourierError, CourierFuture, OfferLease, WorkerCourier, WorkerNews, must_fit,
};
use crate::limits;
use crate::message::Wants;
use crate::names::{BlobId, HomeName, LabelName, OwnerName, WorkerName};

/// Asks for an offer that is there.
const NOW: &[u8] = br#"{"batch":1,"no_wait":true}"#;
/// Asks for one that comes within [`limits::CLAIM_POLL_MS`], in nanoseconds here.
const SOON: &[u8] = br#"{"batch":1,"expires":250000000}"#;

/// A worker's courier at a broker. Dropped, it hears nothing any more.
pub struct NatsWorker {
    client: Client,
    jetstream: Context,
    subjects: Subjects,
    name: WorkerName,
    shelf: Arc<BlobShelf>,
    news: Mutex<Option<mpsc::Receiver<WorkerNews>>>,
    /// Places that are there, and when the others were looked for last.
    places: Mutex<KnownPlaces>,
    bytes_max: usize,
    task: JoinHandle<()>,
}

impl NatsWorker {
    /// Connects. The shelf is the worker's cache of blobs.
    pub async fn connect(
        address: &NatsAddress,
        owner: &OwnerName,
        name: &WorkerName,
        shelf: Arc<BlobShelf>,
    ) -> Result<Self, CourierError> {
        let subjects = Subjects::new(owner.clone());
        let (sender, receiver) = mpsc::channel(limits::FOLLOWED_MAX);
        let hear = {
            let sender = sender.clone();
            move |event| told(&sender, event)
        };
        let client = address.connect(&subjects.inbox(&format!("worker.{name}")), hear).await?;
        let mut downs = client.subscribe(subjects.down(name)).await.map_err(broker_error)?;
        client.flush().await.map_err(broker_error)?;
        let task = tokio::spawn(async move {
            while let Some(message) = downs.next().await {
                let fits = message.payload.len() <= limits::MESSAGE_BYTES_MAX && is_published(&message);
                if fits && sender.send(WorkerNews::Message(message.payload)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            jetstream: jetstream::new(client.clone()),
            bytes_max: message_bytes_max(&client),
            client,
            subjects,
            name: name.clone(),
            shelf,
            news: Mutex::new(Some(receiver)),
            places: Mutex::new(KnownPlaces::default()),
            task,
        })
    }

    /// The places to ask, of those that a worker takes from.
    async fn open_places(&self, labels: &BTreeSet<LabelName>) -> Vec<String> {
        let all = places(&self.name, labels);
        let is_due = self.known().looks_again();
        let mut open = Vec::new();
        for place in all {
            let is_known = self.known().there.contains(&place);
            if is_known || is_due && self.is_there(&place).await {
                self.known().there.insert(place.clone());
                open.push(place);
            }
        }
        open
    }

    async fn is_there(&self, place: &str) -> bool {
        let answer = self.client.send_request(self.subjects.about_place(place), asking(Bytes::new())).await;
        let answer = answer.ok().and_then(|answer| serde_json::from_slice::<Value>(&answer.payload).ok());
        answer.is_some_and(|answer| answer.get("error").is_none())
    }

    fn known(&self) -> MutexGuard<'_, KnownPlaces> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks one place for an offer; none if there is none now, or none comes soon.
    async fn take_from(&self, place: &str, question: &'static [u8]) -> Result<Option<Message>, CourierError> {
        let (client, subject) = (self.client.clone(), self.subjects.next_offer(place));
        let (sender, receiver) = oneshot::channel();
        // On a task of its own: an offer that arrives after the claim was dropped is given back at once.
        tokio::spawn(async move {
            let question = asking(Bytes::from_static(question));
            // An offer comes under its own subject, so that only a subscription of its own can tell what it answers.
            let question = question.inbox(client.new_inbox());
            let asked = client.send_request(subject, question).await;
            if let Err(Ok(Message { reply: Some(reply), status: None, .. })) = sender.send(asked) {
                let _ = client.publish(reply, Bytes::from_static(b"-NAK")).await;
            }
        });
        match receiver.await {
            Ok(Err(error)) => {
                // The place may be gone, with all that the broker had.
                self.known().there.remove(place);
                Err(CourierError::Down(error.to_string()))
            }
            Ok(Ok(message)) if message.status.is_some() || message.reply.is_none() => Ok(None),
            Ok(Ok(message)) => Ok(Some(message)),
            Err(_) => Err(CourierError::Closed),
        }
    }

    /// Takes an offer that is there, from the first place that has one.
    async fn claim_once(&self, labels: &BTreeSet<LabelName>) -> Result<Option<ClaimedOffer>, CourierError> {
        for place in self.open_places(labels).await {
            let Some(message) = self.take_from(&place, NOW).await? else { continue };
            if let Some(claimed) = self.fitting(message, labels).await? {
                return Ok(Some(claimed));
            }
        }
        Ok(None)
    }

    /// Waits a while for an offer at all places at once. What comes to another one meanwhile is given back.
    async fn claim_soon(&self, labels: &BTreeSet<LabelName>) -> Result<Option<ClaimedOffer>, CourierError> {
        let places = self.open_places(labels).await;
        if places.is_empty() {
            tokio::time::sleep(Duration::from_millis(limits::CLAIM_POLL_MS)).await;
        }
        let mut asked: FuturesUnordered<_> = places.iter().map(|place| self.take_from(place, SOON)).collect();
        while let Some(answer) = asked.next().await {
            if let Some(message) = answer?
                && let Some(claimed) = self.fitting(message, labels).await?
            {
                return Ok(Some(claimed));
            }
        }
        Ok(None)
    }

    /// An offer, if it is for this worker; others go back.
    async fn fitting(
        &self,
        message: Message,
        labels: &BTreeSet<LabelName>,
    ) -> Result<Option<ClaimedOffer>, CourierError> {
        let Some(reply) = message.reply else { return Ok(None) };
        let wants = message.headers.as_ref().and_then(|headers| headers.get(WANTS_HEADER));
        let wants = wants.and_then(|wants| serde_json::from_str::<Wants>(wants.as_str()).ok());
        let lease = NatsLease { client: self.client.clone(), reply };
        if wants.is_some_and(|wants| wants.fit(&self.name, labels)) {
            return Ok(Some(ClaimedOffer { bytes: message.payload, lease: Box::new(lease) }));
        }
        lease.give_back().await?;
        Ok(None)
    }

    fn bucket(&self, way: BlobWay) -> Bucket {
        Bucket::new((&self.client, &self.jetstream), &self.subjects, way, &self.name)
    }

    async fn fetch(&self, id: BlobId) -> Result<(), CourierError> {
        if self.shelf.has(id) {
            return Ok(());
        }
        must_be_connected(&self.client)?;
        let mut blob = BrokerBlob::open(&self.bucket(BlobWay::Down), id).await?;
        let mut part = self.shelf.part().await?;
        while let Some(piece) = blob.next().await? {
            part.write(&self.shelf, &piece).await?;
        }
        part.finish(&self.shelf, Some(id)).await.map(drop)
    }
}

/// The places that a worker knows of.
#[derive(Default)]
struct KnownPlaces {
    there: BTreeSet<String>,
    looked: Option<Instant>,
}

impl KnownPlaces {
    /// Whether the places that were missing are due to be looked for, which is noted.
    fn looks_again(&mut self) -> bool {
        let pause = Duration::from_millis(limits::PLACE_LOOK_MS);
        let is_due = self.looked.is_none_or(|at| at.elapsed() >= pause);
        if is_due {
            self.looked = Some(Instant::now());
        }
        is_due
    }
}

/// A question that the broker answers soon or not at all.
fn asking(payload: Bytes) -> Request {
    Request::new().payload(payload).timeout(Some(Duration::from_millis(limits::PLACE_ANSWER_MS_MAX)))
}

impl Drop for NatsWorker {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What the connection tells. Nothing waits here; what does not fit is lost.
fn told(news: &mpsc::Sender<WorkerNews>, event: Event) {
    match event {
        Event::Connected => {
            let _ = news.try_send(WorkerNews::Connected);
        }
        Event::Disconnected | Event::Closed => {
            let _ = news.try_send(WorkerNews::Disconnected(event.to_string()));
        }
        // Such as a right that is missing, which no call is told of.
        Event::ServerError(error) => tracing::warn!(%error, "the broker complains"),
        other => tracing::debug!(event = %other, "the broker's connection"),
    }
}

impl WorkerCourier for NatsWorker {
    /// While the broker is not there, it waits.
    fn claim<'a>(&'a self, labels: &'a BTreeSet<LabelName>) -> CourierFuture<'a, ClaimedOffer> {
        Box::pin(async move {
            if labels.len() > limits::LABELS_MAX {
                return Err(CourierError::Full { what: "labels", max: limits::LABELS_MAX });
            }
            let mut claimed = self.claim_once(labels).await;
            loop {
                match claimed {
                    Ok(Some(claimed)) => return Ok(claimed),
                    Ok(None) => {}
                    Err(CourierError::Closed) => return Err(CourierError::Closed),
                    Err(error) => {
                        tracing::debug!(%error, "no offer can be taken now");
                        tokio::time::sleep(Duration::from_millis(limits::CLAIM_POLL_MS)).await;
                    }
                }
                claimed = self.claim_soon(labels).await;
            }
        })
    }

    fn hello(&self, message: Bytes) -> CourierFuture<'_, ()> {
        Box::pin(async move {
            must_fit(&message, self.bytes_max)?;
            must_be_connected(&self.client)?;
            self.client.publish(self.subjects.hello(&self.name), message).await.map_err(broker_error)
        })
    }

    fn append<'a>(&'a self, home: &'a HomeName, message: Bytes) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            must_fit(&message, self.bytes_max)?;
            must_be_connected(&self.client)?;
            self.client.publish(self.subjects.up(home, &self.name), message).await.map_err(broker_error)
        })
    }

    fn follow(&self) -> CourierFuture<'_, mpsc::Receiver<WorkerNews>> {
        let news = self.news.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move { news.ok_or(CourierError::Followed) })
    }

    fn put_blob<'a>(&'a self, from: &'a Path) -> CourierFuture<'a, BlobId> {
        Box::pin(async move {
            must_be_connected(&self.client)?;
            self.bucket(BlobWay::Up).put(from).await
        })
    }

    fn get_blob<'a>(&'a self, id: BlobId, to: &'a Path) -> CourierFuture<'a, ()> {
        Box::pin(async move {
            self.fetch(id).await?;
            match self.shelf.take_out(id, to).await {
                // The cached one was damaged, or made room for another: once more from the broker.
                Err(CourierError::BadBlob(_) | CourierError::NoBlob(_)) => {
                    self.fetch(id).await?;
                    self.shelf.take_out(id, to).await
                }
                outcome => outcome,
            }
        })
    }

    fn message_bytes_max(&self) -> usize {
        self.bytes_max
    }
}

/// The hold on a message of the queue: the broker gives it to another worker when it was not renewed for a lease.
struct NatsLease {
    client: Client,
    reply: Subject,
}

impl NatsLease {
    async fn say(&self, word: impl Into<Bytes>) -> Result<(), CourierError> {
        must_be_connected(&self.client)?;
        self.client.publish(self.reply.clone(), word.into()).await.map_err(broker_error)?;
        self.client.flush().await.map_err(broker_error)
    }
}

impl OfferLease for NatsLease {
    fn renew(&self) -> CourierFuture<'_, ()> {
        Box::pin(self.say(Bytes::from_static(b"+WPI")))
    }

    fn done(&self) -> CourierFuture<'_, ()> {
        Box::pin(self.say(Bytes::from_static(b"+ACK")))
    }

    fn give_back(&self) -> CourierFuture<'_, ()> {
        let delay_ns = limits::GIVE_BACK_MS.saturating_mul(1_000_000);
        Box::pin(self.say(format!("-NAK {{\"delay\": {delay_ns}}}")))
    }
}
