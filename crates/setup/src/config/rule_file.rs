//! The person's rules as they stand in the files: lists them with their lines, and saves and removes rules in the person's own
//! file. A project's file is never written.
//!
//! The file is changed as text, so that comments and layout stay. What comes out is read again and must mean what the file
//! meant before, but for the one rule; else nothing is written.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::ops::Range;
use std::path::{Path, PathBuf};

use posse_policy::{RuleError, Rules};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::file::{ApprovalFile, FileConfig, parse};
use super::trusted::Trusted;
use super::{names, project_file};
use crate::error::ConfigError;
use crate::limits::CONFIG_BYTES_MAX;
use crate::paths::Paths;
use crate::surroundings::ShownPath;

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RuleKind {
    /// It spares a question.
    Allow,
    /// It asks, whatever the mode.
    Ask,
    /// It is never done.
    Deny,
}

impl RuleKind {
    const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    /// The key in a file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

impl std::str::FromStr for RuleKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let kind = Self::ALL.into_iter().find(|kind| kind.word() == text);
        kind.ok_or_else(|| format!("{text:?} is no kind of rule; there are allow, ask and deny"))
    }
}

/// One rule, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedRule {
    /// What it does.
    pub kind: RuleKind,
    /// The rule as it is written.
    pub rule: String,
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// Whether it is in the person's own file: only such rules can be removed.
    pub own: bool,
    /// Whether it counts: a project's rule that allows something does not before the person trusts the file.
    pub counts: bool,
}

/// Why the rules could not be listed or changed. Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum RuleFileError {
    /// A file cannot be read or written, or has a mistake.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// It is no rule.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// The file is written in a way that cannot be changed safely.
    #[error("{path} is written in a way that Posse does not change; edit it yourself")]
    NotEditable {
        /// The file.
        path: ShownPath,
    },
}

/// Rules with their places.
#[derive(Default, Deserialize)]
#[serde(default)]
struct RuleSection {
    approval: RuleArrays,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct RuleArrays {
    allow: Option<Spanned<Vec<Spanned<String>>>>,
    ask: Option<Spanned<Vec<Spanned<String>>>>,
    deny: Option<Spanned<Vec<Spanned<String>>>>,
}

impl RuleArrays {
    fn of(&self, kind: RuleKind) -> Option<&Spanned<Vec<Spanned<String>>>> {
        match kind {
            RuleKind::Allow => self.allow.as_ref(),
            RuleKind::Ask => self.ask.as_ref(),
            RuleKind::Deny => self.deny.as_ref(),
        }
    }
}

fn arrays(text: &str) -> RuleArrays {
    toml::from_str::<RuleSection>(text).unwrap_or_default().approval
}

/// The rules of the person's file and of the project that `folder` is in, in the order in which they stand.
pub fn list_rules(paths: &Paths, folder: &Path) -> Result<Vec<ListedRule>, ConfigError> {
    let own = paths.shown(&paths.config);
    let text = read(&own)?;
    let mut rules = listed(&text, &own, true, true)?;
    if let Some((path, text)) = project_file(folder, paths.surroundings())? {
        let trusted = Trusted::load(paths)?.holds(path.path(), &text);
        rules.extend(listed(&text, &path, false, trusted)?);
    }
    Ok(rules)
}

fn listed(text: &str, path: &ShownPath, own: bool, trusted: bool) -> Result<Vec<ListedRule>, ConfigError> {
    parse(text, path)?;
    let arrays = arrays(text);
    let mut rules = Vec::new();
    for kind in RuleKind::ALL {
        for rule in arrays.of(kind).map(Spanned::get_ref).into_iter().flatten() {
            let line = text[..rule.span().start.min(text.len())].matches('\n').count() + 1;
            let counts = trusted || kind != RuleKind::Allow;
            let (rule, file) = (rule.get_ref().clone(), path.path().to_path_buf());
            rules.push(ListedRule { kind, rule, file, line, own, counts });
        }
    }
    rules.sort_by_key(|rule| rule.line);
    Ok(rules)
}

/// Saves a rule in the person's own file. False if it is there already.
pub fn save_rule(paths: &Paths, kind: RuleKind, rule: &str) -> Result<bool, RuleFileError> {
    let rule = rule.trim();
    change(paths, |text, file| {
        let rules = rules_of(&mut file.approval, kind);
        if rules.iter().any(|there| there == rule) {
            return None;
        }
        rules.push(rule.to_owned());
        Some(with_rule(text, kind, rule))
    })
}

/// Removes a rule from the person's own file, as it is listed. False if it is not there.
pub fn remove_rule(paths: &Paths, kind: RuleKind, rule: &str) -> Result<bool, RuleFileError> {
    let rule = rule.trim();
    change(paths, |text, file| {
        let rules = rules_of(&mut file.approval, kind);
        let at = rules.iter().position(|there| there.trim() == rule)?;
        rules.remove(at);
        Some(without_rule(text, kind, at))
    })
}

fn rules_of(approval: &mut ApprovalFile, kind: RuleKind) -> &mut Vec<String> {
    match kind {
        RuleKind::Allow => &mut approval.allow,
        RuleKind::Ask => &mut approval.ask,
        RuleKind::Deny => &mut approval.deny,
    }
}

/// Changes the person's file: `edit` gets its text and what it means, changes the meaning, and returns the new text; none if
/// there is nothing to do. Only a text with exactly that meaning is written.
pub(super) fn change(
    paths: &Paths,
    edit: impl FnOnce(&str, &mut FileConfig) -> Option<Option<String>>,
) -> Result<bool, RuleFileError> {
    let path = paths.shown(&paths.config);
    // Where the file itself is: a link to it stays a link.
    let real = match path.path().symlink_metadata() {
        Ok(_) => path.path().canonicalize().map_err(|error| unwritable(&path, error))?,
        Err(_) => path.path().to_path_buf(),
    };
    let folder = real.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|error| unwritable(&path, error))?;
    // Held until the file is written: who comes at the same time waits, and then reads what is there.
    let _turn = lock(folder).map_err(|error| unwritable(&path, error))?;
    let text = read(&path)?;
    let before: FileConfig = parse(&text, &path)?;
    let mut wanted = before;
    let Some(new) = edit(&text, &mut wanted) else { return Ok(false) };
    Rules::parse(&wanted.approval.allow, &wanted.approval.ask, &wanted.approval.deny)?;
    let not_editable = || RuleFileError::NotEditable { path: path.clone() };
    let new = new.ok_or_else(not_editable)?;
    if new.len() as u64 > CONFIG_BYTES_MAX || !parse(&new, &path).is_ok_and(|found| found == wanted) {
        return Err(not_editable());
    }
    names::check(&new, &path)?;
    replace(&real, &new).map_err(|error| unwritable(&path, error))?;
    Ok(true)
}

fn unwritable(path: &ShownPath, error: std::io::Error) -> ConfigError {
    ConfigError::Unwritable { path: path.clone(), source: error.into() }
}

/// The text of the file; nothing if there is none.
fn read(path: &ShownPath) -> Result<String, ConfigError> {
    let unreadable =
        |source: std::io::Error| ConfigError::Unreadable { path: path.clone(), source: source.into() };
    let file = match File::open(path.path()) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(String::new()),
        Err(error) => return Err(unreadable(error)),
    };
    let mut text = String::new();
    file.take(CONFIG_BYTES_MAX + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > CONFIG_BYTES_MAX {
        return Err(unreadable(std::io::ErrorKind::FileTooLarge.into()));
    }
    Ok(text)
}

/// Waits for others that change the file; the lock goes with the returned value, and leaves nothing behind.
#[cfg(unix)]
fn lock(folder: &Path) -> std::io::Result<File> {
    let folder = File::open(folder)?;
    folder.lock()?;
    Ok(folder)
}

#[cfg(not(unix))]
fn lock(folder: &Path) -> std::io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(folder.join(".rules.lock"))?;
    file.lock()?;
    Ok(file)
}

/// Puts a new file in the place of another at once, with the permissions of the other; a new one is the owner's alone.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.new", std::process::id()));
    let temporary = path.with_file_name(name);
    // What a crash left behind is in the way.
    let _ = std::fs::remove_file(&temporary);
    let write = || {
        let mut file = crate::paths::create_new_private(&temporary)?;
        if let Ok(old) = std::fs::metadata(path) {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

/// The text with one more rule at the end of its list; none where no place for it is found.
fn with_rule(text: &str, kind: RuleKind, rule: &str) -> Option<String> {
    let quoted = toml::Value::String(rule.to_owned()).to_string();
    let arrays = arrays(text);
    let (at, added) = match arrays.of(kind) {
        Some(list) => match list.get_ref().last() {
            Some(last) => {
                let (at, lead) = (last.span().end, indent(text, last.span().start));
                (at, lead.map_or(format!(", {quoted}"), |lead| format!(",\n{lead}{quoted}")))
            }
            None => (list.span().start + 1, quoted),
        },
        None => {
            let line = format!("{} = [{quoted}]\n", kind.word());
            match section(text) {
                Some(at) if text[..at].ends_with('\n') => (at, line),
                Some(at) => (at, format!("\n{line}")),
                None => {
                    let gap = if text.is_empty() {
                        ""
                    } else if text.ends_with('\n') {
                        "\n"
                    } else {
                        "\n\n"
                    };
                    (text.len(), format!("{gap}[approval]\n{line}"))
                }
            }
        }
    };
    Some(format!("{}{added}{}", text.get(..at)?, text.get(at..)?))
}

/// What stands before a value that is the first of its line; none if it is not.
fn indent(text: &str, start: usize) -> Option<&str> {
    let line = text[..start].rfind('\n')? + 1;
    let lead = &text[line..start];
    lead.chars().all(char::is_whitespace).then_some(lead)
}

/// The end of the line `[approval]`.
fn section(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        at += line.len();
        let head = line.split('#').next().unwrap_or_default().trim();
        let name = head.strip_prefix('[').and_then(|head| head.strip_suffix(']'));
        if name.is_some_and(|name| name.trim() == "approval") {
            return Some(at);
        }
    }
    None
}

/// The text without the rule in a place of its list.
fn without_rule(text: &str, kind: RuleKind, at: usize) -> Option<String> {
    let arrays = arrays(text);
    let list = arrays.of(kind)?.get_ref();
    let span = list.get(at)?.span();
    let comma = |from: usize| comma_after(text, from).map(|at| at..at + 1);
    // Its own comma goes with it; the last one without a comma takes the one before it.
    let before =
        at.checked_sub(1).and_then(|before| list.get(before)).and_then(|before| comma(before.span().end));
    let mut cuts: Vec<Range<usize>> = vec![span.clone()];
    cuts.extend(comma(span.end).or(before));
    cuts.sort_by_key(|cut| cut.start);
    let (mut new, mut from) = (String::new(), 0);
    for cut in &cuts {
        new.push_str(text.get(from..cut.start)?);
        from = cut.end;
    }
    let rest = text.get(from..)?;
    // A line that held nothing else goes; so does the gap behind a value within a line.
    let begins = new.rfind('\n').map_or(0, |at| at + 1);
    let alone = new[begins..].trim().is_empty() && begins > 0;
    match rest.split_once('\n') {
        Some((end, rest)) if alone && end.trim().is_empty() => Some(format!("{}{rest}", &new[..begins])),
        _ if rest.starts_with(']') => Some(format!("{}{rest}", new.trim_end_matches(' '))),
        _ if new.ends_with([' ', '[']) => Some(format!("{new}{}", rest.trim_start_matches(' '))),
        _ => Some(format!("{new}{rest}")),
    }
}

/// The next comma behind white space and comments, if there is one before anything else.
fn comma_after(text: &str, from: usize) -> Option<usize> {
    let (mut at, mut comment) = (from, false);
    for c in text.get(from..)?.chars() {
        match c {
            '\n' => comment = false,
            '#' => comment = true,
            ',' if !comment => return Some(at),
            c if comment || c.is_whitespace() => {}
            _ => return None,
        }
        at += c.len_utf8();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_added_and_everything_else_stays() {
        let cases = [
            ("", "[approval]\nallow = [\"x\"]\n"),
            ("model = \"m\"", "model = \"m\"\n\n[approval]\nallow = [\"x\"]\n"),
            ("[approval] # mine\nmode = \"ask\"\n", "[approval] # mine\nallow = [\"x\"]\nmode = \"ask\"\n"),
            ("[ approval ]", "[ approval ]\nallow = [\"x\"]\n"),
            ("[approval]\nallow = []\n", "[approval]\nallow = [\"x\"]\n"),
            ("[approval]\nallow = [ # none\n]\n", "[approval]\nallow = [\"x\" # none\n]\n"),
            ("[approval]\nallow = [\"a\"] # b\n", "[approval]\nallow = [\"a\", \"x\"] # b\n"),
            (
                "[approval]\nallow = [\n  \"a\", # b\n]\n",
                "[approval]\nallow = [\n  \"a\",\n  \"x\", # b\n]\n",
            ),
            ("[approval]\nallow = [\n\t'a'\n]\n", "[approval]\nallow = [\n\t'a',\n\t\"x\"\n]\n"),
            ("approval.allow = [\"a\"]\n", "approval.allow = [\"a\", \"x\"]\n"),
        ];
        assert_eq!(cases.len(), 10);
        for (text, want) in cases {
            let new = with_rule(text, RuleKind::Allow, "x").unwrap();
            assert_eq!(new, want, "of {text:?}");
            toml::from_str::<toml::Table>(&new).unwrap();
        }
    }

    #[test]
    fn rules_are_removed_and_everything_else_stays() {
        let cases = [
            ("[approval]\nask = [\"a\"]\n", 0, "[approval]\nask = []\n"),
            ("[approval]\nask = [\"a\", \"b\"] # c\n", 0, "[approval]\nask = [\"b\"] # c\n"),
            ("[approval]\nask = [\"a\", \"b\"]\n", 1, "[approval]\nask = [\"a\"]\n"),
            ("[approval]\nask = [\"a\", \"b\", \"c\"]\n", 1, "[approval]\nask = [\"a\", \"c\"]\n"),
            ("[approval]\nask = [\n  \"a\",\n  \"b\",\n]\n", 0, "[approval]\nask = [\n  \"b\",\n]\n"),
            (
                "[approval]\nask = [\n  \"a\", # x, y\n  \"b\"\n]\n",
                1,
                "[approval]\nask = [\n  \"a\" # x, y\n]\n",
            ),
            (
                "[approval]\nask = [\n  \"a\" # one,\n  , \"b\"\n]\n",
                0,
                "[approval]\nask = [\n   # one,\n  \"b\"\n]\n",
            ),
        ];
        assert_eq!(cases.len(), 7);
        for (text, at, want) in cases {
            let new = without_rule(text, RuleKind::Ask, at).unwrap();
            assert_eq!(new, want, "of {text:?}");
            toml::from_str::<toml::Table>(&new).unwrap();
        }
    }
}
