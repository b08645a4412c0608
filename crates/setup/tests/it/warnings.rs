//! Every kind of warning is a value, and says one sentence.

use posse_sandbox::available;
use posse_setup::{SessionPlan, SetupWarning, Wishes};
use posse_surface::Surface;

use crate::world::{TWO_MODELS, World, prepare};

async fn warnings_of(world: &World, wishes: Wishes) -> Vec<SetupWarning> {
    prepare(world.surroundings(), &world.project(), wishes).await.unwrap().1
}

#[tokio::test]
async fn nothing_to_know_is_no_warning() {
    assert_eq!(warnings_of(&World::new(TWO_MODELS), Wishes::default()).await, []);
}

#[tokio::test]
async fn what_a_project_wants_and_may_not() {
    let world = World::new(TWO_MODELS);
    let text =
        "profile = \"lean\"\n[git]\npath = \"/usr/bin/git\"\n[sub_agents]\nroles_file = \"roles.json\"\n";
    world.write("project/.posse/config.toml", text);
    let path = world.surroundings().shown(&world.path("project/.posse/config.toml"));
    let settings = vec!["profile".to_owned(), "sub_agents".to_owned()];
    let want =
        [SetupWarning::ProjectNamesGit { path: path.clone() }, SetupWarning::NotTrusted { path, settings }];
    let warnings = warnings_of(&world, Wishes::default()).await;
    assert_eq!(warnings, want);
    assert!(warnings[1].to_string().ends_with(
        "config.toml wants to set profile, sub_agents; that is left out until you have looked at it: posse trust"
    ));
}

#[tokio::test]
async fn a_settings_file_of_the_project_that_nobody_trusts() {
    let world = World::new(&format!("{TWO_MODELS}[sub_agents]\nroles_file = \"roles.json\"\n"));
    world.write(
        "project/roles.json",
        r#"{"AgentRoles": {"Roles": [{"RoleId": "coder", "MaxIterations": 3}]}}"#,
    );
    let path = world.surroundings().shown(&world.path("project/roles.json"));
    let want = [SetupWarning::NotTrusted { path, settings: vec!["roles".to_owned()] }];
    assert_eq!(warnings_of(&world, Wishes::default()).await, want);
}

#[tokio::test]
async fn agent_files_that_are_left_out_and_more_of_them_than_are_listed() {
    let world = World::new(TWO_MODELS);
    for number in 0..7 {
        world.write(&format!("project/.posse/agents/a{number}.md"), "---\nname: [\n---\nx\n");
    }
    let warnings = warnings_of(&world, Wishes::default()).await;
    let left_out = |one: &&SetupWarning| matches!(one, SetupWarning::RoleFile { left_out: true, .. });
    assert_eq!((warnings.len(), warnings.iter().filter(left_out).count()), (7, 6), "{warnings:?}");
    assert_eq!(warnings[6], SetupWarning::MoreRoleFiles);
}

#[tokio::test]
async fn what_the_configuration_and_the_wishes_lead_to() {
    let world = World::new(&format!(
        "{TWO_MODELS}[git]\npath = \"/not/there/git\"\n[sub_agents]\nsurface = \"sessions\"\nmax_running = 999\n"
    ));
    let wishes = Wishes { no_sandbox: true, ..Wishes::default() };
    let warnings = warnings_of(&world, wishes).await;
    let most = Surface::Sessions.running_max().unwrap();
    assert!(matches!(&warnings[0], SetupWarning::GitLeftOut { reason } if reason.contains("not there")));
    assert_eq!(
        warnings[1..],
        [SetupWarning::MaxRunning { wanted: 999, most, surface: Surface::Sessions }, SetupWarning::NoSandbox]
    );
}

/// Whether there is one depends on the machine; that it says so does not.
#[tokio::test]
async fn a_machine_that_cannot_confine_commands_is_told_of() {
    let world = World::new(TWO_MODELS);
    let (paths, folder) = (world.paths(), world.project());
    let cases = [
        (Wishes::default(), available().err().map(|missing| missing.to_string())),
        (Wishes { no_sandbox: true, ..Wishes::default() }, None),
    ];
    for (wishes, missing) in cases {
        let plan = SessionPlan::read(&paths, &folder, wishes).unwrap();
        let terms = plan.terms(plan.choose_model().await.unwrap()).unwrap();
        let want = missing.map(|missing| SetupWarning::NoShell { missing });
        assert_eq!(terms.shell_warning().await, want);
    }
}

/// What the engine would only tell the model that asks for a worker by name.
#[tokio::test]
async fn agents_that_may_run_anywhere_and_stay_at_home() {
    let broker = format!("{TWO_MODELS}[cluster]\nnats = \"nats://127.0.0.1:1\"\n");
    let anywhere = format!("{broker}[sub_agents]\non = \"anywhere\"\n");
    let hooks = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
    let cases = [
        (&anywhere, "project/.git/HEAD", "ref: refs/heads/main\n", None),
        (&anywhere, "project/main.py", "", Some("is no git repository")),
        (&anywhere, "home/.claude/settings.json", hooks, Some("sessions here have hooks")),
        (&broker, "home/.claude/settings.json", hooks, None),
    ];
    let mut tried = 0;
    for (config, file, text, want) in cases {
        let world = World::new(config);
        world.write(file, text);
        let warnings = warnings_of(&world, Wishes::default()).await;
        let told = warnings.iter().find(|warning| matches!(warning, SetupWarning::NoWorkers { .. }));
        let told = told.map(ToString::to_string).unwrap_or_default();
        assert_eq!(told.is_empty(), want.is_none(), "{file}: {told}");
        assert!(told.contains(want.unwrap_or_default()), "{file}: {told}");
        tried += 1;
    }
    assert_eq!(tried, 4);
}
