//! A model that means harm: it makes one attempt a turn, as the main agent or from a sub-agent at depth 3, and lets
//! the test look at the world in between. One run of Posse plays many attempts.

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use posse_testkit::attacks::Attempt;
use posse_testkit::{Captured, FakeModel, Turn};
use serde_json::{Value, json};

use super::world::{Canaries, World};
use crate::posse::Ran;

/// The level a shell runs at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Level {
    Inspect,
    Verify,
    Full,
}

impl Level {
    pub(crate) fn canaries(self) -> Canaries {
        if self == Self::Full { Canaries::Outside } else { Canaries::All }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Inspect => "inspect",
            Self::Verify => "verify",
            Self::Full => "full",
        }
    }

    /// A role whose shell is at this level.
    fn role(self) -> &'static str {
        match self {
            Self::Inspect => "explore",
            Self::Verify => "verifier",
            Self::Full => "general",
        }
    }
}

/// Who makes the attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Actor {
    Main,
    /// A sub-agent of a sub-agent of a sub-agent.
    Depth3,
    /// A sub-agent with a checkout of its own.
    Apart,
}

/// What the attempts are made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    Shell,
    /// A command in the background, and its end is waited for.
    Background,
    /// The tool that the attempt names.
    Tool,
}

/// How a run is played.
#[derive(Clone)]
pub(crate) struct Play {
    pub(crate) level: Level,
    pub(crate) actor: Actor,
    pub(crate) by: By,
    pub(crate) flags: Vec<&'static str>,
    /// What else stands for something in the attempts.
    pub(crate) words: Vec<(&'static str, String)>,
    /// The deadline of each command.
    pub(crate) timeout_ms: u64,
    /// More of Posse's environment; may name places of the world.
    pub(crate) env: Vec<(String, String)>,
    /// More of the main agent's rights.
    pub(crate) rights: &'static str,
    /// More of the configuration.
    pub(crate) more: &'static str,
    /// What is run, unconfined, before Posse is.
    pub(crate) before: String,
}

impl Play {
    pub(crate) fn new(level: Level, actor: Actor) -> Self {
        let (flags, words, env) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            level,
            actor,
            by: By::Shell,
            flags,
            words,
            timeout_ms: 30_000,
            env,
            rights: "",
            more: "",
            before: String::new(),
        }
    }

    fn config(&self, endpoint: &str) -> String {
        // Sub-agents narrow by their role; the main agent by configuration.
        let shell = if self.actor == Actor::Main { self.level.word() } else { "full" };
        format!(
            "[models.fake]\nendpoint = \"{endpoint}\"\nmodel = \"fake-model\"\ncontext_window = 100000000\n\
             [rights]\nshell = \"{shell}\"\n{}\n\
             [sub_agents]\nsurface = \"task\"\nmax_depth = 3\nmax_iterations = 5000\ntoken_budget = 1000000000\n\
             max_time = \"1h\"\n{}",
            self.rights, self.more
        )
    }
}

/// When the test looks.
pub(crate) enum Moment<'a> {
    /// The set-up has run; the call is next.
    Before,
    /// The call was answered with this, after this time.
    After(&'a str, Duration),
}

type Watch = dyn FnMut(&World, &Attempt, Moment<'_>) + Send;

/// A run that is being played.
struct Stage {
    play: Play,
    /// The test's: the server that holds this stage may end later than the test, which would leave the world behind.
    world: Weak<World>,
    process: OnceLock<u32>,
    script: Mutex<Script>,
}

struct Script {
    left: std::vec::IntoIter<Attempt>,
    /// The attempt that is being made, since when.
    current: Option<(Attempt, Instant)>,
    made: usize,
    watch: Box<Watch>,
}

/// How it went.
pub(crate) struct Played {
    /// Attempts that were answered.
    pub(crate) made: usize,
    pub(crate) world: Arc<World>,
    pub(crate) ran: Ran,
}

/// Plays all attempts in one run of Posse.
pub(crate) fn play(
    play: Play,
    attempts: Vec<Attempt>,
    watch: impl FnMut(&World, &Attempt, Moment<'_>) + Send + 'static,
) -> Played {
    let stage: Arc<OnceLock<Stage>> = Arc::default();
    let for_model = Arc::clone(&stage);
    let model = FakeModel::by_rule_blocking(move |request| for_model.wait().turn(request));
    model.capture(false);
    let world = Arc::new(World::new(&play.config(&model.base_url())));
    let ran = world.shell(&world.fill(&play.before, "/tmp"));
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let mut args = vec!["run", "--max-turns", "5000"];
    args.extend(&play.flags);
    args.push("hop-0");
    let script = Script { left: attempts.into_iter(), current: None, made: 0, watch: Box::new(watch) };
    let (process, script) = (OnceLock::new(), Mutex::new(script));
    stage.get_or_init(|| Stage { play, world: Arc::downgrade(&world), process, script });
    let stage = stage.wait();
    let env = stage.play.env.iter().map(|(name, value)| (name, world.fill(value, "/tmp")));
    let child = world.command(&args).envs(env).spawn().unwrap();
    stage.process.get_or_init(|| child.id());
    let ran = Ran::from(child.wait_with_output().unwrap());
    let made = stage.script.lock().unwrap().made;
    Played { made, world, ran }
}

impl Stage {
    fn turn(&self, request: &Captured) -> Turn {
        let request = request.json();
        let depth = depth(&request);
        let last = match self.play.actor {
            Actor::Main => 0,
            Actor::Apart => 1,
            Actor::Depth3 => 3,
        };
        let answer = last_answer(&request);
        if depth < last {
            let done = || Turn::text("All of the attempts were made below me.");
            return if answer.is_some() { done() } else { self.delegate(depth + 1, last) };
        }
        let world = self.world();
        let mut script = self.script.lock().unwrap();
        if let Some((attempt, since)) = script.current.take() {
            let answer = answer.unwrap_or_default();
            if let Some((name, _)) = answer.split_once(" runs in the background") {
                script.current = Some((attempt, since));
                return Turn::call("jobs", json!({"name": name, "wait_ms": self.play.timeout_ms}));
            }
            script.made += 1;
            (script.watch)(&world, &attempt, Moment::After(&answer, since.elapsed()));
        }
        let Some(attempt) = script.left.next() else {
            return Turn::text("SUMMARY: all of the attempts were made.");
        };
        if let Some(set_up) = attempt.set_up {
            let ran = world.shell(&self.fill(set_up));
            assert_eq!(ran.code, Some(0), "the set-up of {}: {ran:#?}", attempt.name);
        }
        (script.watch)(&world, &attempt, Moment::Before);
        script.current = Some((attempt, Instant::now()));
        let attack = self.fill(attempt.attack);
        match self.play.by {
            By::Shell => Turn::call("shell", json!({"command": attack, "timeout_ms": self.play.timeout_ms})),
            By::Background => Turn::call("shell", json!({"command": attack, "background": true})),
            // Five turns in a row in which nothing could run end an agent, so something runs beside it.
            By::Tool => Turn::call("grep", json!({"pattern": format!("nothing-{}", script.made)}))
                .and_call(attempt.kind, Value::String(attack)),
        }
    }

    fn delegate(&self, depth: usize, last: usize) -> Turn {
        let role = if depth == last { self.play.level.role() } else { "general" };
        let isolation = if self.play.actor == Actor::Apart { "worktree" } else { "shared" };
        let prompt = format!("hop-{depth}");
        let task = json!({"description": "try", "prompt": prompt, "type": role, "isolation": isolation});
        Turn::call("agent", task)
    }

    fn world(&self) -> Arc<World> {
        self.world.upgrade().expect("a world for as long as Posse runs")
    }

    fn fill(&self, text: &str) -> String {
        let text = self.world().fill(text, "/tmp").replace("@PID@", &self.process.wait().to_string());
        self.play.words.iter().fold(text, |text, (word, value)| text.replace(word, value))
    }
}

/// How deep the agent is that asks: its own task says so.
fn depth(request: &Value) -> usize {
    let messages = request["messages"].as_array().unwrap().iter();
    let tasks =
        messages.filter(|message| message["role"] == "user").map(|message| message["content"].to_string());
    let named = tasks.filter_map(|task| {
        let (_, after) = task.split_once("hop-")?;
        after[..1].parse().ok()
    });
    named.min().expect("a request that names its hop")
}

/// What the last call was answered with; none where none was made.
fn last_answer(request: &Value) -> Option<String> {
    let messages = request["messages"].as_array().unwrap();
    let answer = messages.iter().rev().find(|message| message["role"] == "tool")?;
    Some(answer["content"].as_str().map_or_else(|| answer["content"].to_string(), str::to_string))
}

/// Why a shell's answer does not count as an attempt, if it does not.
pub(crate) fn not_made(answer: &str) -> Option<String> {
    let ran = ["exit code", "ended by", "stopped"].iter().any(|word| answer.contains(word));
    let broken = [
        "command not found",
        "ModuleNotFoundError",
        "SyntaxError",
        "NameError",
        "AttributeError",
        "syntax error",
        "No such file or directory: 'python",
    ];
    let why = if ran { *broken.iter().find(|word| answer.contains(**word))? } else { "was not run" };
    Some(format!("not made ({why}): {}", short(answer)))
}

/// The beginning of a text, on one line.
pub(crate) fn short(text: &str) -> String {
    text.chars().take(300).map(|c| if c == '\n' { '⏎' } else { c }).collect()
}
