//! What a worker says of itself, as home reads it: bounded, and harmless in a terminal.

use posse_setup::{SandboxAbout, WorkerAbout};
use serde_json::json;

#[test]
fn what_a_worker_says_of_itself_is_bounded_and_harmless() {
    let least = json!({"version": "1", "protocol": 1, "sandbox": {"ok": true}});
    let usual = WorkerAbout {
        version: "1".to_owned(),
        protocol: 1,
        name: String::new(),
        labels: Vec::new(),
        capacity: 0,
        sandbox: SandboxAbout { ok: true, why: None },
        git: None,
        git_missing: None,
        models: Vec::new(),
        lends_models: true,
        drained: false,
        lease_ms: None,
        renew_ms: None,
    };
    assert_eq!(WorkerAbout::read(&least.to_string()), Ok(usual.clone()));
    let mut loud = least.clone();
    loud["version"] = json!("\u{1b}]0;x\u{7}");
    loud["git"] = json!("2\n47");
    loud["models"] = json!(vec!["m".repeat(900); 60]);
    loud["new"] = json!({"nobody": "knows"});
    let loud = WorkerAbout::read(&loud.to_string()).unwrap();
    assert_eq!((loud.version.as_str(), loud.git.as_deref()), ("\\u{1b}]0;x\\u{7}", Some("2\\n47")));
    assert_eq!((loud.models.len(), loud.models[0].chars().count()), (60, 300));
    let mut many = least.clone();
    many["labels"] = json!(vec!["l"; 5_000]);
    assert_eq!(WorkerAbout::read(&many.to_string()).unwrap().labels.len(), 100);
    let mut large = least.clone();
    large["name"] = json!("x".repeat(70_000));
    let refused = [
        large.to_string(),
        "null".to_owned(),
        "[\"model\"]".to_owned(),
        String::new(),
        json!({"version": 1, "protocol": 1, "sandbox": {"ok": true}}).to_string(),
        json!({"version": "1", "protocol": -1, "sandbox": {"ok": true}}).to_string(),
        json!({"version": "1", "protocol": 1, "sandbox": {}}).to_string(),
    ];
    assert_eq!(refused.iter().filter(|text| WorkerAbout::read(text).is_err()).count(), 7);
}
