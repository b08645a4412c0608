//! Programs of others: the protocol's own Python client drives a session with a sub-agent, a permission and a cancellation, and
//! a linter of agents finds nothing but what it has wrong itself.

use std::process::Command;

use serde_json::Value;

use super::children;
use super::editor::parts;
use crate::posse::{Person, Ran};

/// What acplint checks without waiting for models.
const CATEGORIES: [&str; 7] = [
    "initialization",
    "authentication",
    "session_lifecycle",
    "session_modes",
    "config_options",
    "stress",
    "schema_validation",
];

/// Checks that the published schema contradicts: the version is a number there, and an option has a `name` and no `label`.
const WRONG_CHECKS: [&str; 5] =
    ["initialize_v1", "protocol_version_returned", "new_session", "schema_initialize", "schema_session_new"];

#[test]
fn the_official_client_drives_a_session() {
    let person = children::crew(&["ann", "bob"]);
    let template = person.command(&["acp", "--approval", "ask"]);
    let script = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../acp/tests/official_client.py");
    let output = Command::new(parts().python)
        .arg(script)
        .arg(env!("CARGO_BIN_EXE_posse"))
        .current_dir(person.project.path())
        .env_clear()
        .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output()
        .unwrap();
    let ran = Ran::from(output);
    assert_eq!(ran.code, Some(0), "{ran:#?}");
    ran.says("asked: ann wants to change: ann.txt");
    ran.says("stopped: cancelled");
    ran.says("then: end_turn");
    assert!(person.project.path().join("ann.txt").exists());
}

#[test]
fn the_linter_complains_only_of_what_it_has_wrong() {
    let person = Person::new([]);
    let template = person.command(&[]);
    let project = person.project.path();
    let output = Command::new(parts().python.with_file_name("acplint"))
        .args(["--agent", env!("CARGO_BIN_EXE_posse"), "--agent-args", "acp", "--output", "json", "--cwd"])
        .arg(project)
        .arg("--categories")
        .args(CATEGORIES)
        .current_dir(project)
        .env_clear()
        .envs(template.get_envs().filter_map(|(name, value)| Some((name, value?))))
        .output()
        .unwrap();
    let ran = Ran::from(output);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:#?}"));
    let results = told["results"].as_array().unwrap();
    let failed = results.iter().filter(|result| result["status"] != "PASS");
    let failed = failed.map(|result| result["name"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(failed, WRONG_CHECKS, "{told:#}");
    assert!(results.len() >= 20, "{} checks", results.len());
}
