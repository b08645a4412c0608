//! One world: a queue of moments in real time, which nobody in it can see.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

use fastrand::Rng;
use posse_cluster::{HomeAction, HomeInput, LeaseTimes, WorkerInput, WorkerPhase, WorkerSend};

use super::checks::{Deeds, Settlement, Work};
use super::home::{Action, AgentAtHome, Input, Write};
use super::network::{Clock, Direction, Network};
use super::worker::{Deed, RunName, SimulatedWorker};

/// A rule that is broken on purpose, by changing what the machines hear and say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sabotage {
    None,
    /// What a run sends is passed off as the newest one's.
    IgnoresEpochs,
    /// Home's clock runs much faster than the margin allows for.
    FastHome,
    /// Items are said to be on record before they are.
    ConfirmsEarly,
    /// A settlement that is on its way to the disk is written again when the result comes again.
    SettlesTwice,
    /// What was sent once is never sent again.
    NeverResends,
    /// Home does not know any more how long the leases are that it granted before it started again.
    ForgetsLeases,
}

/// What happened in worlds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    pub(super) worlds: u64,
    pub(super) agents: u64,
    pub(super) lost: u64,
    pub(super) epochs: u64,
    pub(super) stale: u64,
    pub(super) aside: u64,
    pub(super) home_crashes: u64,
    pub(super) worker_crashes: u64,
    pub(super) revived: u64,
    pub(super) full: u64,
    pub(super) effects: u64,
}

impl Outcome {
    pub(super) fn add(&mut self, other: Self) {
        self.worlds += other.worlds;
        self.agents += other.agents;
        self.lost += other.lost;
        self.epochs += other.epochs;
        self.stale += other.stale;
        self.aside += other.aside;
        self.home_crashes += other.home_crashes;
        self.worker_crashes += other.worker_crashes;
        self.revived += other.revived;
        self.full += other.full;
        self.effects += other.effects;
    }
}

#[derive(Debug)]
enum Moment {
    Home,
    Worker(usize),
    /// Something arrives at home.
    Up {
        agent: usize,
        input: Input,
    },
    /// Something arrives at a worker.
    Down {
        worker: usize,
        run: RunName,
        said: WorkerInput,
    },
    Offer {
        worker: usize,
        agent: usize,
    },
    HomeCrash,
    WorkerCrash(usize),
}

pub(super) struct World {
    sabotage: Sabotage,
    rng: Rng,
    now_ms: u64,
    queue: BinaryHeap<Reverse<(u64, u64)>>,
    moments: BTreeMap<u64, Moment>,
    next_moment: u64,
    times: LeaseTimes,
    unacked_bytes_max: usize,
    network: Network,
    clock: Clock,
    home_down_until_ms: u64,
    agents: Vec<AgentAtHome>,
    deeds: Vec<Deeds>,
    workers: Vec<SimulatedWorker>,
    /// Which worker each run is on.
    runs: Vec<usize>,
    next_nonce: u64,
    /// What was sent already, for one of the sabotages.
    sent: BTreeSet<(RunName, u64)>,
    outcome: Outcome,
}

const STEP_MS: u64 = 60;
const SETTLE_MS: u64 = 60_000;

impl World {
    pub(super) fn new(seed: u64, sabotage: Sabotage) -> Self {
        let mut rng = Rng::with_seed(seed);
        let times = LeaseTimes::for_lease(1_000);
        let (agents, workers) = (rng.usize(1..4), rng.usize(2..5));
        let calm_from_ms = rng.u64(4_000..20_000);
        let network = Network::new(&mut rng, workers, calm_from_ms);
        let clock = match sabotage {
            Sabotage::FastHome => Clock::at_speed(&mut rng, 2_500),
            _ => Clock::new(&mut rng),
        };
        let agents = (0..agents).map(|_| AgentAtHome::new(times, rng.u64(1..150))).collect::<Vec<_>>();
        let deeds = agents.iter().map(|_| Deeds::default()).collect();
        let workers = (0..workers)
            .map(|_| SimulatedWorker { clock: Clock::new(&mut rng), runs: Vec::new(), down_until_ms: 0 })
            .collect::<Vec<_>>();
        let unacked_bytes_max = if rng.bool() { 6 } else { 1_000 };
        let mut world = Self {
            sabotage,
            rng,
            now_ms: 0,
            queue: BinaryHeap::new(),
            moments: BTreeMap::new(),
            next_moment: 0,
            times,
            unacked_bytes_max,
            network,
            clock,
            home_down_until_ms: 0,
            agents,
            deeds,
            workers,
            runs: Vec::new(),
            next_nonce: 0,
            sent: BTreeSet::new(),
            outcome: Outcome::default(),
        };
        world.plan(calm_from_ms);
        world
    }

    fn plan(&mut self, calm_from_ms: u64) {
        self.at(0, Moment::Home);
        for worker in 0..self.workers.len() {
            let first = self.rng.u64(0..STEP_MS);
            self.at(first, Moment::Worker(worker));
            for _ in 0..self.rng.usize(0..5) {
                let when = self.rng.u64(0..calm_from_ms);
                self.at(when, Moment::WorkerCrash(worker));
            }
        }
        for _ in 0..self.rng.usize(0..5) {
            let when = self.rng.u64(0..calm_from_ms);
            self.at(when, Moment::HomeCrash);
        }
    }

    fn at(&mut self, when_ms: u64, moment: Moment) {
        self.next_moment += 1;
        self.queue.push(Reverse((when_ms, self.next_moment)));
        self.moments.insert(self.next_moment, moment);
    }

    pub(super) fn run(mut self) -> Result<Outcome, String> {
        let until = self.network.calm_from_ms + SETTLE_MS;
        while let Some(Reverse((when, number))) = self.queue.pop() {
            self.now_ms = when;
            if when > until {
                return Err(self.unsettled());
            }
            if let Some(moment) = self.moments.remove(&number) {
                self.happen(moment)?;
            }
            if self.settled() == self.agents.len() && when > self.network.calm_from_ms {
                break;
            }
        }
        self.judge()
    }

    /// Which agents did not settle, and where they are stuck.
    fn unsettled(&self) -> String {
        let open = self.agents.iter().enumerate().filter(|(_, agent)| agent.disk.settled.is_empty());
        let leases = open.map(|(number, agent)| {
            let workers = self.workers.iter().flat_map(|worker| &worker.runs);
            let runs: Vec<_> = workers.filter(|run| run.agent == number).map(|run| &run.lease).collect();
            format!("agent {number} did not settle: {:?}\n  runs {runs:?}\n", agent.lease)
        });
        leases.collect()
    }

    fn settled(&self) -> usize {
        self.agents.iter().filter(|agent| !agent.disk.settled.is_empty()).count()
    }

    fn judge(mut self) -> Result<Outcome, String> {
        for (number, (agent, deeds)) in self.agents.iter().zip(&self.deeds).enumerate() {
            if agent.disk.settled.len() != 1 {
                return Err(format!("agent {number} settled {} times", agent.disk.settled.len()));
            }
            deeds.must_match(&agent.disk).map_err(|fault| format!("agent {number}: {fault}"))?;
            if matches!(agent.disk.settled[0], Settlement::Result(_))
                && agent.disk.items.len() as u64 != agent.wanted
            {
                return Err(format!("agent {number} ended with {} items", agent.disk.items.len()));
            }
            self.outcome.lost += u64::from(agent.disk.settled[0] == Settlement::Lost);
            self.outcome.epochs += agent.disk.epoch.saturating_sub(1);
            self.outcome.aside += agent.disk.aside.len() as u64;
            self.outcome.agents += 1;
        }
        self.outcome.worlds = 1;
        Ok(self.outcome)
    }

    fn happen(&mut self, moment: Moment) -> Result<(), String> {
        match moment {
            Moment::Home => {
                self.home_step()?;
                self.at(self.now_ms + STEP_MS / 2, Moment::Home);
            }
            Moment::Worker(worker) => {
                self.worker_step(worker)?;
                let pause = self.rng.u64(STEP_MS / 2..STEP_MS * 2);
                self.at(self.now_ms + pause, Moment::Worker(worker));
            }
            Moment::Up { agent, input } => {
                if self.now_ms >= self.home_down_until_ms {
                    self.home_hears(agent, input)?;
                }
            }
            Moment::Down { worker, run, said } => self.worker_hears(worker, run, said)?,
            Moment::Offer { worker, agent } => self.offered(worker, agent),
            Moment::HomeCrash => {
                self.outcome.home_crashes += 1;
                let down_ms = self.rng.u64(1..2_000);
                self.home_down_until_ms = self.now_ms + down_ms;
                if self.sabotage != Sabotage::FastHome {
                    self.clock = Clock::new(&mut self.rng);
                }
                // Somebody configures another lease meanwhile.
                self.times = LeaseTimes::for_lease(self.rng.u64(400..1_600));
                for agent in &mut self.agents {
                    if self.sabotage == Sabotage::ForgetsLeases {
                        agent.disk.lease_ms = 0;
                    }
                    agent.crash(self.times, &self.clock, self.home_down_until_ms);
                }
            }
            Moment::WorkerCrash(worker) => {
                self.outcome.worker_crashes += 1;
                let down_ms = self.rng.u64(1..2_000);
                let worker = &mut self.workers[worker];
                worker.runs.clear();
                worker.down_until_ms = self.now_ms + down_ms;
                worker.clock = Clock::new(&mut self.rng);
            }
        }
        Ok(())
    }

    fn home_step(&mut self) -> Result<(), String> {
        if self.now_ms < self.home_down_until_ms {
            return Ok(());
        }
        for agent in 0..self.agents.len() {
            while let Some(input) = self.agents[agent].flush(self.now_ms) {
                self.home_takes(agent, input)?;
            }
            self.home_takes(agent, HomeInput::Tick)?;
        }
        Ok(())
    }

    fn home_hears(&mut self, agent: usize, input: Input) -> Result<(), String> {
        let lease = &self.agents[agent].lease;
        let input = match (self.sabotage, input) {
            (Sabotage::IgnoresEpochs, HomeInput::Items { holder, items, .. }) => HomeInput::Items {
                holder: lease.holder().copied().unwrap_or(holder),
                epoch: lease.epoch(),
                first: lease.recorded() + 1,
                items,
            },
            (Sabotage::SettlesTwice, HomeInput::Final { holder, epoch, after, aside, result })
                if lease.epoch() == epoch && lease.recorded() == after && self.rng.bool() =>
            {
                let durable = self.now_ms + 1;
                self.agents[agent].write(durable, Write::Settle(Settlement::Result(holder)));
                HomeInput::Final { holder, epoch, after, aside, result }
            }
            (_, input) => input,
        };
        self.home_takes(agent, input)
    }

    fn home_takes(&mut self, agent: usize, input: Input) -> Result<(), String> {
        let now = self.clock.read(self.now_ms);
        let held_before = self.agents[agent].lease.holder().is_some();
        let was_renewal = matches!(input, HomeInput::Renew { .. } | HomeInput::Items { .. });
        let actions: Vec<Action> = self.agents[agent].lease.handle(now, input);
        if was_renewal && !held_before && self.agents[agent].lease.holder().is_some() {
            self.outcome.revived += 1;
        }
        for action in actions {
            self.home_acts(agent, action)?;
        }
        Ok(())
    }

    fn home_acts(&mut self, agent: usize, action: Action) -> Result<(), String> {
        let durable = self.now_ms + self.rng.u64(0..150);
        let write = match action {
            HomeAction::Offer { .. } => {
                for _ in 0..self.rng.usize(1..3) {
                    let worker = self.rng.usize(0..self.workers.len());
                    for when in self.network.carry(&mut self.rng, self.now_ms, worker, Direction::Down) {
                        self.at(when, Moment::Offer { worker, agent });
                    }
                }
                return Ok(());
            }
            HomeAction::RecordGrant { holder, epoch, lease_ms } => Write::Grant { holder, epoch, lease_ms },
            HomeAction::Wait { holder } => return self.down(holder, WorkerInput::Wait),
            HomeAction::Record { epoch, first, items } => {
                if self.sabotage == Sabotage::ConfirmsEarly {
                    let upto = first + items.len() as u64 - 1;
                    self.agents[agent].write(durable, Write::Items { epoch, items });
                    return self.home_takes(agent, HomeInput::Recorded { upto });
                }
                Write::Items { epoch, items }
            }
            HomeAction::Settle { result, .. } => Write::Settle(Settlement::Result(result)),
            HomeAction::Lost { .. } => Write::Settle(Settlement::Lost),
            HomeAction::TakeAside { holder, epoch, .. } => Write::Aside { holder, epoch },
            HomeAction::Granted { holder, epoch, lease_ms, beat, recorded } => {
                let renew_ms = self.times.renew_ms;
                return self.down(holder, WorkerInput::Granted { epoch, beat, recorded, lease_ms, renew_ms });
            }
            HomeAction::Refuse { holder, reason } => return self.down(holder, WorkerInput::Refused(reason)),
            HomeAction::Renewed { holder, epoch, beat, recorded } => {
                return self.down(holder, WorkerInput::Renewed { epoch, beat, recorded });
            }
            HomeAction::Ack { holder, epoch, upto, missing } => {
                return self.down(holder, WorkerInput::Ack { epoch, upto, missing });
            }
            HomeAction::Stale { holder, epoch } => return self.down(holder, WorkerInput::Stale { epoch }),
            HomeAction::SettledAck { holder, epoch } => {
                return self.down(holder, WorkerInput::SettledAck { epoch });
            }
        };
        self.agents[agent].write(durable, write);
        Ok(())
    }

    fn down(&mut self, run: RunName, said: WorkerInput) -> Result<(), String> {
        let worker = self.runs[run as usize];
        for when in self.network.carry(&mut self.rng, self.now_ms, worker, Direction::Down) {
            self.at(when, Moment::Down { worker, run, said });
        }
        Ok(())
    }

    fn offered(&mut self, worker: usize, agent: usize) {
        let has_it = self.workers[worker].runs.iter().any(|run| run.agent == agent && !run.is_stale);
        if self.now_ms < self.workers[worker].down_until_ms || has_it {
            return;
        }
        let name = self.runs.len() as RunName;
        self.runs.push(worker);
        self.workers[worker].take(agent, name, (self.times, self.unacked_bytes_max), self.now_ms);
    }

    fn worker_hears(&mut self, worker: usize, name: RunName, said: WorkerInput) -> Result<(), String> {
        let now = self.workers[worker].clock.read(self.now_ms);
        let Some(run) = self.workers[worker].runs.iter_mut().find(|run| run.name == name) else {
            return Ok(());
        };
        run.lease.hear(now, said);
        let disk = &self.agents[run.agent].disk;
        if let WorkerInput::Ack { upto, .. } | WorkerInput::Renewed { recorded: upto, .. } = said
            && disk.items.len() < upto as usize
        {
            return Err(format!("item {upto} is acknowledged, and only {} are on disk", disk.items.len()));
        }
        if run.lease.phase() == WorkerPhase::Held && !run.has_begun {
            run.has_begun = true;
            self.deeds[run.agent].begin(run.lease.epoch(), name, run.lease.acked())?;
        }
        if run.lease.phase() == WorkerPhase::Stale && !run.is_stale {
            run.is_stale = true;
            self.outcome.stale += 1;
        }
        Ok(())
    }

    fn worker_step(&mut self, worker: usize) -> Result<(), String> {
        if self.now_ms < self.workers[worker].down_until_ms {
            return Ok(());
        }
        let now = self.workers[worker].clock.read(self.now_ms);
        let mut sends = Vec::new();
        for run in &mut self.workers[worker].runs {
            self.next_nonce += 1;
            let disk = &self.agents[run.agent].disk;
            match run.work(now, self.agents[run.agent].wanted, self.next_nonce) {
                Some(Deed::Acted { epoch, work }) => {
                    self.outcome.effects += 1;
                    self.deeds[run.agent].push(epoch, work);
                    if disk.epoch > epoch {
                        return Err(format!("epoch {epoch} acted after epoch {} was granted", disk.epoch));
                    }
                }
                Some(Deed::Full) => self.outcome.full += 1,
                None => {}
            }
            sends.extend(run.sends(now).into_iter().map(|send| (run.agent, run.name, send)));
        }
        self.workers[worker].runs.retain(|run| !run.is_over());
        for (agent, run, send) in sends {
            self.up(worker, agent, run, send);
        }
        Ok(())
    }

    /// Whether a run sent these items, or its end, before.
    fn was_sent(&mut self, run: RunName, input: &Input) -> bool {
        match input {
            HomeInput::Items { first, .. } => !self.sent.insert((run, *first)),
            HomeInput::Final { .. } => !self.sent.insert((run, u64::MAX)),
            _ => false,
        }
    }

    fn up(&mut self, worker: usize, agent: usize, run: RunName, send: WorkerSend<Work, u64>) {
        let input: Input = match send {
            WorkerSend::Claim { beat } => HomeInput::Claim { holder: run, beat },
            WorkerSend::Renew { epoch, beat } => HomeInput::Renew { holder: run, epoch, beat },
            WorkerSend::Items { epoch, first, items } => {
                HomeInput::Items { holder: run, epoch, first, items }
            }
            WorkerSend::Final { epoch, after, aside, result } => {
                HomeInput::Final { holder: run, epoch, after, aside, result }
            }
            WorkerSend::GiveUp => HomeInput::GiveUp { holder: run },
        };
        if self.sabotage == Sabotage::NeverResends && self.was_sent(run, &input) {
            return;
        }
        let arrivals = self.network.carry(&mut self.rng, self.now_ms, worker, Direction::Up);
        for when in arrivals {
            self.at(when, Moment::Up { agent, input: input.clone() });
        }
    }
}
