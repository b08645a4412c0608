//! A configured model, live or recorded: what the rest of Posse calls.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use posse_protocol::{ModelError, ModelErrorKind, Reply, ToolSpec};

use crate::call;
use crate::cassette::{MessageLog, Player, Substitutions};
use crate::clouds;
use crate::live::LiveModel;
use crate::openings::Openings;
use crate::signal::Signal;
use crate::wire::Wire;
use crate::{Governors, ModelConfig, Recorder, SetupError, Transcript, limits};

/// One configured model. Clones share everything.
#[derive(Clone)]
pub struct Model {
    inner: Arc<Inner>,
    recorder: Option<Arc<Recorder>>,
    /// The most tokens of one reply, where it differs from what is configured.
    max_output_tokens: Option<u32>,
    /// The reasoning effort, where it differs from what is configured.
    effort: Option<Arc<str>>,
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Model").field(&self.inner.config).finish()
    }
}

struct Inner {
    config: ModelConfig,
    source: Source,
    openings: Openings,
}

/// Where replies come from.
enum Source {
    Live(LiveModel),
    Cassette { player: Player, substitutions: Substitutions },
    Elsewhere(Arc<dyn CallElsewhere>),
}

/// Somebody else who calls the model, and knows the conversation.
pub trait CallElsewhere: Send + Sync {
    /// Asks for the next reply of the conversation. Dropping the future cancels the call.
    fn call(&self) -> Called<'_>;
}

/// A reply that is waited for.
pub type Called<'a> = Pin<Box<dyn Future<Output = Result<Reply, ModelError>> + Send + 'a>>;

impl Model {
    /// Sets a model up. Opens no connection; reads the cassette of a replay.
    pub fn new(config: ModelConfig, governors: &Governors) -> Result<Self, SetupError> {
        let source = match Wire::of(config.protocol) {
            Some(wire) => Source::Live(LiveModel::new(&config, wire, governors)?),
            None => {
                let Some(path) = &config.cassette else {
                    return Err(SetupError::NoCassette { name: config.name });
                };
                let player = Player::open(path)?;
                Source::Cassette { player, substitutions: Substitutions::new(&config.substitutions) }
            }
        };
        let inner = Arc::new(Inner { config, source, openings: Openings::default() });
        Ok(Self { inner, recorder: None, max_output_tokens: None, effort: None })
    }

    /// A model that somebody else calls. What is configured says how large requests are, and what it takes.
    pub fn elsewhere(config: ModelConfig, calls: Arc<dyn CallElsewhere>) -> Self {
        let inner = Inner { config, source: Source::Elsewhere(calls), openings: Openings::default() };
        Self { inner: Arc::new(inner), recorder: None, max_output_tokens: None, effort: None }
    }

    /// The same model with its exchanges recorded. Transcripts made before are not.
    #[must_use]
    pub fn recording(self, recorder: Arc<Recorder>) -> Self {
        Self { recorder: Some(recorder), ..self }
    }

    /// The same model under other governors, such as those of the process it runs in. Replies from a cassette need none.
    #[must_use]
    pub fn governed_by(&self, governors: &Governors) -> Self {
        let again = match &self.inner.source {
            Source::Live(_) => Self::new(self.inner.config.clone(), governors).ok(),
            Source::Cassette { .. } | Source::Elsewhere(_) => None,
        };
        let inner = again.map_or_else(|| Arc::clone(&self.inner), |again| again.inner);
        Self { inner, ..self.clone() }
    }

    /// The same model with another reasoning effort, in transcripts that are made from now on.
    #[must_use]
    pub fn with_effort(&self, effort: &str) -> Self {
        Self { effort: Some(effort.into()), ..self.clone() }
    }

    /// The same model with shorter replies, in transcripts that are made from now on. Connection and governor are shared.
    #[must_use]
    pub fn replying_within(self, max_output_tokens: u32) -> Self {
        Self { max_output_tokens: Some(max_output_tokens), ..self }
    }

    /// How it is configured.
    pub fn config(&self) -> &ModelConfig {
        &self.inner.config
    }

    /// A new conversation with it.
    pub fn transcript(&self, system: &str, tools: &[ToolSpec]) -> Transcript {
        let substitutions = match (&self.inner.source, &self.recorder) {
            (Source::Cassette { substitutions, .. }, _) => Some(substitutions.clone()),
            (Source::Live(_), Some(recorder)) => Some(recorder.substitutions()),
            (Source::Live(_) | Source::Elsewhere(_), _) => None,
        };
        let log = substitutions.map(|substitutions| MessageLog::new(system, tools, substitutions));
        let openings = &self.inner.openings;
        if self.max_output_tokens.is_none() && self.effort.is_none() {
            return Transcript::new(&self.inner.config, system, tools, openings, log);
        }
        let mut config = self.inner.config.clone();
        if let Some(max) = self.max_output_tokens {
            let known = clouds::reply_tokens_max(&config.base_url);
            let most = [config.max_output_tokens, known].into_iter().flatten();
            config.max_output_tokens = Some(most.fold(max, u32::min));
        }
        if let Some(effort) = &self.effort {
            config.reasoning_effort = Some(effort.to_string());
        }
        Transcript::new(&config, system, tools, openings, log)
    }

    /// Asks for the next reply. Dropping the future cancels the call.
    ///
    /// The transcript must come from this model's `transcript`.
    pub async fn call(
        &self,
        transcript: &Transcript,
        on: &mut (dyn FnMut(Signal) + Send),
    ) -> Result<Reply, ModelError> {
        let config = &self.inner.config;
        let reply = match &self.inner.source {
            Source::Live(live) => call::call(live, config, transcript, on).await?,
            Source::Cassette { player, substitutions } => {
                let played = transcript.log().ok_or_else(|| "the transcript is not this model's".to_owned());
                let recorded = played
                    .and_then(|log| player.play(log))
                    .map_err(|why| ModelError::new(ModelErrorKind::NotRecorded, capitalised(&why)))?;
                let reply = substitutions.show_reply(recorded);
                act_out(&reply, config.replay_pace_ms, on).await;
                reply
            }
            Source::Elsewhere(calls) => calls.call().await?,
        };
        if let (Some(recorder), Some(log)) = (&self.recorder, transcript.log()) {
            recorder.write(&config.name, log, &reply);
        }
        Ok(reply)
    }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Shows a recorded reply as if it were being written.
async fn act_out(reply: &Reply, pace_ms: u64, on: &mut (dyn FnMut(Signal) + Send)) {
    for piece in &reply.reasoning {
        for part in parts(&piece.text) {
            on(Signal::Reasoning(part));
            pause(pace_ms).await;
        }
    }
    for part in parts(&reply.text) {
        on(Signal::Text(part));
        pause(pace_ms).await;
    }
    for call in &reply.calls {
        on(Signal::Calling(call.name.clone()));
        pause(pace_ms).await;
    }
}

async fn pause(pace_ms: u64) {
    if pace_ms > 0 {
        tokio::time::sleep(Duration::from_millis(pace_ms)).await;
    }
}

fn parts(text: &str) -> impl Iterator<Item = String> + '_ {
    let mut chars = text.chars();
    std::iter::from_fn(move || {
        let part: String = chars.by_ref().take(limits::REPLAY_CHUNK_CHARS).collect();
        (!part.is_empty()).then_some(part)
    })
}
