//! `posse worker`: this machine runs sub-agents of sessions elsewhere, until it is told to end. With `--stdio` its standard output
//! belongs to home, and nothing else is written there.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use posse_cluster::{CLUSTER_VERSION, WorkerCourier, serve};
use posse_setup::{
    BrokerAccess, FleetError, JoinFile, ModelsAt, PREFACE_BYTES, Paths, SandboxAbout, SigningSecret,
    ThisWorker, WorkerAbout, WorkerSettings, WorkerWishes, drain_workers, is_drained, known_models,
    settle_git, undrain_workers,
};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio_util::sync::CancellationToken;

use crate::args::WorkerArgs;
use crate::exit::Exit;
use crate::interrupts::Signals;
use crate::output;

pub(crate) async fn run(paths: &Paths, args: WorkerArgs) -> anyhow::Result<Exit> {
    if args.drain {
        return drain(paths);
    }
    if args.undrain {
        let again = undrain_workers(paths)?;
        let text = if again { "This machine takes agents again.\n" } else { "It was not drained.\n" };
        output::print(text)?;
        return Ok(Exit::Completed);
    }
    let wishes = WorkerWishes {
        name: args.name.clone(),
        labels: args.labels.clone(),
        capacity: args.capacity.map(usize::from),
    };
    let settings = ThisWorker::settings(paths, &wishes)?;
    if args.check {
        output::print_json(&about(paths, &settings).await)?;
        return Ok(Exit::Completed);
    }
    if let Some(of_home) = args.protocol.filter(|of_home| *of_home != CLUSTER_VERSION) {
        bail!(
            "home speaks version {of_home} of the protocol and this posse ({}) version {CLUSTER_VERSION}; use the same \
             posse on both machines: posse workers install {}",
            env!("CARGO_PKG_VERSION"),
            settings.name
        );
    }
    match args.stdio {
        true => over_pipe(paths, settings, &args).await,
        false => over_broker(paths, settings, args.join.as_deref()).await,
    }
}

/// What this machine has, for the doctor of home.
async fn about(paths: &Paths, settings: &WorkerSettings) -> WorkerAbout {
    settle_git(paths, None, &paths.data_dir, true);
    let (sandbox, models) = (SandboxAbout::tried().await, known_models(paths, settings).await);
    let about = WorkerAbout::of_this_machine(settings, sandbox, models).await;
    WorkerAbout { drained: is_drained(paths), ..about }
}

/// Says to this machine and to the workers that run on it that nothing new is taken.
fn drain(paths: &Paths) -> anyhow::Result<Exit> {
    let running = drain_workers(paths)?;
    for process in &running {
        #[cfg(unix)]
        if let Some(process) = i32::try_from(*process).ok().and_then(rustix::process::Pid::from_raw) {
            // One that has just ended needs no word.
            let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
        }
    }
    let told = match running.len() {
        0 => "No worker runs here now.".to_owned(),
        1 => "The worker that runs here finishes what it has, and ends.".to_owned(),
        count => format!("{count} workers that run here finish what they have, and end."),
    };
    output::print(&format!(
        "This machine takes nothing new. {told}\nTo use it again: posse worker --undrain\n"
    ))?;
    Ok(Exit::Completed)
}

/// Serves whoever started it.
async fn over_pipe(paths: &Paths, settings: WorkerSettings, args: &WorkerArgs) -> anyhow::Result<Exit> {
    let mut input = tokio::io::stdin();
    // Whoever logs in here as this user is its owner as well. What this machine signs with as a home itself is another matter.
    let secret = read_preface(&mut input).await?;
    if is_drained(paths) {
        // Home starts it again when it is needed.
        return Err(FleetError::Drained.into());
    }
    if args.own_models && settings.models == ModelsAt::Home {
        return Err(FleetError::KeepsModels.into());
    }
    let cluster = &settings.cluster;
    let owner = args.owner.clone().unwrap_or_else(|| cluster.owner.clone());
    let lease = (args.lease.unwrap_or(cluster.lease_ms), args.renew.unwrap_or(cluster.renew_ms));
    let worker = ThisWorker::prepare(paths, settings, &owner, &secret, lease).await?;
    let pipe = worker.pipe(input, output::for_program()).await?;
    let ended = pipe.ended();
    until_told(worker, pipe, Some(ended)).await
}

/// The first line of home: the owner's secret. Nothing of what came instead is repeated.
async fn read_preface(input: &mut (impl AsyncRead + Unpin)) -> anyhow::Result<SigningSecret> {
    let mut line = [0; PREFACE_BYTES];
    const BY_HOME: &str = "`posse worker --stdio` is started by home over ssh";
    match input.read_exact(&mut line).await {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            bail!("home ended before it said the secret; {BY_HOME}")
        }
        Err(error) => return Err(error).context("home cannot be heard"),
    }
    SigningSecret::from_preface(&line).with_context(|| format!("home did not begin with a secret; {BY_HOME}"))
}

/// Serves all homes of its owner.
async fn over_broker(
    paths: &Paths,
    mut settings: WorkerSettings,
    join: Option<&Path>,
) -> anyhow::Result<Exit> {
    // Commands of agents run as the same user, so its mode alone hides it from nobody.
    let paths = &match join {
        Some(file) => paths.clone().hiding(file)?,
        None => paths.clone(),
    };
    let access = match join {
        Some(file) => {
            let join = JoinFile::read(paths, file)?;
            settings = join.applied_to(settings);
            join.access
        }
        None => BrokerAccess::of_worker(paths, &settings.cluster)?.context(
            "there is nobody to serve: name the file that home made (posse worker --join FILE), or let home start it over ssh",
        )?,
    };
    let name = settings.name.clone();
    let lease = (access.lease_ms, access.renew_ms);
    let worker = ThisWorker::prepare(paths, settings, &access.owner, &access.secret, lease).await?;
    let courier = worker.broker(paths, &access).await;
    let courier = courier.with_context(|| format!("{name} cannot serve at {}", access.address))?;
    let says = format!(
        "{name} serves the agents of {} at {}. Ctrl-C lets it finish what runs, and ends it.\n",
        access.owner, access.address
    );
    output::print_aside(&says)?;
    until_told(worker, courier, None::<std::future::Pending<_>>).await
}

/// Serves until signals or the end of its pipe say otherwise.
async fn until_told(
    worker: ThisWorker,
    courier: Arc<dyn WorkerCourier>,
    ended: Option<impl Future<Output = Result<(), String>>>,
) -> anyhow::Result<Exit> {
    let mut signals = Signals::new()?;
    let (parts, place) = worker.parts(courier)?;
    let (drain, now) = (CancellationToken::new(), CancellationToken::new());
    let mut serving = tokio::spawn(serve(parts, drain.clone(), now.clone()));
    let ended = async {
        match ended {
            Some(ended) => ended.await,
            None => std::future::pending().await,
        }
    };
    tokio::pin!(ended);
    let mut fault = None;
    loop {
        tokio::select! {
            served = &mut serving => {
                served.context("a fault in Posse")?;
                break;
            }
            how = &mut ended, if !now.is_cancelled() => {
                fault = how.err();
                now.cancel();
            }
            () = signals.next(), if !now.is_cancelled() => {
                if drain.is_cancelled() {
                    now.cancel();
                    output::print_aside("Ends at once; what runs is given back.\n")?;
                } else {
                    drain.cancel();
                    output::print_aside("Takes nothing new and finishes what runs. Once more ends at once.\n")?;
                }
            }
        }
    }
    drop(place);
    match fault {
        Some(fault) => Err(Exit::Failed.because(fault)),
        None => Ok(Exit::Completed),
    }
}
