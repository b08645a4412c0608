//! What a command does that is no test runner: whether it builds, lints, commits or only looks, and what it may add to the
//! output of one that tests.

use posse_protocol::CommandWork;

use super::judged::{Judged, Worth};

/// Programs that only look, or only change files: none of them tests, builds, checks or sends anything.
const LOOKS: &str = "\
    ls cat head tail grep egrep fgrep rg find fd wc echo printf pwd cd tree which type stat file diff cmp sort uniq cut tr sed awk gawk mkdir touch \
    rm cp mv ln chmod true false test [ git date whoami id printenv basename dirname realpath readlink du df less more xxd od jq yq \
    sleep seq tee : export unset set umask ulimit wait shift local sha256sum md5sum rmdir install mktemp";

/// Programs that write nothing, or nothing that a runner would.
const SILENT: &str = "\
    cd export unset set true false : exit return sleep mkdir rm cp mv touch chmod test [ wait kill umask ulimit shift trap local rmdir ln";

/// What programs do, by their first words; without any, by their name alone.
const WORKS: &[(&str, &str, CommandWork)] = &[
    ("cargo", "build b check c bench doc install rustc", CommandWork::Build),
    ("cargo", "clippy", CommandWork::Lint),
    ("cargo", "fmt", CommandWork::Format),
    ("go", "build install generate", CommandWork::Build),
    ("go", "vet", CommandWork::Lint),
    ("go", "fmt", CommandWork::Format),
    ("gofmt", "", CommandWork::Format),
    ("npm", "ci install i add", CommandWork::Install),
    ("pnpm", "install i add", CommandWork::Install),
    ("yarn", "install add", CommandWork::Install),
    ("pip", "install", CommandWork::Install),
    ("pip3", "install", CommandWork::Install),
    ("uv", "sync pip add", CommandWork::Install),
    ("poetry", "install add", CommandWork::Install),
    ("tsc", "", CommandWork::Types),
    ("tsc", "", CommandWork::Build),
    ("vue-tsc", "", CommandWork::Types),
    ("mypy", "", CommandWork::Types),
    ("pyright", "", CommandWork::Types),
    ("pyre", "", CommandWork::Types),
    ("eslint", "", CommandWork::Lint),
    ("ruff", "check", CommandWork::Lint),
    ("ruff", "format", CommandWork::Format),
    ("flake8", "", CommandWork::Lint),
    ("pylint", "", CommandWork::Lint),
    ("golangci-lint", "", CommandWork::Lint),
    ("staticcheck", "", CommandWork::Lint),
    ("shellcheck", "", CommandWork::Lint),
    ("stylelint", "", CommandWork::Lint),
    ("biome", "check lint ci", CommandWork::Lint),
    ("rubocop", "", CommandWork::Lint),
    ("hadolint", "", CommandWork::Lint),
    ("ktlint", "", CommandWork::Lint),
    ("prettier", "", CommandWork::Format),
    ("black", "", CommandWork::Format),
    ("rustfmt", "", CommandWork::Format),
    ("gcc", "", CommandWork::Build),
    ("g++", "", CommandWork::Build),
    ("cc", "", CommandWork::Build),
    ("c++", "", CommandWork::Build),
    ("clang", "", CommandWork::Build),
    ("clang++", "", CommandWork::Build),
    ("rustc", "", CommandWork::Build),
    ("javac", "", CommandWork::Build),
    ("webpack", "", CommandWork::Build),
    ("vite", "build", CommandWork::Build),
    ("rollup", "", CommandWork::Build),
    ("esbuild", "", CommandWork::Build),
    ("next", "build", CommandWork::Build),
    ("next", "lint", CommandWork::Lint),
    ("gradle", "assemble compileJava classes", CommandWork::Build),
    ("gradlew", "assemble compileJava classes", CommandWork::Build),
    ("mvn", "compile package install", CommandWork::Build),
    ("mvnw", "compile package install", CommandWork::Build),
    ("cmake", "", CommandWork::Build),
    ("ninja", "", CommandWork::Build),
    ("meson", "compile setup", CommandWork::Build),
    ("dotnet", "build publish restore", CommandWork::Build),
    ("swift", "build", CommandWork::Build),
    ("zig", "build", CommandWork::Build),
    ("bazel", "build", CommandWork::Build),
    ("mix", "compile", CommandWork::Build),
    ("docker", "build", CommandWork::Build),
    ("git", "commit", CommandWork::Commit),
    ("git", "push", CommandWork::Push),
];

/// A command that runs no tests. `piped` is whether it reads what another one writes.
pub(super) fn beside(program: &str, rest: &[String], piped: bool) -> Judged {
    let output = match adds(program, rest, piped) {
        Adds::Nothing => Worth::Whole,
        Adds::Selects => Worth::Part,
        Adds::Anything => Worth::Nothing,
    };
    let idle =
        ["echo", "printf", "true", ":", "exit", "return", "cat", "set", "sleep", "false"].contains(&program);
    Judged { output, idle, work: works(program, rest), ..Judged::NOTHING }
}

/// `python -m NAME`.
pub(super) fn module(name: &str) -> Judged {
    let work = WORKS.iter().find(|(program, words, _)| *program == name && words.is_empty());
    Judged { work: vec![work.map_or(CommandWork::Other, |(.., work)| *work)], ..Judged::unknown() }
}

/// What a script or a target is for, by its name.
pub(super) fn named(name: &str) -> Option<CommandWork> {
    match name.split([':', '-', '_']).next().unwrap_or(name) {
        _ if matches!(name, "type-check" | "check-types" | "typecheck" | "types" | "mypy") => {
            Some(CommandWork::Types)
        }
        "build" | "compile" | "all" | "dist" => Some(CommandWork::Build),
        "lint" | "eslint" | "clippy" => Some(CommandWork::Lint),
        "fmt" | "format" => Some(CommandWork::Format),
        _ => None,
    }
}

fn is(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// What a program does; `Other` where that is not known.
pub(super) fn works(program: &str, rest: &[String]) -> Vec<CommandWork> {
    let first = rest.iter().find(|word| !word.starts_with(['-', '+'])).map_or("", String::as_str);
    let fits = |(name, words, _): &&(&str, &str, CommandWork)| {
        *name == program && (words.is_empty() || is(words, first))
    };
    let found: Vec<CommandWork> = WORKS.iter().filter(fits).map(|(.., work)| *work).collect();
    if !found.is_empty() {
        return found;
    }
    vec![if is(LOOKS, program) && !runs_others(program, rest) {
        CommandWork::Look
    } else {
        CommandWork::Other
    }]
}

/// The command, if it may write files that say what others run.
pub(super) fn writes(words: &[String]) -> Option<String> {
    const WRITERS: &str = "cp mv ln tee touch rm install patch tar unzip rsync dd truncate ed ex";
    const OF_GIT: &str = "checkout switch stash reset restore apply clean merge pull cherry-pick revert rebase am mv rm worktree";
    let (program, rest) = words.split_first()?;
    let base = program.rsplit('/').next().unwrap_or(program);
    let first = rest.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let may = match base {
        "sed" | "perl" => rest.iter().any(|word| word.starts_with("-i") || word.starts_with("--in-place")),
        "git" => is(OF_GIT, first),
        base => is(WRITERS, base) || works(base, rest).contains(&CommandWork::Other) && !is(KNOWN, base),
    };
    may.then(|| base.to_owned())
}

/// Programs that only run others, or only set something.
const KNOWN: &str = "\
    env timeout nice time command exec builtin sudo nohup source . eval alias hash trap shopt read declare typeset readonly shift popd pushd \
    make npm npx yarn pnpm just composer docker cargo go mvn gradle uv poetry bundle export";

/// Whether a program that looks is told to run another one.
fn runs_others(program: &str, rest: &[String]) -> bool {
    let any = |words: &[&str]| rest.iter().any(|word| words.contains(&word.as_str()));
    match program {
        "find" | "fd" => any(&["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"]),
        "awk" | "gawk" | "sed" => rest.iter().any(|word| word.contains("system(") || word.contains('|')),
        "git" => {
            any(&["bisect", "submodule", "filter-branch", "-x", "--exec", "am", "svn", "send-email", "lfs"])
                || rest.iter().any(|word| word.starts_with("alias.") || word.contains("=!"))
        }
        _ => false,
    }
}

/// What a command beside a runner may do to what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Adds {
    /// It writes nothing, nothing that looks like a result, or all or the end of what it reads.
    Nothing,
    /// It leaves something out.
    Selects,
    /// It may write anything.
    Anything,
}

fn adds(program: &str, rest: &[String], piped: bool) -> Adds {
    let options = || rest.iter().all(|word| word.starts_with('-') || word.parse::<u32>().is_ok());
    match program {
        word if is(SILENT, word) => Adds::Nothing,
        "tail" | "cat" if piped && options() => Adds::Nothing,
        "tee" if piped => Adds::Nothing,
        "grep" | "egrep" | "rg" | "head" | "less" if piped => Adds::Selects,
        "echo" | "printf" if rest.iter().all(|word| is_harmless(word)) => Adds::Nothing,
        word => {
            let builds = |work: &CommandWork| {
                matches!(
                    work,
                    CommandWork::Build | CommandWork::Install | CommandWork::Lint | CommandWork::Format
                )
            };
            let known = matches!(
                word,
                "cargo" | "npm" | "pnpm" | "yarn" | "pip" | "pip3" | "uv" | "poetry" | "go" | "cmake"
            );
            if known && works(word, rest).iter().all(builds) { Adds::Nothing } else { Adds::Anything }
        }
    }
}

/// Whether a word that is printed cannot be taken for a result: no number but an exit code, and no verdict.
fn is_harmless(word: &str) -> bool {
    // An exit code stands for itself.
    let word = word.replace(super::expand::PLAIN, "").to_ascii_lowercase();
    let verdict = ["pass", "fail", "ok", "error", "test"].iter().any(|verdict| word.contains(verdict));
    let unknown = word.contains([super::expand::SOME, super::expand::ANY, super::expand::LISTED]);
    !word.contains(|c: char| c.is_ascii_digit() || c == '$') && !verdict && !unknown
}
