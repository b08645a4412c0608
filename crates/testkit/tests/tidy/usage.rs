//! Who may use what: rules over the sources.

use crate::arrows::PURE;
use crate::repo::{File, Repo};
use crate::rust::{code, lines_using, literals, without_tests};

/// What a pure crate may not touch.
const WORLD: &[&str] =
    &["std::fs", "std::net", "std::process", "std::env", "std::thread", "Instant::now", "SystemTime::now"];

/// The ways to start a process.
const STARTERS: &[&str] =
    &["std::process::Command", "tokio::process", "process::Command", "async_process", "nix::unistd::fork"];

/// The ways to look at the person's environment.
const SURROUNDINGS: &[&str] = &[
    "env::var",
    "env::var_os",
    "env::vars",
    "env::vars_os",
    "env::home_dir",
    "env::current_dir",
    "env::temp_dir",
    "dirs::home_dir",
];

/// The one file that may.
const SURROUNDINGS_FILE: &str = "crates/setup/src/surroundings.rs";

/// The crates that may as well: `sandbox` hides what they name from commands and hands the environment on; the others are not shipped.
const SURROUNDINGS_CRATES: &[&str] = &["sandbox", "testkit", "bench"];

/// The ways to write where a person looks, round what makes text visible.
const SCREENS: &[&str] = &["io::stdout", "io::stderr", "serde_json::to_string"];

/// The files of cli that may: they make it visible.
const SCREEN_FILES: &[&str] = &["crates/cli/src/output.rs", "crates/cli/src/display/terminal.rs"];

/// The ways to open, make or remove something by its path. In a folder that agents write, what a path leads to changes
/// meanwhile: to a link that leads out, to a pipe that never ends.
const BY_PATH: &[&str] = &[
    "fs::read",
    "fs::read_to_string",
    "fs::read_dir",
    "fs::write",
    "fs::copy",
    "fs::create_dir",
    "fs::create_dir_all",
    "fs::remove_file",
    "fs::remove_dir",
    "fs::remove_dir_all",
    "fs::rename",
    "fs::hard_link",
    "fs::set_permissions",
    "fs::DirBuilder",
    "File::open",
    "File::create",
    "File::create_new",
    "File::options",
    "OpenOptions::new",
];

/// The files that may, and where they do so.
const BY_PATH_FILES: &[(&str, &str)] = &[
    ("crates/engine/src/record/processes.rs", "Posse's own folder"),
    ("crates/engine/src/record/session_lock.rs", "Posse's own folder"),
    ("crates/engine/src/changes/checkouts.rs", "Posse's own folder"),
    ("crates/engine/src/elsewhere/kept_files.rs", "Posse's own folder, files by their hashes"),
    ("crates/engine/src/elsewhere/late_work.rs", "Posse's own folder"),
    ("crates/engine/src/elsewhere/settling.rs", "Posse's own folder"),
    ("crates/engine/src/session/hosted.rs", "Posse's own folder"),
    ("crates/engine/src/hooks/transcripts.rs", "Posse's own folder"),
    ("crates/engine/src/knowledge/skill_drafts.rs", "Posse's own folder"),
    ("crates/engine/src/roles/files.rs", "the person's own roles"),
    ("crates/engine/src/roles/reading.rs", "the person's own roles"),
    (
        "crates/engine/src/knowledge/skill_files.rs",
        "the person's own skills; lists a project's, and opens none by that",
    ),
    ("crates/workspace/src/bundle/depot.rs", "Posse's own folder"),
    ("crates/workspace/src/bundle/home.rs", "Posse's own folder"),
    ("crates/workspace/src/bundle/incoming.rs", "Posse's own folder"),
    ("crates/workspace/src/bundle/scratch.rs", "Posse's own folder"),
    ("crates/workspace/src/bundle/scrub.rs", "by a folder that is open"),
    ("crates/workspace/src/bundle/slots.rs", "Posse's own folder, and a checkout as a whole"),
    ("crates/workspace/src/checkpoint/manifest.rs", "Posse's own folder"),
    ("crates/workspace/src/checkpoint/mod.rs", "Posse's own folder"),
    ("crates/workspace/src/content_store.rs", "Posse's own folder"),
    ("crates/workspace/src/shadow.rs", "Posse's own folder"),
    ("crates/workspace/src/worktree/look.rs", "Posse's own folder"),
    ("crates/workspace/src/worktree/mod.rs", "Posse's own folder, and a checkout as a whole"),
    ("crates/workspace/src/worktree/record.rs", "Posse's own folder"),
    ("crates/workspace/src/worktree/sweep.rs", "Posse's own folder"),
    (
        "crates/workspace/src/checkpoint/folder.rs",
        "by a folder that is open; by path where the system cannot",
    ),
    ("crates/workspace/src/checked.rs", "systems that cannot open below a folder: checked before and after"),
    ("crates/workspace/src/git/plain.rs", "no link at the end, no waiting; by path where the system cannot"),
    ("crates/workspace/src/git/place.rs", "looks whether a folder is empty"),
    ("crates/workspace/src/places.rs", "lists names, which only makes more of them protected"),
    ("crates/workspace/src/places/git.rs", "lists hooks, which only makes more of them protected"),
];

/// Words that only the providers' protocols have.
const WIRE_WORDS: &[&str] = &[
    "chat/completions",
    "v1/messages",
    "anthropic-version",
    "x-api-key",
    "text/event-stream",
    "cache_control",
    "reasoning_content",
    "tool_choice",
    "content_block_delta",
    "finish_reason",
];

/// Finds uses of any of `paths` in the code of `files`, without tests.
fn using<'a>(
    files: impl Iterator<Item = (&'a str, &'a File)>,
    paths: &[&str],
    say: impl Fn(&str) -> String,
) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, file) in files {
        let code = code(&without_tests(&file.text));
        let mut lines = Vec::new();
        for path in paths {
            for line in lines_using(&code, path) {
                if !lines.contains(&line) {
                    lines.push(line);
                    findings.push(format!("{}:{line} {}", file.path, say(path)));
                }
            }
        }
    }
    findings
}

pub(crate) fn purity(repo: &Repo) -> Vec<String> {
    using(repo.sources().filter(|(name, _)| PURE.contains(name)), WORLD, |path| {
        format!("uses {path}; a pure crate is told such things, it does not ask")
    })
}

pub(crate) fn processes(repo: &Repo) -> Vec<String> {
    let files = repo.sources().filter(|(name, _)| !["sandbox", "testkit", "bench"].contains(name));
    using(files, STARTERS, |path| format!("uses {path}; processes are started by sandbox alone"))
}

pub(crate) fn environment(repo: &Repo) -> Vec<String> {
    let files = repo
        .sources()
        .filter(|(name, file)| !SURROUNDINGS_CRATES.contains(name) && file.path != SURROUNDINGS_FILE);
    using(files, SURROUNDINGS, |path| {
        format!("reads {path}; only {SURROUNDINGS_FILE} does; take it from setup::Surroundings")
    })
}

pub(crate) fn by_path(repo: &Repo) -> Vec<String> {
    let may = |path: &str| BY_PATH_FILES.iter().any(|(known, _)| *known == path);
    let files = repo
        .sources()
        .filter(|(name, file)| ["workspace", "tools", "engine"].contains(name) && !may(&file.path));
    using(files, BY_PATH, |path| {
        format!(
            "uses {path}; what agents write is opened through Workspace, checkpoint::folder or git::plain"
        )
    })
}

pub(crate) fn screens(repo: &Repo) -> Vec<String> {
    let files =
        repo.sources().filter(|(name, file)| *name == "cli" && !SCREEN_FILES.contains(&file.path.as_str()));
    using(files, SCREENS, |path| {
        format!("uses {path}; print by output, which shows what hides and escapes JSON")
    })
}

/// Tests too: what needs `unsafe` belongs behind the sandbox's own interface.
pub(crate) fn unsafe_code(repo: &Repo) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, file) in repo.rust_files().filter(|(name, _)| *name != "sandbox") {
        for line in lines_using(&code(&file.text), "unsafe") {
            findings.push(format!("{}:{line} has unsafe code; only sandbox may", file.path));
        }
    }
    findings
}

pub(crate) fn forbid_unsafe(repo: &Repo) -> Vec<String> {
    let roots = repo.sources().filter(|(name, file)| {
        *name != "sandbox"
            && ["lib.rs", "main.rs"].iter().any(|root| file.path == format!("crates/{name}/src/{root}"))
    });
    roots
        .filter(|(_, file)| !code(&file.text).contains("#![forbid(unsafe_code)]"))
        .map(|(_, file)| format!("{} does not forbid unsafe; add #![forbid(unsafe_code)]", file.path))
        .collect()
}

/// Elsewhere "git" is only a word: a crate that does not build on sandbox cannot start anything.
pub(crate) fn git(repo: &Repo) -> Vec<String> {
    let starters = |name: &str| ["sandbox", "tools", "engine"].contains(&name);
    let found = literals_of(repo, starters, |literal| {
        (literal == "\"git\"").then(|| "names the git program; ask workspace".to_owned())
    });
    // Reads the words of commands, and starts nothing.
    found.into_iter().filter(|finding| !finding.starts_with("crates/tools/src/tests_run/")).collect()
}

pub(crate) fn wire(repo: &Repo) -> Vec<String> {
    let inside =
        |name: &str| !["model", "mcp", "acp", "api", "telemetry", "testkit", "bench"].contains(&name);
    literals_of(repo, inside, |literal| {
        let word = WIRE_WORDS.iter().find(|word| literal.contains(**word))?;
        Some(format!("has {word:?}, a word of a wire format; convert at the edge, in model"))
    })
}

/// Says something about string literals outside tests, in the crates that are meant.
fn literals_of(
    repo: &Repo,
    meant: impl Fn(&str) -> bool,
    say: impl Fn(&str) -> Option<String>,
) -> Vec<String> {
    let mut findings = Vec::new();
    for (_, file) in repo.sources().filter(|(name, _)| meant(name)) {
        for (line, literal) in literals(&without_tests(&file.text)) {
            findings.extend(say(literal).map(|what| format!("{}:{line} {what}", file.path)));
        }
    }
    findings
}

/// One file; beside it, one in the crate that may.
fn sample(path: &str, may: &str, text: &str) -> Repo {
    Repo::sample(&[(path, text), (may, text)])
}

pub(crate) fn bad_purity() -> Repo {
    let text = "//! No `std::fs` here.\n// std::fs neither\nuse std::{fs, io};\n#[cfg(test)]\nmod tests { use std::fs; }\n";
    sample("crates/agent/src/lib.rs", "crates/store/src/lib.rs", text)
}

pub(crate) fn bad_processes() -> Repo {
    sample(
        "crates/tools/src/lib.rs",
        "crates/sandbox/src/lib.rs",
        "//! x\nuse std::process::{Command, ExitCode};\n",
    )
}

pub(crate) fn bad_environment() -> Repo {
    sample("crates/cli/src/main.rs", SURROUNDINGS_FILE, "//! x\nlet key = std::env::var(\"KEY\");\n")
}

pub(crate) fn bad_by_path() -> Repo {
    let text =
        "//! File::open\nlet text = File::open(path)?;\n#[cfg(test)]\nmod tests { use std::fs::read; }\n";
    sample("crates/tools/src/lib.rs", "crates/engine/src/record/session_lock.rs", text)
}

pub(crate) fn bad_screens() -> Repo {
    let text = "//! x\nuse std::io;\nio::stdout().write_all(text)?;\n";
    sample("crates/cli/src/trust.rs", "crates/cli/src/output.rs", text)
}

pub(crate) fn bad_unsafe_code() -> Repo {
    sample(
        "crates/store/tests/it/main.rs",
        "crates/sandbox/src/lib.rs",
        "#![forbid(unsafe_code)]\nunsafe { x() }\n",
    )
}

pub(crate) fn bad_forbid_unsafe() -> Repo {
    sample("crates/store/src/lib.rs", "crates/sandbox/src/lib.rs", "//! x\n// #![forbid(unsafe_code)]\n")
}

pub(crate) fn bad_git() -> Repo {
    sample(
        "crates/engine/src/lib.rs",
        "crates/workspace/src/git.rs",
        "//! \"git\"\nrun(\"git\", \"git status\");\n",
    )
}

pub(crate) fn bad_wire() -> Repo {
    let text = "//! cache_control\nlet key = \"cache_control\";\n";
    sample("crates/agent/src/lib.rs", "crates/model/src/lib.rs", text)
}
