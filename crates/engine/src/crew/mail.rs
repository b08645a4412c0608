//! What is sent to agents: messages, and what the person wants of an agent besides. A message can be edited and taken back
//! until its agent takes it; both happen under the crew's lock, so it is delivered as it was last, or not at all.

use posse_agent::Mail;
use posse_protocol::{AgentId, Approval, Budget, CallId, EventKind, MailId, Sender, Words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::{Crew, Inner, News, kin};
use crate::limits::MAIL_MAX;
use crate::models::choice::PricedModel;
use crate::record::journal::Journal;

/// When an agent gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// At its next turn.
    NextTurn,
    /// At once: what it does is stopped for it.
    Interrupt,
    /// When it has answered the prompt before. An agent that does not rest gets it at its next turn.
    NextPrompt,
}

/// What the person wants of an agent; its driver takes it at its next step.
#[derive(Default)]
pub(super) struct Wanted {
    /// What it does is to be stopped; it rests then.
    stop: bool,
    /// Its conversation is to be shortened.
    compact: bool,
    /// It is not to rest any longer.
    close: bool,
    /// What it may spend in all from now on, and how much more that is.
    budget: Option<(Budget, Budget)>,
    /// What counts from its next turn on.
    settings: Option<SettingsChange>,
    /// Calls whose commands are to run in the background, where it is on a worker, and who waits for their names there.
    moves: Vec<Move>,
}

/// A call whose command is to run in the background, and who waits for the name that it gets.
pub(crate) type Move = (CallId, oneshot::Sender<String>);

/// What the person changes for the next turns of the main agent.
#[derive(Clone, Default)]
pub(crate) struct SettingsChange {
    pub(crate) approval: Option<Approval>,
    pub(crate) model: Option<PricedModel>,
    pub(crate) effort: Option<String>,
}

/// Why a message was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MailGone {
    /// It was never sent, or is delivered already.
    Delivered,
    /// It is not the person's.
    NotYours,
}

impl Crew {
    /// Puts words into an agent's mail. False if it takes none: it has ended or is about to, or has too much of it.
    pub(crate) fn tell(&self, id: AgentId, from: Sender, words: impl Into<Words>, interrupt: bool) -> bool {
        let delivery = if interrupt { Delivery::Interrupt } else { Delivery::NextTurn };
        self.send(id, from, words, delivery).is_some()
    }

    /// The same with a say in when it gets them. Gives back the number of the message, and the way to wait until it is on
    /// record.
    pub(crate) fn send(
        &self,
        id: AgentId,
        from: Sender,
        words: impl Into<Words>,
        delivery: Delivery,
    ) -> Option<(MailId, Journal)> {
        let words = words.into();
        let mut inner = self.lock();
        let member = inner.members.get(&id)?;
        if member.mailbox_closed || member.mail.len() >= MAIL_MAX {
            return None;
        }
        let parent = inner.tree.node(id).and_then(|node| node.parent);
        let mail = match &self.home {
            // Home numbers messages. What is said here is known by its words.
            Some(_) => MailId::default(),
            None => {
                inner.last_mail.0 += 1;
                inner.last_mail
            }
        };
        let is_prompt = delivery == Delivery::NextPrompt && self.stays && id == self.main;
        // On its way to the record before whoever sends it can say that it was sent.
        let mut journal = self.journal(id, parent);
        let Words { text, attachments } = words.clone();
        journal.note(EventKind::Mailed { id: mail, from, text, is_prompt, attachments });
        journal.send();
        let member = inner.members.get_mut(&id)?;
        member.mail.push(Mail { id: mail, from, words, is_prompt });
        member.signals.news.send_replace(());
        if delivery == Delivery::Interrupt {
            member.signals.interrupt.send_replace(());
        }
        Some((mail, journal))
    }

    /// Gives a message of the person that no agent has taken yet another text, or takes it back where there is none.
    pub(crate) fn change_mail(&self, mail: MailId, text: Option<String>) -> Result<Journal, MailGone> {
        let mut inner = self.lock();
        let holds = |found: &Mail| found.id == mail;
        let found = inner.members.iter().find(|(_, member)| member.mail.iter().any(holds));
        let id = found.map(|(id, _)| *id).ok_or(MailGone::Delivered)?;
        let parent = inner.tree.node(id).and_then(|node| node.parent);
        let member = inner.members.get_mut(&id).ok_or(MailGone::Delivered)?;
        let at = member.mail.iter().position(holds).ok_or(MailGone::Delivered)?;
        if member.mail[at].from != Sender::Person {
            return Err(MailGone::NotYours);
        }
        let mut journal = self.journal(id, parent);
        match text {
            Some(text) => {
                member.mail[at].words.text.clone_from(&text);
                journal.note(EventKind::MailEdited { id: mail, text });
            }
            None => {
                member.mail.remove(at);
                journal.note(EventKind::MailWithdrawn { id: mail });
            }
        }
        journal.send();
        Ok(journal)
    }

    /// Messages of before this process: where their numbers end, and the prompts that wait for the main agent.
    pub(crate) fn restore_mail(&self, last: MailId, prompts: Vec<Mail>) {
        let mut inner = self.lock();
        inner.last_mail = inner.last_mail.max(last);
        if let Some(member) = inner.members.get_mut(&self.main) {
            member.mail.extend(prompts);
        }
    }

    /// A number for a message that is recorded elsewhere.
    pub(crate) fn next_mail(&self) -> MailId {
        let mut inner = self.lock();
        inner.last_mail.0 += 1;
        inner.last_mail
    }

    /// Takes what has come in for an agent, but for prompts. A report that is taken is delivered: whoever takes it must tell
    /// it. `taken` runs before anybody can send more, unless the agent is to be stopped: then the interrupt has to stay.
    pub(crate) fn news(&self, id: AgentId, taken: impl FnOnce()) -> News {
        let mut inner = self.lock();
        let stops = inner.members.get(&id).is_some_and(|member| member.wanted.stop);
        if !stops {
            taken();
        }
        let reports = inner.take_reports(id, None);
        let mail = inner.take_mail(id, |mail| !mail.is_prompt);
        match &self.home {
            Some(home) => {
                let (kin, worded) = home.take_news();
                News { kin, mail, reports, worded }
            }
            None => News { kin: kin(&inner.tree, id), mail, reports, worded: Vec::new() },
        }
    }

    /// How an agent's sub-agents are.
    pub(crate) fn kin(&self, id: AgentId) -> posse_agent::Kin {
        match &self.home {
            Some(home) => home.kin(),
            None => kin(&self.lock().tree, id),
        }
    }

    /// Puts a message into an agent's mail that is on home's record already.
    pub(crate) fn deliver(&self, id: AgentId, mail: Mail, interrupt: bool) {
        let mut inner = self.lock();
        let Some(member) = inner.members.get_mut(&id) else { return };
        member.mail.push(mail);
        member.signals.news.send_replace(());
        if interrupt {
            member.signals.interrupt.send_replace(());
        }
    }

    /// Lets no agent do more without asking than this mode, those on workers included.
    pub(crate) fn limit_to(&self, mode: Approval) {
        self.approvals.limit_to(mode);
        let inner = self.lock();
        inner.members.values().filter(|member| member.elsewhere).for_each(|member| {
            member.signals.news.send_replace(());
        });
    }

    /// Wakes an agent that waits for something to be told.
    pub(crate) fn wake(&self, id: AgentId) {
        if let Some(member) = self.lock().members.get(&id) {
            member.signals.news.send_replace(());
        }
    }

    /// Takes the next prompt of an agent that rests: what the person has told it, or else the first prompt that waits.
    pub(crate) fn take_prompt(&self, id: AgentId) -> Vec<Mail> {
        let mut inner = self.lock();
        let mail = inner.members.get(&id).map(|member| member.mail.as_slice()).unwrap_or_default();
        let said = |mail: &Mail| mail.from == Sender::Person && !mail.is_prompt;
        let next = mail.iter().find(|mail| mail.is_prompt).map(|mail| mail.id);
        if mail.iter().any(said) {
            return inner.take_mail(id, |mail| !mail.is_prompt);
        }
        match next {
            Some(next) => inner.take_mail(id, |mail| !mail.is_prompt || mail.id == next),
            None => Vec::new(),
        }
    }

    /// Stops what an agent does now. It rests then, if it stays; else it ends.
    pub(crate) fn stop_turn(&self, id: AgentId) -> bool {
        self.want(id, |wanted| wanted.stop = true)
    }

    /// Wants an agent's conversation shortened: now if it rests, else at its next turn.
    pub(crate) fn want_compaction(&self, id: AgentId) -> bool {
        self.want(id, |wanted| wanted.compact = true)
    }

    /// Does not let an agent rest any longer.
    pub(crate) fn want_close(&self, id: AgentId) -> bool {
        self.want(id, |wanted| wanted.close = true)
    }

    fn want(&self, id: AgentId, change: impl FnOnce(&mut Wanted)) -> bool {
        let mut inner = self.lock();
        let Some(member) = inner.members.get_mut(&id).filter(|member| !member.mailbox_closed) else {
            return false;
        };
        change(&mut member.wanted);
        let stops = member.wanted.stop;
        member.signals.news.send_replace(());
        if stops {
            member.signals.interrupt.send_replace(());
        }
        true
    }

    /// Whether what an agent does is to be stopped; it is told once.
    pub(crate) fn take_stop(&self, id: AgentId) -> bool {
        self.take_wanted(id, |wanted| std::mem::take(&mut wanted.stop))
    }

    /// Lets an agent spend more, and those above it that pay for it. Gives back the way to wait until that is on record.
    pub(crate) fn top_up(&self, id: AgentId, more: Budget) -> Vec<Journal> {
        let mut inner = self.lock();
        let changed = inner.tree.top_up(id, more);
        let raise = |(id, budget): (AgentId, Budget)| {
            let parent = inner.tree.node(id).and_then(|node| node.parent);
            let mut journal = self.journal(id, parent);
            journal.note(EventKind::BudgetRaised { budget });
            journal.send();
            if let Some(member) = inner.members.get_mut(&id) {
                let before = member.wanted.budget.map_or(Budget::UNLIMITED, |(_, more)| more);
                member.wanted.budget = Some((budget, plus(more, before)));
                member.signals.news.send_replace(());
            }
            journal
        };
        changed.into_iter().map(raise).collect()
    }

    /// Changes what counts from an agent's next turn on; later changes add to earlier ones.
    pub(crate) fn change_settings(&self, id: AgentId, change: SettingsChange) -> bool {
        self.want(id, |wanted| {
            let before = wanted.settings.take().unwrap_or_default();
            // Another model begins with the effort that it is configured with.
            let effort = change.effort.or(before.effort.filter(|_| change.model.is_none()));
            wanted.settings = Some(SettingsChange {
                approval: change.approval.or(before.approval),
                model: change.model.or(before.model),
                effort,
            });
        })
    }

    pub(crate) fn take_settings(&self, id: AgentId) -> Option<SettingsChange> {
        self.take_wanted(id, |wanted| wanted.settings.take())
    }

    /// What an agent may spend in all from now on, and how much more that is than before.
    pub(crate) fn take_budget(&self, id: AgentId) -> Option<(Budget, Budget)> {
        self.take_wanted(id, |wanted| wanted.budget.take())
    }

    pub(crate) fn take_compaction(&self, id: AgentId) -> bool {
        self.take_wanted(id, |wanted| std::mem::take(&mut wanted.compact))
    }

    /// Wants the command of a call in the background, of an agent on a worker. Gives what comes of it.
    pub(crate) fn want_moved(&self, id: AgentId, call: &CallId) -> Option<oneshot::Receiver<String>> {
        let is_elsewhere = |member: &super::Member| member.elsewhere && member.wanted.moves.len() < MAIL_MAX;
        if !self.lock().members.get(&id).is_some_and(is_elsewhere) {
            return None;
        }
        let (moved, name) = oneshot::channel();
        self.want(id, |wanted| wanted.moves.push((call.clone(), moved))).then_some(name)
    }

    pub(crate) fn take_moves(&self, id: AgentId) -> Vec<Move> {
        self.take_wanted(id, |wanted| std::mem::take(&mut wanted.moves))
    }

    pub(crate) fn is_to_close(&self, id: AgentId) -> bool {
        self.take_wanted(id, |wanted| wanted.close)
    }

    fn take_wanted<T: Default>(&self, id: AgentId, take: impl FnOnce(&mut Wanted) -> T) -> T {
        self.lock().members.get_mut(&id).map(|member| take(&mut member.wanted)).unwrap_or_default()
    }
}

/// One amount on top of another; what is none adds nothing.
pub(crate) fn plus(budget: Budget, more: Budget) -> Budget {
    fn sum<T: std::ops::Add<Output = T>>(a: Option<T>, b: Option<T>) -> Option<T> {
        match (a, b) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        }
    }
    Budget {
        turns: sum(budget.turns.map(u64::from), more.turns.map(u64::from))
            .map(|turns| u32::try_from(turns).unwrap_or(u32::MAX)),
        tokens: sum(budget.tokens.map(u128::from), more.tokens.map(u128::from))
            .map(|tokens| u64::try_from(tokens).unwrap_or(u64::MAX)),
        time_ms: sum(budget.time_ms.map(u128::from), more.time_ms.map(u128::from))
            .map(|ms| u64::try_from(ms).unwrap_or(u64::MAX)),
        cost_usd: sum(budget.cost_usd, more.cost_usd),
    }
}

impl Inner {
    fn take_mail(&mut self, id: AgentId, which: impl Fn(&Mail) -> bool) -> Vec<Mail> {
        let Some(member) = self.members.get_mut(&id) else { return Vec::new() };
        let (taken, left) = std::mem::take(&mut member.mail).into_iter().partition(which);
        member.mail = left;
        taken
    }
}
