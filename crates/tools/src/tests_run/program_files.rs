//! Files of the workspace that are run: scripts, and what launches a runner that is installed there. What a file is called
//! says little; what is in it says what runs.

use posse_protocol::is_test_name;

use super::environment::is_loose;
use super::expand::is_unknown;
use super::judged::{Doubt, Judged, shown};
use super::looked::{Looked, joined};
use super::options::shows_only;
use super::script::read;
use super::shell::ShellState;
use super::table;
use super::{cannot_fail, interpreters};
use crate::runner_family::RunnerFamily;

/// How a file is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// As a program of its own.
    Itself,
    /// By a shell.
    Shell,
    /// By another language's program.
    Language,
}

/// A file that is run as a program.
pub(super) fn run(path: &str, bytes: &[u8], arguments: &[String], shell: &ShellState<'_>) -> Judged {
    judge(path, bytes, By::Itself, "", arguments, shell)
}

/// A file that is given to the program of its language. `begin` is what is set for it, for a shell.
pub(super) fn script(
    file: &str,
    begin: &str,
    is_shell: bool,
    arguments: &[String],
    shell: &ShellState<'_>,
) -> Judged {
    let place = shell.folder.as_ref().filter(|_| !is_unknown(file) && !is_loose(file));
    let Some(place) = place.map(|folder| joined(folder, file)) else {
        let mut judged =
            if is_test_name(file) { Judged::tests(RunnerFamily::Any) } else { Judged::unknown() };
        judged.distrust(|| file.to_owned());
        return judged;
    };
    match shell.files.look(&place) {
        Looked::File { bytes, .. } => {
            judge(&place, &bytes, if is_shell { By::Shell } else { By::Language }, begin, arguments, shell)
        }
        // Installed elsewhere: `node /usr/lib/node_modules/jest/bin/jest.js`.
        Looked::Missing | Looked::Leads(_) if !is_shell => {
            table::run(runner_name(file), arguments, shell).unwrap_or_else(Judged::unknown)
        }
        _ => Judged::unknown(),
    }
}

/// The name that a runner's file stands for.
fn runner_name(path: &str) -> &str {
    let base = path.rsplit('/').next().unwrap_or(path);
    [".js", ".cjs", ".mjs", ".phar"].iter().find_map(|end| base.strip_suffix(end)).unwrap_or(base)
}

fn judge(
    path: &str,
    bytes: &[u8],
    by: By,
    begin: &str,
    arguments: &[String],
    shell: &ShellState<'_>,
) -> Judged {
    let text = std::str::from_utf8(bytes).ok().filter(|_| !bytes.starts_with(b"\x7fELF"));
    let Some(text) = text else {
        let mut judged = binary(path, arguments, shell);
        judged.explained_by(path);
        return judged;
    };
    let first = text.lines().next().unwrap_or_default();
    let line = first.strip_prefix("#!").unwrap_or_default();
    let mut shebang = line.split_whitespace();
    let program = shebang.find(|word| !word.ends_with("/env") && !word.starts_with('-'));
    let base = program.map(|program| program.rsplit('/').next().unwrap_or(program));
    let odd = by == By::Itself && program.is_some_and(|program| !is_interpreter(program, shell));
    let is_shell = match by {
        By::Shell => true,
        By::Itself => base.is_none_or(|base| SHELLS.contains(&base)),
        By::Language => false,
    };
    let mut judged = if is_shell {
        let set = if by == By::Itself && line.contains(" -e") { "set -e\n" } else { "" };
        shell_script(path, &format!("{begin}{set}{text}"), arguments, shell)
    } else {
        other_script(path, text, arguments, shell)
    };
    if odd {
        judged.distrust(|| first.to_owned());
    }
    judged.explained_by(path);
    judged
}

const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh"];

/// Whether the program of a first line is one that runs files, and the system's.
fn is_interpreter(program: &str, shell: &ShellState<'_>) -> bool {
    let base = program.rsplit('/').next().unwrap_or(program);
    let known = SHELLS.contains(&base)
        || base.starts_with("python")
        || matches!(
            base,
            "node"
                | "ruby"
                | "php"
                | "perl"
                | "deno"
                | "bun"
                | "tsx"
                | "ts-node"
                | "lua"
                | "Rscript"
                | "julia"
                | "escript"
        );
    let ours =
        program.contains('/') && matches!(shell.files.look(program), Looked::File { .. } | Looked::Closed);
    known && !ours && !is_loose(program) && !program.starts_with('.')
}

fn shell_script(path: &str, text: &str, arguments: &[String], shell: &ShellState<'_>) -> Judged {
    let inner = shell.nested(text, Some(arguments.to_vec()), Some(path.to_owned()));
    if inner.family.is_some() {
        return inner;
    }
    let runner = runner_name(path);
    if let Some(mut judged) = table::run(runner, arguments, shell) {
        let launches = ["gradle-wrapper.jar", "GradleWrapperMain", "maven-wrapper", "MavenWrapperMain"];
        if inner.idle {
            return Judged { output: super::judged::Worth::Nothing, ..inner };
        } else if !launches.iter().any(|sign| text.contains(sign)) {
            judged.distrust(|| path.to_owned());
        }
        return judged;
    }
    if !is_test_name(path) || inner.idle {
        return Judged { output: super::judged::Worth::Nothing, ..inner };
    }
    let mut judged = by_name(arguments);
    if read(text, 0).is_some_and(|script| cannot_fail::script(&script)) {
        judged.hide(|| "a script that cannot fail".to_owned());
    }
    if inner.unsure {
        judged.hide(|| "$…".to_owned());
    }
    judged.work = inner.work;
    judged
}

/// A script of another language than the shell's.
fn other_script(path: &str, text: &str, arguments: &[String], shell: &ShellState<'_>) -> Judged {
    let idle = text.lines().all(is_idle_line);
    let runner = runner_name(path);
    if let Some(mut judged) = table::run(runner, arguments, shell).filter(|_| !idle) {
        if !launches(runner, path, text) {
            judged.distrust(|| path.to_owned());
        }
        return judged;
    }
    if is_test_name(path) && !idle { by_name(arguments) } else { Judged::unknown() }
}

fn binary(path: &str, arguments: &[String], shell: &ShellState<'_>) -> Judged {
    let runner = runner_name(path);
    if let Some(judged) =
        is_installed(path).then(|| interpreters::run(runner, arguments, None, &mut shell.clone()))
    {
        if let Some(judged) = judged.or_else(|| table::run(runner, arguments, shell)) {
            return judged;
        }
    } else if let Some(mut judged) = table::run(runner, arguments, shell) {
        judged.distrust(|| path.to_owned());
        return judged;
    }
    if is_test_name(path) { by_name(arguments) } else { Judged::unknown() }
}

/// A file that is about tests by its name. Options that nobody knows may make it do something else.
fn by_name(arguments: &[String]) -> Judged {
    if arguments.iter().any(|word| shows_only(word)) {
        return Judged::unknown();
    }
    let mut judged = Judged { by_name: true, ..Judged::tests(RunnerFamily::Any) };
    let plain = ["-v", "-q", "-x", "--verbose", "--quiet"];
    let option = arguments.iter().find(|word| word.starts_with('-') && !plain.contains(&word.as_str()));
    judged.doubt(option.map(|word| Doubt::Strange(shown(word))));
    judged
}

/// Where packages are installed.
fn is_installed(path: &str) -> bool {
    let folders =
        ["node_modules", "vendor", ".venv", "venv", "env", ".tox", ".nox", "site-packages", ".bundle"];
    path.split('/').any(|part| folders.contains(&part))
}

/// Whether a file does no more than start the runner that it is called after.
fn launches(runner: &str, path: &str, text: &str) -> bool {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let prints =
        ["print", "puts", "console.", "echo", "process.stdout", "sys.stdout", "STDOUT", "fwrite", "os.write"];
    let ends = ["exit(0)", "exit 0", "_exit", "exit!"];
    if lines().any(|line| {
        prints.iter().any(|word| line.starts_with(word)) || ends.iter().any(|word| line.contains(word))
    }) {
        return false;
    }
    let module = match runner {
        "py.test" => "pytest",
        "nosetests" => "nose",
        "trial" => "twisted",
        other => other,
    };
    let imports = |line: &str| {
        let named = line.strip_prefix("from ").or_else(|| line.strip_prefix("import "));
        named.is_some_and(|rest| rest.split([' ', '.', ',']).next() == Some(module))
    };
    let brings = ["require", "import ", "include", "load ", "autoload"];
    let signs = ["Gem.", "bundler/setup", "rails/commands", "Composer", "autoload"];
    lines().any(imports)
        || (is_installed(path) && lines().any(|line| brings.iter().any(|word| line.contains(word))))
        || signs.iter().any(|sign| text.contains(sign))
}

/// Whether a line of a script in another language than the shell's does nothing but say something.
fn is_idle_line(line: &str) -> bool {
    let line = line.trim();
    let says = [
        "print",
        "console.log",
        "puts",
        "echo",
        "printf",
        "sys.exit",
        "sys.stdout",
        "exit",
        "process.exit",
        "process.stdout",
        "import sys",
        "import os",
        "import time",
        "time.sleep",
        "write(",
        "<?php",
        "$stdout",
        "STDOUT",
        "cat(",
        "use strict",
        "use warnings",
        "'use strict'",
        "\"use strict\"",
    ];
    line.is_empty()
        || line.starts_with(['#', '/', '"', '\'', '*'])
        || says.iter().any(|word| line.starts_with(word))
}
