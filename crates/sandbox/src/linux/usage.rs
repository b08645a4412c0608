//! What a confined command uses, seen from outside: its processes, its memory, and what it has written.
//!
//! Its processes are those below its supervisor: process 1 takes in every orphan, so none gets away from there.

use std::{
    collections::HashSet,
    ffi::OsString,
    fs,
    os::unix::{ffi::OsStringExt, fs::MetadataExt},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};

use crate::limits;

/// What one command uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CommandUsage {
    /// Its processes, the outermost first.
    pub(crate) processes: Vec<i32>,
    /// Processes and threads.
    pub(crate) tasks: u64,
    /// Resident memory, what is shared counted with everybody who shares it.
    pub(crate) resident_bytes: u64,
    /// What is in its private folders and in files without a name, which are memory.
    pub(crate) files_bytes: u64,
}

impl CommandUsage {
    /// Looks at all below a supervisor.
    pub(crate) fn of(supervisor: i32) -> Self {
        let mut usage = Self::default();
        let mut to_visit = children(supervisor);
        while let Some(pid) = to_visit.pop() {
            if usage.processes.len() >= limits::WATCH_PROCESSES_MAX {
                break;
            }
            let Some((threads, pages)) = threads_and_pages(pid) else { continue };
            usage.processes.push(pid);
            usage.tasks += threads;
            usage.resident_bytes += pages * rustix::param::page_size() as u64;
            to_visit.extend(children(pid));
        }
        let folders = usage.processes.iter().find_map(|pid| private_folders(*pid)).unwrap_or(0);
        usage.files_bytes = folders + nameless(&usage.processes);
        usage
    }

    /// More than what it really uses, or exactly that; quickly had.
    pub(crate) fn memory_at_most(&self) -> u64 {
        self.resident_bytes + self.files_bytes
    }

    /// What it really uses: what is shared is counted once. Slow.
    pub(crate) fn memory(&self) -> u64 {
        let processes = self.processes.iter();
        let own = processes.map(|pid| proportional(*pid).unwrap_or_else(|| resident(*pid)));
        self.files_bytes + own.sum::<u64>()
    }

    /// What its processes, and those they have waited for, have written to disks.
    pub(crate) fn written(&self) -> u64 {
        let texts =
            self.processes.iter().filter_map(|pid| fs::read_to_string(format!("/proc/{pid}/io")).ok());
        let numbers = texts.filter_map(|text| {
            text.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.trim().parse::<u64>().ok())
        });
        numbers.sum()
    }
}

/// The children of all threads of a process.
fn children(parent: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| list.split_whitespace().filter_map(|one| one.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn threads_and_pages(pid: i32) -> Option<(u64, u64)> {
    let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name before it may be any bytes.
    let rest = &text[text.iter().rposition(|byte| *byte == b')')? + 1..];
    let fields: Vec<&str> = std::str::from_utf8(rest).ok()?.split_whitespace().collect();
    // Counted from the third field of the whole line.
    Some((fields.get(17)?.parse().ok()?, fields.get(21)?.parse().ok()?))
}

fn resident(pid: i32) -> u64 {
    threads_and_pages(pid).map_or(0, |(_, pages)| pages * rustix::param::page_size() as u64)
}

/// Memory with each shared page divided among those who share it, and what was swapped out.
fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let of = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    Some((of("Pss:")? + of("SwapPss:").unwrap_or(0)) * 1024)
}

/// Memory in files that have no name in any folder and need not be mapped, each counted once. With very many processes
/// only the outermost are asked; what the others hide is noticed when the machine has little left.
fn nameless(processes: &[i32]) -> u64 {
    let processes = processes.iter().take(limits::WATCH_FILES_OF_MAX);
    let open = processes.flat_map(|pid| fs::read_dir(format!("/proc/{pid}/fd"))).flatten().flatten();
    let mut seen = HashSet::new();
    let sizes = open.filter_map(|entry| {
        let path = entry.path();
        let target = fs::read_link(&path).ok()?;
        target.as_os_str().as_encoded_bytes().starts_with(b"/memfd:").then_some(())?;
        let found = path.metadata().ok()?;
        seen.insert(found.ino()).then_some(found.blocks() * 512)
    });
    sizes.sum()
}

/// What is in the private folders that a process sees and this one does not.
fn private_folders(pid: i32) -> Option<u64> {
    let own: HashSet<OsString> =
        mounts(Path::new("/proc/self/mountinfo"))?.into_iter().map(|one| one.device).collect();
    let root = PathBuf::from(format!("/proc/{pid}/root"));
    let (mut bytes, mut views, mut seen) = (0, 0, HashSet::new());
    for mount in mounts(&PathBuf::from(format!("/proc/{pid}/mountinfo")))? {
        if own.contains(&mount.device) || !seen.insert(mount.device.clone()) {
            continue;
        }
        let relative = mount.at.strip_prefix("/").ok()?;
        let used = || used_in(&root.join(relative), &mount.device);
        match mount.kind.as_str() {
            "tmpfs" if mount.whole => bytes += used()?,
            // All throw-away views write to one folder, and each tells of all that is in there.
            "overlay" => views = used()?.max(views),
            _ => {}
        }
    }
    Some(bytes + views)
}

/// What is used of a device that is seen at a path: nothing where another one covers it. None if nobody can look there.
fn used_in(path: &Path, device: &OsString) -> Option<u64> {
    let seen = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let at = rustix::fs::fstat(&seen).ok()?.st_dev;
    if *device != *format!("{}:{}", rustix::fs::major(at), rustix::fs::minor(at)) {
        return Some(0);
    }
    let found = rustix::fs::fstatvfs(&seen).ok()?;
    Some(found.f_blocks.saturating_sub(found.f_bfree) * found.f_frsize)
}

/// A line of a process's list of mounts.
struct Mount {
    device: OsString,
    /// Whether it shows all of its device.
    whole: bool,
    at: PathBuf,
    kind: String,
}

fn mounts(list: &Path) -> Option<Vec<Mount>> {
    let text = fs::read(list).ok()?;
    let lines = text.split(|byte| *byte == b'\n');
    Some(lines.filter_map(|line| mount(&line.split(|byte| *byte == b' ').collect::<Vec<_>>())).collect())
}

fn mount(fields: &[&[u8]]) -> Option<Mount> {
    let kind = fields.iter().position(|field| *field == b"-")? + 1;
    Some(Mount {
        device: OsString::from_vec(fields.get(2)?.to_vec()),
        whole: *fields.get(3)? == b"/",
        at: OsString::from_vec(unescaped(fields.get(4)?)).into(),
        kind: String::from_utf8_lossy(fields.get(kind)?).into_owned(),
    })
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[3..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    bytes
}
