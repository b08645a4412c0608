//! Where hooks come from, and which of them may run.

use posse_engine::SessionRequest;
use posse_hooks::{HookEvent, HookOwner, HookScope};
use posse_setup::{SetupWarning, Trusted, Wishes, trust_items};

use crate::world::{TWO_MODELS, World, prepare};

fn settings(event: &str, command: &str) -> String {
    format!(r#"{{"hooks": {{"{event}": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#)
}

fn agent(name: &str, command: &str) -> String {
    format!(
        "---\nname: {name}\ndescription: Looks.\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n          \
         command: {command}\n---\nLook.\n"
    )
}

fn world() -> World {
    let world = World::new(&format!("{TWO_MODELS}[hooks]\noutside = [\"sh ./out.sh\"]\n"));
    world.write("home/.claude/settings.json", &settings("PreToolUse", "own"));
    world.write("home/.config/posse/agents/mine.md", &agent("mine", "own-agent"));
    world.write("home/.claude/skills/pdf/SKILL.md", &agent("pdf", "own-skill"));
    world.write("project/.claude/settings.json", &settings("PostToolUse", "shared"));
    world.write("project/.claude/settings.local.json", &settings("Stop", "local"));
    world.write("project/.claude/agents/scout.md", &agent("scout", "their-agent"));
    world.write("project/.claude/skills/web/SKILL.md", &agent("web", "their-skill"));
    world
}

async fn prepared(world: &World) -> (SessionRequest, Vec<SetupWarning>) {
    prepare(world.surroundings().with_variable("PATH", "/bin"), &world.project(), Wishes::default())
        .await
        .unwrap()
}

/// What runs, when, for whom, and whether it may.
fn listed(request: &SessionRequest) -> Vec<(String, HookEvent, HookScope, bool)> {
    let hooks = request.hooks.as_ref().map(|hooks| hooks.set.hooks.clone()).unwrap_or_default();
    hooks
        .iter()
        .map(|hook| (hook.action.text(), hook.event, hook.origin.scope.clone(), hook.may_run()))
        .collect()
}

fn trust_all(world: &World) {
    let paths = world.paths();
    let mut trusted = Trusted::load(&paths).unwrap();
    for item in trust_items(&paths, &world.project()).unwrap() {
        trusted.add(&item.path, &item.text).unwrap();
    }
}

#[tokio::test]
async fn hooks_come_from_settings_agents_and_skills() {
    let world = world();
    let expected = |trusted: bool| {
        let session = HookScope::Session;
        let role = |name: &str| HookScope::Role(name.to_owned());
        let skill = |key: &str| HookScope::Skill(key.to_owned());
        vec![
            ("own".to_owned(), HookEvent::PreToolUse, session.clone(), true),
            ("own-skill".to_owned(), HookEvent::Stop, skill("pdf"), true),
            ("own-agent".to_owned(), HookEvent::SubagentStop, role("mine"), true),
            ("local".to_owned(), HookEvent::Stop, session.clone(), trusted),
            ("shared".to_owned(), HookEvent::PostToolUse, session, trusted),
            ("their-agent".to_owned(), HookEvent::SubagentStop, role("scout"), trusted),
            ("their-skill".to_owned(), HookEvent::Stop, skill("web"), trusted),
        ]
    };
    let (request, warnings) = prepared(&world).await;
    assert_eq!(listed(&request), expected(false));
    let untrusted = warnings.iter().filter(|one| matches!(one, SetupWarning::HooksNotTrusted { .. }));
    assert_eq!(untrusted.count(), 4);
    let hooks = request.hooks.unwrap();
    assert_eq!(hooks.outside, ["sh ./out.sh"]);
    assert!(hooks.environment.contains(&("PATH".to_owned(), "/bin".to_owned())));
    assert!(hooks.places.contains(&world.project()));
    trust_all(&world);
    let (request, warnings) = prepared(&world).await;
    assert_eq!(listed(&request), expected(true));
    assert!(!warnings.iter().any(|one| matches!(one, SetupWarning::HooksNotTrusted { .. })));
}

#[tokio::test]
async fn trust_is_in_the_content_and_shows_what_runs() {
    let world = world();
    let wants: Vec<_> = trust_items(&world.paths(), &world.project())
        .unwrap()
        .into_iter()
        .flat_map(|item| item.wants)
        .collect();
    for command in ["PostToolUse: shared", "Stop: local", "Stop: their-agent", "Stop: their-skill"] {
        let line = format!("its hooks run in the sandbox and without asking: {command}");
        assert!(wants.contains(&line), "{line}: {wants:#?}");
    }
    trust_all(&world);
    world.write("project/.claude/settings.json", &settings("PostToolUse", "changed"));
    let (request, _) = prepared(&world).await;
    let runs: Vec<_> =
        listed(&request).into_iter().filter(|(.., may_run)| *may_run).map(|(runs, ..)| runs).collect();
    assert_eq!(runs, ["own", "own-skill", "own-agent", "local", "their-agent", "their-skill"]);
}

#[tokio::test]
async fn hooks_are_switched_off_by_their_owner_alone() {
    let world = world();
    trust_all(&world);
    world.write("project/.claude/settings.local.json", r#"{"disableAllHooks": true}"#);
    let (request, _) = prepared(&world).await;
    let owners: Vec<_> = request.hooks.unwrap().set.hooks.iter().map(|hook| hook.origin.owner).collect();
    assert_eq!(owners, [HookOwner::Person; 3]);
    world.write("home/.claude/settings.json", r#"{"disableAllHooks": true}"#);
    assert!(prepared(&world).await.0.hooks.is_none());
}

#[tokio::test]
async fn a_project_lets_no_hook_out_and_mistakes_are_told() {
    let world = World::new(TWO_MODELS);
    world.write(
        "home/.claude/settings.json",
        r#"{"hooks": {"Nowhere": [], "Stop": [{"hooks": [{"type": "prompt"}]}]}}"#,
    );
    world.write("project/.posse/config.toml", "[hooks]\noutside = [\"sh ./fmt.sh\"]\n");
    world.write("project/.claude/settings.json", "{ broken");
    let (request, warnings) = prepared(&world).await;
    assert!(request.hooks.is_none());
    let told = warnings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    for part in [
        "~/.claude/settings.json: Nowhere: there is no such event",
        "~/.claude/settings.json: Stop: hooks of the type \"prompt\" are not supported",
        "wants to let hooks out of the sandbox; only your own configuration can: left out",
        "settings.json: it is not JSON",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
