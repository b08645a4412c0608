//! What this machine has, and what of it the commands of a session may use.
//!
//! The numbers are those of the surroundings this process runs in: a container with less than the machine counts.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rustix::process::{Resource, getrlimit};

use crate::{ResourceLimits, Share, limits};

/// What there is.
#[derive(Clone, Copy, Debug)]
struct Machine {
    memory_bytes: u64,
    processes: u64,
}

/// The limits of a command and of its session on this machine, all of them given.
pub(crate) fn fitted(wanted: ResourceLimits, workspace: &Path) -> ResourceLimits {
    let session = share(wanted.session);
    let (memory, processes) =
        (session.memory_bytes.unwrap_or(u64::MAX), session.processes.unwrap_or(u64::MAX));
    let disk = Disk::of(workspace);
    let room = disk.map_or(u64::MAX, |disk| disk.free_bytes.saturating_sub(disk.reserve(&session)));
    ResourceLimits {
        memory_bytes: wanted.memory_bytes.min(memory),
        processes: wanted.processes.min(processes),
        file_bytes: wanted.file_bytes.min(room.max(limits::FILE_BYTES_MIN)),
        // Half, so that a full private folder alone does not use up everything.
        tmp_bytes: wanted.tmp_bytes.min(memory / 2),
        session,
        ..wanted
    }
}

/// A session's share with the machine's numbers for what is not given. What is left free on a disk depends on the disk.
pub(crate) fn share(wanted: Share) -> Share {
    static MACHINE: OnceLock<Machine> = OnceLock::new();
    let machine = MACHINE.get_or_init(Machine::look);
    let memory = machine.memory_bytes / 100 * limits::SESSION_MEMORY_PERCENT;
    let processes = (machine.processes / limits::SESSION_PROCESSES_PART).min(limits::SESSION_PROCESSES_MAX);
    Share {
        memory_bytes: Some(wanted.memory_bytes.unwrap_or(memory)),
        processes: Some(wanted.processes.unwrap_or(processes)),
        disk_free_bytes: wanted.disk_free_bytes,
    }
}

impl Machine {
    fn look() -> Self {
        let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
        let kernel = ["pid_max", "threads-max"].map(|name| number(&format!("/proc/sys/kernel/{name}")));
        // The kernel does not hold root to this one.
        let of_user = getrlimit(Resource::Nproc).current.filter(|_| !rustix::process::geteuid().is_root());
        let processes = kernel.into_iter().chain([of_user]).flatten().min();
        let memory = memory("MemTotal:").into_iter().chain(around()).min();
        Self { memory_bytes: memory.unwrap_or(u64::MAX), processes: processes.unwrap_or(u64::MAX) }
    }
}

/// The memory limits of all the groups that this process is in.
fn around() -> Vec<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(names), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, file) = match names {
            "" => (PathBuf::from("/sys/fs/cgroup"), "memory.max"),
            names if names.split(',').any(|name| name == "memory") => {
                (PathBuf::from("/sys/fs/cgroup/memory"), "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let folder = root.join(path.trim_start_matches('/'));
        let all = folder.ancestors().take_while(|folder| folder.starts_with(&root));
        found.extend(
            all.filter_map(|folder| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok()),
        );
    }
    found
}

/// A line of the kernel's list of memory, in bytes.
pub(crate) fn memory(line: &str) -> Option<u64> {
    let list = fs::read_to_string("/proc/meminfo").ok()?;
    let found = list.lines().find_map(|one| one.strip_prefix(line))?;
    Some(found.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// The disk that a folder is on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    /// Which one it is.
    pub(crate) id: u64,
    pub(crate) free_bytes: u64,
    size_bytes: u64,
}

impl Disk {
    pub(crate) fn of(folder: &Path) -> Option<Self> {
        let id = std::os::unix::fs::MetadataExt::dev(&folder.metadata().ok()?);
        let found = rustix::fs::statvfs(folder).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Some(Self { id, free_bytes: bytes(found.f_bavail), size_bytes: bytes(found.f_blocks) })
    }

    /// What of it is to stay free, as things are now.
    pub(crate) fn reserve(&self, session: &Share) -> u64 {
        let usual = (self.size_bytes / 100 * limits::DISK_FREE_PERCENT).max(limits::DISK_FREE_BYTES_MIN);
        session.disk_free_bytes.unwrap_or_else(|| usual.min(self.free_bytes / 2))
    }
}
