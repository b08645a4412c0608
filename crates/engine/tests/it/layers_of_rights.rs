//! What a child's rights are made of, seen from outside: no file widens them, and a mode holds for the whole tree.

use posse_engine::roles::{load_roles, project_role_places};
use posse_policy::passes;
use posse_protocol::{Answer, Approval, Budget, EventKind, Files, Grant, Isolation, RoleOrigin, Shell};
use posse_roles::{Roles, Team};
use posse_testkit::{Fixture, Turn};
use serde_json::json;

use crate::approvals::{actor, answered, at_depth, in_mode, write};
use crate::check::Ran;
use crate::crew::{REPORT, Stage};
use crate::follow::{holds, named, offered, sh, wait};

/// What an agent began with.
fn grant_of(ran: &Ran, name: &str) -> Grant {
    let grant = ran.of(name).into_iter().find_map(|event| match &event.kind {
        EventKind::AgentStarted { grant, .. } => Some(grant.clone()),
        _ => None,
    });
    grant.unwrap()
}

/// A workspace with an agent file that claims all it can, and the roles read from it.
fn stranger() -> (Fixture, Roles, String) {
    let claims =
        "tools: \"*\"\ndisallowedTools: []\npermissionMode: bypassPermissions\nfiles: write\nshell: full\n";
    let file = format!("---\nname: stranger\ndescription: does all\n{claims}---\nGo.\n");
    let files = Fixture::new().file("a.txt", "alpha\n").file(".posse/agents/stranger.md", file).git();
    let loaded = load_roles(Team::Without, &project_role_places(files.path()));
    let origin = loaded.roles.find("stranger").unwrap().origin.clone();
    let RoleOrigin::Project(path) = origin else { panic!("{origin:?}") };
    (files, loaded.roles, path)
}

#[tokio::test]
async fn agents_of_project_files_ask_until_the_person_trusts_the_file() {
    let cases = [
        (false, Approval::Full, Approval::Ask, true),
        (false, Approval::Auto, Approval::Ask, true),
        (false, Approval::Plan, Approval::Plan, false),
        (true, Approval::Full, Approval::Full, false),
        (true, Approval::Edit, Approval::Edit, true),
        (true, Approval::Ask, Approval::Ask, true),
    ];
    let mut seen = 0;
    for (trusted, session, expected, asks) in cases {
        let main =
            vec![Turn::call("agent", named("child", "stranger", "Do it.")), wait(), Turn::text("Done.")];
        let child = vec![sh("cat a.txt"), Turn::text(REPORT)];
        let mut stage = in_mode(Stage::new([("main", main), ("child", child)]).await, session);
        let (files, roles, path) = stranger();
        (stage.files, stage.delegation.roles) = (files, roles);
        if trusted {
            stage.delegation.trusted_files.insert(path);
        }
        let ran = answered(stage.start("go"), |_| Answer::Once).await;
        let case = format!("trusted {trusted}, session {session:?}");
        assert_eq!(grant_of(&ran, "child").approval, expected, "{case}");
        assert_eq!(ran.questions_of("child").len(), usize::from(asks), "{case}");
        holds(&ran.results_of("child")[0].1, &["alpha"]);
        seen += 1;
    }
    assert_eq!(seen, 6);
}

#[tokio::test]
async fn no_file_gives_a_child_what_no_child_gets() {
    let never = [
        "ask_person",
        "AskUserQuestion",
        "request_user_input",
        "set_approval",
        "session_end",
        "exit_plan_mode",
        "ExitPlanMode",
        "screen_shot",
        "browser_open",
        "computer_use",
        "terminal_open",
    ];
    for trusted in [false, true] {
        let main =
            vec![Turn::call("agent", named("child", "stranger", "Do it.")), wait(), Turn::text("Done.")];
        let child = vec![Turn::text(REPORT)];
        let mut stage = in_mode(Stage::new([("main", main), ("child", child)]).await, Approval::Full);
        let (files, roles, path) = stranger();
        (stage.files, stage.delegation.roles) = (files, roles);
        if trusted {
            stage.delegation.trusted_files.insert(path);
        }
        let ran = answered(stage.start("go"), |_| Answer::Once).await;
        let (main, child) = (grant_of(&ran, "main"), grant_of(&ran, "child"));
        let allowed = |grant: &Grant| never.iter().filter(|tool| passes(&grant.tools, tool)).count();
        assert_eq!((allowed(&main), allowed(&child)), (never.len(), 0), "trusted {trusted}");
        assert!(
            passes(&child.tools, "read_file") && child.files == Files::Write && child.shell == Shell::Full
        );
    }
    assert_eq!(never.len(), 11);
}

/// What an agent was admitted to spend.
fn budget_of(ran: &Ran, name: &str) -> Budget {
    let budget = ran.of(name).into_iter().find_map(|event| match &event.kind {
        EventKind::AgentAdmitted { brief: Some(brief), .. } => Some(brief.budget),
        _ => None,
    });
    budget.unwrap()
}

#[tokio::test]
async fn a_strange_file_raises_no_budget() {
    let high = "max_turns: 90000\nmax_tokens: 99999999\nmax_time: 900h\n";
    let low = "max_turns: 3\nmax_tokens: 500\nmax_time: 1m\n";
    for (name, more, trusted) in [
        ("new", high, false),
        ("explore", high, false),
        ("new", low, false),
        ("new", high, true),
        ("new", "", false),
    ] {
        let main = vec![Turn::call("agent", named("child", name, "Do it.")), wait(), Turn::text("Done.")];
        let child = vec![Turn::text(REPORT)];
        let mut stage = in_mode(Stage::new([("main", main), ("child", child)]).await, Approval::Full);
        let file = format!("---\nname: {name}\ndescription: spends\n{more}---\nGo.\n");
        stage.files = Fixture::new().file(".posse/agents/x.md", file).git();
        stage.delegation.roles = load_roles(Team::Without, &project_role_places(stage.files.path())).roles;
        if trusted {
            let origin = stage.delegation.roles.find(name).unwrap().origin.clone();
            let RoleOrigin::Project(path) = origin else { panic!("{origin:?}") };
            stage.delegation.trusted_files.insert(path);
        }
        stage.budget.turns = None;
        let usual = stage.delegation.sub_agents.clone();
        let ran = answered(stage.start("go"), |_| Answer::Once).await;
        let turns = budget_of(&ran, "child").turns.unwrap();
        let want = if trusted {
            90_000
        } else if more == low {
            3
        } else {
            usual.max_turns
        };
        assert_eq!(turns, want, "{name} {more} {trusted}");
    }
}

#[tokio::test]
async fn in_plan_mode_nothing_is_written_at_any_depth_and_looking_works() {
    let tries = || {
        vec![
            write("c.txt", "x\n"),
            Turn::call("edit_file", json!({"path": "a.txt", "old_text": "alpha", "new_text": "omega"})),
            sh("touch c.txt"),
            sh("python3 -c \"open('c.txt', 'w').write('x')\""),
            sh("echo x > /tmp/inner && mv /tmp/inner c.txt"),
            sh("rm a.txt"),
            Turn::call("shell", json!({"command": "touch c.txt", "outside_sandbox": true})),
            Turn::call("shell", json!({"command": "touch c.txt", "background": true})),
            Turn::call("jobs", json!({"name": "cmd-1", "wait_ms": 20_000})),
            sh("cat a.txt && ls"),
        ]
    };
    let mut seen = 0;
    let (shared, worktree) = (Isolation::Shared, Isolation::Worktree);
    for (depth, isolation) in [(0, shared), (1, shared), (3, shared), (2, worktree)] {
        let mut stage = in_mode(at_depth(depth, tries()).await, Approval::Plan);
        stage.files = stage.files.git();
        stage.delegation.sub_agents.isolation = isolation;
        let ran = answered(stage.start("go"), |question| panic!("{question:?}")).await;
        let name = actor(depth);
        let results = ran.results_of(&name);
        let ok = results.iter().map(|(ok, _)| *ok).collect::<Vec<_>>();
        // A command in the background is started all the same, and fails.
        let expected = [false, false, false, false, false, false, false, true, true, true];
        assert_eq!(ok, expected, "depth {depth}: {results:?}");
        holds(&results[8].1, &["exit code 1", "Read-only file system"]);
        holds(&results[9].1, &["alpha", "a.txt"]);
        let tools = offered(&stage.requests_of(&name)[0].json());
        assert!(!tools.iter().any(|tool| tool == "write_file" || tool == "edit_file"), "{tools:?}");
        assert_eq!(stage.files.run_git(&["status", "--porcelain"]), "", "depth {depth}");
        assert_eq!(stage.files.run_git(&["branch", "--list", "posse/*"]), "", "depth {depth}");
        assert_eq!(ran.report.receipt.files_in_all(), [], "depth {depth}");
        seen += expected.len();
    }
    assert_eq!(seen, 40);
}

#[tokio::test]
async fn a_child_has_at_most_its_parents_mode() {
    let modes = [Approval::Plan, Approval::Ask, Approval::Edit, Approval::Auto, Approval::Full];
    let mut seen = 0;
    for mode in modes {
        let stage = in_mode(at_depth(3, Vec::new()).await, mode);
        let ran = answered(stage.start("go"), |_| Answer::Once).await;
        let approvals = ["main", "d1", "d2", "d3"].map(|name| grant_of(&ran, name).approval);
        assert_eq!(approvals, [mode; 4]);
        seen += 1;
    }
    assert_eq!(seen, 5);
}
