//! Commands to a session that runs: what a person tells its agents, answers, stops and changes.

use posse_engine::{AnswerOutcome, Delivery, Engine, NextTurnSettings};
use posse_protocol::{AgentId, Answer, Approval, Attachment, Budget, CallId, MailId, SessionId, Words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::call::{Call, Verb, at_most};
use crate::calls::record::SessionFound;
use crate::failure::{CallError, CallErrorKind};
use crate::limits::{NAME_BYTES_MAX, PROMPT_BODY_BYTES_MAX, TEXT_BYTES_MAX};

/// A command was carried out; there is nothing to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accomplished {}

/// A message is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Posted {
    /// Its number, by which it can be changed until it is delivered.
    pub mail: MailId,
}

/// Gives a session its next prompt: at once if it rests, else when it has answered the one before.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PromptSession {
    /// What to do next.
    pub text: String,
    /// Images and documents that are shown with it: `name`, `media_type`, and `data` in base64.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
}

impl Call for PromptSession {
    type Of = SessionId;
    type Answer = Posted;
    const NAME: &'static str = "prompt_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/prompt";
    const IN_ITS_PROCESS: bool = true;
    const BODY_BYTES_MAX: usize = PROMPT_BODY_BYTES_MAX;

    fn check(&self) -> Result<(), CallError> {
        at_most(TEXT_BYTES_MAX, "The prompt", &self.text)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Posted, CallError> {
        let words = Words { text: self.text, attachments: self.attachments };
        Ok(Posted { mail: engine.prompt(session, words).await? })
    }
}

/// Says something to an agent.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TellAgent {
    /// Its name; the main agent if there is none.
    #[serde(default)]
    pub agent: Option<String>,
    /// What to say.
    pub text: String,
    /// When it gets it: at its `next_turn`, at once (`interrupt`), or as its `next_prompt`.
    #[serde(default = "next_turn")]
    pub delivery: Delivery,
}

fn next_turn() -> Delivery {
    Delivery::NextTurn
}

impl Call for TellAgent {
    type Of = SessionId;
    type Answer = Posted;
    const NAME: &'static str = "tell_agent";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/tell";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        named(self.agent.as_deref())?;
        at_most(TEXT_BYTES_MAX, "The message", &self.text)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Posted, CallError> {
        let mail = engine.tell(session, self.agent.as_deref(), &self.text, self.delivery).await?;
        Ok(Posted { mail })
    }
}

/// Gives a message that was not delivered yet another text.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditMessage {
    /// The number of the message.
    pub mail: MailId,
    /// Its new text.
    pub text: String,
}

impl Call for EditMessage {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "edit_message";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/edit-message";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        at_most(TEXT_BYTES_MAX, "The message", &self.text)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.edit_message(session, self.mail, &self.text).await?;
        Ok(Accomplished {})
    }
}

/// Takes back a message that was not delivered yet.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WithdrawMessage {
    /// The number of the message.
    pub mail: MailId,
}

impl Call for WithdrawMessage {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "withdraw_message";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/withdraw-message";
    const IN_ITS_PROCESS: bool = true;

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.withdraw_message(session, self.mail).await?;
        Ok(Accomplished {})
    }
}

/// Answers a question of an agent. Of several answers the first counts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerQuestion {
    /// The agent that asks.
    pub agent: AgentId,
    /// The call that it asks about.
    pub call: CallId,
    /// The answer, as the event `person_answered` has it.
    pub answer: Answer,
}

/// What came of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// `accepted`, `not_open` if somebody else was first, or `bad_pattern`.
    pub outcome: AnswerOutcome,
}

impl Call for AnswerQuestion {
    type Of = SessionId;
    type Answer = Answered;
    const NAME: &'static str = "answer_question";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/answer";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        at_most(NAME_BYTES_MAX, "The id of the call", &self.call.0)?;
        match &self.answer {
            Answer::Pattern { pattern } => at_most(NAME_BYTES_MAX, "The pattern", pattern),
            Answer::No { reason } => at_most(TEXT_BYTES_MAX, "The reason", reason),
            Answer::Said { text } => at_most(TEXT_BYTES_MAX, "The answer", text),
            Answer::Nobody | Answer::Withdrawn => {
                Err(CallError::new(CallErrorKind::BadRequest, "No person gives this answer."))
            }
            Answer::Once | Answer::Session => Ok(()),
        }
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Answered, CallError> {
        Ok(Answered { outcome: engine.answer(session, self.agent, &self.call, self.answer)? })
    }
}

/// Stops what a session does now, its sub-agents included. A session that stays rests then; any other ends.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopTurn {}

impl Call for StopTurn {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "stop_turn";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/stop-turn";
    const IN_ITS_PROCESS: bool = true;

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.stop_turn(session)?;
        Ok(Accomplished {})
    }
}

/// Stops an agent with all below it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StopAgent {
    /// Its name.
    pub agent: String,
}

/// How many agents were stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentsStopped {
    /// The agent and those below it.
    pub agents: usize,
}

impl Call for StopAgent {
    type Of = SessionId;
    type Answer = AgentsStopped;
    const NAME: &'static str = "stop_agent";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/stop";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        named(Some(&self.agent))
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<AgentsStopped, CallError> {
        Ok(AgentsStopped { agents: engine.stop_agent(session, &self.agent)? })
    }
}

/// Ends a session: what runs is stopped.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelSession {}

impl Call for CancelSession {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "cancel_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/cancel";
    const IN_ITS_PROCESS: bool = true;

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.cancel(session)?;
        Ok(Accomplished {})
    }
}

/// Closes a session that stays: it ends as soon as it rests.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseSession {}

impl Call for CloseSession {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "close_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/close";
    const IN_ITS_PROCESS: bool = true;

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.close(session)?;
        Ok(Accomplished {})
    }
}

/// Gives a session a title, in one line; an empty one brings back the title that is made of its first prompt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RenameSession {
    /// The new title.
    pub title: String,
}

impl Call for RenameSession {
    type Of = SessionId;
    type Answer = SessionFound;
    const NAME: &'static str = "rename_session";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/title";

    fn check(&self) -> Result<(), CallError> {
        at_most(TEXT_BYTES_MAX, "The title", &self.title)
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<SessionFound, CallError> {
        Ok(SessionFound { session: engine.rename(session, &self.title).await? })
    }
}

/// Changes how a session works from the main agent's next turn on. What is missing stays as it is.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSettings {
    /// What runs without asking: `plan`, `ask`, `edit`, `auto` or `full`.
    #[serde(default)]
    pub approval: Option<Approval>,
    /// A configured model, by name.
    #[serde(default)]
    pub model: Option<String>,
    /// The reasoning effort, as the provider calls it.
    #[serde(default)]
    pub effort: Option<String>,
}

impl Call for ChangeSettings {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "change_settings";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/settings";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        let texts = [("The model's name", &self.model), ("The effort", &self.effort)];
        texts.into_iter().try_for_each(|(what, text)| {
            text.as_deref().map_or(Ok(()), |text| at_most(NAME_BYTES_MAX, what, text))
        })
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        let Self { approval, model, effort } = self;
        engine.change_settings(session, NextTurnSettings { approval, model, effort })?;
        Ok(Accomplished {})
    }
}

/// Lets an agent spend more than it may now.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopUpBudget {
    /// Its name; the main agent if there is none.
    #[serde(default)]
    pub agent: Option<String>,
    /// What it may spend more, by the limits of a budget.
    pub more: Budget,
}

impl Call for TopUpBudget {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "top_up_budget";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/top-up";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        named(self.agent.as_deref())
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.top_up(session, self.agent.as_deref(), self.more).await?;
        Ok(Accomplished {})
    }
}

/// Shortens the conversation of an agent by its model's own notes: now if it rests, else at its next turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompactNow {
    /// Its name; the main agent if there is none.
    #[serde(default)]
    pub agent: Option<String>,
}

impl Call for CompactNow {
    type Of = SessionId;
    type Answer = Accomplished;
    const NAME: &'static str = "compact_now";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/sessions/{session}/compact";
    const IN_ITS_PROCESS: bool = true;

    fn check(&self) -> Result<(), CallError> {
        named(self.agent.as_deref())
    }

    async fn run(self, session: SessionId, engine: Engine) -> Result<Accomplished, CallError> {
        engine.compact(session, self.agent.as_deref())?;
        Ok(Accomplished {})
    }
}

fn named(agent: Option<&str>) -> Result<(), CallError> {
    agent.map_or(Ok(()), |name| at_most(NAME_BYTES_MAX, "The agent's name", name))
}
