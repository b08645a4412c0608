//! Asks a worker behind ssh what it is, and says whether home can use one.

use posse_cluster::CLUSTER_VERSION;
use posse_setup::{Paths, SshTarget, WorkerAbout};

use super::reach;

/// The code with which ssh itself ends.
const SSH_FAILED: i32 = 255;
/// The codes of a shell that finds no program, or cannot run it.
const NOT_FOUND: [i32; 2] = [126, 127];

/// Why nothing was said.
pub(super) enum NoAnswer {
    /// The machine cannot be reached.
    Unreachable(String),
    /// There is no posse.
    NoPosse(String),
    /// What is there does not know the question.
    OtherPosse(String),
}

/// Asks a worker about itself.
pub(super) async fn ask(paths: &Paths, target: &SshTarget) -> anyhow::Result<Result<WorkerAbout, NoAnswer>> {
    let said = reach::posse(paths, target, &["worker", "--check"]).await?;
    let why = || said.trouble();
    Ok(match said.code {
        Some(0) => {
            let line = said.stdout.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
            WorkerAbout::read(line).map_err(NoAnswer::OtherPosse)
        }
        None | Some(SSH_FAILED) => Err(NoAnswer::Unreachable(why())),
        Some(code) if NOT_FOUND.contains(&code) => Err(NoAnswer::NoPosse(why())),
        Some(_) => Err(NoAnswer::OtherPosse(why())),
    })
}

/// Why home cannot use a worker, if so.
pub(super) fn unusable(about: &WorkerAbout) -> Option<String> {
    if about.protocol != CLUSTER_VERSION {
        return Some(format!("speaks version {} of the protocol, not {CLUSTER_VERSION}", about.protocol));
    }
    if !about.sandbox.ok {
        return Some(format!("no sandbox: {}", about.sandbox.why.as_deref().unwrap_or("unknown")));
    }
    if about.git.is_none() {
        return Some("no git that can be used".to_owned());
    }
    about.drained.then(|| "drained".to_owned())
}
