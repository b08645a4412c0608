//! Where may be written: as a table, and in the words that the kernel gets.

use std::collections::BTreeSet;

use posse_policy::{clean_path, may_write, writable_roots};
use posse_protocol::PathRules;

use crate::random::{PATHS, for_each_seed, paths};

fn rules(roots: &[&[&str]], except: &[&str]) -> PathRules {
    let set = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect::<BTreeSet<_>>();
    PathRules { roots: roots.iter().map(|layer| set(layer)).collect(), except: set(except) }
}

#[test]
fn a_path_must_be_in_every_layer_and_in_no_exception() {
    let all = rules(&[], &[]);
    let src = rules(&[&["src"]], &["src/gen"]);
    let both = rules(&[&["src", "docs"], &["src/a", "web"]], &[]);
    let cases = [
        (&all, "a.rs", true),
        (&all, "deep/er/a.rs", true),
        (&all, "", false),
        (&all, ".", false),
        (&all, "..", false),
        (&all, "../a.rs", false),
        (&all, "src/../a.rs", false),
        (&all, "src//a.rs", false),
        (&all, "src/", false),
        (&all, "/etc/passwd", false),
        (&all, "a\0b", false),
        (&src, "src", true),
        (&src, "src/a.rs", true),
        (&src, "srcs/a.rs", false),
        (&src, "src/gen", false),
        (&src, "src/gen/a.rs", false),
        (&src, "src/general.rs", true),
        (&both, "src/a/x.rs", true),
        (&both, "src/b/x.rs", false),
        (&both, "docs/x.md", false),
        (&both, "web/x.js", false),
        (&rules(&[&["."]], &[]), "a", true),
        (&rules(&[&[""]], &["."]), "a", false),
        (&rules(&[&[]], &[]), "a", false),
        (&rules(&[&["../out", "/abs"]], &[]), "out", false),
        (&rules(&[], &["../out"]), "a", false),
    ];
    assert_eq!(cases.len(), 26);
    for (rules, path, want) in cases {
        assert_eq!(may_write(rules, path), want, "{path:?} under {rules:?}");
    }
}

#[test]
fn the_kernel_gets_the_fewest_roots() {
    let cases: [(PathRules, &[&str]); 9] = [
        (rules(&[], &[]), &[""]),
        (rules(&[&["."]], &["a"]), &[""]),
        (rules(&[&["src", "src/a", "docs"]], &[]), &["docs", "src"]),
        (rules(&[&["src", "docs"], &["src/a", "web"]], &[]), &["src/a"]),
        (rules(&[&["src/a"], &["src"]], &[]), &["src/a"]),
        (rules(&[&["src"], &["docs"]], &[]), &[]),
        (rules(&[&["src", "docs"]], &["src"]), &["docs"]),
        (rules(&[&["../x", "ok"]], &[]), &["ok"]),
        (rules(&[&["ok"]], &["/x"]), &[]),
    ];
    for (rules, want) in &cases {
        assert_eq!(writable_roots(rules), *want, "{rules:?}");
    }
}

#[test]
fn the_roots_of_the_kernel_say_the_same_as_the_rules() {
    for_each_seed(100_000, |rng| {
        let rules = paths(rng);
        let roots = writable_roots(&rules);
        let under = |path: &str, above: &str| {
            above.is_empty() || path == above || path.starts_with(&format!("{above}/"))
        };
        let held = |path: &str| {
            roots.iter().any(|root| under(path, root))
                && !rules.except.iter().any(|above| under(path, above.trim_matches('.')))
        };
        // The first ten are paths that can be written at all.
        for path in &PATHS[..10] {
            assert_eq!(held(path), may_write(&rules, path), "{path:?} under {rules:?}: {roots:?}");
        }
        assert!(PATHS[10..].iter().all(|path| !may_write(&rules, path)));
    });
}

#[test]
fn people_write_paths_in_many_ways() {
    let cases = [
        ("src", Some("src")),
        ("./src/", Some("src")),
        ("src//a", Some("src/a")),
        ("src/../docs", Some("docs")),
        (".", Some("")),
        ("", Some("")),
        ("..", None),
        ("a/../../b", None),
        ("/etc", None),
        ("~/x", None),
        ("src/*", None),
        ("a\\b", None),
        ("a\0", None),
    ];
    assert_eq!(cases.len(), 13);
    for (written, want) in cases {
        assert_eq!(clean_path(written).as_deref(), want, "{written:?}");
    }
}
