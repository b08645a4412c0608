//! A machine that joins over a real broker: with the file that home makes, and with no more rights than home prints for it.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use posse_testkit::nats::NatsServer;
use posse_testkit::{Fixture, Turn};
use serde_json::json;

use super::far::{REPORT, model};
use crate::posse::{Person, Ran, eventually, signal};

/// Home's own user; it may do everything of its owner.
pub(super) const HOME_USER: &str = "{ user: \"home\", password: \"home-password\" }";

/// The worker, as a program of its own with a home of its own.
pub(super) fn worker(home: &Path, join: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_posse"))
        .args(["worker", "--join"])
        .arg(join)
        .current_dir(home)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Home's user and password, where home looks for them.
pub(super) fn credentials(person: &Person) {
    let folder = person.config().with_file_name("workers");
    std::fs::create_dir(&folder).unwrap();
    let credentials = folder.join("nats.toml");
    std::fs::write(&credentials, "user = \"home\"\npassword = \"home-password\"\n").unwrap();
    std::fs::set_permissions(&credentials, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// Adds workers at home, and to the broker's configuration what that prints, as it is. The files that let them join.
pub(super) fn joins(person: &Person, server: &NatsServer, far: &Path, names: &[String]) -> Vec<PathBuf> {
    let (mut joins, mut users) = (Vec::new(), HOME_USER.to_owned());
    for name in names {
        let join = far.join(format!("{name}.join"));
        let added =
            person.posse(&["workers", "add", name, "--labels", "cuda", "--out", join.to_str().unwrap()]);
        assert_eq!(added.code, Some(0), "{added:#?}");
        added.says(&format!("posse worker --join {name}.join"));
        let entry = added.stdout.split_once("{\n").unwrap().1.split_once("\n}\n").unwrap().0;
        users.push_str(&format!(", {{\n{entry}\n}}"));
        joins.push(join);
    }
    server.configure(&format!("max_payload: 8MB\nauthorization {{ users: [ {users} ] }}"));
    joins
}

#[test]
fn a_machine_joins_with_the_file_and_the_rights_that_home_made() {
    let mut server = NatsServer::start(&format!("authorization {{ users: [ {HOME_USER} ] }}"));
    let leads = vec![
        Turn::call(
            "agent",
            json!({"action": "start", "role": "implementer", "prompt": "do it", "on": "cuda"}),
        ),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::call("agent", json!({"action": "merge", "agent": "implementer-1"})),
        Turn::text("all done"),
    ];
    let works = vec![
        Turn::call("write_file", json!({"path": "new.txt", "content": "made there\n"})),
        Turn::text(REPORT),
    ];
    let model = model([("main", leads), ("implementer-1", works)]);
    let person = Person::with_model(model, Fixture::new().file("main.py", "print('hi')\n").git());
    person.configure_more(&format!("[cluster]\nnats = {:?}\n", server.url()));
    credentials(&person);
    let far = tempfile::tempdir().unwrap();
    let join = joins(&person, &server, far.path(), &["gpu-1".to_owned()]).remove(0);
    server.restart();

    let child = worker(far.path(), &join);
    let ran = person.posse(&["run", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", server.log());
    let placed = ran.events().into_iter().find(|event| event["type"] == "agent_placed");
    assert_eq!(placed.unwrap_or_else(|| panic!("{ran:#?} {}", server.log()))["worker"], "gpu-1");
    assert_eq!(person.file("new.txt"), "made there\n");
    let doctor = person.posse(&["workers", "doctor"]);
    assert_eq!(doctor.code, Some(0), "{doctor:#?}");
    let of_broker = ["✓ files", "✓ server", "✓ jetstream", "? sync", "? room", "✓ messages", "✓ rights"];
    let of_worker =
        ["✓ heard", "✓ posse", "✓ sandbox", "✓ git", "✓ models     home calls them", "✓ has        cuda; "];
    for part in of_broker.into_iter().chain(of_worker) {
        doctor.says(part);
    }
    // Its file has the durations that were in force when it was made.
    let text = std::fs::read_to_string(person.config()).unwrap();
    person.configure(&text.replace("[cluster]", "[cluster]\nlease = \"20s\"\nrenew = \"5s\""));
    let doctor = person.posse(&["workers", "doctor", "gpu-1"]);
    assert_eq!(doctor.code, Some(0), "{doctor:#?}");
    doctor.says(
        "✓ lease      home's count: lease = \"20s\" and renew = \"5s\"; its join file says lease = \"30s\"",
    );
    person.configure(&text);
    let listed = || person.posse(&["workers"]);
    listed().says("agents at a time, 0 run");
    person.posse(&["workers", "drain", "gpu-1"]).says("gpu-1 takes nothing new. It runs no agents now.");
    listed().says("drained, 0 agents run");
    let doctor = person.posse(&["workers", "doctor", "gpu-1"]);
    assert_eq!(doctor.code, Some(1), "{doctor:#?}");
    doctor.says("posse workers drain gpu-1 --undo");
    // It is drained again if it is said twice, and used again from home.
    person.posse(&["workers", "drain", "gpu-1"]).says("gpu-1 takes nothing new.");
    person.posse(&["workers", "drain", "gpu-1", "--undo"]).says("gpu-1 takes agents again.");
    listed().says("ready, ");
    assert!(!join.with_file_name("drained").exists());
    signal(&child, "TERM");
    let ended = Ran::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    ended.says("Takes nothing new and finishes what runs.");
    listed().says("not heard");
    let gone = person.posse(&["workers", "drain", "gpu-1"]);
    assert_eq!(gone.code, Some(2), "{gone:#?}");
    gone.says("gpu-1 was not heard at the broker");
    person.posse(&["workers", "remove", "gpu-1"]).says("gpu-1 is forgotten.");
    eventually("nobody is listed", || person.posse(&["workers", "--json"]).stdout.is_empty());
}
