//! X7: what is secret in Posse's environment reaches no record, no log, no screen, no child and no command line, with
//! everything logged.

use std::path::Path;
use std::sync::{Arc, Mutex};

use posse_testkit::attacks::{self, Attempt, Secret};
use posse_testkit::{FakeModel, Turn};
use serde_json::json;

use super::player::{Actor, Level, Moment, Play, play};
use super::world::World;
use super::{in_parallel, settle};

/// Where a text came from, and the text.
type Seen = (String, Vec<u8>);

fn seed() -> u64 {
    let seed = u64::from(std::process::id()) * 7919 + 3;
    println!("seed {seed}");
    seed
}

/// Which secrets can be found in what was seen.
fn leaks(secrets: &[Secret], seen: &[Seen]) -> Vec<String> {
    let mut leaks = Vec::new();
    for (place, bytes) in seen {
        let text = String::from_utf8_lossy(bytes);
        let told =
            secrets.iter().filter(|secret| secret.cores.iter().any(|core| text.contains(core.as_str())));
        leaks.extend(told.map(|secret| format!("{} ({}) in {place}", secret.name, secret.variable)));
    }
    leaks
}

/// Every file below a folder.
fn files(folder: &Path, seen: &mut Vec<Seen>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files(&path, seen);
        } else {
            seen.push((path.display().to_string(), std::fs::read(&path).unwrap_or_default()));
        }
    }
}

/// What Posse tells afterwards, and all it has written.
fn aftermath(world: &World, secrets: &[Secret]) -> Vec<Seen> {
    let mut seen = Vec::new();
    for args in [
        &["sessions", "list"][..],
        &["sessions", "show", "last"],
        &["sessions", "show", "last", "--json"],
        &["tasks"],
        &["doctor"],
    ] {
        let planted = secrets.iter().map(|secret| (secret.variable, &secret.text));
        let output = world.command(args).envs(planted).env("POSSE_LOG", "trace").output().unwrap();
        seen.push((format!("posse {}", args.join(" ")), [output.stdout, output.stderr].concat()));
    }
    let before = seen.len();
    files(&world.at("data"), &mut seen);
    let written: Vec<_> = seen[before..].iter().map(|(name, _)| name.as_str()).collect();
    for name in ["posse.db", "posse.log"] {
        assert!(written.iter().any(|path| path.ends_with(name)), "{name} is not in {written:?}");
    }
    seen
}

/// The command lines of all processes.
fn command_lines() -> Seen {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    ("a command line".to_string(), lines.flatten().collect())
}

#[test]
fn secrets_in_the_environment_stay_there() {
    let secrets = attacks::secrets(seed());
    assert!(secrets.len() >= 40);
    let looks = [
        "env",
        "tr '\\0' '\\n' < /proc/self/environ",
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null; true",
        "ps axewwo pid,args",
        "python3 -c 'import os; print(os.environ)'",
        "bash -lc 'export -p; set'",
        "node -p process.env",
    ];
    let mut made = 0;
    let mut faults = Vec::new();
    for (actor, flag) in [(Actor::Main, "--json"), (Actor::Depth3, "--json"), (Actor::Main, "--quiet")] {
        let attempts = looks.iter().map(|attack| Attempt { name: attack, kind: "", set_up: None, attack });
        let mut as_whom = Play { flags: vec![flag], ..Play::new(Level::Full, actor) };
        as_whom.env =
            secrets.iter().map(|secret| (secret.variable.to_string(), secret.text.clone())).collect();
        as_whom.env.push(("POSSE_LOG".to_string(), "trace".to_string()));
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let played = play(as_whom, attempts.collect(), move |_, attempt, moment| {
            if let Moment::After(answer, _) = moment {
                let mut seen = noted.lock().unwrap();
                seen.push((format!("the answer to {}", attempt.name), answer.as_bytes().to_vec()));
                seen.push(command_lines());
            }
        });
        assert_eq!((played.ran.code, played.made), (Some(0), looks.len()), "{:#?}", played.ran);
        let mut seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.iter().any(|(_, text)| String::from_utf8_lossy(text).contains("PATH")), "env was told");
        seen.push(("standard output".to_string(), played.ran.stdout.into_bytes()));
        seen.push(("standard error".to_string(), played.ran.stderr.into_bytes()));
        seen.extend(aftermath(&played.world, &secrets));
        made += secrets.len();
        faults.extend(leaks(&secrets, &seen).into_iter().map(|leak| format!("{actor:?}: {leak}")));
    }
    settle("secrets in the environment", made, 40, &faults);
}

/// What came of a run.
struct Kept {
    leaks: Vec<String>,
    /// Whether the key reached the model.
    used: bool,
    /// What Posse said of it.
    said: String,
}

/// One run whose key for the model is this secret; the server answers with these turns.
fn with_key(secret: &Secret, answers: &[Turn]) -> Kept {
    let secrets = std::slice::from_ref(secret);
    let model = FakeModel::start_blocking();
    answers.iter().for_each(|turn| model.push(turn.clone()));
    let config = format!(
        "[models.fake]\nendpoint = \"{}\"\nmodel = \"fake-model\"\napi_key_env = \"{}\"\n",
        model.base_url(),
        secret.variable
    );
    let world = World::new(&config);
    let mut command = world.command(&["run", "--json", "go"]);
    let output = command.env(secret.variable, &secret.text).env("POSSE_LOG", "trace").output().unwrap();
    let said = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    let mut seen = vec![("standard output and error".to_string(), said.clone().into_bytes())];
    let requests = model.requests();
    let used = requests.iter().any(|request| {
        let header = request.header("authorization").unwrap_or_default();
        secret.cores.iter().any(|core| header.contains(core.as_str()))
    });
    seen.extend(requests.into_iter().map(|request| ("a request's body".to_string(), request.body)));
    let mut more = Vec::new();
    files(&world.at("data"), &mut more);
    for args in [&["doctor"][..], &["sessions", "show", "last", "--json"]] {
        let output = world.command(args).env(secret.variable, &secret.text).output().unwrap();
        seen.push((format!("posse {}", args.join(" ")), [output.stdout, output.stderr].concat()));
    }
    seen.extend(more);
    Kept { leaks: leaks(secrets, &seen), used, said }
}

#[test]
fn keys_for_models_go_to_the_model_only() {
    let secrets = attacks::secrets(seed());
    let results = in_parallel(secrets.clone(), 4, |secret| {
        let answers =
            [Turn::call("shell", json!({"command": "env; ps axewwo args"})), Turn::text("All is done here.")];
        let kept = with_key(&secret, &answers);
        (kept.leaks, kept.used, secret.text.contains('\n'))
    });
    let made = results.len();
    let used = results.iter().filter(|(_, used, _)| *used).count();
    let cannot = results.iter().filter(|(_, _, lines)| *lines).count();
    assert_eq!(used + cannot, made, "a key of one line reaches the model, which shows that it was there");
    let faults: Vec<String> = results.into_iter().flat_map(|(leaks, _, _)| leaks).collect();
    settle("keys for models", made, 40, &faults);
}

/// Some servers repeat the key in their complaint about it.
#[test]
fn a_key_that_the_server_repeats_is_not_told() {
    let secrets = attacks::secrets(seed());
    let one_line = secrets.into_iter().filter(|secret| !secret.text.contains('\n')).collect();
    let faults = in_parallel(one_line, 4, |secret: Secret| {
        let body = json!({"error": {"message": format!("Incorrect API key provided: {}.", secret.text)}});
        let kept = with_key(&secret, &[Turn::status_body(401, body)]);
        assert!(kept.used && kept.said.contains("Incorrect API key"), "{}: {}", secret.name, kept.said);
        kept.leaks
    });
    let made = faults.len();
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    settle("keys that a server repeats", made, 40, &faults);
}

/// Credentials can stand in the address of a model: as a password, as a user, in the query.
#[test]
fn credentials_in_an_address_are_not_told() {
    let text = "pW7kQ2vX9mR4tY6uZ1aB".to_string();
    let secret =
        Secret { name: "credential", variable: "NOTHING", cores: vec![text.clone()], text: text.clone() };
    let starts = json!({"action": "start", "role": "explore", "prompt": "look", "model": "no-such-model"});
    let echo = json!({"error": {"message": format!("no access for {text}")}});
    let answers = [
        vec![Turn::text("All is done here.")],
        // Who asks for a model that is not there is told which there are, and where.
        vec![Turn::call("agent", starts), Turn::text("All is done here.")],
        vec![Turn::status_body(401, echo)],
        vec![Turn::status(500), Turn::status(500), Turn::status(500)],
        vec![Turn::reset(), Turn::reset(), Turn::reset()],
    ];
    let shapes: [fn(&str, &str) -> String; 4] = [
        |url, text| url.replace("http://", &format!("http://person:{text}@")),
        |url, text| url.replace("http://", &format!("http://{text}@")),
        |url, text| format!("{url}?key={text}"),
        |url, text| format!("{url}/?version=1&token={text}&x"),
    ];
    let cases = answers.iter().flat_map(|turns| shapes.map(|shape| (turns.clone(), shape)));
    let faults = in_parallel(cases.collect(), 2, |(turns, shape)| {
        let model = FakeModel::start_blocking();
        turns.into_iter().for_each(|turn| model.push(turn));
        let address = shape(&model.base_url(), &text);
        let other = "[models.other]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"x\"\n";
        let config = format!(
            "model = \"fake\"\n[models.fake]\nendpoint = \"{address}\"\nmodel = \"fake-model\"\n{other}"
        );
        let world = World::new(&config);
        let tape = world.at("tape.jsonl").display().to_string();
        let args = ["run", "--json", "--record", &tape, "go"];
        let output = world.command(&args).env("POSSE_LOG", "trace").output().unwrap();
        let mut seen = vec![("standard output".to_string(), output.stdout)];
        seen.push(("standard error".to_string(), output.stderr));
        assert!(model.calls() > 0, "the address was used: {seen:?}");
        seen.extend(
            model.requests().into_iter().map(|request| ("a request's body".to_string(), request.body)),
        );
        seen.push(("a cassette".to_string(), std::fs::read(&tape).unwrap_or_default()));
        for args in [&["config", "show"][..], &["sessions", "export", "last"]] {
            let output = world.command(args).output().unwrap();
            seen.push((format!("posse {}", args.join(" ")), [output.stdout, output.stderr].concat()));
        }
        seen.extend(aftermath(&world, std::slice::from_ref(&secret)));
        leaks(std::slice::from_ref(&secret), &seen)
    });
    let made = faults.len();
    settle("credentials in an address", made, 20, &faults.into_iter().flatten().collect::<Vec<_>>());
}
