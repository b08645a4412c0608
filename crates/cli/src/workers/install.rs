//! `posse workers install`: puts the running posse on a machine that ssh reaches, whole or not at all.

use std::time::Duration;

use anyhow::{Context as _, bail};
use posse_setup::{Paths, SshTarget};

use super::asked::{NoAnswer, ask};
use super::reach;
use crate::exit::Exit;
use crate::limits::{REMOTE_ANSWER_MS_MAX, REMOTE_COPY_MS_MAX};
use crate::output::{self, grouped, visible};

/// Where it goes if nothing else is configured.
const USUAL: &str = "~/.local/bin/posse";

pub(super) async fn run(paths: &Paths, name: &str) -> anyhow::Result<Exit> {
    let (_, workers) = super::all(paths)?;
    let target = super::by_ssh(&workers, name, "install posse there yourself")?;
    same_system(paths, name, &target).await?;
    let program = std::env::current_exe().context("this program cannot be found")?;
    let bytes = tokio::fs::read(&program).await.context("this program cannot be read")?;
    let (length, digest) = (bytes.len(), sha256(&bytes));
    let place = if target.program.contains('/') { target.program.clone() } else { USUAL.to_owned() };
    let line = script(&place, &digest);
    let copied =
        reach::shell(paths, &target, &line, bytes, Duration::from_millis(REMOTE_COPY_MS_MAX)).await?;
    if !copied.ok {
        bail!("{name}: {place} was not written: {}", copied.trouble());
    }
    let version = match ask(paths, &target).await? {
        Ok(about) => format!("posse {} answers there.", about.version),
        Err(NoAnswer::Unreachable(why) | NoAnswer::NoPosse(why) | NoAnswer::OtherPosse(why)) => {
            bail!("{name}: {place} is written, and does not answer: {why}")
        }
    };
    let text = format!(
        "{name}: wrote {place}, {} bytes. {version}\nWhat it lacks, if anything: posse workers doctor {name}\n",
        grouped(length as u64)
    );
    output::print(&visible(&text))?;
    Ok(Exit::Completed)
}

/// Refuses a machine on which this program cannot run.
async fn same_system(paths: &Paths, name: &str, target: &SshTarget) -> anyhow::Result<()> {
    let patience = Duration::from_millis(REMOTE_ANSWER_MS_MAX);
    let asked = reach::shell(paths, target, "uname -sm", Vec::new(), patience).await?;
    if !asked.ok {
        bail!("{name} is not reached: {}", asked.trouble());
    }
    let there = asked.stdout.lines().last().unwrap_or_default().trim().to_owned();
    let here = own_system();
    if there != here {
        bail!("{name} is {}, and this is {here}; install posse there yourself", output::one_line(&there, 60));
    }
    Ok(())
}

/// This machine, as uname says it.
fn own_system() -> String {
    #[cfg(unix)]
    {
        let own = rustix::system::uname();
        format!("{} {}", own.sysname().to_string_lossy(), own.machine().to_string_lossy())
    }
    #[cfg(not(unix))]
    {
        format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
    }
}

/// Writes standard input beside the place, checks it, and moves it there. The place is one word that a shell leaves as it is.
fn script(place: &str, digest: &str) -> String {
    format!(
        "set -e; to={place}; mkdir -p \"$(dirname \"$to\")\"; new=\"$to.$$.new\"; trap 'rm -f \"$new\"' EXIT; cat > \"$new\"; \
         echo \"{digest}  $new\" | sha256sum -c - >/dev/null; chmod 755 \"$new\"; mv -f \"$new\" \"$to\""
    )
}

fn sha256(bytes: &[u8]) -> String {
    posse_cluster::BlobId::of(bytes).map(|id| id.to_string()).unwrap_or_default()
}
