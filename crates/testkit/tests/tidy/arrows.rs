//! Who may build on whom: rules over the manifests and the lock file.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use crate::repo::{Crate, Repo};

/// Every crate that the design knows, and what it may build on.
const ALLOWED: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("policy", &["protocol"]),
    ("agent", &["protocol"]),
    ("delegate", &["protocol", "policy"]),
    ("roles", &["protocol", "policy"]),
    ("surface", &["protocol", "policy"]),
    ("hooks", &["protocol", "policy"]),
    ("report", &["protocol"]),
    ("view", &["protocol", "report"]),
    ("terminal", &["protocol"]),
    ("model", &["protocol"]),
    ("sandbox", &["protocol"]),
    ("workspace", &["protocol", "policy", "sandbox"]),
    ("tools", &["protocol", "policy", "sandbox", "workspace"]),
    ("mcp", &["protocol", "policy", "sandbox", "tools", "workspace"]),
    ("store", &["protocol", "report"]),
    (
        "engine",
        &[
            "protocol",
            "policy",
            "agent",
            "delegate",
            "roles",
            "surface",
            "hooks",
            "report",
            "model",
            "sandbox",
            "workspace",
            "tools",
            "store",
        ],
    ),
    ("telemetry", &["engine", "protocol"]),
    // It builds what the engine asks for, and names the types of those who own them; not the tree or the store.
    (
        "setup",
        &[
            "protocol",
            "policy",
            "roles",
            "surface",
            "hooks",
            "model",
            "sandbox",
            "workspace",
            "tools",
            "mcp",
            "engine",
            "telemetry",
            "cluster",
        ],
    ),
    ("acp", &["api", "engine", "mcp", "protocol", "setup", "surface", "view"]),
    ("api", &["engine", "protocol", "sandbox", "setup", "view"]),
    ("tui", &["api", "engine", "protocol", "report", "sandbox", "setup", "terminal", "view"]),
    ("mcp-server", &["api", "engine", "protocol", "report", "setup", "view"]),
    (
        "cluster",
        &["engine", "model", "policy", "protocol", "roles", "sandbox", "surface", "tools", "workspace"],
    ),
    (
        "cli",
        &[
            "protocol",
            "policy",
            "roles",
            "surface",
            "hooks",
            "report",
            "view",
            "model",
            "sandbox",
            "workspace",
            "tools",
            "engine",
            "setup",
            "mcp",
            "mcp-server",
            "acp",
            "api",
            "terminal",
            "tui",
            "cluster",
            "telemetry",
        ],
    ),
    ("testkit", &["protocol"]),
    (
        "bench",
        &[
            "protocol",
            "roles",
            "surface",
            "model",
            "sandbox",
            "workspace",
            "tools",
            "mcp",
            "store",
            "engine",
            "telemetry",
            "cluster",
            "testkit",
        ],
    ),
];

/// Crates without runtime, network, database, files or clock.
pub(crate) const PURE: &[&str] =
    &["protocol", "policy", "agent", "delegate", "roles", "surface", "hooks", "report", "view", "terminal"];

/// What a pure crate may not even build on indirectly.
const IMPURE: &[&str] = &["tokio", "mio", "hyper", "reqwest", "rustls", "rusqlite", "libsqlite3-sys"];

/// Libraries that belong to one place.
const OWNERS: &[(&str, &[&str])] = &[
    ("rusqlite", &["store", "bench"]),
    ("libsqlite3-sys", &["store"]),
    ("reqwest", &["mcp", "model", "tools", "telemetry", "bench"]),
    ("rustls", &["api", "mcp", "model", "tools", "telemetry", "bench"]),
    ("rmcp", &["mcp", "mcp-server"]),
    ("opentelemetry-proto", &["telemetry"]),
    ("prost", &["telemetry"]),
    ("landlock", &["sandbox"]),
    ("seccompiler", &["sandbox"]),
    ("async-nats", &["cluster"]),
    ("clap", &["cli"]),
    ("anyhow", &["cli", "bench"]),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Normal,
    Tests,
}

/// The dependencies of a crate: name and how it is given, those of single platforms included.
fn dependencies(one: &Crate, kind: Kind) -> BTreeMap<String, Value> {
    let keys: &[&str] = match kind {
        Kind::Normal => &["dependencies", "build-dependencies"],
        Kind::Tests => &["dev-dependencies"],
    };
    let targets = one.manifest.get("target").and_then(Value::as_table);
    let tables =
        targets.into_iter().flat_map(Table::values).filter_map(Value::as_table).chain([&one.manifest]);
    tables
        .flat_map(|table| keys.iter().filter_map(|key| table.get(*key).and_then(Value::as_table)))
        .flat_map(|found| found.iter().map(|(name, how)| (name.clone(), how.clone())))
        .collect()
}

/// Our own crates among the dependencies, by folder.
fn ours(one: &Crate, kind: Kind) -> BTreeSet<String> {
    dependencies(one, kind).keys().filter_map(|name| name.strip_prefix("posse-")).map(str::to_owned).collect()
}

pub(crate) fn direction(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for one in &repo.crates {
        let Some((_, allowed)) = ALLOWED.iter().find(|(name, _)| *name == one.name) else {
            findings.push(format!(
                "crates/{} is not in the design's map; say in ALLOWED what it may build on",
                one.name
            ));
            continue;
        };
        let normal = ours(one, Kind::Normal);
        // The tests of the testkit may use whatever they test it with.
        let tests = if one.name == "testkit" { BTreeSet::new() } else { ours(one, Kind::Tests) };
        for other in normal.union(&tests) {
            // What the engine is handed by others is tested with the real thing.
            let handed = one.name == "engine" && other == "mcp" && !normal.contains(other);
            if other != "testkit" && !handed && !allowed.contains(&other.as_str()) {
                findings.push(format!(
                    "crates/{} depends on {other}; it may build on {allowed:?} only",
                    one.name
                ));
            }
        }
    }
    findings
}

pub(crate) fn testkit(repo: &Repo) -> Vec<String> {
    let measures = |one: &Crate| one.name == "bench";
    let bad = repo.crates.iter().filter(|one| ours(one, Kind::Normal).contains("testkit") && !measures(one));
    bad.map(|one| format!("crates/{} depends on testkit; make it a dev-dependency", one.name)).collect()
}

/// Follows the lock file from a pure crate's own dependencies. The lock file knows no features, so this sees at least
/// what is built.
pub(crate) fn purity(repo: &Repo) -> Vec<String> {
    let locked: BTreeMap<&str, Vec<&str>> = packages(&repo.lock).collect();
    let mut findings = Vec::new();
    for one in repo.crates.iter().filter(|one| PURE.contains(&one.name.as_str())) {
        let mut seen = BTreeMap::new();
        let mut open: Vec<(String, String)> = dependencies(one, Kind::Normal)
            .into_keys()
            .filter(|name| !name.starts_with("posse-"))
            .map(|name| (name, String::new()))
            .collect();
        while let Some((name, through)) = open.pop() {
            if seen.contains_key(&name) {
                continue;
            }
            if IMPURE.contains(&name.as_str()) {
                let through = if through.is_empty() { "directly" } else { &format!("through {through}") };
                findings.push(format!("crates/{} brings {name}, {through}; it must stay pure", one.name));
            }
            for next in locked.get(name.as_str()).into_iter().flatten() {
                open.push(((*next).to_owned(), name.clone()));
            }
            seen.insert(name, through);
        }
    }
    findings
}

fn packages(lock: &Table) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let list = lock.get("package").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(|package| {
        let needs = package.get("dependencies").and_then(Value::as_array);
        // "name" or "name version".
        let needs = needs.into_iter().flatten().filter_map(Value::as_str);
        let names = needs.map(|need| need.split(' ').next().unwrap_or(need)).collect();
        Some((package.get("name")?.as_str()?, names))
    })
}

pub(crate) fn owners(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for one in &repo.crates {
        let names = dependencies(one, Kind::Normal);
        for (library, owners) in OWNERS {
            if names.contains_key(*library) && !owners.contains(&one.name.as_str()) {
                findings
                    .push(format!("crates/{} depends on {library}, which belongs to {owners:?}", one.name));
            }
        }
    }
    findings
}

pub(crate) fn versions(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for one in &repo.crates {
        let all = dependencies(one, Kind::Normal).into_iter().chain(dependencies(one, Kind::Tests));
        for (name, how) in all {
            if how.get("workspace").and_then(Value::as_bool) != Some(true) {
                findings.push(format!(
                    "crates/{} gives {name} a version; name it in the root and write {name}.workspace = true",
                    one.name
                ));
            }
        }
    }
    findings
}

/// The sandbox alone has its own table, because it alone may write `unsafe`.
pub(crate) fn lints(repo: &Repo) -> Vec<String> {
    let shared = |one: &&Crate| {
        let lints = one.manifest.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(Value::as_bool) == Some(true) || one.name == "sandbox"
    };
    let bad = repo.crates.iter().filter(|one| !shared(one));
    bad.map(|one| format!("crates/{} does not share the lints; add [lints] workspace = true", one.name))
        .collect()
}

pub(crate) fn readme(repo: &Repo) -> Vec<String> {
    let page = repo.files.iter().find(|f| f.path == "crates/README.md").map_or("", |f| f.text.as_str());
    let mut findings = Vec::new();
    for one in &repo.crates {
        let begin = format!("| `{}` |", one.name);
        let Some(line) = page.lines().find(|line| line.starts_with(&begin)) else {
            findings.push(format!("crates/README.md does not list {}; add a line to its table", one.name));
            continue;
        };
        let said = line.trim_end_matches(" |").rsplit("| ").next().unwrap_or_default();
        let listed: BTreeSet<String> =
            said.split(", ").filter(|name| *name != "–").map(str::to_owned).collect();
        let real = ours(one, Kind::Normal);
        if listed != real {
            findings.push(format!(
                "crates/README.md says that {} builds on {said}, but it is {real:?}",
                one.name
            ));
        }
    }
    findings
}

const GOOD: &str = "[lints]\nworkspace = true\n[dependencies]\nposse-protocol.workspace = true\n";

fn manifest(name: &str, text: &str) -> Repo {
    let path = format!("crates/{name}/Cargo.toml");
    Repo::sample(&[(&path, text), ("crates/policy/Cargo.toml", GOOD)])
}

pub(crate) fn bad_direction() -> Repo {
    manifest("store", "[target.'cfg(unix)'.dependencies]\nposse-engine.workspace = true\n")
}

pub(crate) fn bad_testkit() -> Repo {
    manifest("engine", "[dependencies]\nposse-testkit.workspace = true\n")
}

pub(crate) fn bad_purity() -> Repo {
    let lock =
        "[[package]]\nname = \"middle\"\ndependencies = [\"tokio 1.0.0\"]\n[[package]]\nname = \"tokio\"\n";
    let agent = "[dependencies]\nmiddle.workspace = true\n";
    Repo::sample(&[
        ("Cargo.lock", lock),
        ("crates/agent/Cargo.toml", agent),
        ("crates/policy/Cargo.toml", GOOD),
    ])
}

pub(crate) fn bad_owners() -> Repo {
    manifest("tools", "[dependencies]\nrusqlite.workspace = true\n")
}

pub(crate) fn bad_versions() -> Repo {
    manifest("model", "[dev-dependencies]\nserde = \"1\"\n")
}

pub(crate) fn bad_lints() -> Repo {
    manifest("model", "[dependencies]\n")
}

pub(crate) fn bad_readme() -> Repo {
    let page = "| `policy` | Decides. | protocol |\n| `agent` | Loops. | – |\n";
    Repo::sample(&[
        ("crates/README.md", page),
        ("crates/agent/Cargo.toml", GOOD),
        ("crates/policy/Cargo.toml", GOOD),
    ])
}
