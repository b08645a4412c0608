//! What the words of a command come to, as far as that can be told without running anything. What cannot is marked.

use super::script::ShellScript;
use super::shell::{ShellState, written};
use super::word::{ShellWord, WordPiece};

/// Stands for one word or a part of one that is not known.
pub(super) const SOME: char = '\u{1}';
/// Stands for any number of words that are not known.
pub(super) const ANY: char = '\u{2}';
/// Stands for a part of a word that is not known and is no option: a number, a path.
pub(super) const PLAIN: char = '\u{3}';

/// Stands for a part of a word that is not known, no option, and not of the shell itself: what a program lists.
pub(super) const LISTED: char = '\u{4}';

/// Programs whose output is a number, a name or a path.
const PLAINLY: &[&str] = &[
    "nproc", "getconf", "sysctl", "pwd", "date", "mktemp", "id", "whoami", "hostname", "uname", "git",
    "find", "ls", "dirname", "basename", "realpath", "readlink", "wc", "which", "seq",
];

/// Whether a word as a whole is not what it seems.
pub(super) fn is_open(word: &str) -> bool {
    word.contains(ANY) || word.starts_with(SOME)
}

/// Whether anything of a word is not known.
pub(super) fn is_unknown(word: &str) -> bool {
    word.contains([SOME, ANY, PLAIN, LISTED])
}

/// All words.
pub(super) fn words(words: &[ShellWord], shell: &ShellState<'_>) -> Vec<String> {
    words.iter().flat_map(|word| expanded(word, shell)).collect()
}

/// The value of an assignment; none if it is not known.
pub(super) fn value(word: &ShellWord, shell: &ShellState<'_>) -> Option<String> {
    let all: String = word.pieces.iter().map(|piece| piece_text(piece, shell)).collect();
    (!all.contains([SOME, ANY])).then_some(all)
}

fn expanded(word: &ShellWord, shell: &ShellState<'_>) -> Vec<String> {
    let pieces = word.pieces.iter().filter(|piece| piece.written() != Some(""));
    if let [WordPiece::Variable { name, quoted, .. }] = pieces.collect::<Vec<_>>().as_slice()
        && matches!(name.as_str(), "@" | "*")
    {
        return match &shell.arguments {
            Some(arguments) if name == "@" || !quoted => arguments.clone(),
            Some(arguments) => vec![arguments.join(" ")],
            None => vec![ANY.to_string()],
        };
    }
    let (mut words, mut open) = (vec![String::new()], false);
    for piece in &word.pieces {
        let text = piece_text(piece, shell);
        let splits = matches!(piece, WordPiece::Variable { quoted: false, .. });
        open |= !splits;
        if !splits {
            words.last_mut().into_iter().for_each(|last| last.push_str(&text));
            continue;
        }
        let mut parts = text.split_whitespace();
        if let Some(first) = parts.next() {
            words.last_mut().into_iter().for_each(|last| last.push_str(first));
        }
        words.extend(parts.map(str::to_owned));
    }
    // A variable that is empty leaves no word.
    words.retain(|word| !word.is_empty() || open);
    words
}

fn piece_text(piece: &WordPiece, shell: &ShellState<'_>) -> String {
    let unknown = |quoted: bool| if quoted { SOME } else { ANY }.to_string();
    match piece {
        WordPiece::Text(text) => text.clone(),
        WordPiece::Variable { name, other, quoted } => {
            variable(name, other.as_deref(), shell).unwrap_or_else(|| unknown(*quoted))
        }
        WordPiece::Runs { script, quoted } => printed(script, shell).unwrap_or_else(|| unknown(*quoted)),
        WordPiece::Unknown { quoted } => unknown(*quoted),
    }
}

fn variable(name: &str, other: Option<&str>, shell: &ShellState<'_>) -> Option<String> {
    let plain = Some(PLAIN.to_string());
    if let Some(value) = shell.variables.get(name) {
        return match other {
            Some(other) if value.as_deref() == Some("") => Some(other.to_owned()),
            _ => value.clone(),
        };
    }
    match name {
        "0" => shell.file.clone(),
        "#" | "?" | "$" | "!" | "-" | "USER" | "RANDOM" | "LINENO" => plain,
        // Folders of the person; none of them begins like an option.
        "HOME" | "TMPDIR" | "PATH" => Some(format!("${name}")),
        "PWD" => shell
            .folder
            .as_ref()
            .map(|folder| if folder.is_empty() { ".".to_owned() } else { folder.clone() }),
        _ => match (name.parse::<usize>(), &shell.arguments) {
            (Ok(at), Some(arguments)) => Some(
                arguments.get(at.checked_sub(1)?).cloned().or(other.map(str::to_owned)).unwrap_or_default(),
            ),
            // The environment of a command is bare: what nobody set is not there.
            _ => other.map(str::to_owned),
        },
    }
}

/// What a command prints into a word, if that can be told.
fn printed(script: &ShellScript, shell: &ShellState<'_>) -> Option<String> {
    let [step] = script.steps.as_slice() else {
        // `cd "$(dirname "$0")" && pwd`
        let [first, last] = script.steps.as_slice() else { return None };
        let (first, last) = (words_of(&first.parts, shell)?, words_of(&last.parts, shell)?);
        return match (first.as_slice(), last.as_slice()) {
            ([cd, folder], [pwd]) if cd == "cd" && pwd == "pwd" => Some(folder.clone()),
            _ => None,
        };
    };
    let words = words_of(&step.parts, shell)?;
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["dirname", file] if !is_unknown(file) => {
            Some(file.rsplit_once('/').map_or(".", |(folder, _)| folder).to_owned())
        }
        ["git", "rev-parse", "--show-toplevel"] | ["pwd"] => Some(".".to_owned()),
        [program, ..] if PLAINLY.contains(program) && !shell.functions.contains_key(*program) => {
            Some(LISTED.to_string())
        }
        _ => None,
    }
}

fn words_of(parts: &[super::script::Part], shell: &ShellState<'_>) -> Option<Vec<String>> {
    let [part] = parts else { return None };
    written(part)?;
    let super::script::Part::Simple(simple) = part else { return None };
    Some(words(&simple.words, shell))
}
