//! Which processes there are on this machine, seen from outside any sandbox.

/// The ids of processes with this text among their arguments, this process excepted. Zombies have none.
pub fn processes_with(argument: &str) -> Vec<u32> {
    let own = std::process::id();
    let has = |id: &u32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).split('\0').any(|part| part.contains(argument))
    };
    all().filter(|id| *id != own).filter(has).collect()
}

/// The ids of processes in this group. Zombies are none.
pub fn living_in_group(group: u32) -> Vec<u32> {
    let group = group.to_string();
    let is_in = |id: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        // Its name may hold anything, in parentheses; then come state, parent, group.
        let mut fields = stat.rsplit(") ").next().unwrap_or_default().split(' ');
        let state = fields.next().unwrap_or("X");
        !matches!(state, "Z" | "X" | "") && fields.nth(1) == Some(group.as_str())
    };
    all().filter(is_in).collect()
}

fn all() -> impl Iterator<Item = u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Runs a program to its end. Gives back what it printed, errors behind the rest, however it ended.
///
/// # Panics
/// If there is no such program.
#[allow(clippy::disallowed_types)]
pub fn run(program: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new(program).args(arguments).output();
    let output = output.unwrap_or_else(|error| panic!("{program} cannot be run: {error}"));
    [output.stdout, output.stderr].iter().map(|bytes| String::from_utf8_lossy(bytes)).collect()
}
