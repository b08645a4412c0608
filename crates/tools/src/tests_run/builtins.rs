//! The shell's own commands that change what the following ones do.

use posse_protocol::CommandWork;

use super::environment::is_loose;
use super::expand::{is_open, is_unknown};
use super::judged::{Judged, Worth};
use super::looked::{Looked, joined};
use super::script::{Part, ShellScript};
use super::shell::{Over, ShellState, fails_with, written};
use super::word::is_name;

/// What such a command does; none if it is not one of them.
pub(super) fn run(program: &str, rest: &[String], shell: &mut ShellState<'_>) -> Option<Judged> {
    match program {
        "cd" | "pushd" => cd(rest, shell),
        "popd" => shell.folder = None,
        "set" => set(rest, shell),
        "shopt" if rest.iter().any(|word| word == "extdebug") => distrust(shell, "shopt"),
        "shopt" => {}
        "exit" | "return" | "logout" => {
            let fails = rest.first().is_some_and(|code| fails_with(code) && code != "$?");
            shell.over = Over::Yes { fails, returns: program == "return" };
        }
        "export" | "declare" | "typeset" | "readonly" | "local" => declare(rest, shell),
        "alias" => {
            let names = rest.iter().filter_map(|word| word.split_once('='));
            shell.strange.extend(names.map(|(name, _)| name.to_owned()));
        }
        "hash" if rest.iter().any(|word| word.starts_with("-p")) => {
            shell.strange.extend(rest.iter().cloned());
        }
        "enable" if rest.iter().any(|word| word.starts_with('-')) => distrust(shell, "enable"),
        "unset" => rest.iter().for_each(|name| shell.assign(name, Some(String::new()))),
        "read" | "mapfile" | "readarray" | "getopts" => {
            let names = rest.iter().filter(|word| is_name(word));
            names.for_each(|name| shell.assign(name, None));
        }
        "shift" => {
            let known = shell.arguments.as_mut().filter(|_| rest.is_empty());
            shell.arguments = known.map(|all| all.iter().skip(1).cloned().collect());
        }
        "trap" => return Some(trap(rest, shell)),
        "eval" => return Some(eval(&rest.join(" "), shell)),
        "source" | "." => return Some(source(rest, shell)),
        _ => return None,
    }
    Some(Judged { work: vec![CommandWork::Look], ..Judged::NOTHING })
}

fn distrust(shell: &mut ShellState<'_>, by: &str) {
    shell.distrusted = shell.distrusted.take().or(Some(by.to_owned()));
}

fn cd(rest: &[String], shell: &mut ShellState<'_>) {
    let target = rest.iter().find(|word| !matches!(word.as_str(), "-P" | "-L" | "--"));
    shell.folder = match (target, &shell.folder) {
        (Some(target), Some(folder))
            if !is_unknown(target) && target != "-" && !target.starts_with(['$', '~']) =>
        {
            Some(joined(folder, target))
        }
        _ => None,
    };
}

fn set(rest: &[String], shell: &mut ShellState<'_>) {
    let mut at = 0;
    while let Some(word) = rest.get(at) {
        at += 1;
        let (on, letters) = match word.strip_prefix('-') {
            Some("-") => {
                shell.arguments = rest[at..].iter().all(|word| !is_open(word)).then(|| rest[at..].to_vec());
                return;
            }
            Some(letters) => (true, letters),
            None => match word.strip_prefix('+') {
                Some(letters) => (false, letters),
                None => {
                    shell.arguments = None;
                    return;
                }
            },
        };
        for letter in letters.chars() {
            let option = match letter {
                'e' => "errexit",
                'n' => "noexec",
                't' => "onecmd",
                'o' => {
                    at += 1;
                    rest.get(at - 1).map_or("", String::as_str)
                }
                _ => "",
            };
            switch(option, on, shell);
        }
    }
}

fn switch(option: &str, on: bool, shell: &mut ShellState<'_>) {
    match option {
        "errexit" => shell.errexit = on,
        "pipefail" => shell.pipefail = on,
        // Nothing that follows is run.
        "noexec" | "onecmd" if on => shell.over = Over::Yes { fails: false, returns: false },
        _ => {}
    }
}

fn declare(rest: &[String], shell: &mut ShellState<'_>) {
    if rest.iter().any(|word| word.starts_with('-') && word.contains('f')) {
        return distrust(shell, "export -f");
    }
    for word in rest {
        if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
            let known = !is_open(value) && !value.contains(super::expand::SOME);
            shell.assign(name, known.then(|| value.to_owned()));
        }
    }
}

/// What happens at the end can change how it ends, and print something.
fn trap(rest: &[String], shell: &mut ShellState<'_>) -> Judged {
    let words: Vec<&String> = rest.iter().filter(|word| *word != "--").collect();
    let Some((action, signals)) = words.split_first() else { return Judged::NOTHING };
    if signals.iter().any(|signal| matches!(signal.as_str(), "DEBUG" | "ERR" | "RETURN" | "SIGCHLD" | "CHLD"))
    {
        distrust(shell, "trap");
    }
    let ends = |text: &str| ["exit", "exec", "kill", "return"].iter().any(|word| text.contains(word));
    let first = action.split_whitespace().next().unwrap_or_default();
    let body = shell.functions.get(first).cloned();
    let in_body =
        body.as_ref().is_some_and(|body| any_command(body, &|words| words.first().is_some_and(|w| ends(w))));
    // A function that comes later is not known here.
    let later =
        body.is_none() && is_name(first) && !action.contains(' ') && !matches!(first, "true" | "wait");
    if ends(action) || is_unknown(action) || in_body || later {
        distrust(shell, "trap");
    }
    let said = shell.nested(action, None, None);
    Judged {
        output: if action.is_empty() || *action == "-" { Worth::Whole } else { said.output },
        ..Judged::NOTHING
    }
}

/// Whether any command in it is one of these.
pub(super) fn any_command(part: &Part, is: &dyn Fn(&[String]) -> bool) -> bool {
    let any = |script: &ShellScript| {
        script.steps.iter().any(|step| step.parts.iter().any(|part| any_command(part, is)))
    };
    match part {
        Part::Simple(_) => written(part).is_some_and(|words| is(&words)),
        Part::Group { script, .. } => any(script),
        Part::Maybe { scripts, .. } => scripts.iter().any(any),
        Part::Function { body, .. } => any_command(body, is),
        Part::Condition => false,
    }
}

fn eval(text: &str, shell: &mut ShellState<'_>) -> Judged {
    if !is_unknown(text)
        && let Some(judged) = shell.inline(text)
    {
        return judged;
    }
    distrust(shell, "eval");
    super::shell::not_read(text)
}

/// A file that is read into this shell. That of a virtual environment is known; it puts its programs first.
fn source(rest: &[String], shell: &mut ShellState<'_>) -> Judged {
    let Some(file) = rest.first() else { return Judged::NOTHING };
    let place = shell.folder.as_ref().map(|folder| joined(folder, file)).filter(|_| !is_unknown(file));
    let activates = file.ends_with("bin/activate") || file == "activate";
    let Some(place) = place else {
        distrust(shell, file);
        return Judged::unknown();
    };
    match shell.files.look(&place) {
        Looked::File { bytes, .. } => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            if activates && is_virtual_environment(&text) {
                let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
                shell.path.insert(0, folder.to_owned());
                return Judged::NOTHING;
            }
            let file = shell.file.replace(place.clone());
            let judged = shell.inline(&text);
            shell.file = file;
            judged.unwrap_or_else(|| {
                distrust(shell, &place);
                Judged::unknown()
            })
        }
        Looked::Missing if activates && !is_loose(file) => Judged::NOTHING,
        Looked::Missing
            if matches!(file.as_str(), "/etc/profile" | "~/.bashrc" | "~/.profile" | "$HOME/.cargo/env") =>
        {
            Judged::NOTHING
        }
        _ => {
            distrust(shell, file);
            Judged::unknown()
        }
    }
}

/// Whether a text does no more than the one that `venv` writes: its own variables, its own folder first.
fn is_virtual_environment(text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let paths = lines().filter(|line| line.contains("PATH=") && !line.contains("_PATH="));
    let sets_own = |line: &str| line.contains("VIRTUAL_ENV") || line.contains("_OLD_VIRTUAL_PATH");
    let defines =
        lines().filter(|line| line.contains("()") || line.contains("() {") || line.starts_with("function "));
    let aliases = lines().filter(|line| line.starts_with("alias "));
    let odd = ["eval", "exec", "trap", "source ", "LD_PRELOAD", "BASH_ENV"];
    text.contains("VIRTUAL_ENV=")
        && paths.into_iter().all(sets_own)
        && defines.into_iter().all(|line| line.starts_with("deactivate") || line.starts_with("pydoc"))
        && aliases.into_iter().all(|line| line.contains("pydoc"))
        && !lines().any(|line| odd.iter().any(|word| line.starts_with(word)))
}
