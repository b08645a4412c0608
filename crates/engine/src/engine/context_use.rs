//! What fills the context window of an agent, by kind, from the record.
//!
//! Bytes are those of the texts; tokens are estimated from them. How much the descriptions of tools take is not on record: it
//! is what the provider counted for the last request beyond all that is known.

use std::collections::{BTreeMap, HashMap};

use posse_protocol::{AgentId, Attachment, EventKind, Message, Reasoning, Sender, SessionId, Usage};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine::Engine;
use crate::engine::export::SpokenRecord;
use crate::error::EngineError;
use crate::limits::BYTES_PER_TOKEN;
use crate::record::reading::read_events;

/// What fills the context window of an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextUse {
    /// The agent.
    pub agent: AgentId,
    /// What it is called.
    pub agent_name: String,
    /// The configured name of its model.
    pub model: String,
    /// How many tokens fit, where the caller knows.
    pub window_tokens: Option<u64>,
    /// How many tokens the provider counted for the last request and its reply; none before, or where it does not say.
    pub counted_tokens: Option<u64>,
    /// How many tokens the parts have together, as estimated.
    pub estimated_tokens: u64,
    /// How often the conversation was shortened.
    pub compactions: u64,
    /// What there is, largest first.
    pub parts: Vec<ContextPart>,
}

/// One kind of text in a context window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContextPart {
    /// What it is.
    pub kind: ContextKind,
    /// The tool, for results and calls of tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// How many texts.
    pub texts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their tokens, as estimated.
    pub tokens: u64,
}

/// The kinds of text in a context window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// The system prompt.
    System,
    /// The descriptions of tools.
    ToolDescriptions,
    /// Words of the person.
    Person,
    /// The task and messages of the parent agent.
    Parent,
    /// Messages of other agents.
    Peer,
    /// Reports of sub-agents.
    Reports,
    /// Words of Posse: reminders, limits.
    Posse,
    /// The summary of what was said before the conversation was shortened.
    Summary,
    /// What the model said.
    ModelText,
    /// What the model thought.
    Reasoning,
    /// Calls of tools, as the model wrote them.
    ToolCalls,
    /// Results of tools.
    ToolResults,
}

impl ContextKind {
    /// What it is, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::System => "system prompt",
            Self::ToolDescriptions => "descriptions of tools",
            Self::Person => "your words",
            Self::Parent => "words of the parent agent",
            Self::Peer => "words of other agents",
            Self::Reports => "reports of sub-agents",
            Self::Posse => "words of Posse",
            Self::Summary => "summary of what was before",
            Self::ModelText => "what the model said",
            Self::Reasoning => "what the model thought",
            Self::ToolCalls => "calls of tools",
            Self::ToolResults => "results of tools",
        }
    }
}

impl Engine {
    /// What fills the context window of an agent, by its name; `main` is the main agent. `window_of` knows how many tokens fit
    /// into the window of a configured model.
    pub async fn context_use(
        &self,
        session: SessionId,
        agent: &str,
        window_of: impl Fn(&str) -> Option<u64>,
    ) -> Result<ContextUse, EngineError> {
        let name = agent.to_owned();
        let mut found = self.read(move |engine| engine.context_of(session, &name)).await?;
        found.window_tokens = window_of(&found.model);
        Ok(found)
    }

    fn context_of(&self, session: SessionId, name: &str) -> Result<ContextUse, EngineError> {
        let agents = self.agents(session)?;
        // One that is asked again continues as another with the same name.
        let row = agents.iter().rfind(|row| row.name == name);
        let none = || EngineError::NotFound(format!("there is no agent {name} in this session"));
        let row = row.ok_or_else(none)?;
        let (mut tape, mut senders) = (SpokenRecord::default(), HashMap::new());
        let (mut usage, mut compactions) = (None, 0);
        // What the last request held, and what came since.
        let mut sent = None;
        for event in read_events(&self.parts.store, session)? {
            let mine = event.agent == row.id;
            match &event.kind {
                EventKind::Told { from, text, .. } => drop(senders.insert(text.clone(), *from)),
                EventKind::Replied { reply, .. } if mine => {
                    usage = Some(reply.usage);
                    sent = tape
                        .messages(row.id)
                        .map(|messages| messages.iter().map(|m| m.bytes()).sum::<usize>());
                }
                EventKind::Compacted { .. } if mine => {
                    compactions += 1;
                    (usage, sent) = (None, None);
                }
                _ => {}
            }
            tape.event(event);
        }
        let system = tape.system(row.id).ok_or_else(none)?;
        let mut parts = Parts::default();
        parts.add(ContextKind::System, None, system.len());
        let messages = tape.messages(row.id).unwrap_or_default();
        messages.iter().for_each(|message| parts.message(message, &senders));
        parts.replied(tape.unanswered(row.id));
        parts.tools(system.len(), sent, usage);
        let parts = parts.sorted();
        Ok(ContextUse {
            agent: row.id,
            agent_name: row.name.clone(),
            model: row.model.clone().unwrap_or_default(),
            window_tokens: None,
            counted_tokens: usage.and_then(|usage| usage.total_tokens()),
            estimated_tokens: parts.iter().map(|part| part.tokens).sum(),
            compactions,
            parts,
        })
    }
}

/// What is shown counts as the text that takes as many tokens.
fn shown_bytes(attachments: &[Attachment]) -> usize {
    attachments.iter().map(Attachment::text_bytes).sum()
}

/// Texts by kind and tool.
#[derive(Default)]
struct Parts {
    found: BTreeMap<(ContextKind, Option<String>), (u64, u64)>,
    /// The tools of calls, for their results.
    tools: HashMap<String, String>,
}

impl Parts {
    fn add(&mut self, kind: ContextKind, tool: Option<String>, bytes: usize) {
        if bytes > 0 {
            let (texts, sum) = self.found.entry((kind, tool)).or_default();
            (*texts, *sum) = (*texts + 1, *sum + bytes as u64);
        }
    }

    fn message(&mut self, message: &Message, senders: &HashMap<String, Sender>) {
        match message {
            Message::User { text, attachments } => {
                let kind = match senders.get(text) {
                    Some(Sender::Person) => ContextKind::Person,
                    Some(Sender::Parent) => ContextKind::Parent,
                    Some(Sender::Peer) => ContextKind::Peer,
                    Some(Sender::Reports) => ContextKind::Reports,
                    Some(Sender::Posse) => ContextKind::Posse,
                    // Nobody said it: it is what the conversation was shortened to.
                    None => ContextKind::Summary,
                };
                self.add(kind, None, text.len() + shown_bytes(attachments));
            }
            Message::Assistant { text, reasoning, calls } => {
                self.add(ContextKind::ModelText, None, text.len());
                reasoning.iter().for_each(|piece| self.thought(piece));
                for call in calls {
                    self.tools.insert(call.id.to_string(), call.name.clone());
                    let bytes = call.name.len() + call.arguments.len();
                    self.add(ContextKind::ToolCalls, Some(call.name.clone()), bytes);
                }
            }
            Message::Tools { results } => {
                for result in results {
                    let tool = self.tools.get(&result.id.to_string()).cloned();
                    let bytes = result.text.len() + shown_bytes(&result.attachments);
                    self.add(ContextKind::ToolResults, tool, bytes);
                }
            }
        }
    }

    fn thought(&mut self, piece: &Reasoning) {
        let bytes = piece.opaque.as_ref().map_or(piece.text.len(), String::len);
        self.add(ContextKind::Reasoning, None, bytes);
    }

    /// The last reply, whose consequences are not on record yet.
    fn replied(&mut self, message: Option<Message>) {
        if let Some(message) = message {
            self.message(&message, &HashMap::new());
        }
    }

    /// What the provider counted beyond the system prompt and the messages of the last request.
    fn tools(&mut self, system: usize, sent: Option<usize>, usage: Option<Usage>) {
        let Some((sent, counted)) = sent.zip(usage.and_then(|usage| usage.input_tokens)) else { return };
        let known = (system + sent) as u64;
        let counted = counted.saturating_mul(BYTES_PER_TOKEN as u64);
        let bytes = usize::try_from(counted.saturating_sub(known)).unwrap_or(usize::MAX);
        self.add(ContextKind::ToolDescriptions, None, bytes);
    }

    fn sorted(self) -> Vec<ContextPart> {
        let part = |((kind, tool), (texts, bytes)): ((ContextKind, Option<String>), (u64, u64))| {
            ContextPart { kind, tool, texts, bytes, tokens: bytes.div_ceil(BYTES_PER_TOKEN as u64) }
        };
        let mut parts = self.found.into_iter().map(part).collect::<Vec<_>>();
        parts.sort_by_key(|part| std::cmp::Reverse(part.bytes));
        parts
    }
}
