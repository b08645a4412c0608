//! What hooks can do about calls, and what they cannot.

use posse_engine::{ApprovalSettings, SessionRequest, UndoExtent};
use posse_policy::Rules;
use posse_protocol::{Answer, Approval, Grant, HookDecision, Network};
use posse_testkit::Turn;
use serde_json::{Value, json};

use super::{Home, hooks_ran, of_project, one, own, request, run, says};
use crate::approvals::{answered, write};
use crate::check::{Ran, World};
use crate::follow::{holds, sh};

fn decides(decision: &str) -> Value {
    let specific = json!({"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": "why"});
    one("PreToolUse", "*", &says(&json!({"hookSpecificOutput": specific})))
}

/// A session in a mode, with these rules and a person who says no.
async fn judged(request: SessionRequest, world: &World, approval: Approval, rules: Rules) -> (Ran, usize) {
    let grant = Grant { approval, network: Network::None, ..Grant::full() };
    let approvals = ApprovalSettings { rules, person: true };
    let request = SessionRequest { grant, approvals, ..request };
    let mut asked = 0;
    let ran = answered(world.engine.start(request).unwrap(), |_| {
        asked += 1;
        Answer::No { reason: String::new() }
    })
    .await;
    (ran, asked)
}

fn rules(ask: &[&str], deny: &[&str]) -> Rules {
    let texts = |rules: &[&str]| rules.iter().map(|rule| (*rule).to_owned()).collect::<Vec<_>>();
    Rules::parse(&[], &texts(ask), &texts(deny)).unwrap()
}

/// Mode, ask rules, deny rules, whether the hook is the person's, what it says; how often the person is asked, whether it runs.
type AllowCase =
    (Approval, &'static [&'static str], &'static [&'static str], bool, &'static str, usize, bool);

#[tokio::test]
async fn an_allow_spares_only_the_question_of_the_mode() {
    let cases: [AllowCase; 8] = [
        (Approval::Ask, &[], &[], true, "allow", 0, true),
        (Approval::Ask, &["write_file"], &[], true, "allow", 1, false),
        (Approval::Ask, &[], &["write_file"], true, "allow", 0, false),
        (Approval::Plan, &[], &[], true, "allow", 0, false),
        (Approval::Ask, &[], &[], false, "allow", 1, false),
        (Approval::Auto, &[], &[], true, "ask", 1, false),
        (Approval::Auto, &[], &[], false, "defer", 1, false),
        (Approval::Full, &[], &[], false, "deny", 0, false),
    ];
    let mut tried = 0;
    for (approval, ask, deny, is_own, decision, questions, runs) in cases {
        let (home, world) = (Home::new(), World::new([write("c.txt", "x"), Turn::text("ok")]).await);
        let hooks =
            if is_own { own(&home, &decides(decision)) } else { of_project(&home, &decides(decision)) };
        let (ran, asked) = judged(request(&world, hooks), &world, approval, rules(ask, deny)).await;
        let context = format!("{approval:?} {ask:?} {deny:?} {is_own} {decision}: {:?}", ran.results());
        assert_eq!((asked, ran.results()[0].0), (questions, runs), "{context}");
        assert_eq!(super::exists(&world.files.path().join("c.txt")), runs, "{context}");
        tried += 1;
    }
    assert_eq!(tried, 8);
}

#[tokio::test]
async fn an_allow_lets_nothing_out_of_the_sandbox() {
    let home = Home::new();
    let turn = Turn::call("shell", json!({"command": "echo out", "outside_sandbox": true}));
    for event in ["PreToolUse", "PermissionRequest"] {
        let world = World::new([turn.clone(), Turn::text("ok")]).await;
        let allow =
            json!({"hookSpecificOutput": {"permissionDecision": "allow", "decision": {"behavior": "allow"}}});
        let hooks = own(&home, &one(event, "*", &says(&allow)));
        let (_, asked) = judged(request(&world, hooks), &world, Approval::Auto, Rules::default()).await;
        assert_eq!(asked, 1, "{event}");
    }
}

#[tokio::test]
async fn a_rewritten_call_is_judged_again() {
    let home = Home::new();
    let rewrite = |command: &str| {
        let input = json!({"hookSpecificOutput": {"permissionDecision": "allow", "updatedInput": {"command": command}}});
        own(&home, &one("PreToolUse", "Bash", &says(&input)))
    };
    for (command, ok, text) in
        [("echo rewritten", true, "rewritten"), ("git push origin", false, "forbids this")]
    {
        let world = World::new([sh("echo original"), Turn::text("ok")]).await;
        let request = request(&world, rewrite(command));
        let (ran, asked) = judged(request, &world, Approval::Auto, rules(&[], &["shell(git push*)"])).await;
        assert_eq!((asked, ran.results()[0].0), (0, ok), "{:?}", ran.results());
        holds(ran.results()[0].1, &[text]);
    }
    let spoilt = json!({"hookSpecificOutput": {"updatedInput": {"nonsense": 1}}});
    let world = World::new([sh("echo original"), Turn::text("ok")]).await;
    let ran = run(&world, own(&home, &one("PreToolUse", "Bash", &says(&spoilt)))).await;
    holds(ran.results()[0].1, &["Not run: a hook of this session wrote other arguments"]);
}

#[tokio::test]
async fn hooks_answer_in_place_of_the_person() {
    let decision = |behavior: &str| {
        let decision = json!({"behavior": behavior, "message": "by rote"});
        let output =
            json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}});
        one("PermissionRequest", "Write", &says(&output))
    };
    for (is_own, behavior, questions, runs) in [
        (true, "allow", 0, true),
        (true, "deny", 0, false),
        (false, "allow", 1, false),
        (false, "deny", 0, false),
    ] {
        let (home, world) = (Home::new(), World::new([write("c.txt", "x"), Turn::text("ok")]).await);
        let hooks =
            if is_own { own(&home, &decision(behavior)) } else { of_project(&home, &decision(behavior)) };
        let (ran, asked) = judged(request(&world, hooks), &world, Approval::Ask, Rules::default()).await;
        assert_eq!((asked, ran.results()[0].0), (questions, runs), "{is_own} {behavior}");
    }
}

#[tokio::test]
async fn other_names_of_arguments_hide_nothing() {
    let home = Home::new();
    let script = "grep -q secret && { echo found >&2; exit 2; }; exit 0";
    let world = World::new([
        Turn::call("shell", json!({"cmd": "cat secret"})),
        Turn::call("write_file", json!({"file_path": "secret", "content": "x"})),
        Turn::text("ok"),
    ])
    .await;
    let hook = home.script("guard.sh", &format!("python3 -c 'import json,sys; print(sorted(json.load(sys.stdin)[\"tool_input\"].items()))' | {{ {script}; }}"));
    let ran = run(&world, own(&home, &one("PreToolUse", "Bash|Write", &hook))).await;
    assert_eq!(
        ran.results().iter().map(|(ok, _)| *ok).collect::<Vec<_>>(),
        [false, false],
        "{:?}",
        ran.results()
    );
}

#[tokio::test]
async fn results_are_replaced_objected_to_and_explained() {
    let home = Home::new();
    let output = json!({"decision": "block", "reason": "lint fails", "hookSpecificOutput": {"updatedToolOutput": "short", "additionalContext": "note"}});
    let world = World::new([sh("echo loud"), sh("exit 3"), Turn::text("ok")]).await;
    let mut settings = one("PostToolUse", "Bash", &says(&output));
    let failed = one("PostToolUseFailure", "Bash", "cat > seen.json; echo 'install it' >&2; exit 2");
    settings["hooks"]["PostToolUseFailure"] = failed["hooks"]["PostToolUseFailure"].clone();
    let ran = run(&world, own(&home, &settings)).await;
    let results = ran.results();
    holds(results[0].1, &["| short", "objects to the result", "| lint fails", "| note"]);
    assert!(!results[0].1.contains("loud"), "{}", results[0].1);
    holds(results[1].1, &["exit code 3", "| install it"]);
    holds(&world.files.read("seen.json"), &["PostToolUseFailure", "exit code 3", "duration_ms"]);
}

#[tokio::test]
async fn a_hook_stops_everything() {
    for event in ["PreToolUse", "PostToolUse"] {
        let home = Home::new();
        let world = World::new([sh("echo one"), Turn::text("never")]).await;
        let stop = json!({"continue": false, "stopReason": "enough"});
        let ran = run(&world, own(&home, &one(event, "*", &says(&stop)))).await;
        assert_eq!(world.model.calls(), 1, "{event}");
        holds(&ran.report.notes.join("\n"), &["a hook stopped it", "enough"]);
    }
}

#[tokio::test]
async fn without_hooks_nothing_is_run_or_recorded() {
    let home = Home::new();
    let world = World::new([sh("echo one"), Turn::text("ok")]).await;
    let ran = run(&world, own(&home, &json!({"hooks": {}}))).await;
    assert_eq!(hooks_ran(&ran), []);
    let world = World::new([sh("echo one"), Turn::text("ok")]).await;
    let untrusted = super::settings(
        &home,
        &one("PreToolUse", "*", "touch ran"),
        posse_hooks::HookOwner::Project { trusted: false },
    );
    let ran = run(&world, untrusted).await;
    assert_eq!((hooks_ran(&ran), super::exists(&world.files.path().join("ran"))), (vec![], false));
}

#[tokio::test]
async fn what_a_hook_changes_is_undone_with_the_rest() {
    let home = Home::new();
    let world = World::new([write("c.txt", "x\n"), Turn::text("ok")]).await;
    let ran = run(
        &world,
        of_project(&home, &one("PostToolUse", "Write", "echo formatted >> c.txt; echo new > d.txt")),
    )
    .await;
    assert_eq!(world.files.read("c.txt"), "x\nformatted\n");
    let changed = ran.report.receipt.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>();
    assert_eq!(changed, ["c.txt", "d.txt"]);
    assert_eq!(hooks_ran(&ran), [("PostToolUse".to_owned(), HookDecision::Nothing, true, String::new())]);
    let session = world.engine.find_session("last").unwrap();
    world.engine.undo(&session, &UndoExtent::Session, &[]).await.unwrap();
    let left = ["c.txt", "d.txt"].map(|file| super::exists(&world.files.path().join(file)));
    assert_eq!(left, [false, false]);
}
