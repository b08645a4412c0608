//! A crash behind any event of sessions that a seed makes up: trees of agents that read, write, plan and delegate.

use std::collections::BTreeMap;

use fastrand::Rng;
use posse_engine::Limits;
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::json;

use super::crashing::{Same, Scenario};
use super::every_step::blocks;
use super::play::Play;
use crate::crew::REPORT;

/// Crashes on every run, and when soaking.
const CRASHES_MIN: usize = 50;
const CRASHES_SOAKING: usize = 5_000;
/// Agents of one session at most, the main agent included.
const AGENTS_MAX: usize = 6;
const DEPTH_MAX: u32 = 3;

/// Makes up what each agent of a session does.
struct Author {
    rng: Rng,
    scripts: BTreeMap<String, Vec<Turn>>,
    files: usize,
}

impl Author {
    fn script(&mut self, name: &str, depth: u32) {
        // Its place is taken before those below it take theirs.
        self.scripts.insert(name.to_string(), Vec::new());
        let mut turns = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            let (mut turn, delegates) = (Turn::empty(), self.rng.bool());
            for _ in 0..self.rng.usize(1..4) {
                turn = if delegates { self.start(turn, depth) } else { self.work(turn) };
            }
            turns.push(turn);
        }
        turns.push(Turn::text(REPORT));
        self.scripts.insert(name.to_string(), turns);
    }

    fn read(&mut self, turn: Turn) -> Turn {
        let path = ["a.txt", "b.txt", "missing.txt"][self.rng.usize(0..3)];
        turn.and_call("read_file", json!({"path": path}))
    }

    fn work(&mut self, turn: Turn) -> Turn {
        self.files += 1;
        // Hidden: what is told of `missing.txt` lists the other files, and must not depend on who was first.
        let file = format!(".new-{}.txt", self.files);
        match self.rng.u32(0..4) {
            0 => turn.and_call("write_file", json!({"path": file, "content": "written\n"})),
            1 => {
                let item = json!({"text": format!("step {}", self.files), "status": "doing"});
                turn.and_call("todo", json!({"items": [item]}))
            }
            _ => self.read(turn),
        }
    }

    /// Starts an agent. Nothing else in the same reply changes what it is told of its parent: whether that is known by
    /// then depends on which of the calls were answered before a crash.
    fn start(&mut self, turn: Turn, depth: u32) -> Turn {
        if depth >= DEPTH_MAX || self.scripts.len() >= AGENTS_MAX || self.rng.u32(0..4) == 0 {
            return self.read(turn);
        }
        let name = format!("agent-{}", self.scripts.len());
        let mut start = blocks(&name, "Do your part of it");
        start["context"] = json!(["fresh", "fresh", "summary", "fork"][self.rng.usize(0..4)]);
        self.script(&name, depth + 1);
        turn.and_call("agent", start)
    }
}

async fn crash_seed(seed: u64) -> usize {
    let mut author = Author { rng: Rng::with_seed(seed), scripts: BTreeMap::new(), files: 0 };
    author.script("main", 0);
    let running_max = author.rng.usize(1..5);
    let mut play = Play::scripted(author.scripts).await;
    play.stage.delegation.surface = Surface::Task;
    play.stage.delegation.limits = Limits { depth_max: DEPTH_MAX, running_max, ..Limits::default() };
    Scenario::new(play, Same::Everything).crash_everywhere(1).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_that_a_seed_makes_up() {
    if let Ok(seed) = std::env::var("POSSE_SEED") {
        crash_seed(seed.parse().expect("a seed")).await;
        return;
    }
    let wanted = if std::env::var_os("POSSE_SOAK").is_some() { CRASHES_SOAKING } else { CRASHES_MIN };
    let (mut crashes, mut seed) = (0, 0);
    while crashes < wanted {
        let running = tokio::spawn(crash_seed(seed));
        crashes += running.await.unwrap_or_else(|_| panic!("POSSE_SEED={seed} replays it"));
        seed += 1;
    }
    eprintln!("{crashes} crashes of {seed} sessions");
}
