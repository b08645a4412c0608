//! The commands that a shell text names, each where a shell looks for one: after operators, keywords and assignments,
//! behind programs such as `env` that run another, and in texts that a shell is given to run.
//!
//! `commands` errs towards seeing too much, because it denies. This errs towards seeing too little: it tells a model what
//! to write instead, and holds nobody back.

use crate::command::{SHELLS, exec_parts, is_assignment, is_keyword};
use crate::limits::INVOKED_DEPTH_MAX;
use crate::limits::{COMMAND_BYTES_MAX, COMMANDS_MAX};
use crate::shell_text::{self, Simple};

/// Programs that run another one, the letters of their options that take a value, and the words before the command.
const RUNNERS: [(&str, &str, usize); 20] = [
    ("command", "", 0),
    ("exec", "a", 0),
    ("env", "uCS", 0),
    ("sudo", "ugpCDRTUhr", 0),
    ("doas", "uC", 0),
    ("nohup", "", 0),
    ("nice", "n", 0),
    ("ionice", "cnp", 0),
    ("time", "of", 0),
    ("timeout", "ks", 1),
    ("gtimeout", "ks", 1),
    ("setsid", "", 0),
    ("stdbuf", "ioe", 0),
    ("xargs", "nIPLdaEs", 0),
    ("parallel", "jNn", 0),
    ("chroot", "", 1),
    ("watch", "n", 0),
    ("strace", "eopsu", 0),
    ("noglob", "", 0),
    ("unbuffer", "", 0),
];
/// Programs that print what they are given.
const PRINTERS: [&str; 2] = ["echo", "printf"];
/// What follows a name in a calculation, and no command.
const CALCULATES: [&str; 8] = ["+", "%", "==", "!=", "+=", "-=", "<=", ">="];

/// One command as it is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invoked {
    /// Keywords and assignments before it.
    pub before: Vec<String>,
    /// Its words without their quotes; the first is its name, with its folder if one is written.
    pub words: Vec<String>,
}

/// The commands that a text names; none if it cannot be read: a quote that does not end, too much, too deep.
pub fn invoked(text: &str) -> Option<Vec<Invoked>> {
    if text.len() > COMMAND_BYTES_MAX {
        return None;
    }
    let mut found = Vec::new();
    read(text, 0, &mut found)?;
    Some(found)
}

fn read(text: &str, depth: usize, found: &mut Vec<Invoked>) -> Option<()> {
    let simples = shell_text::read(text)?;
    let names = |name: &str| simples.iter().any(|simple| simple.words.iter().any(|word| word == name));
    let cases = names("case") && names("esac");
    let runs_output = text.contains('|') && SHELLS.iter().any(|shell| names(shell));
    let mut assigns_list = false;
    for simple in &simples {
        // `NAME=(a b)` is a list of words, and `a)` one of the cases.
        let is_list = std::mem::replace(&mut assigns_list, ends_in_assignment(simple));
        if is_list || cases && simple.words.len() == 1 {
            continue;
        }
        one(simple, runs_output, depth, found)?;
    }
    Some(())
}

fn ends_in_assignment(simple: &Simple) -> bool {
    simple.words.last().is_some_and(|word| word.ends_with('=') && is_assignment(word))
}

fn one(simple: &Simple, runs_output: bool, depth: usize, found: &mut Vec<Invoked>) -> Option<()> {
    let own = simple.words.iter().take_while(|word| is_keyword(word) || is_assignment(word)).count();
    let (before, words) = simple.words.split_at(own);
    let Some(first) = words.first().map(String::as_str) else { return Some(()) };
    if found.len() >= COMMANDS_MAX || depth > INVOKED_DEPTH_MAX {
        return None;
    }
    if words.get(1).is_some_and(|word| CALCULATES.contains(&word.as_str())) {
        return Some(());
    }
    found.push(Invoked { before: before.to_vec(), words: words.to_vec() });
    let name = first.rsplit('/').next().unwrap_or(first);
    if let Some(inner) = run_by(name, words) {
        one(&Simple { words: inner.to_vec(), ..Simple::default() }, false, depth + 1, found)?;
    }
    let borrowed: Vec<&str> = words.iter().map(String::as_str).collect();
    for inner in exec_parts(&borrowed) {
        let words = inner.iter().map(|word| (*word).to_owned()).collect();
        one(&Simple { words, ..Simple::default() }, false, depth + 1, found)?;
    }
    // A text that is no command at all, such as a message with an apostrophe, runs nothing.
    for text in texts(name, simple, words, runs_output) {
        let _ = read(&text, depth + 1, found);
    }
    Some(())
}

/// What a program such as `env` is told to run.
fn run_by<'a>(name: &str, words: &'a [String]) -> Option<&'a [String]> {
    let (_, with_value, skipped) = RUNNERS.iter().find(|(runner, ..)| *runner == name)?;
    let mut at = 1;
    while let Some(word) = words.get(at) {
        match word.strip_prefix('-').filter(|letters| !letters.is_empty()) {
            Some("-") => {
                at += 1;
                break;
            }
            // It only says where a command is.
            Some(letters) if name == "command" && letters.contains(['v', 'V']) => return None,
            Some(letters) => {
                let valued = letters.find(|letter| with_value.contains(letter));
                let apart = !letters.starts_with('-') && valued.is_some_and(|at| at + 1 == letters.len());
                at += if apart { 2 } else { 1 };
            }
            None if is_assignment(word) => at += 1,
            None => break,
        }
    }
    words.get(at + skipped..).filter(|inner| !inner.is_empty())
}

/// Texts that are run as commands.
fn texts(name: &str, simple: &Simple, words: &[String], runs_output: bool) -> Vec<String> {
    if name == "eval" {
        return vec![words[1..].join(" ")];
    } else if runs_output && PRINTERS.contains(&name) {
        return words[1..].iter().map(|word| word.replace("\\n", "\n")).collect();
    } else if !SHELLS.contains(&name) {
        return Vec::new();
    }
    let is_code = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.contains('c');
    let code = words.iter().position(is_code).map(|at| &words[at + 1..]).unwrap_or_default();
    let code = code.iter().find(|word| !word.starts_with('-'));
    code.into_iter().chain(&simple.fed).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::invoked;

    #[test]
    fn commands_are_found_where_a_shell_looks_for_them() {
        let cases = [
            ("a b; c | d && e || f & g\nh", "a c d e f g h"),
            ("X=1 Y=2 a b", "a"),
            ("'a' b; \"c\"; \\d; e'f'", "a c d ef"),
            ("if a; then b; elif c; then d; else e; fi", "a b c d e fi"),
            ("while a; do b; done; ! c; { d; }", "a b done c d"),
            ("(a; b) > c; d > e < f; > g h", "a b d h"),
            ("echo $(a b) \"`c`\" \"$(d)\" <(e)", "a c d e echo"),
            ("command a b; exec a; nohup a; env X=1 a; env -u Y a", "command a exec a nohup a env a env a"),
            ("timeout 5 a; timeout -k 1 -s 9 5s a; nice -n 5 a", "timeout a timeout a nice a"),
            ("sudo -u me a b; sudo env X=1 a; xargs -n 1 a < l", "sudo a sudo env a xargs a"),
            ("command -v a; builtin a; timeout 5 git fetch", "command builtin timeout git"),
            ("bash -c 'a; b'; sh -ec \"c d\"; eval 'e f'; eval g h", "bash a b sh c eval e eval g"),
            ("bash <<'E'\na b\nE\ncat <<E\nc d\nE", "bash a cat"),
            ("echo 'a b' | bash; printf 'c\\nd' | sh", "echo a bash printf c d sh"),
            ("echo 'a b; c'; git commit -m 'a; b'", "echo git"),
            ("find . -exec a {} \\; -name x", "find a"),
            ("case $1 in a) b c;; d|e) f g;; esac; h i", "case b f h"),
            ("x=(a b); for a in b; do c; done", "for c done"),
            ("echo $((a + 1)); # b\n/bin/a b", "echo /bin/a"),
        ];
        for (text, names) in cases {
            let found = invoked(text).unwrap();
            let found = found.iter().map(|one| one.words[0].as_str()).collect::<Vec<_>>();
            let mut wanted = names.split(' ').collect::<Vec<_>>();
            let mut got = found.clone();
            wanted.sort_unstable();
            got.sort_unstable();
            assert_eq!(got, wanted, "{text}");
        }
        assert_eq!(cases.len(), 19);
        assert_eq!(invoked("a 'b"), None);
        assert_eq!(invoked("while IFS=: read -r a; do b; done").unwrap()[0].before, ["while", "IFS=:"]);
    }
}
