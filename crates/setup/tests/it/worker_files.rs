//! The files about workers: made for their owner alone, refused where they are not, and silent about what is secret in them.

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};

use posse_setup::{
    BrokerAccess, ClusterSettings, Config, JoinFile, KnownWorker, NatsCredentials, Paths, SigningSecret,
    WorkerFileError, add_known_worker, known_workers, read_credentials, read_or_make_secret, read_secret,
    remove_known_worker, write_credentials,
};

use crate::world::World;

const FOLDER: &str = "home/.config/posse/workers";
const PASSWORD: &str = "hunter2 \"quoted\" ☂";
const CA: &str = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

/// A file that its owner alone can read.
fn private(world: &World, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    world.write(name, "");
    let path = world.path(name);
    std::fs::write(&path, text).unwrap();
    set_mode(&path, 0o600);
    path
}

fn credentials() -> NatsCredentials {
    NatsCredentials { user: "gpu-1".to_owned(), password: PASSWORD.to_owned().into() }
}

fn cluster(world: &World) -> ClusterSettings {
    Config::load(&world.paths(), &world.project()).unwrap().cluster(&world.paths()).unwrap()
}

fn hex(secret: &SigningSecret) -> String {
    secret.reveal().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn a_secret_is_made_once_and_for_its_owner_alone() {
    let world = World::new("");
    let (paths, file) = (world.paths(), world.path(&format!("{FOLDER}/secret")));
    let missing = read_secret(&paths).unwrap_err();
    assert!(matches!(missing, WorkerFileError::Missing { .. }), "{missing:?}");
    let secret = read_or_make_secret(&paths).unwrap();
    assert_eq!((mode(&file), mode(&world.path(FOLDER))), (0o600, 0o700));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("{}\n", hex(&secret)));
    assert_eq!(cluster(&world).secret_file, file);
    for again in [read_secret(&paths), read_or_make_secret(&paths)] {
        assert_eq!(again.unwrap().reveal(), secret.reveal());
    }
    assert_eq!(format!("{secret:?}"), "SigningSecret");
    assert_ne!(SigningSecret::random().unwrap().reveal(), secret.reveal());
    let names: Vec<_> =
        std::fs::read_dir(world.path(FOLDER)).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names, ["secret"], "nothing is left behind");
}

/// Whoever is first makes it; the others get the same.
#[test]
fn many_that_make_a_secret_at_the_same_time_have_the_same() {
    for _ in 0..20 {
        let world = World::new("");
        let (paths, start) = (world.paths(), Arc::new(Barrier::new(4)));
        let threads = (0..4).map(|_| {
            let (paths, start) = (paths.clone(), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                hex(&read_or_make_secret(&paths).unwrap())
            })
        });
        let threads: Vec<_> = threads.collect();
        let made: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert!(made.iter().all(|secret| *secret == hex(&read_secret(&paths).unwrap())), "{}", made.len());
    }
}

#[test]
fn a_damaged_secret_is_never_replaced() {
    for text in ["", "short", &"g".repeat(64), &"0".repeat(63), &"0".repeat(66), &"é".repeat(32)] {
        let world = World::new("");
        let file = private(&world, &format!("{FOLDER}/secret"), text);
        for found in [read_or_make_secret(&world.paths()), read_secret(&world.paths())] {
            let error = found.unwrap_err().to_string();
            assert_eq!(
                error,
                "~/.config/posse/workers/secret: it holds no secret of 64 hexadecimal digits; if it is lost, remove the file and \
                 let all workers join again"
            );
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), text);
    }
}

#[test]
fn a_password_is_written_and_read_and_never_shown() {
    let world = World::new("");
    let (paths, file) = (world.paths(), world.path(&format!("{FOLDER}/nats.toml")));
    write_credentials(&paths, &credentials()).unwrap();
    assert_eq!(mode(&file), 0o600);
    let read = read_credentials(&paths, &file).unwrap();
    assert_eq!((read.user.as_str(), reveal(&read)), ("gpu-1", PASSWORD.to_owned()));
    assert_eq!(format!("{read:?}"), "NatsCredentials");
    // A new one takes the place of the old, and others do not get to read it.
    set_mode(&file, 0o644);
    let other = NatsCredentials { password: "x".to_owned().into(), ..credentials() };
    write_credentials(&paths, &other).unwrap();
    assert_eq!((mode(&file), reveal(&read_credentials(&paths, &file).unwrap())), (0o600, "x".to_owned()));
    for password in ["", "two\nlines", &"x".repeat(1_025)] {
        let wrong = NatsCredentials { password: password.to_owned().into(), ..credentials() };
        let error = write_credentials(&paths, &wrong).unwrap_err().to_string();
        assert_eq!(error, "`password` has one line of 1 to 1024 bytes");
    }
}

/// The password, by the file that it is written to.
fn reveal(credentials: &NatsCredentials) -> String {
    let world = World::new("");
    write_credentials(&world.paths(), credentials).unwrap();
    let text = world.text(&format!("{FOLDER}/nats.toml"));
    let table: toml::Table = toml::from_str(&text).unwrap();
    table["password"].as_str().unwrap().to_owned()
}

#[test]
fn faults_of_credentials_name_keys_and_no_values() {
    let cases = [
        ("", "`user` is missing"),
        ("user = \"a\"", "`password` is missing"),
        ("user = \"a\"\npassword = [\"hunter2\"]", "`password` must be a text"),
        ("user = \"hunter2\"\npassword = 7", "`password` must be a text"),
        ("user = \"a\"\npassword = \"hunter2\nx\"", "line 3 is no TOML"),
        ("user = \"a\"\npassword hunter2", "line 2 is no TOML"),
        ("user = \"a\"\npassword = \"\"", "`password` has one line of 1 to 1024 bytes"),
        ("user = \"\"\npassword = \"hunter2\"", "`user` has one line of 1 to 256 bytes"),
        ("user = \"a\"\npasswort = \"hunter2\"", "unknown key `passwort`; it has `user`, `password`"),
        ("user = \"a\"\n\"\\u001b[2J\" = \"hunter2\"", "unknown key `\\u{1b}[2J`; it has `user`, `password`"),
    ];
    let mut ran = 0;
    for (text, fault) in cases {
        let world = World::new("");
        let file = private(&world, &format!("{FOLDER}/nats.toml"), text);
        let error = read_credentials(&world.paths(), &file).unwrap_err();
        assert_eq!(error.to_string(), format!("~/.config/posse/workers/nats.toml: {fault}"), "{text}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        ran += 1;
    }
    assert_eq!(ran, 10);
}

#[test]
fn workers_are_added_listed_and_removed() {
    let world = World::new("");
    let paths = world.paths();
    let worker = |name: &str, labels: &[&str], added_ms| KnownWorker {
        name: name.to_owned(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        added_ms,
    };
    let (gpu, arm) = (worker("gpu-1", &["gpu", "big"], 1_700_000_000_123), worker("arm", &[], 0));
    assert_eq!(known_workers(&paths).unwrap(), []);
    assert!(add_known_worker(&paths, &gpu).unwrap() && add_known_worker(&paths, &arm).unwrap());
    assert_eq!(known_workers(&paths).unwrap(), [arm.clone(), gpu.clone()]);
    // One that is known gets the new labels and keeps its date.
    assert!(!add_known_worker(&paths, &worker("gpu-1", &["old"], 7)).unwrap(), "it is known already");
    let changed = KnownWorker { labels: vec!["old".to_owned()], ..gpu.clone() };
    assert_eq!(known_workers(&paths).unwrap(), [arm.clone(), changed]);
    assert!(!add_known_worker(&paths, &gpu).unwrap());
    let file = world.path(&format!("{FOLDER}/known.toml"));
    let text = "[workers.arm]\nlabels = []\nadded = \"1970-01-01T00:00:00Z\"\n\n[workers.gpu-1]\n\
                labels = [\"gpu\", \"big\"]\nadded = \"2023-11-14T22:13:20.123Z\"\n";
    assert_eq!((mode(&file), std::fs::read_to_string(&file).unwrap().as_str()), (0o600, text));
    assert!(remove_known_worker(&paths, "arm").unwrap() && !remove_known_worker(&paths, "arm").unwrap());
    assert_eq!(known_workers(&paths).unwrap(), [gpu]);
    for wrong in [worker("home", &[], 0), worker("../x", &[], 0), worker("ok", &["anywhere"], 0)] {
        let error = add_known_worker(&paths, &wrong).unwrap_err();
        assert!(matches!(error, WorkerFileError::Unusable { .. }), "{error:?}");
    }
    for damaged in ["[workers.home]\nadded = \"1970-01-01T00:00:00Z\"", "[workers.a]\nadded = \"now\"", "x"] {
        private(&world, &format!("{FOLDER}/known.toml"), damaged);
        let error = known_workers(&paths).unwrap_err();
        assert!(matches!(error, WorkerFileError::Faulty { .. }), "{error:?}");
    }
}

#[test]
fn workers_that_are_added_at_the_same_time_are_all_known() {
    let world = World::new("");
    let paths = world.paths();
    let add = |at: i64| {
        let paths = paths.clone();
        let worker = KnownWorker { name: format!("w{at}"), labels: Vec::new(), added_ms: at };
        std::thread::spawn(move || add_known_worker(&paths, &worker).unwrap())
    };
    let threads: Vec<_> = (0..16).map(add).collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    assert_eq!(known_workers(&paths).unwrap().len(), 16);
}

/// A home with a broker, a password and a certificate authority.
fn home() -> World {
    let world = World::new(
        "[cluster]\nowner = \"me\"\nnats = \"tls://broker.example:4222\"\nnats_ca = \"~/ca.pem\"\nlease = \"20s\"\nrenew = \"5s\"",
    );
    world.write("home/ca.pem", CA);
    write_credentials(&world.paths(), &NatsCredentials { user: "home".to_owned(), ..credentials() }).unwrap();
    world
}

fn labels() -> Vec<String> {
    vec!["gpu".to_owned(), "linux".to_owned()]
}

fn join(world: &World) -> JoinFile {
    JoinFile::make(&world.paths(), &cluster(world), "gpu-1", &labels(), Some(credentials())).unwrap()
}

#[test]
fn what_lets_a_worker_join_comes_back_as_it_was_written() {
    let world = home();
    let (paths, path) = (world.paths(), world.path("gpu-1.join"));
    join(&world).save(&paths, &path).unwrap();
    assert_eq!(mode(&path), 0o600);
    let read = JoinFile::read(&paths, &path).unwrap();
    let JoinFile { access, name, labels: found } = &read;
    assert_eq!((name.as_str(), found), ("gpu-1", &labels()));
    let BrokerAccess { owner, secret, address, credentials, ca_pem, lease_ms, renew_ms } = access;
    assert_eq!((owner.as_str(), address.as_str()), ("me", "tls://broker.example:4222"));
    assert_eq!((*lease_ms, *renew_ms, ca_pem.as_deref()), (20_000, 5_000, Some(CA)));
    assert_eq!(secret.reveal(), read_secret(&paths).unwrap().reveal());
    let credentials = credentials.as_ref().unwrap();
    assert_eq!((credentials.user.as_str(), reveal(credentials)), ("gpu-1", PASSWORD.to_owned()));
    let debug = format!("{read:?}");
    assert!(!debug.contains("hunter2") && !debug.contains(&hex(secret)), "{debug}");
    let there = World::new("");
    for _ in 0..2 {
        let file = access.ca_file(&there.paths()).unwrap().unwrap();
        assert_eq!((std::fs::read_to_string(&file).unwrap().as_str(), mode(&file)), (CA, 0o600));
    }
    // One that is there is left alone.
    let error = join(&world).save(&paths, &path).unwrap_err().to_string();
    assert!(error.ends_with("gpu-1.join is there already; remove it, or name another file"), "{error}");
    // The other machine has its own configuration, and what home says counts beside it.
    let there = World::new("[worker]\nlabels = [\"linux\", \"fast\"]\ncapacity = 2");
    let config = Config::load(&there.paths(), &there.project()).unwrap();
    let worker = read.applied_to(config.worker(&there.paths()).unwrap());
    assert_eq!((worker.name.as_str(), worker.capacity), ("gpu-1", 2));
    assert_eq!(worker.labels, ["linux", "fast", "gpu"]);
}

#[test]
fn a_worker_without_credentials_of_its_own_gets_those_of_home() {
    let world = home();
    let join = JoinFile::make(&world.paths(), &cluster(&world), "gpu-1", &[], None).unwrap();
    assert_eq!(join.access.credentials.unwrap().user, "home");
    let none = World::new("");
    let error = JoinFile::make(&none.paths(), &cluster(&none), "gpu-1", &[], None).unwrap_err();
    assert!(matches!(error, WorkerFileError::NoBroker), "{error:?}");
    assert!(!none.path(FOLDER).exists(), "no secret is made for nothing");
    for name in ["home", "", "a b"] {
        let error = JoinFile::make(&world.paths(), &cluster(&world), name, &[], None).unwrap_err();
        assert!(matches!(error, WorkerFileError::Unusable { .. }), "{error:?}");
    }
}

#[test]
fn access_to_the_broker_is_read_from_the_files_that_are_named() {
    let world = home();
    let (paths, cluster) = (world.paths(), cluster(&world));
    let error = BrokerAccess::of_worker(&paths, &cluster).unwrap_err();
    assert!(matches!(error, WorkerFileError::Missing { .. }), "a worker makes no secret: {error:?}");
    let home = BrokerAccess::of_home(&paths, &cluster).unwrap().unwrap();
    let worker = BrokerAccess::of_worker(&paths, &cluster).unwrap().unwrap();
    assert_eq!(home.secret.reveal(), worker.secret.reveal());
    assert_eq!((home.ca_pem.as_deref(), home.credentials.unwrap().user.as_str()), (Some(CA), "home"));
    let without = World::new("");
    assert!(BrokerAccess::of_home(&without.paths(), &self::cluster(&without)).unwrap().is_none());
    let faults = [
        ("nothing", "no certificate in PEM form".to_owned()),
        (
            "-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n",
            "a private key where a certificate belongs; it never leaves its machine".to_owned(),
        ),
        (&"x".repeat(40_000), "a certificate authority of more than 32768 bytes".to_owned()),
    ];
    for (text, fault) in faults {
        world.write("home/ca.pem", text);
        let error = BrokerAccess::of_home(&paths, &cluster).unwrap_err().to_string();
        assert_eq!(error, format!("~/ca.pem: {fault}"));
    }
}

/// How a file is made hostile, and what is said of it.
type Hostile = (fn(&World, &Path), fn(&str, &str) -> String);

#[test]
fn files_that_are_not_their_owners_alone_are_refused() {
    let cases: [Hostile; 7] = [
        (
            |_, path| set_mode(path, 0o640),
            |shown, _| format!("others can read {shown}; if nobody did, run: chmod 600 {shown}"),
        ),
        (
            |_, path| set_mode(path, 0o604),
            |shown, _| format!("others can read {shown}; if nobody did, run: chmod 600 {shown}"),
        ),
        (
            |_, path| set_mode(path, 0o620),
            |shown, _| format!("others can read {shown}; if nobody did, run: chmod 600 {shown}"),
        ),
        (
            |_, path| {
                let other = path.with_extension("other");
                std::fs::rename(path, &other).unwrap();
                symlink(other, path).unwrap();
            },
            |shown, _| format!("{shown} is a link or no file; put the file itself there"),
        ),
        (
            |_, path| {
                std::fs::remove_file(path).unwrap();
                std::fs::create_dir(path).unwrap();
            },
            |shown, _| format!("{shown} is a link or no file; put the file itself there"),
        ),
        (
            |_, path| std::fs::write(path, "x".repeat(2 << 20)).unwrap(),
            |shown, most| format!("{shown} is larger than {most} bytes"),
        ),
        (|_, path| std::fs::write(path, [0xff, 0xfe]).unwrap(), |shown, _| format!("{shown}: it is no text")),
    ];
    type Read = fn(&Paths, &Path) -> Option<String>;
    let files: [(&str, &str, Read); 4] = [
        ("secret", "8,192", |paths, _| said(read_or_make_secret(paths).map(drop))),
        ("nats.toml", "8,192", |paths, path| said(read_credentials(paths, path).map(drop))),
        ("known.toml", "1,048,576", |paths, _| said(known_workers(paths).map(drop))),
        ("gpu.join", "65,536", |paths, path| said(JoinFile::read(paths, path).map(drop))),
    ];
    let mut ran = 0;
    for (name, most, read) in files {
        for (spoil, fault) in cases {
            let world = home();
            let (paths, path) = (world.paths(), world.path(&format!("{FOLDER}/{name}")));
            let known = KnownWorker { name: "a".to_owned(), labels: Vec::new(), added_ms: 0 };
            add_known_worker(&paths, &known).unwrap();
            join(&world).save(&paths, &world.path(&format!("{FOLDER}/gpu.join"))).unwrap();
            assert_eq!(read(&paths, &path), None, "{name} is fine before");
            spoil(&world, &path);
            let shown = paths.shown(&path).to_string();
            assert_eq!(read(&paths, &path), Some(fault(&shown, most)), "{name}");
            ran += 1;
        }
    }
    assert_eq!(ran, 28);
}

fn said(result: Result<(), WorkerFileError>) -> Option<String> {
    result.err().map(|error| error.to_string())
}

/// What is replaced in a good file, by what, and what is said of it.
const HOSTILE: [(&str, &str, &str); 19] = [
    ("version = 1", "", "`version` is missing"),
    ("version = 1", "version = \"1\"", "`version` must be a whole number"),
    (
        "version = 1",
        "version = 2",
        "it has version 2, and this program knows 1; use the same posse on both machines",
    ),
    (
        "owner = \"me\"",
        "owner = \"../me\"",
        "\"../me\" cannot name an owner; write up to 32 letters, digits, - and _, a letter or digit first",
    ),
    ("owner = \"me\"", "", "`owner` is missing"),
    ("secret = \"", "secret = \"x", "`secret` must be 64 hexadecimal digits"),
    (
        "secret = \"",
        "secrets = \"",
        "unknown key `secrets`; it has `version`, `owner`, `secret`, `broker`, `user`, `password`, `ca`, `name`, `labels`, `lease`, `renew`",
    ),
    (
        "broker = \"tls:",
        "broker = \"nats:",
        "\"nats://broker.example:4222\" is not encrypted, and only a broker on this machine may be; write tls://broker.example:4222",
    ),
    (
        "broker = \"tls://",
        "broker = \"tls://me:hunter2@",
        "the address of a broker holds no user and no password; they belong in the file that nats_credentials names",
    ),
    ("user = \"gpu-1\"", "", "`user` and `password` go together"),
    ("user = \"gpu-1\"", "user = \"\"", "`user` has one line of 1 to 256 bytes"),
    (
        "BEGIN CERTIFICATE",
        "BEGIN RSA PRIVATE KEY",
        "a private key where a certificate belongs; it never leaves its machine",
    ),
    ("BEGIN CERTIFICATE", "BEGIN NOTHING", "no certificate in PEM form"),
    (
        "name = \"gpu-1\"",
        "name = \"home\"",
        "\"home\" is reserved: it says where agents run; choose another name",
    ),
    (
        "labels = [\"gpu\"",
        "labels = [\"gpu \"",
        "\"gpu \" cannot name a worker or a label; write up to 63 letters, digits, - and _, a letter or digit first",
    ),
    ("labels = [\"gpu\"", "labels = [7", "`labels` must be a list of texts"),
    ("lease = \"20000ms\"", "lease = \"1h\"", "lease is between 1s and 10m"),
    ("renew = \"5000ms\"", "renew = \"hunter2\"", "`renew` must be a time such as 30s"),
    ("renew = \"5000ms\"", "renew = \"15s\"", "renew is at least 100ms and at most half of lease"),
];

#[test]
fn hostile_files_let_nobody_join() {
    let world = home();
    let paths = world.paths();
    let good = world.path("good.join");
    join(&world).save(&paths, &good).unwrap();
    let text = std::fs::read_to_string(&good).unwrap();
    let secret = hex(&read_secret(&paths).unwrap());
    let mut ran = 0;
    for (from, to, fault) in HOSTILE {
        assert!(text.contains(from), "{from} in {text}");
        let path = private(&world, "bad.join", text.replacen(from, to, 1));
        let error = JoinFile::read(&paths, &path).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {fault}", path.display()), "{from} {to}");
        let debug = format!("{error:?} {error}");
        assert!(!debug.contains("hunter2") && !debug.contains(&secret), "{debug}");
        ran += 1;
    }
    assert_eq!(ran, 19);
    let error = JoinFile::read(&paths, &world.path("gone.join")).unwrap_err();
    assert!(matches!(error, WorkerFileError::Missing { .. }), "{error:?}");
}

/// Somebody else could change the file at any moment. Only a test that runs as root can make such a file.
#[test]
fn a_file_of_another_user_is_refused() {
    let world = World::new("");
    let file = private(&world, &format!("{FOLDER}/secret"), "0".repeat(64));
    let given_away = std::os::unix::fs::chown(&file, Some(65_534), None).is_ok();
    let found = read_secret(&world.paths());
    match given_away {
        true => assert!(matches!(found, Err(WorkerFileError::NotOwned { .. })), "{found:?}"),
        false => assert_eq!(found.unwrap().reveal(), &[0; 32]),
    }
}

/// A command of an agent sees neither the configuration that was named nor what is kept beside it.
#[test]
fn secrets_beside_a_named_configuration_are_hidden_from_commands() {
    let world = World::new("");
    world.write("project/conf.toml", "");
    let named = world.path("project/conf.toml");
    let paths = Paths::find(world.surroundings(), None, Some(&named)).unwrap();
    read_or_make_secret(&paths).unwrap();
    let folder = world.project();
    let plan = posse_setup::SessionPlan::read(&paths, &folder, posse_setup::Wishes::default()).unwrap();
    let hidden = plan.outside_place().unwrap().sandbox.hidden;
    assert!(hidden.contains(&world.path("project/workers")), "{hidden:?}");
}
