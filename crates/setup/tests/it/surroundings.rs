//! The environment counts as the value that was given, and only so.

use std::path::Path;

use posse_setup::{Paths, Surroundings};

/// The real home and the real folder are other ones.
#[test]
fn the_home_and_the_folder_are_those_that_were_given() {
    let surroundings = Surroundings::new("/work/here").with_home("/people/me");
    let paths = Paths::find(surroundings.clone(), Some(Path::new("data")), None).unwrap();
    assert_eq!(paths.data_dir, Path::new("/work/here/data"));
    if cfg!(target_os = "linux") {
        assert_eq!(paths.config, Path::new("/people/me/.config/posse/config.toml"));
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

#[test]
fn values_of_variables_are_not_printed() {
    let printed = format!("{:?}", Surroundings::new("/").with_variable("SOME_KEY", "sk-secret"));
    assert!(printed.contains("SOME_KEY") && !printed.contains("sk-secret"), "{printed}");
}
