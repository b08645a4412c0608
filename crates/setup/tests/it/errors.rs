//! Every kind of error is a value to branch on.

use posse_model::{ModelConfig, Protocol};
use posse_policy::RuleError;
use posse_setup::{
    ConfigError, ModelChoiceError, Paths, PrepareError, RolesError, Surroundings, TaskPrompt, Trusted, Wishes,
};

use crate::world::{TWO_MODELS, World, prepare};

async fn error_of(world: &World, surroundings: Surroundings, wishes: Wishes) -> PrepareError {
    match prepare(surroundings, &world.project(), wishes).await {
        Ok(_) => panic!("it was prepared"),
        Err(error) => error,
    }
}

/// A configuration, and whether an error is the one that it leads to.
type Case<T = &'static str> = (T, fn(&PrepareError) -> bool);

#[tokio::test]
async fn faults_of_the_configuration() {
    use ConfigError::{Line, RelativeGit, UnknownModel, UnknownTool};
    use PrepareError::Config;
    let cases: [Case; 7] = [
        (
            "\nmodle = 1",
            |e| matches!(e, Config(Line { line: 2, path, .. }) if path.path().ends_with("config.toml")),
        ),
        ("model = ", |e| matches!(e, Config(Line { line: 1, .. }))),
        ("[approval]\ndeny = [\"shell(\"]", |e| matches!(e, Config(Line { line: 2, .. }))),
        (
            "[approval]\ndeny = [\"shel\"]",
            |e| matches!(e, Config(UnknownTool { line: 2, tool, .. }) if tool == "shel"),
        ),
        ("model = \"gone\"", |e| matches!(e, Config(UnknownModel { line: 1, model, .. }) if model == "gone")),
        ("[roles.main]\nmodel = \"gone\"", |e| matches!(e, Config(UnknownModel { line: 2, .. }))),
        ("[git]\npath = \"git\"", |e| matches!(e, Config(RelativeGit { .. }))),
    ];
    for (text, is_that) in cases {
        let world = World::new(text);
        let error = error_of(&world, world.surroundings(), Wishes::default()).await;
        assert!(is_that(&error), "{text}: {error:?}");
    }
}

/// Each line can be read; there are too many of them.
#[tokio::test]
async fn more_rules_than_there_may_be() {
    let rules = |n: usize| format!("{TWO_MODELS}[approval]\ndeny = [{}]", "\"shell(rm)\", ".repeat(n));
    let world = World::new(&rules(2_001));
    let error = error_of(&world, world.surroundings(), Wishes::default()).await;
    assert!(matches!(error, PrepareError::Config(ConfigError::Rule(RuleError::TooMany))), "{error:?}");
    assert_eq!(error.to_string(), "[approval] in the configuration");
    let world = World::new(&rules(2_000));
    prepare(world.surroundings(), &world.project(), Wishes::default()).await.map(|_| ()).unwrap();
}

#[tokio::test]
async fn files_and_variables_that_cannot_be_used() {
    let world = World::new(TWO_MODELS);
    let around = || world.surroundings();
    let gone = around().with_variable("POSSE_CONFIG", world.path("gone.toml"));
    let error = error_of(&world, gone, Wishes::default()).await;
    assert!(
        matches!(error, PrepareError::Config(ConfigError::Unreadable { path, .. }) if path.path().ends_with("gone.toml"))
    );
    let maybe = around().with_variable("POSSE_MEMORY", "maybe");
    let error = error_of(&world, maybe, Wishes::default()).await;
    assert!(matches!(error, PrepareError::Config(ConfigError::MemorySwitch { said }) if said == "maybe"));
    let empty = around().with_variable("POSSE_HOME", "");
    let error = error_of(&world, empty, Wishes::default()).await;
    assert!(matches!(error, PrepareError::EmptyVariable { variable: "POSSE_HOME" }));
    let error = Paths::find(Surroundings::new(world.project()), None, None).unwrap_err();
    assert!(matches!(error, PrepareError::NoHome));
    let home = around().with_home(world.project());
    let error = error_of(&world, home, Wishes::default()).await;
    assert!(matches!(error, PrepareError::FolderIsHome { folder, .. } if folder == world.project()));
    let meant = Wishes { workspace_is_home: true, ..Wishes::default() };
    let home = around().with_home(world.project());
    let home = home.with_variable("POSSE_CONFIG", world.path("home/.config/posse/config.toml"));
    prepare(home, &world.project(), meant).await.map(|_| ()).unwrap();
}

#[test]
fn a_list_of_trust_that_cannot_be_used() {
    let world = World::new("");
    world.write("data/trusted.json", "{");
    let find = |data: &str| Paths::find(world.surroundings(), Some(&world.path(data)), None).unwrap();
    let damaged = Trusted::load(&find("data")).unwrap_err();
    assert!(
        matches!(damaged, ConfigError::TrustDamaged { path, .. } if path.path().ends_with("trusted.json"))
    );
    // A file where the folder should be.
    let inside = find("data/trusted.json/below");
    let unreadable = Trusted::load(&inside).unwrap_err();
    assert!(matches!(unreadable, ConfigError::Unreadable { .. }), "{unreadable:?}");
    let mut trusted = Trusted::load(&find("other")).unwrap();
    world.write("other", "no folder");
    let unwritable = trusted.add(&world.project(), "text").unwrap_err();
    assert!(matches!(unwritable, ConfigError::Unwritable { .. }), "{unwritable:?}");
}

#[tokio::test]
async fn models_that_cannot_be_used() {
    use ModelChoiceError::{ForSubAgents, Incomplete, KeyInFile, KeyNotSet, NoPrice, Settings, Several};
    use PrepareError::Model;
    const ONE: &str = "[models.a]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\n";
    let with = |rest: &str| format!("{ONE}{rest}");
    let cases: [Case<String>; 9] = [
        (
            TWO_MODELS.replace("model = \"one\"\n", ""),
            |e| matches!(e, Model(Several { names }) if *names == ["one", "two"]),
        ),
        ("[models.a]\nprotocol = \"replay\"".to_owned(), |e| {
            matches!(e, Model(Incomplete { setting: "cassette", .. }))
        }),
        ("[models.a]\nmodel = \"m\"".to_owned(), |e| {
            matches!(e, Model(Incomplete { setting: "endpoint", .. }))
        }),
        ("[models.a]\nendpoint = \"http://x/v1\"".to_owned(), |e| {
            matches!(e, Model(Incomplete { setting: "model", .. }))
        }),
        (with("api_key_env = \"sk-123\""), |e| matches!(e, Model(KeyInFile { .. }))),
        (
            with("api_key_env = \"NOT_SET\""),
            |e| matches!(e, Model(KeyNotSet { name, variable }) if name == "a" && variable == "NOT_SET"),
        ),
        (with("api_key_env = \"BROKEN\""), |e| matches!(e, Model(Settings(_)))),
        (with("[limits]\nmax_cost_usd = 1.0"), |e| matches!(e, Model(NoPrice { model }) if model == "a")),
        (
            with("[sub_agents]\nmodel = \"openai/x\""),
            |e| matches!(e, Model(ForSubAgents { section, .. }) if section == "[sub_agents]"),
        ),
    ];
    for (text, is_that) in cases {
        let world = World::new(&text);
        let around = world.surroundings().with_variable("BROKEN", "two\nlines");
        let error = error_of(&world, around, Wishes::default()).await;
        assert!(is_that(&error), "{text}: {error:?}");
    }
}

#[tokio::test]
async fn names_of_models_that_lead_nowhere() {
    use ModelChoiceError::{NoAnswer, ProviderKey, Unknown};
    use PrepareError::Model;
    let cases: [Case; 3] = [
        (
            "gone",
            |e| matches!(e, Model(Unknown { name, configured }) if name == "gone" && *configured == ["one", "two"]),
        ),
        ("openai", |e| matches!(e, Model(ProviderKey { variable: "OPENAI_API_KEY", .. }))),
        ("ollama", |e| matches!(e, Model(NoAnswer { provider: "Ollama", .. }))),
    ];
    for (name, is_that) in cases {
        let world = World::new(TWO_MODELS);
        let nowhere = world.surroundings().with_variable("OLLAMA_HOST", "127.0.0.1:9");
        let wishes = Wishes { model: Some(name.to_owned()), ..Wishes::default() };
        let error = error_of(&world, nowhere, wishes).await;
        assert!(is_that(&error), "{name}: {error:?}");
    }
}

/// A role that delegates to one that there is not.
const ODD_ROLES: &str = r#"{"AgentRoles": {"Roles": [{"RoleId": "coder", "CanDelegate": true, "AllowedDelegations": ["testr"]}]}}"#;

#[tokio::test]
async fn roles_that_cannot_be_used() {
    use PrepareError::Roles;
    use RolesError::{Faulty, NoFile, Unknown, Unreadable};
    let cases: [Case; 4] = [
        (
            "[sub_agents]\nroles_file = \"gone.json\"",
            |e| matches!(e, Roles(NoFile { name, by_project: false, .. }) if name == "gone.json"),
        ),
        ("[sub_agents]\nroles_file = \"no.json\"", |e| matches!(e, Roles(Unreadable { .. }))),
        ("[sub_agents]\nroles_file = \"odd.json\"", |e| matches!(e, Roles(Faulty { .. }))),
        ("[roles.gone]\nmodel = \"inherit\"", |e| matches!(e, Roles(Unknown { name, .. }) if name == "gone")),
    ];
    for (text, is_that) in cases {
        let world = World::new(&format!("{TWO_MODELS}{text}"));
        world.write("home/.config/posse/no.json", "{");
        world.write("home/.config/posse/odd.json", ODD_ROLES);
        let error = error_of(&world, world.surroundings(), Wishes::default()).await;
        assert!(is_that(&error), "{text}: {error:?}");
    }
}

#[test]
fn a_task_that_the_model_cannot_take() {
    let mut model = ModelConfig::new("a", "m", Protocol::Chat, "http://127.0.0.1:9/v1");
    let task = |bytes: usize, attached_bytes| TaskPrompt {
        text: "x".repeat(bytes),
        attached_bytes,
        attachments: Vec::new(),
    };
    task(1 << 20, 0).must_fit(&model).unwrap();
    model.context_window = Some(1000);
    let cases = [(3200, 0, None), (3300, 0, Some((false, 825))), (4000, 3000, Some((true, 750)))];
    for (bytes, attached_bytes, want) in cases {
        let found = match task(bytes, attached_bytes).must_fit(&model) {
            Err(PrepareError::TaskTooLarge { attached, tokens, window: 1000, .. }) => {
                Some((attached, tokens))
            }
            other => other.map(|()| None).unwrap(),
        };
        assert_eq!(found, want, "{bytes} bytes");
    }
}

/// Whether there is none depends on what runs on the machine; what is said does not.
#[test]
fn no_model_at_all_says_what_to_do() {
    let world = World::new("");
    let own_file = Some(world.surroundings().shown(&world.path("home/.config/posse/config.toml")));
    let error = PrepareError::from(ModelChoiceError::NoneFound { own_file });
    assert!(
        error.to_string().contains("your own         [models.NAME] in ~/.config/posse/config.toml\n"),
        "{error}"
    );
}

/// What a person reads: the error and its causes, each once.
#[tokio::test]
async fn an_error_says_what_happened_and_its_cause_says_why() {
    let world = World::new(TWO_MODELS);
    world.write("project/.posse/config.toml", "");
    std::fs::write(world.path("project/.posse/config.toml"), [0xff]).unwrap();
    let error = error_of(&world, world.surroundings(), Wishes::default()).await;
    let path = world.path("project/.posse/config.toml");
    assert_eq!(error.to_string(), format!("cannot read {}", path.display()));
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert!(cause.contains("utf-8"), "{cause}");
}
