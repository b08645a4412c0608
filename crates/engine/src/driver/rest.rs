//! How the main agent of a session that stays open rests: its answer is on record as a report, then it waits for the next
//! prompt with its conversation, its permissions and its background commands. It must not know who sends prompts.

use posse_agent::{Input, Mail};
use posse_protocol::{Budget, Ending, EventKind};

use super::waiting::TimeLimit;
use super::{Driver, broken, cancelled};
use crate::crew::mail::plus;

impl Driver {
    /// Records what it came to, and waits for the next prompt.
    pub(super) async fn rest(&mut self, ending: Ending) -> Input {
        self.journal.send();
        self.crew.stop_below(self.who.id).await;
        self.conversation.catch_up(self.agent.conversation());
        // Shortening the conversation is no answer, unless it went wrong.
        let report = if self.agent.has_answer() { Some(self.prompt_report(ending).await) } else { None };
        report.iter().for_each(|report| self.past.add(&report.receipt));
        self.journal.note(EventKind::AgentRested { report });
        if let Err(error) = self.journal.durable().await {
            return broken(&error);
        }
        self.await_prompt().await
    }

    /// Waits for the next prompt. Its clock stands still meanwhile.
    pub(super) async fn await_prompt(&mut self) -> Input {
        let stopped = self.signals.clock.stop();
        self.looks |= self.workplace.site.history.rest();
        let mut news = self.signals.news.subscribe();
        self.is_idle().await;
        loop {
            // Nothing is under way that could be stopped.
            self.crew.take_stop(self.who.id);
            if self.signals.cancel.is_cancelled() {
                return cancelled(String::new(), Vec::new());
            }
            let prompt = self.crew.take_prompt(self.who.id);
            let prompt = self.before_prompt(prompt).await;
            if !prompt.is_empty() || self.agent.is_prompted() {
                drop(stopped);
                self.begin_prompt(prompt);
                return Input::GoOn;
            }
            if self.crew.is_to_close(self.who.id) {
                return Input::Close;
            }
            if self.crew.take_compaction(self.who.id) && self.may_shorten().await {
                drop(stopped);
                // The person wants it, whatever is left of the last prompt's time.
                self.time.allow_last_word();
                return Input::Compact;
            }
            tokio::select! {
                () = self.signals.cancel.cancelled() => {}
                changed = news.changed() => drop(changed),
            }
        }
    }

    /// Rests as it did before its session was resumed.
    pub(super) async fn rest_again(&mut self) -> Input {
        self.journal.note(EventKind::AgentRested { report: None });
        self.journal.send();
        self.await_prompt().await
    }

    /// Begins with another prompt: it has a budget of its own, on top of what was spent before.
    fn begin_prompt(&mut self, prompt: Vec<Mail>) {
        let spent = self.agent.spent();
        let kin = self.crew.kin(self.who.id);
        let mut fresh = self.crew.prompt_budget;
        // What the person has allowed besides while it rested is for this prompt. What has no limit stays without one.
        if let Some((_, more)) = self.crew.take_budget(self.who.id) {
            let both = plus(fresh, more);
            fresh = Budget {
                turns: fresh.turns.and(both.turns),
                tokens: fresh.tokens.and(both.tokens),
                time_ms: fresh.time_ms.and(both.time_ms),
                cost_usd: fresh.cost_usd.and(both.cost_usd),
            };
        }
        let elapsed_ms = self.time.elapsed_ms();
        let budget = Budget {
            turns: fresh.turns.map(|turns| turns.saturating_add(spent.turns)),
            tokens: fresh
                .tokens
                .map(|more| more.saturating_add(self.agent.tokens_counted()).saturating_add(kin.tokens)),
            time_ms: fresh.time_ms.map(|ms| ms.saturating_add(elapsed_ms)),
            cost_usd: fresh.cost_usd.map(|usd| usd + spent.cost_usd.unwrap_or(0.0) + kin.cost_usd),
        };
        self.agent.allow(budget);
        self.time = TimeLimit::new(self.signals.clock.clone(), budget.time_ms);
        self.crew.tree(|tree| tree.set_budget(self.who.id, budget));
        self.journal.note(EventKind::AgentWoken { elapsed_ms, budget });
        for Mail { id, from, words, .. } in prompt {
            self.agent.hear(id, from, words);
        }
    }
}
