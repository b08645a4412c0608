//! The environment counts as the value that was given, and only so.

use std::path::Path;

use posse_model::shown_address;
use posse_setup::{
    ModelChoiceError, PROVIDERS, Paths, PrepareError, Surroundings, Wishes, choose, skill_folders,
};

use crate::world::{World, prepare};

const KEY_IN_PATH: &str =
    "[models.one]\nendpoint = \"http://127.0.0.1:9/v1\"\nmodel = \"m\"\napi_key_env = \"PATH\"\n";

/// The variable is set in the real environment of every test; what is given says otherwise.
#[tokio::test]
async fn the_real_environment_has_no_effect() {
    assert!(std::env::var_os("PATH").is_some_and(|path| !path.is_empty()));
    let world = World::new(KEY_IN_PATH);
    let unset = prepare(world.surroundings(), &world.project(), Wishes::default()).await;
    assert!(matches!(
        unset.map(|_| ()).unwrap_err(),
        PrepareError::Model(ModelChoiceError::KeyNotSet { variable, .. }) if variable == "PATH"
    ));
    let set = world.surroundings().with_variable("PATH", "a-key");
    prepare(set, &world.project(), Wishes::default()).await.unwrap();
}

/// The real home and the real folder are other ones.
#[test]
fn the_home_and_the_folder_are_those_that_were_given() {
    let surroundings = Surroundings::new("/work/here").with_home("/people/me");
    let paths = Paths::find(surroundings.clone(), Some(Path::new("data")), None).unwrap();
    assert_eq!(paths.data_dir, Path::new("/work/here/data"));
    if cfg!(target_os = "linux") {
        assert_eq!(paths.config, Path::new("/people/me/.config/posse/config.toml"));
        assert_eq!(
            skill_folders(&paths, Path::new("/work/here"))[1].path,
            Path::new("/people/me/.claude/skills")
        );
    }
    assert_eq!(surroundings.shown(Path::new("/people/me/a\nb")).to_string(), "~/a\\nb");
    assert_eq!(surroundings.shown(Path::new("/people/meet")).to_string(), "/people/meet");
}

#[test]
fn what_is_named_counts_then_what_is_set_then_the_platforms_folders() {
    let home = Surroundings::new("/").with_home("/people/me");
    let set = home.clone().with_variable("POSSE_HOME", "/set").with_variable("POSSE_CONFIG", "/set.toml");
    let xdg = home
        .clone()
        .with_variable("XDG_DATA_HOME", "/xdg/data")
        .with_variable("XDG_CONFIG_HOME", "/xdg/conf");
    let relative =
        home.clone().with_variable("XDG_DATA_HOME", "data").with_variable("XDG_CONFIG_HOME", "conf");
    let named = Some(Path::new("/named"));
    let cases = [
        (set.clone(), named, "/named", "/named"),
        (set, None, "/set", "/set.toml"),
        (xdg, None, "/xdg/data/posse", "/xdg/conf/posse/config.toml"),
        (relative, None, "/people/me/.local/share/posse", "/people/me/.config/posse/config.toml"),
    ];
    for (surroundings, named, data_dir, config) in cases {
        let paths = Paths::find(surroundings, named, named).unwrap();
        assert_eq!(
            (paths.data_dir.as_path(), paths.config.as_path()),
            (Path::new(data_dir), Path::new(config))
        );
    }
}

#[tokio::test]
async fn a_provider_is_found_by_its_key_and_where_its_address_was_moved_to() {
    let world = World::new("");
    let config = posse_setup::Config::load(&world.paths(), &world.project()).unwrap();
    let keyed =
        world.surroundings().with_variable("OPENAI_API_KEY", "k").with_variable("OPENAI_BASE_URL", "gpu:1");
    let choice = choose(&config, &keyed, None).await.unwrap();
    assert_eq!(choice.model.name, "openai/gpt-5.1");
    assert_eq!(shown_address(&choice.model.endpoint()), "http://gpu:1/v1");
    let found = PROVIDERS.iter().filter(|provider| provider.key(&keyed).is_some()).count();
    assert_eq!(found, 1);
}

#[test]
fn values_of_variables_are_not_printed() {
    let printed = format!("{:?}", Surroundings::new("/").with_variable("SOME_KEY", "sk-secret"));
    assert!(printed.contains("SOME_KEY") && !printed.contains("sk-secret"), "{printed}");
}
