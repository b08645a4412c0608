//! Rebuilds an agent from its recorded events, and says what it has to do next.
//!
//! The conversation is taken from the events and never rebuilt, so that it stays what the model has seen, whichever version
//! of Posse wrote it. A reply whose consequences are not on record is an input that still has to be handled; calls without a
//! result still have to be answered.

use std::collections::BTreeMap;
use std::sync::Arc;

use posse_protocol::{
    Attachment, CallId, Effect, Ending, EventKind, MailId, Message, ModelError, Purpose, Reply, Report,
    Sender, StopReason, ToolCall, Words,
};

use super::replying::was_cut;
use super::{Agent, MODEL_REFUSED, NO_MORE_TOOLS, State, UNANSWERED, WITHOUT_ANSWER};
use crate::calls::{distinct_ids, sort};
use crate::prompts;
use crate::step::{Done, Input, Settings};

/// An agent being recalled, event by event.
#[derive(Clone, Debug)]
pub struct Recall {
    agent: Agent,
    /// The model's answer, if no consequence of it is on record yet.
    came: Option<Came>,
    /// Calls that had started, and whether they can run again.
    started: BTreeMap<CallId, bool>,
    /// Calls under way that were answered.
    done: Vec<Done>,
    /// What those were told that were stopped, or that nobody answered.
    otherwise: Option<&'static str>,
    /// Whether its last reply was cut short and nothing has come of that.
    cut_short: bool,
    /// Messages that were sent to it and not delivered yet.
    mail: Vec<Mail>,
    /// Whether it rests, and that is on record.
    rest_recorded: bool,
    /// How its last prompt ended.
    last_ending: Ending,
}

/// A message that was sent to an agent and not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// Its number.
    pub id: MailId,
    /// Who wrote it.
    pub from: Sender,
    /// The text, and what is shown with it.
    pub words: Words,
    /// Whether it waits until the agent has answered the prompt before.
    pub is_prompt: bool,
}

impl Mail {
    /// Takes in an event about messages that are not delivered yet.
    pub fn follow(waiting: &mut Vec<Self>, kind: &EventKind) {
        match kind {
            EventKind::Mailed { id, from, text, is_prompt, attachments } => {
                let words = words(text, attachments);
                waiting.push(Self { id: *id, from: *from, words, is_prompt: *is_prompt });
            }
            EventKind::MailEdited { id, text } => {
                let edited = waiting.iter_mut().filter(|mail| mail.id == *id);
                edited.for_each(|mail| mail.words.text.clone_from(text));
            }
            EventKind::MailWithdrawn { id } => waiting.retain(|mail| mail.id != *id),
            _ => {}
        }
    }
}

#[derive(Clone, Debug)]
enum Came {
    Reply(Reply, Option<f64>),
    Failure(ModelError),
}

/// An agent as its record leaves it.
#[derive(Clone, Debug)]
pub struct Recalled {
    /// The machine, with messages that were not delivered in its inbox.
    pub agent: Agent,
    /// What comes next.
    pub next: Next,
    /// Prompts that wait until it has answered the one before.
    pub prompts: Vec<Mail>,
}

/// What a recalled agent does next.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// Its task: nothing was said yet.
    Begin,
    /// Something that came in and was not taken in.
    TakeIn(Box<Input>),
    /// A model call that was under way, or about to be made.
    CallModel {
        /// 1, 2, 3, …
        turn: u32,
        /// What for.
        purpose: Purpose,
    },
    /// Calls that have no result.
    CallTools {
        /// In the order of the reply.
        calls: Vec<ToolCall>,
        /// Those of them that had begun, and whether they can be run again.
        begun: BTreeMap<CallId, bool>,
        /// The others of the reply, which are answered.
        done: Vec<Done>,
    },
    /// The next prompt: it rests, and that is on record.
    Rest,
    /// Its end: it had ended, or was about to.
    Settled(Ending),
}

impl Recall {
    /// An agent of which nothing is known yet but what it began with.
    pub fn new(settings: Settings, known: &[Arc<Message>]) -> Self {
        let agent = Agent::knowing(settings, known);
        let (started, done, mail) = (BTreeMap::new(), Vec::new(), Vec::new());
        let (came, otherwise, cut_short, rest_recorded) = (None, None, false, false);
        let last_ending = Ending::Completed;
        Self { agent, came, started, done, otherwise, cut_short, mail, rest_recorded, last_ending }
    }

    /// The machine as far as it is recalled.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Messages that were sent to it and not delivered yet.
    pub fn waiting_mail(&self) -> &[Mail] {
        &self.mail
    }

    /// Its last reply, if nothing has come of it yet: it belongs to the conversation, but is not in it.
    pub fn last_reply(&self) -> Option<Message> {
        let aside = matches!(self.agent.state, State::Replying { purpose } if is_aside(purpose));
        match &self.came {
            Some(Came::Reply(Reply { text, reasoning, calls, .. }, _)) if !aside => {
                Some(Message::Assistant {
                    text: text.clone(),
                    reasoning: reasoning.clone(),
                    calls: calls.clone(),
                })
            }
            _ => None,
        }
    }

    /// The messages that were sent with its last request.
    pub fn last_request(&self) -> &[Arc<Message>] {
        let messages = self.agent.conversation.messages();
        // What came after the last reply was asked for is its own doing.
        let reply = messages.iter().rposition(|message| matches!(**message, Message::Assistant { .. }));
        if self.came.is_some() { messages } else { &messages[..reply.unwrap_or(messages.len())] }
    }

    /// The conversation after its last reply and what came of that, without what it was told next.
    pub fn past_turns(mut self) -> Vec<Arc<Message>> {
        self.settle_turn();
        let mut messages = self.agent.conversation.messages().to_vec();
        while messages.last().is_some_and(|message| matches!(**message, Message::User { .. })) {
            messages.pop();
        }
        messages
    }

    /// Takes in one event of the agent. Each comes once, in order.
    pub fn event(&mut self, kind: &EventKind) {
        match kind {
            EventKind::Mailed { .. } | EventKind::MailEdited { .. } | EventKind::MailWithdrawn { .. } => {
                Mail::follow(&mut self.mail, kind);
            }
            EventKind::Told { mail, from, text, attachments } => {
                self.told(*mail, *from, words(text, attachments));
            }
            EventKind::TurnStarted { turn, purpose } => {
                self.settle_turn();
                self.agent.spent.turns = *turn;
                self.agent.summed_up |= *purpose == Purpose::SumUp;
                if *purpose != Purpose::Summary {
                    self.agent.rested = None;
                }
                self.agent.state = State::Replying { purpose: *purpose };
            }
            EventKind::Replied { reply, cost_usd, .. } => {
                self.came = Some(Came::Reply(reply.clone(), *cost_usd));
            }
            EventKind::ModelFailed { error, .. } => self.came = Some(Came::Failure(error.clone())),
            EventKind::CutShort { text, .. } => {
                self.agent.had_said(text.clone());
                self.agent.state = State::Idle;
                self.cut_short = true;
            }
            EventKind::ToolStarted { call, repeatable, .. } => {
                self.take_in();
                self.started.insert(call.clone(), *repeatable);
            }
            EventKind::ToolFinished { call, ok, text, attachments, effects, .. } => {
                self.take_in();
                self.finished(call, *ok, text, attachments, effects);
            }
            EventKind::Closing { ending } => {
                self.settle_turn();
                self.agent.closing = Some(ending.clone());
            }
            EventKind::Compacted { summary, opening, kept, .. } => self.compacted(summary, opening, *kept),
            EventKind::AgentSettled { report } => {
                self.settle_turn();
                self.agent.words.clone_from(&report.text);
                self.agent.short.clone_from(&report.short);
                self.last_ending = report.ending.clone();
                self.agent.rested = None;
                self.agent.state = State::Settled { ending: report.ending.clone() };
            }
            EventKind::AgentRested { report } => self.rested(report.as_ref()),
            EventKind::SessionForked { messages, .. } => {
                messages.iter().for_each(|message| self.agent.conversation.push(message.clone()));
            }
            EventKind::BudgetRaised { budget } => self.agent.settings.budget = *budget,
            EventKind::AgentWoken { budget, .. } => {
                self.agent.settings.budget = *budget;
                self.agent.wake();
                self.rest_recorded = false;
            }
            EventKind::AgentResumed { budget, .. } => {
                self.agent.settings.budget = *budget;
                if matches!(self.agent.state, State::Settled { .. }) {
                    self.agent.reopen();
                }
            }
            // The agent has acted, but these say nothing more about it.
            EventKind::Checkpointed { .. } | EventKind::PersonNeeded { .. } => self.take_in(),
            _ => {}
        }
    }

    /// What comes next.
    pub fn finish(mut self) -> Recalled {
        self.leave_notes();
        self.turned_down();
        // It was being stopped, which is not on record: it goes on where it was.
        if self.cut_short {
            self.agent.hear(MailId::default(), Sender::Posse, prompts::CUT_OFF.to_string());
        }
        let (prompts, mail) = std::mem::take(&mut self.mail).into_iter().partition(|mail| mail.is_prompt);
        let mail: Vec<Mail> = mail;
        for Mail { id, from, words, .. } in mail {
            self.agent.hear(id, from, words);
        }
        let next = self.next();
        Recalled { agent: self.agent, next, prompts }
    }

    /// An agent that was asked for notes while it rested rests as before: nothing forces it to be shorter.
    fn leave_notes(&mut self) {
        if let Some(ending) = self.agent.rested.clone() {
            self.settle_turn();
            self.agent.finish(ending);
            self.rest_recorded = true;
        }
    }

    /// Calls that were turned down are not open: the agent was about to go on without them, or to end.
    fn turned_down(&mut self) {
        let Some(told) = self.otherwise else { return };
        self.settle_turn();
        let ending = match told {
            NO_MORE_TOOLS => self.agent.closing.clone(),
            MODEL_REFUSED => Some(Ending::Refused),
            _ => None,
        };
        if let Some(ending) = ending {
            self.agent.finish(ending);
        }
    }

    fn next(&mut self) -> Next {
        match self.came.take() {
            Some(Came::Reply(reply, _)) => return Next::TakeIn(Box::new(Input::Replied(reply))),
            Some(Came::Failure(error)) => return Next::TakeIn(Box::new(Input::ModelFailed(error))),
            None => {}
        }
        match &self.agent.state {
            State::Settled { ending } => Next::Settled(ending.clone()),
            State::Resting { .. } if self.rest_recorded => Next::Rest,
            State::Resting { .. } => Next::TakeIn(Box::new(Input::GoOn)),
            State::Replying { purpose } => {
                Next::CallModel { turn: self.agent.spent.turns, purpose: *purpose }
            }
            State::Working { calls, results, .. } => {
                let answered = |call: &ToolCall| {
                    results.iter().any(|result| result.id == call.id)
                        || self.done.iter().any(|done| done.id == call.id)
                };
                let calls = calls.iter().filter(|call| !answered(call)).cloned().collect::<Vec<_>>();
                let done = std::mem::take(&mut self.done);
                if calls.is_empty() {
                    return Next::TakeIn(Box::new(Input::ToolsDone(done)));
                }
                Next::CallTools { calls, begun: std::mem::take(&mut self.started), done }
            }
            State::Ready if self.agent.task.is_empty() => Next::Begin,
            State::Ready | State::Idle => Next::TakeIn(Box::new(Input::GoOn)),
        }
    }

    /// It rests: what it came to is on record.
    fn rested(&mut self, report: Option<&Report>) {
        self.settle_turn();
        if let Some(report) = report {
            self.agent.words.clone_from(&report.text);
            self.last_ending = report.ending.clone();
        }
        self.agent.start_afresh();
        self.agent.state = State::Resting { ending: self.last_ending.clone() };
        self.rest_recorded = true;
    }

    fn told(&mut self, id: MailId, from: Sender, words: Words) {
        self.settle_turn();
        let sent = |mail: &Mail| {
            if id.is_unknown() { mail.from == from && mail.words == words } else { mail.id == id }
        };
        if let Some(at) = self.mail.iter().position(sent) {
            self.mail.remove(at);
        }
        // It was asked for notes while it rested.
        if let State::Resting { ending } = &self.agent.state {
            self.agent.rested = Some(ending.clone());
            self.agent.wake();
            self.rest_recorded = false;
        }
        self.agent.prompted |= from != Sender::Posse;
        self.agent.take_task(&words);
        if from == Sender::Posse {
            self.agent.empty_replies += u32::from(words.text == prompts::EMPTY_REPLY);
        }
        self.agent.conversation.push(words.into());
        self.agent.state = State::Idle;
    }

    /// What came back from the model has had consequences: it is part of the conversation.
    fn take_in(&mut self) {
        let State::Replying { purpose } = self.agent.state else { return };
        match self.came.take() {
            Some(Came::Reply(reply, cost_usd)) => self.take_in_reply(purpose, reply, cost_usd),
            Some(Came::Failure(error)) if !is_aside(purpose) => self.agent.speak(&error.partial),
            Some(Came::Failure(_)) | None => {}
        }
    }

    fn take_in_reply(&mut self, purpose: Purpose, mut reply: Reply, cost_usd: Option<f64>) {
        let agent = &mut self.agent;
        // Records of before do not say what a reply cost.
        let cost_usd = cost_usd.or_else(|| agent.cost_of(&reply));
        agent.count(&reply, cost_usd);
        if is_aside(purpose) {
            return;
        }
        let duplicates = distinct_ids(&mut reply.calls, agent.spent.turns);
        let (text, calls, cut) = (reply.text.clone(), reply.calls.clone(), was_cut(&reply));
        let refused = reply.stop == StopReason::Refusal;
        agent.keep(reply);
        agent.state = State::Idle;
        if calls.is_empty() {
            if cut && !text.trim().is_empty() {
                agent.cut_replies += 1;
                agent.beginnings.push_str(&text);
            } else {
                agent.cut_replies = 0;
                agent.beginnings.clear();
            }
            return;
        }
        let results = if agent.closing.is_some() || refused {
            Vec::new()
        } else {
            sort(&calls, &duplicates, &agent.guard).refused
        };
        agent.work_on(calls, results);
    }

    fn finished(
        &mut self,
        call: &CallId,
        ok: bool,
        text: &str,
        attachments: &[Attachment],
        effects: &[Effect],
    ) {
        for effect in effects {
            if let Effect::Todo { text } = effect {
                self.agent.pin(crate::TODO, text.clone());
            }
        }
        let State::Working { results, .. } = &self.agent.state else { return };
        if results.iter().any(|result| result.id == *call) {
            return;
        }
        // The machine itself says this of calls without an answer; they are none.
        if let Some(told) = WITHOUT_ANSWER.into_iter().find(|told| *told == text) {
            self.otherwise = Some(told);
            return;
        }
        let begun = self.started.get(call);
        self.done.push(Done {
            id: call.clone(),
            ok,
            text: text.to_string(),
            attachments: attachments.to_vec(),
            ran: begun.is_some(),
            read_only: begun.is_none_or(|repeatable| *repeatable),
        });
    }

    /// The next thing was begun: what was under way is over.
    fn settle_turn(&mut self) {
        self.cut_short = false;
        self.take_in();
        match &self.agent.state {
            State::Working { .. } => {
                let done = std::mem::take(&mut self.done);
                let otherwise = self.otherwise.take().unwrap_or(UNANSWERED);
                self.agent.answer(done, otherwise, &mut Vec::new());
                self.started.clear();
            }
            // A request for notes or for a summary does not stay, answered or not.
            State::Replying { purpose } if is_aside(*purpose) => self.agent.conversation.take_back(),
            _ => return,
        }
        self.agent.state = State::Idle;
    }

    fn compacted(&mut self, summary: &str, opening: &str, kept: u32) {
        let notes = matches!(self.agent.state, State::Replying { purpose: Purpose::Summary });
        self.take_in();
        if notes {
            self.agent.conversation.take_back();
        }
        let opening = if opening.is_empty() {
            // Written before openings were on record.
            format!("{}\n\n{}\n{summary}", self.agent.task, prompts::AFTER_SUMMARY)
        } else {
            opening.to_string()
        };
        self.agent.begin_anew(opening, usize::try_from(kept).unwrap_or(usize::MAX));
        self.agent.state = State::Idle;
        if let Some(ending) = self.agent.rested.take() {
            self.agent.finish(ending);
        }
    }
}

fn words(text: &str, attachments: &[Attachment]) -> Words {
    Words { text: text.to_string(), attachments: attachments.to_vec() }
}

/// Whether a call is no part of the conversation: for notes on it, or for a summary of the report.
fn is_aside(purpose: Purpose) -> bool {
    matches!(purpose, Purpose::Summary | Purpose::SumUp)
}
