//! One command: what it is that runs, looking through everything that only runs something else.

use posse_protocol::CommandWork;

use super::builtins;
use super::environment::is_loose;
use super::expand::{self, is_open, is_unknown};
use super::judged::{Doubt, Judged, Worth, shown};
use super::looked::{Looked, joined};
use super::script::{Fed, ShellScript, SimpleCommand};
use super::shell::{ShellState, judge};
use super::table;
use super::word::{ShellWord, WordPiece};
use super::wrappers::{self, Behind};
use super::{interpreters, program_files, project, work};
use crate::limits::TEST_WRAPPERS_MAX;
use crate::runner_family::RunnerFamily;

/// What a command is fed, if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandInput {
    Text(String),
    File(String),
}

/// One command as it is written. `piped` is whether it reads what another one writes.
pub(super) fn simple(simple: &SimpleCommand, shell: &mut ShellState<'_>, piped: bool) -> Judged {
    let mut all = Judged::NOTHING;
    let assigned = simple.assigned.iter().map(|(_, word)| word);
    for script in assigned.chain(&simple.words).flat_map(runs) {
        all.add(within(script, shell, Worth::Whole));
    }
    for script in simple.files.iter().flat_map(runs) {
        all.add(within(script, shell, Worth::Nothing));
    }
    if simple.words.is_empty() {
        for (name, word) in &simple.assigned {
            shell.assign(name, expand::value(word, shell));
        }
        return all;
    }
    let written = shell.written_by();
    led_to(simple, shell);
    let words = expand::words(&simple.words, shell);
    let input = simple.fed.as_ref().and_then(|fed| input(fed, shell));
    if simple.assigned.is_empty() {
        all.add(run(&words, input.as_ref(), shell, piped));
        all.after(written, || work::writes(&words), shell);
        return all;
    }
    // What is assigned before a command is for that command alone.
    let before = shell.clone();
    for (name, word) in &simple.assigned {
        shell.assign(name, expand::value(word, &before));
    }
    let keeps = words.first().is_some_and(|program| {
        matches!(program.as_str(), "eval" | "source" | "." | "export")
            || shell.functions.contains_key(program)
    });
    all.add(run(&words, input.as_ref(), shell, piped));
    all.after(written, || work::writes(&words), shell);
    if !keeps {
        shell.variables = before.variables;
        (shell.path, shell.distrusted, shell.doubted) = (before.path, before.distrusted, before.doubted);
    }
    all
}

/// Takes in the files that a command writes to by `>`.
fn led_to(simple: &SimpleCommand, shell: &ShellState<'_>) {
    let reads = match &simple.fed {
        Some(Fed::File(word)) => Some(word),
        _ => None,
    };
    for word in simple.files.iter().filter(|word| Some(*word) != reads) {
        let place = expand::value(word, shell).unwrap_or_default();
        let number = !place.is_empty() && place.chars().all(|c| c.is_ascii_digit() || c == '-');
        if !number && !is_loose(&place) {
            shell.writes(&format!("> {place}"));
        }
    }
}

fn runs(word: &ShellWord) -> impl Iterator<Item = &ShellScript> {
    word.pieces.iter().filter_map(|piece| match piece {
        WordPiece::Runs { script, .. } => Some(script),
        _ => None,
    })
}

/// What runs within a word: nobody sees its exit code, and its output goes into the word, or wherever a file leads.
fn within(script: &ShellScript, shell: &ShellState<'_>, output: Worth) -> Judged {
    let mut judged = judge(script, &mut shell.clone());
    judged.hide(|| "$(…)".to_owned());
    judged.output = if judged.family.is_some() { Worth::Nothing } else { output };
    judged.idle = true;
    judged
}

fn input(fed: &Fed, shell: &ShellState<'_>) -> Option<CommandInput> {
    let known = |word: &ShellWord| expand::value(word, shell).filter(|text| !is_unknown(text));
    match fed {
        Fed::Text(text) => Some(CommandInput::Text(text.clone())),
        Fed::Word(word) => known(word).map(CommandInput::Text),
        Fed::File(word) => known(word).map(CommandInput::File),
        Fed::Unknown => None,
    }
}

/// A command by its words.
pub(super) fn run(
    words: &[String],
    input: Option<&CommandInput>,
    shell: &mut ShellState<'_>,
    piped: bool,
) -> Judged {
    let mut judged = dispatch(words, input, shell, piped);
    if let Some(by) = &shell.distrusted {
        judged.distrust(|| by.clone());
    }
    judged.doubt(shell.doubted.as_ref().map(|by| Doubt::Strange(shown(by))));
    judged
}

fn dispatch(
    words: &[String],
    input: Option<&CommandInput>,
    shell: &mut ShellState<'_>,
    piped: bool,
) -> Judged {
    let Some((first, rest)) = words.split_first() else { return Judged::NOTHING };
    if is_unknown(first) || first.contains(['*', '?', '$']) {
        return strange_program(first, rest, shell);
    }
    if let Some(body) = shell.functions.get(first).cloned().filter(|_| !shell.strange.contains(first)) {
        return shell.call(&body, rest);
    } else if shell.strange.contains(first) {
        return Judged::unknown();
    }
    if let Some(judged) = builtins::run(first, rest, shell) {
        return judged;
    }
    let program = match located(first, shell) {
        Located::File(path, bytes) => return program_files::run(&path, &bytes, rest, shell),
        Located::Leads(target) => target.rsplit('/').next().unwrap_or_default().to_owned(),
        Located::Named => first.rsplit('/').next().unwrap_or(first).to_owned(),
        Located::Nowhere => {
            let base = first.rsplit('/').next().unwrap_or(first).to_owned();
            let mut judged = named(&base, rest, input, shell, piped);
            judged.distrust(|| first.clone());
            return judged;
        }
    };
    let mut judged = named(&program, rest, input, shell, piped);
    if judged.family.is_some() && rest.iter().any(|word| is_open(word)) {
        judged.doubt(Some(Doubt::Strange("$…".to_owned())));
    }
    judged
}

/// A program by its own name, wherever it is.
fn named(
    program: &str,
    rest: &[String],
    input: Option<&CommandInput>,
    shell: &mut ShellState<'_>,
    piped: bool,
) -> Judged {
    if let Some(behind) = wrappers::behind(program, rest) {
        return wrapped(program, behind, input, shell, piped);
    }
    if let Some(judged) = interpreters::run(program, rest, input, shell) {
        return judged;
    }
    if let Some(judged) = project::run(program, rest, shell) {
        return judged;
    }
    if let Some(mut judged) = table::run(program, rest, shell) {
        let works = work::works(program, rest).into_iter().filter(|work| *work != CommandWork::Other);
        works.for_each(|work| judged.does(work));
        return judged;
    }
    work::beside(program, rest, piped)
}

fn wrapped(
    program: &str,
    behind: Behind,
    input: Option<&CommandInput>,
    shell: &mut ShellState<'_>,
    piped: bool,
) -> Judged {
    let Behind { words, assigned, folder, strange, shows, text } = behind;
    if shows {
        return Judged::NOTHING;
    }
    let mut with = shell.clone();
    with.wraps += 1;
    if with.wraps > TEST_WRAPPERS_MAX {
        return Judged::unknown();
    }
    for (name, value) in assigned {
        with.assign(&name, (!is_open(&value)).then_some(value));
    }
    if let Some(folder) = folder {
        with.folder = with.folder.map(|inside| joined(&inside, &folder)).filter(|_| !is_unknown(&folder));
    }
    if let Some(folder) = &with.folder {
        with.path.splice(..0, wrappers::own_folders(program, folder));
    }
    let mut judged = match text {
        // It prints what is set.
        None if words.is_empty() && program == "env" => Judged::unknown(),
        Some(text) => with.nested(&text, None, None),
        None => run(&words, input, &mut with, piped),
    };
    // `command cd x` is still one of this shell.
    if matches!(program, "command" | "builtin") {
        with.wraps = shell.wraps;
        *shell = with;
    } else if program == "exec" && !words.is_empty() {
        shell.over = super::shell::Over::Yes { fails: false, returns: false };
    }
    if let Some(strange) = strange {
        judged.distrust(|| strange);
    }
    judged
}

/// Where the program of a word is.
enum Located {
    /// A file of the workspace.
    File(String, Vec<u8>),
    /// A link of the workspace to a program elsewhere.
    Leads(String),
    /// A program of the system, by its name.
    Named,
    /// Somewhere that anybody may have written to.
    Nowhere,
}

fn located(word: &str, shell: &ShellState<'_>) -> Located {
    let looked = |path: String| match shell.files.look(&path) {
        Looked::File { bytes, .. } => Some(Located::File(path, bytes)),
        Looked::Leads(target) if is_loose(&target) => Some(Located::Nowhere),
        Looked::Leads(target) => Some(Located::Leads(target)),
        Looked::Closed => Some(Located::Nowhere),
        Looked::Missing => None,
    };
    if !word.contains('/') {
        let found = shell.path.iter().find_map(|folder| looked(joined(folder, word)));
        return found.unwrap_or(Located::Named);
    }
    match &shell.folder {
        _ if is_loose(word) => Located::Nowhere,
        None if !word.starts_with(['/', '~']) => Located::Nowhere,
        folder => looked(joined(folder.as_deref().unwrap_or_default(), word)).unwrap_or(Located::Named),
    }
}

/// A program that only running tells. What it is given may be what it runs.
fn strange_program(first: &str, rest: &[String], shell: &ShellState<'_>) -> Judged {
    let mut judged = Judged::unknown();
    let rest = &rest[rest.iter().take_while(|word| is_unknown(word)).count()..];
    let module =
        rest.first().is_some_and(|word| word == "-m") && rest.get(1).is_some_and(|word| word == "pytest");
    let mut inner =
        if module { Judged::tests(RunnerFamily::Pytest) } else { run(rest, None, &mut shell.clone(), false) };
    inner.distrust(|| if is_unknown(first) { "$…".to_owned() } else { first.to_owned() });
    judged.family = inner.family;
    judged.hidden_by = inner.hidden_by;
    judged.unsure = true;
    judged
}

/// The runner that a text seems to name somewhere, where it cannot be read.
pub(super) fn seems_to_test(text: &str) -> Option<RunnerFamily> {
    text.split(['\n', ';', '&', '|', '(', ')', '{', '}']).find_map(|piece| {
        let words = piece.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let from =
            words.iter().position(|word| !matches!(word.as_str(), "if" | "then" | "else" | "do" | "!"))?;
        let (program, rest) = words[from..].split_first()?;
        let known = table::known(program.rsplit('/').next().unwrap_or(program), rest)?;
        known.ok().map(|known| known.family)
    })
}
