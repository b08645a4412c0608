//! Sessions that several processes want. Each process is this very program, which runs one of its tests again with a
//! variable set. Moments of kills are chance: no seed would bring one back.

#![cfg(test)]
#![allow(clippy::disallowed_types, reason = "the processes of these tests are this program itself")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use uuid::Uuid;

use super::*;

/// Set for the processes that a test starts: the data directory.
const ORDER: &str = "POSSE_TEST_ORDER";

fn session(number: usize) -> SessionId {
    SessionId::from(Uuid::from_u128(1 + number as u128))
}

fn processes(folder: &Path) -> Processes {
    Processes::new(folder.to_path_buf())
}

fn file_of(folder: &Path, session: SessionId) -> PathBuf {
    place(&processes(folder), session).unwrap()
}

/// A session whose process is gone without a word.
fn stale(folder: &Path, session: SessionId) {
    let dead = ProcessId::from(Uuid::now_v7());
    std::fs::write(file_of(folder, session), dead.to_string()).unwrap();
}

fn names(folder: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().into_string().unwrap()).collect()
}

fn again(test: &str, folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &format!("record::session_lock::tests::{test}"), "--nocapture"])
        .env(ORDER, folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn order() -> Option<PathBuf> {
    std::env::var_os(ORDER).map(PathBuf::from)
}

/// Tells the process that started this one; what the test framework says stands on lines of its own.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    writeln!(out, "\nSAID {text}").unwrap();
    out.flush().unwrap();
}

fn heard(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    lines.map_while(Result::ok).filter_map(|line| line.strip_prefix("SAID ").map(str::to_owned))
}

#[test]
fn what_a_file_says_decides_who_has_a_session() {
    let folder = tempfile::tempdir().unwrap();
    let (here, other) = (processes(folder.path()), processes(folder.path()));
    let living = other.own().unwrap().id.to_string();
    let gone = ProcessId::from(Uuid::now_v7()).to_string();
    let cases: [(&[u8], bool); 8] = [
        (b"", false),
        (&living.as_bytes()[..20], false),
        (b"not the name of any process, certain", false),
        (&[0; 36], false),
        (&[0xFF; 36], false),
        (gone.as_bytes(), false),
        (format!("{living} and more").leak().as_bytes(), false),
        (living.as_bytes(), true),
    ];
    for (number, (content, taken)) in cases.into_iter().enumerate() {
        let session = session(number);
        let path = file_of(folder.path(), session);
        std::fs::write(&path, content).unwrap();
        let named = taken.then(|| other.own().unwrap().id);
        assert_eq!((is_at_work(&here, session), process_of(&here, session)), (taken, named), "{content:?}");
        let lock = SessionLock::take(&here, session).unwrap();
        assert_eq!(lock.is_none(), taken, "{content:?}");
        drop(lock);
        assert_eq!(path.exists(), taken, "{content:?}");
    }
}

#[test]
fn a_session_has_one_owner_and_is_free_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (processes(folder.path()), processes(folder.path()));
    let id = one.own().unwrap().id;
    let lock = SessionLock::take(&one, session(1)).unwrap().unwrap();
    for processes in [&one, &two] {
        assert!(SessionLock::take(processes, session(1)).unwrap().is_none());
        assert!(is_at_work(processes, session(1)));
        assert_eq!(process_of(processes, session(1)), Some(id));
    }
    let free = lock.free();
    drop(lock);
    assert!(free.is_cancelled());
    assert_eq!((is_at_work(&two, session(1)), process_of(&one, session(1))), (false, None));
    assert!(SessionLock::take(&two, session(1)).unwrap().is_some());
}

/// So did Posse before it wrote names, and so it does where the disk is full.
#[test]
fn a_locked_file_without_a_name_is_respected() {
    let folder = tempfile::tempdir().unwrap();
    let here = processes(folder.path());
    let path = file_of(folder.path(), session(1));
    let held = File::create(&path).unwrap();
    held.lock().unwrap();
    assert!(is_at_work(&here, session(1)));
    assert!(SessionLock::take(&here, session(1)).unwrap().is_none());
    assert!(path.exists());
    drop(held);
    assert!(!is_at_work(&here, session(1)));
    assert!(SessionLock::take(&here, session(1)).unwrap().is_some());
}

#[cfg(target_os = "linux")]
#[test]
fn a_thousand_sessions_hold_one_open_file() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let here = processes(&root);
    let locks: Vec<_> =
        (0..1000).map(|number| SessionLock::take(&here, session(number)).unwrap().unwrap()).collect();
    let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let ours: Vec<PathBuf> = open
        .filter_map(|entry| std::fs::read_link(entry.path()).ok())
        .filter(|path| path.starts_with(&root))
        .collect();
    assert_eq!(ours, [root.join("processes").join(here.own().unwrap().id.to_string())]);
    assert_eq!((locks.len(), names(&root.join(ALIVE)).len()), (1000, 1000));
    drop((locks, here));
    assert_eq!((names(&root.join(ALIVE)).len(), names(&root.join("processes")).len()), (0, 0));
}

#[cfg(unix)]
#[test]
fn files_and_folders_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let here = processes(folder.path());
    let _lock = SessionLock::take(&here, session(1)).unwrap().unwrap();
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let alive = folder.path().join(ALIVE);
    let all = folder.path().join("processes");
    let own = all.join(here.own().unwrap().id.to_string());
    let modes = [&alive, &all, &alive.join(session(1).to_string()), &own].map(|path| mode(path));
    assert_eq!(modes, [0o700, 0o700, 0o600, 0o600]);
}

#[test]
fn what_the_gone_have_left_is_cleared_and_the_living_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (here, other) = (processes(folder.path()), processes(folder.path()));
    let living = other.own().unwrap();
    let held = SessionLock::take(&other, session(1)).unwrap().unwrap();
    std::fs::write(other.socket(living.id), "").unwrap();
    let all = folder.path().join("processes");
    let gone = Uuid::now_v7().to_string();
    let only_a_socket = format!("{}.sock", Uuid::now_v7());
    for name in [gone.clone(), format!("{gone}.sock"), only_a_socket, "notes.txt".to_owned()] {
        std::fs::write(all.join(name), "").unwrap();
    }
    std::fs::write(file_of(folder.path(), session(2)), &gone).unwrap();
    clear_left(&here);
    let own = here.own().unwrap().id.to_string();
    let left = [living.id.to_string(), format!("{}.sock", living.id), "notes.txt".to_owned(), own];
    assert_eq!(names(&all), left.into());
    assert_eq!(names(&folder.path().join(ALIVE)), [session(1).to_string()].into());
    drop(held);
}

/// Takes every session that it gets, tells which, and holds them until it is let go.
fn take_all(folder: &Path, sessions: usize) {
    let (here, mut line) = (processes(folder), String::new());
    here.own().unwrap();
    say("ready");
    io::stdin().read_line(&mut line).unwrap();
    let locks: Vec<_> =
        (0..sessions).filter_map(|number| SessionLock::take(&here, session(number)).unwrap()).collect();
    say(&locks.iter().map(|lock| lock.session.to_string()).collect::<Vec<_>>().join(" "));
    io::stdin().read_line(&mut line).unwrap();
}

#[test]
fn of_many_processes_that_want_a_stale_session_one_gets_it() {
    const SESSIONS: usize = 500;
    const CHILDREN: usize = 4;
    if let Some(folder) = order() {
        return take_all(&folder, SESSIONS);
    }
    let folder = tempfile::tempdir().unwrap();
    (0..SESSIONS).for_each(|number| stale(folder.path(), session(number)));
    let mut children: Vec<Child> = (0..CHILDREN)
        .map(|_| again("of_many_processes_that_want_a_stale_session_one_gets_it", folder.path()))
        .collect();
    let mut said: Vec<_> = children.iter_mut().map(heard).collect();
    said.iter_mut().for_each(|said| assert_eq!(said.next().as_deref(), Some("ready")));
    children.iter_mut().for_each(|child| writeln!(child.stdin.as_mut().unwrap(), "go").unwrap());
    let taken: Vec<String> = said.iter_mut().map(|said| said.next().unwrap()).collect();
    let mut taken: Vec<&str> = taken.iter().flat_map(|line| line.split_whitespace()).collect();
    taken.sort_unstable();
    let all: Vec<String> = (0..SESSIONS).map(|number| session(number).to_string()).collect();
    assert_eq!(taken, all, "each exactly once");
    for child in &mut children {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
}

/// Takes and frees sessions for ever. Whoever has one locks another file as well, and tells if somebody else has that.
fn take_and_free(folder: &Path, sessions: usize) {
    let mut here = processes(folder);
    for round in 0.. {
        let number = fastrand::usize(..sessions);
        if let Some(lock) = SessionLock::take(&here, session(number)).unwrap() {
            let path = folder.join(format!("witness-{number}"));
            let witness = private_file().create(true).truncate(false).open(path).unwrap();
            say(if witness.try_lock().is_ok() { "one" } else { "two at once" });
            std::thread::yield_now();
            drop(witness);
            drop(lock);
        }
        // A process that ends in good order, and one with a new name.
        if round % 16 == 15 {
            here = processes(folder);
        }
    }
}

#[test]
fn processes_that_are_killed_at_any_moment_leave_nothing_that_blocks() {
    const SESSIONS: usize = 3;
    const KILLS: usize = 24;
    const SIDE_BY_SIDE: usize = 3;
    if let Some(folder) = order() {
        return take_and_free(&folder, SESSIONS);
    }
    let folder = tempfile::tempdir().unwrap();
    let name = "processes_that_are_killed_at_any_moment_leave_nothing_that_blocks";
    let kill_one = || {
        let mut kills = 0;
        for _ in 0..KILLS / SIDE_BY_SIDE {
            let mut child = again(name, folder.path());
            let lines = 1 + fastrand::usize(..40);
            let words: BTreeSet<String> = heard(&mut child).take(lines).collect();
            child.kill().unwrap();
            child.wait().unwrap();
            assert_eq!(words, ["one".to_owned()].into());
            kills += 1;
        }
        kills
    };
    let kills: usize = std::thread::scope(|scope| {
        let lanes: Vec<_> = (0..SIDE_BY_SIDE).map(|_| scope.spawn(kill_one)).collect();
        lanes.into_iter().map(|lane| lane.join().unwrap()).sum()
    });
    assert_eq!(kills, KILLS);
    let here = processes(folder.path());
    for number in 0..SESSIONS {
        assert!(!is_at_work(&here, session(number)));
        drop(SessionLock::take(&here, session(number)).unwrap().unwrap());
    }
    clear_left(&here);
    let own = here.own().unwrap().id.to_string();
    assert_eq!(names(&folder.path().join("processes")), [own].into());
    assert!(names(&folder.path().join(ALIVE)).is_empty());
}
