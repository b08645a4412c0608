//! A session with one honest agent on an honest worker, and victims on a hostile one: what it is attacked with is given, and what
//! must be as always afterwards is checked here.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use posse_cluster::LeaseTimes;
use posse_engine::{Engine, Session};
use posse_protocol::{AgentId, Ending, Event, EventKind, Update};
use posse_testkit::{Fixture, Turn, asker};
use serde_json::json;

use super::foe::{Attack, Foe, Held};
use crate::stage::{REPORT, Ran, Stage, on_branch};

/// What must not be on record: everything that is made up says it.
pub(super) const FORGED: &str = "FORGED";
/// What must not be the name of a file anywhere.
pub(super) const EVIL: &str = "evil";

pub(super) type Play = fn(Held, Arena) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// One attempt: an agent that a hostile worker has, what it does with it, and how the agent must end.
pub(super) struct Attempt {
    pub(super) name: &'static str,
    pub(super) comes: Comes,
    pub(super) play: Play,
}

/// How the victim of an attempt ends.
#[derive(Clone, Copy)]
pub(super) enum Comes {
    /// As if nothing had been tried.
    Completed,
    /// Home ends it, with these words.
    Failed(&'static str),
}

/// What attacks know beyond their own agent: more than a worker would.
#[derive(Clone, Default)]
pub(super) struct Arena {
    pub(super) workspace: PathBuf,
    pub(super) ids: Arc<Mutex<HashMap<String, AgentId>>>,
    /// Model calls that home made, by the agents that they were for.
    pub(super) called: Arc<Mutex<HashMap<String, usize>>>,
}

impl Arena {
    /// The id of an agent, once it is admitted.
    pub(super) async fn id(&self, name: &str) -> AgentId {
        loop {
            if let Some(id) = self.ids.lock().unwrap().get(name) {
                return *id;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    pub(super) fn calls_of(&self, name: &str) -> usize {
        self.called.lock().unwrap().get(name).copied().unwrap_or(0)
    }
}

pub(super) struct Ground {
    pub(super) stage: Stage,
    pub(super) arena: Arena,
    gate: Arc<AtomicBool>,
    before: Seen,
}

/// Whether an attack is over and the honest agent may go on.
struct Over(Arc<AtomicUsize>, usize, Arc<AtomicBool>);

impl Drop for Over {
    fn drop(&mut self) {
        if self.0.fetch_add(1, Ordering::SeqCst) + 1 >= self.1 {
            self.2.store(true, Ordering::SeqCst);
        }
    }
}

fn starts(victims: &[&str], role: &str) -> Turn {
    let honest = json!({"action": "start", "role": "implementer", "prompt": "write it", "name": "honest", "on": "one"});
    victims.iter().fold(Turn::call("agent", honest), |turn, name| {
        let victim = json!({"action": "start", "role": role, "prompt": "do it", "name": name, "on": "two"});
        turn.and_call("agent", victim)
    })
}

impl Ground {
    /// With so many victims. The honest agent is in the middle of its work while they are attacked.
    pub(super) async fn new(victims: &[&str], role: &str) -> Self {
        let (gate, arena) = (Arc::new(AtomicBool::new(victims.is_empty())), Arena::default());
        let (opened, called, first) = (Arc::clone(&gate), Arc::clone(&arena.called), starts(victims, role));
        let rule = move |request: &posse_testkit::Captured| {
            let request = request.json();
            let name = asker(&request);
            *called.lock().unwrap().entry(name.clone()).or_default() += 1;
            let messages = request["messages"].as_array().unwrap();
            let turn = messages.iter().filter(|one| one["role"] == "assistant").count();
            match (name.as_str(), turn) {
                ("main", 0) => first.clone(),
                ("main", _) => Turn::text("I wait for them."),
                ("honest", 0) => Turn::call("read_file", json!({"path": "a.txt"})),
                ("honest", 1) => {
                    Turn::call("write_file", json!({"path": "new.txt", "content": "made there\n"}))
                        .after(&opened)
                }
                ("honest", 2) => Turn::call("shell", json!({"command": "cat sub/b.txt >> new.txt"})),
                _ => Turn::text(REPORT),
            }
        };
        let mut stage = Stage::by_rule(rule, None).await;
        stage.delegation.limits.running_max = 64;
        // Nobody is lost here because the machine is slow.
        stage.times = LeaseTimes::for_lease(10_000);
        let outside = stage.folder("outside");
        std::fs::create_dir_all(&outside).unwrap();
        std::fs::write(outside.join("kept.txt"), "mine\n").unwrap();
        let arena = Arena { workspace: stage.files.path().to_owned(), ..arena };
        let before = Seen::of(&stage);
        Self { stage, arena, gate, before }
    }

    /// Lets a hostile worker play, one attempt for each victim; an agent that comes to it once more ends honestly.
    pub(super) fn foe(&self, attempts: &'static [Attempt]) -> Foe {
        let over = (Arc::new(AtomicUsize::new(0)), attempts.len(), Arc::clone(&self.gate));
        let (arena, seen) = (self.arena.clone(), Arc::new(Mutex::new(HashSet::new())));
        let attack: Attack = Arc::new(move |mut held: Held| {
            let (arena, seen) = (arena.clone(), Arc::clone(&seen));
            let over = (Arc::clone(&over.0), over.1, Arc::clone(&over.2));
            Box::pin(async move {
                held.claim().await;
                let name = held.task().await.name;
                let attempt = attempts.iter().find(|attempt| attempt.name == name).expect("an attempt");
                if seen.lock().unwrap().insert(name) {
                    let _over = Over(over.0, over.1, over.2);
                    (attempt.play)(held, arena).await;
                } else {
                    held.complete().await;
                }
            })
        });
        Foe::rise(&self.stage.hub, "two", self.stage.folder("foe"), attack)
    }

    pub(super) fn start(&self) -> (Engine, Session) {
        let engine = Engine::open(&self.stage.folder("home")).unwrap();
        let session = engine.start(self.stage.request("go", self.stage.fleet("home"))).unwrap();
        (engine, session)
    }

    /// Plays all attempts in one session, and checks everything.
    pub(super) async fn play(&self, attempts: &'static [Attempt]) -> Ran {
        let _foe = self.foe(attempts);
        let worker = self.stage.worker("one", &[]);
        let (engine, mut session) = self.start();
        let mut events: Vec<Event> = Vec::new();
        let ended = tokio::time::timeout(Duration::from_secs(120), async {
            while let Some(update) = session.next().await {
                let Update::Event(event) = update else { continue };
                self.note(&event);
                events.push(Event::clone(&event));
            }
        });
        let ended = ended.await.is_ok();
        let ran = Ran { report: session_report(session, ended, &events).await, events };
        self.check(&engine, &ran, attempts);
        worker.kill();
        ran
    }

    pub(super) fn note(&self, event: &Event) {
        if let EventKind::AgentAdmitted { name, .. } = &event.kind {
            self.arena.ids.lock().unwrap().insert(name.clone(), event.agent);
        }
    }

    /// What must be as always.
    pub(super) fn check(&self, engine: &Engine, ran: &Ran, attempts: &[Attempt]) {
        assert_eq!(ran.report.ending, Ending::Completed);
        self.check_honest(ran);
        let mut checked = 0;
        for Attempt { name, comes, .. } in attempts {
            let ending = ran.report_of(name).ending;
            match (comes, &ending) {
                (Comes::Completed, Ending::Completed) => {}
                (Comes::Failed(why), Ending::Failed { failure }) if failure.to_string().contains(why) => {}
                _ => panic!("{name} ended otherwise: {ending:?}"),
            }
            checked += 1;
        }
        assert_eq!(checked, attempts.len());
        self.check_untouched(engine, ran);
    }

    pub(super) fn check_honest(&self, ran: &Ran) {
        let report = ran.report_of("honest");
        assert_eq!((&report.ending, report.text.as_str()), (&Ending::Completed, REPORT), "{report:?}");
        assert_eq!(ran.workers_of("honest"), ["one"]);
        let changed: Vec<&str> = report.receipt.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(changed, ["new.txt"]);
        assert_eq!((report.receipt.turns, report.receipt.tool_calls), (4, 3));
        assert!(report.notes.is_empty() && report.warnings.is_empty(), "{report:?}");
        let branch = report.receipt.branch.expect("its work is on a branch");
        assert_eq!(on_branch(&self.stage.files, &branch.name, "new.txt"), "made there\nbeta\n");
    }

    pub(super) fn check_untouched(&self, engine: &Engine, ran: &Ran) {
        assert_eq!(Seen::of(&self.stage), self.before);
        for event in &ran.events {
            let text = serde_json::to_string(event).unwrap();
            assert!(!text.contains(FORGED), "{}", &text[..text.len().min(2_000)]);
        }
        assert!(engine.notes(None, 100).unwrap().is_empty(), "no note");
        for top in [self.stage.data.path(), self.stage.files.path()] {
            each_file(top, &mut |path| {
                let name = path.file_name().unwrap().to_string_lossy();
                assert!(!name.contains(EVIL), "{}", path.display());
            });
        }
        let left = self.stage.folder("home").join("elsewhere");
        let left: Vec<_> = std::fs::read_dir(left).into_iter().flatten().flatten().collect();
        assert!(left.is_empty(), "nothing is kept of agents that have ended: {left:?}");
    }
}

async fn session_report(session: Session, ended: bool, events: &[Event]) -> posse_protocol::Report {
    let name_of = |id: AgentId| {
        events.iter().find_map(|event| match &event.kind {
            EventKind::AgentAdmitted { name, .. } if event.agent == id => Some(name.clone()),
            _ => None,
        })
    };
    let settled: HashSet<AgentId> = events
        .iter()
        .filter(|event| matches!(event.kind, EventKind::AgentSettled { .. }))
        .map(|event| event.agent)
        .collect();
    let open: Vec<_> = events.iter().map(|event| event.agent).filter(|id| !settled.contains(id)).collect();
    let open: HashSet<_> = open.into_iter().filter_map(name_of).collect();
    assert!(ended, "the session does not end; still at work: {open:?}");
    session.report().await.expect("a report")
}

/// What of the person's must not change.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    files: BTreeMap<PathBuf, Vec<u8>>,
    references: String,
}

impl Seen {
    fn of(stage: &Stage) -> Self {
        let mut files = BTreeMap::new();
        let top = stage.files.path();
        let mut keep = |path: &Path| {
            files.insert(path.to_owned(), std::fs::read(path).unwrap_or_default());
        };
        each_file(top, &mut |path| {
            if !path.starts_with(top.join(".git")) {
                keep(path);
            }
        });
        for name in ["config", "HEAD", "packed-refs"] {
            keep(&top.join(".git").join(name));
        }
        for folder in [top.join(".git/hooks"), top.join(".git/info"), stage.folder("outside")] {
            each_file(&folder, &mut |path| keep(path));
        }
        let listed = stage.files.run_git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
        let own = |line: &&str| !line.starts_with("refs/heads/posse/") && !line.starts_with("refs/posse/");
        Self { files, references: listed.lines().filter(own).collect::<Vec<_>>().join("\n") }
    }
}

fn each_file(folder: &Path, see: &mut dyn FnMut(&Path)) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => each_file(&entry.path(), see),
            _ => see(&entry.path()),
        }
    }
}

/// A copy of the session's repository, in which a worker can make any commit.
pub(crate) fn copied(workspace: &Path) -> Fixture {
    let copy = Fixture::new();
    copy.run_git(&["clone", "--quiet", workspace.to_str().unwrap(), "."]);
    copy
}
