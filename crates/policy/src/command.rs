//! What a shell text seems to run. A guess that errs towards seeing too much: it may deny, ask or explain, never grant. It is
//! not a security boundary.
//!
//! Two readers look at a text: one that parses it as a shell does, and one that ignores quotes and so also sees what
//! another program's text would run.

use crate::limits::{
    CANDIDATES_MAX, COMMAND_BYTES_MAX, COMMANDS_MAX, GUESSED_BYTES_MAX, HELD_BYTES_MAX, NESTING_MAX,
    WRAPPED_WORDS_MAX,
};
use crate::pattern::{matches, may_match};
use crate::shell_text::{self, ANY, Simple, UNKNOWN};

/// Programs that run what follows them.
const WRAPPERS: [&str; 66] = [
    "sudo",
    "doas",
    "su",
    "env",
    "nohup",
    "time",
    "xargs",
    "parallel",
    "nice",
    "ionice",
    "setsid",
    "stdbuf",
    "timeout",
    "gtimeout",
    "watch",
    "exec",
    "command",
    "builtin",
    "eval",
    "busybox",
    "toybox",
    "chroot",
    "unshare",
    "nsenter",
    "strace",
    "ltrace",
    "bash",
    "sh",
    "zsh",
    "dash",
    "ksh",
    "ash",
    "fish",
    "rbash",
    "pkexec",
    "runuser",
    "gosu",
    "su-exec",
    "setpriv",
    "capsh",
    "flock",
    "script",
    "systemd-run",
    "systemd-inhibit",
    "taskset",
    "chrt",
    "prlimit",
    "cpulimit",
    "firejail",
    "bwrap",
    "proot",
    "fakeroot",
    "faketime",
    "catchsegv",
    "valgrind",
    "perf",
    "gdb",
    "rlwrap",
    "unbuffer",
    "expect",
    "entr",
    "trap",
    "alias",
    "ssh",
    "dbus-run-session",
    "noglob",
];
/// Those of them that add words of their own to what they run.
const FEEDERS: [&str; 2] = ["xargs", "parallel"];
/// Programs that run what they are fed.
pub(crate) const SHELLS: [&str; 8] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "rbash"];
/// Words of the shell's own language before a command.
const KEYWORDS: [&str; 11] = ["if", "then", "else", "elif", "while", "until", "do", "!", "coproc", "{", "}"];
/// Arguments of `find` and its like that begin a command.
const EXECS: [&str; 6] = ["-exec", "-execdir", "-ok", "-okdir", "-x", "--exec"];

/// One command, in words without quotes. The first is the program without its folder.
pub(crate) type CommandWords = Vec<String>;

/// Every command that a text may run, also those within others; none if it is too long to be looked through.
pub(crate) fn commands(text: &str) -> Option<Vec<CommandWords>> {
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

/// Every command of a text as a shell reads it, with those that others are given to run; none if it cannot be told.
pub(crate) fn simple_commands(text: &str) -> Option<Vec<Simple>> {
    if text.len() > COMMAND_BYTES_MAX {
        return None;
    }
    let mut found = Vec::new();
    gather(text, 0, &mut found)?;
    Some(found)
}

fn gather(text: &str, depth: usize, found: &mut Vec<Simple>) -> Option<()> {
    if depth > NESTING_MAX {
        return None;
    }
    let read = shell_text::read(text)?;
    // Who reads what others print can be anywhere in the line; then every word may be a command.
    let feeds = text.contains('|')
        && read.iter().any(|simple| program_of(&simple.words).is_some_and(|p| SHELLS.contains(&p)));
    for simple in read {
        gather_simple(simple, feeds, depth, found)?;
    }
    Some(())
}

/// One command with those that it is given to run. `feeds`: what it prints is run, too.
fn gather_simple(simple: Simple, feeds: bool, depth: usize, found: &mut Vec<Simple>) -> Option<()> {
    if depth > NESTING_MAX || found.len() > CANDIDATES_MAX {
        return None;
    }
    for word in simple.words.iter().take_while(|word| is_assignment(word)) {
        gather_word(word, depth, found)?;
    }
    let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
    let words = begin(&words);
    let program = words.first().map_or("", |first| base(first));
    let wraps = WRAPPERS.contains(&program);
    for fed in simple.fed.iter().filter(|_| wraps) {
        gather(fed, depth + 1, found)?;
    }
    let mut inner: Vec<&[&str]> = exec_parts(words).collect();
    if wraps || feeds {
        inner.extend((1..words.len().min(WRAPPED_WORDS_MAX)).map(|at| &words[at..]));
        for word in words.iter().skip(1) {
            gather_word(word, depth, found)?;
        }
    }
    for words in inner {
        let mut words = owned(begin(words));
        if FEEDERS.contains(&program) {
            words.push(ANY.to_string());
        }
        // Every beginning of what a wrapper runs is among these, so those within it are, too.
        found.push(Simple { words: words.clone(), ..Simple::default() });
        if !wraps && !feeds {
            gather_simple(Simple { words, ..Simple::default() }, false, depth + 1, found)?;
        }
    }
    if program == "git" {
        gather_aliases(words, depth, found)?;
    }
    found.push(Simple { words: owned(words), ..simple });
    Some(())
}

/// A word that may be a whole command.
fn gather_word(word: &str, depth: usize, found: &mut Vec<Simple>) -> Option<()> {
    let word = word.split_once('=').filter(|_| is_assignment(word)).map_or(word, |(_, value)| value);
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,+@%".contains(c);
    if word.is_empty() || word.starts_with('-') && word.chars().all(is_plain) {
        return Some(());
    }
    // What is no command at all, such as a message with an apostrophe, runs nothing.
    let _ = gather(&word.replace("\\n", "\n"), depth + 1, found);
    (found.len() <= CANDIDATES_MAX && depth < NESTING_MAX).then_some(())
}

/// `git -c alias.NAME=VALUE`: the value is a subcommand with its arguments, or a command after `!`.
fn gather_aliases(words: &[&str], depth: usize, found: &mut Vec<Simple>) -> Option<()> {
    for (at, word) in words.iter().enumerate().take(WRAPPED_WORDS_MAX) {
        let word = word.strip_prefix("-c").unwrap_or(word);
        let Some((_, value)) = word.strip_prefix("alias.").and_then(|alias| alias.split_once('=')) else {
            continue;
        };
        match value.strip_prefix('!') {
            Some(command) => gather(command, depth + 1, found)?,
            None => {
                let rest = words[at + 1..].iter().copied();
                let words = ["git"].into_iter().chain(value.split_whitespace()).chain(rest);
                found.push(Simple { words: words.map(str::to_owned).collect(), ..Simple::default() });
            }
        }
    }
    Some(())
}

pub(crate) fn exec_parts<'a>(words: &'a [&'a str]) -> impl Iterator<Item = &'a [&'a str]> {
    let execs = words.iter().enumerate().filter(|(_, word)| EXECS.contains(word)).take(WRAPPED_WORDS_MAX);
    execs.filter_map(|(at, _)| words.get(at + 1..).filter(|inner| !inner.is_empty()))
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn program_of(words: &[String]) -> Option<&str> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    begin(&words).first().copied().map(base)
}

/// The program of a command without its folder.
pub(crate) fn program(words: &[String]) -> &str {
    words.first().map_or("", |first| base(first))
}

/// Whether a pattern of a `deny` or `ask` rule is about a text: as a whole, or one of the commands within it. Options
/// between a program and its subcommand do not count, so `git -C x push` is `git push`.
pub(crate) fn catches(pattern: &str, text: &str) -> bool {
    let Some(crude) = commands(text) else { return true };
    // `git push:*` is how some programs write `git push *`.
    let pattern = pattern.strip_suffix(":*").map_or_else(|| pattern.to_owned(), |begin| format!("{begin} *"));
    let pattern = squeezed(&plain(&pattern));
    let (first, rest) = pattern.split_once(' ').unwrap_or((&pattern, ""));
    let without_folder = squeezed(&format!("{} {rest}", base(first)));
    let fits = |command: &str| {
        [&pattern, &without_folder].iter().any(|pattern| {
            let bare = pattern.strip_suffix(" *");
            about(pattern, command) || bare.is_some_and(|bare| about(bare, command))
        })
    };
    if fits(text) || fits(&squeezed(text)) || fits(&squeezed(&plain(text))) {
        return true;
    }
    // A text that no shell could read runs nothing, and what is too much was caught above.
    let read = simple_commands(text).unwrap_or_default();
    let all = crude.into_iter().chain(read.into_iter().map(|simple| simple.words));
    all.enumerate().any(|(number, words)| {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        number > CANDIDATES_MAX * 2 || without_options(&words).any(|command| fits(&command))
    })
}

/// A command as it is, and without the options before its subcommand, whether or not each takes a value.
fn without_options<'a>(words: &'a [&'a str]) -> impl Iterator<Item = String> + 'a {
    let mut starts = vec![1];
    let mut at = 0;
    while let Some(&start) = starts.get(at) {
        let is_option = words.get(start).is_some_and(|word| word.starts_with(['-', '+']));
        for next in [start + 1, start + 2] {
            if is_option && next <= words.len().min(WRAPPED_WORDS_MAX) && !starts.contains(&next) {
                starts.push(next);
            }
        }
        at += 1;
    }
    starts.into_iter().filter(|_| !words.is_empty()).map(|start| {
        let mut command = base(words[0]).to_owned();
        for word in words.get(start..).unwrap_or_default() {
            command.push(' ');
            command.push_str(word);
            // What is longer is told by its beginning: the rest could be anything.
            if command.len() > HELD_BYTES_MAX {
                command.push(ANY);
                break;
            }
        }
        command
    })
}

/// Whether a pattern matches a command, or could where parts of the command are unknown.
fn about(pattern: &str, command: &str) -> bool {
    if !command.contains(UNKNOWN) {
        return matches(pattern, command);
    }
    let cut = |text: &str, more: char| match text.char_indices().nth(GUESSED_BYTES_MAX) {
        Some((end, _)) => format!("{}{more}", &text[..end]),
        None => text.to_owned(),
    };
    may_match(&cut(pattern, '*'), &cut(command, ANY))
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
fn begin<'a, 'w>(mut words: &'w [&'a str]) -> &'w [&'a str] {
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

/// Whether a word is one of the shell's own language before a command.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}

pub(crate) fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        let name = name.trim_end_matches('+');
        !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// A command and those that it runs itself.
fn within(words: &[&str], found: &mut Vec<CommandWords>) {
    let Some(first) = words.first() else { return };
    found.push(command(words));
    let program = base(first);
    if WRAPPERS.contains(&program) {
        let last = words.len().min(WRAPPED_WORDS_MAX);
        found.extend((1..last).map(|at| command(&words[at..])));
    } else {
        found.extend(exec_parts(words).map(command));
    }
}

fn command(words: &[&str]) -> CommandWords {
    let program = words.first().map(|first| base(first));
    program.into_iter().chain(words.iter().skip(1).copied()).map(str::to_owned).collect()
}

/// A program without its folder.
fn base(word: &str) -> &str {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = if name.is_empty() { word } else { name };
    name.trim_end_matches('$')
}
