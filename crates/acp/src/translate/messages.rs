//! What agents and people say: pieces as they come, and whole messages from the record.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{
    ContentBlock, ContentChunk, ImageContent, SessionMessage, SessionUpdate,
};
use posse_protocol::{
    Attachment, Event, EventKind, Message, Progress, ProgressKind, Purpose, Report, Sender,
};
use posse_view::words;

use super::{AgentTold, ClientNews, Translator, tell};
use crate::limits::{CALLS_MAX, RAW_INPUT_BYTES_MAX, REMARKS_MAX};

/// Which of the two kinds of message that a model writes.
#[derive(Clone, Copy)]
enum Written {
    Text,
    Thought,
}

impl Translator {
    /// Pieces of what an agent writes, or of what its command writes.
    pub(super) fn progress(&mut self, progress: &Progress) -> Vec<ClientNews> {
        let Some(told) = self.agents.get_mut(&progress.agent).filter(|told| told.session.is_some()) else {
            return Vec::new();
        };
        let chunk = match &progress.kind {
            ProgressKind::Text(piece) => {
                told.text.push(piece);
                told.chunk(Written::Text, piece)
            }
            ProgressKind::TextSoFar(text) => {
                let missing = told.text.missing(text);
                told.chunk(Written::Text, missing)
            }
            ProgressKind::Reasoning(piece) => {
                told.thought.push(piece);
                told.chunk(Written::Thought, piece)
            }
            ProgressKind::Output { call, text } => told.output(call, text),
            _ => None,
        };
        chunk.into_iter().collect()
    }

    /// What was said, from the record.
    pub(super) fn message_news(&mut self, event: &Event) -> Vec<ClientNews> {
        let (main, skills) = (event.parent.is_none(), self.skills);
        match &event.kind {
            EventKind::TurnStarted { turn, purpose } => {
                let told = self.told(event.agent);
                (told.turn, told.purpose) = (*turn, *purpose);
                (told.text, told.thought) = Default::default();
                if main { vec![ClientNews::Turn] } else { Vec::new() }
            }
            EventKind::Replied { reply, .. } => {
                let told = self.told(event.agent);
                for call in reply.calls.iter().take(CALLS_MAX) {
                    if call.arguments.len() <= RAW_INPUT_BYTES_MAX && told.arguments.len() < CALLS_MAX {
                        told.arguments.insert(call.id.clone(), call.arguments.clone());
                    }
                }
                let thought = reply.reasoning.iter().map(|one| one.text.as_str()).collect::<String>();
                let thought = told.rest(Written::Thought, &thought);
                thought.into_iter().chain(told.rest(Written::Text, &reply.text)).collect()
            }
            EventKind::CutShort { text, .. } => {
                self.told(event.agent).rest(Written::Text, text).into_iter().collect()
            }
            EventKind::Told { mail, from: Sender::Person, text, attachments } if main => {
                vec![ClientNews::Said { mail: *mail, text: text.clone(), attachments: attachments.clone() }]
            }
            EventKind::Told { from, text, attachments, .. } if skills.subagents && *from != Sender::Posse => {
                let shown = words::said_and_shown(text, attachments);
                self.message_between(event, *from, &shown).into_iter().collect()
            }
            EventKind::ReportsDelivered { agents } => {
                self.told(event.agent).reports_of.clone_from(agents);
                Vec::new()
            }
            EventKind::SessionForked { messages, .. } => self.forked(messages),
            EventKind::AgentRested { report: Some(report) } | EventKind::AgentSettled { report } if main => {
                let mut news = self.remarks(event, report).into_iter().collect::<Vec<_>>();
                news.push(ClientNews::Rested(Box::new(report.clone())));
                news
            }
            _ => Vec::new(),
        }
    }

    /// The conversation that a session took up from another.
    fn forked(&self, messages: &[Message]) -> Vec<ClientNews> {
        let message = |(at, message): (usize, &Message)| {
            let id = format!("taken-up-{at}");
            let chunk = |text: &str| ContentChunk::new(ContentBlock::from(text)).message_id(id.as_str());
            match message {
                Message::User { text, .. } => Some(SessionUpdate::UserMessageChunk(chunk(text))),
                Message::Assistant { text, .. } if !text.is_empty() => {
                    Some(SessionUpdate::AgentMessageChunk(chunk(text)))
                }
                _ => None,
            }
        };
        let told = messages.iter().enumerate().filter_map(message);
        told.map(|update| tell(&self.session, update)).collect()
    }

    /// Words between agents, in the transcript of the one who gets them.
    fn message_between(&mut self, event: &Event, from: Sender, text: &str) -> Option<ClientNews> {
        let told = self.told(event.agent);
        let (session, reports_of) = (told.session.clone()?, std::mem::take(&mut told.reports_of));
        let sender = match (from, reports_of.as_slice()) {
            (Sender::Parent, _) => event.parent.and_then(|parent| self.session_of(parent).cloned()),
            (Sender::Reports, [one]) => self.session_of(*one).cloned(),
            _ => None,
        };
        let mut message = SessionMessage::new(format!("told-{}", event.seq.0))
            .recipient_session_id(agent_client_protocol_schema::v1::SessionId::new(Arc::clone(&session)))
            .content(vec![ContentBlock::from(text)]);
        if let Some(sender) = sender {
            let sender = agent_client_protocol_schema::v1::SessionId::new(sender);
            message = message.sender_session_id(sender);
        }
        Some(tell(&session, SessionUpdate::SessionMessage(message)))
    }

    /// What was found out about an answer that does not hold, and endings that nobody asked for.
    fn remarks(&self, event: &Event, report: &Report) -> Option<ClientNews> {
        let session = self.session_of(event.agent)?;
        let mut lines = report.remarks().take(REMARKS_MAX).map(|one| format!("- {one}")).collect::<Vec<_>>();
        if let Some(more @ 1..) = report.remarks().count().checked_sub(REMARKS_MAX) {
            lines.push(format!("- and {more} more"));
        }
        if lines.is_empty() {
            return None;
        }
        let text = format!("\n\n*Checked by Posse:*\n{}\n", lines.join("\n"));
        Some(note(session, &format!("remarks-{}", event.seq.0), &text))
    }

    /// What the person said to the main agent, for a client that did not send it.
    pub(crate) fn said(&self, mail: u64, text: &str, attachments: &[Attachment]) -> Vec<ClientNews> {
        let id = format!("said-{mail}-{}", self.view.seq.0);
        let chunk = |content| ContentChunk::new(content).message_id(id.as_str());
        let text = (!text.is_empty()).then(|| ContentBlock::from(text));
        let shown = attachments.iter().map(picture);
        let told = text.into_iter().chain(shown);
        told.map(|content| tell(&self.session, SessionUpdate::UserMessageChunk(chunk(content)))).collect()
    }

    /// Says something to the person that is no agent's word, under an id of its own.
    pub(crate) fn note(&self, id: &str, text: &str) -> ClientNews {
        note(&self.session, id, text)
    }
}

/// Something that is no agent's word.
fn note(session: &Arc<str>, id: &str, text: &str) -> ClientNews {
    let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(id);
    tell(session, SessionUpdate::AgentMessageChunk(chunk))
}

/// An attachment as a client shows it; what it cannot show is named.
pub(super) fn picture(attachment: &Attachment) -> ContentBlock {
    match attachment.media_type.is_image() && !attachment.data.is_empty() {
        true => ContentBlock::Image(ImageContent::new(
            attachment.data.to_string(),
            attachment.media_type.as_str(),
        )),
        false => ContentBlock::from(format!("[{attachment}]")),
    }
}

impl AgentTold {
    /// A piece of a message, as far as it is for people.
    fn chunk(&self, written: Written, piece: &str) -> Option<ClientNews> {
        let session = self.session.as_ref()?;
        if piece.is_empty() || matches!(self.purpose, Purpose::Summary | Purpose::SumUp) {
            return None;
        }
        let (kind, message) = match written {
            Written::Text => ("turn", &self.text),
            Written::Thought => ("thought", &self.thought),
        };
        let id = match message.again() {
            0 => format!("{kind}-{}", self.turn),
            again => format!("{kind}-{}-{again}", self.turn),
        };
        let chunk = ContentChunk::new(ContentBlock::from(piece)).message_id(id.as_str());
        Some(tell(
            session,
            match written {
                Written::Text => SessionUpdate::AgentMessageChunk(chunk),
                Written::Thought => SessionUpdate::AgentThoughtChunk(chunk),
            },
        ))
    }

    /// What is missing of a whole message.
    fn rest(&mut self, written: Written, whole: &str) -> Option<ClientNews> {
        let message = match written {
            Written::Text => &mut self.text,
            Written::Thought => &mut self.thought,
        };
        let missing = message.missing(whole);
        self.chunk(written, missing)
    }
}
