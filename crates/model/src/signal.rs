//! What there is to show while a call of a model is under way.

/// Something worth showing while a call is under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Signal {
    /// More of the reply's text. Text that turns out to be a tool call is not shown.
    Text(String),
    /// More of the model's reasoning.
    Reasoning(String),
    /// The model has begun to call this tool.
    Calling(String),
    /// Something has come that is not shown, such as more of a call's arguments; now and then, not each time.
    Arriving,
    /// The request waits for its turn at the endpoint.
    Queued,
    /// Its turn at the endpoint has come, after it was queued.
    Served,
    /// The request will be sent again.
    Retrying {
        /// Which retry: 1, 2, 3, …
        attempt: u32,
        /// How often it is tried in all, the first time included.
        attempts_max: u32,
        /// How long it waits first.
        delay_ms: u64,
        /// What went wrong, and where, in a few words.
        reason: String,
    },
}
