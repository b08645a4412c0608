//! The machine itself: one function takes an input and returns the next step.

mod recall;
mod replying;
mod shorten;
mod spending;
mod sum_up;

use std::collections::BTreeMap;

pub use recall::{Mail, Next, Recall, Recalled};

use posse_protocol::{
    AgentId, Attachment, CallId, Ending, EventKind, Failure, MailId, Message, ModelError, ModelErrorKind,
    Purpose, Sender, Spent, ToolCall, ToolResult, Words,
};
use serde::{Deserialize, Serialize};

use crate::conversation::MessageHistory;
use crate::guard::RepetitionGuard;
use crate::limits;
use crate::prompts;
use crate::step::{Done, Input, Kin, Output, Settings, Step};

/// Results for calls that no tool has answered.
const UNANSWERED: &str = "not answered";
const STOPPED: &str = "stopped before it was done; what it did so far is unknown";
const INTERRUPTED: &str = "stopped by a message that came in; what it did so far is unknown";
const NOT_RUN: &str = "not run";
const NO_MORE_TOOLS: &str = "not run: tools are no longer available";
const MODEL_REFUSED: &str = "not run: the model refused";
const REPEATING: &str = "not run: you are being stopped for repeating a call";
const WITHOUT_ANSWER: [&str; 7] =
    [UNANSWERED, STOPPED, INTERRUPTED, NOT_RUN, NO_MORE_TOOLS, MODEL_REFUSED, REPEATING];

/// One agent. Owned by its driver. After it has settled it never changes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    settings: Settings,
    kin: Kin,
    state: State,
    conversation: MessageHistory,
    /// Its first message, which survives every compaction.
    task: String,
    /// What was shown with it, which survives too.
    #[serde(default)]
    task_attachments: Vec<Attachment>,
    /// Named texts that survive compaction word for word, such as the to-do list.
    pinned: BTreeMap<String, String>,
    /// Messages that arrived while it was busy; delivered at its next turn.
    inbox: Vec<Heard>,
    spent: Spent,
    /// Tokens that count against the budget: reported ones, or an estimate where none were reported.
    tokens_counted: u64,
    /// Tokens of the newest reply and its request: about what a last report will take.
    reply_tokens: u64,
    tool_calls: u32,
    /// Tokens of the last request and its reply, and the conversation's bytes right after it.
    measured: Option<(u64, usize)>,
    guard: RepetitionGuard,
    bad_turns: u32,
    empty_replies: u32,
    cut_replies: u32,
    /// Compactions since the model last worked on the task.
    compactions_in_a_row: u32,
    /// Set when only a last report is left: how it will end.
    closing: Option<Ending>,
    /// Whether it was asked to sum up its report, which happens once.
    #[serde(default)]
    summed_up: bool,
    /// A summary of its report, if the report is too long for its reader.
    #[serde(default)]
    short: Option<String>,
    /// Whether the person wants the conversation shortened at the next turn, however long it is.
    #[serde(default)]
    compact: bool,
    /// Set while an agent that rests shortens its conversation: how its last prompt had ended.
    #[serde(default)]
    rested: Option<Ending>,
    /// Whether it was told something since it last rested, other than to shorten its conversation.
    #[serde(default)]
    prompted: bool,
    /// Its last text. Kept apart from the conversation, so that compaction does not lose it.
    words: String,
    /// The first parts of a reply that reached the output limit and continues in the next one.
    beginnings: String,
}

/// A message that waits for the next turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Heard {
    /// Its number, if it was mailed.
    #[serde(default)]
    mail: MailId,
    from: Sender,
    words: Words,
    /// The agents whose reports it contains.
    reports: Vec<AgentId>,
}

impl Heard {
    fn new(from: Sender, words: impl Into<Words>) -> Self {
        Self { mail: MailId::default(), from, words: words.into(), reports: Vec::new() }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It has no task yet.
    Ready,
    /// A model call is under way.
    Replying { purpose: Purpose },
    /// It has replied without a call and waits for its sub-agents.
    Idle,
    /// Calls are under way. `results` holds those answered already; `order` is the order to tell them in.
    Working { calls: Vec<ToolCall>, order: Vec<CallId>, results: Vec<ToolResult> },
    /// It has answered, or could not, and waits for the next prompt.
    Resting { ending: Ending },
    /// It has ended.
    Settled { ending: Ending },
}

impl Agent {
    /// An agent that waits for its task.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            kin: Kin::default(),
            state: State::Ready,
            conversation: MessageHistory::default(),
            task: String::new(),
            task_attachments: Vec::new(),
            pinned: BTreeMap::new(),
            inbox: Vec::new(),
            spent: Spent::default(),
            tokens_counted: 0,
            reply_tokens: 0,
            tool_calls: 0,
            measured: None,
            guard: RepetitionGuard::default(),
            bad_turns: 0,
            empty_replies: 0,
            cut_replies: 0,
            compactions_in_a_row: 0,
            closing: None,
            summed_up: false,
            short: None,
            compact: false,
            rested: None,
            prompted: false,
            words: String::new(),
            beginnings: String::new(),
        }
    }

    /// An agent that already has a conversation and waits for its task: a fork, or a follow-up.
    pub fn knowing(settings: Settings, messages: &[std::sync::Arc<Message>]) -> Self {
        let mut agent = Self::new(settings);
        agent.conversation = MessageHistory::of(messages);
        agent
    }

    /// Updates what it knows of its sub-agents; call it before each input.
    pub fn set_kin(&mut self, kin: Kin) {
        self.kin = kin;
    }

    /// Whether only its last report is left.
    pub fn is_closing(&self) -> bool {
        self.closing.is_some()
    }

    /// Whether it is idle: it waits for a message.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Ready | State::Idle | State::Resting { .. })
    }

    /// Whether it waits for the next prompt.
    pub fn is_resting(&self) -> bool {
        matches!(self.state, State::Resting { .. })
    }

    /// Whether it has something to report: it was told something since it last rested, or could not be shortened.
    pub fn has_answer(&self) -> bool {
        self.prompted || matches!(&self.state, State::Resting { ending: Ending::Failed { .. } })
    }

    /// Whether it rests after its answer instead of ending.
    pub fn stays(&self) -> bool {
        self.settings.stays
    }

    /// Tokens that count against its budget, without those of its sub-agents.
    pub fn tokens_counted(&self) -> u64 {
        self.tokens_counted
    }

    /// A text that was pinned.
    pub fn pinned(&self, name: &str) -> Option<&str> {
        self.pinned.get(name).map(String::as_str)
    }

    /// What it was told first.
    pub fn task(&self) -> &str {
        &self.task
    }

    /// Its conversation.
    pub fn conversation(&self) -> &MessageHistory {
        &self.conversation
    }

    /// What it has spent so far.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// How long it may run, if there is a limit.
    pub fn time_ms(&self) -> Option<u64> {
        self.settings.budget.time_ms
    }

    /// How many calls were answered, failed ones included.
    pub fn tool_calls(&self) -> u32 {
        self.tool_calls
    }

    /// How it ended, if it has.
    pub fn ending(&self) -> Option<&Ending> {
        match &self.state {
            State::Settled { ending } => Some(ending),
            _ => None,
        }
    }

    /// Its last words, whether they came to an end or were cut short.
    pub fn last_words(&self) -> &str {
        &self.words
    }

    /// Its report in short, where the report is too long for its reader and the model has summed it up.
    pub fn in_short(&self) -> Option<&str> {
        self.short.as_deref()
    }

    /// Takes note of what it said: nothing said does not undo what was said before.
    fn speak(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.words = format!("{}{text}", self.beginnings);
        }
    }

    /// Adds a message for the next turn, without starting one. `mail` is its number, if it was mailed.
    pub fn hear(&mut self, mail: MailId, from: Sender, words: impl Into<Words>) {
        self.inbox.push(Heard { mail, ..Heard::new(from, words) });
    }

    /// Adds reports of sub-agents for the next turn. They count as delivered then.
    pub fn hear_reports(&mut self, text: String, of: Vec<AgentId>) {
        self.inbox.push(Heard { reports: of, ..Heard::new(Sender::Reports, text) });
    }

    /// Whether the person has told it something that it has not answered.
    pub fn is_prompted(&self) -> bool {
        self.inbox.iter().any(|heard| matches!(heard.from, Sender::Person | Sender::Parent))
    }

    /// Lets an agent that has ended rest, if it stays: it waits for the next prompt.
    pub fn rest_again(&mut self) {
        if let State::Settled { ending } | State::Resting { ending } = &self.state {
            let ending = ending.clone();
            self.finish(ending);
        }
    }

    /// Reopens an agent that has ended: it waits for a message and continues its conversation.
    pub fn reopen(&mut self) {
        self.state = State::Idle;
        self.start_afresh();
    }

    /// Forgets what only mattered for the prompt before.
    fn start_afresh(&mut self) {
        (self.closing, self.rested) = (None, None);
        self.compactions_in_a_row = 0;
        (self.bad_turns, self.empty_replies, self.cut_replies) = (0, 0, 0);
        (self.summed_up, self.short) = (false, None);
        self.beginnings.clear();
    }

    /// Shortens the conversation at the next turn, however long it is.
    pub fn compact_soon(&mut self) {
        self.compact = true;
    }

    /// Changes whether it rests after its answer instead of ending.
    pub fn set_stays(&mut self, stays: bool) {
        self.settings.stays = stays;
    }

    /// Continues with another model: what it costs and takes in.
    pub fn change_model(&mut self, settings: Settings) {
        let (budget, stays) = (self.settings.budget, self.settings.stays);
        self.settings = Settings { budget, stays, ..settings };
        // Another model counts tokens in its own way.
        self.measured = None;
    }

    /// Gives it another budget, what it has spent included.
    pub fn allow(&mut self, budget: posse_protocol::Budget) {
        self.settings.budget = budget;
    }

    /// Whether taking this in may shorten the conversation: then what is pinned should be true.
    pub fn may_shorten(&self, input: &Input) -> bool {
        let summary = matches!(self.state, State::Replying { purpose: Purpose::Summary });
        summary || matches!(input, Input::ModelFailed(error) if error.kind == ModelErrorKind::ContextTooLong)
    }

    /// Keeps a named text through every compaction.
    pub fn pin(&mut self, name: &str, text: String) {
        self.pinned.insert(name.to_string(), text);
    }

    /// Takes in what happened and says what comes next. `elapsed_ms` is the agent's age. An input that does not
    /// fit the state (a reply that nobody waits for) changes nothing.
    pub fn handle(&mut self, input: Input, elapsed_ms: u64) -> Output {
        self.spent.time_ms = elapsed_ms;
        let mut record = Vec::new();
        let step = match (&self.state, input) {
            (State::Settled { ending }, _) => Step::Settle(ending.clone()),
            (_, Input::Told { from, text }) => self.told(from, text, &mut record),
            (State::Resting { ending }, Input::Cancel { .. } | Input::Close) => {
                let ending = ending.clone();
                self.settle(ending)
            }
            (State::Resting { ending }, Input::GoOn) if self.inbox.is_empty() => Step::Rest(ending.clone()),
            (State::Resting { .. }, Input::GoOn) => {
                self.wake();
                self.next_turn(&mut record)
            }
            (State::Resting { .. }, Input::Stop { .. } | Input::TimeUp { .. }) => Step::Wait,
            (State::Ready | State::Idle, Input::GoOn) if !self.inbox.is_empty() || self.owes_reply() => {
                self.next_turn(&mut record)
            }
            (State::Replying { purpose }, Input::Replied(reply)) => {
                self.replied(*purpose, reply, &mut record)
            }
            (State::Replying { purpose }, Input::ModelFailed(error)) => {
                self.model_failed(*purpose, error, &mut record)
            }
            (State::Working { .. }, Input::ToolsDone(done)) => {
                self.answer(done, UNANSWERED, &mut record);
                self.next_turn(&mut record)
            }
            (_, Input::TimeUp { partial, done }) => self.time_up(partial, done, &mut record),
            (_, Input::Cancel { partial, done }) => {
                self.cut_short(partial, &mut record);
                self.answer(done, STOPPED, &mut record);
                self.settle(Ending::Cancelled)
            }
            (_, Input::Stop { partial, done }) => {
                self.cut_short(partial, &mut record);
                self.answer(done, STOPPED, &mut record);
                // What was not told yet is part of what was stopped.
                self.deliver(|_| true, &mut record);
                // Stopping to shorten the conversation does not change what its last prompt came to.
                let ending = self.rested.take().unwrap_or(Ending::Cancelled);
                self.finish(ending)
            }
            (_, Input::Compact) => self.compact_now(&mut record),
            (_, Input::Close) => {
                self.settings.stays = false;
                Step::Wait
            }
            (_, Input::Interrupted { partial, done }) => self.interrupted(partial, done, &mut record),
            (_, Input::Broken { message }) => {
                self.cut_short(String::new(), &mut record);
                self.answer(Vec::new(), STOPPED, &mut record);
                self.settle(Ending::Failed { failure: Failure::Internal { message } })
            }
            (_, Input::GoOn | Input::Replied(_) | Input::ModelFailed(_) | Input::ToolsDone(_)) => Step::Wait,
        };
        Output { record, step }
    }

    fn told(&mut self, from: Sender, words: Words, record: &mut Vec<EventKind>) -> Step {
        // The task comes first, also before what was mailed to an agent whose session was interrupted before it had its task.
        let at = if self.task.is_empty() { 0 } else { self.inbox.len() };
        self.inbox.insert(at, Heard::new(from, words));
        self.wake();
        if self.is_idle() { self.next_turn(record) } else { Step::Wait }
    }

    /// What was under way is stopped for what is in the inbox.
    fn interrupted(&mut self, partial: String, done: Vec<Done>, record: &mut Vec<EventKind>) -> Step {
        if self.is_idle() && self.inbox.is_empty() {
            return Step::Wait;
        }
        self.wake();
        self.cut_short(partial, record);
        self.answer(done, INTERRUPTED, record);
        match self.rested.take() {
            Some(ending) if self.inbox.is_empty() => self.finish(ending),
            _ => self.next_turn(record),
        }
    }

    /// An agent that rests begins with another prompt: its last answer was to the one before.
    fn wake(&mut self) {
        if self.is_resting() {
            self.state = State::Idle;
            self.words.clear();
            self.prompted = false;
        }
    }

    /// A model call was stopped: what had arrived of it is kept.
    fn cut_short(&mut self, text: String, record: &mut Vec<EventKind>) {
        match self.state {
            // Nobody answered the request for notes or for a summary.
            State::Replying { purpose: Purpose::Summary | Purpose::SumUp } => self.conversation.take_back(),
            State::Replying { .. } if !text.trim().is_empty() => {
                record.push(EventKind::CutShort { turn: self.spent.turns, text: text.clone() });
                self.had_said(text);
            }
            _ => {}
        }
    }

    fn had_said(&mut self, text: String) {
        self.speak(&text);
        let (reasoning, calls) = (Vec::new(), Vec::new());
        self.conversation.push(Message::Assistant { text, reasoning, calls });
    }

    /// Whether the last word in the conversation is not the agent's own.
    fn owes_reply(&self) -> bool {
        let last = self.conversation.messages().last();
        last.is_some_and(|message| !matches!(**message, Message::Assistant { .. }))
    }

    /// Starts a model call: for work if the budget allows, for a last report if not, for notes if it gets long.
    fn next_turn(&mut self, record: &mut Vec<EventKind>) -> Step {
        if self.closing.is_none()
            && let Some((ending, reason)) = self.over_budget()
        {
            // What is set aside for sub-agents mostly comes back: rather than cutting them off, it waits for them.
            if self.kin.live > 0 && matches!(ending, Ending::OutOfTokens | Ending::OutOfMoney) {
                self.state = State::Idle;
                return Step::Wait;
            }
            return self.close(ending, reason, record);
        }
        if self.closing.is_none() && self.bad_turns >= limits::BAD_TURNS_MAX {
            let ending = Ending::Failed { failure: Failure::MalformedCalls };
            return self.close(ending, "your calls could not be run, several turns in a row", record);
        }
        let wanted = std::mem::take(&mut self.compact) && self.can_shorten();
        // What was not told yet is told after the notes, word for word, if there is anything to be shortened.
        if self.closing.is_none()
            && (wanted || self.too_long() && (self.inbox.is_empty() || self.can_shorten()))
        {
            // What Posse itself has to say is about the conversation as it is.
            self.deliver(|heard| heard.from == Sender::Posse, record);
            return self.ask_for_notes(record);
        }
        self.deliver(|_| true, record);
        if self.closing.is_none() && self.too_long() {
            return self.ask_for_notes(record);
        }
        let purpose = if self.closing.is_some() { Purpose::LastWord } else { Purpose::Work };
        self.call_model(purpose, record)
    }

    /// Adds the messages that arrived meanwhile to the conversation.
    fn deliver(&mut self, now: impl Fn(&Heard) -> bool, record: &mut Vec<EventKind>) {
        let (told, later) = std::mem::take(&mut self.inbox).into_iter().partition(now);
        self.inbox = later;
        let told: Vec<Heard> = told;
        for Heard { mail, from, words, reports } in told {
            self.take_task(&words);
            if !reports.is_empty() {
                record.push(EventKind::ReportsDelivered { agents: reports });
            }
            self.add_message(mail, from, words, record);
        }
    }

    /// The first words are the task.
    fn take_task(&mut self, words: &Words) {
        if self.task.is_empty() {
            self.task.clone_from(&words.text);
            self.task_attachments.clone_from(&words.attachments);
        }
    }

    fn call_model(&mut self, purpose: Purpose, record: &mut Vec<EventKind>) -> Step {
        self.spent.turns += 1;
        if purpose != Purpose::Summary {
            self.rested = None;
        }
        self.state = State::Replying { purpose };
        let turn = self.spent.turns;
        record.push(EventKind::TurnStarted { turn, purpose });
        Step::CallModel { turn, purpose }
    }

    fn say(&mut self, from: Sender, words: impl Into<Words>, record: &mut Vec<EventKind>) {
        self.add_message(MailId::default(), from, words.into(), record);
    }

    fn add_message(&mut self, mail: MailId, from: Sender, words: Words, record: &mut Vec<EventKind>) {
        self.prompted |= from != Sender::Posse;
        let Words { text, attachments } = words.clone();
        record.push(EventKind::Told { mail, from, text, attachments });
        self.conversation.push(words.into());
    }

    /// Leaves one last turn to report, then ends in the given way.
    fn close(&mut self, ending: Ending, reason: &str, record: &mut Vec<EventKind>) -> Step {
        record.push(EventKind::Closing { ending: ending.clone() });
        self.closing = Some(ending);
        // What Posse was about to ask for no longer matters; what people said does.
        self.inbox.retain(|heard| heard.from != Sender::Posse);
        self.deliver(|_| true, record);
        self.say(Sender::Posse, prompts::last_word(reason), record);
        self.next_turn(record)
    }

    /// The prompt is answered, or cannot be: an agent that stays rests, any other ends.
    fn finish(&mut self, ending: Ending) -> Step {
        if !self.settings.stays {
            return self.settle(ending);
        }
        self.start_afresh();
        self.state = State::Resting { ending: ending.clone() };
        Step::Rest(ending)
    }

    fn settle(&mut self, ending: Ending) -> Step {
        self.state = State::Settled { ending: ending.clone() };
        Step::Settle(ending)
    }

    fn model_failed(&mut self, purpose: Purpose, error: ModelError, record: &mut Vec<EventKind>) -> Step {
        if purpose == Purpose::Summary && self.rested.take().is_some() {
            // Nothing forces it: the conversation stays as it is.
            self.conversation.take_back();
            return self.finish(Ending::Failed { failure: model_failure(error) });
        }
        if purpose == Purpose::Summary {
            return self.no_notes(record);
        }
        if purpose == Purpose::SumUp {
            return self.without_sum(record, None);
        }
        self.speak(&error.partial);
        if let Some(ending) = self.closing.clone() {
            return self.finish(ending);
        }
        if error.kind == ModelErrorKind::ContextTooLong {
            return self.drop_older(record);
        }
        self.finish(Ending::Failed { failure: model_failure(error) })
    }

    fn time_up(&mut self, partial: String, done: Vec<Done>, record: &mut Vec<EventKind>) -> Step {
        let summing_up = matches!(self.state, State::Replying { purpose: Purpose::SumUp });
        self.cut_short(partial, record);
        self.answer(done, STOPPED, record);
        if summing_up {
            return self.finish(Ending::Completed);
        }
        if let Some(ending) = self.rested.take() {
            return self.finish(ending);
        }
        if self.closing.is_some() || self.state == State::Ready {
            let ending = self.closing.clone().unwrap_or(Ending::TimedOut);
            return self.finish(ending);
        }
        self.close(Ending::TimedOut, "your time is over", record)
    }
}

fn model_failure(error: ModelError) -> Failure {
    let ModelError { kind, message, said, advice, .. } = error;
    Failure::Model { kind, message, said, advice }
}
