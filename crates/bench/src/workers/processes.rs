//! What processes take, by the kernel's own figures.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;

/// The kernel counts processor time in ticks of 10 ms.
const TICK_MS: f64 = 10.0;

struct Taken {
    parent: u32,
    own_ms: f64,
    /// With those that it has waited for.
    all_ms: f64,
}

fn taken(process: u32) -> Option<Taken> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program, in brackets, may hold anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<f64>().ok();
    let own = number(11)? + number(12)?;
    let waited = number(13)? + number(14)?;
    Some(Taken {
        parent: fields.get(1)?.parse().ok()?,
        own_ms: own * TICK_MS,
        all_ms: (own + waited) * TICK_MS,
    })
}

/// The processor time of a process, without others that it has started.
pub(super) fn own_cpu_ms(process: u32) -> f64 {
    taken(process).map_or(0.0, |taken| taken.own_ms)
}

/// The processor time of a process and of everything that it has started and waited for, or that still runs; without some of them.
pub(super) fn cpu_ms(process: u32, without: &[u32]) -> f64 {
    let all: HashMap<u32, Taken> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|id| Some((id, taken(id)?)))
        .collect();
    let (mut sum, mut open) = (0.0, vec![process]);
    while let Some(id) = open.pop() {
        sum += all.get(&id).map_or(0.0, |taken| taken.all_ms);
        open.extend(
            all.iter()
                .filter(|(child, taken)| taken.parent == id && !without.contains(child))
                .map(|(id, _)| *id),
        );
    }
    sum
}

/// A line of what the kernel says of a process, in MB.
pub(super) fn memory_mb(process: u32, what: &str) -> anyhow::Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(what)).context("no memory of a process")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? / 1024.0)
}

/// How many commits a database has had since it was opened: a number that SQLite keeps beside the write-ahead log.
pub(super) fn commits(data: &Path) -> anyhow::Result<u64> {
    for entry in std::fs::read_dir(data)?.flatten() {
        if entry.file_name().to_string_lossy().ends_with("-shm") {
            let bytes = std::fs::read(entry.path())?;
            let count =
                bytes.get(8..12).and_then(|four| four.try_into().ok()).context("no count of commits")?;
            return Ok(u64::from(u32::from_le_bytes(count)));
        }
    }
    anyhow::bail!("no write-ahead log in {}", data.display())
}

/// The processor time of the threads of a process that have this name.
pub(super) fn thread_cpu_ms(process: u32, name: &str) -> f64 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let is_named =
        |task: &Path| std::fs::read_to_string(task.join("comm")).is_ok_and(|found| found.trim() == name);
    let used = tasks.map(|task| task.path()).filter(|task| is_named(task)).filter_map(|task| {
        let text = std::fs::read_to_string(task.join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    used.sum::<f64>() / 1e6
}

/// The broker that whoever started this process has started, too.
pub(super) fn broker() -> Option<u32> {
    let parent = taken(std::process::id())?.parent;
    let ids = std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_broker = |id: &u32| {
        let name = std::fs::read_to_string(format!("/proc/{id}/comm"));
        name.is_ok_and(|name| name.trim() == "nats-server")
            && taken(*id).is_some_and(|taken| taken.parent == parent)
    };
    ids.into_iter().find(is_broker)
}
