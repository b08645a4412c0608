//! The same surroundings and wishes give the same request; a wish changes it, and counts more than a file.

use std::num::{NonZeroU32, NonZeroU64};

use posse_engine::SessionRequest;
use posse_model::ModelConfig;
use posse_protocol::{Approval, Files};
use posse_setup::{Config, ModelChoice, SessionPlan, SetupWarning, Trusted, Wishes, trust_items};
use posse_surface::Surface;

use crate::world::{TWO_MODELS, World, prepare};

/// Everything that a request says.
fn picture(request: &SessionRequest) -> String {
    let SessionRequest {
        workspace,
        prompt,
        attachments,
        models,
        grant,
        budget,
        stay,
        tools,
        project,
        delegation,
        approvals,
        knowledge,
        hooks,
        outside,
        workers: _,
        traceparent,
        watcher,
    } = request;
    format!(
        "{workspace:?}\n{prompt}\n{attachments:?}\n{models:#?}\n{grant:?}\n{budget:?}\n{stay:?}\n{tools:?}\n{project:?}\n{delegation:?}\n{approvals:?}\n{knowledge:?}\n{hooks:?}\n{outside:?}\n{traceparent:?}\n{watcher:?}"
    )
}

fn world() -> World {
    let world = World::new(&format!(
        "{TWO_MODELS}[limits]\nmax_turns = 7\n[sandbox]\nreadable = [\"~/tools\"]\n[sub_agents]\nmax_depth = 2\n"
    ));
    world.write("project/AGENTS.md", "Speak up.\n");
    world.write("project/.claude/agents/scout.md", "---\nname: scout\ndescription: Looks.\n---\nLook.\n");
    world.write("home/.config/posse/agents/mine.md", "---\nname: mine\ndescription: Mine.\n---\nMine.\n");
    world
}

async fn drawn(world: &World, wishes: Wishes) -> String {
    let (request, _) = prepare(world.surroundings(), &world.project(), wishes).await.unwrap();
    picture(&request)
}

#[tokio::test]
async fn the_same_surroundings_and_wishes_give_the_same_request() {
    let world = world();
    let usual = drawn(&world, Wishes::default()).await;
    assert_eq!(usual, drawn(&world, Wishes::default()).await);
    for told in
        ["Speak up.", "\"scout\"", "\"mine\"", "\"first\"", "\"second\"", "home/tools", "turns: Some(7)"]
    {
        assert!(usual.contains(told), "{told}: {usual}");
    }
}

#[tokio::test]
async fn where_sub_agents_run_is_the_persons_to_say() {
    let own = |place: &str| World::new(&format!("{TWO_MODELS}[sub_agents]\non = \"{place}\"\n"));
    let theirs = |world: World| {
        world.write("project/.posse/config.toml", "[sub_agents]\non = \"theirs\"\n");
        world
    };
    let trusted = |world: World| {
        let paths = world.paths();
        let mut trusted = Trusted::load(&paths).unwrap();
        for item in trust_items(&paths, &world.project()).unwrap() {
            trusted.add(&item.path, &item.text).unwrap();
        }
        world
    };
    let cases = [
        (World::new(TWO_MODELS), None, "home"),
        (own("gpu-1"), Some("gpu-1"), "gpu-1"),
        (own(" Anywhere"), Some("anywhere"), "anywhere"),
        (theirs(own("gpu-1")), Some("gpu-1"), "gpu-1"),
        (theirs(World::new(TWO_MODELS)), None, "home"),
        (trusted(theirs(own("gpu-1"))), Some("theirs"), "theirs"),
    ];
    assert_eq!(cases.len(), 6);
    for (world, on, shown) in cases {
        let (request, _) = prepare(world.surroundings(), &world.project(), Wishes::default()).await.unwrap();
        assert_eq!(request.delegation.unwrap().sub_agents.on.as_deref(), on);
        let config = Config::load(&world.paths(), &world.project()).unwrap().to_toml().unwrap();
        assert!(config.contains(&format!("\non = \"{shown}\"\n")), "{config}");
    }
}

#[tokio::test]
async fn every_wish_changes_the_request() {
    let world = world();
    let usual = drawn(&world, Wishes::default()).await;
    let none = Wishes::default;
    let wishes = [
        Wishes { model: Some("two".to_owned()), ..none() },
        Wishes { max_turns: NonZeroU32::new(3), ..none() },
        Wishes { max_tokens: NonZeroU64::new(3), ..none() },
        Wishes { max_time_ms: Some(3), ..none() },
        Wishes { approval: Some(Approval::Plan), ..none() },
        Wishes { approval_max: Some(Approval::Ask), ..none() },
        Wishes { no_sandbox: true, ..none() },
        Wishes { alone: true, ..none() },
        Wishes { coordinator: true, ..none() },
        Wishes { team: true, ..none() },
        Wishes { surface: Some(Surface::Task), ..none() },
        Wishes { person: true, ..none() },
        Wishes { stay: true, ..none() },
        Wishes { role: Some("mine".to_owned()), ..none() },
    ];
    let mut pictures = vec![usual];
    for wishes in wishes {
        let drawn = drawn(&world, wishes.clone()).await;
        assert!(!pictures.contains(&drawn), "{wishes:?} changes nothing, or the same as another wish");
        pictures.push(drawn);
    }
    assert_eq!(pictures.len(), 15);
}

#[tokio::test]
async fn wishes_count_more_than_files_and_what_held_before_is_a_ceiling() {
    let text = format!("{TWO_MODELS}[approval]\nmode = \"full\"\n[limits]\nmax_turns = 7\n");
    let world = World::new(&text);
    let cases = [
        (None, None, Approval::Full),
        (Some(Approval::Ask), None, Approval::Ask),
        (None, Some(Approval::Edit), Approval::Edit),
        (Some(Approval::Full), Some(Approval::Plan), Approval::Full),
    ];
    for (approval, approval_max, want) in cases {
        let wishes = Wishes { approval, approval_max, max_turns: NonZeroU32::new(3), ..Wishes::default() };
        let (request, _) = prepare(world.surroundings(), &world.project(), wishes).await.unwrap();
        assert_eq!((request.grant.approval, request.budget.turns), (want, Some(3)));
    }
}

#[tokio::test]
async fn the_model_comes_from_the_wish_then_the_environment_then_the_role_then_the_file() {
    let world = World::new(&format!(
        "{TWO_MODELS}[models.three]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"third\"\n[roles.main]\nmodel = \"three\"\n"
    ));
    let wish = Wishes { model: Some("one".to_owned()), ..Wishes::default() };
    let said = world.surroundings().with_variable("POSSE_MODEL", "two");
    let cases = [
        (said.clone(), wish, "one"),
        (said, Wishes::default(), "two"),
        (world.surroundings(), Wishes::default(), "three"),
    ];
    for (surroundings, wishes, want) in cases {
        let paths = posse_setup::Paths::find(surroundings, None, None).unwrap();
        let folder = world.project();
        let plan = SessionPlan::read(&paths, &folder, wishes).unwrap();
        assert_eq!(plan.choose_model().await.unwrap().model.name, want);
    }
}

#[tokio::test]
async fn a_session_that_continues_keeps_its_model_or_says_that_it_cannot() {
    let (world, folder) = (World::new(TWO_MODELS), World::project);
    let (paths, folder) = (world.paths(), folder(&world));
    let plan = SessionPlan::read(&paths, &folder, Wishes::default()).unwrap();
    let (choice, warning) = plan.choose_model_again(Some("two")).await.unwrap();
    assert_eq!((choice.model.name.as_str(), warning), ("two", None));
    let (choice, warning) = plan.choose_model_again(Some("gone")).await.unwrap();
    let want = SetupWarning::ModelReplaced { recorded: "gone".to_owned(), model: "one".to_owned() };
    assert_eq!((choice.model.name.as_str(), warning), ("one", Some(want)));
    let wishes = Wishes { model: Some("one".to_owned()), ..Wishes::default() };
    let plan = SessionPlan::read(&paths, &folder, wishes).unwrap();
    let (choice, warning) = plan.choose_model_again(Some("two")).await.unwrap();
    assert_eq!((choice.model.name.as_str(), warning), ("one", None));
}

/// What is the same for everybody must not depend on what one person has configured.
#[test]
fn without_files_no_file_counts() {
    let world = world();
    world.write("home/.config/posse/config.toml", "[rights]\nfiles = \"read\"\n[limits]\nmax_turns = 1\n");
    let (paths, folder) = (world.paths(), world.project());
    let plan = SessionPlan::without_files(&paths, &folder, Wishes::default());
    let model = ModelConfig::replay("tape", world.path("tape.jsonl"));
    world.write("tape.jsonl", "{\"posse_cassette\":1,\"match\":\"conversation\"}\n");
    let terms = plan.terms(ModelChoice { model, prices: None }).unwrap();
    assert_eq!(terms.warnings, []);
    let request = terms.request("do it".to_owned(), None).unwrap();
    assert_eq!((request.grant.files, request.budget.turns), (Files::Write, Some(200)));
    assert_eq!((request.knowledge.memory, request.knowledge.skills.len()), (false, 0));
    let roles = request.delegation.unwrap().roles;
    assert!(roles.find("general").is_ok() && roles.find("mine").is_err() && roles.find("scout").is_err());
}

#[tokio::test]
async fn a_role_gives_a_text_and_takes_rights_and_budget_away() {
    let world = world();
    world.write(
        "home/.config/posse/agents/mine.md",
        "---\nname: mine\ndescription: Mine.\ntools: Read\nmaxTurns: 3\n---\nOnly look.\n",
    );
    let in_role = async |name: &str, max_turns: u32| {
        let wishes = Wishes {
            role: Some(name.to_owned()),
            max_turns: NonZeroU32::new(max_turns),
            ..Wishes::default()
        };
        prepare(world.surroundings(), &world.project(), wishes).await
    };
    let (usual, _) = prepare(world.surroundings(), &world.project(), Wishes::default()).await.unwrap();
    assert_eq!(usual.grant.files, Files::Write);
    let (request, _) = in_role("mine", 100).await.unwrap();
    assert_eq!((request.grant.files, request.budget.turns), (Files::Read, Some(3)));
    assert!(request.grant.approval <= usual.grant.approval);
    assert!(request.prompt.ends_with("[You work in the role \"mine\":]\nOnly look."), "{}", request.prompt);
    assert_eq!(in_role("mine", 2).await.unwrap().0.budget.turns, Some(2));
    let unknown = in_role("none-such", 9).await.err().unwrap().to_string();
    assert!(unknown.starts_with("there is no role \"none-such\""), "{unknown}");
    let stranger = in_role("scout", 9).await.err().unwrap().to_string();
    assert!(stranger.contains("which you have not trusted"), "{stranger}");
    let mut trusted = Trusted::load(&world.paths()).unwrap();
    let file = world.project().join(".claude/agents/scout.md");
    trusted.add(&file, &std::fs::read_to_string(&file).unwrap()).unwrap();
    assert!(in_role("scout", 9).await.unwrap().0.prompt.ends_with("Look."));
}
