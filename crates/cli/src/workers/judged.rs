//! Whether home can use what a worker says it has, and what to do if not. It is the same however the worker is reached.

use std::collections::BTreeSet;

use posse_cluster::CLUSTER_VERSION;
use posse_setup::{ClusterSettings, ModelsAt, WorkerAbout, WorkerEntry};

use super::findings::Findings;

/// What home has, for comparison.
pub(super) struct OwnSide<'a> {
    pub(super) cluster: &'a ClusterSettings,
    /// The names by which agents ask for models.
    pub(super) models: Vec<String>,
}

/// Compares a worker with home.
pub(super) fn judge(findings: &mut Findings, own: &OwnSide<'_>, worker: &WorkerEntry, about: &WorkerAbout) {
    program(findings, worker, about);
    sandbox_and_git(findings, &worker.name, about);
    models(findings, own, worker, about);
    labels(findings, worker, about);
    times(findings, own.cluster, &worker.name, about);
    if about.drained {
        let undo = format!("posse workers drain {} --undo", worker.name);
        findings.bad(&worker.name, "state", "it is drained and takes nothing", undo);
    }
}

fn program(findings: &mut Findings, worker: &WorkerEntry, about: &WorkerAbout) {
    let (own, there) = (env!("CARGO_PKG_VERSION"), &about.version);
    let text = match about.protocol == CLUSTER_VERSION {
        true if there == own => there.clone(),
        true => format!("{there} there, {own} here; they understand each other"),
        false => return other_version(findings, worker, &format!("posse {there} there"), about.protocol),
    };
    findings.good(&worker.name, "posse", text);
}

/// It cannot be spoken with.
pub(super) fn other_version(findings: &mut Findings, worker: &WorkerEntry, who: &str, version: u16) {
    let own = env!("CARGO_PKG_VERSION");
    let text =
        format!("{who} speaks version {version} of the protocol, posse {own} here version {CLUSTER_VERSION}");
    findings.bad(&worker.name, "posse", text, same_posse(worker));
}

/// How a machine gets the posse of home.
pub(super) fn same_posse(worker: &WorkerEntry) -> String {
    match worker.ssh {
        Some(_) => format!("posse workers install {}", worker.name),
        None => {
            format!("put posse {} on that machine, as here, and start it again", env!("CARGO_PKG_VERSION"))
        }
    }
}

fn sandbox_and_git(findings: &mut Findings, name: &str, about: &WorkerAbout) {
    match &about.sandbox.why {
        None if about.sandbox.ok => findings.good(name, "sandbox", "the kernel confines commands there"),
        why => findings.bad(
            name,
            "sandbox",
            format!(
                "commands cannot be confined there, so it runs no agents: {}",
                why.as_deref().unwrap_or("unknown")
            ),
            "allow unprivileged user namespaces and Landlock on that machine",
        ),
    }
    match (&about.git, &about.git_missing) {
        (Some(version), _) => findings.good(name, "git", version.clone()),
        (None, why) => findings.bad(
            name,
            "git",
            why.clone().unwrap_or_else(|| "there is none".to_owned()),
            "install git 2.38 or newer on that machine",
        ),
    }
}

fn models(findings: &mut Findings, own: &OwnSide<'_>, worker: &WorkerEntry, about: &WorkerAbout) {
    let name = worker.name.as_str();
    if worker.models == ModelsAt::Home {
        return findings.good(name, "models", "home calls them");
    }
    if !about.lends_models {
        let advice = format!(
            "on that machine: models = \"worker\" in [worker] of its configuration; or here: models = \"home\" in [workers.{name}]"
        );
        let text = "it does not let agents use models of its own, so it takes none";
        return findings.bad(name, "models", text, advice);
    }
    let has = if about.models.is_empty() { "none".to_owned() } else { about.models.join(", ") };
    let lacks: Vec<&str> =
        own.models.iter().filter(|model| !about.models.contains(model)).map(String::as_str).collect();
    if lacks.is_empty() && !about.models.is_empty() {
        return findings.good(name, "models", has);
    }
    let text = match lacks.as_slice() {
        [] => "it has none of its own".to_owned(),
        lacks => format!("it lacks {}, so it takes no agents that use them; it has {has}", lacks.join(", ")),
    };
    let advice =
        format!("configure them there by the same names, or set models = \"home\" in [workers.{name}] here");
    findings.bad(name, "models", text, advice);
}

fn labels(findings: &mut Findings, worker: &WorkerEntry, about: &WorkerAbout) {
    let name = worker.name.as_str();
    let listed = |labels: &BTreeSet<&String>| match labels.is_empty() {
        true => "no labels".to_owned(),
        false => labels.iter().map(|label| label.as_str()).collect::<Vec<_>>().join(", "),
    };
    let (here, there): (BTreeSet<_>, BTreeSet<_>) =
        (worker.labels.iter().collect(), about.labels.iter().collect());
    // Over ssh home gives it its labels when it starts it.
    if worker.ssh.is_none() && !here.is_subset(&there) {
        let advice = format!(
            "give it a file with these labels: posse workers add {name} --labels {}",
            worker.labels.join(",")
        );
        let text = format!("home knows it with {}, and it says {}", listed(&here), listed(&there));
        return findings.bad(name, "has", text, advice);
    }
    let all = here.union(&there).copied().collect();
    findings.good(name, "has", format!("{}; {} agents at a time", listed(&all), about.capacity));
}

/// What a worker behind a broker has from its join file may be older than home's configuration. Each grant says what counts.
fn times(findings: &mut Findings, cluster: &ClusterSettings, name: &str, about: &WorkerAbout) {
    let (Some(lease_ms), Some(renew_ms)) = (about.lease_ms, about.renew_ms) else { return };
    if (lease_ms, renew_ms) == (cluster.lease_ms, cluster.renew_ms) {
        return;
    }
    let times =
        |lease_ms, renew_ms| format!("lease = \"{}\" and renew = \"{}\"", time(lease_ms), time(renew_ms));
    let (own, there) = (times(cluster.lease_ms, cluster.renew_ms), times(lease_ms, renew_ms));
    findings.good(name, "lease", format!("home's count: {own}; its join file says {there}"));
}

/// As it is written in a configuration.
fn time(ms: u64) -> String {
    if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") }
}
