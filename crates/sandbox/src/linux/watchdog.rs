//! Holds all confined commands of this process together to their share of the machine, where the kernel does not.
//!
//! ```text
//! watch ─► Watched ─► looked at every moment ─► above the share: the one that uses most is ended, with a note
//!             └─────► dropped: not looked at any more
//! ```
//! The kernel's own limits come first: a cgroup for the session where one can be made, and limits on each process
//! everywhere. What those do not hold is memory in many small processes of an ordinary user, and the disk.

use std::{
    collections::BTreeMap,
    io,
    net::Shutdown,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError},
    thread,
    time::Duration,
};

use super::{
    machine::{self, Disk},
    usage::CommandUsage,
};
use crate::{Share, limits};

/// One command that is being looked at. Dropping it ends that.
pub(crate) struct Watched {
    id: u64,
    note: Arc<Mutex<Option<String>>>,
}

impl Drop for Watched {
    fn drop(&mut self) {
        if let Some(watch) = WATCH.get() {
            watch.commands().list.remove(&self.id);
        }
    }
}

impl Watched {
    /// Why it was ended, if it was.
    pub(crate) fn note(&self) -> Option<String> {
        self.note.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A command as the watchdog knows it.
#[derive(Debug)]
struct One {
    supervisor: i32,
    /// Cut to end it.
    leash: UnixStream,
    /// Where it can write to a disk.
    writes: Option<PathBuf>,
    share: Share,
    note: Arc<Mutex<Option<String>>>,
    ended: bool,
}

#[derive(Debug, Default)]
struct Commands {
    next: u64,
    list: BTreeMap<u64, One>,
    /// What is to stay free of each disk; decided when it was first written to, so that no command wears it down.
    reserves: BTreeMap<u64, u64>,
}

#[derive(Debug, Default)]
struct Watch {
    commands: Mutex<Commands>,
    came: Condvar,
}

static WATCH: OnceLock<Watch> = OnceLock::new();

impl Watch {
    fn commands(&self) -> MutexGuard<'_, Commands> {
        self.commands.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at a command from now on. Without a thread to do so there is no command.
pub(crate) fn watch(
    supervisor: i32,
    leash: UnixStream,
    share: Share,
    writes: Option<&Path>,
) -> io::Result<Watched> {
    static THREAD: Mutex<bool> = Mutex::new(false);
    let watch = WATCH.get_or_init(Watch::default);
    let mut begun = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    if !*begun {
        thread::Builder::new().name("posse-limits".into()).spawn(|| look_on(watch))?;
        *begun = true;
    }
    drop(begun);
    let note = Arc::default();
    let mut commands = watch.commands();
    let id = commands.next;
    commands.next += 1;
    let writes = writes.map(Path::to_path_buf);
    let one = One { supervisor, leash, writes, share, note: Arc::clone(&note), ended: false };
    commands.reserve(&one);
    commands.list.insert(id, one);
    watch.came.notify_all();
    Ok(Watched { id, note })
}

impl Commands {
    /// Decides what is to stay free of the disk that a command writes to.
    fn reserve(&mut self, one: &One) {
        if let Some(disk) = one.writes.as_deref().and_then(Disk::of) {
            let reserve = disk.reserve(&one.share);
            let known = self.reserves.entry(disk.id).or_insert(reserve);
            *known = one.share.disk_free_bytes.unwrap_or(*known);
        }
    }
}

fn look_on(watch: &Watch) {
    let mut pause = Duration::from_millis(limits::WATCH_MS);
    loop {
        let commands = watch.commands();
        let commands = watch.came.wait_while(commands, |commands| commands.list.is_empty());
        drop(commands.unwrap_or_else(PoisonError::into_inner));
        thread::sleep(pause);
        let close = look(watch);
        pause = Duration::from_millis(if close { limits::WATCH_CLOSE_MS } else { limits::WATCH_MS });
    }
}

/// Looks at all commands, and ends one if they use too much. Says whether they come close to it.
fn look(watch: &Watch) -> bool {
    // Not looked at with the list held: starting a command must not wait for this.
    let running: Vec<(u64, i32)> = {
        let commands = watch.commands();
        commands.list.iter().filter(|(_, one)| !one.ended).map(|(id, one)| (*id, one.supervisor)).collect()
    };
    let used: Vec<(u64, CommandUsage)> =
        running.into_iter().map(|(id, pid)| (id, CommandUsage::of(pid))).collect();
    let share = watch.share();
    let checks = [of_processes(&used, &share), of_memory(&used, &share), of_disk(watch, &used)];
    let close = checks.iter().any(|check| matches!(check, Check::Close | Check::Above(..)));
    for check in checks {
        if let Check::Above(id, reason) = check {
            watch.end(id, reason);
            break;
        }
    }
    close
}

/// What came of a look at one thing.
enum Check {
    Fine,
    /// More than half of the share is used.
    Close,
    /// This one is to be ended, for that reason.
    Above(u64, String),
}

fn of_processes(used: &[(u64, CommandUsage)], share: &Share) -> Check {
    let most = share.processes.unwrap_or(u64::MAX);
    let sum: u64 = used.iter().map(|(_, usage)| usage.tasks).sum();
    match used.iter().max_by_key(|(_, usage)| usage.tasks) {
        Some((id, usage)) if sum > most => {
            let reason = format!(
                "the commands of this session had {sum} processes and threads, of {most} that they may have together; \
                 this one had {}",
                usage.tasks
            );
            Check::Above(*id, reason)
        }
        _ if sum > most / 2 => Check::Close,
        _ => Check::Fine,
    }
}

fn of_memory(used: &[(u64, CommandUsage)], share: &Share) -> Check {
    let most = share.memory_bytes.unwrap_or(u64::MAX);
    let at_most: u64 = used.iter().map(|(_, usage)| usage.memory_at_most()).sum();
    let left = machine::memory("MemAvailable:").unwrap_or(u64::MAX);
    let too_little = machine::memory("MemTotal:").unwrap_or(0) / 100 * limits::MEMORY_LEFT_PERCENT;
    if at_most <= most && left >= too_little {
        return if at_most > most / 2 || left / 2 < too_little { Check::Close } else { Check::Fine };
    }
    // Only now, because to find out exactly takes a while.
    let exact: Vec<(u64, u64)> = used.iter().map(|(id, usage)| (*id, usage.memory())).collect();
    let sum: u64 = exact.iter().map(|(_, bytes)| bytes).sum();
    let Some((id, bytes)) = exact.into_iter().max_by_key(|(_, bytes)| *bytes) else { return Check::Fine };
    if sum > most {
        let (sum, most, bytes) = (shown(sum), shown(most), shown(bytes));
        let reason = format!(
            "the commands of this session used {sum} of memory, of {most} that they may use together; this one used {bytes}"
        );
        Check::Above(id, reason)
    } else if left < too_little && bytes > too_little {
        let reason = format!(
            "the machine had only {} of memory left; this command used {}",
            shown(left),
            shown(bytes)
        );
        Check::Above(id, reason)
    } else {
        Check::Close
    }
}

fn of_disk(watch: &Watch, used: &[(u64, CommandUsage)]) -> Check {
    let (folders, reserves) = {
        let commands = watch.commands();
        let writes = |(id, one): (&u64, &One)| Some((*id, one.writes.clone()?));
        (commands.list.iter().filter_map(writes).collect::<BTreeMap<_, _>>(), commands.reserves.clone())
    };
    let mut check = Check::Fine;
    let writers = used.iter().filter_map(|(id, usage)| Some((*id, usage, Disk::of(folders.get(id)?)?)));
    let mut blamed: Option<(u64, u64, Disk, u64)> = None;
    for (id, usage, disk) in writers {
        let reserve = reserves.get(&disk.id).copied().unwrap_or(0);
        if disk.free_bytes / 2 < reserve {
            check = Check::Close;
        }
        if disk.free_bytes >= reserve {
            continue;
        }
        let written = usage.written();
        let counts = if written < limits::DISK_BLAME_BYTES_MIN { 0 } else { written };
        // Who wrote nothing is not ended for what others wrote, in this session or elsewhere. Some room can be taken without
        // writing, by very many names: where hardly any is left it was the last one that came, since before it there was more.
        if counts == 0 && disk.free_bytes >= reserve / 2 {
            continue;
        }
        if blamed.as_ref().is_none_or(|(_, most, ..)| counts >= *most) {
            blamed = Some((id, counts, disk, reserve));
        }
    }
    if let Some((id, _, disk, reserve)) = blamed {
        let reason = format!(
            "the disk of the workspace had {} left, and commands leave {} of it free; make room there before you run it again",
            shown(disk.free_bytes),
            shown(reserve)
        );
        return Check::Above(id, reason);
    }
    check
}

impl Watch {
    /// The smallest share that any of the running commands was given.
    fn share(&self) -> Share {
        let commands = self.commands();
        let shares = || commands.list.values().map(|one| one.share);
        Share {
            memory_bytes: shares().filter_map(|share| share.memory_bytes).min(),
            processes: shares().filter_map(|share| share.processes).min(),
            disk_free_bytes: None,
        }
    }

    fn end(&self, id: u64, reason: String) {
        if let Some(one) = self.commands().list.get_mut(&id) {
            one.ended = true;
            *one.note.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("ended: {reason}"));
            let _ = one.leash.shutdown(Shutdown::Write);
        }
    }
}

fn shown(bytes: u64) -> String {
    match bytes >> 30 {
        0 => format!("{} MiB", bytes >> 20),
        _ => format!("{}.{} GiB", bytes >> 30, (bytes >> 20) % 1024 * 10 / 1024),
    }
}
