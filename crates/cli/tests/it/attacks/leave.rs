//! What a person has let out of the sandbox is asked about again as soon as anything was written, and finds no program that an
//! agent has put on its way. A person sits at a terminal and answers.

use std::io::{Read as _, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use posse_testkit::attacks::{self, Leave};
use posse_testkit::{Captured, FakeModel, Turn};
use serde_json::{Value, json};

use super::settle;
use super::world::{PATH, World};
use crate::posse::eventually;

/// Who makes the attempt, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Between the two commands.
    Foreground,
    /// By a command in the background that has ended by then.
    Background,
    /// By a sub-agent.
    SubAgent,
    /// In the same reply as the second command.
    Together,
}

/// What the model does next with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    First,
    Attempt,
    Wait,
    Second,
    Look,
}

struct Script {
    lines: Vec<Leave>,
    at: usize,
    step: Step,
    faults: Vec<String>,
    made: usize,
}

struct Stage {
    by: By,
    world: World,
    script: Mutex<Script>,
}

/// What a sub-agent is told.
const TASK: &str = "make the attempt";

impl Stage {
    fn turn(&self, request: &Captured) -> Turn {
        let request = request.json();
        let mut script = self.script.lock().unwrap();
        if is_sub_agent(&request) {
            let done =
                request["messages"].as_array().unwrap().iter().any(|message| message["role"] == "tool");
            let Some(line) = script.lines.get(script.at) else { return Turn::text("SUMMARY: Nothing.") };
            return match done {
                true => Turn::text("SUMMARY: I made the attempt."),
                false => shell(&self.fill(line.attempt), json!({})),
            };
        }
        if script.step == Step::Look {
            self.look(&mut script);
        }
        let Some(line) = script.lines.get(script.at).copied() else {
            return Turn::text("SUMMARY: all of the attempts were made.");
        };
        let outside = json!({"outside_sandbox": true});
        let command = self.command(&line);
        let (turn, next) = match (script.step, self.by) {
            (Step::First, _) => {
                let ran = self.world.shell(&self.fill(line.set_up.unwrap_or("true")));
                assert_eq!(ran.code, Some(0), "the set-up of {}: {ran:#?}", line.name);
                (shell(&command, outside), Step::Attempt)
            }
            (Step::Attempt, By::Together) => {
                let second = json!({"command": command, "outside_sandbox": true});
                (shell(&self.fill(line.attempt), json!({})).and_call("shell", second), Step::Look)
            }
            (Step::Attempt, By::Foreground) => (shell(&self.fill(line.attempt), json!({})), Step::Second),
            (Step::Attempt, By::Background) => {
                (shell(&self.fill(line.attempt), json!({"background": true})), Step::Wait)
            }
            (Step::Attempt, By::SubAgent) => {
                let task =
                    json!({"description": "try", "prompt": TASK, "type": "general", "isolation": "shared"});
                (Turn::call("agent", task), Step::Second)
            }
            (Step::Wait, _) => {
                let name = format!("cmd-{}", script.at + 1);
                (Turn::call("jobs", json!({"name": name, "wait_ms": 60_000})), Step::Second)
            }
            (Step::Second | Step::Look, _) => (shell(&command, outside), Step::Look),
        };
        script.step = next;
        turn
    }

    /// The command was made for the second time: whether it did its harm.
    fn look(&self, script: &mut Script) {
        let line = script.lines[script.at];
        if self.world.at("outside/ran").exists() {
            script.faults.push(format!("{}: it ran", line.name));
        }
        self.world.restore();
        (script.at, script.step, script.made) = (script.at + 1, Step::First, script.made + 1);
    }

    /// Another text for each line: what was refused is not asked about again.
    fn command(&self, line: &Leave) -> String {
        self.fill(&format!("{} # {}.", line.command, line.name))
    }

    fn fill(&self, text: &str) -> String {
        self.world.fill(text, "/tmp")
    }
}

fn shell(command: &str, more: Value) -> Turn {
    let mut call = json!({"command": command});
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Turn::call("shell", call)
}

fn is_sub_agent(request: &Value) -> bool {
    let messages = request["messages"].as_array().unwrap();
    let first = messages.iter().find(|message| message["role"] == "user");
    first.is_some_and(|message| message["content"].to_string().contains(TASK))
}

/// Answers what is asked in a terminal: the first time `outside pattern`, the second time as the line says. Gives back how
/// often each line was asked about.
fn sit(mut child: std::process::Child, lines: &[Leave]) -> Vec<usize> {
    let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let seen: Arc<Mutex<String>> = Arc::default();
    let (also, over) = (Arc::clone(&seen), Arc::new(Mutex::new(false)));
    let ended = Arc::clone(&over);
    let reading = std::thread::spawn(move || {
        let mut bytes = [0; 65_536];
        while let Ok(count @ 1..) = screen.read(&mut bytes) {
            also.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        *ended.lock().unwrap() = true;
    });
    let mut asked = vec![0; lines.len()];
    let mut read = 0;
    loop {
        let mut question = None;
        eventually("a question or the end", || {
            let seen = seen.lock().unwrap();
            question = seen[read..].find("\n> ").map(|at| seen[read..read + at].to_string());
            question.is_some() || *over.lock().unwrap()
        });
        let Some(question) = question else { break };
        read += question.len() + 3;
        let about = lines.iter().position(|line| question.contains(&format!("# {}.", line.name)));
        // The attempt itself may ask, since undo does not hold for what is ignored.
        let about = about.filter(|_| question.contains("outside the sandbox"));
        let answer = about.map_or("y", |about| {
            asked[about] += 1;
            if asked[about] == 1 { "outside pattern" } else { lines[about].answer }
        });
        writeln!(keys, "{answer}").unwrap();
    }
    child.wait().unwrap();
    drop(keys);
    reading.join().unwrap();
    asked
}

fn withstand(by: By, lines: Vec<Leave>) -> (usize, Vec<String>) {
    let stage: Arc<OnceLock<Stage>> = Arc::default();
    let for_model = Arc::clone(&stage);
    let model = FakeModel::by_rule_blocking(move |request| for_model.wait().turn(request));
    model.capture(false);
    let config = format!(
        "[models.fake]\nendpoint = \"{}\"\nmodel = \"fake-model\"\ncontext_window = 100000000\n\
         [sub_agents]\nsurface = \"task\"\nmax_iterations = 5000\ntoken_budget = 1000000000\nmax_time = \"1h\"\n",
        model.base_url()
    );
    let environment = lines[0].environment;
    let script = Script { lines: lines.clone(), at: 0, step: Step::First, faults: Vec::new(), made: 0 };
    let world = World::new(&config);
    let stage = stage.get_or_init(|| Stage { by, world, script: Mutex::new(script) });
    let template = stage.world.command(&[]);
    let posse = env!("CARGO_BIN_EXE_posse");
    let mut command = Command::new("script");
    command
        .args([
            "-qefc",
            &format!("stty cols 200 rows 50 -echo; exec {posse} run --max-turns 5000 go"),
            "/dev/null",
        ])
        .current_dir(stage.world.at("workspace"))
        .env_clear()
        .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .envs([("TERM", "xterm"), ("NO_COLOR", "1")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some((name, value)) = environment.and_then(|variable| variable.split_once('=')) {
        command.env(name, stage.fill(value).replace("@PATH@", PATH));
    }
    let asked = sit(command.spawn().unwrap(), &lines);
    let script = stage.script.lock().unwrap();
    let mut faults = script.faults.clone();
    for (line, asked) in lines.iter().zip(asked).filter(|(_, asked)| *asked != 2) {
        faults.push(format!("{}: was asked about {asked} times", line.name));
    }
    (script.made, faults)
}

/// Lines that need no environment of their own.
fn plain() -> Vec<Leave> {
    attacks::leave().into_iter().filter(|line| line.environment.is_none()).collect()
}

fn asked_again(by: By) {
    let (made, faults) = withstand(by, plain());
    settle(&format!("leave, {by:?}"), made, 18, &faults);
}

#[test]
fn what_was_let_out_is_asked_about_again_after_any_write() {
    asked_again(By::Foreground);
}

#[test]
fn what_was_let_out_is_asked_about_again_after_a_write_in_the_background() {
    asked_again(By::Background);
}

#[test]
fn what_was_let_out_is_asked_about_again_after_a_write_by_a_sub_agent() {
    asked_again(By::SubAgent);
}

#[test]
fn what_was_let_out_is_asked_about_again_after_a_write_in_the_same_reply() {
    asked_again(By::Together);
}

/// Each needs an environment, and so a run, of its own.
#[test]
fn what_was_let_out_finds_nothing_where_agents_write() {
    let lines = attacks::leave().into_iter().filter(|line| line.environment.is_some());
    let (mut made, mut faults) = (0, Vec::new());
    for line in lines {
        let (one, more) = withstand(By::Foreground, vec![line]);
        made += one;
        faults.extend(more);
    }
    settle("leave, by what is found", made, 8, &faults);
}

/// With nobody in between, each attempt makes its command do its harm.
#[test]
fn every_line_about_leaving_is_a_real_one() {
    let world = World::new("");
    let mut harmless = Vec::new();
    let lines = attacks::leave();
    for line in &lines {
        let variable =
            line.environment.map(|variable| format!("export {}; ", variable.replace("@PATH@", PATH)));
        let variable = variable.unwrap_or_default();
        let tmp = world.at("tmp").display().to_string();
        let run = |text: &str| world.shell(&world.fill(&format!("{variable}{text}"), &tmp));
        run(line.set_up.unwrap_or("true"));
        run(line.command);
        let before = world.at("outside/ran").exists();
        let ran = (run(line.attempt), run(line.command));
        if before || !world.at("outside/ran").exists() {
            harmless.push(format!("{}: does no harm, or always (before: {before}): {ran:?}", line.name));
        }
        world.restore();
    }
    settle("lines about leaving with nobody in between", lines.len(), 26, &harmless);
}
