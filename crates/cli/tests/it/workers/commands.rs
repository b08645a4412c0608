//! `posse workers`: what it says of machines, and what it does to them.

use posse_testkit::Turn;
use serde_json::Value;

use super::far::Far;
use crate::posse::Person;

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
        .collect()
}

#[test]
fn one_machine_needs_no_workers() {
    let person = Person::new([] as [Turn; 0]);
    let ran = person.posse(&["workers"]);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("one machine needs none");
    ran.says("[workers.NAME]\nssh = \"HOST\"\n");
    person.posse(&["worker", "--help"]).says("For one machine you need none of this");
    person.posse(&["workers", "doctor"]).says("one machine needs none");
    let ran = person.posse(&["worker"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("there is nobody to serve");
    let ran = person.posse(&["worker", "--stdio", "--name", "gpu"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("home ended before it said the secret; `posse worker --stdio` is started by home over ssh");
    let ran = person.posse(&["workers", "add", "no name"]);
    assert_eq!(ran.code, Some(2), "{ran:#?}");
    ran.says("no name");
    assert!(!person.config().with_file_name("workers").exists(), "no secret is made for nobody");
}

/// Its keys are its person's, so a home has them used only where that person wants it.
#[test]
fn a_worker_lends_its_models_only_if_it_says_so() {
    let person = Person::new([] as [Turn; 0]);
    let usual = std::fs::read_to_string(person.config()).unwrap();
    let cases =
        [("", false), ("[worker]\nmodels = \"home\"\n", false), ("[worker]\nmodels = \"worker\"\n", true)];
    for (settings, lends) in cases {
        person.configure(&format!("{usual}\n{settings}"));
        let says = &lines(&person.posse(&["worker", "--check"]).stdout)[0];
        let models = if lends { vec!["fake"] } else { Vec::new() };
        assert_eq!((&says["lends_models"], &says["models"]), (&lends.into(), &models.into()), "{settings}");
    }
    assert_eq!(cases.len(), 3);
}

#[test]
fn a_worker_is_listed_checked_drained_and_used_again() {
    let far = Far::new([]);
    let ran = far.person.posse(&["workers", "--json"]);
    let [worker] = &lines(&ran.stdout)[..] else { panic!("{ran:#?}") };
    assert_eq!(
        (&worker["name"], &worker["by"], &worker["ready"]),
        (&"gpu".into(), &"ssh".into(), &true.into()),
        "{worker}"
    );
    let doctor = far.person.posse(&["workers", "doctor", "gpu"]);
    assert_eq!(doctor.code, Some(0), "{doctor:#?} {}", far.sshd.log());
    for part in ["✓ ssh", "✓ posse", "✓ sandbox", "✓ git", "✓ models     home calls them"] {
        doctor.says(part);
    }
    let drained = far.person.posse(&["workers", "drain", "gpu"]);
    drained.says("gpu takes nothing new. No worker runs here now.");
    drained.says("posse workers drain gpu --undo");
    let doctor = far.person.posse(&["workers", "doctor", "--json"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    let found = lines(&doctor.stdout);
    let state = found.iter().find(|found| found["what"] == "state").unwrap();
    assert_eq!(state["advice"], "posse workers drain gpu --undo");
    far.person.posse(&["workers", "drain", "gpu", "--undo"]).says("gpu takes agents again.");
    assert_eq!(far.person.posse(&["workers", "doctor"]).code, Some(0));
    far.person.posse(&["workers", "remove", "gpu"]).says("remove [workers.gpu] there");
    far.person.posse(&["workers", "doctor", "gpux"]).says("there is no worker \"gpux\"; there are gpu");
}

#[test]
fn this_posse_is_put_on_a_machine_that_has_none() {
    let far = Far::with("exit 127", []);
    let place = far.sshd.far().join("bin/posse");
    let text = std::fs::read_to_string(far.person.config()).unwrap();
    let program = text.lines().find(|line| line.starts_with("program = ")).unwrap();
    far.person.configure(&text.replace(program, &format!("program = {place:?}")));
    let doctor = far.person.posse(&["workers", "doctor", "gpu"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("→ posse workers install gpu");
    let ran = far.person.posse(&["workers", "install", "gpu"]);
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", far.sshd.log());
    ran.says("answers there.");
    let own = std::fs::read(env!("CARGO_BIN_EXE_posse")).unwrap();
    assert!(std::fs::read(&place).unwrap() == own, "it is the same program");
    let left: Vec<_> = std::fs::read_dir(place.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing half-written stays: {left:?}");
}

#[test]
fn a_known_worker_gets_other_labels() {
    let person = Person::new([] as [Turn; 0]);
    person
        .configure_more("[cluster]\nnats = \"tls://broker.example\"\n[workers.fixed]\nlabels = [\"arm\"]\n");
    let add = |name: &str, labels: &[&str]| person.posse(&[&["workers", "add", name], labels].concat());
    let join = |name: &str| {
        let file = person.config().with_file_name("workers").join(format!("{name}.join"));
        std::fs::read_to_string(file).unwrap()
    };
    let labels = || {
        let text = std::fs::read_to_string(person.config().with_file_name("workers/known.toml")).unwrap();
        text.lines().find(|line| line.starts_with("labels")).unwrap().to_owned()
    };
    let added = add("gpu", &["--labels", "cuda"]);
    assert_eq!((added.code, labels()), (Some(0), "labels = [\"cuda\"]".to_owned()), "{added:#?}");
    added.says("Add this to the users");
    added.says("posse worker --join gpu.join");
    let added = add("gpu", &["--labels", "linux, big"]);
    assert_eq!((added.code, labels()), (Some(0), "labels = [\"linux\", \"big\"]".to_owned()), "{added:#?}");
    added.says("gpu is known already; its labels are linux, big from now on.");
    added.says("Replace its user in the configuration of the broker with this one");
    added.says("$JS.API.CONSUMER.INFO.posse-default-tasks.l-big");
    // Without labels it keeps those that it has.
    let added = add("gpu", &[]);
    assert_eq!((added.code, labels()), (Some(0), "labels = [\"linux\", \"big\"]".to_owned()), "{added:#?}");
    assert!(join("gpu").contains("labels = [\"linux\", \"big\"]"));
    // What the configuration says counts more, so nothing else is written into a file.
    let added = add("fixed", &["--labels", "x86"]);
    assert_eq!(added.code, Some(2), "{added:#?}");
    added.says("the labels of fixed are in ~/config.toml; change them in [workers.fixed] there");
    assert_eq!(add("fixed", &[]).code, Some(0));
    assert!(join("fixed").contains("labels = [\"arm\"]"));
}

/// What is in a work tree gets into commits and snapshots, and so to every worker.
#[test]
fn the_file_with_which_a_worker_joins_is_in_no_project() {
    let person = Person::new([] as [Turn; 0]);
    person.configure_more("[cluster]\nnats = \"tls://broker.example\"\n");
    std::fs::create_dir(person.project.path().join("sub")).unwrap();
    for file in ["gpu.join", "sub/gpu.join", "not/there/gpu.join"] {
        let ran = person.posse(&["workers", "add", "gpu", "--out", file]);
        assert_eq!(ran.code, Some(2), "{ran:#?}");
        ran.says("would be in the git work tree");
        ran.says("name a place outside of it, or leave --out away");
        assert!(!person.project.path().join(file).exists(), "{file}");
    }
    let kept = person.config().with_file_name("workers/gpu.join");
    assert!(!kept.exists() && person.posse(&["workers", "--json"]).stdout.is_empty(), "nothing was added");
    let added = person.posse(&["workers", "add", "gpu"]);
    assert_eq!(added.code, Some(0), "{added:#?}");
    added.says("scp ~/workers/gpu.join HOST:");
    assert!(kept.exists());
    // Whoever adds it again has the newer one, and with the worker it goes.
    let first = std::fs::read_to_string(&kept).unwrap();
    assert_eq!(person.posse(&["workers", "add", "gpu"]).code, Some(0));
    assert_ne!(std::fs::read_to_string(&kept).unwrap(), first);
    person.posse(&["workers", "remove", "gpu"]).says("gpu is forgotten.");
    assert!(!kept.exists());
}
