//! `posse workers doctor`: what it makes of what workers say of themselves over a broker, of the broker, and of the files at home.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use posse_cluster::{CLUSTER_VERSION, OwnerSecret, RunId, Seal, Up, UpBody, WorkerInfo};
use posse_testkit::nats::NatsServer;
use posse_testkit::{Fixture, Turn};
use serde_json::{Value, json};

use super::broker::HOME_USER;
use crate::posse::Person;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A file in the folder of workers, which others can read or not.
fn private(person: &Person, name: &str, text: &str, mode: u32) {
    let folder = person.config().with_file_name("workers");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, text).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
}

/// What a worker says: in which version, and what it has.
fn hello(name: &str, version: u16, secret: u8, have: &Value) -> Vec<u8> {
    let info = WorkerInfo {
        labels: ["cuda".parse().unwrap()].into(),
        capacity: 4,
        room: 3,
        program: VERSION.to_owned(),
        have: serde_json::from_str(&have.to_string()).unwrap(),
        drained: false,
        process: RunId::random().unwrap(),
        orders: 0,
    };
    let up = Up { version, worker: name.parse().unwrap(), body: UpBody::Hello(info) };
    let secret = OwnerSecret::new(&[secret; 32]).unwrap();
    Seal::new("default".parse().unwrap(), secret).seal_up(&up).unwrap().to_vec()
}

/// Says the same for several workers at the broker, again and again, until it is dropped.
struct Hellos {
    ended: Arc<AtomicBool>,
    said: Option<JoinHandle<()>>,
}

impl Hellos {
    fn start(server: &NatsServer, letters: Vec<(&'static str, Vec<u8>)>) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        let mut first = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut first).unwrap();
        assert!(first.starts_with("INFO "), "{first}");
        stream.write_all(b"CONNECT {\"verbose\":false}\r\n").unwrap();
        let ended = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&ended);
        let said = std::thread::spawn(move || {
            while !is_over.load(Ordering::SeqCst) {
                for (name, letter) in &letters {
                    let head = format!("PUB posse.default.hello.{name} {}\r\n", letter.len());
                    stream.write_all(&[head.as_bytes(), letter, b"\r\n"].concat()).unwrap();
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        Self { ended, said: Some(said) }
    }
}

impl Drop for Hellos {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        self.said.take().unwrap().join().unwrap();
    }
}

/// A worker that home can use.
fn fine() -> Value {
    json!({
        "version": VERSION, "protocol": CLUSTER_VERSION, "sandbox": {"ok": true}, "git": "2.47.1",
        "models": ["fake", "second"], "lease_ms": 30_000, "renew_ms": 10_000,
    })
}

/// The same with other facts.
fn but(facts: Value) -> Value {
    let mut all = fine();
    all.as_object_mut().unwrap().extend(facts.as_object().unwrap().clone());
    all
}

const GOOD: &str = "✓ heard      4 agents at a time, 1 now\n✓ posse      VERSION\n✓ sandbox    the kernel confines commands there\n\
                    ✓ git        2.47.1\n✓ models     home calls them\n✓ has        cuda; 4 agents at a time\n";
const SILENT: &str = "✓ heard      4 agents at a time, 1 now\n? posse      posse VERSION there tells nothing of its sandbox, git and \
                      models\n             → put posse VERSION on that machine, as here, and start it again\n";

/// What each worker says of itself, what the configuration says of it, and what is said of it.
fn cases() -> Vec<(&'static str, &'static str, Vec<u8>, String)> {
    let says = |name, have: &Value| hello(name, CLUSTER_VERSION, 7, have);
    let instead = |line: &str, other: &str| {
        let line = GOOD.lines().find(|one| one.contains(line)).unwrap();
        GOOD.replace(line, other)
    };
    let models = "models = \"worker\"";
    vec![
        ("fine", "labels = [\"cuda\"]", says("fine", &fine()), GOOD.to_owned()),
        (
            "bare",
            "",
            says("bare", &but(json!({"sandbox": {"ok": false, "why": "no\u{1b}[2J\nLandlock"}, "git": null}))),
            instead("sandbox", "✗ sandbox    commands cannot be confined there, so it runs no agents: no\\u{1b}[2J\\nLandlock\n             → \
                                allow unprivileged user namespaces and Landlock on that machine")
                .replace("✓ git        2.47.1", "✗ git        there is none\n             → install git 2.38 or newer on that machine"),
        ),
        ("able", models, says("able", &fine()), instead("models", "✓ models     fake, second")),
        (
            "lacks",
            models,
            says("lacks", &but(json!({"models": ["other", "second"]}))),
            instead("models", "✗ models     it lacks fake, so it takes no agents that use them; it has other, second\n             → \
                               configure them there by the same names, or set models = \"home\" in [workers.lacks] here"),
        ),
        (
            "keeps",
            models,
            says("keeps", &but(json!({"models": [], "lends_models": false}))),
            instead("models", "✗ models     it does not let agents use models of its own, so it takes none\n             → on that \
                               machine: models = \"worker\" in [worker] of its configuration; or here: models = \"home\" in \
                               [workers.keeps]"),
        ),
        (
            "slow",
            "",
            says("slow", &but(json!({"lease_ms": 60_000, "renew_ms": 20_500}))),
            format!("{GOOD}✓ lease      home's count: lease = \"30s\" and renew = \"10s\"; its join file says lease = \"60s\" and \
                     renew = \"20500ms\"\n"),
        ),
        (
            "named",
            "labels = [\"arm\", \"cuda\"]",
            says("named", &fine()),
            instead("✓ has", "✗ has        home knows it with arm, cuda, and it says cuda\n             → give it a file with these \
                              labels: posse workers add named --labels arm,cuda"),
        ),
        ("old", "", says("old", &json!(["fake", "second"])), SILENT.to_owned()),
        ("odd", "", says("odd", &json!({"sandbox": [], "version": {"\u{1b}": 7}})), SILENT.to_owned()),
        ("large", "", says("large", &but(json!({"name": "x".repeat(70_000)}))), SILENT.to_owned()),
        (
            "other",
            "",
            hello("other", 999, 7, &fine()),
            "✗ posse      it speaks version 999 of the protocol, posse VERSION here version PROTOCOL\n             → put posse \
             VERSION on that machine, as here, and start it again\n"
                .to_owned(),
        ),
    ]
}

#[test]
fn workers_behind_a_broker_are_judged_by_what_they_say() {
    let server = NatsServer::start("max_payload: 8MB");
    let person = Person::new([] as [Turn; 0]);
    private(&person, "secret", &"07".repeat(32), 0o600);
    let cases = cases();
    let workers: String =
        cases.iter().map(|(name, settings, ..)| format!("[workers.{name}]\n{settings}\n")).collect();
    let second = "[models.second]\nendpoint = \"http://127.0.0.1:1\"\nmodel = \"other\"\n";
    person.configure_more(&format!("{second}[cluster]\nnats = {:?}\n{workers}", server.url()));
    let letters = cases.iter().map(|(name, _, letter, _)| (*name, letter.clone())).collect();
    let _hellos = Hellos::start(&server, letters);
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    for (name, _, _, says) in &cases {
        let says = says.replace("VERSION", VERSION).replace("PROTOCOL", &CLUSTER_VERSION.to_string());
        let part =
            doctor.stdout.split_once(&format!("\n{name}\n")).unwrap_or_else(|| panic!("{doctor:#?}")).1;
        let marks = |line: &&str| line.starts_with(['✓', '✗', '?', ' ']);
        let part: String = part.lines().take_while(marks).map(|line| format!("{line}\n")).collect();
        assert_eq!(part, says, "{name}");
    }
    assert_eq!(cases.len(), 11);
    // One that is fine is enough for itself, and a list says why another one is not.
    assert_eq!(person.posse(&["workers", "doctor", "fine"]).code, Some(0));
    let listed = person.posse(&["workers", "--json"]);
    let states: Vec<Value> = listed.events();
    let state = |name: &str| states.iter().find(|state| state["name"] == name).unwrap()["state"].clone();
    assert_eq!(state("fine"), "ready, 4 agents at a time, 1 run");
    assert_eq!(state("bare"), "no sandbox: no\\u{1b}[2J\\nLandlock");
    assert_eq!(state("other"), "another posse there: posse workers doctor");
}

/// What another secret has signed is not believed: it may be anybody's.
#[test]
fn a_worker_with_another_secret_is_named_as_such() {
    let server = NatsServer::start("max_payload: 8MB");
    let person = Person::new([] as [Turn; 0]);
    private(&person, "secret", &"07".repeat(32), 0o600);
    person.configure_more(&format!("[cluster]\nnats = {:?}\n[workers.gpu]\n", server.url()));
    let _hellos = Hellos::start(&server, vec![("gpu", hello("gpu", 999, 8, &fine()))]);
    let doctor = person.posse(&["workers", "doctor", "gpu"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("✗ heard      it is there, and what it says cannot be read: it has another secret");
    doctor.says("→ let it join again: posse workers add gpu");
}

#[test]
fn a_broker_that_takes_only_short_messages_is_found() {
    let server = NatsServer::start("");
    let person = Person::new([] as [Turn; 0]);
    person.configure_more(&format!("[cluster]\nnats = {:?}\n", server.url()));
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor
        .says("✗ messages   it takes messages of 1,048,576 bytes, and home and workers send up to 8,388,608");
    doctor.says("→ write max_payload: 8MB into its configuration");
    doctor.says("? sync       it does not tell home when it writes to its disk");
    doctor.says("exports and imports of examples/workers/nats-server.conf");
}

/// Each worker takes two buckets; what the account may keep is set aside for them.
#[test]
fn a_broker_without_room_for_all_workers_is_found() {
    let limited = |mb: u32| {
        format!(
            "max_payload: 8MB\nno_auth_user: home\n\
             accounts {{ A {{ jetstream {{ max_file: {mb}MB }}, users: [ {HOME_USER} ] }} }}"
        )
    };
    let mut server = NatsServer::start(&limited(511));
    let person = Person::new([] as [Turn; 0]);
    person.configure_more(&format!("[cluster]\nnats = {:?}\n[workers.a]\n[workers.b]\n", server.url()));
    private(&person, "secret", &"07".repeat(32), 0o600);
    let letters = || ["a", "b"].map(|name| (name, hello(name, CLUSTER_VERSION, 7, &fine()))).into();
    let hellos = Hellos::start(&server, letters());
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says(
        "✗ room       511 MB are left for files, and workers that have had no agent yet take at least 512 MB",
    );
    doctor
        .says("→ raise max_file_store in jetstream { … } of its configuration, or the limit of the account");
    drop(hellos);
    server.configure(&limited(513));
    server.restart();
    let _hellos = Hellos::start(&server, letters());
    let doctor = person.posse(&["workers", "doctor"]);
    doctor.says("✓ room       513 MB are left for files: enough, but not for 8,192 MB as usual");
}

#[test]
fn a_broker_that_does_not_let_home_in_is_told_apart_from_one_that_is_not_there() {
    let server = NatsServer::start("authorization { users: [ { user: \"home\", password: \"pass\" } ] }");
    let person = Person::new([] as [Turn; 0]);
    let at = |url: &str| format!("[cluster]\nnats = {url:?}\n");
    let text = std::fs::read_to_string(person.config()).unwrap();
    person.configure(&format!("{text}{}", at(&server.url())));
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("✗ broker     the broker is not reached: authorization violation");
    doctor.says("→ write the user and the password that home has there into workers/nats.toml");
    person.configure(&format!("{text}{}", at("nats://127.0.0.1:1")));
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("✗ broker     the broker is not reached: IO error: Connection refused");
    doctor.says("→ check that the server runs");
}

/// Files that sessions refuse are found before a session is, also where there is no broker.
#[test]
fn files_that_others_can_read_are_found() {
    let person = Person::new([] as [Turn; 0]);
    person.configure_more("[workers.gpu]\nssh = \"127.0.0.1\"\nssh_options = [\"-p\", \"1\"]\n");
    let files = [
        ("secret", "07".repeat(32)),
        ("nats.toml", "user = \"home\"\npassword = \"hunter2\"\n".to_owned()),
        ("known.toml", "[workers.a]\nadded = \"1970-01-01T00:00:00Z\"\n".to_owned()),
    ];
    let mut ran = 0;
    for (name, text) in files {
        private(&person, name, &text, 0o644);
        let doctor = person.posse(&["workers", "doctor"]);
        assert_eq!(doctor.code, Some(1), "{doctor:#?}");
        let file = person.config().with_file_name("workers").join(name);
        let file = format!("~/workers/{}", file.file_name().unwrap().to_str().unwrap());
        doctor.says(&format!("✗ files      others can read {file}; if nobody did, run: chmod 600 {file}"));
        doctor.says("✗ ssh        127.0.0.1 is not reached");
        doctor.says("→ make this work without a password: ssh -p 1 127.0.0.1 true");
        assert!(!format!("{doctor:?}").contains("hunter2"));
        private(&person, name, &text, 0o600);
        person.posse(&["workers", "doctor", "gpu"]).says("✓ files");
        ran += 1;
    }
    assert_eq!(ran, 3);
}

/// What keeps agents at home without a word, because they may run anywhere.
#[test]
fn what_keeps_agents_of_this_folder_at_home_is_told() {
    let person = Person::with_project([] as [Turn; 0], Fixture::new().file("main.py", ""));
    let server = NatsServer::start("max_payload: 8MB");
    person.configure_more(&format!("[cluster]\nnats = {:?}\n", server.url()));
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(0), "{doctor:#?}");
    doctor.says("? sessions   this folder is no git repository, and files travel by git (git init)");
    doctor.says("→ until that is otherwise, agents of sessions in this folder run on this machine");
    let text = std::fs::read_to_string(person.config()).unwrap();
    let named = person.project.path().join("nats.toml");
    std::fs::write(&named, "user = \"home\"\npassword = \"hunter2\"\n").unwrap();
    std::fs::set_permissions(&named, PermissionsExt::from_mode(0o600)).unwrap();
    person.configure_more(&format!("nats_credentials = {named:?}\n"));
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("nats.toml is in this project, so it gets into commits and to workers");
    person.configure(&text);
    let settings = person.home.path().join(".claude/settings.json");
    std::fs::create_dir(settings.parent().unwrap()).unwrap();
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    std::fs::write(settings, hooks).unwrap();
    person.posse(&["workers", "doctor"]).says("? sessions   sessions here have hooks");
}
