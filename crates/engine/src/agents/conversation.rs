//! A conversation with a model: who answers, what the model is told and offered, and the messages so far.

use std::sync::Arc;

use posse_agent::Settings;
use posse_model::Transcript;
use posse_protocol::{Budget, Message, ToolSpec};

use crate::models::choice::PricedModel;

/// Clones share what was encoded: a fork begins with pointers to its parent's requests.
#[derive(Clone)]
pub(crate) struct Conversation {
    pub(crate) model: PricedModel,
    pub(crate) system: String,
    /// The tools that the model is offered.
    pub(crate) tools: Arc<[ToolSpec]>,
    /// The most tokens of one reply, where they are limited.
    pub(crate) max_output_tokens: Option<u32>,
    /// The request without any message: where a shortened conversation starts again.
    empty: Transcript,
    /// The request as the model's protocol writes it; grows one message at a time.
    transcript: Transcript,
    /// The messages in the transcript.
    messages: Vec<Arc<Message>>,
    /// How often the agent had shortened the conversation that this was made from.
    epoch: u32,
}

impl Conversation {
    /// One without messages.
    pub(crate) fn new(
        model: PricedModel,
        system: String,
        tools: Arc<[ToolSpec]>,
        max_output_tokens: Option<u32>,
    ) -> Self {
        let empty = model.replying_within(max_output_tokens).transcript(&system, &tools);
        let (transcript, messages) = (empty.clone(), Vec::new());
        Self { model, system, tools, max_output_tokens, empty, transcript, messages, epoch: 0 }
    }

    /// The same with another model, for which everything is encoded anew.
    pub(crate) fn with_model(self, model: &PricedModel) -> Self {
        if model.name() == self.model.name() {
            return Self { model: model.clone(), ..self };
        }
        let mut other = Self::new(model.clone(), self.system, self.tools, None);
        other.extend(&self.messages);
        other
    }

    /// The same model and tools with the conversation of another.
    pub(crate) fn taken_up(&self, system: String, messages: &[Message]) -> Self {
        let mut other =
            Self::new(self.model.clone(), system, Arc::clone(&self.tools), self.max_output_tokens);
        let messages: Vec<Arc<Message>> = messages.iter().cloned().map(Arc::new).collect();
        other.extend(&messages);
        other
    }

    /// The same with another model or other tools: everything is encoded anew.
    pub(crate) fn encoded_anew(&self, model: &PricedModel, tools: Arc<[ToolSpec]>) -> Self {
        let mut other = Self::new(model.clone(), self.system.clone(), tools, self.max_output_tokens);
        other.extend(&self.messages);
        other
    }

    /// The request with all messages so far.
    pub(crate) fn transcript(&self) -> &Transcript {
        &self.transcript
    }

    /// The messages in the transcript.
    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Encodes more messages.
    pub(crate) fn extend(&mut self, messages: &[Arc<Message>]) {
        for message in messages {
            self.transcript.push(message);
            self.messages.push(Arc::clone(message));
        }
    }

    /// Goes on with an agent's conversation, whose beginning may be encoded already.
    pub(crate) fn follow(&mut self, agent: &posse_agent::MessageHistory) {
        self.epoch = agent.epoch();
    }

    /// Brings the transcript up to the agent's conversation: only what is new is encoded.
    pub(crate) fn catch_up(&mut self, agent: &posse_agent::MessageHistory) {
        if agent.epoch() != self.epoch {
            self.epoch = agent.epoch();
            self.transcript = self.empty.clone();
            self.messages.clear();
        }
        self.extend(&agent.messages()[self.messages.len()..]);
    }

    /// What is fixed for an agent that has this conversation.
    pub(crate) fn settings(&self, budget: Budget, sum_up_over: Option<usize>, stays: bool) -> Settings {
        Settings {
            budget,
            prices: self.model.prices,
            context_window: self.model.model.config().context_window,
            fixed_bytes: self.empty.bytes(),
            sum_up_over,
            stays,
        }
    }
}
