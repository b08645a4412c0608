//! Which prompt has which end. Prompts come from this client and from others; each waits for its own.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use posse_protocol::{MailId, Report};
use tokio::sync::oneshot;

use crate::limits::TURNS_KEPT;

/// How a prompt ended.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TurnEnd {
    /// With a report.
    Rested(Box<Report>),
    /// The session is over, and nothing more is known.
    Over,
}

/// Which end is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedTurn {
    /// The next one.
    Next,
    /// That of the prompt that was sent as this message.
    Of(MailId),
}

/// The prompts of one session.
#[derive(Default)]
pub(crate) struct Turns(Mutex<TurnsKnown>);

#[derive(Default)]
struct TurnsKnown {
    /// Prompts that the main agent was told, the newest last, and how they ended.
    told: VecDeque<(MailId, Option<TurnEnd>)>,
    waiting: Option<(AwaitedTurn, oneshot::Sender<TurnEnd>)>,
    /// Prompts of this client that the main agent was not told yet.
    own: Vec<String>,
}

impl Turns {
    /// Notes what the client says, before it is said.
    pub(crate) fn expect(&self, text: &str) {
        self.lock().own.push(text.trim().to_owned());
    }

    /// Whether a prompt that the main agent was told is one of the client's own. Hooks may have added something to it.
    pub(crate) fn is_own(&self, text: &str) -> bool {
        let own = &mut self.lock().own;
        let found = own.iter().position(|own| text.contains(own.as_str()));
        found.map(|at| own.remove(at)).is_some()
    }

    /// Waits for an end, which may have come already.
    pub(crate) fn wait(&self, awaited: AwaitedTurn) -> oneshot::Receiver<TurnEnd> {
        let (sender, receiver) = oneshot::channel();
        let mut known = self.lock();
        let ended = known.told.iter().find(|(mail, _)| awaited == AwaitedTurn::Of(*mail));
        match ended.and_then(|(_, end)| end.clone()) {
            Some(end) => drop(sender.send(end)),
            None => known.waiting = Some((awaited, sender)),
        }
        receiver
    }

    /// The main agent was told a prompt.
    pub(crate) fn told(&self, mail: MailId) {
        let told = &mut self.lock().told;
        if told.len() == TURNS_KEPT {
            told.pop_front();
        }
        told.push_back((mail, None));
    }

    /// The main agent has answered everything that it was told.
    pub(crate) fn ended(&self, end: &TurnEnd) {
        let mut known = self.lock();
        known.told.iter_mut().filter(|(_, ended)| ended.is_none()).for_each(|(_, ended)| {
            *ended = Some(end.clone());
        });
        let comes = match &known.waiting {
            Some((AwaitedTurn::Next, _)) => true,
            Some((AwaitedTurn::Of(mail), _)) => {
                *end == TurnEnd::Over || known.told.iter().any(|(told, _)| told == mail)
            }
            None => false,
        };
        if let Some((_, waiting)) = known.waiting.take_if(|_| comes) {
            let _ = waiting.send(end.clone());
        }
        if *end == TurnEnd::Over {
            known.own.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnsKnown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use posse_protocol::{Ending, Receipt};

    fn rested(text: &str) -> TurnEnd {
        TurnEnd::Rested(Box::new(Report::new(Ending::Completed, text, Receipt::default())))
    }

    #[test]
    fn each_prompt_gets_its_own_end() {
        let turns = Turns::default();
        let mut next = turns.wait(AwaitedTurn::Next);
        turns.told(MailId(0));
        turns.ended(&rested("first"));
        assert_eq!(next.try_recv(), Ok(rested("first")));

        // Somebody else's prompt is answered first.
        turns.told(MailId(1));
        let mut second = turns.wait(AwaitedTurn::Of(MailId(2)));
        turns.ended(&rested("theirs"));
        assert!(second.try_recv().is_err());
        turns.told(MailId(2));
        turns.ended(&rested("second"));
        assert_eq!(second.try_recv(), Ok(rested("second")));

        // An answer may come before anybody waits for it.
        turns.told(MailId(3));
        turns.ended(&rested("third"));
        assert_eq!(turns.wait(AwaitedTurn::Of(MailId(3))).try_recv(), Ok(rested("third")));
        let mut last = turns.wait(AwaitedTurn::Of(MailId(4)));
        turns.ended(&TurnEnd::Over);
        assert_eq!(last.try_recv(), Ok(TurnEnd::Over));
    }

    #[test]
    fn prompts_of_the_client_are_known_once() {
        let turns = Turns::default();
        turns.expect(" fix it\n");
        assert!(!turns.is_own("something else"));
        assert!(turns.is_own("fix it\n\n(a hook adds this)"));
        assert!(!turns.is_own("fix it"));
    }
}
