//! What a worker says in the name of others is compared with what home knows: words that were sent, answers that were given,
//! reports of agents below. It must not record anything.

use posse_protocol::{EventKind, Question, Words, visible};

use super::RemoteDriver;
use crate::limits::{REMOTE_QUESTION_BYTES_MAX, REMOTE_QUESTIONS_MAX};
use crate::remote::HostedItem;

/// The tool for questions in words, and the one whose commands are shown as they are.
const ASK_PERSON: &str = "ask_person";
const SHELL: &str = "shell";

impl RemoteDriver {
    /// An event with what home itself knows of it: words that were sent, answers that were given. A worker cannot say anything
    /// in the name of others.
    pub(super) fn as_home_knows(&self, item: HostedItem) -> Result<HostedItem, String> {
        let HostedItem { kind, kept } = item;
        let kind = match kind {
            EventKind::Told { mail, from, .. } if !mail.is_unknown() || from.writes_mail() => {
                let sent = self.mail.iter().find(|(sent, _)| sent.id == mail && !mail.is_unknown());
                let (sent, _) = sent.ok_or("its worker told of words that nobody sent")?;
                let Words { text, attachments } = sent.words.clone();
                EventKind::Told { mail, from: sent.from, text, attachments }
            }
            EventKind::PersonAnswered { call, answer } => {
                let answer = self.questions.as_given(&call, &answer);
                EventKind::PersonAnswered { call, answer }
            }
            EventKind::ReportsDelivered { agents } => {
                if !self.crew.tree(|tree| agents.iter().all(|id| tree.is_below(*id, self.who.id))) {
                    return Err("its worker told of reports of agents that are not below it".to_string());
                }
                EventKind::ReportsDelivered { agents }
            }
            EventKind::PersonNeeded { question } => {
                self.may_ask(&question)?;
                EventKind::PersonNeeded { question }
            }
            kind => kind,
        };
        Ok(HostedItem { kind, kept })
    }

    /// Refuses questions that no agent on a worker can have: nobody leaves the sandbox there, and a person is asked only about
    /// tools that the agent has and about what can be shown.
    fn may_ask(&self, question: &Question) -> Result<(), String> {
        let offered = self.mirror.tools().iter().chain(self.toolbox.specs());
        let has_tool = offered.map(|tool| &tool.name).any(|name| *name == question.tool);
        let in_words = question.asks.is_some() == (question.tool == ASK_PERSON);
        let shown = question.tool != SHELL || visible::control(&question.what).is_none();
        let bytes = serde_json::to_vec(question).map_or(usize::MAX, |bytes| bytes.len());
        let fits = bytes <= REMOTE_QUESTION_BYTES_MAX && self.questions.count() < REMOTE_QUESTIONS_MAX;
        match has_tool && in_words && shown && fits && !question.leaves {
            true => Ok(()),
            false => Err("its worker asked a question that its agent cannot have".to_string()),
        }
    }
}
