//! What may be done without asking, and the questions that wait for a person. One for a session: what a person allows or
//! refuses holds for all its agents.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_policy::{Act, Decision, Rules, Undo, Wish, judge_with};
use posse_protocol::limits::{ANSWER_BYTES_MAX, WRITTEN_NAMES_MAX};
use posse_protocol::{AgentId, Answer, Approval, CallId, Effect, Question};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::changes::found::WrittenPaths;
use crate::limits::WRITTEN_KEPT_MAX;

/// How a session asks.
#[derive(Clone, Debug, Default)]
pub struct ApprovalSettings {
    /// What is allowed, asked and denied, whatever the mode says.
    pub rules: Rules,
    /// Whether a person follows the session and answers. Where nobody does, what would be asked is denied.
    pub person: bool,
}

pub(crate) struct Approvals {
    person: bool,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    rules: Rules,
    /// The widest mode of any agent, where the person has changed it.
    mode_max: Option<Approval>,
    waiting: HashMap<(AgentId, CallId), Waiting>,
    /// What was refused, so that asking again does not help.
    refused: HashSet<(AgentId, String, String)>,
    /// What the session wrote, each with the number of the write that was the last.
    written: HashMap<String, u64>,
    /// How many it wrote beyond those.
    written_more: usize,
    /// The number of the last write.
    writes: u64,
    /// What runs now and can write files, by its number.
    writing: BTreeMap<u64, String>,
    next: u64,
}

struct Waiting {
    asks: PendingQuestion,
    answered: oneshot::Sender<Answer>,
}

/// A question, and what decides whether it still has to be asked.
#[derive(Clone)]
pub(crate) struct PendingQuestion {
    pub(crate) question: Question,
    /// The rule that allows all of its kind.
    pub(crate) for_session: String,
    pub(crate) approval: Approval,
    pub(crate) undo: Undo,
    /// What is wished for, as it was written and as it really is.
    pub(crate) wishes: Vec<(String, Act)>,
    /// Whether the call runs without a yes, too, and leaves out what was asked for.
    pub(crate) without: bool,
    /// The number of the last write that the question could tell of.
    pub(crate) seen: u64,
    /// Whether a worker asks it. What an answer allows from then on is known there; nothing is learnt here from its words.
    pub(crate) of_worker: bool,
}

/// What the session wrote, for a question.
#[derive(Default)]
pub(crate) struct WrittenFiles {
    /// What matters most, the last write first.
    pub(crate) named: Vec<String>,
    /// How many more there are.
    pub(crate) more: usize,
    /// What runs now and can write files.
    pub(crate) writing: Vec<String>,
    /// The number of the last write.
    pub(crate) seen: u64,
}

impl PendingQuestion {
    /// A question in words. Nothing but a person's words answers it: neither a mode nor a rule.
    pub(crate) fn free(question: Question) -> Self {
        Self {
            question,
            for_session: String::new(),
            approval: Approval::Plan,
            undo: Undo::Holds,
            wishes: Vec::new(),
            without: false,
            seen: 0,
            of_worker: false,
        }
    }

    /// A question that a worker puts for its agent.
    pub(crate) fn of_worker(question: Question) -> Self {
        Self { of_worker: true, ..Self::free(question) }
    }

    /// Whether it is a question in words.
    fn is_free(&self) -> bool {
        self.question.asks.is_some()
    }

    /// Whether it is about ordinary work in the sandbox.
    pub(crate) fn is_ordinary(&self) -> bool {
        let ordinary = |act: &Act| matches!(act, Act::Read | Act::Edit | Act::Command(_) | Act::Network);
        !self.is_free() && !self.without && self.wishes.iter().all(|(_, act)| ordinary(act))
    }

    /// Whether an answer is of the kind that the question wants.
    fn fits(&self, answer: &Answer) -> Result<(), AnswerOutcome> {
        match answer {
            Answer::Once | Answer::Session | Answer::Pattern { .. } if self.is_free() => {
                Err(AnswerOutcome::WrongKind)
            }
            Answer::Said { .. } if !self.is_free() => Err(AnswerOutcome::WrongKind),
            Answer::Said { text } if text.trim().is_empty() => Err(AnswerOutcome::BadText),
            Answer::Said { text } | Answer::No { reason: text } if text.len() > ANSWER_BYTES_MAX => {
                Err(AnswerOutcome::BadText)
            }
            _ => Ok(()),
        }
    }

    fn judged(&self, rules: &Rules) -> Decision {
        if self.is_free() || self.of_worker {
            return Decision::Ask(String::new());
        }
        let tool = &self.question.tool;
        let wishes = self.wishes.iter().map(|(what, act)| Wish { tool, what, act: *act });
        judge_all(self.approval, self.undo, rules, wishes)
    }
}

/// What came of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOutcome {
    /// The agent has it.
    Accepted,
    /// The question is not open any more.
    NotOpen,
    /// The pattern is none, or does not cover what was asked.
    BadPattern,
    /// A permission for a question that wants words, or words for one that wants a permission. It stays open.
    WrongKind,
    /// The words are empty or too long. The question stays open.
    BadText,
}

/// A question that was put. Dropping it withdraws it.
pub(crate) struct Open<'a> {
    approvals: &'a Approvals,
    key: (AgentId, CallId),
    answer: oneshot::Receiver<Answer>,
}

impl Approvals {
    pub(crate) fn new(settings: ApprovalSettings) -> Self {
        let inner = Inner { rules: settings.rules, ..Inner::default() };
        Self { person: settings.person, inner: Mutex::new(inner) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an agent may do what it wishes, written and real path alike.
    pub(crate) fn judge(&self, by: AgentId, approval: Approval, undo: Undo, wishes: &[Wish<'_>]) -> Decision {
        let inner = self.lock();
        let refused = |wish: &Wish<'_>| inner.refused.contains(&key_of(by, wish.tool, wish.what));
        let approval = inner.mode_max.map_or(approval, |most| approval.min(most));
        let mut rules = Cow::Borrowed(&inner.rules);
        if !inner.writing.is_empty() && wishes.iter().any(|wish| wish.act == Act::Leave) {
            // Nobody knows yet what they have written.
            rules.to_mut().end_leaving();
        }
        match judge_all(approval, undo, &rules, wishes.iter().copied()) {
            Decision::Ask(_) if wishes.iter().any(refused) => {
                Decision::Deny("this was refused before, and asking again does not change that".to_string())
            }
            decision => decision,
        }
    }

    /// Whether a question is asked because of the mode and nothing else: no rule asks it, undo holds, and it is about ordinary
    /// work in the sandbox.
    pub(crate) fn is_only_by_mode(&self, asks: &PendingQuestion) -> bool {
        let ordinary = asks.is_ordinary() && asks.undo == Undo::Holds;
        let asked = PendingQuestion { approval: Approval::Full, ..asks.clone() };
        ordinary && asked.judged(&self.lock().rules) == Decision::Allow
    }

    /// Lets no agent do more without asking than this mode, those that run already included.
    pub(crate) fn limit_to(&self, mode: Approval) {
        self.lock().mode_max = Some(mode);
    }

    /// The widest mode of any agent, where the person has changed it.
    pub(crate) fn mode_max(&self) -> Option<Approval> {
        self.lock().mode_max
    }

    /// What is allowed, asked and denied now.
    pub(crate) fn rules(&self) -> Rules {
        self.lock().rules.clone()
    }

    /// Whether paths have to be looked at: without rules all are alike.
    pub(crate) fn has_rules(&self) -> bool {
        self.lock().rules != Rules::default()
    }

    /// Takes in what the session wrote, or may have written. What a person let out of the sandbox before that is asked about
    /// again: it may run what was written.
    pub(crate) fn note_written(&self, effects: &[Effect], written: &WrittenPaths) {
        let by_effect = effects.iter().filter_map(|effect| match effect {
            Effect::File(file) | Effect::NotCertain(file) => Some(&file.path),
            _ => None,
        });
        let mut paths = by_effect.chain(&written.paths).peekable();
        if paths.peek().is_none() && !written.unseen {
            return;
        }
        let mut inner = self.lock();
        inner.rules.end_leaving();
        inner.writes += 1;
        let number = inner.writes;
        for path in paths {
            let room = inner.written.len() < WRITTEN_KEPT_MAX;
            match inner.written.get_mut(path) {
                Some(last) => *last = number,
                None if room => drop(inner.written.insert(path.clone(), number)),
                None => inner.written_more += 1,
            }
        }
    }

    /// Takes in that something runs from now on that can write files. Until it has ended, no answer lets anything leave the
    /// sandbox.
    pub(crate) fn begin_write(&self, what: &str) -> u64 {
        let mut inner = self.lock();
        inner.next += 1;
        let number = inner.next;
        inner.writing.insert(number, what.to_string());
        number
    }

    /// It has ended, and what it wrote was told before.
    pub(crate) fn end_write(&self, number: u64) {
        self.lock().writing.remove(&number);
    }

    /// The same for what ends where it began, or is cut off: nobody knows then what it wrote.
    pub(crate) fn track_write(&self, what: Option<&str>) -> Writes<'_> {
        Writes { approvals: self, number: what.map(|what| self.begin_write(what)) }
    }

    /// What the session wrote, for a question about a command that leaves the sandbox. First what the command names itself,
    /// then what `can_be_run`, so that later writes do not hide what matters.
    pub(crate) fn written(&self, command: &str, can_be_run: impl Fn(&str) -> bool) -> WrittenFiles {
        let inner = self.lock();
        let (seen, writing) =
            (inner.writes, inner.writing.values().take(WRITTEN_NAMES_MAX).cloned().collect());
        let all = inner.written.iter().map(|(path, number)| (path.clone(), *number)).collect::<Vec<_>>();
        let more = inner.written_more + all.len().saturating_sub(WRITTEN_NAMES_MAX);
        drop(inner);
        let words = command.split(|c: char| c.is_whitespace() || "'\"`=:;,|&<>(){}$".contains(c));
        let words = words.map(|word| word.trim_start_matches("./")).collect::<HashSet<_>>();
        let is_named =
            |path: &str| words.contains(path) || words.contains(path.rsplit('/').next().unwrap_or(path));
        let ranked = all.into_iter().map(|(path, number)| {
            let rank = if is_named(&path) { 0 } else { 1 + u8::from(!can_be_run(&path)) };
            (rank, Reverse(number), path)
        });
        let mut all = ranked.collect::<Vec<_>>();
        all.sort_unstable();
        let named = all.into_iter().take(WRITTEN_NAMES_MAX).map(|(_, _, path)| path).collect();
        WrittenFiles { named, more, writing, seen }
    }

    /// Whether there is anybody to ask.
    pub(crate) fn has_person(&self) -> bool {
        self.person
    }

    /// Puts a question.
    pub(crate) fn open(&self, by: AgentId, asks: &PendingQuestion) -> Open<'_> {
        let (answered, answer) = oneshot::channel();
        let key = (by, asks.question.call.clone());
        self.lock().waiting.insert(key.clone(), Waiting { asks: asks.clone(), answered });
        Open { approvals: self, key, answer }
    }

    /// Answers a question, and with it all others that the answer covers. What lets commands leave the sandbox from now on
    /// lets out this one alone if something was written since the question was made: it could not tell of that.
    pub(crate) fn answer(&self, by: AgentId, call: &CallId, answer: Answer) -> AnswerOutcome {
        let mut inner = self.lock();
        let key = (by, call.clone());
        let Some(Waiting { asks, .. }) = inner.waiting.get(&key) else { return AnswerOutcome::NotOpen };
        if let Err(unfit) = asks.fits(&answer) {
            return unfit;
        }
        let is_free = asks.is_free();
        let mut rules = inner.rules.clone();
        let learnt = match &answer {
            Answer::Session => rules.add_allow(&asks.for_session),
            Answer::Pattern { pattern } => rules.add_allow(pattern),
            _ => Ok(()),
        };
        let allows = matches!(answer, Answer::Once | Answer::Session | Answer::Pattern { .. });
        let learns = allows && answer != Answer::Once && !asks.of_worker;
        if (learnt.is_err() && !(asks.of_worker && answer == Answer::Session))
            || (learns && asks.judged(&rules) != Decision::Allow)
        {
            return AnswerOutcome::BadPattern;
        }
        let refused = key_of(by, &asks.question.tool, &asks.question.what);
        let no_longer = learns && asks.question.leaves && asks.seen != inner.writes;
        if learns && !no_longer {
            inner.rules = rules;
        }
        if !allows && !is_free {
            inner.refused.insert(refused);
        }
        let covered = |(other, waiting): (&(AgentId, CallId), &Waiting)| {
            let covered = learns && !no_longer && waiting.asks.judged(&inner.rules) == Decision::Allow;
            (covered || *other == key).then(|| other.clone())
        };
        let keys = inner.waiting.iter().filter_map(covered).collect::<Vec<_>>();
        for key in keys {
            if let Some(waiting) = inner.waiting.remove(&key) {
                let _ = waiting.answered.send(answer.clone());
            }
        }
        AnswerOutcome::Accepted
    }
}

/// Something that can write files, while it runs.
pub(crate) struct Writes<'a> {
    approvals: &'a Approvals,
    number: Option<u64>,
}

impl Writes<'_> {
    /// It has ended and has written this.
    pub(crate) fn wrote(mut self, effects: &[Effect], written: &WrittenPaths) {
        self.approvals.note_written(effects, written);
        self.number.take().into_iter().for_each(|number| self.approvals.end_write(number));
    }
}

impl Drop for Writes<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number.take() {
            self.approvals.lock().rules.end_leaving();
            self.approvals.end_write(number);
        }
    }
}

/// The strictest of what is said about each.
fn judge_all<'a>(
    approval: Approval,
    undo: Undo,
    rules: &Rules,
    wishes: impl Iterator<Item = Wish<'a>>,
) -> Decision {
    let mut strictest = Decision::Allow;
    for wish in wishes {
        match (judge_with(approval, rules, &wish, undo), &strictest) {
            (deny @ Decision::Deny(_), _) => return deny,
            (ask @ Decision::Ask(_), Decision::Allow) => strictest = ask,
            _ => {}
        }
    }
    strictest
}

impl Open<'_> {
    /// Waits for the answer, for ever if need be.
    pub(crate) async fn answer(mut self) -> Answer {
        (&mut self.answer).await.unwrap_or(Answer::Nobody)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.approvals.lock().waiting.remove(&self.key);
    }
}

fn key_of(by: AgentId, tool: &str, what: &str) -> (AgentId, String, String) {
    (by, tool.to_string(), what.to_string())
}
