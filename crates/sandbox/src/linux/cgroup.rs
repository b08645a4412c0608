//! A cgroup for one command, where this process may make one: limits that hold for all its processes together.
//!
//! Best effort: rlimits hold for each process where there is none. Knows version 2 where it is delegated to us, and the
//! memory and pids hierarchies of version 1 where they are writable.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{ResourceLimits, limits};

const ROOT: &str = "/sys/fs/cgroup";
/// What our groups are called, before the number of the process that made them.
const PREFIX: &str = "posse-";

/// The folders of one command's cgroup: one, or one for each hierarchy. Dropping it removes them.
pub(crate) struct Cgroup {
    folders: Vec<PathBuf>,
    /// Open files through which a process goes in by itself. To move another would make the kernel wait for all its
    /// processors, which takes longer than all else.
    doors: Vec<File>,
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        let end = Instant::now() + Duration::from_millis(limits::CGROUP_REMOVE_MS);
        for folder in &self.folders {
            // The kernel may take a moment to let go of processes that are already reaped.
            while fs::remove_dir(folder).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
                && Instant::now() < end
            {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
    }
}

impl Cgroup {
    /// Makes one, with its limits set.
    pub(crate) fn make(limits: &ResourceLimits) -> io::Result<Self> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let name = format!("{PREFIX}{}", std::process::id());
        let memory = limits.memory_bytes.to_string();
        let processes = limits.processes.to_string();
        // Beside version 1 there may be a version 2 without controllers, at another place: it is of no use.
        if is_cgroup(Path::new(ROOT))
            && let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/"))
        {
            let own = Path::new(ROOT).join(path);
            // A group with processes of its own cannot hand out limits, so a sister is tried before a child.
            for parent in
                own.parent().filter(|parent| parent.starts_with(ROOT)).into_iter().chain([own.as_path()])
            {
                let files = [("memory.max", memory.as_str()), ("pids.max", processes.as_str())];
                if let Ok(group) = Self::at(&[parent.join(&name)], &[&files]) {
                    return Ok(group);
                }
            }
        }
        let of = |controller: &str| {
            let lines = own.lines().filter_map(|line| line.split_once(':').map(|(_, rest)| rest));
            let mut paths = lines.filter_map(|line| line.split_once(":/"));
            let path = paths.find(|(names, _)| names.split(',').any(|known| known == controller))?.1;
            Some(Path::new(ROOT).join(controller).join(path).join(&name))
        };
        let (Some(of_memory), Some(of_pids)) = (of("memory"), of("pids")) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let memory = [("memory.limit_in_bytes", memory.as_str())];
        Self::at(&[of_memory, of_pids], &[&memory, &[("pids.max", processes.as_str())]])
    }

    fn at(folders: &[PathBuf], files: &[&[(&str, &str)]]) -> io::Result<Self> {
        let mut made = Self { folders: Vec::new(), doors: Vec::new() };
        for (folder, files) in folders.iter().zip(files) {
            let parent = folder.parent().filter(|parent| is_cgroup(parent)).ok_or(io::ErrorKind::NotFound)?;
            sweep(parent);
            fs::create_dir(folder)?;
            made.folders.push(folder.clone());
            for (file, value) in *files {
                fs::write(folder.join(file), value)?;
            }
            let door = ["tasks", "cgroup.procs"]
                .map(|name| folder.join(name))
                .into_iter()
                .find(|path| path.exists());
            made.doors.push(File::options().write(true).open(door.ok_or(io::ErrorKind::NotFound)?)?);
        }
        Ok(made)
    }

    /// Puts this process, and with it all it will start, into it.
    pub(crate) fn enter(&self) -> io::Result<()> {
        self.doors.iter().try_for_each(|mut door| door.write_all(b"0"))
    }

    /// What came of the limits, if they were reached.
    pub(crate) fn note(&self) -> Option<String> {
        let files = ["memory.events", "memory.oom_control"];
        let paths = self.folders.iter().flat_map(|folder| files.map(|file| folder.join(file)));
        let texts = paths.filter_map(|path| fs::read_to_string(path).ok()).collect::<String>();
        let kills =
            texts.lines().filter_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
        let reached = kills.sum::<u64>() > 0;
        reached.then(|| "a process was ended because the command reached its memory limit".to_owned())
    }
}

/// Whether a folder is the kernel's, and not one of the same name in some other file system.
fn is_cgroup(folder: &Path) -> bool {
    const MAGIC: [i64; 2] = [0x6367_7270, 0x0027_e0eb];
    rustix::fs::statfs(folder).is_ok_and(|found| MAGIC.contains(&found.f_type))
}

/// Removes what supervisors that were killed have left. The kernel refuses where a process is still in there; one that
/// was made a moment ago may be waiting for its first.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(maker) = name.to_str().and_then(|name| name.strip_prefix(PREFIX)) else { continue };
        let old =
            entry.metadata().and_then(|found| found.modified()).ok().and_then(|made| made.elapsed().ok());
        let old = old.is_some_and(|age| age > Duration::from_millis(limits::CGROUP_LEFT_MS));
        if old && !Path::new("/proc").join(maker).exists() {
            let _ = fs::remove_dir(entry.path());
        }
    }
}
