//! An agent on a machine that ssh reaches: its work comes back, a cut connection changes nothing, and a machine that cannot be used
//! says why.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use posse_testkit::{Turn, asker, processes_with, run};
use serde_json::{Value, json};

use super::far::{Far, REPORT};
use crate::posse::{Ran, eventually};

fn leads() -> Vec<Turn> {
    vec![
        Turn::call("agent", json!({"action": "start", "role": "painter", "prompt": "paint it"})),
        Turn::call("agent", json!({"action": "wait"})),
        Turn::call("agent", json!({"action": "merge", "agent": "painter-1"})),
        Turn::text("all done"),
    ]
}

fn paints(gate: Option<&Arc<AtomicBool>>) -> Vec<Turn> {
    let last = Turn::call("shell", json!({"command": "cat mine.txt >> new.txt; id -un > who.txt"}));
    vec![
        Turn::call("write_file", json!({"path": "new.txt", "content": "made there\n"})),
        gate.map_or(last.clone(), |gate| last.after(gate)),
        Turn::text(REPORT),
    ]
}

/// The workers that got an agent, one after another.
fn placed(ran: &Ran) -> Vec<(String, u64)> {
    let events = ran.events();
    let placed =
        events.iter().filter(|event| event["kind"] == "agent_placed" || event["type"] == "agent_placed");
    placed
        .map(|event| (event["worker"].as_str().unwrap().to_owned(), event["epoch"].as_u64().unwrap()))
        .collect()
}

/// What the sub-agent came to.
fn report_of(ran: &Ran, far: &Far) -> Value {
    let reports: Vec<Value> = ran
        .events()
        .into_iter()
        .filter(|event| event.get("report").is_some())
        .map(|event| event["report"].clone())
        .collect();
    assert_eq!(reports.len(), 2, "one of each agent: {ran:#?} {}", far.sshd.log());
    reports.into_iter().next().unwrap()
}

#[test]
fn an_agent_works_on_a_machine_that_ssh_reaches_and_its_work_is_merged() {
    let far = Far::new([("main", leads()), ("painter-1", paints(None))]);
    std::fs::write(far.person.project.path().join("mine.txt"), "not committed\n").unwrap();
    let ran = far.person.posse(&["run", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", far.sshd.log());
    assert_eq!(placed(&ran), [("gpu".to_owned(), 1)], "{ran:#?}");
    let report = report_of(&ran, &far);
    assert_eq!(report["text"], REPORT, "{report}");
    let branch = report["receipt"]["branch"]["name"].as_str().unwrap().to_owned();
    assert!(branch.starts_with("posse/"), "{branch}");
    let user = far.sshd.host().split('@').next().unwrap().to_owned();
    assert_eq!(far.person.file("new.txt"), "made there\nnot committed\n");
    assert_eq!(far.person.file("who.txt").trim(), user, "as the user there");
    // Where it ran is told later, too.
    let tasks = far.person.posse(&["tasks"]);
    tasks.says("gpu");
    far.person.posse(&["sessions", "show", "last"]).says("gpu");
    // The person's own record there is none of the worker's business.
    assert!(far.worker_folder().join("0/record").is_dir());
    assert!(!far.sshd.far().join(".local/share/posse/posse.db").exists());
    eventually("ssh ends with home", || processes_with(&far.sshd.mark()).is_empty());
}

/// Two machines can be homes for each other: each signs with a secret of its own.
#[test]
fn a_machine_that_is_a_home_itself_serves_others_too() {
    let own_secret = "mkdir -p -m 700 \"$HOME/.config/posse/workers\"; umask 077; \
                      printf '%064d\\n' 7 > \"$HOME/.config/posse/workers/secret\"; exec \"$POSSE\" \"$@\"";
    let far = Far::with(own_secret, [("main", leads()), ("painter-1", paints(None))]);
    let ran = far.person.posse(&["run", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", far.sshd.log());
    assert_eq!(placed(&ran), [("gpu".to_owned(), 1)], "{ran:#?}");
    assert_eq!(report_of(&ran, &far)["text"], REPORT);
}

/// Models are called there only where both sides say so.
#[test]
fn a_machine_that_keeps_its_models_says_so_and_one_that_lends_them_calls_them() {
    let far = Far::new([("main", leads()), ("painter-1", paints(None))]);
    far.person.configure_more("models = \"worker\"\n");
    let told = refused(&far);
    assert!(told.contains("this worker lets no home use its models"), "{told}");
    let own = format!(
        "[worker]\nmodels = \"worker\"\n[models.fake]\nendpoint = \"{}\"\nmodel = \"fake-model\"\n",
        far.person.model.base_url()
    );
    let folder = far.sshd.far().join(".config/posse");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("config.toml"), own).unwrap();
    let ran = far.person.posse(&["run", "--json", "go"]);
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", far.sshd.log());
    assert_eq!(report_of(&ran, &far)["text"], REPORT);
    assert_eq!(far.person.file("new.txt"), "made there\n");
}

#[test]
fn a_cut_connection_is_made_again_and_the_work_is_the_same() {
    let gate = Arc::new(AtomicBool::new(false));
    let far = Far::new([("main", leads()), ("painter-1", paints(Some(&gate)))]);
    std::fs::write(far.person.project.path().join("mine.txt"), "not committed\n").unwrap();
    let mut child = far.person.spawn(&["run", "--json", "go"]);
    let out = child.stdout.take().unwrap();
    let read = std::thread::spawn(move || std::io::read_to_string(out).unwrap());
    // The second turn is asked for, so the first one's file is on record.
    let asked = || {
        let requests = far.person.model.requests();
        let of_painter =
            requests.iter().map(|request| request.json()).filter(|request| asker(request) == "painter-1");
        of_painter.count() >= 2
    };
    eventually("the second turn", asked);
    let cut = processes_with(&far.sshd.mark());
    assert!(!cut.is_empty(), "{}", far.sshd.log());
    for process in &cut {
        run("kill", &["-KILL", &process.to_string()]);
    }
    eventually("another connection", || {
        processes_with(&far.sshd.mark()).iter().any(|process| !cut.contains(process))
    });
    gate.store(true, Ordering::SeqCst);
    let status = child.wait().unwrap();
    let ran = Ran { code: status.code(), stdout: read.join().unwrap(), stderr: String::new() };
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", far.sshd.log());
    assert_eq!(placed(&ran), [("gpu".to_owned(), 1), ("gpu".to_owned(), 2)]);
    assert_eq!(report_of(&ran, &far)["text"], REPORT);
    assert_eq!(far.person.file("new.txt"), "made there\nnot committed\n");
}

#[test]
fn a_home_that_is_killed_is_resumed_and_the_work_is_the_same() {
    let gate = Arc::new(AtomicBool::new(false));
    let far = Far::new([("main", leads()), ("painter-1", paints(Some(&gate)))]);
    std::fs::write(far.person.project.path().join("mine.txt"), "not committed\n").unwrap();
    let mut child = far.person.spawn(&["run", "--json", "go"]);
    let of_painter = || {
        let requests = far.person.model.requests();
        requests.iter().map(|request| request.json()).filter(|request| asker(request) == "painter-1").count()
    };
    eventually("the second turn", || of_painter() >= 2);
    child.kill().unwrap();
    child.wait().unwrap();
    gate.store(true, Ordering::SeqCst);
    let ran = far.person.posse(&["resume", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:#?} {}", far.sshd.log());
    assert_eq!(report_of(&ran, &far)["text"], REPORT);
    // The file that was written before is not written again: it came along.
    let finished = ran
        .events()
        .iter()
        .filter(|event| event["type"] == "tool_finished" && event["tool"] == "write_file")
        .count();
    assert_eq!(finished, 0, "no finished step is made twice");
    assert_eq!(far.person.file("new.txt"), "made there\nnot committed\n");
}

/// What the main agent hears of a painter that gets no worker.
fn refused(far: &Far) -> String {
    let ran = far.person.posse(&["run", "--json", "go"]);
    let report = report_of(&ran, far);
    assert_eq!(placed(&ran), []);
    assert_eq!(far.person.file("main.py"), "print('hi')\n");
    report.to_string()
}

fn only_waits() -> Vec<Turn> {
    let mut turns = leads();
    turns.remove(2);
    turns
}

#[test]
fn a_machine_that_cannot_be_used_says_why() {
    let speaks_other =
        "set -- $(echo \"$@\" | sed 's/--protocol 1 /--protocol 999 /'); exec \"$POSSE\" \"$@\"";
    let drained = "\"$POSSE\" worker --drain >/dev/null; exec \"$POSSE\" \"$@\"";
    let no_sandbox = "exec unshare -r sh -c 'echo 0 > /proc/sys/user/max_user_namespaces; exec \"$0\" \"$@\"' \"$POSSE\" \"$@\"";
    let cases = [
        (no_sandbox, "this machine has no working sandbox, so it cannot be a worker"),
        (speaks_other, "home speaks version 999 of the protocol and this posse"),
        (drained, "this worker is drained and takes nothing"),
        ("exit 127", "no worker can run it: gpu: "),
    ];
    let mut count = 0;
    for (script, why) in cases {
        let far = Far::with(script, [("main", only_waits()), ("painter-1", Vec::new())]);
        let told = refused(&far);
        assert!(told.contains(why), "{why:?} is not in {told}");
        assert!(!far.worker_folder().join("0/record").exists(), "nothing began");
        count += 1;
    }
    assert_eq!(count, 4);
}
