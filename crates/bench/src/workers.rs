//! Sub-agents on worker processes: what they cost beside the same agents in one process, how soon they begin, and how many a home
//! can have.
//!
//! Home and its workers are processes of their own, which are this program again, so that neither the fake model nor whoever measures
//! counts. Variables of the environment choose other sizes, to try things out:
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `POSSE_BENCH_WORKERS` | `8x200x25x1` | worker processes, agents of each, how many of these at the same time, rounds |
//! | `POSSE_BENCH_COURIER` | `nats` | `nats` for a broker on this machine, `pipe` for sockets |
//! | `POSSE_BENCH_LARGE_MB` | `1024` | the size of the large repository |
//! | `POSSE_BENCH_PLAN` | `100x400` | agents at which home is measured with real workers |
//! | `POSSE_BENCH_SIMULATED` | `400x10000` | agents at which it is measured with workers that only pretend |
//! | `POSSE_BENCH_ONLY` | all | `first`, `large`, `fleet`, `plan`, with commas between |

mod counting;
mod first;
mod fleet;
mod home;
mod model;
mod plan;
mod processes;
mod simulated;
mod transport;

pub(crate) use home::{HOME, SIMULATED, WORKER, home, worker};
pub(crate) use simulated::simulated;

use anyhow::Context as _;

use crate::ResultLine;
use fleet::FleetSize;
use transport::Transport;

pub(crate) fn measure() -> anyhow::Result<Vec<ResultLine>> {
    let (transport, _broker) = Transport::chosen(&chosen("COURIER", "nats"))?;
    let only = chosen("ONLY", "first,large,fleet,plan");
    let is_wanted = |part: &str| only.split(',').any(|wanted| wanted == part);
    let mut lines = Vec::new();
    if is_wanted("first") {
        lines.extend(first::small(&transport)?);
    }
    if is_wanted("large") {
        lines.extend(first::large(chosen("LARGE_MB", "1024").parse()?, &transport)?);
    }
    if is_wanted("fleet") {
        let [workers, agents, running, rounds] = numbers("WORKERS", "8x200x25x1")?[..] else {
            anyhow::bail!("POSSE_BENCH_WORKERS has four numbers, as in 8x200x25x1")
        };
        lines.extend(fleet::measure(FleetSize { workers, agents, running, rounds }, &transport)?);
    }
    if is_wanted("plan") {
        let sizes = plan::PlanSizes {
            real: numbers("PLAN", "100x400")?,
            simulated: numbers("SIMULATED", "400x10000")?,
        };
        lines.extend(plan::measure(&sizes, &transport)?);
    }
    Ok(lines)
}

fn chosen(name: &str, usual: &str) -> String {
    std::env::var(format!("POSSE_BENCH_{name}")).unwrap_or_else(|_| usual.to_owned())
}

fn numbers(name: &str, usual: &str) -> anyhow::Result<Vec<usize>> {
    let text = chosen(name, usual);
    text.split('x')
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().with_context(|| format!("{text} is not made of numbers")))
        .collect()
}
