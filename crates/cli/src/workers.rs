//! `posse workers`: the machines that sub-agents can run on beside this one. For one machine nobody needs it.

mod added;
mod asked;
mod broker_judged;
mod doctor;
mod findings;
mod install;
mod judged;
mod listed;
mod reach;

use anyhow::bail;
use posse_setup::{
    ClusterSettings, Config, KnownWorker, Paths, SshTarget, WorkerEntry, drain_over_broker, known_workers,
    remove_known_worker,
};

use crate::args::{WorkersArgs, WorkersCommand};
use crate::exit::Exit;
use crate::output::{self, one_line};

pub(crate) async fn run(paths: &Paths, args: WorkersArgs) -> anyhow::Result<Exit> {
    let json = args.json;
    match args.command.unwrap_or(WorkersCommand::List { json }) {
        WorkersCommand::List { json } => listed::list(paths, json).await,
        WorkersCommand::Add { name, labels, out } => added::add(paths, &name, &labels, out.as_deref()),
        WorkersCommand::Install { name } => install::run(paths, &name).await,
        WorkersCommand::Doctor { name, json } => doctor::run(paths, name.as_deref(), json).await,
        WorkersCommand::Drain { name, undo } => drain(paths, &name, undo).await,
        WorkersCommand::Remove { name } => remove(paths, &name),
    }
}

/// The names of all workers, for completions.
pub(crate) fn names(paths: &Paths) -> anyhow::Result<Vec<String>> {
    Ok(all(paths)?.1.into_iter().map(|worker| worker.name).collect())
}

/// How home reaches workers, and all of them: those of the configuration, and those that were added.
fn all(paths: &Paths) -> anyhow::Result<(ClusterSettings, Vec<WorkerEntry>)> {
    let cluster = Config::load(paths, paths.surroundings().folder()?)?.cluster(paths)?;
    let workers = with_known(&cluster, known_workers(paths)?);
    Ok((cluster, workers))
}

fn with_known(cluster: &ClusterSettings, known: Vec<KnownWorker>) -> Vec<WorkerEntry> {
    let mut workers = cluster.workers.clone();
    for known in known {
        if !workers.iter().any(|worker| worker.name == known.name) {
            let (name, labels, models) = (known.name, known.labels, cluster.models);
            workers.push(WorkerEntry { name, ssh: None, labels, models });
        }
    }
    workers
}

/// The worker of a name.
fn named(workers: &[WorkerEntry], name: &str) -> anyhow::Result<WorkerEntry> {
    if let Some(worker) = workers.iter().find(|worker| worker.name == name) {
        return Ok(worker.clone());
    }
    let name = one_line(name, 80);
    match workers.iter().map(|worker| worker.name.as_str()).collect::<Vec<_>>().as_slice() {
        [] => bail!(
            "there are no workers; write this into your configuration (posse config path):\n[workers.{name}]\nssh = \"HOST\""
        ),
        names => bail!("there is no worker {name:?}; there are {}", names.join(", ")),
    }
}

/// The same, if it is reached by ssh.
fn by_ssh(workers: &[WorkerEntry], name: &str, otherwise: &str) -> anyhow::Result<SshTarget> {
    match named(workers, name)?.ssh {
        Some(target) => Ok(target),
        None => bail!("{name} is reached over the broker; {otherwise}"),
    }
}

async fn drain(paths: &Paths, name: &str, undo: bool) -> anyhow::Result<Exit> {
    let (cluster, workers) = all(paths)?;
    let Some(target) = named(&workers, name)?.ssh else {
        let worker = drain_over_broker(paths, &cluster, name, !undo).await?;
        output::print(&match undo {
            true => format!("{name} takes agents again.\n"),
            false => format!(
                "{name} takes nothing new. {}\nTo use it again: posse workers drain {name} --undo\n",
                finishing(worker.running)
            ),
        })?;
        return Ok(Exit::Completed);
    };
    let flag = if undo { "--undrain" } else { "--drain" };
    let said = reach::posse(paths, &target, &["worker", flag]).await?;
    if !said.ok {
        bail!("{name}: {}", said.trouble());
    }
    let text = said
        .stdout
        .replace("This machine", name)
        .replace("posse worker --undrain", &format!("posse workers drain {name} --undo"));
    output::print(&output::visible(&text))?;
    Ok(Exit::Completed)
}

/// What becomes of those that a drained worker runs.
fn finishing(running: u32) -> String {
    match running {
        0 => "It runs no agents now.".to_owned(),
        1 => "The agent that it runs goes on to its end.".to_owned(),
        count => format!("The {count} agents that it runs go on to their ends."),
    }
}

fn remove(paths: &Paths, name: &str) -> anyhow::Result<Exit> {
    if remove_known_worker(paths, name)? {
        output::print(&format!(
            "{name} is forgotten. Remove its user from the configuration of the broker, too: until then its file still opens it.\n"
        ))?;
        return Ok(Exit::Completed);
    }
    let (_, workers) = all(paths)?;
    named(&workers, name)?;
    bail!("{name} is in {}; remove [workers.{name}] there", paths.shown(&paths.config))
}
