//! What a shell text seems to do, in short notes for a person who is asked. It explains and decides nothing.

use posse_protocol::visible;

use crate::command::{CommandWords, commands};
use crate::limits::{NOTES_MAX, SHOWN_CHARS_MAX};

const DELETES: [&str; 6] = ["rm", "rmdir", "unlink", "shred", "truncate", "wipefs"];
const AS_ANOTHER: [&str; 5] = ["sudo", "doas", "su", "pkexec", "runuser"];
const NETWORK: [&str; 16] = [
    "curl", "wget", "ssh", "scp", "sftp", "rsync", "nc", "ncat", "netcat", "telnet", "ftp", "socat", "dig",
    "nslookup", "ping", "openssl",
];
/// Programs that reach the network with one of these words.
const FETCHERS: [(&str, &[&str]); 9] = [
    ("git", &["push", "pull", "fetch", "clone", "ls-remote", "submodule"]),
    ("cargo", &["install", "publish", "update", "add", "fetch"]),
    ("npm", &["install", "i", "ci", "publish", "update"]),
    ("pip", &["install", "download"]),
    ("pip3", &["install", "download"]),
    ("apt", &["install", "update", "upgrade"]),
    ("apt-get", &["install", "update", "upgrade"]),
    ("docker", &["pull", "push", "run", "build"]),
    ("go", &["get", "install"]),
];
const INTERPRETERS: [&str; 10] =
    ["sh", "bash", "zsh", "dash", "ksh", "python", "python3", "perl", "ruby", "node"];
/// Programs that write to the paths they are given.
const WRITERS: [&str; 10] = ["cp", "mv", "ln", "tee", "install", "dd", "mkdir", "touch", "chmod", "chown"];

/// Short notes on what a command seems to do beyond reading and running in the workspace. No note means nothing: a
/// program can do what its name does not say.
pub fn explain(command: &str) -> Vec<String> {
    let Some(commands) = commands(command) else {
        return vec!["too long to be looked through".to_owned()];
    };
    let mut notes = Vec::new();
    for words in &commands {
        notes.extend(notes_on(words));
    }
    if pipes_to_interpreter(command) {
        notes.push("runs what another command prints".to_owned());
    }
    if command.contains("/dev/tcp/") || command.contains("/dev/udp/") {
        notes.push("uses the network: /dev/tcp".to_owned());
    }
    let mut seen = std::collections::BTreeSet::new();
    notes.retain(|note| seen.insert(note.clone()));
    notes.truncate(NOTES_MAX);
    notes
}

fn notes_on(words: &CommandWords) -> Vec<String> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let program = program.as_str();
    let has = |wanted: &[&str]| arguments.iter().any(|word| wanted.contains(&word.as_str()));
    let mut notes = Vec::new();
    if AS_ANOTHER.contains(&program) {
        notes.push(format!("acts as another user: {program}"));
    }
    let deletes_too = (program == "find" && has(&["-delete"])) || (program == "git" && has(&["clean"]));
    if DELETES.contains(&program) || deletes_too {
        notes.push(format!("deletes: {program}"));
    }
    if program == "git" && has(&["--hard", "--force", "-f", "--mirror"]) {
        notes.push("may throw away work: git".to_owned());
    }
    let fetches = FETCHERS.iter().any(|(name, with)| *name == program && has(with));
    if NETWORK.contains(&program) || fetches {
        notes.push(format!("uses the network: {program}"));
    }
    if program == "eval" || (program == "base64" && has(&["-d", "-D", "--decode"])) {
        notes.push(format!("makes up commands or data as it runs: {program}"));
    }
    notes.extend(written_outside(program, arguments));
    notes
}

/// Paths outside of the workspace that it seems to write to.
fn written_outside(program: &str, arguments: &[String]) -> Option<String> {
    let redirected = arguments.windows(2).filter(|pair| pair[0] == ">").map(|pair| &pair[1]);
    let named = arguments.iter().filter(|_| WRITERS.contains(&program));
    let path = redirected.chain(named).map(|word| word.strip_prefix("of=").unwrap_or(word));
    let mut outside = path.filter(|path| is_outside(path));
    outside.next().map(|path| format!("may write outside the workspace: {}", shown(path)))
}

fn is_outside(path: &str) -> bool {
    let harmless = ["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tcp/", "/dev/udp/", "/tmp/"];
    let leads_out =
        path.starts_with(['/', '~']) || path.starts_with("$HOME") || path.split('/').any(|part| part == "..");
    leads_out && !harmless.iter().any(|start| path.starts_with(start))
}

fn pipes_to_interpreter(command: &str) -> bool {
    let text = command.replace("||", ";");
    text.split('|').skip(1).any(|piece| {
        let mut words = piece.trim_start_matches('&').split_whitespace();
        let first = words.find(|word| !matches!(*word, "sudo" | "env" | "exec" | "command"));
        let program = first.unwrap_or_default().trim_matches(['\'', '"']);
        let program = program.rsplit('/').next().unwrap_or_default();
        INTERPRETERS.contains(&program.trim_end_matches([';', ')']))
    })
}

fn shown(word: &str) -> String {
    visible::line(word).chars().take(SHOWN_CHARS_MAX).collect()
}
