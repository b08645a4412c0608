//! `posse workers doctor`: looks at the files, the workers and the broker of home, and says what is wrong and what to do about it.

use std::time::Duration;

use posse_engine::project_of;
use posse_setup::{
    BrokerState, Config, HeardWorker, Paths, SandboxAbout, WorkerAnswer, WorkerEntry, kept_home,
    known_workers, look_at_broker, needed_models, worker_file_faults,
};

use super::asked::{NoAnswer, ask};
use super::broker_judged::{judge_broker, judge_room};
use super::findings::Findings;
use super::judged::{OwnSide, judge, other_version, same_posse};
use crate::exit::Exit;
use crate::limits::HELLO_WAIT_MS;
use crate::output::{self, Style};

/// What findings about home are about.
const HERE: &str = "this machine";

pub(super) async fn run(paths: &Paths, name: Option<&str>, json: bool) -> anyhow::Result<Exit> {
    let config = Config::load(paths, paths.surroundings().folder()?)?;
    let cluster = config.cluster(paths)?;
    // A list that cannot be read is a finding.
    let workers = super::with_known(&cluster, known_workers(paths).unwrap_or_default());
    let chosen = match name {
        Some(name) => vec![super::named(&workers, name)?],
        None => workers,
    };
    let own = OwnSide { cluster: &cluster, models: needed_models(paths, &config) };
    let mut findings = Findings::default();
    let alone = chosen.is_empty() && cluster.nats.is_none();
    let usable = alone || files(&mut findings, paths, &own);
    if !alone {
        own_machine(&mut findings, paths, &config, &own).await?;
    }
    for worker in chosen.iter().filter(|worker| worker.ssh.is_some()) {
        by_ssh(&mut findings, paths, &own, worker).await?;
    }
    let by_broker: Vec<&WorkerEntry> = chosen.iter().filter(|worker| worker.ssh.is_none()).collect();
    // Without its files home cannot speak there, and that was said.
    if usable && (!by_broker.is_empty() || (name.is_none() && cluster.nats.is_some())) {
        broker(&mut findings, paths, &own, &by_broker).await;
    }
    if json {
        findings.print_json()?;
    } else {
        output::print(&findings.told(Style::for_stdout()))?;
    }
    Ok(if findings.has_bad() { Exit::Failed } else { Exit::Completed })
}

/// Whether sessions here, in this folder, let agents run elsewhere.
async fn own_machine(
    findings: &mut Findings,
    paths: &Paths,
    config: &Config,
    own: &OwnSide<'_>,
) -> anyhow::Result<()> {
    // Git runs confined, so that without a sandbox nothing is packed.
    if let Some(why) = SandboxAbout::tried().await.why {
        let text = format!("commands cannot be confined here, so no files are sent to workers: {why}");
        findings.bad(HERE, "sandbox", text, "allow unprivileged user namespaces and Landlock (posse doctor)");
    }
    let folder = paths.surroundings().folder()?;
    let credentials = own.cluster.nats.as_ref().and_then(|nats| nats.credentials.as_ref());
    if let Some(file) = credentials.filter(|file| file.starts_with(project_of(folder))) {
        let text =
            format!("{} is in this project, so it gets into commits and to workers", paths.shown(file));
        findings.bad(HERE, "files", text, "keep it in its usual place, beside your configuration");
    }
    if let Some(why) = kept_home(paths, folder, config)? {
        let advice = "until that is otherwise, agents of sessions in this folder run on this machine";
        findings.note(HERE, "sessions", why, advice);
    }
    Ok(())
}

/// Whether sessions accept the private files that are here.
fn files(findings: &mut Findings, paths: &Paths, own: &OwnSide<'_>) -> bool {
    let faults = worker_file_faults(paths, own.cluster);
    for fault in &faults {
        let advice = "until that is repaired, sessions use no workers; if somebody else may have read it, make a new one";
        findings.bad(HERE, "files", fault.to_string(), advice);
    }
    if faults.is_empty() {
        findings.good(HERE, "files", "what is secret is yours alone");
    }
    faults.is_empty()
}

async fn by_ssh(
    findings: &mut Findings,
    paths: &Paths,
    own: &OwnSide<'_>,
    worker: &WorkerEntry,
) -> anyhow::Result<()> {
    let Some(target) = &worker.ssh else { return Ok(()) };
    let (name, host) = (worker.name.as_str(), target.host.as_str());
    let answer = ask(paths, target).await?;
    if let Err(NoAnswer::Unreachable(why)) = &answer {
        let words = [target.options.as_slice(), &[target.host.clone(), "true".to_owned()]].concat();
        let advice = format!("make this work without a password: ssh {}", words.join(" "));
        findings.bad(name, "ssh", format!("{host} is not reached: {why}"), advice);
        return Ok(());
    }
    findings.good(name, "ssh", format!("{host} is reached"));
    let program = &target.program;
    let wrong = match answer {
        Ok(about) => {
            judge(findings, own, worker, &about);
            return Ok(());
        }
        Err(NoAnswer::NoPosse(why)) => format!("{program} is not there: {why}"),
        Err(NoAnswer::OtherPosse(why) | NoAnswer::Unreachable(why)) => {
            format!("{program} does not say what it is: {why}")
        }
    };
    findings.bad(name, "posse", wrong, same_posse(worker));
    Ok(())
}

async fn broker(findings: &mut Findings, paths: &Paths, own: &OwnSide<'_>, workers: &[&WorkerEntry]) {
    let address = own.cluster.nats.as_ref().map_or("none", |nats| nats.address.as_str());
    let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
    let state = look_at_broker(paths, own.cluster, &names, Duration::from_millis(HELLO_WAIT_MS)).await;
    let BrokerState { findings: seen, room, heard } = match state {
        Ok(state) => state,
        Err(error) if error.to_string().contains("authorization violation") => {
            let advice = "write the user and the password that home has there into workers/nats.toml beside your configuration, and \
                          chmod 600 it";
            return findings.bad(address, "broker", error.to_string(), advice);
        }
        Err(error) => {
            let advice = "check that the server runs, and nats, nats_credentials and nats_ca in [cluster]; off this machine it has \
                          to encrypt (tls)";
            return findings.bad(address, "broker", error.to_string(), advice);
        }
    };
    judge_broker(findings, address, &seen);
    judge_room(findings, address, room);
    for worker in workers {
        let name = worker.name.as_str();
        match heard.get(name) {
            Some(WorkerAnswer::Hello(says)) => by_broker(findings, own, worker, says),
            Some(WorkerAnswer::OtherVersion(version)) => other_version(findings, worker, "it", *version),
            Some(WorkerAnswer::Unreadable) => findings.bad(
                name,
                "heard",
                "it is there, and what it says cannot be read: it has another secret, or another version of posse",
                format!("let it join again: posse workers add {name}; or {}", same_posse(worker)),
            ),
            None => findings.bad(
                name,
                "heard",
                format!("it was not heard for {} s", HELLO_WAIT_MS / 1_000),
                format!("on that machine: posse worker --join {name}.join"),
            ),
        }
    }
}

/// A worker that was heard.
fn by_broker(findings: &mut Findings, own: &OwnSide<'_>, worker: &WorkerEntry, says: &HeardWorker) {
    let name = worker.name.as_str();
    let runs = format!("{} agents at a time, {} now", says.capacity, says.running);
    findings.good(name, "heard", runs);
    if let Some(about) = &says.about {
        return judge(findings, own, worker, about);
    }
    let text = format!("posse {} there tells nothing of its sandbox, git and models", says.version);
    findings.note(name, "posse", text, same_posse(worker));
    if says.drained {
        let undo = format!("posse workers drain {name} --undo");
        findings.bad(name, "state", "it is drained and takes nothing", undo);
    }
}
