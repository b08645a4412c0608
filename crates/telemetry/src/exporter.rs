//! Live export: sessions are followed beside whoever works on them, and what has ended is sent in pieces. Nobody waits for
//! the collector, what waits for it is bounded, and a collector that does not take anything is mentioned once.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::trace::v1::Span;
use posse_engine::{SessionWatcher, Updates};
use posse_protocol::{EventKind, Seq, SessionId, Update};
use reqwest::Client;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::attributes::text;
use crate::limits::{GATHER_MS, LAST_MS_MAX, SPANS_AT_ONCE, SPANS_WAITING_MAX, WATCHERS_END_MS};
use crate::meter::Meter;
use crate::names;
use crate::otlp::{metrics_request, trace_request};
use crate::sender::{NotTaken, Patience, client, send};
use crate::settings::{Collector, TelemetrySettings};
use crate::spans::SessionSpans;

/// What a process exports. Clones share it.
#[derive(Clone, Default)]
pub struct Telemetry {
    exporter: Option<Arc<Exporter>>,
}

struct Exporter {
    settings: TelemetrySettings,
    resource: Vec<KeyValue>,
    meter: Mutex<Meter>,
    waiting: Mutex<Waiting>,
    /// Held by whoever sends spans: they are taken out by how many were sent.
    sending: tokio::sync::Mutex<()>,
    /// Told when spans wait.
    came: Notify,
    /// Whether the task that sends has begun.
    sends: AtomicBool,
    /// Sessions that are followed, and who waits for their end.
    watched: AtomicUsize,
    unwatched: Notify,
    /// The process ends: what is followed ends now.
    closing: CancellationToken,
    client: OnceLock<Result<Client, String>>,
    /// Whether the collector takes traces alone.
    no_metrics: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    spans: Vec<Span>,
    /// Spans that there was no room for, or that nobody took.
    lost: u64,
    /// Why, the first time.
    trouble: Option<String>,
}

impl fmt::Debug for Telemetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Telemetry").field("on", &self.exporter.is_some()).finish()
    }
}

impl fmt::Debug for Exporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Exporter")
    }
}

impl Telemetry {
    /// Exports what the settings say; nothing without settings.
    pub fn new(settings: Option<TelemetrySettings>) -> Self {
        let exporter = settings.map(|settings| {
            let mut resource = settings.resource.clone();
            // Counters of several processes must not be taken for one.
            let process = format!("{}-{}", std::process::id(), now_ms());
            resource.push(text(names::SERVICE_INSTANCE, process));
            Arc::new(Exporter {
                settings,
                resource,
                meter: Mutex::new(Meter::new(now_ms())),
                waiting: Mutex::default(),
                sending: tokio::sync::Mutex::default(),
                came: Notify::new(),
                sends: AtomicBool::new(false),
                watched: AtomicUsize::new(0),
                unwatched: Notify::new(),
                closing: CancellationToken::new(),
                client: OnceLock::new(),
                no_metrics: AtomicBool::new(false),
            })
        });
        Self { exporter }
    }

    /// Who is told of sessions, if anything is exported.
    pub fn watcher(&self) -> Option<Arc<dyn SessionWatcher>> {
        let exporter = Arc::clone(self.exporter.as_ref()?);
        Some(Arc::new(ExportingWatcher { exporter }))
    }

    /// Sends what is left, but does not wait for long. What the person should know, if something was not taken.
    pub async fn finish(&self) -> Option<String> {
        let exporter = self.exporter.as_ref().filter(|exporter| exporter.sends.load(Ordering::Acquire))?;
        exporter.closing.cancel();
        let last = Duration::from_millis(LAST_MS_MAX);
        if timeout(last, exporter.send_last()).await.is_err() {
            let TelemetrySettings { traces, metrics, .. } = &exporter.settings;
            let slow = traces.as_ref().map(|one| ("Traces", one));
            let slow = slow.or(metrics.as_ref().map(|one| ("Metrics", one)));
            slow.into_iter().for_each(|(what, one)| exporter.failed(what, one, "it does not answer", 0));
        }
        let Waiting { trouble, lost, .. } = &*exporter.waiting();
        let trouble = trouble.as_ref()?;
        let lost = if *lost > 0 { format!(" {lost} spans were lost on the way;") } else { String::new() };
        Some(format!(
            "{trouble}.{lost} The record has all of it: `posse sessions export ID --format otlp -o FILE`.\n"
        ))
    }
}

#[derive(Debug)]
struct ExportingWatcher {
    exporter: Arc<Exporter>,
}

impl SessionWatcher for ExportingWatcher {
    fn watch(&self, session: SessionId, after: Seq, updates: Updates) {
        let exporter = Arc::clone(&self.exporter);
        exporter.watched.fetch_add(1, Ordering::AcqRel);
        if !exporter.sends.swap(true, Ordering::AcqRel) {
            tokio::spawn(Arc::clone(&exporter).send_all());
        }
        tokio::spawn(async move {
            let _watched = WatchedSession(&exporter);
            exporter.follow(session, after, updates).await;
        });
    }
}

/// One session that is followed; not any more when this is dropped.
struct WatchedSession<'a>(&'a Exporter);

impl Drop for WatchedSession<'_> {
    fn drop(&mut self) {
        self.0.watched.fetch_sub(1, Ordering::AcqRel);
        self.0.unwatched.notify_waiters();
    }
}

impl Exporter {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Folds a session from its first event on. What ended before this process took it up was told by others, unless they
    /// were killed.
    async fn follow(&self, session: SessionId, after: Seq, mut updates: Updates) {
        let mut spans = SessionSpans::new(session, self.settings.content);
        let mut left_behind = Vec::new();
        while let Some(update) = self.next(&mut updates).await {
            let Update::Event(event) = update else { continue };
            let ended = spans.event(&event);
            if event.seq <= after {
                match event.kind {
                    EventKind::SessionInterrupted { detached: false, .. } => left_behind = ended,
                    EventKind::SessionResumed { .. } => left_behind.clear(),
                    _ => {}
                }
                continue;
            }
            self.push(std::mem::take(&mut left_behind));
            self.meter().event(&event);
            // What was open before it was resumed ended with the process that had it.
            if !matches!(event.kind, EventKind::SessionResumed { .. }) {
                self.push(ended);
            }
        }
        self.push(spans.finish());
    }

    /// The next update; none when the session has ended, or when the process does and nothing more comes.
    async fn next(&self, updates: &mut Updates) -> Option<Update> {
        tokio::select! {
            biased;
            update = updates.next() => update,
            () = self.closing.cancelled() => {
                // What was put on record just now is still on its way.
                timeout(Duration::from_millis(WATCHERS_END_MS), updates.next()).await.ok()?
            }
        }
    }

    fn push(&self, ended: Vec<Span>) {
        if ended.is_empty() || self.settings.traces.is_none() {
            return;
        }
        let mut waiting = self.waiting();
        let room = SPANS_WAITING_MAX.saturating_sub(waiting.spans.len());
        waiting.lost += ended.len().saturating_sub(room) as u64;
        waiting.spans.extend(ended.into_iter().take(room));
        drop(waiting);
        self.came.notify_one();
    }

    /// Sends spans as they come and metrics now and then, until the process ends.
    async fn send_all(self: Arc<Self>) {
        let mut metrics_at = Instant::now() + self.settings.metrics_every;
        loop {
            tokio::select! {
                () = self.closing.cancelled() => return,
                () = self.came.notified() => {
                    tokio::select! {
                        () = self.closing.cancelled() => return,
                        () = tokio::time::sleep(Duration::from_millis(GATHER_MS)) => {}
                    }
                    tokio::select! {
                        () = self.closing.cancelled() => return,
                        () = self.send_spans(Patience::Much) => {}
                    }
                }
                () = sleep_until(metrics_at) => {
                    self.send_metrics().await;
                    metrics_at = Instant::now() + self.settings.metrics_every;
                }
            }
        }
    }

    async fn send_last(&self) {
        loop {
            let ended = self.unwatched.notified();
            if self.watched.load(Ordering::Acquire) == 0 {
                break;
            }
            ended.await;
        }
        self.send_spans(Patience::Some).await;
        self.send_metrics().await;
    }

    async fn send_spans(&self, patience: Patience) {
        let Some(collector) = &self.settings.traces else { return };
        let _sending = self.sending.lock().await;
        loop {
            // They stay among those that wait until they are taken: whoever is interrupted loses none.
            let spans: Vec<Span> = self.waiting().spans.iter().take(SPANS_AT_ONCE).cloned().collect();
            if spans.is_empty() {
                return;
            }
            let count = spans.len();
            // A collector that took nothing before is not waited for.
            let patience = if self.waiting().trouble.is_some() { Patience::Some } else { patience };
            let sent = self.post(collector, trace_request(&self.resource, spans), patience).await;
            self.waiting().spans.drain(..count);
            if let Err(failed) = sent {
                self.failed("Traces", collector, &failed.why, count as u64);
            }
        }
    }

    async fn send_metrics(&self) {
        let Some(collector) = &self.settings.metrics else { return };
        if self.no_metrics.load(Ordering::Relaxed) {
            return;
        }
        let metrics = self.meter().metrics(now_ms());
        if metrics.is_empty() {
            return;
        }
        match self.post(collector, metrics_request(&self.resource, metrics), Patience::Some).await {
            Ok(()) => {}
            // Many back ends take traces alone, and nobody has named this one for metrics.
            Err(failed) if failed.is_unknown_there() && !collector.for_this => {
                self.no_metrics.store(true, Ordering::Relaxed);
            }
            Err(failed) => self.failed("Metrics", collector, &failed.why, 0),
        }
    }

    async fn post(&self, collector: &Collector, body: Vec<u8>, patience: Patience) -> Result<(), NotTaken> {
        let client = self.client.get_or_init(client).as_ref().map_err(|why| NotTaken::never(why))?;
        send(client, collector, body, patience).await
    }

    fn failed(&self, what: &str, collector: &Collector, why: &str, lost: u64) {
        let mut waiting = self.waiting();
        waiting.lost += lost;
        if waiting.trouble.is_none() {
            let address = collector.shown();
            tracing::warn!(%address, %why, "{what} cannot be sent");
            waiting.trouble = Some(format!("{what} were not sent to {address}: {why}"));
        }
    }
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
