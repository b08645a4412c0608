//! `posse workers add`: the file with which a machine joins over the broker, and what the broker has to know of it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;
use posse_cluster::{LabelName, NatsSide, RunId, WorkerName, nats_user_config};
use posse_setup::{ClusterSettings, JoinFile, KnownWorker, NatsCredentials, Paths, add_known_worker};

use crate::exit::Exit;
use crate::output::{self, Style, now_ms};
use crate::surroundings::shown;

pub(super) fn add(paths: &Paths, name: &str, labels: &[String], out: Option<&Path>) -> anyhow::Result<Exit> {
    let (cluster, workers) = super::all(paths)?;
    let own: WorkerName = name.parse()?;
    let there = workers.iter().find(|worker| worker.name == name);
    if there.is_some_and(|worker| worker.ssh.is_some()) {
        bail!("{name} is reached by ssh and needs no file; to check it: posse workers doctor {name}");
    }
    if cluster.nats.is_none() {
        bail!(
            "no broker is configured. For a machine that ssh reaches, write this to {}:\n[workers.{name}]\nssh = \"HOST\"\nFor \
             a broker, add nats = \"tls://HOST:4222\" to [cluster]",
            paths.shown(&paths.config)
        );
    }
    let labels = match there {
        Some(worker) if labels.is_empty() => worker.labels.clone(),
        _ => labels.to_vec(),
    };
    must_be_in_force(paths, &cluster, name, &labels)?;
    let Some(password) = RunId::random() else { bail!("the system gives no random numbers") };
    let credentials =
        NatsCredentials { user: name.to_owned(), password: password.as_str().to_owned().into() };
    let join = JoinFile::make(paths, &cluster, name, &labels, Some(credentials))?;
    let side = NatsSide::Worker {
        name: own,
        labels: labels
            .iter()
            .map(|label| Ok(label.parse::<LabelName>()?))
            .collect::<anyhow::Result<BTreeSet<_>>>()?,
    };
    let entry = nats_user_config(&cluster.owner.parse()?, &side, name, password.as_str());
    let path = match out {
        Some(out) => {
            let path = paths.surroundings().folder()?.join(out);
            join.save(paths, &path)?;
            path
        }
        None => join.keep(paths)?,
    };
    let added_ms = i64::try_from(now_ms()).unwrap_or(i64::MAX);
    let worker = KnownWorker { name: name.to_owned(), labels, added_ms };
    let is_new = add_known_worker(paths, &worker)?;
    output::print(&told(&worker, &path, &entry, is_new))?;
    Ok(Exit::Completed)
}

/// Refuses labels that would not count, because the configuration says others.
fn must_be_in_force(
    paths: &Paths,
    cluster: &ClusterSettings,
    name: &str,
    labels: &[String],
) -> anyhow::Result<()> {
    let set = |labels: &[String]| labels.iter().cloned().collect::<BTreeSet<_>>();
    match cluster.workers.iter().find(|worker| worker.name == name) {
        Some(worker) if set(&worker.labels) != set(labels) => bail!(
            "the labels of {name} are in {}; change them in [workers.{name}] there, and then: posse workers add {name}",
            paths.shown(&paths.config)
        ),
        _ => Ok(()),
    }
}

/// What is to be done with the file and the entry.
fn told(worker: &KnownWorker, path: &Path, entry: &str, is_new: bool) -> String {
    let (style, file, name) = (Style::for_stdout(), shown(path), &worker.name);
    let labels = match worker.labels.as_slice() {
        [] => "it has no labels".to_owned(),
        labels => format!("its labels are {}", labels.join(", ")),
    };
    let (known, add, run) = match is_new {
        true => (
            String::new(),
            "Add this to the users in the configuration of the broker, and reload it:",
            "There, run:",
        ),
        false => (
            format!("{name} is known already; {labels} from now on. It has a new password.\n\n"),
            "Replace its user in the configuration of the broker with this one, and reload it:",
            "There, end the worker that runs, and run:",
        ),
    };
    let joins = path.file_name().unwrap_or_default().to_string_lossy();
    format!(
        "{known}{}\n{entry}\n{}\n  scp {file} HOST:\n{}\n  posse worker --join {}\n\nThe file holds the secret of your \
         workers: remove it here when it is there.\n",
        style.bold(add),
        style.bold("Copy the file with which it joins to the other machine:"),
        style.bold(run),
        output::visible(&joins),
    )
}
