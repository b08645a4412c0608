//! The table of test runners, and how the words behind a program say that it is one.

use super::environment::is_loose;
use super::expand::is_open;
use super::judged::{Judged, Worth};
use super::looked::joined;
use super::options::{self, CheckedOptions, OptionKind, Options, Shows};
use super::shell::ShellState;
use crate::runner_family::RunnerFamily;

/// Runners by the words they begin with. An empty list of words is a runner by its name alone.
const RUNNERS: &[(&str, &[&str], RunnerFamily)] = &[
    ("cargo", &["test", "t", "nextest", "tarpaulin", "llvm-cov", "mutants"], RunnerFamily::Cargo),
    ("cross", &["test"], RunnerFamily::Cargo),
    ("pytest", &[], RunnerFamily::Pytest),
    ("py.test", &[], RunnerFamily::Pytest),
    ("nosetests", &[], RunnerFamily::Unittest),
    ("nose2", &[], RunnerFamily::Unittest),
    ("trial", &[], RunnerFamily::Unittest),
    ("tox", &[], RunnerFamily::Any),
    ("nox", &[], RunnerFamily::Any),
    ("hatch", &["test"], RunnerFamily::Pytest),
    ("rye", &["test"], RunnerFamily::Pytest),
    ("go", &["test"], RunnerFamily::Go),
    ("gotestsum", &[], RunnerFamily::Any),
    ("ginkgo", &[], RunnerFamily::Any),
    ("bun", &["test"], RunnerFamily::Any),
    ("jest", &[], RunnerFamily::Any),
    ("vitest", &[], RunnerFamily::Any),
    ("mocha", &[], RunnerFamily::Any),
    ("ava", &[], RunnerFamily::Any),
    ("jasmine", &[], RunnerFamily::Any),
    ("karma", &["start", "run"], RunnerFamily::Any),
    ("tap", &[], RunnerFamily::Any),
    ("playwright", &["test"], RunnerFamily::Any),
    ("cypress", &["run"], RunnerFamily::Any),
    ("wdio", &[], RunnerFamily::Any),
    ("web-test-runner", &[], RunnerFamily::Any),
    ("react-scripts", &["test"], RunnerFamily::Any),
    ("ng", &["test", "e2e"], RunnerFamily::Any),
    ("nx", &["test", "e2e"], RunnerFamily::Any),
    ("turbo", &["test"], RunnerFamily::Any),
    ("lerna", &["run"], RunnerFamily::Any),
    ("deno", &["test"], RunnerFamily::Any),
    ("mvn", &["test", "verify", "integration-test", "install", "package"], RunnerFamily::Java),
    ("mvnw", &["test", "verify", "integration-test", "install", "package"], RunnerFamily::Java),
    ("mvnd", &["test", "verify", "integration-test", "install", "package"], RunnerFamily::Java),
    ("gradle", &["test", "check", "build", "connectedAndroidTest"], RunnerFamily::Java),
    ("gradlew", &["test", "check", "build", "connectedAndroidTest"], RunnerFamily::Java),
    ("ant", &["test"], RunnerFamily::Java),
    ("sbt", &["test", "testOnly", "testQuick"], RunnerFamily::Any),
    ("mill", &["test"], RunnerFamily::Any),
    ("lein", &["test", "midje"], RunnerFamily::Any),
    ("clj", &["-X:test", "-M:test"], RunnerFamily::Any),
    ("clojure", &["-X:test", "-M:test"], RunnerFamily::Any),
    ("dotnet", &["test", "vstest"], RunnerFamily::Dotnet),
    ("phpunit", &[], RunnerFamily::Php),
    ("pest", &[], RunnerFamily::Php),
    ("paratest", &[], RunnerFamily::Php),
    ("codecept", &["run"], RunnerFamily::Php),
    ("rspec", &[], RunnerFamily::Ruby),
    ("minitest", &[], RunnerFamily::Ruby),
    ("cucumber", &[], RunnerFamily::Any),
    ("rake", &["test", "spec"], RunnerFamily::Ruby),
    ("rails", &["test", "spec"], RunnerFamily::Ruby),
    ("ctest", &[], RunnerFamily::Ctest),
    ("meson", &["test"], RunnerFamily::Any),
    ("ninja", &["test", "check"], RunnerFamily::Any),
    ("bazel", &["test"], RunnerFamily::Any),
    ("bazelisk", &["test"], RunnerFamily::Any),
    ("buck", &["test"], RunnerFamily::Any),
    ("buck2", &["test"], RunnerFamily::Any),
    ("pants", &["test"], RunnerFamily::Any),
    ("please", &["test"], RunnerFamily::Any),
    ("swift", &["test"], RunnerFamily::Any),
    ("xcodebuild", &["test", "test-without-building"], RunnerFamily::Any),
    ("mix", &["test"], RunnerFamily::Any),
    ("rebar3", &["eunit", "ct", "proper"], RunnerFamily::Any),
    ("gleam", &["test"], RunnerFamily::Any),
    ("bats", &[], RunnerFamily::Tap),
    ("prove", &[], RunnerFamily::Any),
    ("shellspec", &[], RunnerFamily::Any),
    ("cabal", &["test"], RunnerFamily::Any),
    ("stack", &["test"], RunnerFamily::Any),
    ("dune", &["test", "runtest"], RunnerFamily::Any),
    ("zig", &["test", "build"], RunnerFamily::Any),
    ("nim", &["test"], RunnerFamily::Any),
    ("nimble", &["test"], RunnerFamily::Any),
    ("crystal", &["spec"], RunnerFamily::Any),
    ("dub", &["test"], RunnerFamily::Any),
    ("v", &["test"], RunnerFamily::Any),
    ("flutter", &["test"], RunnerFamily::Any),
    ("dart", &["test"], RunnerFamily::Any),
    ("busted", &[], RunnerFamily::Any),
    ("forge", &["test"], RunnerFamily::Any),
    ("hardhat", &["test"], RunnerFamily::Any),
    ("anchor", &["test"], RunnerFamily::Any),
    ("scarb", &["test"], RunnerFamily::Any),
    ("helm", &["test", "unittest"], RunnerFamily::Any),
    ("terraform", &["test"], RunnerFamily::Any),
    ("tofu", &["test"], RunnerFamily::Any),
    ("task", &["test"], RunnerFamily::Any),
    ("invoke", &["test", "tests"], RunnerFamily::Any),
    ("inv", &["test", "tests"], RunnerFamily::Any),
    ("ward", &[], RunnerFamily::Any),
    ("behave", &[], RunnerFamily::Any),
    ("robot", &[], RunnerFamily::Any),
    ("newman", &["run"], RunnerFamily::Any),
    ("julia", &["Pkg.test()"], RunnerFamily::Any),
];

/// Programs that take several goals at once: `clean test`, `run app:test`.
const OF_GOALS: &[&str] = &[
    "mvn",
    "mvnw",
    "mvnd",
    "gradle",
    "gradlew",
    "ant",
    "ninja",
    "rake",
    "sbt",
    "mill",
    "xcodebuild",
    "turbo",
    "invoke",
    "inv",
    "task",
];

/// Second words with which a runner does something else.
const NOT_TESTS: &[(&str, &str)] = &[
    ("vitest", "list init bench"),
    ("jest", "init"),
    ("mocha", "init"),
    ("tap", "list build plugin dump-config config help repl report versions debug"),
    ("ava", "reset-cache debug"),
    ("wdio", "config install repl"),
    ("tox", "l list c config d devenv q quickstart e exec schema de depends"),
];

/// Files of the project that say what such a runner does; they are not read.
const EXPLAINED: &[(&str, &[&str])] = &[
    ("rake", &["Rakefile", "rakefile", "Rakefile.rb"]),
    ("task", &["Taskfile.yml", "Taskfile.yaml", "taskfile.yml"]),
    ("invoke", &["tasks.py"]),
    ("inv", &["tasks.py"]),
    ("ant", &["build.xml"]),
    ("nox", &["noxfile.py"]),
    ("tox", &["tox.ini"]),
    ("ninja", &["build.ninja"]),
    ("mill", &["build.sc", "build.mill"]),
    ("nx", &["nx.json", "project.json"]),
    ("turbo", &["turbo.json"]),
    ("lerna", &["lerna.json"]),
];

/// A runner that was found.
pub(super) struct KnownRunner {
    pub(super) family: RunnerFamily,
    checked: CheckedOptions,
}

/// What a runner of the table does with these words; none if it is not one that tests.
pub(super) fn known(program: &str, rest: &[String]) -> Option<Result<KnownRunner, Shows>> {
    let base = program.trim_end_matches(".exe").trim_end_matches(".cmd");
    RUNNERS.iter().filter(|(name, ..)| *name == base).find_map(|(name, words, family)| {
        let options = options::of(name);
        let words = behind(name, words, rest, options)?;
        Some(options.judge(&words).map(|checked| KnownRunner { family: *family, checked }))
    })
}

/// A runner by its name: what it does with these words.
pub(super) fn run(program: &str, rest: &[String], shell: &ShellState<'_>) -> Option<Judged> {
    let Ok(known) = known(program, rest)? else {
        // It only says something.
        return Some(Judged { output: Worth::Nothing, ..Judged::NOTHING });
    };
    let mut judged = tested(known.family, known.checked, shell);
    let explained = EXPLAINED.iter().find(|(name, _)| *name == program);
    if let Some((_, files)) = explained {
        let folder = shell.folder.as_deref().unwrap_or_default();
        judged.by_name = true;
        let mut places = files.iter().map(|file| joined(folder, file));
        let found = places.find(|place| shell.files.is_there(place));
        found.iter().for_each(|place| judged.explained_by(place));
    }
    Some(judged)
}

/// A runner that was found in another way, with the options of a program of the table.
pub(super) fn with_options(
    family: RunnerFamily,
    program: &str,
    rest: &[String],
    shell: &ShellState<'_>,
) -> Judged {
    match options::of(program).judge(rest) {
        Err(Shows) => Judged { output: Worth::Nothing, ..Judged::NOTHING },
        Ok(checked) => tested(family, checked, shell),
    }
}

/// Tests, as far as the options and the folder say that they are the project's.
fn tested(family: RunnerFamily, checked: CheckedOptions, shell: &ShellState<'_>) -> Judged {
    let mut judged = Judged::tests(family);
    let folder = shell.folder.as_deref().unwrap_or_default();
    for place in checked.reads.iter().filter(|file| !is_open(file)).map(|file| joined(folder, file)) {
        if shell.files.is_there(&place) {
            judged.explained_by(&place);
        }
    }
    if let Some(by) = checked.replaced.or(is_loose(folder).then(|| format!("cd {folder}"))) {
        judged.distrust(|| by);
    }
    judged.doubt(checked.doubt);
    judged
}

/// The words behind what makes a program a test runner; none if nothing does.
fn behind(name: &str, words: &[&str], rest: &[String], options: &Options) -> Option<Vec<String>> {
    if words.is_empty() {
        let first = rest.iter().find(|word| !word.starts_with('-'));
        let other = NOT_TESTS.iter().find(|(runner, _)| *runner == name).map_or("", |(_, other)| *other);
        let other = first.is_some_and(|first| other.split(' ').any(|word| word == first));
        return (!other && (name != "tox" && name != "nox" || of_tests(name, rest))).then(|| rest.to_vec());
    }
    if name == "nx" {
        return nx(rest);
    }
    if OF_GOALS.contains(&name) {
        return goals(words, rest, options);
    }
    // `clj -X:test`, `julia -e 'Pkg.test()'`.
    if let Some(at) = rest.iter().position(|word| word.starts_with('-') && words.contains(&word.as_str())) {
        return Some(rest[at + 1..].to_vec());
    }
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        if word.starts_with('+') {
            continue;
        } else if word.starts_with('-') {
            match options.kind(word) {
                OptionKind::Flag => {}
                OptionKind::Value | OptionKind::Selects | OptionKind::Reads | OptionKind::Replaces => {
                    at += usize::from(!word.contains('='))
                }
                OptionKind::Shows => return None,
                OptionKind::Strange if word.contains('=') => {}
                OptionKind::Strange if matches!(name, "julia") => {}
                OptionKind::Strange => return None,
            }
            continue;
        }
        let more = words.contains(&word.as_str()).then(|| second(name, word, &rest[at..])).flatten()?;
        let before = rest[..at - 1].iter().filter(|word| !word.starts_with('+'));
        return Some(before.chain(&more).cloned().collect());
    }
    None
}

/// What follows the word that makes it a runner, which may need another one: `cargo nextest run`.
fn second(name: &str, word: &str, rest: &[String]) -> Option<Vec<String>> {
    let plain = rest.first().filter(|word| !word.starts_with('-')).map(String::as_str);
    let skips = match (name, word, plain) {
        ("cargo", "nextest", None | Some("run" | "r")) => usize::from(plain.is_some()),
        ("cargo", "llvm-cov", Some("test")) => 1,
        ("cargo", "llvm-cov", Some("nextest")) => 1,
        ("cargo", "llvm-cov", None) => 0,
        ("cargo", "nextest" | "llvm-cov", _) | ("swift", _, Some("list")) => return None,
        ("lerna", _, Some("test")) | ("zig", "build", Some("test")) => 1,
        ("lerna", ..) | ("zig", "build", _) => return None,
        _ => 0,
    };
    Some(rest[skips..].to_vec())
}

/// One of several goals is to test; one that was left out does not count.
fn goals(words: &[&str], rest: &[String], options: &Options) -> Option<Vec<String>> {
    let is_goal = |word: &str| {
        let name = word.split_whitespace().next().unwrap_or(word);
        words.iter().any(|known| name == *known || name.ends_with(&format!(":{known}")))
    };
    let (mut at, mut found, mut others) = (0, false, Vec::new());
    while let Some(word) = rest.get(at) {
        at += 1;
        if word.starts_with('-') {
            others.push(word.clone());
            let apart = matches!(
                options.kind(word),
                OptionKind::Value | OptionKind::Selects | OptionKind::Reads | OptionKind::Replaces
            ) && !word.contains('=');
            if apart || matches!(word.as_str(), "-x" | "--exclude-task") {
                others.extend(rest.get(at).cloned());
                at += 1;
            }
        } else if !is_open(word) {
            found |= is_goal(word);
        }
    }
    found.then_some(others)
}

/// `nx test app`, `nx run app:test`, `nx run-many -t test`.
fn nx(rest: &[String]) -> Option<Vec<String>> {
    let target = |word: &str| matches!(word, "test" | "e2e");
    let more = rest.get(1..).unwrap_or_default();
    let tests = match rest.first()?.as_str() {
        "run" => more.first().is_some_and(|word| word.split(':').nth(1).is_some_and(target)),
        "run-many" | "affected" => {
            let pairs = more.iter().zip(more.iter().skip(1));
            let apart = pairs.into_iter().any(|(option, value)| {
                matches!(option.as_str(), "-t" | "--target" | "--targets") && value.split(',').all(target)
            });
            apart || more.iter().any(|word| word.strip_prefix("--target=").is_some_and(target))
        }
        word => target(word) || word.strip_prefix("affected:").is_some_and(target),
    };
    tests.then(|| more.iter().filter(|word| options::shows_only(word)).cloned().collect())
}

/// Whether the environments or sessions that are named are about tests: `tox -e lint` is not.
fn of_tests(name: &str, rest: &[String]) -> bool {
    let named = |option: &str| match name {
        "tox" => matches!(option, "-e" | "-m"),
        _ => matches!(option, "-s" | "-e" | "--session" | "--sessions"),
    };
    let Some(at) = rest.iter().position(|word| named(word)) else { return true };
    let is = |env: &str| {
        let versioned = env.starts_with("py") || env.starts_with(|c: char| c.is_ascii_digit());
        versioned || posse_protocol::is_test_name(env)
    };
    rest.get(at + 1).is_some_and(|envs| envs.split(',').all(is))
}
