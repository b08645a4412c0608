//! Paths and names are found by some of their characters.

use posse_terminal::{PathIndex, limits, rank};
use proptest::prelude::*;

/// Paths as projects have them: 50,000 files in 500 folders.
fn generated() -> Vec<String> {
    let areas = ["engine", "store", "model", "policy", "terminal", "report", "view", "tools", "setup", "cli"];
    let parts =
        ["agent", "session", "budget", "reader", "parser", "window", "journal", "queue", "limits", "words"];
    let mut paths = Vec::new();
    for (area, name) in areas.iter().flat_map(|area| parts.iter().map(move |name| (area, name))) {
        for folder in 0..5 {
            for file in 0..100 {
                paths.push(format!("crates/{area}/src/{name}{folder}/{}_{file}.rs", parts[file % 10]));
            }
        }
    }
    paths
}

#[test]
fn the_best_of_fifty_thousand_comes_first() {
    let mut paths = generated();
    assert_eq!(paths.len(), 50_000);
    let special = [
        "README.md",
        "crates/cli/src/main.rs",
        "crates/store/src/main_loop.rs",
        "docs/maintenance.md",
        "src/main.rs",
        "web/UserProfileCard.tsx",
        "web/user/profile/card.css",
        "Makefile",
        "crates/view/README.md",
    ];
    paths.extend(special.map(str::to_owned));
    let mut index =
        PathIndex::new(paths.iter().map(String::as_str), ["target/debug/main.rs", "main.rs.orig"]);
    assert!(index.len() > 50_500, "{} with folders", index.len());
    let cases: &[(&str, &[&str])] = &[
        ("readme", &["README.md", "crates/view/README.md"]),
        (
            "main",
            &[
                "src/main.rs",
                "crates/cli/src/main.rs",
                "docs/maintenance.md",
                "crates/store/src/main_loop.rs",
            ],
        ),
        ("main.rs", &["src/main.rs", "crates/cli/src/main.rs"]),
        ("climain", &["crates/cli/src/main.rs"]),
        ("upc", &["web/UserProfileCard.tsx", "web/user/profile/card.css"]),
        ("UPC", &["web/UserProfileCard.tsx"]),
        ("make", &["Makefile"]),
        ("src/ma", &["src/main.rs"]),
        ("docs/", &["docs/", "docs/maintenance.md"]),
        ("crates/store/src/queue3/words_79", &["crates/store/src/queue3/words_79.rs"]),
        ("stq3w79", &["crates/store/src/queue3/words_79.rs"]),
    ];
    assert_eq!(cases.len(), 11);
    for (query, want) in cases {
        let found = index.find(query, 20);
        assert!(found.len() <= 20);
        assert_eq!(found[..want.len().min(found.len())], **want, "{query}");
    }
    assert_eq!(index.find("", 4), ["Makefile", "README.md", "crates/", "docs/"]);
    assert_eq!(index.find("zzz", 9), Vec::<&str>::new());
    assert_eq!(index.find(&"a".repeat(limits::QUERY_BYTES_MAX + 1), 9), Vec::<&str>::new());
}

#[test]
fn what_is_ignored_comes_second_and_git_never() {
    let files = ["src/deep/in/the/tree/config.rs", ".git/config", "sub/.git/config", "./.gitignore"];
    let mut index = PathIndex::new(files, ["config", "target/config.rs", ".git/index"]);
    assert_eq!(index.find("config", 9), ["src/deep/in/the/tree/config.rs", "config", "target/config.rs"]);
    assert_eq!(index.find("git", 9), [".gitignore"]);
    assert_eq!(index.find("", 99).len(), 4 + 5 + 1, "with the folders: {:?}", index.find("", 99));
}

#[test]
fn a_growing_query_finds_what_a_new_one_finds() {
    let paths = generated();
    let paths: Vec<&str> = paths.iter().step_by(7).map(String::as_str).collect();
    let mut index = PathIndex::new(paths.clone(), []);
    let mut steps = 0;
    for query in ["e", "en", "enj", "enjo", "enj", "enj4", "s", "st", "stJ", "stj", "stj9", "journal_99"] {
        let new = PathIndex::new(paths.clone(), [])
            .find(query, 50)
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        assert_eq!(index.find(query, 50), new, "{query}");
        steps += usize::from(!new.is_empty());
    }
    assert_eq!(steps, 11, "all but the one with a capital letter find something");
}

#[test]
fn short_lists_are_ranked() {
    let names = ["model", "mode", "memory", "merge", "compact", "config", "detach", "diff"];
    let ranked = |query: &str| rank(query, &names).into_iter().map(|at| names[at]).collect::<Vec<_>>();
    assert_eq!(ranked(""), names);
    assert_eq!(ranked("mode"), ["mode", "model"]);
    assert_eq!(ranked("m"), ["model", "mode", "memory", "merge", "compact"]);
    assert_eq!(ranked("me")[..2], ["memory", "merge"]);
    assert_eq!(ranked("cf"), ["config"]);
    assert_eq!(ranked("dt"), ["detach"]);
    assert_eq!(ranked("x"), Vec::<&str>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn exactly_what_has_the_characters_in_order_is_found(
        paths in proptest::collection::vec("[a-cA-C/._é]{1,12}", 0..30),
        queries in proptest::collection::vec("[a-cA-C/.é]{1,4}", 1..6),
    ) {
        let mut index = PathIndex::new(paths.clone(), vec![]);
        let all: Vec<String> = index.find("", usize::MAX).into_iter().map(str::to_owned).collect();
        for query in queries {
            let is_exact = query.chars().any(|c| c.is_ascii_uppercase());
            let fits = |path: &&String| {
                let path = if is_exact { (*path).clone() } else { path.to_ascii_lowercase() };
                let mut rest = path.chars();
                query.chars().all(|wanted| rest.any(|c| c == wanted))
            };
            let mut want: Vec<&str> = all.iter().filter(fits).map(String::as_str).collect();
            let mut found = index.find(&query, usize::MAX);
            let few: Vec<String> = found.iter().take(3).map(|path| (*path).to_owned()).collect();
            want.sort_unstable();
            found.sort_unstable();
            prop_assert_eq!(found, want);
            prop_assert_eq!(index.find(&query, 3), few, "a limit keeps the best");
        }
    }
}
