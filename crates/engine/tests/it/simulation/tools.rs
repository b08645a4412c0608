//! What the calls of random models do: start agents, wait for them, stop them, talk to them, or fail.

use fastrand::Rng;
use posse_agent::{Done, Input};
use posse_delegate::{Endpoint, Request};
use posse_protocol::{AgentId, Budget, Files, Grant, NameRules, Network, Sender, Shell, ToolCall};

use super::invariants;
use super::world::{Doing, Wait, World, id};

impl World {
    /// Runs the calls of one reply; none if some of them wait.
    pub(super) fn work(&mut self, number: usize, calls: &[ToolCall]) -> Option<Input> {
        let (mut done, mut waits) = (Vec::new(), Vec::new());
        for call in calls {
            match call.name.as_str() {
                "wait all" | "wait any" => {
                    let on = self.tree.live_children(id(number));
                    waits.push(Wait { call: call.id.clone(), on, all: call.name == "wait all" });
                }
                _ => done.push(self.run(number, call)),
            }
        }
        waits.retain(|wait| !wait.on.is_empty());
        if waits.is_empty() {
            // A call that is not answered counts as not run: that, too, happens.
            return Some(self.disturbed(number, "", done.clone()).unwrap_or(Input::ToolsDone(done)));
        }
        self.park(number);
        self.note("waited");
        let until_ms = self.now_ms + self.rng.u64(0..600_000);
        self.actors[number].doing = Doing::Waits { done, waits, until_ms };
        None
    }

    fn run(&mut self, number: usize, call: &ToolCall) -> Done {
        let child = self.some_child(number);
        let (ok, read_only) = match (call.name.as_str(), child) {
            ("start", _) => (self.start(number, None), false),
            ("continue", Some(child)) => (self.start(number, Some(id(child))), false),
            ("stop", Some(child)) => {
                self.cancel(child);
                (true, false)
            }
            ("tell", Some(child)) => {
                let interrupt = self.rng.bool();
                self.tell(child, interrupt);
                (true, false)
            }
            (name, _) => (self.rng.u8(0..4) > 0, name == "read"),
        };
        let text = format!("{} came to {}", call.name, self.rng.u64(0..100));
        Done { id: call.id.clone(), ok, text, attachments: Vec::new(), ran: call.name != "nope", read_only }
    }

    fn some_child(&mut self, number: usize) -> Option<usize> {
        let children = self.tree.node(id(number)).map(|node| node.children.clone()).unwrap_or_default();
        let child = (!children.is_empty()).then(|| children[self.rng.usize(0..children.len())]);
        child.map(|child| self.number(child))
    }

    pub(super) fn waited(&mut self, number: usize, mut done: Vec<Done>, waits: &[Wait]) -> Input {
        for wait in waits {
            if self.met(wait) || self.rng.bool() {
                let reports = self.take_reports(number, Some(&wait.on));
                let (id, text) = (wait.call.clone(), format!("{reports} reports"));
                done.push(Done { id, ok: true, text, attachments: Vec::new(), ran: true, read_only: true });
            }
        }
        self.unpark(number);
        self.disturbed(number, "", done.clone()).unwrap_or(Input::ToolsDone(done))
    }

    /// Asks the tree for one more agent.
    fn start(&mut self, parent: usize, continues: Option<AgentId>) -> bool {
        let endpoints = [("cloud", None), ("gpu", Some(1)), ("pair", Some(2))];
        let (name, agents_max) = endpoints[self.rng.usize(0..3)];
        let request = Request {
            id: id(self.actors.len()),
            parent: id(parent),
            name: None,
            role: "general".into(),
            title: String::new(),
            role_grant: grant(&mut self.rng),
            allowed_tools: self.rng.bool().then(|| vec!["read".into(), "e*".into()]),
            budget: Budget {
                turns: Some(self.rng.u32(1..12)),
                tokens: self.rng.bool().then(|| self.rng.u64(500..20_000)),
                time_ms: self.rng.bool().then(|| self.rng.u64(0..300_000)),
                cost_usd: (self.rng.u8(0..4) == 0).then(|| self.rng.f64() * 0.2),
            },
            endpoint: Endpoint { name: name.into(), agents_max },
            continues,
            untrusted_file: self.rng.u8(0..4) == 0,
            background: self.rng.bool(),
        };
        let Ok(admission) = self.tree.admit(request) else {
            self.note("turned down");
            return false;
        };
        self.note("admitted");
        if continues.is_some() {
            self.note("continued");
        }
        if admission.queued.is_some() {
            self.note("queued");
        }
        let doing = if admission.queued.is_some() { Doing::Queued } else { Doing::Begins };
        let child = id(self.actors.len());
        self.add(admission.budget, doing);
        self.actors[parent].since_work.push(child);
        invariants::at_admission(self, parent, &admission);
        true
    }

    /// Stops an agent and all below it.
    pub(super) fn cancel(&mut self, number: usize) {
        for stopped in self.tree.cancel(id(number)) {
            let stopped = self.number(stopped);
            assert!(!self.actors[stopped].cancelled, "{stopped} is stopped twice");
            self.actors[stopped].cancelled = true;
            self.note("stopped");
        }
    }

    pub(super) fn tell(&mut self, number: usize, interrupt: bool) {
        let actor = &mut self.actors[number];
        if !matches!(actor.doing, Doing::Over) {
            actor.mail.push((Sender::Person, "and one more thing".into()));
            actor.interrupted |= interrupt;
            self.note("told");
        }
    }
}

fn grant(rng: &mut Rng) -> Grant {
    let names = |rng: &mut Rng| match rng.u8(0..6) {
        0 => NameRules::only(["read", "ed*", "gen*"]),
        1 => NameRules { deny: ["edit".to_string()].into(), ..NameRules::default() },
        _ => NameRules::default(),
    };
    Grant {
        files: [Files::Read, Files::Write][rng.usize(0..2)],
        shell: [Shell::None, Shell::Inspect, Shell::Full][rng.usize(0..3)],
        network: [Network::None, Network::Full][rng.usize(0..2)].clone(),
        tools: names(rng),
        delegates: names(rng),
        ..Grant::full()
    }
}
