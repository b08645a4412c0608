//! What the project's own files call tests: scripts of package.json and composer.json, recipes of a justfile. What they
//! run is what counts; a name counts only where they run something that is not known.

use posse_protocol::is_test_name;
use serde_json::Value;

use super::command::run as run_command;
use super::expand::is_unknown;
use super::judged::{Doubt, Judged, Worth, shown};
use super::looked::joined;
use super::options::shows_only;
use super::script::read;
use super::shell::ShellState;
use super::{cannot_fail, make, wrappers};
use crate::runner_family::RunnerFamily;

/// What such a program does; none if it is not one of them.
pub(super) fn run(program: &str, rest: &[String], shell: &mut ShellState<'_>) -> Option<Judged> {
    match program.trim_end_matches(".cmd") {
        "make" | "gmake" => Some(make::run(rest, shell)),
        "just" => Some(just(rest, shell)),
        program @ ("npm" | "pnpm" | "yarn") => package(program, rest, shell),
        "bun" if rest.first().is_some_and(|word| word == "run") => package("bun", rest, shell),
        "composer" => composer(rest, shell),
        _ => None,
    }
}

/// What the text of something that the project names does. `tests` is whether the name is about tests.
pub(super) fn judge_text(
    text: &str,
    tests: bool,
    inside: &ShellState<'_>,
    arguments: Option<Vec<String>>,
) -> Judged {
    let inner = inside.nested(text, arguments, None);
    if inner.family.is_some() || !tests || inner.idle {
        let output = if inner.family.is_some() { inner.output } else { Worth::Nothing };
        return Judged { output, ..inner };
    }
    // Its name says so, and it does more than say something.
    let mut judged = Judged { by_name: true, ..Judged::tests(RunnerFamily::Any) };
    if read(text, 0).is_some_and(|script| cannot_fail::script(&script)) {
        judged.hide(|| "a script that cannot fail".to_owned());
    }
    if inner.unsure {
        judged.hide(|| "$…".to_owned());
    }
    judged.work = inner.work;
    judged
}

/// A name for tests whose explanation is nowhere to be found.
pub(super) fn by_name() -> Judged {
    Judged { by_name: true, ..Judged::tests(RunnerFamily::Any) }
}

/// A script of package.json that is asked for.
struct Asked {
    script: String,
    more: Vec<String>,
    folder: Option<String>,
    /// Options that are not known, and whether they have other scripts run.
    strange: Option<(String, bool)>,
}

/// `npm test`, `pnpm run test:unit`, `yarn vitest`.
fn package(program: &str, rest: &[String], shell: &mut ShellState<'_>) -> Option<Judged> {
    if rest
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| matches!(word.as_str(), "-v" | "--version" | "-h" | "--help"))
    {
        return Some(Judged::unknown());
    }
    let Asked { script, more, folder, strange } = asked(program, rest, shell)?;
    let mut judged = package_script(program, &script, &more, folder, shell);
    match strange {
        Some((by, true)) => judged.distrust(|| by),
        Some((by, false)) => judged.doubt(Some(Doubt::Strange(shown(&by)))),
        None => {}
    }
    Some(judged)
}

fn asked(program: &str, rest: &[String], shell: &ShellState<'_>) -> Option<Asked> {
    const FLAGS: &str = "-s --silent --quiet -q --color --no-color --if-present --no-audit --bun";
    let mut asked =
        Asked { script: String::new(), more: Vec::new(), folder: shell.folder.clone(), strange: None };
    let (mut at, mut runs) = (0, false);
    while let Some(word) = rest.get(at) {
        at += 1;
        let chosen = !asked.script.is_empty();
        if word == "--" || (chosen && program != "npm") {
            // npm keeps the options before `--` to itself; the others hand on all of them.
            asked.more.extend(rest[at - usize::from(word != "--")..].iter().cloned());
            break;
        } else if word.starts_with('-') {
            let (name, attached) = word.split_once('=').unwrap_or((word, ""));
            let value = if attached.is_empty() {
                rest.get(at).cloned().unwrap_or_default()
            } else {
                attached.to_owned()
            };
            let mut taken = usize::from(attached.is_empty());
            let known = asked.folder.as_deref().filter(|_| !is_unknown(&value));
            match name {
                "--loglevel" => {}
                "-w" | "--workspace" => asked.folder = workspace(&value, asked.folder.as_deref(), shell),
                "--prefix" | "-C" | "--cwd" | "--dir" => {
                    asked.folder = known.map(|folder| joined(folder, &value))
                }
                "--filter" | "-F" | "-r" | "--recursive" | "-ws" | "--workspaces" => {
                    taken *= usize::from(matches!(name, "--filter" | "-F"));
                    asked.strange = Some((word.clone(), true));
                }
                name => {
                    taken = 0;
                    let known = FLAGS.split(' ').any(|flag| flag == name);
                    asked.strange = asked.strange.or((!known).then(|| (word.clone(), false)));
                }
            }
            at += taken;
        } else if chosen {
            asked.more.push(word.clone());
        } else if word == "workspace" {
            asked.folder = workspace(rest.get(at)?, asked.folder.as_deref(), shell);
            at += 1;
        } else if is_run(word) && !runs {
            runs = true;
        } else {
            asked.script =
                if matches!(word.as_str(), "t" | "tst") && !runs { "test".to_owned() } else { word.clone() };
        }
    }
    // Other words are npm's own: `npm install`.
    let own = program == "npm" && !runs && asked.script != "test";
    (!asked.script.is_empty() && !own).then_some(asked)
}

fn is_run(word: &str) -> bool {
    matches!(word, "run" | "run-script" | "rum")
}

/// The folder of a part of the project, by its place or its name.
fn workspace(name: &str, folder: Option<&str>, shell: &ShellState<'_>) -> Option<String> {
    let last = name.rsplit('/').next().unwrap_or(name);
    let places = [name.to_owned(), format!("packages/{last}"), format!("apps/{last}")];
    let places = places.iter().map(|place| joined(folder.unwrap_or_default(), place));
    places.into_iter().find(|place| shell.files.is_there(&joined(place, "package.json")))
}

fn package_script(
    program: &str,
    script: &str,
    more: &[String],
    folder: Option<String>,
    shell: &mut ShellState<'_>,
) -> Judged {
    let tests = is_test_name(script);
    let Some(mut folder) = folder else {
        let mut judged = if tests { by_name() } else { Judged::unknown() };
        judged.distrust(|| program.to_owned());
        return judged;
    };
    // The nearest one above is the one.
    let found = loop {
        let place = joined(&folder, "package.json");
        match shell.files.text(&place) {
            Some(text) => break Some((place, text)),
            None if folder.is_empty() => break None,
            None => folder.truncate(folder.rfind('/').unwrap_or(0)),
        }
    };
    let Some((place, text)) = found else {
        return if script == "test" { by_name() } else { Judged::unknown() };
    };
    let mut inside = shell.within(&folder);
    inside.path.splice(..0, wrappers::own_folders("npm", &folder));
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let text_of = |name: &str| package["scripts"][name].as_str();
    let Some(text) = text_of(script) else {
        // A program that is installed: `yarn jest`.
        inside.wraps += 1;
        let fits = program != "npm" && inside.wraps <= crate::limits::TEST_WRAPPERS_MAX;
        let words = std::iter::once(script.to_owned()).chain(more.iter().cloned()).collect::<Vec<_>>();
        return if fits { run_command(&words, None, &mut inside, false) } else { Judged::unknown() };
    };
    let given = more.iter().filter(|word| *word != "--").map(|word| quoted(word)).collect::<Vec<_>>();
    let mut judged = judge_text(&format!("{text} {}", given.join(" ")), tests, &inside, Some(Vec::new()));
    judged.explained_by(&place);
    super::work::named(script).into_iter().for_each(|work| judged.does(work));
    if judged.by_name && more.iter().any(|word| shows_only(word)) {
        return Judged::unknown();
    }
    for around in [format!("pre{script}"), format!("post{script}")] {
        if let Some(text) = text_of(&around) {
            judged.output = judged.output.max(inside.nested(text, None, None).output);
        }
    }
    judged
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// `composer test`, `composer run-script test`.
fn composer(rest: &[String], shell: &mut ShellState<'_>) -> Option<Judged> {
    let flags = ["-q", "--quiet", "-n", "--no-interaction", "-v", "-vv", "-vvv", "--ansi", "--no-ansi"];
    if rest.iter().take_while(|word| word.starts_with('-')).any(|word| !flags.contains(&word.as_str())) {
        return None;
    }
    let words: Vec<&String> = rest.iter().skip_while(|word| word.starts_with('-')).collect();
    let (script, more) = match words.as_slice() {
        [first, script, more @ ..] if is_run(first) => (*script, more),
        [first, script, more @ ..] if *first == "exec" => {
            let mut inside = shell.clone();
            inside.path.insert(0, joined(shell.folder.as_deref()?, "vendor/bin"));
            inside.wraps += 1;
            let words = std::iter::once(*script).chain(more.iter().copied()).cloned().collect::<Vec<_>>();
            return (inside.wraps < 12).then(|| run_command(&words, None, &mut inside, false));
        }
        [script, more @ ..] => (*script, more),
        [] => return None,
    };
    let place = joined(shell.folder.as_deref()?, "composer.json");
    let tests = is_test_name(script);
    let Some(text) = shell.files.text(&place) else { return tests.then(by_name) };
    let package: Value = serde_json::from_str(&text).unwrap_or_default();
    let lines = match &package["scripts"][script.as_str()] {
        Value::String(line) => vec![line.clone()],
        Value::Array(lines) => lines.iter().filter_map(|line| line.as_str().map(str::to_owned)).collect(),
        _ => return None,
    };
    let line = |line: &String| match line.strip_prefix('@') {
        Some(rest) if rest.starts_with("php ") || rest.starts_with("composer ") => rest.to_owned(),
        Some(rest) => {
            rest.strip_prefix("putenv ").map_or(format!("composer {rest}"), |set| format!("export {set}"))
        }
        None => line.clone(),
    };
    let mut text = lines.iter().map(line).collect::<Vec<_>>().join("\n");
    let given = more.iter().filter(|word| **word != "--").map(|word| quoted(word)).collect::<Vec<_>>();
    text.push_str(&format!(" {}", given.join(" ")));
    let mut inside = shell.clone();
    inside.path.insert(0, joined(shell.folder.as_deref()?, "vendor/bin"));
    let mut judged = judge_text(&format!("set -e\n{text}"), tests, &inside, Some(Vec::new()));
    judged.explained_by(&place);
    Some(judged)
}

/// `just test`.
fn just(rest: &[String], shell: &ShellState<'_>) -> Judged {
    let (mut file, mut at, mut doubt) = (None, 0, None);
    while let Some(word) = rest.get(at).filter(|word| word.starts_with('-')) {
        at += 1;
        match word.as_str() {
            "-q" | "--quiet" | "-v" | "--verbose" | "--yes" | "--no-dotenv" => {}
            "-f" | "--justfile" => {
                file = rest.get(at).cloned();
                at += 1;
            }
            "-n" | "-l" | "-s" | "-e" | "--show" | "--evaluate" | "--summary" | "--dump" | "--choose"
            | "--init" | "--fmt" => {
                return Judged::unknown();
            }
            word if shows_only(word) => return Judged::unknown(),
            word => doubt = Some(Doubt::Strange(shown(word))),
        }
    }
    let Some(target) = rest.get(at) else { return Judged::unknown() };
    let folder = shell.folder.clone().unwrap_or_default();
    let names =
        file.map_or(vec!["justfile".into(), "Justfile".into(), ".justfile".into()], |file| vec![file]);
    let places = names.iter().map(|name: &String| joined(&folder, name));
    let found = places.into_iter().find_map(|place| Some((shell.files.text(&place)?, place)));
    let tests = is_test_name(target);
    let mut judged = match found.as_ref().map(|(text, _)| make::recipe(text, target)) {
        None if tests => by_name(),
        Some(Some(text)) => judge_text(&text, tests, shell, None),
        _ => Judged::unknown(),
    };
    found.iter().for_each(|(_, place)| judged.explained_by(place));
    if shell.folder.is_none() {
        judged.distrust(|| "just".to_owned());
    }
    judged.doubt(doubt);
    judged
}
