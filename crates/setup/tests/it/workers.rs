//! What the configuration says of other machines: which settings come of it, what is refused, and who has no say in it.

use std::path::PathBuf;

use posse_protocol::{Approval, Files, Grant, Network, Shell};
use posse_setup::{
    ClusterSettings, Config, ModelsAt, NatsCredentials, NatsSettings, Paths, SessionPlan, SetupWarning,
    SshTarget, Surroundings, Trusted, Wishes, WorkerEntry, WorkerSettings, read_or_make_secret,
    write_credentials,
};

use crate::world::{TWO_MODELS, World};

fn load(world: &World) -> Config {
    Config::load(&world.paths(), &world.project()).unwrap()
}

fn cluster(world: &World) -> ClusterSettings {
    load(world).cluster(&world.paths()).unwrap()
}

fn worker(world: &World) -> WorkerSettings {
    load(world).worker(&world.paths()).unwrap()
}

/// What is in force where nothing is said.
fn usual(world: &World) -> ClusterSettings {
    ClusterSettings {
        owner: "default".to_owned(),
        nats: None,
        lease_ms: 30_000,
        renew_ms: 10_000,
        models: ModelsAt::Home,
        workers: Vec::new(),
        secret_file: world.path("home/.config/posse/workers/secret"),
    }
}

fn nats(address: &str, credentials: Option<PathBuf>, ca: Option<&str>) -> Option<NatsSettings> {
    Some(NatsSettings { address: address.to_owned(), credentials, ca: ca.map(PathBuf::from) })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Compares what a file leads to, also in a session.
fn check(text: &str, want: impl Fn(&World, ClusterSettings) -> ClusterSettings) {
    let world = World::new(text);
    assert_eq!(cluster(&world), want(&world, usual(&world)), "{text}");
    let (paths, folder) = (world.paths(), world.project());
    let plan = SessionPlan::read(&paths, &folder, Wishes::default()).unwrap();
    assert_eq!(plan.cluster().unwrap(), cluster(&world), "{text}");
    let plan = SessionPlan::without_files(&paths, &folder, Wishes::default());
    assert_eq!(plan.cluster().unwrap(), usual(&world), "{text}");
}

#[test]
fn settings_of_home() {
    check("", |_, usual| usual);
    let text = "[cluster]\nowner = \"mine_2\"\nlease = \"1m\"\nmodels = \"worker\"";
    check(text, |_, usual| ClusterSettings {
        owner: "mine_2".to_owned(),
        lease_ms: 60_000,
        renew_ms: 20_000,
        models: ModelsAt::Worker,
        ..usual
    });
    let text = "[cluster]\nnats = \"nats://127.0.0.1:4222\"\nlease = 1\nrenew = \"500ms\"";
    check(text, |_, usual| ClusterSettings {
        nats: nats("nats://127.0.0.1:4222", None, None),
        lease_ms: 1_000,
        renew_ms: 500,
        ..usual
    });
    let text =
        "[cluster]\nnats = \"tls://b:4222\"\nnats_credentials = \"~/x.toml\"\nnats_ca = \"/etc/ca.pem\"";
    check(text, |world, usual| ClusterSettings {
        nats: nats("tls://b:4222", Some(world.path("home/x.toml")), Some("/etc/ca.pem")),
        ..usual
    });
}

#[test]
fn workers_are_reached_over_ssh_or_known_to_the_broker() {
    let entry = |name: &str, ssh, labels: &[&str], models| WorkerEntry {
        name: name.to_owned(),
        ssh,
        labels: words(labels),
        models,
    };
    let ssh = |host: &str, options: &[&str], program: &str| {
        Some(SshTarget { host: host.to_owned(), options: words(options), program: program.to_owned() })
    };
    let text = "[workers.gpu]\nssh = \"gpu\"\n[workers.\"big-box\"]\nssh = \"me@10.0.0.7\"\nprogram = \"~/bin/posse\"\n\
                labels = [\"gpu\", \"linux\"]\nmodels = \"worker\"\nssh_options = [\"-p\", \"2222\"]\n[workers.far]\n\
                labels = [\"arm\"]\n[cluster]\nnats = \"tls://b\"\n";
    let big = ssh("me@10.0.0.7", &["-p", "2222"], "~/bin/posse");
    check(text, |_, usual| ClusterSettings {
        workers: vec![
            entry("big-box", big.clone(), &["gpu", "linux"], ModelsAt::Worker),
            entry("far", None, &["arm"], ModelsAt::Home),
            entry("gpu", ssh("gpu", &[], "posse"), &[], ModelsAt::Home),
        ],
        nats: nats("tls://b", None, None),
        ..usual
    });
    let text =
        "[cluster]\nnats = \"tls://b\"\nmodels = \"worker\"\n[workers.a]\n[workers.b]\nmodels = \"home\"";
    check(text, |_, usual| ClusterSettings {
        nats: nats("tls://b", None, None),
        models: ModelsAt::Worker,
        workers: vec![entry("a", None, &[], ModelsAt::Worker), entry("b", None, &[], ModelsAt::Home)],
        ..usual
    });
}

#[test]
fn a_password_in_its_usual_place_is_found_there() {
    let world = World::new("[cluster]\nnats = \"tls://b\"");
    assert_eq!(cluster(&world).nats, nats("tls://b", None, None));
    world.write("home/.config/posse/workers/nats.toml", "");
    let file = world.path("home/.config/posse/workers/nats.toml");
    assert_eq!(cluster(&world).nats, nats("tls://b", Some(file), None));
}

#[test]
fn settings_of_a_worker() {
    let ceiling = Grant {
        files: Files::Write,
        shell: Shell::Full,
        network: Network::None,
        approval: Approval::Auto,
        ..Grant::full()
    };
    let processors = std::thread::available_parallelism().unwrap().get();
    let usual = |world: &World| WorkerSettings {
        name: "worker".to_owned(),
        labels: Vec::new(),
        capacity: processors,
        folder_bytes: 20_000 << 20,
        models: ModelsAt::Home,
        ceiling: ceiling.clone(),
        cluster: usual(world),
    };
    let world = World::new("");
    assert_eq!(worker(&world), usual(&world));
    let text = "[worker]\nname = \"gpu-1\"\nlabels = [\"gpu\"]\ncapacity = 4\nmodels = \"worker\"\nfolder_mb = 500\nfiles = \"read\"\n\
                shell = \"verify\"\nnetwork = [\"docs.example\"]\napproval = \"plan\"\n[cluster]\nowner = \"me\"\n";
    let world = World::new(text);
    let hosts = Network::Hosts(["docs.example".to_owned()].into());
    let want = WorkerSettings {
        name: "gpu-1".to_owned(),
        labels: words(&["gpu"]),
        capacity: 4,
        folder_bytes: 500 << 20,
        models: ModelsAt::Worker,
        ceiling: Grant {
            files: Files::Read,
            shell: Shell::Verify,
            network: hosts,
            approval: Approval::Plan,
            ..ceiling.clone()
        },
        cluster: ClusterSettings { owner: "me".to_owned(), ..usual(&world).cluster },
    };
    assert_eq!(worker(&world), want);
    // Nobody has named it: it is called as the machine.
    let paths = Paths::find(world.surroundings().with_host("Node 7.example"), None, None);
    let unnamed = World::new("");
    let config = load(&unnamed);
    assert_eq!(config.worker(&paths.unwrap()).unwrap().name, "Node-7");
}

/// Faults of the person's own file, with the line and the words.
const FAULTS: [(&str, usize, &str); 53] = [
    (
        "[cluster]\nowner = \"\"",
        2,
        "\"\" cannot name an owner; write up to 32 letters, digits, - and _, a letter or digit first",
    ),
    (
        "[cluster]\nowner = \"a.b\"",
        2,
        "\"a.b\" cannot name an owner; write up to 32 letters, digits, - and _, a letter or digit first",
    ),
    (
        "[cluster]\nowner = \"abcdefghijklmnopqrstuvwxyz0123456\"",
        2,
        "\"abcdefghijklmnopqrstuvwxyz0123456\" cannot name an owner; write up to 32 letters, digits, - and _, a letter or digit first",
    ),
    ("[cluster]\nowner = 7", 2, "invalid type: integer `7`, expected a string"),
    (
        "[cluster]\nownr = \"a\"",
        2,
        "unknown field `ownr`, expected one of `owner`, `nats`, `nats_credentials`, `nats_ca`, `lease`, `renew`, `models` — did you mean `owner`?",
    ),
    (
        "[cluster]\nnats = \"broker:4222\"",
        2,
        "\"broker:4222\" is no address of a broker; write it like tls://broker.example:4222",
    ),
    (
        "[cluster]\nnats = \"nats://broker:4222\"",
        2,
        "\"nats://broker:4222\" is not encrypted, and only a broker on this machine may be; write tls://broker:4222",
    ),
    (
        "[cluster]\nnats = \"ws://broker:4222\"",
        2,
        "\"ws://broker:4222\" is no address of a broker; write it like tls://broker.example:4222",
    ),
    (
        "[cluster]\nnats = \"tls://me:hunter2@broker:4222\"",
        2,
        "the address of a broker holds no user and no password; they belong in the file that nats_credentials names",
    ),
    (
        "[cluster]\nnats = \"tls://broker:0\"",
        2,
        "\"tls://broker:0\" is no address of a broker; write it like tls://broker.example:4222",
    ),
    (
        "[cluster]\nnats = \"tls://broker\"\nnats_credentials = \"nats.toml\"",
        3,
        "\"nats.toml\" depends on where you are; write an absolute path, or one below ~/",
    ),
    (
        "[cluster]\nnats = \"tls://broker\"\nnats_ca = \"../ca.pem\"",
        3,
        "\"../ca.pem\" depends on where you are; write an absolute path, or one below ~/",
    ),
    (
        "[cluster]\nnats_credentials = \"~/x\"",
        1,
        "nats_credentials is for a broker, and none is named; add nats = \"tls://HOST:4222\"",
    ),
    (
        "[cluster]\nnats_ca = \"/ca.pem\"",
        1,
        "nats_ca is for a broker, and none is named; add nats = \"tls://HOST:4222\"",
    ),
    ("[cluster]\nlease = \"900ms\"", 1, "lease is between 1s and 10m"),
    ("[cluster]\nlease = \"11m\"", 1, "lease is between 1s and 10m"),
    ("[cluster]\nlease = \"soon\"", 2, "\"soon\" is not a time; write it like 90s, 10m or 1h30m"),
    ("[cluster]\nlease = \"10s\"\nrenew = \"6s\"", 1, "renew is at least 100ms and at most half of lease"),
    ("[cluster]\nrenew = \"50ms\"", 1, "renew is at least 100ms and at most half of lease"),
    (
        "[cluster]\nmodels = \"hom\"",
        2,
        "unknown variant `hom`, expected `home` or `worker` — did you mean `home`?",
    ),
    ("[workers.home]\nssh = \"h\"", 1, "\"home\" is reserved: it says where agents run; choose another name"),
    ("[workers.Anywhere]", 1, "\"Anywhere\" is reserved: it says where agents run; choose another name"),
    (
        "[workers.\"two words\"]",
        1,
        "\"two words\" cannot name a worker or a label; write up to 63 letters, digits, - and _, a letter or digit first",
    ),
    (
        "[workers.-x]",
        1,
        "\"-x\" cannot name a worker or a label; write up to 63 letters, digits, - and _, a letter or digit first",
    ),
    (
        "\n[workers.ok]\n[workers.\"a/b\"]\nssh = \"h\"",
        3,
        "\"a/b\" cannot name a worker or a label; write up to 63 letters, digits, - and _, a letter or digit first",
    ),
    ("[workers]\ngpu = 3", 2, "invalid type: integer `3`, expected a table such as [workers.gpu]"),
    (
        "[workers.gpu]\nhost = \"gpu\"",
        2,
        "unknown field `host`, expected one of `ssh`, `program`, `labels`, `models`, `ssh_options`",
    ),
    (
        "[workers.gpu]\nssh_option = [\"-p\"]",
        2,
        "unknown field `ssh_option`, expected one of `ssh`, `program`, `labels`, `models`, `ssh_options` — did you mean `ssh_options`?",
    ),
    (
        "[workers.gpu]\nssh = \"\"",
        2,
        "ssh = \"\" is no host; write one word, as behind Host in your ssh configuration",
    ),
    (
        "[workers.gpu]\nssh = \"-oProxyCommand=x\"",
        2,
        "ssh = \"-oProxyCommand=x\" would be an option of ssh; write the name of a host",
    ),
    (
        "[workers.gpu]\nssh = \"gpu; reboot\"",
        2,
        "ssh = \"gpu; reboot\" is no host; write one word, as behind Host in your ssh configuration",
    ),
    (
        "[workers.gpu]\nssh = \"gpu\"\nprogram = \"posse worker\"",
        3,
        "program = \"posse worker\" is no program; write its name or path there, without blanks and arguments",
    ),
    (
        "[workers.gpu]\nssh = \"gpu\"\nprogram = \"$(x)\"",
        3,
        "program = \"$(x)\" is no program; write its name or path there, without blanks and arguments",
    ),
    (
        "[workers.gpu]\nssh = \"gpu\"\nssh_options = [\"other\"]",
        3,
        "ssh_options: \"other\" cannot be there; write it like [\"-p\", \"2222\"]",
    ),
    (
        "[workers.gpu]\nssh = \"gpu\"\nssh_options = [\"-p\", \"22\", \"--\"]",
        3,
        "ssh_options: \"--\" cannot be there; write it like [\"-p\", \"2222\"]",
    ),
    (
        "\n[workers.gpu]\nprogram = \"posse\"",
        2,
        "program is for a worker that is reached over ssh; add ssh = \"HOST\"",
    ),
    (
        "[workers.gpu]\nssh_options = [\"-4\"]",
        1,
        "ssh_options is for a worker that is reached over ssh; add ssh = \"HOST\"",
    ),
    (
        "[workers.gpu]\nlabels = [\"gpu\", \"home\"]",
        2,
        "\"home\" is reserved: it says where agents run; choose another name",
    ),
    ("[workers.gpu]\nlabels = \"gpu\"", 2, "invalid type: string \"gpu\", expected a sequence"),
    ("[workers.gpu]\nmodels = \"both\"", 2, "unknown variant `both`, expected `home` or `worker`"),
    (
        "[workers.a]\nssh = \"a\"\n[workers.gpu]\nlabels = [\"gpu\"]",
        3,
        "there is no way to the worker gpu; add ssh = \"HOST\" to it, or for a broker nats = \"tls://HOST:4222\" to [cluster]",
    ),
    (
        "[workers]\ngpu = { }",
        2,
        "there is no way to the worker gpu; add ssh = \"HOST\" to it, or for a broker nats = \"tls://HOST:4222\" to [cluster]",
    ),
    ("[worker]\nname = \"home\"", 2, "\"home\" is reserved: it says where agents run; choose another name"),
    (
        "[worker]\nname = \"a b\"",
        2,
        "\"a b\" cannot name a worker or a label; write up to 63 letters, digits, - and _, a letter or digit first",
    ),
    (
        "[worker]\nlabels = [\"\"]",
        2,
        "\"\" cannot name a worker or a label; write up to 63 letters, digits, - and _, a letter or digit first",
    ),
    ("[worker]\ncapacity = 0", 2, "capacity is the number of agents at the same time, 1 to 1000"),
    ("[worker]\ncapacity = 1001", 2, "capacity is the number of agents at the same time, 1 to 1000"),
    ("[worker]\nfolder_mb = -1", 2, "folder_mb is a number of MiB, at least 1"),
    ("[worker]\nfiles = \"all\"", 2, "unknown variant `all`, expected one of `none`, `read`, `write`"),
    (
        "[worker]\nshell = \"ful\"",
        2,
        "unknown variant `ful`, expected one of `none`, `inspect`, `verify`, `full` — did you mean `full`?",
    ),
    ("[worker]\nnetwork = 3", 2, "expected \"none\", \"full\" or a list of host names"),
    (
        "[worker]\napproval = \"autoo\"",
        2,
        "unknown variant `autoo`, expected one of `plan`, `ask`, `edit`, `auto`, `full` — did you mean `auto`?",
    ),
    (
        "[worker]\nrights = \"full\"",
        2,
        "unknown field `rights`, expected one of `name`, `labels`, `capacity`, `folder_mb`, `models`, `files`, `shell`, `network`, `approval`",
    ),
];

#[test]
fn what_cannot_be_is_refused_with_its_line() {
    let mut ran = 0;
    for (text, line, fault) in FAULTS {
        let world = World::new(text);
        let error = Config::load(&world.paths(), &world.project()).unwrap_err().to_string();
        assert_eq!(error, format!("~/.config/posse/config.toml, line {line}: {fault}"), "{text}");
        assert!(!error.contains("hunter2"), "{error}");
        ran += 1;
    }
    assert_eq!(ran, FAULTS.len());
}

#[test]
fn more_workers_and_labels_than_there_may_be() {
    let workers =
        |count: usize| (0..count).map(|at| format!("[workers.w{at}]\nssh = \"h\"\n")).collect::<String>();
    let labels = |count: usize| format!("[worker]\nlabels = [{}]", "\"gpu\", ".repeat(count));
    for text in [workers(1_024), labels(32)] {
        load(&World::new(&text));
    }
    let cases = [
        (workers(1_025), "1025 workers are too many; at most 1024"),
        (labels(33), "33 labels are too many; a worker has at most 32"),
    ];
    for (text, fault) in cases {
        let world = World::new(&text);
        let error = Config::load(&world.paths(), &world.project()).unwrap_err().to_string();
        assert!(error.ends_with(fault), "{error}");
    }
}

/// The home folder is not known where a process is started by another program without an environment.
#[test]
fn a_path_below_home_needs_a_home() {
    let world = World::new("");
    let text = "[cluster]\nnats = \"tls://b\"\nnats_ca = \"~/ca.pem\"\n";
    world.write("conf.toml", text);
    let config = world.path("conf.toml");
    let around = Surroundings::new(world.project());
    let paths = Paths::find(around, Some(&world.path("data")), Some(&config)).unwrap();
    let config = Config::load(&paths, &world.project()).unwrap();
    let error = config.cluster(&paths).unwrap_err().to_string();
    assert_eq!(error, "[cluster] nats_ca is below ~/, and no home folder is known; write an absolute path");
}

#[test]
fn a_project_has_no_say_in_where_agents_run_trusted_or_not() {
    let own = format!("{TWO_MODELS}[cluster]\nowner = \"mine\"\n");
    let cases: [(&str, &[&str], &str); 4] = [
        ("[cluster]\nowner = \"theirs\"\nnats = \"tls://theirs:4222\"\n", &["cluster"], "cluster"),
        ("[workers.theirs]\nssh = \"theirs\"\n", &["workers"], "workers"),
        ("[worker]\nname = \"theirs\"\nnetwork = \"full\"\n", &["worker"], "worker"),
        (
            "[cluster]\nowner = \"theirs\"\n[workers.theirs]\n[worker]\nname = \"theirs\"\n",
            &["cluster", "workers", "worker"],
            "cluster, workers, worker",
        ),
    ];
    let mut ran = 0;
    for (text, tables, shown) in cases {
        let world = World::new(&own);
        let (before, before_worker) = (cluster(&world), worker(&world));
        world.write("project/.posse/config.toml", text);
        let (paths, file) = (world.paths(), world.path("project/.posse/config.toml"));
        for trusts in [false, true] {
            if trusts {
                Trusted::load(&paths).unwrap().add(&file, text).unwrap();
            }
            let config = load(&world);
            let path = world.surroundings().shown(&file);
            let told = format!("{path} wants to set {shown}; only your own configuration can: left out");
            let want = [SetupWarning::ProjectSetsWorkers { path, tables: tables.to_vec() }];
            assert_eq!(config.warnings, want, "{text}");
            assert_eq!(config.warnings[0].to_string(), told);
            assert_eq!((cluster(&world), worker(&world)), (before.clone(), before_worker.clone()), "{text}");
            assert!(!config.to_toml().unwrap().contains("theirs"), "{text}");
            ran += 1;
        }
    }
    assert_eq!(ran, 8);
}

#[test]
fn what_counts_is_shown_and_no_secret_is() {
    // For one machine there is nothing to show.
    let shown = load(&World::new(TWO_MODELS)).to_toml().unwrap();
    assert!(!shown.contains("[cluster]") && !shown.contains("[worker"), "{shown}");
    let world = World::new(
        "[cluster]\nnats = \"tls://b:4222\"\n[workers.gpu]\nssh = \"gpu\"\n[worker]\nlabels = [\"gpu\"]\ncapacity = 3\n",
    );
    let paths = world.paths();
    let credentials = NatsCredentials { user: "me".to_owned(), password: "hunter2".to_owned().into() };
    write_credentials(&paths, &credentials).unwrap();
    let secret = read_or_make_secret(&paths).unwrap();
    let config = load(&world);
    let shown = config.to_toml().unwrap();
    let tables = [
        "[cluster]\nowner = \"default\"\nnats = \"tls://b:4222\"\nlease = \"30s\"\nrenew = \"10s\"\nmodels = \"home\"\n",
        "[workers.gpu]\nssh = \"gpu\"\nprogram = \"posse\"\nmodels = \"home\"\n",
        "[worker]\nlabels = [\"gpu\"]\ncapacity = 3\nfolder_mb = 20000\nmodels = \"home\"\nfiles = \"write\"\nshell = \"full\"\n\
         network = \"none\"\napproval = \"auto\"\n",
    ];
    for table in tables {
        assert!(shown.contains(table), "{table}\nin\n{shown}");
    }
    let hex: String = secret.reveal().iter().map(|byte| format!("{byte:02x}")).collect();
    let debug = format!("{config:?} {:?} {:?}", cluster(&world), worker(&world));
    for text in [&shown, &debug] {
        assert!(!text.contains("hunter2") && !text.contains(&hex), "{text}");
    }
    // What is shown says the same as what was written.
    let again = World::new(&shown);
    assert_eq!(load(&again).cluster(&paths).unwrap(), cluster(&world));
}
