//! Random moves: what must hold holds after every one of them, and the tree survives serialisation at any point. A
//! failure prints the seed that replays it.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use posse_delegate::{
    Endpoint, Freed, Limits, Node, OverCap, Refusal, Request, Settled, State, StatusLook, Tree, Unparked,
};
use posse_policy::meet;
use posse_protocol::{
    AgentId, Approval, Budget, Ending, Files, Grant, NameRules, Network, PathRules, Receipt, Shell, Spent,
};

use crate::scene::{MAIN, id, request};

const SEEDS: u64 = 2_000;
const MOVES: usize = 60;

type Tally = BTreeMap<&'static str, usize>;

/// A tree, and what was seen of it.
struct Game {
    rng: Rng,
    limits: Limits,
    tree: Tree,
    next: u64,
    /// How often what happened.
    tally: Tally,
    /// What settled agents were like when they settled.
    settled: BTreeMap<AgentId, Node>,
    delivered: BTreeSet<AgentId>,
    /// Stopped while they held no slot: they never get one.
    still: BTreeSet<AgentId>,
}

fn grant(rng: &mut Rng) -> Grant {
    let names = |rng: &mut Rng| match rng.u8(0..4) {
        0 => NameRules::only(["general", "ed*"]),
        _ => NameRules::default(),
    };
    Grant {
        files: [Files::Read, Files::Write][rng.usize(0..2)],
        shell: [Shell::None, Shell::Inspect, Shell::Full][rng.usize(0..3)],
        network: [Network::None, Network::Full][rng.usize(0..2)].clone(),
        tools: names(rng),
        delegates: names(rng),
        writes: PathRules::default(),
        approval: [Approval::Ask, Approval::Full][rng.usize(0..2)],
    }
}

fn budget(rng: &mut Rng) -> Budget {
    Budget {
        turns: rng.bool().then(|| rng.u32(5..60)),
        tokens: rng.bool().then(|| rng.u64(1_000..200_000)),
        time_ms: rng.bool().then(|| rng.u64(1..600_000)),
        cost_usd: rng.bool().then(|| rng.f64() * 5.0 + 0.01),
    }
}

impl Game {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let limits = Limits {
            depth_max: rng.u32(1..5),
            running_max: rng.usize(1..6),
            over_cap: if rng.u8(0..4) == 0 { OverCap::Error } else { OverCap::Queue },
            queued_max: rng.usize(1..20),
            agents_max: rng.usize(10..60),
        };
        let most = Budget {
            turns: Some(1_000),
            tokens: rng.bool().then(|| rng.u64(20_000..2_000_000)),
            time_ms: None,
            cost_usd: rng.bool().then(|| rng.f64() * 50.0),
        };
        let tree = Tree::new(limits, id(MAIN), Grant::full(), most);
        Self {
            rng,
            limits,
            tree,
            next: 1,
            tally: Tally::new(),
            settled: BTreeMap::new(),
            delivered: BTreeSet::new(),
            still: BTreeSet::new(),
        }
    }

    /// Somebody: mostly one that has not ended, sometimes one that has or never was.
    fn anyone(&mut self) -> AgentId {
        if self.rng.u8(0..8) == 0 {
            return id(self.rng.u64(0..=self.next));
        }
        let open: Vec<AgentId> =
            self.tree.nodes().filter(|node| !node.state.is_settled()).map(|node| node.id).collect();
        open[self.rng.usize(0..open.len())]
    }

    /// One in such a state, or anyone if there is none or the dice say so.
    fn one(&mut self, wanted: fn(&State) -> bool) -> AgentId {
        let fitting: Vec<AgentId> =
            self.tree.nodes().filter(|node| wanted(&node.state)).map(|node| node.id).collect();
        match fitting.len() {
            0 => self.anyone(),
            _ if self.rng.u8(0..8) == 0 => self.anyone(),
            count => fitting[self.rng.usize(0..count)],
        }
    }

    /// One that has ended, if there is any.
    fn ended_one(&mut self) -> Option<AgentId> {
        let place = self.rng.usize(0..self.settled.len().max(1));
        self.settled.keys().nth(place).copied()
    }

    fn note(&mut self, what: &'static str, times: usize) {
        *self.tally.entry(what).or_default() += times;
    }

    fn state(&self, id: AgentId) -> Option<State> {
        self.tree.node(id).map(|node| node.state.clone())
    }

    fn step(&mut self) {
        let agent = self.anyone();
        match self.rng.u8(0..40) {
            0..=13 => self.admit(agent),
            14..=16 => self.spend(agent),
            17..=20 => {
                let agent = self.one(State::holds_slot);
                let freed = self.tree.park(agent);
                self.went_on(&freed);
            }
            21..=24 => self.unpark(),
            25..=26 => self.ask(),
            27..=28 => self.answer(),
            29 => self.cancel(agent),
            30..=34 => self.settle(),
            35..=37 => self.take_reports(agent),
            _ => self.look(agent),
        }
        self.note("moves", 1);
    }

    fn admit(&mut self, parent: AgentId) {
        let number = self.next;
        self.next += 1;
        let caps = [("cloud", None), ("gpu", Some(1)), ("pair", Some(2))];
        let (endpoint, agents_max) = caps[self.rng.usize(0..3)];
        let continues = match self.rng.u8(0..16) {
            0..=2 => self.ended_one(),
            3 => Some(self.anyone()),
            _ => None,
        };
        let asked = Request {
            parent,
            role_grant: grant(&mut self.rng),
            untrusted_file: self.rng.bool(),
            background: self.rng.bool(),
            allowed_tools: (self.rng.u8(0..4) == 0).then(|| vec!["edit".to_owned()]),
            budget: budget(&mut self.rng),
            endpoint: Endpoint { name: endpoint.to_owned(), agents_max },
            continues,
            ..request(number, MAIN)
        };
        let before = (self.rng.u8(0..5) == 0).then(|| self.tree.clone());
        let above = self.tree.node(parent).cloned();
        let old = continues.and_then(|old| self.tree.node(old).cloned());
        match self.tree.admit(asked) {
            Ok(admission) => {
                let node = self.tree.node(id(number)).unwrap();
                assert_eq!((&node.name, &node.grant), (&admission.name, &admission.grant));
                let state = if admission.queued.is_some() { State::Queued } else { State::Running };
                assert_eq!(node.state, state);
                let above = above.unwrap();
                assert!(!above.stopping && !above.state.is_settled() && node.depth <= self.limits.depth_max);
                assert_eq!(meet(&above.grant, &node.grant), node.grant, "wider than its parent");
                if let Some(old) = old {
                    assert!(old.state.is_settled());
                    assert_eq!(meet(&old.grant, &node.grant), node.grant, "wider than the one before");
                }
                self.note("admitted", 1);
                self.note("queued", usize::from(admission.queued.is_some()));
                self.note("followed up", usize::from(continues.is_some()));
            }
            Err(refusal) => {
                assert!(before.is_none_or(|before| before == self.tree), "a refusal changed the tree");
                assert!(!matches!(refusal, Refusal::IdTaken { .. } | Refusal::BadName), "{refusal}");
            }
        }
    }

    /// Spends no more than there is, so that budgets can be checked to the token.
    fn spend(&mut self, agent: AgentId) {
        let Some(node) = self.tree.node(agent) else { return };
        let family = self.tree.family(agent);
        let gone = node.tokens + family.tokens + family.reserved_tokens;
        let left = node.budget.tokens.map_or(50_000, |all| all - gone);
        let most = if self.rng.u8(0..4) == 0 { left } else { left / 8 };
        let tokens = node.tokens + self.rng.u64(0..=most);
        let gone_usd = node.spent.cost_usd.unwrap_or(0.0) + family.cost_usd + family.reserved_cost_usd;
        let left_usd = node.budget.cost_usd.map_or(1.0, |all| (all - gone_usd).max(0.0));
        let cost_usd = Some(node.spent.cost_usd.unwrap_or(0.0) + left_usd / 8.0 * self.rng.f64());
        let turns = node.spent.turns + self.rng.u32(0..2);
        let time_ms = node.spent.time_ms + self.rng.u64(0..9_000);
        self.tree.spent(agent, &Spent { turns, time_ms, cost_usd, ..Spent::default() }, tokens);
    }

    fn unpark(&mut self) {
        let agent = self.one(|state| *state == State::Parked);
        let before = self.state(agent);
        let granted = self.tree.unpark(agent) == Unparked::Granted;
        let holds = self.state(agent).is_some_and(|state| state.holds_slot());
        assert_eq!(granted, holds, "{before:?}");
        self.note("returning", usize::from(self.state(agent) == Some(State::Returning)));
    }

    fn ask(&mut self) {
        let agent = self.one(|state| matches!(state, State::Running | State::Parked | State::Returning));
        let begun =
            self.state(agent).is_some_and(|state| !matches!(state, State::Queued | State::Settled(_)));
        let freed = self.tree.person_needed(agent);
        let node = self.tree.node(agent);
        assert_eq!(begun, node.is_some_and(|node| node.asking > 0 && !node.state.holds_slot()));
        self.note("asked", usize::from(begun));
        self.went_on(&freed);
    }

    fn answer(&mut self) {
        let agent = self.one(|state| *state == State::NeedsPerson);
        let asking = self.tree.node(agent).map_or(0, |node| node.asking);
        let granted = self.tree.person_answered(agent) == Unparked::Granted;
        assert_eq!(granted, self.state(agent).is_some_and(|state| state.holds_slot()));
        assert_eq!(self.tree.node(agent).map_or(0, |node| node.asking), asking.saturating_sub(1));
        self.note("answered", usize::from(asking > 0));
    }

    fn cancel(&mut self, agent: AgentId) {
        // After main, nothing is left to play with: `finish` cancels it.
        if agent == id(MAIN) {
            return;
        }
        let before: BTreeSet<AgentId> = self.tree.nodes().filter(|n| n.stopping).map(|n| n.id).collect();
        let stopped = self.tree.cancel(agent);
        for &one in &stopped {
            assert!(one == agent || self.tree.is_below(one, agent), "a relative was stopped");
            assert!(!before.contains(&one));
        }
        let depths = stopped.iter().map(|&one| self.tree.node(one).unwrap().depth);
        assert!(depths.is_sorted_by(|a, b| a >= b), "deepest first");
        assert_eq!(self.tree.cancel(agent), vec![]);
        self.note("stopped", stopped.len());
    }

    fn settle(&mut self) {
        let agent = self.one(State::holds_slot);
        // Main ends last; a parent seldom ends before its children, but it happens.
        if agent == id(MAIN) || (!self.tree.live_children(agent).is_empty() && self.rng.u8(0..4) > 0) {
            return;
        }
        let endings = [Ending::Completed, Ending::Cancelled, Ending::TimedOut, Ending::OutOfTokens];
        let ending = endings[self.rng.usize(0..4)].clone();
        let open = self.state(agent).is_some_and(|state| !state.is_settled());
        let settled = self.tree.settle(agent, &ending, &Receipt::default());
        assert_eq!(settled.is_some(), open, "settles exactly once");
        if let Some(settled) = settled {
            self.ended(agent, &ending, &settled);
        }
    }

    fn ended(&mut self, agent: AgentId, ending: &Ending, settled: &Settled) {
        let node = self.tree.node(agent).unwrap();
        assert_eq!(node.state, State::Settled(ending.clone()));
        let below =
            self.tree.nodes().filter(|n| !n.state.is_settled() && self.tree.is_below(n.id, agent)).count();
        assert_eq!(settled.orphans.len(), below);
        let listens = node.parent.filter(|parent| !self.settled.contains_key(parent));
        assert_eq!(settled.parent, listens);
        self.settled.insert(agent, node.clone());
        self.note("orphans", settled.orphans.len());
        self.went_on(&settled.freed);
    }

    fn went_on(&mut self, freed: &Freed) {
        for one in freed.start.iter().chain(&freed.go_on) {
            let node = self.tree.node(*one).unwrap();
            assert!(node.state.holds_slot() && !node.stopping, "{node:?}");
        }
        self.note("started", freed.start.len());
        self.note("went on", freed.go_on.len());
    }

    fn take_reports(&mut self, agent: AgentId) {
        let waiting = self.tree.undelivered(agent);
        let of = self.rng.bool().then(|| vec![self.anyone(), self.anyone()]);
        let taken = self.tree.take_reports(agent, of.as_deref());
        assert_eq!(self.tree.undelivered(agent), waiting - taken.len());
        self.note("reports", taken.len());
        for one in taken {
            assert_eq!(self.tree.node(one).unwrap().parent, Some(agent));
            assert!(self.settled.contains_key(&one) && self.delivered.insert(one), "given twice");
        }
    }

    fn look(&mut self, agent: AgentId) {
        let of = self.rng.bool().then(|| self.anyone());
        let remembered = of.map_or(self.tree.node(agent).is_some(), |of| self.tree.is_below(of, agent));
        self.tree.look(agent, of);
        assert_eq!(self.tree.look(agent, of) == StatusLook::Unchanged, remembered);
    }

    fn check(&mut self) {
        self.check_slots();
        self.check_lives();
        self.check_budgets();
        if self.rng.u8(0..50) == 0 {
            let copy: Tree = serde_json::from_str(&serde_json::to_string(&self.tree).unwrap()).unwrap();
            assert!(copy == self.tree, "a restored tree is another");
            self.tree = copy;
            self.note("restored", 1);
        }
    }

    fn check_slots(&self) {
        let mut running = 0;
        let mut at_endpoint: BTreeMap<&str, usize> = BTreeMap::new();
        let subs = || self.tree.nodes().filter_map(|node| Some((node, node.endpoint.as_ref()?)));
        for (_, endpoint) in subs().filter(|(node, _)| node.state.holds_slot()) {
            running += 1;
            *at_endpoint.entry(&endpoint.name).or_default() += 1;
        }
        assert!(running == self.tree.running() && running <= self.limits.running_max);
        let mut queued = 0;
        for (node, endpoint) in subs() {
            let busy = at_endpoint.get(endpoint.name.as_str()).copied().unwrap_or(0);
            assert!(endpoint.agents_max.is_none_or(|max| busy <= max), "{endpoint:?} has {busy}");
            let waits = matches!(node.state, State::Queued | State::Returning) && !node.stopping;
            let free = running < self.limits.running_max && endpoint.agents_max.is_none_or(|max| busy < max);
            assert!(!(waits && free), "{} waits beside a free slot", node.name);
            queued += usize::from(waits && node.state == State::Queued);
        }
        assert_eq!(queued, self.tree.queued());
    }

    fn check_lives(&mut self) {
        for node in self.tree.nodes() {
            assert_eq!(self.tree.find_peer(&node.name), Some(node.id), "{} is not unique", node.name);
            let parent = node.parent.map(|parent| self.tree.node(parent).unwrap());
            if let Some(old) = self.settled.get(&node.id) {
                let facts = |n: &Node| (n.state.clone(), n.tokens, n.spent, n.budget, n.grant.clone());
                assert!(facts(old) == facts(node), "{} changed after its end", node.name);
            } else if parent.is_some_and(|parent| parent.state.is_settled() || parent.stopping) {
                assert!(node.stopping, "{} goes on below an end", node.name);
            }
            let waits = matches!(node.state, State::Parked | State::NeedsPerson);
            assert!(waits || node.asking == 0, "{} goes on without an answer", node.name);
            assert!(node.state != State::NeedsPerson || node.asking > 0, "{} waits for nobody", node.name);
            assert_eq!(node.delivered, self.delivered.contains(&node.id));
            if node.stopping && !node.state.holds_slot() {
                self.still.insert(node.id);
            }
            assert!(!(node.state.holds_slot() && self.still.contains(&node.id)), "resurrected");
        }
    }

    /// Whoever pays for an agent: the nearest above it that has not settled.
    fn payer(&self, node: &Node) -> Option<AgentId> {
        let mut above = node.parent;
        while let Some(parent) = above.and_then(|id| self.tree.node(id)) {
            if !parent.state.is_settled() {
                return Some(parent.id);
            }
            above = parent.parent;
        }
        None
    }

    fn check_budgets(&self) {
        let mut sums: BTreeMap<AgentId, (u64, u64, f64)> = BTreeMap::new();
        for node in self.tree.nodes() {
            let Some(payer) = self.payer(node) else { continue };
            let sum = sums.entry(payer).or_default();
            if node.state.is_settled() {
                sum.0 += node.tokens;
                sum.2 += node.spent.cost_usd.unwrap_or(0.0);
            } else {
                sum.1 += node.budget.tokens.unwrap_or(0);
                sum.2 += node.budget.cost_usd.unwrap_or(0.0);
            }
        }
        for node in self.tree.nodes().filter(|node| !node.state.is_settled()) {
            let (spent, reserved, usd) = sums.get(&node.id).copied().unwrap_or_default();
            let family = self.tree.family(node.id);
            assert_eq!((family.tokens, family.reserved_tokens), (spent, reserved), "{}", node.name);
            let all = node.tokens + spent + reserved;
            assert!(node.budget.tokens.is_none_or(|budget| all <= budget), "{} has {all}", node.name);
            assert!((family.cost_usd + family.reserved_cost_usd - usd).abs() < 1e-3);
            let usd = usd + node.spent.cost_usd.unwrap_or(0.0);
            assert!(
                node.budget.cost_usd.is_none_or(|budget| usd <= budget + 1e-3),
                "{} has {usd}",
                node.name
            );
        }
    }

    /// Everything comes to an end, and nothing is left over.
    fn finish(&mut self) {
        self.tree.cancel(id(MAIN));
        let mut order: Vec<(u32, AgentId)> = self.tree.nodes().map(|node| (node.depth, node.id)).collect();
        order.sort();
        for (_, agent) in order.into_iter().rev() {
            if let Some(settled) = self.tree.settle(agent, &Ending::Cancelled, &Receipt::default()) {
                assert_eq!((&settled.freed, settled.orphans.len()), (&Freed::default(), 0));
                self.ended(agent, &Ending::Cancelled, &settled);
                self.check();
            }
        }
        assert_eq!((self.tree.running(), self.tree.queued()), (0, 0));
        let family = self.tree.family(id(MAIN));
        assert_eq!((family.live, family.reserved_tokens, family.reserved_cost_usd), (0, 0, 0.0));
        assert_eq!(family.below.agents as usize, self.tree.nodes().count() - 1);
    }
}

fn play(seed: u64) -> Tally {
    let mut game = Game::new(seed);
    for _ in 0..MOVES {
        game.step();
        game.check();
    }
    game.finish();
    game.tally
}

/// Promise T1 for the tree alone.
#[test]
fn the_tree_is_right_after_every_move() {
    let mut sum = Tally::new();
    for seed in 0..SEEDS {
        let tally = std::panic::catch_unwind(|| play(seed)).unwrap_or_else(|cause| {
            println!("seed {seed}");
            std::panic::resume_unwind(cause)
        });
        for (what, times) in tally {
            *sum.entry(what).or_default() += times;
        }
    }
    println!("{sum:?}");
    assert_eq!(sum.remove("moves"), Some(2_000 * 60));
    assert_eq!(sum.len(), 12, "{sum:?}");
    assert!(sum.values().all(|&times| times > 500), "the moves are too timid: {sum:?}");
}
