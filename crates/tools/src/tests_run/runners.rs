//! What the words of a command run, looking through what stands around a test runner. Pure words; it must not know files.

use super::project::{Named, What, is_test_name};
use super::table::{BUILDERS, Family, OF_GOALS, RUNNERS, SHOWS_ONLY, SILENT, WRAPPERS, WRAPPERS_OF_TWO};

/// What a command turns out to run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ran<'a> {
    /// A test runner.
    Tests(Family),
    /// Another shell text.
    Text(&'a str),
    /// What the project's files explain.
    Project(Named),
    /// No tests.
    Nothing,
}

/// Words of the shell's own language before a command.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "while", "until", "do", "for", "case", "select", "function", "coproc", "{",
];

/// Words that end such a piece of language.
const CLOSING: &[&str] = &["fi", "done", "esac", "}"];

/// The command without the words of the shell's language, and the word that makes its exit code somebody else's.
pub(super) fn without_keywords(words: &[String]) -> (&[String], Option<&'static str>) {
    let mut keyword = None;
    let mut rest = words;
    while let Some((first, others)) = rest.split_first() {
        if let Some(known) = KEYWORDS.iter().find(|known| *known == first) {
            // A group is only brackets.
            keyword = keyword.or((*known != "{").then_some(*known));
            rest = others;
        } else if CLOSING.contains(&first.as_str()) {
            rest = others;
        } else {
            break;
        }
    }
    (rest, keyword)
}

/// What a command runs, looking through everything that only runs something else.
pub(super) fn ran<'a>(words: &'a [String], fed: Option<&'a str>) -> Ran<'a> {
    let mut words = words;
    // Each round takes at least one word away.
    loop {
        while words.first().is_some_and(|first| is_assignment(first)) {
            words = &words[1..];
        }
        let Some((first, rest)) = words.split_first() else { return Ran::Nothing };
        let program = first.rsplit('/').next().unwrap_or(first);
        if let Some((_, values, own)) = WRAPPERS.iter().find(|(name, ..)| *name == program) {
            words = behind(rest, values, *own);
            continue;
        }
        let two = WRAPPERS_OF_TWO.iter().find(|(name, second, _)| {
            *name == program && rest.first().is_some_and(|word| second.contains(&word.as_str()))
        });
        if let Some((_, _, values)) = two {
            words = behind(&rest[1..], values, usize::from(program == "direnv"));
            continue;
        }
        return match program {
            "bash" | "sh" | "zsh" | "dash" | "ksh" => shell(rest, fed),
            "eval" => rest.first().map_or(Ran::Nothing, |text| Ran::Text(text)),
            "docker" | "podman" | "docker-compose" => match container(program, rest) {
                Some(inner) => {
                    words = inner;
                    continue;
                }
                None => Ran::Nothing,
            },
            "coverage" if rest.first().is_some_and(|word| word == "run") => {
                python(behind(&rest[1..], &["--source", "--rcfile", "--omit"], 0), &rest[1..])
            }
            _ => by_table(first, program, rest),
        };
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
    })
}

/// What comes behind options and a few words of one's own.
fn behind<'a>(words: &'a [String], values: &[&str], own: usize) -> &'a [String] {
    let (mut rest, mut own) = (words, own);
    while let Some((first, others)) = rest.split_first() {
        if first == "--" {
            return others;
        } else if values.contains(&first.as_str()) {
            rest = others.get(1..).unwrap_or_default();
        } else if first.starts_with('-') && first.len() > 1 {
            rest = others;
        } else if own > 0 {
            own -= 1;
            rest = others;
        } else {
            return rest;
        }
    }
    rest
}

/// `bash -lc TEXT`, `sh FILE`, or a shell that is fed.
fn shell<'a>(words: &'a [String], fed: Option<&'a str>) -> Ran<'a> {
    let mut rest = words;
    let mut text = false;
    while let Some((first, others)) = rest.split_first().filter(|(first, _)| first.starts_with(['-', '+'])) {
        text |= !first.starts_with("--") && first.contains('c');
        rest = others;
        if first.ends_with('o') && !first.starts_with("--") {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    match (rest.first(), text, fed) {
        (Some(inner), true, _) => Ran::Text(inner),
        (Some(file), false, _) => script_file(file, true),
        (None, _, Some(fed)) => Ran::Text(fed),
        (None, _, None) => Ran::Nothing,
    }
}

fn script_file(path: &str, shell: bool) -> Ran<'_> {
    let tests = is_test_name(path);
    Ran::Project(Named { what: What::File(path.to_owned(), shell), tests, table: false })
}

/// `docker exec NAME …`, `docker compose run SERVICE …`.
fn container<'a>(program: &str, words: &'a [String]) -> Option<&'a [String]> {
    let values = &["-e", "--env", "-u", "--user", "-w", "--workdir", "-v", "--volume", "--name", "-f", "-p"];
    let mut rest = words;
    if program != "docker-compose" && rest.first()? == "compose" {
        rest = behind(&rest[1..], values, 0);
    }
    let runs = matches!(rest.first()?.as_str(), "exec" | "run");
    runs.then(|| behind(&rest[1..], values, 1))
}

fn by_table<'a>(written: &'a str, program: &str, rest: &'a [String]) -> Ran<'a> {
    if rest.iter().any(|word| SHOWS_ONLY.contains(&word.as_str())) {
        return Ran::Nothing;
    }
    let base = program.trim_end_matches(".exe").trim_end_matches(".cmd");
    let python_like = base.starts_with("python") || base == "py" || base == "pypy3";
    // `$(PYTHON) -m pytest` in a Makefile.
    let module = base.starts_with('$') && rest.first().is_some_and(|word| word == "-m");
    if python_like || module {
        return python(rest, rest);
    }
    match base {
        "make" | "gmake" => return make(rest),
        "just" => return just(rest),
        "npm" | "pnpm" | "yarn" => return package(base, rest),
        "bun" if rest.first().is_some_and(|word| word == "run") => return package(base, rest),
        "node" | "nodejs" | "tsx" | "ts-node" => return interpreted(rest, &["--test"]),
        "ruby" | "php" | "perl" | "lua" | "Rscript" => return interpreted(rest, &[]),
        "artisan" if rest.first().is_some_and(|word| word == "test") => return Ran::Tests(Family::Php),
        "zig" if ["build", "test"].iter().all(|word| rest.iter().any(|other| other == word)) => {
            return Ran::Tests(Family::Any);
        }
        _ => {}
    }
    let known = RUNNERS.iter().find(|runner| is_runner(runner, base, rest));
    if let Some((name, words, family)) = known {
        // `cargo nextest list`, `cargo llvm-cov report`: their second word says what they do.
        let second = rest.iter().skip_while(|word| !words.contains(&word.as_str())).nth(1);
        let shows =
            second.is_some_and(|word| matches!(word.as_str(), "list" | "report" | "show-config" | "clean"));
        return if *name == "cargo" && shows { Ran::Nothing } else { Ran::Tests(*family) };
    }
    if written.contains('/') { script_file(written, false) } else { Ran::Nothing }
}

/// Whether a runner is what the words say: by its name, or by the word that comes first, or by one of its goals.
fn is_runner((name, words, _): &(&str, &[&str], Family), program: &str, rest: &[String]) -> bool {
    let goals = if OF_GOALS.contains(name) { 8 } else { 1 };
    let goal =
        |word: &String| words.iter().any(|known| word == known || word.ends_with(&format!(":{known}")));
    let plain = rest.iter().filter(|word| !word.starts_with(['-', '+']));
    *name == program
        && (words.is_empty()
            || plain.take(goals).any(goal)
            || rest.iter().any(|word| word.starts_with('-') && words.contains(&word.as_str())))
}

/// Python with its own arguments.
fn python<'a>(rest: &'a [String], all: &'a [String]) -> Ran<'a> {
    if let Some(at) = all.iter().position(|word| word == "-m") {
        let inner = all.get(at + 2..).unwrap_or_default();
        return match all.get(at + 1).map(String::as_str) {
            Some("pytest") => Ran::Tests(Family::Pytest),
            Some("unittest" | "nose2" | "twisted.trial" | "doctest") => Ran::Tests(Family::Unittest),
            Some("tox" | "nox" | "behave" | "robot" | "ward") => Ran::Tests(Family::Any),
            Some("coverage") => python(behind(inner.get(1..).unwrap_or_default(), &[], 0), inner),
            _ => Ran::Nothing,
        };
    }
    let inline = all.iter().take_while(|word| word.starts_with('-')).any(|word| word.starts_with("-c"));
    let rest = behind(rest, &["-W", "-X"], 0);
    match rest {
        _ if inline => Ran::Nothing,
        [file, test, ..] if file.ends_with("manage.py") && test == "test" => Ran::Tests(Family::Unittest),
        [file, test, ..] if file.ends_with("setup.py") && test == "test" => Ran::Tests(Family::Unittest),
        [file, ..] => script_file(file, false),
        [] => Ran::Nothing,
    }
}

/// A program that runs a file, or has a runner of its own behind an option.
fn interpreted<'a>(rest: &'a [String], runs: &[&str]) -> Ran<'a> {
    if rest.iter().any(|word| runs.contains(&word.as_str())) {
        return Ran::Tests(Family::Any);
    }
    let inline = ["-e", "-r", "-p", "--eval", "--print"];
    if rest.iter().take_while(|word| word.starts_with('-')).any(|word| inline.contains(&word.as_str())) {
        return Ran::Nothing;
    }
    match behind(rest, &["-I", "-r", "--require", "--import", "--loader"], 0) {
        [file, test, ..] if file == "artisan" && test == "test" => Ran::Tests(Family::Php),
        [file, more @ ..] => {
            // `node node_modules/.bin/jest`, `php vendor/bin/phpunit`.
            let base = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".js");
            match RUNNERS.iter().find(|runner| is_runner(runner, base, more)) {
                Some((_, _, family)) => Ran::Tests(*family),
                None => script_file(file, false),
            }
        }
        [] => Ran::Nothing,
    }
}

fn make(rest: &[String]) -> Ran<'_> {
    if rest
        .iter()
        .any(|word| matches!(word.as_str(), "-n" | "--just-print" | "--recon" | "-q" | "--question"))
    {
        return Ran::Nothing;
    }
    let (mut folder, mut targets, mut at) = (String::new(), Vec::new(), 0);
    while let Some(word) = rest.get(at) {
        match word.as_str() {
            "-C" | "--directory" => {
                folder = rest.get(at + 1).cloned().unwrap_or_default();
                at += 1;
            }
            "-f" | "-j" | "--file" if rest.get(at + 1).is_some_and(|next| !next.starts_with('-')) => {
                // `-j test` has no number.
                at += usize::from(word != "-j" || rest[at + 1].parse::<u32>().is_ok());
            }
            word if word.starts_with('-') || is_assignment(word) => {}
            word => targets.push(word.to_owned()),
        }
        at += 1;
    }
    let tests = targets.iter().any(|target| is_test_name(target));
    Ran::Project(Named { what: What::Make(folder, targets), tests, table: tests })
}

fn just(rest: &[String]) -> Ran<'_> {
    let targets: Vec<String> = behind(rest, &["-f", "--justfile", "-d"], 0).to_vec();
    let tests = targets.first().is_some_and(|target| is_test_name(target));
    Ran::Project(Named { what: What::Just(targets), tests, table: tests })
}

/// `npm test`, `pnpm run test:unit`, `yarn vitest`.
fn package<'a>(program: &str, rest: &'a [String]) -> Ran<'a> {
    let rest = behind(rest, &["--prefix", "-w", "--workspace", "-C", "--filter", "--cwd"], 0);
    let (script, more) = match rest {
        [first, script, more @ ..]
            if matches!(first.as_str(), "run" | "run-script" | "rum" | "workspace") =>
        {
            (script.as_str(), more)
        }
        [first, more @ ..] if matches!(first.as_str(), "test" | "t" | "tst") => ("test", more),
        [first, more @ ..] if program != "npm" => (first.as_str(), more),
        _ => return Ran::Nothing,
    };
    let runner = RUNNERS.iter().find(|runner| program != "npm" && is_runner(runner, script, more));
    if let Some((_, _, family)) = runner {
        return Ran::Tests(*family);
    }
    let tests = is_test_name(script);
    Ran::Project(Named { what: What::Package(script.to_owned()), tests, table: script == "test" })
}

/// What a command beside a runner may do to what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Adds {
    /// It writes nothing, nothing that looks like a result, or all or the end of what it reads.
    Nothing,
    /// It leaves something out.
    Selects,
    /// It may write anything.
    Anything,
}

pub(super) fn adds(words: &[String], piped: bool) -> Adds {
    let Some((program, rest)) = words.split_first() else { return Adds::Nothing };
    let options = || rest.iter().all(|word| word.starts_with('-') || word.parse::<u32>().is_ok());
    match program.as_str() {
        word if is_assignment(word) && words.len() == 1 => Adds::Nothing,
        word if SILENT.contains(&word) => Adds::Nothing,
        "tail" | "cat" if piped && options() => Adds::Nothing,
        "tee" if piped => Adds::Nothing,
        "grep" | "egrep" | "rg" | "head" | "less" if piped => Adds::Selects,
        "source" | "." if rest.first().is_some_and(|file| file.ends_with("activate")) => Adds::Nothing,
        "echo" | "printf" if rest.iter().all(|word| is_harmless(word)) => Adds::Nothing,
        word => {
            let second = rest.first().map(String::as_str).unwrap_or_default();
            let builds = BUILDERS.iter().any(|(name, words)| *name == word && words.contains(&second));
            if builds { Adds::Nothing } else { Adds::Anything }
        }
    }
}

/// Whether a word that is printed cannot be taken for a result: no number but an exit code, and no verdict.
fn is_harmless(word: &str) -> bool {
    let word = word.replace("$?", "").replace("${PIPESTATUS[0]}", "").to_ascii_lowercase();
    let verdict = ["pass", "fail", "ok", "error", "test"].iter().any(|verdict| word.contains(verdict));
    !word.contains(|c: char| c.is_ascii_digit() || c == '$') && !verdict
}

/// Whether a command does nothing but say something.
pub(super) fn is_idle(words: &[String]) -> bool {
    let idle = ["echo", "printf", "true", ":", "exit", "return", "cat", "set", "sleep", "false"];
    words
        .first()
        .is_none_or(|word| idle.contains(&word.as_str()) || (is_assignment(word) && words.len() == 1))
}

/// The same for a line of a script in another language.
pub(super) fn is_idle_line(line: &str) -> bool {
    let line = line.trim();
    let says =
        ["print", "console.log", "puts", "echo", "printf", "sys.exit", "exit", "process.exit", "import sys"];
    line.is_empty()
        || line.starts_with(['#', '/', '"', '\'', '*'])
        || says.iter().any(|word| line.starts_with(word))
}
