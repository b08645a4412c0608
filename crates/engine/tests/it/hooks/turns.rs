//! What hooks can do about prompts, the ends of turns, sub-agents and shortened conversations.

use posse_engine::SessionRequest;
use posse_hooks::limits::KEPT_WORKING_MAX;
use posse_protocol::{Ending, Event, EventKind, HookDecision};
use posse_testkit::Turn;
use serde_json::{Value, json};

use super::{Home, hooks_ran, one, own, request, run, says, told};
use crate::check::World;
use crate::crew::{REPORT, Stage};
use crate::follow::{Followed, holds, named, wait};

#[tokio::test]
async fn an_agent_is_kept_working_for_a_while() {
    let home = Home::new();
    let world = World::new((0..20).map(|turn| Turn::text(format!("turn {turn}")))).await;
    let hooks = own(&home, &one("Stop", "", "cat > /dev/null; echo 'more, please' >&2; exit 2"));
    let ran = run(&world, hooks).await;
    let kept = usize::try_from(KEPT_WORKING_MAX).unwrap();
    assert_eq!((ran.report.ending.clone(), world.model.calls()), (Ending::Completed, kept + 1));
    assert_eq!(ran.report.text, format!("turn {kept}"));
    holds(&ran.report.notes.join("\n"), &["more than 8 times in a row"]);
    holds(&told(&world, 1), &["wants you to go on", "| more, please"]);
}

fn rested(event: &Event) -> bool {
    matches!(event.kind, EventKind::AgentRested { .. })
}

fn was_refused(event: &Event) -> bool {
    matches!(event.kind, EventKind::MailWithdrawn { .. })
}

#[tokio::test]
async fn prompts_are_refused_explained_and_named() {
    let home = Home::new();
    let script = home.script(
        "prompt.sh",
        "grep -q forbidden && { echo 'not that' >&2; exit 2; }\n\
         echo '{\"hookSpecificOutput\":{\"hookEventName\":\"UserPromptSubmit\",\"additionalContext\":\"ctx\",\"sessionTitle\":\"A title\"}}'\n",
    );
    let world = World::new([Turn::text("One."), Turn::text("Two.")]).await;
    let start =
        SessionRequest { stay: true, ..request(&world, own(&home, &one("UserPromptSubmit", "", &script))) };
    let mut session = Followed::new(world.engine.start(start).unwrap());
    let id = session.session.id;
    session.until(1, rested).await;
    world.engine.prompt(id, "forbidden things").await.unwrap();
    session.until(1, was_refused).await;
    world.engine.prompt(id, "other things").await.unwrap();
    session.until(2, rested).await;
    world.engine.close(id).unwrap();
    let ran = session.finish().await;
    assert_eq!(world.model.calls(), 2);
    let second = told(&world, 1);
    assert!(!second.contains("forbidden"), "{second}");
    holds(&second, &["other things", "| ctx"]);
    let decided = hooks_ran(&ran).into_iter().map(|(_, decision, ..)| decision).collect::<Vec<_>>();
    assert_eq!(decided, [HookDecision::Context, HookDecision::Deny, HookDecision::Context]);
    assert_eq!(world.engine.find_session(&id.to_string()).unwrap().title.as_deref(), Some("A title"));
}

#[tokio::test]
async fn sub_agents_are_told_and_kept_working() {
    let home = Home::new();
    let stage = Stage::new([
        ("main", vec![Turn::call("agent", named("helper", "general", "Look.")), wait(), Turn::text(REPORT)]),
        ("helper", vec![Turn::text(REPORT), Turn::text(REPORT)]),
    ])
    .await;
    let mut settings = one(
        "SubagentStart",
        "general",
        &says(&json!({"hookSpecificOutput": {"additionalContext": "be brief"}})),
    );
    let keep = home.script("keep.sh", "tee -a \"$HOME/stops\" | grep -q '\"stop_hook_active\":false' && { echo 'look again' >&2; exit 2; }; exit 0");
    settings["hooks"]["SubagentStop"] =
        one("SubagentStop", "general", &keep)["hooks"]["SubagentStop"].clone();
    let request = SessionRequest { hooks: Some(own(&home, &settings)), ..stage.request("go") };
    let ran = crate::check::finish(stage.engine.start(request).unwrap()).await;
    let of_helper = stage.requests_of("helper");
    assert_eq!(of_helper.len(), 2);
    holds(&of_helper[0].json().to_string(), &["| be brief"]);
    holds(&of_helper[1].json().to_string(), &["| look again"]);
    holds(&home.read("stops"), &[r#""agent_type":"general""#, r#""agent_transcript_path""#]);
    assert_eq!(hooks_ran(&ran).len(), 3);
}

#[tokio::test]
async fn the_start_of_an_agent_is_a_call_of_its_own() {
    let home = Home::new();
    let stage = Stage::new([
        ("main", vec![Turn::call("agent", named("helper", "general", "Look.")), wait(), Turn::text(REPORT)]),
        ("helper", vec![Turn::text(REPORT)]),
    ])
    .await;
    let rewrite = home.script(
        "rewrite.sh",
        "cat > \"$HOME/start.json\"; echo '{\"hookSpecificOutput\":{\"updatedInput\":{\"prompt\":\"Look twice.\"}}}'",
    );
    let request = SessionRequest {
        hooks: Some(own(&home, &one("PreToolUse", "Task", &rewrite))),
        ..stage.request("go")
    };
    crate::check::finish(stage.engine.start(request).unwrap()).await;
    let input: Value = serde_json::from_str(&home.read("start.json")).unwrap();
    assert_eq!((&input["tool_name"], &input["tool_input"]["prompt"]), (&json!("Agent"), &json!("Look.")));
    holds(&stage.requests_of("helper")[0].json().to_string(), &["Look twice."]);
}

#[tokio::test]
async fn shortening_is_refused_and_told_of() {
    let home = Home::new();
    let script = home.script(
        "compact.sh",
        "cat >> \"$HOME/compacted\"; test -e \"$HOME/may\" || { echo no >&2; exit 2; }",
    );
    let mut settings = one("PreCompact", "manual", &script);
    settings["hooks"]["PostCompact"] =
        one("PostCompact", "*", "cat >> \"$HOME/after\"")["hooks"]["PostCompact"].clone();
    let world = World::new([Turn::text("One."), Turn::text("Notes of it.")]).await;
    let start = SessionRequest { stay: true, ..request(&world, own(&home, &settings)) };
    let mut session = Followed::new(world.engine.start(start).unwrap());
    let id = session.session.id;
    session.until(1, rested).await;
    world.engine.compact(id, None).unwrap();
    session.until(1, |event| matches!(event.kind, EventKind::HookRan { .. })).await;
    assert_eq!(world.model.calls(), 1);
    std::fs::write(home.path().join("may"), "").unwrap();
    world.engine.compact(id, None).unwrap();
    session.until(1, |event| matches!(event.kind, EventKind::Compacted { .. })).await;
    session.until(2, rested).await;
    world.engine.close(id).unwrap();
    session.finish().await;
    holds(&home.read("after"), &[r#""trigger":"manual""#, "Notes of it."]);
}
