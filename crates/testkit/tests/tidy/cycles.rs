//! No cycles between the modules of a crate.
//!
//! A module is a file, or a folder with all that is in it. Of two modules that lie side by side only one may use the other, also
//! through a third. A module and those inside it may use each other: `mod`, `super` and re-exports need that. A name that a
//! module passes on counts as one of the module that it comes from. Tests do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::repo::Repo;
use crate::rust::{code, without_tests};

/// Folders whose files read a language that nests, and so have to call each other.
const RECURSIVE: &[&str] = &["crates/tools/src/tests_run"];

/// A module by its path from the crate's root.
type Module = Vec<String>;
/// The modules of a crate, with their code.
type Modules = BTreeMap<Module, String>;
/// What each module calls by a name of its own: where the name leads.
type Names = BTreeMap<Module, BTreeMap<String, Vec<String>>>;
/// Who uses whom among the modules of a folder.
type Uses = BTreeSet<(String, String)>;

pub(crate) fn cycles(repo: &Repo) -> Vec<String> {
    let mut crates: BTreeMap<&str, Modules> = BTreeMap::new();
    for (name, file) in repo.sources() {
        let inside = file.path.trim_start_matches(&format!("crates/{name}/src/")).trim_end_matches(".rs");
        let mut module: Module = inside.split('/').map(str::to_owned).collect();
        if module.last().is_some_and(|last| ["lib", "main", "mod"].contains(&last.as_str())) {
            module.pop();
        }
        crates.entry(name).or_default().insert(module, code(&without_tests(&file.text)));
    }
    let mut findings = Vec::new();
    for (name, modules) in &crates {
        for (folder, uses) in &edges(modules) {
            let place = std::iter::once(format!("crates/{name}/src")).chain(folder.iter().cloned());
            let place = place.collect::<Vec<_>>().join("/");
            if RECURSIVE.contains(&place.as_str()) {
                continue;
            }
            findings.extend(knots(uses).into_iter().map(|knot| {
                let (first, rest) = knot.split_first().map_or(("", &[][..]), |(a, b)| (a.as_str(), b));
                let line = rest.iter().fold(first.to_owned(), |line, next| format!("{line} → {next}"));
                format!("{place}: {line} → {first} is a cycle of modules; move what they share below them")
            }));
        }
    }
    findings
}

/// Who uses whom, by folder.
fn edges(modules: &Modules) -> BTreeMap<Module, Uses> {
    let names: Names =
        modules.iter().map(|(module, text)| (module.clone(), imports(module, text, modules))).collect();
    let mut edges: BTreeMap<Module, Uses> = BTreeMap::new();
    for (module, text) in modules {
        for path in paths(module, text, modules) {
            let other = owner(&path, modules, &names, 0);
            let shared = module.iter().zip(&other).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (module.get(shared), other.get(shared)) {
                edges.entry(module[..shared].to_vec()).or_default().insert((from.clone(), to.clone()));
            }
        }
    }
    edges
}

/// The module that has what a path leads to.
fn owner(path: &[String], modules: &Modules, names: &Names, depth: usize) -> Module {
    let known = (0..=path.len()).rev().find(|n| modules.contains_key(&path[..*n])).unwrap_or_default();
    let (module, rest) = path.split_at(known);
    let leads = rest.first().and_then(|name| names.get(module)?.get(name));
    match leads {
        // A name that leads to itself leads nowhere else.
        Some(to) if depth < 8 && to != path => {
            owner(&[to.as_slice(), &rest[1..]].concat(), modules, names, depth + 1)
        }
        _ => module.to_vec(),
    }
}

/// Names that a module has from elsewhere in the crate.
fn imports(module: &[String], text: &str, modules: &Modules) -> BTreeMap<String, Vec<String>> {
    let all = uses(text).into_iter().filter_map(|path| {
        let (path, name) = match path.split_once(" as ") {
            Some((path, name)) => (path.trim().to_owned(), name.trim().to_owned()),
            None => (path.clone(), path.rsplit("::").next().unwrap_or_default().to_owned()),
        };
        Some((name, absolute(module, &path, modules)?))
    });
    all.collect()
}

/// Every path of the crate's own that a module names.
fn paths(module: &[String], text: &str, modules: &Modules) -> Vec<Vec<String>> {
    let imported =
        uses(text).into_iter().map(|path| path.split(" as ").next().unwrap_or_default().to_owned());
    let mut written = Vec::new();
    let word = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    for piece in text.split(|c| !word(c)).filter(|piece| piece.contains("::")) {
        if ["crate::", "super::", "self::"].iter().any(|begin| piece.starts_with(begin)) {
            written.push(piece.trim_end_matches(':').to_owned());
        }
    }
    imported.chain(written).filter_map(|path| absolute(module, &path, modules)).collect()
}

/// A path from the crate's root; none if it leads to another crate.
fn absolute(module: &[String], path: &str, modules: &Modules) -> Option<Vec<String>> {
    let mut words = path.split("::").map(|word| word.trim().to_owned()).collect::<Vec<_>>();
    let mut base = module.to_vec();
    match words.first()?.as_str() {
        "crate" => (base, words) = (Vec::new(), words.split_off(1)),
        "self" => words = words.split_off(1),
        "super" => {
            while words.first().is_some_and(|word| word == "super") {
                base.pop();
                words = words.split_off(1);
            }
        }
        // A module inside this one.
        child if modules.contains_key(&[module, &[child.to_owned()]].concat()) => {}
        _ => return None,
    }
    // `use x::{self}` is `use x`.
    words.retain(|word| word != "self" && word != "*");
    Some([base, words].concat())
}

/// The paths of all `use` lines, one by one.
fn uses(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for statement in text.split(';') {
        let begin = statement.match_indices("use ").map(|(n, _)| n).filter(|n| {
            statement[..*n].ends_with(|c: char| c.is_whitespace() || c == ')' || c == '}') || *n == 0
        });
        if let Some(begin) = begin.last() {
            expand(statement[begin + 4..].trim(), "", &mut found);
        }
    }
    found
}

/// `a::{b, c::{d, e}}` is `a::b`, `a::c::d` and `a::c::e`.
fn expand(tree: &str, before: &str, found: &mut Vec<String>) {
    let Some((path, group)) = tree.split_once('{') else {
        found.push(format!("{before}{}", tree.trim()));
        return;
    };
    let (before, group) = (format!("{before}{}", path.trim()), group.trim().trim_end_matches('}'));
    // The brace that closes a group inside was taken off with this one's, where it stood at the end.
    let (mut depth, mut begin) = (0, 0);
    for (n, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(group[begin..n].trim(), &before, found);
                begin = n + 1;
            }
            _ => {}
        }
    }
    if !group[begin..].trim().is_empty() {
        expand(group[begin..].trim(), &before, found);
    }
}

/// Modules that use each other, each knot once, in an order in which each uses the next.
fn knots(uses: &Uses) -> Vec<Vec<String>> {
    let next =
        |name: &str| uses.iter().filter(|(from, _)| from == name).map(|(_, to)| to).collect::<Vec<_>>();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut knots = Vec::new();
    for (start, _) in uses {
        if seen.contains(start) {
            continue;
        }
        // The shortest way back to where it began.
        let mut ways: Vec<Vec<String>> = vec![vec![start.clone()]];
        let mut reached: BTreeSet<String> = BTreeSet::new();
        let mut back = None;
        while back.is_none() && !ways.is_empty() {
            let mut longer = Vec::new();
            for way in &ways {
                for name in way.last().into_iter().flat_map(|last| next(last)) {
                    if name == start {
                        back = back.or_else(|| Some(way.clone()));
                    } else if reached.insert(name.clone()) {
                        longer.push([way.as_slice(), std::slice::from_ref(name)].concat());
                    }
                }
            }
            ways = longer;
        }
        if let Some(way) = back {
            seen.extend(way.iter().cloned());
            knots.push(way);
        }
    }
    knots
}

pub(crate) fn bad_cycles() -> Repo {
    Repo::sample(&[
        ("crates/engine/src/lib.rs", "//! X.\nmod crew;\nmod driver;\nmod agents;\npub use crew::Crew;\n"),
        ("crates/engine/src/agents.rs", "//! X.\npub(crate) mod start;\npub(crate) use start::Start;\n"),
        (
            "crates/engine/src/agents/start.rs",
            "//! X.\nuse super::Start as Same;\n#[cfg(test)]\nmod tests {\n    use crate::Crew;\n}\n",
        ),
        (
            "crates/engine/src/crew.rs",
            "//! X.\nuse crate::agents::{self, Start};\nmod part;\nfn f() { crate::driver::run() }\n",
        ),
        ("crates/engine/src/crew/part.rs", "//! X.\nuse super::{f, Start};\n"),
        (
            "crates/engine/src/driver.rs",
            "//! X. use crate::nothing;\nuse std::{fs, io::{self, Read}};\nuse crate::{agents::Start, Crew};\n",
        ),
    ])
}

#[test]
fn trees_of_uses_are_taken_apart() {
    let text = "pub(crate) use a::{b, c::{d, e as f}, g::*};\nuse h;\nlet use_it = 1;\nfn x() { use i::j; }";
    assert_eq!(uses(text), ["a::b", "a::c::d", "a::c::e as f", "a::g::*", "h", "i::j"]);
}
