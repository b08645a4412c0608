//! Programs that run a text or a file: shells, Python, node and others. Which of their words is the file, and what their
//! options make of it.

use super::command::CommandInput;
use super::judged::{Doubt, Judged};
use super::looked::joined;
use super::program_files;
use super::shell::ShellState;
use super::table;
use crate::runner_family::RunnerFamily;

/// What such a program does; none if it is not one of them.
pub(super) fn run(
    program: &str,
    rest: &[String],
    input: Option<&CommandInput>,
    shell: &mut ShellState<'_>,
) -> Option<Judged> {
    let base = program.trim_end_matches(".exe");
    if matches!(base, "bash" | "sh" | "zsh" | "dash" | "ksh") {
        return Some(a_shell(rest, input, shell));
    }
    let python = base.starts_with("python") || matches!(base, "py" | "pypy" | "pypy3");
    if python {
        return Some(python_run(rest, shell));
    }
    if base == "coverage" {
        let runs = rest.first().is_some_and(|word| word == "run");
        return Some(if runs { measured(&rest[1..], shell) } else { Judged::unknown() });
    }
    let language = LANGUAGES.iter().find(|language| language.names.contains(&base))?;
    Some(interpreted(language, rest, shell))
}

/// `bash -lc TEXT`, `sh FILE`, or a shell that is fed.
fn a_shell(words: &[String], input: Option<&CommandInput>, shell: &ShellState<'_>) -> Judged {
    let (mut at, mut text, mut begin, mut strange) = (0, false, String::new(), None);
    while let Some(word) = words.get(at).filter(|word| word.starts_with(['-', '+']) && word.len() > 1) {
        at += 1;
        match word.as_str() {
            "--login" | "--norc" | "--noprofile" | "--posix" => {}
            "--" => break,
            "--version" | "--help" => return Judged::NOTHING,
            word if word.starts_with("--") => strange = Some(word.to_owned()),
            word => {
                for letter in word[1..].chars() {
                    match letter {
                        'c' => text = true,
                        // It only reads.
                        'n' if word.starts_with('-') => return Judged::NOTHING,
                        'e' | 'u' | 'x' | 'v' | 'l' | 'i' | 's' | 'a' | 'f' | 'h' | 'p' | 'E' => {}
                        'o' | 'O' => {
                            let option = words.get(at).map(String::as_str).unwrap_or_default();
                            if option == "noexec" {
                                return Judged::NOTHING;
                            }
                            begin.push_str(&format!("set {}o {option}\n", &word[..1]));
                            at += 1;
                        }
                        _ => strange = Some(word.to_owned()),
                    }
                }
                if word.contains('e') {
                    begin.push_str(&format!("set {}e\n", &word[..1]));
                }
            }
        }
    }
    let rest = &words[at.min(words.len())..];
    let mut judged = match (rest.split_first(), text, input) {
        (Some((inner, arguments)), true, _) => {
            let arguments = arguments.iter().skip(1).cloned().collect();
            shell.nested(&format!("{begin}{inner}"), Some(arguments), None)
        }
        (Some((file, arguments)), false, _) => program_files::script(file, &begin, true, arguments, shell),
        (None, _, Some(CommandInput::Text(fed))) => {
            shell.nested(&format!("{begin}{fed}"), Some(Vec::new()), None)
        }
        (None, _, Some(CommandInput::File(file))) => program_files::script(file, &begin, true, &[], shell),
        (None, _, None) => Judged::unknown(),
    };
    if let Some(strange) = strange {
        judged.distrust(|| strange);
    }
    judged
}

/// Modules of Python that run tests.
fn module(name: &str) -> Option<RunnerFamily> {
    match name {
        "pytest" => Some(RunnerFamily::Pytest),
        "unittest" | "nose2" | "twisted.trial" | "doctest" => Some(RunnerFamily::Unittest),
        "tox" | "nox" | "behave" | "robot" | "ward" => Some(RunnerFamily::Any),
        _ => None,
    }
}

/// Python with its arguments: options come before what it runs, and what comes behind that is not its own.
fn python_run(words: &[String], shell: &mut ShellState<'_>) -> Judged {
    let (mut at, mut doubt, mut strange) = (0, None, None);
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1;
        match word.as_str() {
            "-m" => {
                let rest = words.get(at..).unwrap_or_default();
                let mut judged = python_module(rest, shell);
                judged.doubt(doubt);
                strange.into_iter().for_each(|by: String| judged.distrust(|| by));
                return judged;
            }
            "-V" | "-VV" | "--version" | "-h" | "--help" | "-?" => return Judged::NOTHING,
            "-W" | "-X" => at += 1,
            // Assertions are left out.
            "-O" | "-OO" => doubt = Some(Doubt::Strange(format!("python {word}"))),
            word if word.starts_with("-c") => return Judged::unknown(),
            word if word.starts_with("-W") || word.starts_with("-X") => {}
            word if word.starts_with("-m") => return Judged::unknown(),
            word if word[1..].chars().all(|letter| "uBsSEIbqvPdR3x".contains(letter)) => {}
            word => strange = Some(format!("python {word}")),
        }
    }
    let Some((file, arguments)) = words.get(at..).and_then(<[String]>::split_first) else {
        return Judged::unknown();
    };
    let test = arguments.first().is_some_and(|word| word == "test");
    let mut judged = match file.rsplit('/').next() {
        Some(name @ ("manage.py" | "setup.py")) if test => {
            let mut judged = table::with_options(RunnerFamily::Unittest, "unittest", &arguments[1..], shell);
            let sign = if name == "manage.py" { "django" } else { "setup" };
            let text = shell.folder.as_ref().and_then(|folder| shell.files.text(&joined(folder, file)));
            if text.is_some_and(|text| !text.contains(sign)) {
                judged.distrust(|| file.clone());
            }
            judged
        }
        _ => program_files::script(file, "", false, arguments, shell),
    };
    judged.doubt(doubt);
    strange.into_iter().for_each(|by: String| judged.distrust(|| by));
    judged
}

/// `-m NAME …`. A module of that name where it runs goes before the real one.
fn python_module(words: &[String], shell: &mut ShellState<'_>) -> Judged {
    let Some((name, rest)) = words.split_first() else { return Judged::unknown() };
    let top = name.split('.').next().unwrap_or(name);
    let here = ["{}.py", "{}/__init__.py", "{}/__main__.py"].map(|file| file.replace("{}", top));
    let shadow = match &shell.folder {
        Some(folder) => here.iter().map(|file| joined(folder, file)).find(|file| shell.files.is_there(file)),
        None => None,
    };
    let mut judged = match (name.as_str(), module(name)) {
        ("coverage", _) if rest.first().is_some_and(|word| word == "run") => measured(&rest[1..], shell),
        (_, Some(family)) => {
            let name = if family == RunnerFamily::Unittest { "unittest" } else { top };
            table::with_options(family, name, rest, shell)
        }
        _ => return super::work::module(name),
    };
    if let Some(shadow) = shadow {
        judged.distrust(|| shadow);
    }
    judged
}

/// `coverage run -m pytest`.
fn measured(words: &[String], shell: &mut ShellState<'_>) -> Judged {
    let (flags, values) = (
        ["-p", "--parallel-mode", "-a", "--append", "--branch", "--timid", "-L", "--pylib", "--quiet", "-q"],
        ["--source", "--rcfile", "--omit", "--include", "--data-file", "--concurrency", "--context"],
    );
    let (mut at, mut strange) = (0, None);
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && *word != "-m") {
        at += 1;
        let name = word.split('=').next().unwrap_or(word);
        if values.contains(&name) {
            at += usize::from(name == word);
        } else if !flags.contains(&name) {
            strange = Some(word.clone());
        }
    }
    let mut judged = python_run(words.get(at..).unwrap_or_default(), shell);
    strange.into_iter().for_each(|by| judged.distrust(|| by));
    judged
}

/// A language whose program runs a file.
struct Language {
    names: &'static [&'static str],
    /// Options that change nothing about what runs; those that end with `*` are beginnings.
    flags: &'static str,
    /// The same with a value.
    values: &'static str,
    /// Options that bring in other code before the file.
    loads: &'static str,
    /// Options with which no file is run, or none of it.
    shows: &'static str,
    /// Options that make it a test runner.
    tests: &'static str,
}

const LANGUAGES: &[Language] = &[
    Language {
        names: &["node", "nodejs", "tsx", "ts-node"],
        flags: "--no-warnings --trace-* --enable-source-maps --expose-gc --max-old-space-size* --stack-trace-limit* \
                --unhandled-rejections* --preserve-symlinks* --experimental-vm-modules --experimental-strip-types \
                --experimental-test-* --test-* --no-experimental* --no-deprecation --throw-deprecation --transpile-only -T --esm",
        values: "-C --conditions --test-name-pattern --test-reporter --test-reporter-destination --test-concurrency",
        loads: "-r --require --import --loader --experimental-loader --env-file*",
        shows: "-e -p --eval --print -pe -c --check -v --version -h --help -i --interactive",
        tests: "--test",
    },
    Language {
        names: &["ruby"],
        flags: "-w -W* -v -d -I* -U -K* --yjit --jit --enable* --disable*",
        values: "-I -C -E",
        loads: "-r*",
        shows: "-c -e --version -h --help -y",
        tests: "",
    },
    Language {
        names: &["php"],
        flags: "-n -q -d*",
        values: "-d -c",
        loads: "",
        shows: "-l -r -v -i -m --version --help -h -a --ini",
        tests: "",
    },
    Language {
        names: &["perl"],
        flags: "-w -W -T -t -I*",
        values: "-I",
        loads: "-M* -m*",
        shows: "-c -e -E -v -V -h",
        tests: "",
    },
    Language {
        names: &["lua", "luajit"],
        flags: "-W",
        values: "",
        loads: "-l*",
        shows: "-e -v -i",
        tests: "",
    },
    Language {
        names: &["Rscript"],
        flags: "--vanilla --no-*",
        values: "",
        loads: "",
        shows: "-e --version --help",
        tests: "",
    },
];

fn interpreted(language: &Language, words: &[String], shell: &mut ShellState<'_>) -> Judged {
    let is = |list: &str, word: &str| {
        list.split_ascii_whitespace().any(|one| match one.strip_suffix('*') {
            Some(begin) => word.starts_with(begin),
            None => one == word,
        })
    };
    let (mut at, mut tests, mut strange) = (0, false, None);
    while let Some(word) = words.get(at).filter(|word| word.starts_with('-') && word.len() > 1) {
        at += 1;
        let name = word.split('=').next().unwrap_or(word);
        if is(language.shows, word) {
            return Judged::unknown();
        } else if is(language.tests, word) {
            tests = true;
        } else if is(language.values, word) {
            at += 1;
        } else if is(language.loads, name) {
            let apart = name == word && !language.loads.contains(&format!("{}*", &word[..2]));
            let value = if apart { words.get(at).cloned() } else { Some(word.clone()) };
            at += usize::from(apart);
            // A package that is installed is the project's own way.
            let own = value.is_none_or(|value| value.contains("./") || value.starts_with('/'));
            strange = strange.or(own.then(|| word.clone()));
        } else if !is(language.flags, word) && !is(language.values, name) {
            strange = strange.or(Some(word.clone()));
        }
    }
    let rest = words.get(at..).unwrap_or_default();
    let mut judged = match rest.split_first() {
        _ if tests => Judged::tests(RunnerFamily::Any),
        Some((file, more)) if file == "artisan" && more.first().is_some_and(|word| word == "test") => {
            table::with_options(RunnerFamily::Php, "phpunit", &more[1..], shell)
        }
        Some((file, more)) => program_files::script(file, "", false, more, shell),
        None => Judged::unknown(),
    };
    strange.into_iter().for_each(|by| judged.distrust(|| by));
    judged
}
