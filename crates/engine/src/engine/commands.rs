//! What can be asked of a session that runs in this process, by its id. What goes on record is there when a command returns.

use std::sync::Arc;

use posse_protocol::limits::{ATTACHMENTS_DATA_BYTES_MAX, ATTACHMENTS_MAX};
use posse_protocol::{
    AgentId, Answer, Approval, Attachment, Budget, CallId, MailId, Sender, SessionId, Words,
};
use posse_tools::OutsideServer;
use serde::{Deserialize, Serialize};

use crate::crew::Crew;
use crate::crew::mail::{Delivery, MailGone, SettingsChange};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::limits::{EFFORT_BYTES_MAX, PROMPT_BYTES_MAX};
use crate::rights::approvals::AnswerOutcome;

/// What changes from the main agent's next turn on; what is none stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextTurnSettings {
    /// What runs without asking.
    pub approval: Option<Approval>,
    /// A configured model, by name.
    pub model: Option<String>,
    /// The reasoning effort, as the provider calls it.
    pub effort: Option<String>,
}

impl Engine {
    /// The sessions that run in this process.
    pub fn running(&self) -> Vec<SessionId> {
        self.parts.running.ids()
    }

    fn crew(&self, session: SessionId) -> Result<Arc<Crew>, EngineError> {
        self.parts.running.get(session).ok_or(EngineError::NotRunning(session))
    }

    /// How the servers of a session's tools are.
    pub fn outside_servers(&self, session: SessionId) -> Result<Vec<OutsideServer>, EngineError> {
        let crew = self.crew(session)?;
        Ok(crew.outside.as_ref().map(|outside| outside.servers()).unwrap_or_default())
    }

    /// The text of a prompt that one of a session's servers has.
    pub async fn outside_prompt(
        &self,
        session: SessionId,
        name: &str,
        arguments: Vec<(String, String)>,
    ) -> Result<String, EngineError> {
        let outside = self.crew(session)?.outside.clone();
        let outside =
            outside.ok_or_else(|| EngineError::Refused("This session has no servers.".to_string()))?;
        outside.prompt(name, arguments).await.map_err(EngineError::Refused)
    }

    /// Gives a session its next prompt: at once if it rests, else when it has answered the one before.
    pub async fn prompt(&self, session: SessionId, said: impl Into<Words>) -> Result<MailId, EngineError> {
        self.tell(session, None, said, Delivery::NextPrompt).await
    }

    /// Says something to an agent, by name; to the main agent where none is named. What is shown with it is checked first.
    pub async fn tell(
        &self,
        session: SessionId,
        agent: Option<&str>,
        said: impl Into<Words>,
        delivery: Delivery,
    ) -> Result<MailId, EngineError> {
        let crew = self.crew(session)?;
        let Words { text, attachments } = said.into();
        let said = Words { text: words(&text)?, attachments: shown(&attachments)? };
        let id = find(&crew, agent)?;
        crew.begun.cancelled().await;
        let sent = crew.send(id, Sender::Person, said, delivery);
        let (mail, mut journal) = sent.ok_or_else(|| {
            EngineError::Refused(format!(
                "{} takes no messages: it is about to end, or too many wait for it.",
                agent.unwrap_or("The main agent")
            ))
        })?;
        drop(crew);
        journal.durable().await?;
        Ok(mail)
    }

    /// Gives a message that was not delivered yet another text.
    pub async fn edit_message(
        &self,
        session: SessionId,
        mail: MailId,
        text: &str,
    ) -> Result<(), EngineError> {
        self.change_mail(session, mail, Some(words(text)?)).await
    }

    /// Takes back a message that was not delivered yet: it will not be.
    pub async fn withdraw_message(&self, session: SessionId, mail: MailId) -> Result<(), EngineError> {
        self.change_mail(session, mail, None).await
    }

    async fn change_mail(
        &self,
        session: SessionId,
        mail: MailId,
        text: Option<String>,
    ) -> Result<(), EngineError> {
        let changed = self.crew(session)?.change_mail(mail, text);
        let mut journal = changed.map_err(|gone| match gone {
            MailGone::Delivered => EngineError::NotFound(format!("No message {mail} waits to be delivered.")),
            MailGone::NotYours => EngineError::Refused(format!("Message {mail} was not sent by a person.")),
        })?;
        Ok(journal.durable().await?)
    }

    /// Answers a question of an agent.
    pub fn answer(
        &self,
        session: SessionId,
        agent: AgentId,
        call: &CallId,
        answer: Answer,
    ) -> Result<AnswerOutcome, EngineError> {
        Ok(self.crew(session)?.approvals.answer(agent, call, answer))
    }

    /// Stops what a session does now, its sub-agents included. A session that stays rests then; any other ends.
    pub fn stop_turn(&self, session: SessionId) -> Result<(), EngineError> {
        let crew = self.crew(session)?;
        let heard = crew.stop_turn(crew.main);
        heard
            .then_some(())
            .ok_or_else(|| EngineError::NothingToDo("The session is about to end.".to_string()))
    }

    /// Stops an agent, by name, with all below it. Gives back how many were stopped.
    pub fn stop_agent(&self, session: SessionId, agent: &str) -> Result<usize, EngineError> {
        let crew = self.crew(session)?;
        let stopped = crew.cancel(find(&crew, Some(agent))?);
        if stopped == 0 {
            return Err(EngineError::NothingToDo(format!("{agent} has ended already.")));
        }
        Ok(stopped)
    }

    /// Ends a session: what runs is stopped, and the end is recorded as cancelled, or as its last prompt ended if it rests.
    pub fn cancel(&self, session: SessionId) -> Result<(), EngineError> {
        let crew = self.crew(session)?;
        crew.cancel(crew.main);
        Ok(())
    }

    /// Closes a session that stays: it ends as soon as it rests, at once if it does.
    pub fn close(&self, session: SessionId) -> Result<(), EngineError> {
        let crew = self.crew(session)?;
        crew.want_close(crew.main);
        Ok(())
    }

    /// Changes how a session works from the main agent's next turn on. A narrower approval mode counts for all its agents at
    /// once; a wider one only for the main agent and for sub-agents that it starts then.
    pub fn change_settings(&self, session: SessionId, change: NextTurnSettings) -> Result<(), EngineError> {
        let NextTurnSettings { approval, model, effort } = change;
        let crew = self.crew(session)?;
        let reach = |name: String| crew.models.reach(Some(&name), None).map_err(EngineError::Refused);
        let model = model.map(reach).transpose()?;
        if let Some(effort) = &effort {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if effort.is_empty() || effort.len() > EFFORT_BYTES_MAX || !effort.chars().all(fits) {
                return Err(EngineError::Refused(format!("{effort:?} is not a reasoning effort.")));
            }
        }
        // No agent does more than the new mode from here on; what it allows beyond the old one waits for the next turn.
        approval.into_iter().for_each(|approval| crew.limit_to(approval));
        let heard = crew.change_settings(crew.main, SettingsChange { approval, model, effort });
        heard
            .then_some(())
            .ok_or_else(|| EngineError::NothingToDo("The session is about to end.".to_string()))
    }

    /// Lets an agent spend more than it may now; the main agent where none is named. What has no limit stays without one.
    pub async fn top_up(
        &self,
        session: SessionId,
        agent: Option<&str>,
        more: Budget,
    ) -> Result<(), EngineError> {
        let crew = self.crew(session)?;
        let id = find(&crew, agent)?;
        crew.begun.cancelled().await;
        let raised = crew.top_up(id, more);
        drop(crew);
        if raised.is_empty() {
            return Err(EngineError::NothingToDo(
                "It has no limit that could be raised by this.".to_string(),
            ));
        }
        for mut journal in raised {
            journal.durable().await?;
        }
        Ok(())
    }

    /// Moves a command that an agent waits for to the background: the agent continues, and is told when it ends. Gives back the
    /// name of the command there.
    pub async fn to_background(
        &self,
        session: SessionId,
        agent: AgentId,
        call: &CallId,
    ) -> Result<String, EngineError> {
        let crew = self.crew(session)?;
        crew.to_background(agent, call).await.map_err(|refusal| EngineError::Refused(refusal.to_string()))
    }

    /// Shortens the conversation of an agent by its model's own notes: now if it rests, else at its next turn.
    pub fn compact(&self, session: SessionId, agent: Option<&str>) -> Result<(), EngineError> {
        let crew = self.crew(session)?;
        let heard = crew.want_compaction(find(&crew, agent)?);
        heard.then_some(()).ok_or_else(|| EngineError::NothingToDo("The agent is about to end.".to_string()))
    }
}

/// An agent that has not ended, by name.
fn find(crew: &Crew, agent: Option<&str>) -> Result<AgentId, EngineError> {
    let Some(name) = agent else { return Ok(crew.main) };
    let found = crew.tree(|tree| tree.find_peer(name));
    found.ok_or_else(|| EngineError::NotFound(format!("No agent called {name} is at work in this session.")))
}

/// What is shown with a message: who sent it may say anything about it, so it is read anew.
fn shown(attachments: &[Attachment]) -> Result<Vec<Attachment>, EngineError> {
    let data_bytes: usize = attachments.iter().map(|attachment| attachment.data.len()).sum();
    if attachments.len() > ATTACHMENTS_MAX || data_bytes > ATTACHMENTS_DATA_BYTES_MAX {
        return Err(EngineError::Refused(format!(
            "One message holds {ATTACHMENTS_MAX} images and documents, {ATTACHMENTS_DATA_BYTES_MAX} bytes of base64 in all."
        )));
    }
    let read = attachments.iter().map(|attachment| {
        let checked = attachment.checked();
        checked.map_err(|error| {
            EngineError::Refused(format!("{} cannot be shown: it is {error}.", attachment.name))
        })
    });
    read.collect()
}

fn words(text: &str) -> Result<String, EngineError> {
    if text.trim().is_empty() {
        return Err(EngineError::Refused("The message is empty.".to_string()));
    }
    if text.len() > PROMPT_BYTES_MAX {
        return Err(EngineError::Refused(format!(
            "The message has {} bytes; at most {PROMPT_BYTES_MAX} are taken.",
            text.len()
        )));
    }
    Ok(text.to_string())
}
