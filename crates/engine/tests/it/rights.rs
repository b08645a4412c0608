//! A child may do what its parent and its role may, and no more: what it is offered, and what happens when it asks for more.

use posse_protocol::{Files, Grant, Network, Shell};
use posse_roles::{Roles, Team};
use posse_surface::Surface;
use posse_testkit::Turn;
use serde_json::{Value, json};

use crate::check::Ran;
use crate::crew::{REPORT, Stage, start};
use crate::follow::{holds, named, offered, sh, wait};

fn write(path: &str) -> Turn {
    Turn::call("write_file", json!({"path": path, "content": "written\n"}))
}

/// Starts one agent that tries these turns, and ends.
async fn tries(mut stage_of: Stage, change: impl FnOnce(&mut Stage)) -> (Stage, Ran) {
    change(&mut stage_of);
    let ran = stage_of.run("go").await;
    (stage_of, ran)
}

async fn child(role: &str, turns: Vec<Turn>) -> Stage {
    let main = vec![Turn::call("agent", named("child", role, "Do it.")), wait(), Turn::text("Done.")];
    let turns = turns.into_iter().chain([Turn::text(REPORT)]).collect();
    Stage::new([("main", main), ("child", turns)]).await
}

#[tokio::test]
async fn roles_that_may_not_write_cannot_with_file_tools_nor_with_a_shell() {
    let reads = ["read_file", "list_files", "glob", "grep", "todo", "handle_read"];
    let with_shell = ["read_file", "list_files", "glob", "grep", "shell", "jobs", "todo", "handle_read"];
    let cases = [
        ("explore", "this agent may not use", &with_shell[..], (false, "Read-only file system")),
        ("plan", "this agent may not write files", &with_shell, (false, "Read-only file system")),
        ("review", "this agent may not write files", &reads, (false, "this agent has no shell")),
        // It may write what it likes, and nothing of it remains.
        ("verifier", "this agent may not write files", &with_shell, (true, "exit code 0\nwritten")),
    ];
    let mut seen = 0;
    for (role, no_write, tools, (ran_well, says)) in cases {
        let command = "python3 -c \"open('c.txt', 'w').write('written')\" && cat c.txt";
        let (stage, ran) = tries(child(role, vec![write("c.txt"), sh(command)]).await, |_| ()).await;
        assert_eq!(offered(&stage.requests_of("child")[0].json()), tools, "{role}");
        let results = ran.results_of("child");
        assert!(!results[0].0 && results[0].1.starts_with(no_write), "{role}: {results:?}");
        assert!(results[1].0 == ran_well && results[1].1.contains(says), "{role}: {results:?}");
        assert!(!stage.files.path().join("c.txt").exists(), "{role}");
        assert_eq!(ran.report_of("child").receipt.files, [], "{role}");
        seen += 1;
    }
    assert_eq!(seen, 4);
}

#[tokio::test]
async fn custom_has_the_tools_that_are_listed_and_none_without_a_list() {
    let custom = |tools: Value| json!({"action": "start", "name": "child", "role": "custom", "prompt": "Do it.", "allowed_tools": tools});
    let main = vec![
        Turn::call("agent", custom(Value::Null)),
        Turn::call("agent", custom(json!(["read_file", "write_*"]))),
        wait(),
        Turn::text("Done."),
    ];
    let turns = vec![write("c.txt"), sh("touch d.txt"), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("child", turns)]).await;
    let ran = stage.run("go").await;
    let refused = "The role custom has the tools you list and no others: give allowed_tools, such as \
                   [\"read_file\", \"grep\"].";
    assert_eq!(ran.results_of("main")[0], (false, refused.to_string()));
    assert_eq!(offered(&stage.requests_of("child")[0].json()), ["read_file", "write_file", "handle_read"]);
    let results = ran.results_of("child");
    assert!(results[0].0 && !results[1].0, "{results:?}");
    assert_eq!(results[1].1, "this agent may not use shell");
    assert_eq!(
        (stage.files.read("c.txt").as_str(), stage.files.path().join("d.txt").exists()),
        ("written\n", false)
    );
}

#[tokio::test]
async fn an_unknown_role_is_answered_with_those_there_are() {
    let main = vec![Turn::call("agent", start("wizard", "Do it.")), Turn::text("Done.")];
    let stage = Stage::new([("main", main)]).await;
    let ran = stage.run("go").await;
    let (ok, text) = &ran.results_of("main")[0];
    assert!(!ok && text.starts_with("there is no role \"wizard\""), "{text}");
    holds(
        text,
        &["general", "explore", "plan", "review", "implementer", "verifier", "custom", "skill", "explorer"],
    );
    assert_eq!(ran.agents().len(), 0);
}

#[tokio::test]
async fn the_deepest_agents_cannot_delegate() {
    let main =
        vec![Turn::call("agent", named("outer", "general", "Have it done.")), wait(), Turn::text("Done.")];
    let outer = vec![Turn::call("agent", named("inner", "general", "Do it.")), wait(), Turn::text(REPORT)];
    let inner = vec![Turn::call("agent", named("innermost", "general", "Do it.")), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("outer", outer), ("inner", inner)]).await;
    let ran = stage.run("go").await;
    let delegation = ["outer", "inner"]
        .map(|name| offered(&stage.requests_of(name)[0].json()).contains(&"agent".to_string()));
    assert_eq!(delegation, [true, false]);
    let refused = "agents may be 2 deep at most, and this one would be at 3: do this work yourself";
    assert_eq!(ran.results_of("inner"), [(false, refused.to_string())]);
    assert_eq!(ran.agents().len(), 2);
}

#[tokio::test]
async fn who_may_delegate_to_whom_is_the_roles_to_say() {
    let to = |role: &str| json!({"role": role, "task": "Do it."});
    let main = vec![Turn::call("delegate_to_agent", to("coder")), Turn::text("Done.")];
    let coder = vec![
        Turn::call("delegate_to_agent", to("reviewer")),
        Turn::call("delegate_to_agent", to("tester")),
        Turn::text(REPORT),
    ];
    let tester = vec![Turn::call("delegate_to_agent", to("tester")), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("coder-1", coder), ("tester-1", tester)])
        .await
        .surface(Surface::Delegate);
    let ran = stage.run("go").await;
    let results = ran.results_of("coder-1");
    let refused = "this agent may not delegate to reviewer: it may delegate to tester";
    assert_eq!(results[0], (false, refused.to_string()));
    assert!(results[1].0, "{results:?}");
    let told: Value = serde_json::from_str(&results[1].1).unwrap();
    assert_eq!(
        (&told["status"], &told["summary"]),
        (&json!("completed"), &json!("I looked at it and it is fine."))
    );
    assert!(!ran.results_of("tester-1")[0].0);
    let mut names = ran.agents().into_keys().collect::<Vec<_>>();
    names.sort();
    assert_eq!(names, ["coder-1", "tester-1"]);
}

#[tokio::test]
async fn in_plan_mode_nobody_writes() {
    let stage = child("general", vec![write("c.txt"), sh("touch c.txt")]).await;
    let (stage, ran) = tries(stage, |stage| {
        stage.grant =
            Grant { files: Files::Read, shell: Shell::None, network: Network::None, ..Grant::full() };
    })
    .await;
    for name in ["main", "child"] {
        let tools = offered(&stage.requests_of(name)[0].json());
        assert!(
            !tools.iter().any(|tool| ["write_file", "edit_file", "shell"].contains(&tool.as_str())),
            "{tools:?}"
        );
    }
    let results = ran.results_of("child").into_iter().map(|(ok, text)| (ok, text.contains("this agent")));
    assert_eq!(results.collect::<Vec<_>>(), [(false, true), (false, true)]);
    assert!(!stage.files.path().join("c.txt").exists());
}

#[tokio::test]
async fn a_coordinator_has_delegation_tools_only_and_its_agents_can_work() {
    let main = vec![
        write("main.txt"),
        Turn::call("agent", named("child", "implementer", "Write c.txt.")),
        wait(),
        Turn::text("Done."),
    ];
    let stage = Stage::new([("main", main), ("child", vec![write("c.txt"), Turn::text(REPORT)])]).await;
    let (stage, ran) = tries(stage, |stage| stage.delegation.coordinator = true).await;
    assert_eq!(offered(&stage.requests_of("main")[0].json()), ["agent", "handle_read"]);
    let (ok, text) = &ran.results_of("main")[0];
    assert!(!ok && text.contains("may not write files"), "{text}");
    assert!(!stage.files.path().join("main.txt").exists());
    assert_eq!(stage.files.read("c.txt"), "written\n");
}

/// What commands of an agent of this role come to on the shell surface.
async fn commands(role: &str, lines: &[&str]) -> (Stage, Vec<(bool, String)>) {
    let bash = |line: &str| Turn::call("bash", json!({"command": line}));
    let main = vec![bash(&format!("task:{role} --name child --prompt 'Do it.'")), Turn::text("Done.")];
    let turns = lines.iter().map(|line| bash(line)).chain([Turn::text(REPORT)]).collect();
    let stage = Stage::new([("main", main), ("child", turns)]).await.surface(Surface::Shell);
    let ran = stage.run("go").await;
    assert_eq!(ran.ended("child"), "completed");
    let (_, told) = &ran.results_of("main")[0];
    assert!(told.starts_with(&format!("[task:{role}]\nchild ({role}) \"Do it.\": completed")), "{told}");
    let results = ran.results_of("child");
    assert_eq!(results.len(), lines.len());
    (stage, results)
}

#[tokio::test]
async fn on_the_shell_surface_rights_are_those_of_the_routed_command() {
    let cases = [
        ("read a.txt", true, "[read]\n"),
        ("grep alpha", true, "[grep]\n"),
        ("write c.txt --content x", false, "This agent may not use write."),
        ("edit a.txt --old alpha --new beta", false, "This agent may not use edit."),
        ("glob '*.txt'", true, "[glob]\n"),
        ("task:general --prompt 'Write c.txt.'", false, "This agent may not use task:general."),
        ("touch c.txt", false, "[bash]\nexit code 1\ntouch: cannot touch 'c.txt': Read-only file system"),
        ("cat a.txt | tee c.txt", false, "[bash]\nexit code 1\ntee: c.txt: Read-only file system"),
        ("read --help", true, "[read]\nUsage: read PATH"),
    ];
    let lines = cases.map(|(line, ..)| line);
    let (stage, results) = commands("explore", &lines).await;
    for ((line, ok, text), (got, told)) in cases.iter().zip(&results) {
        assert!(ok == got && told.starts_with(text), "{line}: {told}");
    }
    assert_eq!(cases.len(), 9);
    let left = ["a.txt", "b.txt", "c.txt"].map(|file| stage.files.path().join(file).exists());
    assert_eq!((left, stage.files.read("a.txt").as_str()), ([true, true, false], "alpha\n"));
    assert_eq!(offered(&stage.requests_of("child")[0].json()), ["bash"]);
}

#[tokio::test]
async fn on_the_shell_surface_a_role_with_a_shell_runs_programs_too() {
    let (stage, results) = commands(
        "general",
        &["echo hi > f", "write c.txt --content text", "task:explore --help", "task:wizard --prompt x"],
    )
    .await;
    assert_eq!(results[0], (true, "[bash]\nexit code 0\n(no output)".to_string()));
    assert_eq!((stage.files.read("f").as_str(), stage.files.read("c.txt").as_str()), ("hi\n", "text"));
    assert!(results[1].0 && results[1].1.starts_with("[write]\n"), "{results:?}");
    assert!(results[2].0 && results[2].1.starts_with("[task:explore]\nUsage: task:ROLE"), "{results:?}");
    assert!(!results[3].0 && results[3].1.contains("there is no role \"wizard\""), "{results:?}");
}

#[tokio::test]
async fn the_agent_for_skills_cannot_ask_for_itself_and_is_asked_again_rather_than_started_anew() {
    let bash = |line: &str| Turn::call("bash", json!({"command": line}));
    let main = vec![
        bash("task:skill:search --prompt 'charts'"),
        bash("task:skill:enhance --prompt 'what was learnt'"),
        Turn::text("Done."),
    ];
    let skill = vec![bash("task:skill:search --prompt again"), Turn::text(REPORT), Turn::text(REPORT)];
    let stage = Stage::new([("main", main), ("skill-1", skill)]).await.surface(Surface::Shell);
    let ran = stage.run("go").await;
    assert_eq!(ran.endings().len(), 2);
    let results = ran.results_of("main");
    assert!(results.iter().all(|(ok, text)| *ok && text.contains("skill-1 (skill)")), "{results:?}");
    let requests = stage.requests_of("skill-1");
    assert_eq!(requests.len(), 3);
    let end = requests[1].body.len() - "]}".len();
    assert_eq!(requests[1].body[..end], requests[2].body[..end], "the same conversation goes on");
    let refused = requests[1].json()["messages"].as_array().unwrap().last().unwrap()["content"].clone();
    assert_eq!(refused, json!("This agent may not use task:skill:search."));
}

#[tokio::test]
async fn the_same_holds_with_the_roles_of_a_team() {
    let (stage, ran) = tries(child("reviewer", vec![write("c.txt"), sh("touch c.txt")]).await, |stage| {
        stage.delegation.roles = Roles::builtin(Team::With);
    })
    .await;
    assert!(ran.results_of("child").iter().all(|(ok, _)| !ok));
    assert!(!stage.files.path().join("c.txt").exists());
}
