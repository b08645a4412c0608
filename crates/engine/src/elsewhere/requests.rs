//! What an agent on a worker asks of home, under way: calls of delegation tools and of models. A worker that takes an agent over
//! asks again what the one before had asked; the answer is the same, and nothing is done twice.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use posse_agent::Kin;
use posse_model::Signal;
use posse_protocol::{AgentId, Budget, CallId, Prices, ToolCall, ToolOutcome, Usage};
use tokio::sync::mpsc;
use tokio_util::task::AbortOnDropHandle;

use crate::agents::conversation::Conversation;
use crate::crew::Crew;
use crate::delegation::answers::CallAnswer;
use crate::delegation::calls::{DelegationCalls, Work};
use crate::driver::call_context::RESULT_UNKNOWN;
use crate::driver::held_progress::HeldProgress;
use crate::limits::{REMOTE_CALLS_EXTRA, REMOTE_LAST_WORDS_MAX, REMOTE_REQUESTS_MAX};
use crate::remote::HomeReply;

/// The requests of one agent.
pub(super) struct Requests {
    delegated: HashMap<CallId, Delegated>,
    /// Calls that an earlier process of home may have carried out.
    interrupted: BTreeSet<CallId>,
    /// The model call under way, and about how many tokens it takes.
    model: Option<(u64, u64, AbortOnDropHandle<()>)>,
    done: mpsc::UnboundedSender<CarriedOut>,
    coming: mpsc::UnboundedReceiver<CarriedOut>,
    spent: HomeSpent,
    /// How many model calls it had beyond its budget.
    last_words: u32,
}

/// What an agent has spent on model calls that home made, as home has seen it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HomeSpent {
    pub(super) calls: u32,
    pub(super) tokens: u64,
    pub(super) cost_usd: f64,
}

impl HomeSpent {
    /// Why no more may be spent, by itself and those below it; none if more may be.
    fn over(&self, budget: &Budget, kin: &Kin) -> Option<&'static str> {
        let turns = budget.turns.map(|turns| turns.saturating_add(REMOTE_CALLS_EXTRA));
        if budget.tokens.is_some_and(|most| self.tokens.saturating_add(kin.tokens) >= most) {
            Some("its tokens are used up")
        } else if budget.cost_usd.is_some_and(|most| self.cost_usd + kin.cost_usd >= most) {
            Some("its money is used up")
        } else if turns.is_some_and(|most| self.calls >= most) {
            Some("its turns are used up")
        } else {
            None
        }
    }
}

/// A call of a delegation tool.
struct Delegated {
    /// Who waits for the answer, by the number of the request: the newest, because a worker waits once.
    waiting: Option<u64>,
    answer: Option<(ToolOutcome, Vec<AgentId>)>,
    _running: AbortOnDropHandle<()>,
}

/// Something has come of a request.
pub(super) enum CarriedOut {
    Delegated(CallId, CallAnswer),
    Called(u64, HomeReply, Option<Usage>),
}

impl Requests {
    /// For an agent that has spent so much, and had begun these calls when its home ended.
    pub(super) fn new(spent: HomeSpent, interrupted: BTreeSet<CallId>) -> Self {
        let (done, coming) = mpsc::unbounded_channel();
        Self { delegated: HashMap::new(), interrupted, model: None, done, coming, spent, last_words: 0 }
    }

    /// What its model calls have taken.
    pub(super) fn spent(&self) -> HomeSpent {
        self.spent
    }

    /// Why no model is called for it; none if one is. An agent whose budget is used up reports with one more call, and another
    /// worker may have to ask for that again.
    pub(super) fn refuses(&mut self, budget: &Budget, kin: &Kin) -> Option<&'static str> {
        let over = self.spent.over(budget, kin)?;
        self.last_words += 1;
        (self.last_words > REMOTE_LAST_WORDS_MAX).then_some(over)
    }

    /// Whether a call is one too many: those before it were answered, and nobody took the answers in.
    pub(super) fn is_full(&self, call: &CallId) -> bool {
        self.delegated.len() >= REMOTE_REQUESTS_MAX && !self.delegated.contains_key(call)
    }

    /// What comes next. What is not awaited to the end can be awaited again.
    pub(super) async fn next(&mut self) -> CarriedOut {
        match self.coming.recv().await {
            Some(done) => done,
            // The other end is here.
            None => std::future::pending().await,
        }
    }

    /// Carries out a call of a delegation tool, or waits for what it comes to.
    pub(super) fn delegate(
        &mut self,
        id: u64,
        call: ToolCall,
        calls: &Arc<DelegationCalls>,
        work: Result<Work, ToolOutcome>,
    ) -> Option<(u64, ToolOutcome, Vec<AgentId>)> {
        if let Some(known) = self.delegated.get_mut(&call.id) {
            return match known.answer.clone() {
                Some((outcome, delivered)) => Some((id, outcome, delivered)),
                None => {
                    known.waiting = Some(id);
                    None
                }
            };
        }
        let asked = match work {
            Ok(Work::Delegation(asked)) if asked.brings_in().is_some() => {
                let why = "Your files are on another machine, so nothing can be merged into them from here: leave that to \
                           whoever started you. The branch is named in the report.";
                return Some((id, ToolOutcome::error(why), Vec::new()));
            }
            // Which agents were started is on record, and told again.
            Ok(Work::Delegation(asked)) if self.interrupted.remove(&call.id) && !asked.starts() => {
                return Some((id, ToolOutcome::error(RESULT_UNKNOWN), Vec::new()));
            }
            Ok(Work::Delegation(asked)) => asked,
            Ok(Work::Tool { .. }) => {
                let why = "This is no call of a delegation tool.";
                return Some((id, ToolOutcome::error(why), Vec::new()));
            }
            Err(outcome) => return Some((id, outcome, Vec::new())),
        };
        let (calls, done, name) = (Arc::clone(calls), self.done.clone(), call.id.clone());
        let running = tokio::spawn(async move {
            let answer = calls.carry_out(*asked).await;
            let _ = done.send(CarriedOut::Delegated(name, answer));
        });
        let running = AbortOnDropHandle::new(running);
        self.delegated.insert(call.id, Delegated { waiting: Some(id), answer: None, _running: running });
        None
    }

    /// A call has come to something: who waits for that.
    pub(super) fn answered(
        &mut self,
        call: &CallId,
        answer: CallAnswer,
    ) -> Option<(u64, ToolOutcome, Vec<AgentId>)> {
        let known = self.delegated.get_mut(call)?;
        let CallAnswer { outcome, delivered } = answer;
        known.answer = Some((outcome.clone(), delivered.clone()));
        known.waiting.take().map(|id| (id, outcome, delivered))
    }

    /// A call is answered on record: whose reports its answer held.
    pub(super) fn finished(&mut self, call: &CallId) -> Vec<AgentId> {
        let known = self.delegated.remove(call);
        known.and_then(|known| known.answer).map(|(_, delivered)| delivered).unwrap_or_default()
    }

    /// Calls the model for the agent, with about so many tokens. Home shows what comes while it comes. An agent makes one call at
    /// a time: the one before, if it is still under way, was called off.
    pub(super) fn call_model(
        &mut self,
        id: u64,
        crew: &Arc<Crew>,
        agent: AgentId,
        request: Conversation,
        tokens: u64,
    ) {
        self.call_off_model();
        self.spent.calls = self.spent.calls.saturating_add(1);
        let (done, crew) = (self.done.clone(), Arc::clone(crew));
        let running = tokio::spawn(async move {
            let progress = HeldProgress::new(agent, crew.updates.clone());
            progress.release();
            let mut on_signal = |signal| match signal {
                Signal::Retrying { attempt, attempts_max, delay_ms, reason } => {
                    progress.retrying();
                    tracing::debug!(
                        attempt,
                        attempts_max,
                        delay_ms,
                        reason,
                        "a call for a worker is retried"
                    );
                }
                signal => progress.show(signal),
            };
            let called = request.model.model.call(request.transcript(), &mut on_signal).await;
            let (reply, usage) = match called {
                Ok(reply) => {
                    let usage = reply.usage;
                    (HomeReply::Replied { reply: Box::new(reply) }, Some(usage))
                }
                Err(error) => (HomeReply::ModelFailed { error }, None),
            };
            let _ = done.send(CarriedOut::Called(id, reply, usage));
        });
        self.model = Some((id, tokens, AbortOnDropHandle::new(running)));
    }

    /// Ends the model call under way. Its request was read all the same.
    fn call_off_model(&mut self) {
        if let Some((_, tokens, _)) = self.model.take() {
            self.spent.tokens = self.spent.tokens.saturating_add(tokens);
        }
    }

    /// Nobody waits for the answer any more. A model call ends; what was delegated goes on.
    pub(super) fn call_off(&mut self, id: u64) {
        if self.model.as_ref().is_some_and(|(under_way, _, _)| *under_way == id) {
            self.call_off_model();
        }
        for known in self.delegated.values_mut() {
            known.waiting = known.waiting.filter(|waiting| *waiting != id);
        }
    }

    /// The worker is gone: nobody waits for anything.
    pub(super) fn worker_lost(&mut self) {
        self.call_off_model();
        self.delegated.values_mut().for_each(|known| known.waiting = None);
    }

    /// A model call has ended.
    pub(super) fn called(&mut self, id: u64, usage: Option<Usage>, prices: Option<Prices>) {
        let Some((_, about, _)) = self.model.take_if(|(under_way, _, _)| *under_way == id) else { return };
        let Some(usage) = usage else { return };
        self.spent.tokens = self.spent.tokens.saturating_add(usage.total_tokens().unwrap_or(about));
        self.spent.cost_usd += prices.and_then(|prices| prices.cost_usd(usage)).unwrap_or(0.0);
    }
}
