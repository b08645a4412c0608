//! `posse workers list`.

use std::time::Duration;

use posse_setup::{
    ClusterSettings, HeardWorker, ModelsAt, Paths, WorkerAbout, WorkerAnswer, WorkerEntry, look_at_broker,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::asked::{NoAnswer, ask, unusable};
use crate::exit::Exit;
use crate::limits::LIST_WAIT_MS;
use crate::output::{self, Style, one_line};

/// What is said where there are none.
const NONE: &str = "No workers: all agents run on this machine, and one machine needs none.\n\
                    To add another machine that ssh reaches, write this into your configuration (posse config path):\n\
                    [workers.NAME]\nssh = \"HOST\"\n";

pub(super) async fn list(paths: &Paths, json: bool) -> anyhow::Result<Exit> {
    let (cluster, workers) = super::all(paths)?;
    let states = states(paths, &cluster, &workers).await;
    if json {
        for (worker, state) in workers.iter().zip(&states) {
            output::print_json(&json!({
                "name": worker.name,
                "by": if worker.ssh.is_some() { "ssh" } else { "nats" },
                "host": worker.ssh.as_ref().map(|target| &target.host),
                "labels": worker.labels,
                "models": word(worker.models),
                "ready": state.ready,
                "state": state.words,
            }))?;
        }
        return Ok(Exit::Completed);
    }
    if workers.is_empty() {
        output::print(NONE)?;
        return Ok(Exit::Completed);
    }
    let style = Style::for_stdout();
    let mut text = String::new();
    for (worker, state) in workers.iter().zip(&states) {
        let way = match (&worker.ssh, &cluster.nats) {
            (Some(target), _) => format!("ssh {}", target.host),
            (None, Some(nats)) => nats.address.clone(),
            (None, None) => "no way: add ssh to it, or nats to [cluster]".to_owned(),
        };
        let state = match state {
            WorkerState { ready: true, words } => style.green(words),
            WorkerState { ready: false, words } => style.yellow(words),
        };
        text.push_str(&format!("{}  {}\n", style.bold(&one_line(&worker.name, 63)), state));
        let labels = if worker.labels.is_empty() { "no labels".to_owned() } else { worker.labels.join(", ") };
        let facts = format!("{}; {labels}; models at {}", one_line(&way, 100), place(worker.models));
        text.push_str(&format!("    {}\n", style.dim(&facts)));
    }
    output::print(&text)?;
    Ok(Exit::Completed)
}

fn word(models: ModelsAt) -> &'static str {
    match models {
        ModelsAt::Home => "home",
        ModelsAt::Worker => "worker",
    }
}

fn place(models: ModelsAt) -> &'static str {
    match models {
        ModelsAt::Home => "home",
        ModelsAt::Worker => "the worker",
    }
}

/// How a worker is now.
#[derive(Clone)]
struct WorkerState {
    ready: bool,
    words: String,
}

/// All are asked at the same time.
async fn states(paths: &Paths, cluster: &ClusterSettings, workers: &[WorkerEntry]) -> Vec<WorkerState> {
    let behind_broker: Vec<&str> =
        workers.iter().filter(|worker| worker.ssh.is_none()).map(|worker| worker.name.as_str()).collect();
    let (by_broker, mut states) =
        tokio::join!(heard(paths, cluster, &behind_broker), answered(paths, workers));
    let mut heard = by_broker.into_iter();
    for state in states.iter_mut().filter(|state| state.is_none()) {
        *state = heard.next();
    }
    let unknown = || WorkerState { ready: false, words: "nothing is known of it".to_owned() };
    states.into_iter().map(|state| state.unwrap_or_else(unknown)).collect()
}

/// What those behind the broker say, in order.
async fn heard(paths: &Paths, cluster: &ClusterSettings, names: &[&str]) -> Vec<WorkerState> {
    if names.is_empty() {
        return Vec::new();
    }
    let looked = look_at_broker(paths, cluster, names, Duration::from_millis(LIST_WAIT_MS)).await;
    let state = |name: &&str| match &looked {
        Err(error) => WorkerState { ready: false, words: one_line(&error.to_string(), 200) },
        Ok(state) => match state.heard.get(*name) {
            None => WorkerState { ready: false, words: "not heard".to_owned() },
            Some(WorkerAnswer::OtherVersion(_) | WorkerAnswer::Unreadable) => {
                WorkerState { ready: false, words: "another posse there: posse workers doctor".to_owned() }
            }
            Some(WorkerAnswer::Hello(worker)) => {
                let HeardWorker { capacity, running, drained, about, .. } = &**worker;
                let (ready, words) = match (*drained, about.as_ref().and_then(unusable)) {
                    (true, _) => (false, format!("drained, {running} agents run")),
                    (false, Some(why)) => (false, one_line(&why, 200)),
                    (false, None) => (true, format!("ready, {capacity} agents at a time, {running} run")),
                };
                WorkerState { ready, words }
            }
        },
    };
    names.iter().map(state).collect()
}

/// What those behind ssh answer; none for others.
async fn answered(paths: &Paths, workers: &[WorkerEntry]) -> Vec<Option<WorkerState>> {
    let mut asked = JoinSet::new();
    for (at, worker) in workers.iter().enumerate() {
        if let Some(target) = worker.ssh.clone() {
            let paths = paths.clone();
            asked.spawn(async move { (at, state(ask(&paths, &target).await)) });
        }
    }
    let mut states = vec![None; workers.len()];
    while let Some(Ok((at, state))) = asked.join_next().await {
        states[at] = Some(state);
    }
    states
}

fn state(answer: anyhow::Result<Result<WorkerAbout, NoAnswer>>) -> WorkerState {
    let not = |words: String| WorkerState { ready: false, words: one_line(&words, 200) };
    match answer {
        Err(error) => not(error.to_string()),
        Ok(Err(NoAnswer::Unreachable(why))) => not(format!("not reached: {why}")),
        Ok(Err(NoAnswer::NoPosse(_))) => not("no posse there: posse workers install".to_owned()),
        Ok(Err(NoAnswer::OtherPosse(why))) => not(format!("another posse there: {why}")),
        Ok(Ok(about)) => match unusable(&about) {
            Some(why) => not(why),
            None => WorkerState { ready: true, words: format!("ready, {} agents at a time", about.capacity) },
        },
    }
}
