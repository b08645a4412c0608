//! Commands to the open session, in whichever process it runs.

use posse_api::calls::changes::MoveToBackground;
use posse_api::calls::steering::{
    AnswerQuestion, ChangeSettings, CompactNow, EditMessage, PromptSession, StopAgent, StopTurn, TellAgent,
    WithdrawMessage,
};
use posse_api::{CallError, Handle};
use posse_engine::{AnswerOutcome, Delivery, NextTurnSettings};
use posse_protocol::SessionId;
use posse_setup::TaskPrompt;

use super::EdgeShared;
use crate::edge::start::failed;
use crate::effect::{ChatOutcome, PromptWords, SteerCommand};

/// What is said to somebody who talks to a demonstration.
const RECORDED: &str = "the demo is a recording and cannot answer; to talk, open posse in a folder of yours";

impl EdgeShared {
    pub(super) async fn steer(&self, command: SteerCommand) -> Option<ChatOutcome> {
        if let SteerCommand::Rename(title) = &command {
            return match self.session() {
                Ok(session) => self.rename(session, title).await,
                Err(outcome) => Some(outcome),
            };
        }
        if self.start.host.is_some() && matches!(command, SteerCommand::Prompt(_) | SteerCommand::Tell { .. })
        {
            return Some(failed(RECORDED));
        }
        let Some(open) = self.opened() else { return Some(failed("there is no session yet")) };
        let Some(handle) = open.handle else {
            return Some(failed("nobody works on this session now; your next prompt takes it up"));
        };
        match self.command(&handle, open.session, command).await {
            Ok(outcome) => outcome,
            Err(error) => Some(failed(error)),
        }
    }

    async fn command(
        &self,
        handle: &Handle,
        session: SessionId,
        command: SteerCommand,
    ) -> Result<Option<ChatOutcome>, CallError> {
        match command {
            SteerCommand::Prompt(words) => match self.task(words) {
                Err(outcome) => return Ok(Some(outcome)),
                Ok(task) => {
                    let prompt = PromptSession { text: task.text, attachments: task.attachments };
                    handle.call(session, prompt).await?;
                }
            },
            SteerCommand::Tell { agent, text } => {
                handle.call(session, TellAgent { agent, text, delivery: Delivery::NextTurn }).await?;
            }
            SteerCommand::Edit { mail, text } => {
                handle.call(session, EditMessage { mail, text }).await?;
            }
            SteerCommand::Withdraw(mail) => {
                handle.call(session, WithdrawMessage { mail }).await?;
            }
            SteerCommand::Answer { agent, call, answer } => {
                let answered = handle.call(session, AnswerQuestion { agent, call, answer }).await?;
                return Ok(match answered.outcome {
                    AnswerOutcome::Accepted => None,
                    AnswerOutcome::NotOpen => {
                        Some(ChatOutcome::Note("somebody else has answered that".to_owned()))
                    }
                    AnswerOutcome::WrongKind | AnswerOutcome::BadText => {
                        Some(failed("that does not answer the question"))
                    }
                    AnswerOutcome::BadPattern => {
                        Some(failed("that is not a rule; the question is still open"))
                    }
                });
            }
            SteerCommand::StopTurn => {
                handle.call(session, StopTurn {}).await?;
            }
            SteerCommand::StopAgent(agent) => {
                let stopped = handle.call(session, StopAgent { agent }).await?;
                return Ok(Some(ChatOutcome::Note(format!("{} stopped", stopped.agents))));
            }
            SteerCommand::Compact => {
                handle.call(session, CompactNow { agent: None }).await?;
                return Ok(Some(ChatOutcome::Note(
                    "the conversation is shortened at the next turn".to_owned(),
                )));
            }
            SteerCommand::Settings(change) => {
                let NextTurnSettings { approval, model, effort } = change;
                handle.call(session, ChangeSettings { approval, model, effort }).await?;
            }
            SteerCommand::ToBackground { agent, call } => {
                let moved = handle.call(session, MoveToBackground { agent, call }).await?;
                return Ok(Some(ChatOutcome::Note(format!("{} runs in the background", moved.name))));
            }
            SteerCommand::Rename(_) => {}
        }
        Ok(None)
    }

    /// Words with the files that go with them.
    fn task(&self, words: PromptWords) -> Result<TaskPrompt, ChatOutcome> {
        let mut task = TaskPrompt::from(words.text);
        for file in &words.files {
            task.attach(&self.start.folder.join(file)).map_err(failed)?;
        }
        Ok(task)
    }

    pub(super) async fn rename(&self, session: SessionId, title: &str) -> Option<ChatOutcome> {
        let engine = match self.engine().await {
            Ok(engine) => engine,
            Err(outcome) => return Some(outcome),
        };
        Some(match engine.rename(session, title).await {
            Ok(_) => ChatOutcome::Note("renamed".to_owned()),
            Err(error) => failed(error),
        })
    }
}
