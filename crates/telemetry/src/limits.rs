//! How much is kept and sent at most.

/// The longest text of one attribute, in characters. Only content gets that long.
pub(crate) const ATTRIBUTE_CHARS_MAX: usize = 16_384;
/// The most messages that one model call is shown with, where content is sent; of more, the newest.
pub(crate) const MESSAGES_MAX: usize = 64;
/// The most attributes that `OTEL_RESOURCE_ATTRIBUTES` adds.
pub(crate) const RESOURCE_ATTRIBUTES_MAX: usize = 64;
/// The most headers of a request.
pub(crate) const HEADERS_MAX: usize = 64;
/// The most spans that wait to be sent; those that come then are counted and left out.
pub(crate) const SPANS_WAITING_MAX: usize = 8_192;
/// The most spans of one request.
pub(crate) const SPANS_AT_ONCE: usize = 512;
/// How long spans are gathered.
pub(crate) const GATHER_MS: u64 = 1_000;
/// How long a request may take, where the environment does not say.
pub(crate) const REQUEST_MS: u64 = 10_000;
/// The longest that the environment can say.
pub(crate) const REQUEST_MS_MAX: u64 = 60_000;
/// How often metrics are sent, where the environment does not say.
pub(crate) const METRICS_EVERY_MS: u64 = 60_000;
/// The most often that the environment can say.
pub(crate) const METRICS_EVERY_MS_MIN: u64 = 100;
/// How often what could not be sent is tried again, and how long it waits first, twice as long each time.
pub(crate) const TRIES_MAX: u32 = 4;
pub(crate) const TRY_AGAIN_MS: u64 = 500;
/// The longest pause that a collector can ask for.
pub(crate) const TRY_AGAIN_MS_MAX: u64 = 5_000;
/// How long the end of a process waits for the collector.
pub(crate) const LAST_MS_MAX: u64 = 2_000;
/// The most time series of one metric; what comes then is counted together.
pub(crate) const SERIES_MAX: usize = 1_000;
/// OpenTelemetry counts nanoseconds.
pub(crate) const NANOS_PER_MS: u64 = 1_000_000;
/// How long the end of a process waits for events that are on their way.
pub(crate) const WATCHERS_END_MS: u64 = 50;
