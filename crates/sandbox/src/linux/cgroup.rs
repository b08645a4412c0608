//! A cgroup for all commands of a session, and in it one for each command: limits that hold for all processes together.
//!
//! Best effort, where this process may make one: elsewhere rlimits hold for each process, and the watchdog looks at the
//! rest. Knows version 2 where it is delegated to us, and the memory and pids hierarchies of version 1 where they are writable.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use crate::{ResourceLimits, limits};

const ROOT: &str = "/sys/fs/cgroup";
/// What the groups of commands are called, before the number of the process that made them.
const PREFIX: &str = "posse-";
/// What those of sessions are called, before the number of the process that the commands are for.
const SESSION: &str = "posse-session-";

/// The folders of one command's cgroup: one, or one for each hierarchy. Dropping it removes them, and those of the session
/// if it was the last command in there.
pub(crate) struct Cgroup {
    folders: Vec<PathBuf>,
    sessions: Vec<PathBuf>,
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
        // The kernel refuses as long as there is another command in it.
        self.sessions.iter().for_each(|session| drop(fs::remove_dir(session)));
    }
}

/// Files of a group and what to write to each.
type Settings<'a> = &'a [(&'a str, &'a str)];

/// Where a group for the session is to be, and its settings and those of the command's.
struct Place<'a> {
    parent: PathBuf,
    session: Settings<'a>,
    command: Settings<'a>,
}

impl Cgroup {
    /// Makes one in the group of the session, each with its limits set.
    pub(crate) fn make(most: &ResourceLimits) -> io::Result<Self> {
        let own = fs::read_to_string("/proc/self/cgroup")?;
        let [memory, processes] = [most.memory_bytes, most.processes].map(|number| number.to_string());
        // The kernel cannot tell which command is to blame, and ends any. The watchdog can, so it comes first.
        let later = |number: u64| number.saturating_add(number / limits::SESSION_MARGIN_PART).to_string();
        let whole = |number: Option<u64>| number.map_or_else(|| "max".to_owned(), later);
        let [all_memory, all_processes] = [most.session.memory_bytes, most.session.processes].map(whole);
        // Beside version 1 there may be a version 2 without controllers, at another place: it is of no use.
        if is_cgroup(Path::new(ROOT))
            && let Some(path) = own.lines().find_map(|line| line.strip_prefix("0::/"))
        {
            let own = Path::new(ROOT).join(path);
            let command: Settings<'_> = &[("memory.max", &memory), ("pids.max", &processes)];
            let session: Settings<'_> = &[
                ("memory.max", &all_memory),
                ("pids.max", &all_processes),
                ("cgroup.subtree_control", "+memory +pids"),
            ];
            // A group with processes of its own cannot hand out limits, so a sister is tried before a child.
            for parent in
                own.parent().filter(|parent| parent.starts_with(ROOT)).into_iter().chain([own.as_path()])
            {
                if let Ok(group) = Self::at(&[Place { parent: parent.to_owned(), session, command }]) {
                    return Ok(group);
                }
            }
        }
        let of = |controller: &str| {
            let lines = own.lines().filter_map(|line| line.split_once(':').map(|(_, rest)| rest));
            let mut paths = lines.filter_map(|line| line.split_once(":/"));
            let path = paths.find(|(names, _)| names.split(',').any(|known| known == controller))?.1;
            Some(Path::new(ROOT).join(controller).join(path))
        };
        let (Some(of_memory), Some(of_pids)) = (of("memory"), of("pids")) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let all_memory = if all_memory == "max" { "-1" } else { all_memory.as_str() };
        Self::at(&[
            Place {
                parent: of_memory,
                session: &[("memory.limit_in_bytes", all_memory)],
                command: &[("memory.limit_in_bytes", &memory)],
            },
            Place {
                parent: of_pids,
                session: &[("pids.max", &all_processes)],
                command: &[("pids.max", &processes)],
            },
        ])
    }

    fn at(places: &[Place<'_>]) -> io::Result<Self> {
        let mut made = Self { folders: Vec::new(), sessions: Vec::new(), doors: Vec::new() };
        // The parent of the process that confines is the one that it does so for.
        let whose = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        for place in places {
            if !is_cgroup(&place.parent) {
                return Err(io::ErrorKind::NotFound.into());
            }
            sweep(&place.parent);
            let session = place.parent.join(format!("{SESSION}{whose}"));
            let folder = session.join(format!("{PREFIX}{}", std::process::id()));
            make_both(&session, &folder, place.session)?;
            made.sessions.push(session);
            made.folders.push(folder.clone());
            set(&folder, place.command)?;
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

/// Makes the group of a command, and that of its session if it is not there. The last command of a session removes both,
/// which may be just now.
fn make_both(session: &Path, folder: &Path, settings: Settings<'_>) -> io::Result<()> {
    let mut made = Err(io::ErrorKind::NotFound.into());
    for _ in 0..limits::CGROUP_TRIES {
        match fs::create_dir(session) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // Also where it was there: whoever made it may not have come to this yet.
        made = set(session, settings).and_then(|()| fs::create_dir(folder));
        if !made.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            break;
        }
    }
    if made.is_err() {
        let _ = fs::remove_dir(session);
    }
    made
}

fn set(folder: &Path, settings: Settings<'_>) -> io::Result<()> {
    settings.iter().try_for_each(|(file, value)| fs::write(folder.join(file), value))
}

/// Removes what processes that were killed have left. The kernel refuses where a process is still in there; one that was
/// made a moment ago may be waiting for its first.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let session = name.strip_prefix(SESSION);
        let Some(maker) = session.or_else(|| name.strip_prefix(PREFIX)) else { continue };
        let old =
            entry.metadata().and_then(|found| found.modified()).ok().and_then(|made| made.elapsed().ok());
        let old = old.is_some_and(|age| age > Duration::from_millis(limits::CGROUP_LEFT_MS));
        if old && !Path::new("/proc").join(maker).exists() {
            if session.is_some() {
                sweep(&entry.path());
            }
            let _ = fs::remove_dir(entry.path());
        }
    }
}
