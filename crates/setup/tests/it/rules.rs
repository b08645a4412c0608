//! Rules in the person's file: listed with their places, saved and removed, and nothing else is changed.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use posse_setup::{ConfigError, RuleFileError, RuleKind, list_rules, remove_rule, save_rule};

use crate::world::{TWO_MODELS, World};

const FILE: &str = "home/.config/posse/config.toml";

fn text(world: &World) -> String {
    std::fs::read_to_string(world.path(FILE)).unwrap()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn rules_are_listed_with_their_places_and_only_the_persons_file_is_written() {
    let world = World::new(
        "# mine\n[approval]\nallow = [\n  \"edit_file(docs/*)\", # fine\n]\ndeny = [\"shell(rm *)\"]\n",
    );
    let project = "[approval]\nallow = [\"shell\"]\nask = [\"web_fetch\"]\n";
    world.write("project/.posse/config.toml", project);
    let paths = world.paths();
    let told = || {
        let rules = list_rules(&paths, &world.project()).unwrap();
        let told = rules.iter().map(|rule| {
            format!("{} {} {} {} {}", rule.kind.word(), rule.rule, rule.line, rule.own, rule.counts)
        });
        told.collect::<Vec<_>>()
    };
    let of_project = ["allow shell 2 false false", "ask web_fetch 3 false true"];
    let own = ["allow edit_file(docs/*) 4 true true", "deny shell(rm *) 6 true true"];
    assert_eq!(told(), [own, of_project].concat());
    assert!(save_rule(&paths, RuleKind::Allow, " read_file ").unwrap());
    assert!(!save_rule(&paths, RuleKind::Allow, "read_file").unwrap(), "it is there already");
    assert!(save_rule(&paths, RuleKind::Ask, "edit_file(\"x\")").unwrap());
    assert_eq!(
        text(&world),
        "# mine\n[approval]\nask = ['edit_file(\"x\")']\nallow = [\n  \"edit_file(docs/*)\",\n  \"read_file\", # fine\n]\ndeny = [\"shell(rm *)\"]\n"
    );
    assert!(remove_rule(&paths, RuleKind::Deny, "shell(rm *)").unwrap());
    assert!(!remove_rule(&paths, RuleKind::Deny, "shell(rm *)").unwrap());
    assert!(!remove_rule(&paths, RuleKind::Allow, "shell").unwrap(), "a project's rule is not the person's");
    let own = [
        "ask edit_file(\"x\") 3 true true",
        "allow edit_file(docs/*) 5 true true",
        "allow read_file 6 true true",
    ];
    assert_eq!(told(), [&own[..], &of_project].concat());
    let kept = std::fs::read_to_string(world.path("project/.posse/config.toml")).unwrap();
    assert_eq!(kept, project);
}

#[test]
fn what_is_no_rule_or_cannot_be_changed_leaves_the_file_as_it_is() {
    let cases = [
        (TWO_MODELS, "cargo test *"),
        (TWO_MODELS, "shell(cargo *)"),
        (TWO_MODELS, "edit_fil"),
        (TWO_MODELS, ""),
        (TWO_MODELS, "("),
        ("approval = { mode = \"ask\" }\n", "read_file"),
        ("approval.mode = \"ask\"\n", "read_file"),
        ("model = \n", "read_file"),
        ("unknown = 1\n", "read_file"),
        // What only looks like the section.
        ("model = \"\"\"\n[approval]\n\"\"\"\n", "read_file"),
    ];
    assert_eq!(cases.len(), 10);
    for (config, rule) in cases {
        let world = World::new(config);
        let outcome = save_rule(&world.paths(), RuleKind::Allow, rule);
        assert!(outcome.is_err(), "{config:?} {rule:?}: {outcome:?}");
        assert_eq!(text(&world), config);
        let folder = world.path("home/.config/posse");
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 1, "nothing is left behind");
    }
    let world = World::new(TWO_MODELS);
    let misspelt = save_rule(&world.paths(), RuleKind::Deny, "edit_fil").unwrap_err();
    assert!(matches!(misspelt, RuleFileError::Config(ConfigError::UnknownTool { .. })), "{misspelt:?}");
}

#[test]
fn a_new_file_is_private_a_link_stays_and_permissions_stay() {
    let world = World::new("");
    std::fs::remove_file(world.path(FILE)).unwrap();
    save_rule(&world.paths(), RuleKind::Ask, "shell").unwrap();
    assert_eq!((text(&world).as_str(), mode(&world.path(FILE))), ("[approval]\nask = [\"shell\"]\n", 0o600));
    std::fs::set_permissions(world.path(FILE), std::fs::Permissions::from_mode(0o640)).unwrap();
    save_rule(&world.paths(), RuleKind::Ask, "read_file").unwrap();
    assert_eq!(mode(&world.path(FILE)), 0o640);
    // As with files that are kept in a repository of settings.
    std::fs::create_dir(world.path("dotfiles")).unwrap();
    std::fs::rename(world.path(FILE), world.path("dotfiles/posse.toml")).unwrap();
    symlink(world.path("dotfiles/posse.toml"), world.path(FILE)).unwrap();
    save_rule(&world.paths(), RuleKind::Deny, "web_fetch").unwrap();
    assert!(world.path(FILE).symlink_metadata().unwrap().is_symlink());
    let there = std::fs::read_to_string(world.path("dotfiles/posse.toml")).unwrap();
    assert_eq!(there, "[approval]\ndeny = [\"web_fetch\"]\nask = [\"shell\", \"read_file\"]\n");
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let world = World::new(TWO_MODELS);
    std::thread::scope(|scope| {
        for n in 0..8 {
            let paths = world.paths();
            scope.spawn(move || {
                for m in 0..5 {
                    assert!(save_rule(&paths, RuleKind::Deny, &format!("edit_file(f{n}-{m})")).unwrap());
                }
            });
        }
    });
    assert_eq!(list_rules(&world.paths(), &world.project()).unwrap().len(), 40);
    assert!(text(&world).starts_with(TWO_MODELS));
}
