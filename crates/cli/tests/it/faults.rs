//! When the machine misbehaves: a clear error, nothing lost, never a panic.

use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Stdio};

use posse_testkit::Turn;
use serde_json::json;

use crate::posse::{Person, Ran, eventually};

fn no_panic(ran: &Ran) {
    assert!(!ran.stderr.contains("panicked") && ran.code.is_some_and(|code| code < 100), "{ran:#?}");
}

#[test]
fn a_damaged_record_is_named_and_left_alone() {
    let person = Person::new([Turn::text("ok")]);
    fs::create_dir_all(person.data_dir()).unwrap();
    let database = person.data_dir().join("posse.db");
    let garbage = b"this is not a database, and somebody may want to look at it".repeat(100);
    fs::write(&database, &garbage).unwrap();
    for args in [&["run", "go"][..], &["sessions", "list"]] {
        let ran = person.posse(args);
        no_panic(&ran);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        ran.says("posse.db");
    }
    assert_eq!(person.posse(&["doctor"]).code, Some(1));
    assert_eq!(fs::read(&database).unwrap(), garbage, "it was not touched");
    assert_eq!(person.model.calls(), 0);
}

#[test]
fn a_record_that_cannot_be_made_is_named() {
    let person = Person::new([]);
    fs::write(person.data_dir(), "a file where the folder should be").unwrap();
    let ran = person.posse(&["run", "go"]);
    no_panic(&ran);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
}

#[test]
fn the_models_bad_days_end_with_a_typed_error() {
    let cut = Turn::text("I was just about to say something long").cut_after(2);
    let cases = [
        ("garbage", vec![Turn::raw("\u{0}\u{1}garbage\n\n\n")], "✗"),
        ("not an event stream", vec![Turn::status_body(200, json!({"hello": 1}))], "not the Chat protocol"),
        ("cut in the middle", vec![cut.clone(), cut], "before the reply was complete, twice"),
        (
            "bad request",
            vec![Turn::status_body(400, json!({"error": {"message": "no such model"}}))],
            "no such model",
        ),
        ("not found", vec![Turn::status(404)], "404"),
    ];
    for (name, turns, says) in cases {
        let person = Person::new(turns);
        let ran = person.posse(&["run", "go"]);
        no_panic(&ran);
        assert_eq!(ran.code, Some(1), "{name}: {ran:#?}");
        ran.says(says);
        person.posse(&["sessions", "list"]).says("failed");
    }
}

#[test]
fn a_cut_reply_is_asked_for_once_more_and_then_what_had_arrived_is_kept() {
    let text = "first part of the answer ".repeat(40);
    let cut = || Turn::text(&text).split_every(64).cut_after(4);
    let person = Person::new([cut(), Turn::text("the whole answer")]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!((ran.code, person.model.calls()), (Some(0), 2), "{ran:#?}");
    assert!(ran.stdout.contains("the whole answer"), "{ran:#?}");
    ran.says("the reply broke off; trying again");
    person.posse(&["sessions", "show", "last"]).says("retry 1");
    let person = Person::new([cut(), cut(), Turn::text("never asked for")]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!((ran.code, person.model.calls()), (Some(1), 2), "{ran:#?}");
    assert!(ran.stdout.contains("first part"), "the partial answer is printed: {ran:#?}");
}

/// Holds the record's lock as long as it lives.
fn hold_lock(person: &Person) -> std::process::Child {
    let program = "import sqlite3, sys, time\nc = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=20)\n\
                   c.execute('BEGIN IMMEDIATE')\nprint('held', flush=True)\ntime.sleep(120)";
    let mut child = Command::new("python3")
        .args(["-c", program, person.data_dir().join("posse.db").to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut word = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut word).unwrap();
    child
}

#[test]
fn a_locked_record_is_said_to_be_locked() {
    let person = Person::new([
        Turn::call("shell", json!({"command": "touch began; while [ ! -e go ]; do sleep 0.05; done"})),
        Turn::text("All done."),
    ]);
    let child = person.spawn(&["run", "go"]);
    eventually("the command runs", || person.project.path().join("began").exists());
    let mut holder = hold_lock(&person);
    fs::write(person.project.path().join("go"), "").unwrap();
    let ran = Ran::from(child.wait_with_output().unwrap());
    holder.kill().unwrap();
    holder.wait().unwrap();
    no_panic(&ran);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("is locked by another program");
    assert!(!ran.stderr.contains("completed") && !ran.stderr.contains("ran      "), "{ran:#?}");
}

/// A disk of its own, small enough to be filled; only root can have one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn at(folder: &Path, size: &str) -> Option<Self> {
        fs::create_dir_all(folder).unwrap();
        let size = format!("size={size}");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &size, "posse-test"]).arg(folder).stderr(Stdio::null());
        mount.status().unwrap().success().then(|| Self(folder.to_path_buf()))
    }

    /// Leaves no room at all.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        while std::io::Write::write_all(&mut file, &[0; 512]).is_ok() {}
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_session_that_died_on_a_full_disk_is_not_shown_as_running() {
    let person = Person::new([Turn::text("never comes to its end").stall_after(1)]);
    let Some(disk) = SmallDisk::at(&person.data_dir(), "8m") else { return };
    let mut child = person.spawn(&["run", "go"]);
    eventually("it is on record", || person.posse(&["sessions", "list"]).stdout.contains("running"));
    eventually("the model is asked", || person.model.calls() > 0);
    disk.fill();
    child.kill().unwrap();
    child.wait().unwrap();
    for args in [&["sessions", "list"][..], &["tasks"]] {
        let ran = person.posse(args);
        no_panic(&ran);
        assert_eq!(ran.code, Some(0), "{ran:#?}");
        ran.says("interrupted");
        assert!(!ran.stdout.contains("running"), "{ran:#?}");
    }
    // Whoever died has given some of it back.
    disk.fill();
    let doctor = person.posse(&["doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("cannot be written");
    doctor.says("make room on that disk");
}

#[test]
fn doctor_writes_to_the_data_folder_and_leaves_nothing() {
    let person = Person::new([]);
    fs::write(person.data_dir(), "a file where the folder should be").unwrap();
    let ran = person.posse(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:#?}");
    ran.says("cannot be written");
    fs::remove_file(person.data_dir()).unwrap();
    person.posse(&["doctor"]).says("made at the first run");
    let left = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b".posse-");
    let names = fs::read_dir(person.data_dir()).into_iter().flatten().flatten();
    assert!(names.into_iter().all(|entry| !left(&entry.file_name())));
}

/// Runs posse as an ordinary user under limits; root is not held to all of them.
fn limited(person: &Person, limits: &str, args: &str) -> Ran {
    let folder = tempfile_folder(person);
    let program = folder.join("posse");
    if !program.exists() {
        fs::copy(env!("CARGO_BIN_EXE_posse"), &program).unwrap();
    }
    let line = format!("cd /; {limits}; exec {} {args}", program.display());
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "timeout", "60", "bash", "-c", &line]);
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").env("HOME", &folder);
    command.env("POSSE_HOME", folder.join("data"));
    Ran::from(command.output().unwrap())
}

/// A folder that everybody can write, beside the project.
fn tempfile_folder(person: &Person) -> std::path::PathBuf {
    use std::os::unix::fs::PermissionsExt as _;
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    open(person.project.path(), 0o755);
    let folder = person.project.path().join("everybody");
    fs::create_dir_all(&folder).unwrap();
    open(&folder, 0o777);
    folder
}

#[test]
fn limits_of_the_system_end_in_a_plain_word() {
    let is_root = fs::read_to_string("/proc/self/status").unwrap().contains("\nUid:\t0\t");
    if !is_root {
        return;
    }
    let person = Person::new([]);
    let mut ran = 0;
    for limits in ["ulimit -u 1", "ulimit -u 2", "ulimit -u 3", "ulimit -n 6", "ulimit -n 8", "ulimit -n 20"]
    {
        for args in ["demo --fast", "sessions list", "doctor", "run hello"] {
            let ended = limited(&person, limits, args);
            assert!(!ended.stderr.contains("panicked"), "{limits} {args}: {ended:#?}");
            assert_eq!(ended.code, Some(2), "{limits} {args}: {ended:#?}");
            ended.says(if limits.contains("-u") { "threads can be started" } else { "files can be opened" });
            ran += 1;
        }
    }
    assert_eq!(ran, 24);
}

#[test]
fn what_a_killed_posse_was_writing_goes_with_the_next_start() {
    let person = Person::new([Turn::call("shell", json!({"command": "sleep 1"})), Turn::text("done")]);
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::create_dir_all(person.data_dir()).unwrap();
    let left = [person.project.path().to_path_buf(), person.data_dir()]
        .map(|folder| folder.join(".posse-00112233445566aa.tmp"));
    for path in &left {
        fs::write(path, "half").unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(person.posse(&["run", "go"]).code, Some(0));
    assert!(left.iter().all(|path| !path.exists()));
}

#[test]
fn calls_the_model_got_wrong_are_answered_not_run() {
    let person = Person::new([
        Turn::call("no_such_tool", json!({})),
        Turn::call("read_file", json!({"path": 7, "nope": true})),
        Turn::call("read_file", json!({"path": "../../etc/passwd"})),
        Turn::text("I give up."),
    ]);
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("There is no tool no_such_tool");
    let last = person.model.requests().pop().unwrap().json().to_string();
    assert!(!last.contains("root:"), "{last}");
}

#[test]
fn invalid_utf8_everywhere() {
    let project = posse_testkit::Fixture::new().file("odd.txt", b"caf\xe9\nline two\n").git();
    let person = Person::with_project(
        [
            Turn::call("read_file", json!({"path": "odd.txt"})),
            Turn::call("shell", json!({"command": "printf 'a\\377b\\n'"})),
            Turn::call("edit_file", json!({"path": "odd.txt", "old_text": "line two", "new_text": "line 2"})),
            Turn::text("done"),
        ],
        project,
    );
    let ran = person.posse(&["run", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let bytes = fs::read(person.project.path().join("odd.txt")).unwrap();
    assert_eq!(bytes, b"caf\xe9\nline 2\n", "bytes outside the edit stay");
}
