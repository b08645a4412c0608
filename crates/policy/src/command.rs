//! What a shell text seems to run. A guess that errs towards seeing too much: it may deny, ask or explain, never grant,
//! and it is no boundary.

use crate::limits::{COMMAND_BYTES_MAX, COMMANDS_MAX, WRAPPED_WORDS_MAX};
use crate::pattern::matches;

/// Programs that run what follows them.
const WRAPPERS: [&str; 27] = [
    "sudo", "doas", "su", "env", "nohup", "time", "xargs", "parallel", "nice", "ionice", "setsid", "stdbuf",
    "timeout", "watch", "exec", "command", "builtin", "eval", "busybox", "chroot", "unshare", "strace",
    "bash", "sh", "zsh", "dash", "ksh",
];
/// Words of the shell's own language before a command.
const KEYWORDS: [&str; 9] = ["if", "then", "else", "elif", "while", "until", "do", "!", "coproc"];
/// Arguments of `find` and its like that begin a command.
const EXECS: [&str; 6] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "--exec"];

/// One command, in words without quotes. The first is the program without its folder.
pub(crate) type Words = Vec<String>;

/// Every command that a text may run, also those within others; none if it is too long to be looked through.
pub(crate) fn commands(text: &str) -> Option<Vec<Words>> {
    if text.len() > COMMAND_BYTES_MAX {
        return None;
    }
    let mut found = Vec::new();
    for piece in plain(text).split([';', '&', '|', '\n', '\r', '(', ')', '{', '}', '`']) {
        let words: Vec<&str> = piece.split_whitespace().collect();
        within(begin(&words), &mut found);
        if found.len() > COMMANDS_MAX {
            return None;
        }
    }
    Some(found)
}

/// Whether a pattern of a `deny` or `ask` rule is about a text: as a whole, or one of the commands within it.
pub(crate) fn catches(pattern: &str, text: &str) -> bool {
    let Some(commands) = commands(text) else { return true };
    // `git push:*` is how some programs write `git push *`.
    let pattern = pattern.strip_suffix(":*").map_or_else(|| pattern.to_owned(), |begin| format!("{begin} *"));
    let pattern = squeezed(&plain(&pattern));
    let bare = pattern.strip_suffix(" *");
    let fits = |command: &str| matches(&pattern, command) || bare.is_some_and(|bare| matches(bare, command));
    fits(text)
        || fits(&squeezed(text))
        || fits(&squeezed(&plain(text)))
        || commands.iter().any(|words| fits(&words.join(" ")))
}

/// Without quotes, with blanks around redirections and for `$IFS`.
fn plain(text: &str) -> String {
    let text = text.replace("\\\n", " ").replace("${IFS}", " ").replace("$IFS", " ");
    let text = text.replace("&>", ">").replace(">&", ">").replace("<&", "<");
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\'' | '"' | '\\' => {}
            '<' | '>' => out.extend([' ', c, ' ']),
            c => out.push(c),
        }
    }
    out
}

fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The words from the program on: without assignments, redirections and keywords before it.
fn begin<'a>(mut words: &'a [&'a str]) -> &'a [&'a str] {
    loop {
        words = match words {
            [">" | "<", rest @ ..] => {
                let target = rest.iter().take_while(|word| matches!(**word, ">" | "<")).count();
                rest.get(target + 1..).unwrap_or_default()
            }
            [number, ">" | "<", ..] if number.bytes().all(|b| b.is_ascii_digit()) => &words[1..],
            [word, rest @ ..] if *word == "$" || KEYWORDS.contains(word) || is_assignment(word) => rest,
            words => return words,
        };
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// A command and those that it runs itself.
fn within(words: &[&str], found: &mut Vec<Words>) {
    let Some(first) = words.first() else { return };
    found.push(command(words));
    let program = base(first);
    if WRAPPERS.contains(&program) {
        let last = words.len().min(WRAPPED_WORDS_MAX);
        found.extend((1..last).map(|at| command(&words[at..])));
    } else {
        let execs = words.iter().enumerate().filter(|(_, word)| EXECS.contains(word));
        found.extend(execs.take(WRAPPED_WORDS_MAX).filter_map(|(at, _)| {
            let inner = words.get(at + 1..).filter(|inner| !inner.is_empty());
            inner.map(command)
        }));
    }
}

fn command(words: &[&str]) -> Words {
    let program = words.first().map(|first| base(first));
    program.into_iter().chain(words.iter().skip(1).copied()).map(str::to_owned).collect()
}

/// A program without its folder.
fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = if name.is_empty() { word } else { name };
    name.trim_end_matches('$')
}
