//! Sessions in a process without a terminal: how they start, what ends them, and what a crash leaves.

use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_testkit::{FakeModel, Fixture, Turn, processes_with};

use crate::posse::{Person, Ran, eventually};

/// A session that was left in the background, and its process.
pub(crate) struct Background<'a> {
    pub(crate) person: &'a Person,
    pub(crate) id: String,
    mark: String,
}

impl<'a> Background<'a> {
    pub(crate) fn start(person: &'a Person, more: &[&str]) -> Self {
        let mark = format!("mark-{}", person.data_dir().display());
        let args = [&["run", "--background", "--json"], more, &[mark.as_str()]].concat();
        let ran = person.posse(&args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
        let id = ran.events()[0]["session"].as_str().unwrap().to_owned();
        Self { person, id, mark }
    }

    /// A command about the session, with its id in the place of `ID`.
    pub(crate) fn posse(&self, args: &[&str]) -> Ran {
        let args = args.iter().map(|arg| if *arg == "ID" { &self.id } else { *arg }).collect::<Vec<_>>();
        self.person.posse(&args)
    }

    /// The last characters of the id, as people see it.
    pub(crate) fn short(&self) -> &str {
        &self.id[self.id.len() - 8..]
    }

    pub(crate) fn status(&self) -> String {
        let listed = self.person.posse(&["sessions", "list", "--json"]).events();
        let row = listed.into_iter().find(|row| row["session"] == self.id.as_str()).unwrap();
        row["status"].as_str().unwrap().to_owned()
    }

    pub(crate) fn until(&self, status: &str) {
        eventually(status, || self.status() == status);
    }

    /// Its processes: one, or none.
    pub(crate) fn processes(&self) -> Vec<u32> {
        processes_with(&self.mark)
    }

    pub(crate) fn signal(&self, name: &str) {
        for id in self.processes() {
            Command::new("kill").args([&format!("-{name}"), &id.to_string()]).status().unwrap();
        }
    }

    pub(crate) fn until_gone(&self) {
        eventually("the end of the process", || self.processes().is_empty());
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.signal("KILL");
    }
}

#[test]
fn it_starts_says_how_to_reach_it_rests_and_is_stopped() {
    let person = Person::new([Turn::text("It prints hi.")]);
    let ran = person.posse(&["run", "--background", "what does it print?"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:#?}");
    let id = ran.stdout.split_whitespace().nth(1).unwrap().to_owned();
    let expected = format!(
        "session {id} works in the background\n  follow   posse attach {id}\n  say      posse tell {id} \"…\"\n  \
         answer   posse answer {id}\n  stop     posse stop {id}\n"
    );
    assert_eq!(ran.stdout, expected);
    eventually("rest", || person.posse(&["sessions", "list"]).stdout.contains("resting"));
    person.posse(&["resume", &id, "more"]).says("is open in another process; posse tell ");
    let stopped = person.posse(&["stop", &id]);
    assert_eq!((stopped.code, stopped.stderr.as_str()), (Some(0), ""), "{stopped:#?}");
    stopped.says(&format!("the session {id} is stopped; posse resume {id} \"…\" continues it"));
    let again = person.posse(&["stop", &id]);
    assert_eq!(again.code, Some(1), "{again:#?}");
    again.says(&format!("the session {id} has ended; posse resume {id} \"…\" continues it"));
}

#[test]
fn what_prevents_the_start_is_said_with_its_exit_code() {
    let person = Person::new([]);
    let cases: [(&[&str], i32, &str); 4] = [
        (&["run", "--background", "--model", "none-such", "go"], 2, "none-such"),
        (&["run", "--background", "-C", "no/folder", "go"], 2, "cannot open the folder"),
        (&["run", "--background", " "], 2, "the prompt is empty"),
        (&["resume", "--background"], 2, "no sessions yet"),
    ];
    let mut tried = 0;
    for (args, code, says) in cases {
        let ran = person.posse(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(code), ""), "{args:?}: {ran:#?}");
        ran.says(says);
        tried += 1;
    }
    assert_eq!(tried, 4);
    assert!(!person.data_dir().join("logs").exists(), "nothing ran");
}

#[test]
fn the_prompt_may_come_from_a_pipe_and_nothing_stays_open() {
    let person = Person::new([Turn::text("Done.")]);
    let ran = person.posse_with_stdin(&["run", "--background", "-q", "sum up"], b"the piped text");
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    let asked = person.model.requests()[0].json().to_string();
    assert!(asked.contains("sum up\\n\\nthe piped text"), "{asked}");
    let id = ran.stdout.trim();
    let log = person.data_dir().join("logs").join(format!("{id}.log"));
    assert_eq!(log.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    eventually("a line in the log", || std::fs::read_to_string(&log).unwrap().contains("  rests: "));
    person.posse(&["stop", id]);
    eventually("the end in the log", || std::fs::read_to_string(&log).unwrap().contains("  ended: "));
}

#[test]
fn it_closes_after_it_has_rested_for_long_enough() {
    let person = Person::new([Turn::text("Done.")]);
    let background = Background::start(&person, &["--rest-at-most", "1s"]);
    background.until("completed");
    background.until_gone();
    let said = background.posse(&["tell", "ID", "more"]);
    assert_eq!(said.code, Some(1), "{said:#?}");
    said.says(&format!("the session {0} has ended; posse resume {0} \"…\" continues it", background.short()));
}

#[test]
fn asked_to_end_at_work_it_can_be_resumed_and_at_rest_it_is_closed() {
    let go_on = Arc::new(AtomicBool::new(false));
    let person = Person::new([Turn::text("never").after(&go_on), Turn::text("Done.")]);
    let background = Background::start(&person, &[]);
    // Closing a terminal does not reach it.
    background.signal("HUP");
    eventually("a request", || person.model.requests().len() == 1);
    background.signal("TERM");
    background.until_gone();
    assert_eq!(background.status(), "interrupted");
    let sockets = || std::fs::read_dir(person.data_dir().join("processes")).unwrap().count();
    assert_eq!(sockets(), 0, "nothing is left behind");
    go_on.store(true, Ordering::Relaxed);
    let resumed = background.posse(&["resume", "ID", "--background", "-q"]);
    assert_eq!((resumed.code, resumed.stdout.trim()), (Some(0), background.id.as_str()), "{resumed:#?}");
    background.until("resting");
    let id = &background.id;
    processes_with(id).iter().for_each(|process| {
        Command::new("kill").args(["-TERM", &process.to_string()]).status().unwrap();
    });
    background.until("completed");
}

#[test]
fn a_killed_process_is_noticed_and_its_session_goes_on() {
    let go_on = Arc::new(AtomicBool::new(false));
    let person = Person::new([Turn::text("never").after(&go_on)]);
    let background = Background::start(&person, &[]);
    eventually("a request", || person.model.requests().len() == 1);
    let attached = background.person.spawn(&["attach", &background.id]);
    eventually("a follower", || background.posse(&["tasks", "ID"]).stdout.contains("main"));
    background.signal("KILL");
    background.until_gone();
    let attached = Ran::from(attached.wait_with_output().unwrap());
    assert_eq!(attached.code, Some(1), "{attached:#?}");
    let id = background.short();
    attached.says(&format!("posse resume {id} continues it"));
    let cases: [&[&str]; 6] = [
        &["attach", "ID"],
        &["tell", "ID", "hello"],
        &["stop", "ID"],
        &["answer", "ID"],
        &["tasks", "--follow", "ID"],
        &["tell", "ID", "--withdraw", "1"],
    ];
    let mut tried = 0;
    for args in cases {
        let ran = background.posse(args);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{args:?}: {ran:#?}");
        ran.says(&format!("no process runs the session {id}; posse resume {id} continues it"));
        tried += 1;
    }
    assert_eq!(tried, 6);
    let left = std::fs::read_dir(person.data_dir().join("processes")).unwrap().count();
    assert_eq!(left, 0, "the socket and the file of the killed process are removed");
    person.model.push(Turn::text("Done after all."));
    go_on.store(true, Ordering::Relaxed);
    let resumed = background.posse(&["resume", "ID", "-q"]);
    assert_eq!((resumed.code, resumed.stdout.as_str()), (Some(0), "Done after all.\n"), "{resumed:#?}");
}

#[test]
fn it_outlives_the_terminal_it_was_started_from() {
    let model = FakeModel::by_rule_blocking(|_| Turn::text("Done."));
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n"));
    let mark = format!("mark-{}", person.data_dir().display());
    let template = person.command(&[]);
    let posse = env!("CARGO_BIN_EXE_posse");
    // `script` gives it a terminal, which is gone when the shell in it has ended.
    let ran = Command::new("script")
        .args(["-qefc", &format!("{posse} run --background -q {mark}"), "/dev/null"])
        .current_dir(person.project.path())
        .env_clear()
        .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let ran = Ran::from(ran);
    let background = Background { person: &person, id: ran.stdout.trim().to_owned(), mark };
    background.until("resting");
    let told = background.posse(&["tell", "ID", "again"]);
    assert_eq!(told.code, Some(0), "{told:#?}");
    eventually("another answer", || person.model.requests().len() == 2);
    // Helpers that it forks have the same arguments.
    let process = background.processes()[0];
    let open = |number: u32| std::fs::read_link(format!("/proc/{process}/fd/{number}")).unwrap();
    assert_eq!(open(0), std::path::Path::new("/dev/null"));
    assert!(open(1).ends_with(format!("logs/{}.log", background.id)), "{:?}", open(1));
    assert_eq!(open(1), open(2));
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = stat.rsplit(") ").next().unwrap().split(' ').collect::<Vec<_>>();
    assert_eq!((fields[3], fields[4]), (process.to_string().as_str(), "0"), "its own session, no terminal");
}
