//! The protocol's own Python client drives a session with a sub-agent, a permission and a cancellation.

use std::process::Command;

use super::children;
use super::editor::parts;
use crate::posse::Ran;

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
