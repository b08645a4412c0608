//! The agents of one seed and what drives them: what the engine's crew and drivers do, one small step at a time.

use fastrand::Rng;
use posse_agent::{Agent, Done, Input, Kin, Settings, Step};
use posse_delegate::{Freed, Limits, OverCap, State, Tree, Unparked};
use posse_protocol::{
    AgentId, Budget, CallId, Ending, EventKind, Grant, MailId, Prices, Purpose, Receipt, Sender, ToolCall,
};
use uuid::Uuid;

use super::Tally;
use super::model::Temper;

/// How long an agent has for its last words once its time is over.
const LAST_WORD_MS: u64 = 5_000;

pub(super) fn id(number: usize) -> AgentId {
    AgentId::from(Uuid::from_u128(0x7000_8000_0000_0000_0000 + number as u128))
}

/// One agent and where its driver is.
pub(super) struct Actor {
    pub(super) agent: Agent,
    pub(super) doing: Doing,
    pub(super) cancelled: bool,
    pub(super) interrupted: bool,
    pub(super) mail: Vec<(Sender, String)>,
    began_ms: u64,
    deadline_ms: Option<u64>,
    /// How often the tree let it settle, and how often its report was given to its parent.
    pub(super) settled: u32,
    pub(super) delivered: u32,
    /// The most that one reply added to its tokens.
    pub(super) reply_max: u64,
    /// Children that had not settled when it was last allowed to work, or came after that.
    pub(super) since_work: Vec<AgentId>,
}

/// Where a driver is.
pub(super) enum Doing {
    /// Waits for its first slot.
    Queued,
    /// Is about to be told its task.
    Begins,
    /// A model call is under way.
    Calls,
    /// Calls are about to run.
    Works(Vec<ToolCall>),
    /// Some calls wait for sub-agents.
    Waits { done: Vec<Done>, waits: Vec<Wait>, until_ms: u64 },
    /// It has nothing to do.
    Rests,
    /// It has ended and waits for those below it.
    Ends { ending: Ending, stopped: bool },
    /// It is over.
    Over,
}

/// One call that waits for sub-agents.
pub(super) struct Wait {
    pub(super) call: CallId,
    pub(super) on: Vec<AgentId>,
    pub(super) all: bool,
}

pub(super) struct World {
    pub(super) rng: Rng,
    pub(super) limits: Limits,
    pub(super) tree: Tree,
    /// By the number of their ids; the first is main.
    pub(super) actors: Vec<Actor>,
    pub(super) temper: Temper,
    pub(super) tally: Tally,
    pub(super) now_ms: u64,
    calls: u64,
    context_window: Option<u64>,
    prices: Option<Prices>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let limits = Limits {
            depth_max: rng.u32(0..5),
            running_max: rng.usize(1..5),
            over_cap: if rng.u8(0..5) == 0 { OverCap::Error } else { OverCap::Queue },
            queued_max: rng.usize(0..10),
            agents_max: rng.usize(1..30),
        };
        let budget = Budget {
            turns: Some(rng.u32(1..40)),
            tokens: rng.bool().then(|| rng.u64(500..200_000)),
            time_ms: rng.bool().then(|| rng.u64(1..400_000)),
            cost_usd: (rng.u8(0..4) == 0).then(|| rng.f64()),
        };
        let tree = Tree::new(limits, id(0), Grant::full(), budget);
        let temper = Temper::new(&mut rng);
        let context_window = (rng.u8(0..6) == 0).then(|| rng.u64(600..6_000));
        let prices =
            rng.bool().then_some(Prices { input: 5.0, cached: None, cache_write: None, output: 20.0 });
        let mut world = Self {
            rng,
            limits,
            tree,
            actors: Vec::new(),
            temper,
            tally: Tally::new(),
            now_ms: 0,
            calls: 0,
            context_window,
            prices,
        };
        world.add(budget, Doing::Begins);
        world
    }

    pub(super) fn add(&mut self, budget: Budget, doing: Doing) {
        let settings = Settings {
            budget,
            prices: self.prices,
            context_window: self.context_window,
            fixed_bytes: 200,
            sum_up_over: (!self.actors.is_empty()).then_some(20),
            stays: false,
        };
        self.actors.push(Actor {
            agent: Agent::new(settings),
            doing,
            cancelled: false,
            interrupted: false,
            mail: Vec::new(),
            began_ms: 0,
            deadline_ms: None,
            settled: 0,
            delivered: 0,
            reply_max: 0,
            since_work: Vec::new(),
        });
    }

    pub(super) fn number(&self, id: AgentId) -> usize {
        let found = (0..self.actors.len()).find(|number| self::id(*number) == id);
        found.unwrap_or_else(|| panic!("{id} is nobody"))
    }

    pub(super) fn note(&mut self, what: &'static str) {
        *self.tally.entry(what).or_default() += 1;
    }

    /// One thing happens. False if all is over.
    pub(super) fn step(&mut self) -> bool {
        self.note("steps");
        self.now_ms += self.rng.u64(0..200);
        match self.rng.u8(0..150) {
            0 => self.now_ms += self.rng.u64(0..200_000),
            1 => {
                let anyone = self.rng.usize(0..self.actors.len());
                // Main less often than the others: with it all is over.
                if anyone > 0 || self.rng.u8(0..4) == 0 {
                    self.cancel(anyone);
                }
            }
            2 | 3 => {
                let anyone = self.rng.usize(0..self.actors.len());
                self.tell(anyone, true);
            }
            _ => {}
        }
        let ready = (0..self.actors.len()).filter(|number| self.ready(*number)).collect::<Vec<_>>();
        if let Some(number) = (!ready.is_empty()).then(|| ready[self.rng.usize(0..ready.len())]) {
            self.advance(number);
            return true;
        }
        let open = self.actors.iter().filter(|actor| !matches!(actor.doing, Doing::Over)).count();
        if open == 0 {
            return false;
        }
        // Only time can help now. If it cannot, they wait for each other.
        let next = self.actors.iter().filter_map(Actor::wakes_ms).min();
        self.now_ms = next.unwrap_or_else(|| panic!("{open} agents wait for ever"));
        true
    }

    fn late(&self, number: usize) -> bool {
        self.actors[number].deadline_ms.is_some_and(|at| at <= self.now_ms)
    }

    /// Whether an agent's driver can do something.
    fn ready(&self, number: usize) -> bool {
        let actor = &self.actors[number];
        let disturbed = actor.cancelled || self.late(number);
        let state = self.tree.node(id(number)).map(|node| &node.state);
        match &actor.doing {
            Doing::Over => false,
            Doing::Queued => actor.cancelled,
            Doing::Begins | Doing::Works(_) => true,
            Doing::Calls => disturbed || actor.interrupted || state != Some(&State::Returning),
            Doing::Waits { waits, until_ms, .. } => {
                disturbed
                    || actor.interrupted
                    || *until_ms <= self.now_ms
                    || waits.iter().all(|wait| self.met(wait))
            }
            Doing::Rests => disturbed || !actor.mail.is_empty() || self.tree.undelivered(id(number)) > 0,
            Doing::Ends { stopped, .. } => !stopped || self.tree.live_children(id(number)).is_empty(),
        }
    }

    pub(super) fn met(&self, wait: &Wait) -> bool {
        let over = |id: &AgentId| self.tree.node(*id).is_none_or(|node| node.state.is_settled());
        if wait.all { wait.on.iter().all(over) } else { wait.on.iter().any(over) }
    }

    fn advance(&mut self, number: usize) {
        let doing = std::mem::replace(&mut self.actors[number].doing, Doing::Over);
        let input = match doing {
            Doing::Over => None,
            Doing::Queued => {
                self.note("never began");
                self.settle(number, &Ending::Cancelled);
                None
            }
            Doing::Begins => {
                self.actors[number].began_ms = self.now_ms;
                let time_ms = self.tree.node(id(number)).and_then(|node| node.budget.time_ms);
                self.actors[number].deadline_ms = time_ms.map(|ms| self.now_ms + ms);
                Some(Input::Told { from: Sender::Parent, text: "do this and that".into() })
            }
            Doing::Calls => Some(self.called(number)),
            Doing::Works(calls) => self.work(number, &calls),
            Doing::Waits { done, waits, .. } => Some(self.waited(number, done, &waits)),
            Doing::Rests => {
                self.unpark(number);
                self.note("woken");
                Some(self.disturbed(number, "", Vec::new()).unwrap_or(Input::GoOn))
            }
            Doing::Ends { ending, stopped } => {
                self.end(number, ending, stopped);
                None
            }
        };
        if let Some(input) = input {
            self.feed(number, input);
        }
    }

    /// What cuts short whatever an agent does, if something does.
    pub(super) fn disturbed(&mut self, number: usize, partial: &str, done: Vec<Done>) -> Option<Input> {
        let (late, partial) = (self.late(number), partial.to_string());
        let actor = &mut self.actors[number];
        if actor.cancelled {
            return Some(Input::Cancel { partial, done });
        }
        if late {
            actor.deadline_ms = Some(self.now_ms + LAST_WORD_MS);
            return Some(Input::TimeUp { partial, done });
        }
        let interrupted = std::mem::take(&mut actor.interrupted);
        if interrupted {
            self.note("interrupted");
        }
        interrupted.then_some(Input::Interrupted { partial, done })
    }

    fn called(&mut self, number: usize) -> Input {
        if let Some(input) = self.disturbed(number, "I was about to", Vec::new()) {
            return input;
        }
        if self.rng.u16(0..500) == 0 {
            return Input::Broken { message: "the disk is full".into() };
        }
        self.temper.answer(&mut self.rng, &mut self.calls)
    }

    /// Gives an agent's machine what happened, and does as it says.
    fn feed(&mut self, number: usize, input: Input) {
        self.take_news(number);
        let (now_ms, id) = (self.now_ms, id(number));
        let actor = &mut self.actors[number];
        let before = actor.agent.tokens_counted();
        let output = actor.agent.handle(input, now_ms - actor.began_ms);
        actor.reply_max = actor.reply_max.max(actor.agent.tokens_counted() - before);
        self.tree.spent(id, &actor.agent.spent(), actor.agent.tokens_counted());
        if output.record.iter().any(|event| matches!(event, EventKind::Compacted { .. })) {
            *self.tally.entry("compacted").or_default() += 1;
        }
        let doing = match output.step {
            Step::CallModel { purpose, .. } => {
                if purpose == Purpose::LastWord {
                    actor.deadline_ms = actor.deadline_ms.map(|at| at.max(now_ms + LAST_WORD_MS));
                } else {
                    actor.since_work = self.tree.live_children(id);
                }
                Doing::Calls
            }
            Step::CallTools { calls } => Doing::Works(calls),
            Step::Settle(ending) => Doing::Ends { ending, stopped: false },
            Step::Rest(_) => panic!("no agent here stays"),
            Step::Wait => {
                self.park(number);
                self.note("idle");
                Doing::Rests
            }
        };
        self.actors[number].doing = doing;
    }

    /// Tells an agent what has come in, and how its children are.
    fn take_news(&mut self, number: usize) {
        let id = id(number);
        self.actors[number].interrupted = false;
        let reports = self.take_reports(number, None);
        let family = self.tree.family(id);
        let actor = &mut self.actors[number];
        actor.agent.set_kin(Kin {
            live: family.live,
            tokens: family.tokens + family.reserved_tokens,
            cost_usd: family.cost_usd + family.reserved_cost_usd,
        });
        for (from, text) in actor.mail.drain(..) {
            actor.agent.hear(MailId::default(), from, text);
        }
        if reports > 0 {
            actor.agent.hear(MailId::default(), Sender::Reports, format!("{reports} reports"));
        }
    }

    pub(super) fn take_reports(&mut self, number: usize, of: Option<&[AgentId]>) -> usize {
        let taken = self.tree.take_reports(id(number), of);
        for child in &taken {
            let child = self.number(*child);
            self.actors[child].delivered += 1;
            self.note("delivered");
        }
        taken.len()
    }

    pub(super) fn park(&mut self, number: usize) {
        let freed = self.tree.park(id(number));
        self.note("parked");
        self.freed(&freed);
    }

    pub(super) fn unpark(&mut self, number: usize) {
        if self.tree.unpark(id(number)) == Unparked::Waiting {
            self.note("returned");
        }
    }

    /// Those whose turn has come begin; those that may go on find out by themselves.
    fn freed(&mut self, freed: &Freed) {
        for id in &freed.start {
            let number = self.number(*id);
            assert!(matches!(self.actors[number].doing, Doing::Queued), "{number} begins a second time");
            self.actors[number].doing = Doing::Begins;
            self.note("freed");
        }
    }
}

/// Endings.
impl World {
    /// First those below, then the agent itself.
    fn end(&mut self, number: usize, ending: Ending, stopped: bool) {
        let below = self.tree.live_children(id(number));
        if below.is_empty() {
            return self.settle(number, &ending);
        }
        assert!(!stopped, "{number} was to wait for {below:?}");
        for child in below {
            self.cancel(self.number(child));
        }
        self.actors[number].doing = Doing::Ends { ending, stopped: true };
    }

    fn settle(&mut self, number: usize, ending: &Ending) {
        let agent = &self.actors[number].agent;
        let receipt = Receipt {
            turns: agent.spent().turns,
            tool_calls: agent.tool_calls(),
            usage: agent.spent().usage,
            cost_usd: agent.spent().cost_usd,
            below: self.tree.family(id(number)).below,
            ..Receipt::default()
        };
        let settled = self.tree.settle(id(number), ending, &receipt).expect("nobody settles twice");
        assert_eq!(settled.orphans, [], "{number} leaves somebody behind");
        assert_eq!(self.tree.settle(id(number), &Ending::Completed, &receipt), None);
        self.actors[number].doing = Doing::Over;
        self.actors[number].settled += 1;
        self.note(ending.word());
        super::invariants::at_settling(self, number);
        self.freed(&settled.freed);
    }
}

impl Actor {
    /// When time alone makes it go on.
    fn wakes_ms(&self) -> Option<u64> {
        let until_ms = match &self.doing {
            Doing::Over | Doing::Queued | Doing::Ends { .. } => return None,
            Doing::Waits { until_ms, .. } => Some(*until_ms),
            _ => None,
        };
        until_ms.into_iter().chain(self.deadline_ms).min()
    }
}
