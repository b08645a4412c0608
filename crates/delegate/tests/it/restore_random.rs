//! A tree that is restored is the tree that was: random moves, then everything that can be asked of both is the same,
//! and stays the same while both go on. A failure prints the seed that replays it.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use posse_delegate::{Admission, Endpoint, Family, Limits, Node, Request, Restored, State, StopCause, Tree};
use posse_protocol::{
    AgentId, Budget, Ending, Failure, Files, Grant, NameRules, Receipt, Shell, Spent, Usage,
};

use serde_json::Value;

use crate::journal::Journal;
use crate::scene::{MAIN, id, request};

const SEEDS: u64 = 600;
const MOVES: usize = 40;
/// Before and after the first restoring; then it is restored again.
const PARTS: usize = 2;

type Tally = BTreeMap<&'static str, usize>;

/// A tree that was never interrupted, the same one restored, and what is on record of both.
struct Twins {
    rng: Rng,
    limits: Limits,
    live: Tree,
    twin: Option<Tree>,
    journal: Journal,
    ids: BTreeSet<u64>,
    tally: Tally,
}

impl Twins {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        // What depends on who has a slot is compared once, by itself; so none is refused for the want of one.
        let limits = Limits { depth_max: rng.u32(1..5), running_max: rng.usize(1..6), ..Limits::default() };
        let most = Budget {
            tokens: rng.bool().then(|| rng.u64(20_000..2_000_000)),
            cost_usd: rng.bool().then(|| rng.f64() * 50.0),
            ..Budget::UNLIMITED
        };
        let live = Tree::new(limits, id(MAIN), Grant::full(), most);
        let (ids, tally) = (BTreeSet::from([MAIN]), Tally::new());
        Self { rng, limits, live, twin: None, journal: Journal::default(), ids, tally }
    }

    fn note(&mut self, what: &'static str, times: usize) {
        *self.tally.entry(what).or_default() += times;
    }

    fn open(&self) -> Vec<AgentId> {
        self.live.nodes().filter(|node| !node.state.is_settled()).map(|node| node.id).collect()
    }

    fn one(&mut self, of: &[AgentId]) -> Option<AgentId> {
        (!of.is_empty()).then(|| of[self.rng.usize(0..of.len())])
    }

    fn step(&mut self) {
        self.note("moves", 1);
        let open = self.open();
        let Some(agent) = self.one(&open) else { return self.reopen() };
        match self.rng.u8(0..40) {
            0..=15 => self.admit(agent),
            16..=20 => self.spend(agent),
            21..=22 => self.rest(agent),
            23 if agent != id(MAIN) => self.cancel(agent),
            24..=32 if agent != id(MAIN) => self.settle(agent),
            33 if self.rng.u8(0..4) == 0 => self.settle(id(MAIN)),
            34 => self.reopen(),
            _ => self.take_reports(),
        }
    }

    fn admit(&mut self, parent: AgentId) {
        // Ids in no order, so that nothing is right only because ids sort by age.
        let number = self.rng.u64(1..1 << 40);
        if !self.ids.insert(number) {
            return;
        }
        let caps = [("cloud", None), ("gpu", Some(1)), ("pair", Some(2))];
        let (endpoint, agents_max) = caps[self.rng.usize(0..3)];
        let ended: Vec<AgentId> =
            self.live.nodes().filter(|node| node.state.is_settled()).map(|node| node.id).collect();
        let continues = if self.rng.u8(0..4) == 0 { self.one(&ended) } else { None };
        let asked = Request {
            parent,
            name: match self.rng.u8(0..8) {
                0 => Some(format!("general-{}", self.rng.u8(1..9))),
                1 => Some("Anna".to_owned()),
                _ => None,
            },
            role: ["general", "explore"][self.rng.usize(0..2)].to_owned(),
            role_grant: grant(&mut self.rng),
            budget: budget(&mut self.rng),
            endpoint: Endpoint { name: endpoint.to_owned(), agents_max },
            continues,
            ..request(number, MAIN)
        };
        let got = self.journal.admit(&mut self.live, asked.clone());
        if let Some(twin) = &mut self.twin {
            let slotless =
                |got: Result<Admission, _>| got.map(|one| (one.name, one.depth, one.grant, one.budget));
            assert_eq!(slotless(twin.admit(asked)), slotless(got.clone()));
        }
        self.note("admitted", usize::from(got.is_ok()));
        self.note("followed up", usize::from(got.is_ok() && continues.is_some()));
    }

    fn spend(&mut self, agent: AgentId) {
        let node = self.live.node(agent).unwrap();
        let (tokens, usd) = (node.tokens + self.rng.u64(0..900), node.spent.cost_usd.unwrap_or(0.0));
        let spent = Spent {
            turns: node.spent.turns + 1,
            time_ms: node.spent.time_ms + self.rng.u64(0..9_000),
            cost_usd: self.rng.bool().then(|| usd + self.rng.f64() / 9.0),
            usage: Usage { output_tokens: Some(tokens / 2), ..Usage::default() },
        };
        self.both(|tree| tree.spent(agent, &spent, tokens));
    }

    /// It waits in some way, or comes back; none of that is on record.
    fn rest(&mut self, agent: AgentId) {
        match self.rng.u8(0..3) {
            0 => self.both(|tree| drop(tree.park(agent))),
            1 => self.both(|tree| drop(tree.person_needed(agent))),
            _ => self.both(|tree| {
                tree.unpark(agent);
            }),
        }
        self.note("rested", 1);
    }

    fn cancel(&mut self, agent: AgentId) {
        let stopped = self.live.cancel(agent);
        if let Some(twin) = &mut self.twin {
            assert_eq!(twin.cancel(agent), stopped);
        }
        self.note("stopped", stopped.len());
    }

    fn settle(&mut self, agent: AgentId) {
        let failed = Ending::Failed { failure: Failure::EmptyReply };
        let ending = [Ending::Completed, Ending::Cancelled, failed][self.rng.usize(0..3)].clone();
        let receipt = Receipt {
            turns: self.rng.u32(0..9),
            tool_calls: self.rng.u32(0..9),
            usage: Usage { input_tokens: Some(self.rng.u64(0..5_000)), ..Usage::default() },
            cost_usd: self.rng.bool().then(|| self.rng.f64()),
            ..Receipt::default()
        };
        let Some(live) = self.journal.settle(&mut self.live, agent, &ending, &receipt) else { return };
        if let Some(twin) = &mut self.twin {
            let settled = twin.settle(agent, &ending, &receipt).unwrap();
            assert_eq!((settled.parent, &settled.orphans), (live.parent, &live.orphans));
        }
        self.note("settled", 1);
        self.note("orphans", live.orphans.len());
    }

    fn reopen(&mut self) {
        let budget = Budget { tokens: Some(3_000_000), ..Budget::UNLIMITED };
        let reopened = self.live.reopen_main(budget);
        if let Some(twin) = &mut self.twin {
            assert_eq!(twin.reopen_main(budget), reopened);
        }
        if reopened {
            self.journal.reopened(&self.live);
            self.note("reopened", 1);
        }
    }

    fn take_reports(&mut self) {
        let everyone: Vec<AgentId> = self.live.nodes().map(|node| node.id).collect();
        let of = self.rng.bool().then(|| everyone.clone().split_off(everyone.len() / 2));
        let Some(parent) = self.one(&everyone) else { return };
        let taken = self.live.take_reports(parent, of.as_deref());
        if let Some(twin) = &mut self.twin {
            assert_eq!(twin.take_reports(parent, of.as_deref()), taken);
        }
        self.note("reports", taken.len());
    }

    fn both(&mut self, mut change: impl FnMut(&mut Tree)) {
        change(&mut self.live);
        self.twin.iter_mut().for_each(change);
    }

    /// Kills the process, as it were, and begins another.
    fn restore(&mut self) {
        let Restored { tree, freed, stopping, refused } = self.journal.restored(self.limits, &self.live);
        assert_eq!(refused, vec![]);
        assert!(freed.go_on.is_empty());
        self.compare(&tree);

        let order = self.journal.order();
        let open = order.iter().filter_map(|id| tree.node(*id)).filter(|node| !node.state.is_settled());
        let (halted, going): (Vec<&Node>, Vec<&Node>) = open.partition(|node| node.stopping);
        assert_eq!(freed.start, first_in_line(&going, self.limits.running_max));
        for node in &going {
            let state = if freed.start.contains(&node.id) { State::Running } else { State::Queued };
            assert_eq!(node.state, state, "{}", node.name);
        }
        assert_eq!((tree.running(), tree.queued()), (freed.start.len(), going.len() - freed.start.len()));
        let mut named: Vec<AgentId> = stopping.iter().map(|(id, _)| *id).collect();
        assert!(named.iter().map(|id| tree.node(*id).unwrap().depth).is_sorted_by(|a, b| a >= b));
        named.sort();
        let mut halted: Vec<AgentId> = halted.into_iter().map(|node| node.id).collect();
        halted.sort();
        assert_eq!(named, halted);
        let causes = [StopCause::Cancelled, StopCause::ParentGone];
        assert!(stopping.iter().all(|(_, cause)| causes.contains(cause)), "{stopping:?}");
        self.note("started", freed.start.len());
        self.note("queued", tree.queued());
        self.note("halted", named.len());
        self.twin = Some(tree);
    }

    /// Everything but slots is the same.
    fn compare(&self, twin: &Tree) {
        for (node, was) in twin.nodes().zip(self.live.nodes()) {
            assert_eq!(facts(twin, node), facts(&self.live, was));
        }
        assert_eq!(twin.nodes().count(), self.live.nodes().count());
    }

    fn finish(&mut self) {
        let mut order: Vec<(u32, AgentId)> = self.live.nodes().map(|node| (node.depth, node.id)).collect();
        order.sort();
        for (_, agent) in order.into_iter().rev() {
            self.settle(agent);
        }
        let twin = self.twin.take().unwrap();
        self.compare(&twin);
        assert_eq!((twin.running(), twin.queued()), (0, 0));
    }
}

/// What there is to know of an agent, slots apart.
fn facts(tree: &Tree, node: &Node) -> (Value, Family) {
    let mut facts = serde_json::to_value(node).unwrap();
    // How far it has looked is not on record, and who waits for what begins anew.
    facts["changes"].take();
    facts["asking"].take();
    // Of one that has ended it does not matter whether it had been cancelled.
    facts[if node.state.is_settled() { "stopping" } else { "state" }].take();
    (facts, tree.family(node.id))
}

/// Who gets a slot when all stand in line.
fn first_in_line(line: &[&Node], running_max: usize) -> Vec<AgentId> {
    let mut busy: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lucky = Vec::new();
    for node in line {
        let endpoint = node.endpoint.as_ref().unwrap();
        let here = busy.entry(&endpoint.name).or_default();
        if lucky.len() < running_max && endpoint.agents_max.is_none_or(|max| *here < max) {
            *here += 1;
            lucky.push(node.id);
        }
    }
    lucky
}

fn grant(rng: &mut Rng) -> Grant {
    Grant {
        files: [Files::Read, Files::Write][rng.usize(0..2)],
        shell: [Shell::None, Shell::Full][rng.usize(0..2)],
        tools: if rng.bool() { NameRules::only(["read", "ed*"]) } else { NameRules::default() },
        ..Grant::full()
    }
}

fn budget(rng: &mut Rng) -> Budget {
    Budget {
        turns: None,
        tokens: rng.bool().then(|| rng.u64(1_000..200_000)),
        time_ms: rng.bool().then(|| rng.u64(1..600_000)),
        cost_usd: rng.bool().then(|| rng.f64() * 5.0 + 0.01),
    }
}

fn play(seed: u64) -> Tally {
    let mut twins = Twins::new(seed);
    for _ in 0..PARTS {
        for _ in 0..MOVES {
            twins.step();
        }
        twins.restore();
    }
    twins.finish();
    twins.tally
}

/// Promise D2 for the tree alone.
#[test]
fn a_restored_tree_is_the_tree_that_was() {
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
    assert_eq!(sum.remove("moves"), Some(600 * 2 * 40));
    assert_eq!(sum.len(), 11, "{sum:?}");
    assert!(sum.values().all(|&times| times > 100), "the moves are too timid: {sum:?}");
}
