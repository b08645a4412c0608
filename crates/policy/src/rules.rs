//! The person's rules, `allow`, `ask` or `deny` of `tool` or `tool(pattern)`, and what they are about.
//!
//! A rule that allows is read narrowly and one that denies or asks is read generously. A command is allowed only word for
//! word: there is no pattern of shell text that would not also allow something else.

use std::fmt;

use posse_protocol::clip::clipped;
use serde::{Deserialize, Serialize};

use crate::hidden::HiddenPaths;
use crate::limits::{RULE_BYTES_MAX, RULES_MAX, SHOWN_CHARS_MAX};
use crate::paths::{clean_path, resolved};
use crate::pattern::{has_wildcard, literal, matches};
use crate::wish::{Act, Wish};
use crate::{address, command, own_name};

/// The name by which rules speak of commands that leave the sandbox. Rules about the tool itself are about what it does
/// inside.
pub(crate) const LEAVE: &str = "leave";
/// The name by which rules speak of files that other programs run or obey by themselves.
pub(crate) const OBEYED: &str = "obeyed";
/// What that begins with for other tools that do inside what they also do outside: notes for all projects.
const LEAVE_BY: &str = "leave:";
const SHELL: &str = "shell";
/// Writes where no other tool does, so its own name speaks of that.
const SKILL_SAVE: &str = "skill_save";

/// The rules of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Texts", into = "Texts")]
pub struct Rules {
    allow: Vec<Rule>,
    ask: Vec<Rule>,
    deny: Vec<Rule>,
    /// What a person has allowed when asked.
    answered: Vec<Rule>,
}

/// Why a rule is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// It is not of the form `tool` or `tool(pattern)`.
    #[error(
        "{rule:?} is no rule; write a tool such as edit_file, or a tool and a pattern such as edit_file(src/*)"
    )]
    Malformed {
        /// The rule, shortened.
        rule: String,
    },
    /// It would allow commands by a pattern.
    #[error(
        "{rule:?} would allow commands by a pattern, and no pattern of shell text is safe (\"cargo *\" also fits \"cargo x; rm -rf .\"); write the exact command, or shell alone to allow every command inside the sandbox"
    )]
    CommandPattern {
        /// The rule, shortened.
        rule: String,
    },
    /// It is too long.
    #[error("a rule has at most {RULE_BYTES_MAX} bytes, and {rule:?} has more; shorten it")]
    TooLong {
        /// The rule, shortened.
        rule: String,
    },
    /// There are too many.
    #[error("there are more than {RULES_MAX} rules of one kind; use patterns such as edit_file(src/*)")]
    TooMany,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    /// A pattern of tool names, ours where we have one.
    tool: String,
    /// None is about every call.
    pattern: Option<String>,
}

/// Rules as they are written down.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    ask: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    answered: Vec<String>,
}

impl Rules {
    /// The tool that a rule as it is written is about.
    pub fn tool_of(rule: &str) -> &str {
        rule.split('(').next().unwrap_or_default().trim()
    }

    /// Reads rules as a person writes them.
    pub fn parse(allow: &[String], ask: &[String], deny: &[String]) -> Result<Self, RuleError> {
        let rules = Self { allow: read(allow)?, ask: read(ask)?, deny: read(deny)?, answered: Vec::new() };
        let mut by_pattern = rules.allow.iter().filter(|rule| {
            let commands = [SHELL, LEAVE].iter().any(|tool| matches(&rule.tool, tool));
            commands && rule.pattern.as_deref().is_some_and(has_wildcard)
        });
        match by_pattern.next() {
            Some(rule) => Err(RuleError::CommandPattern { rule: shortened(&rule.to_string()) }),
            None => Ok(rules),
        }
    }

    /// Allows from now on what a person's answer says, also where an `ask` rule wanted the question. A command is allowed
    /// as it stands, `*` and all.
    pub fn add_allow(&mut self, pattern: &str) -> Result<(), RuleError> {
        let rule = Rule::read(pattern)?;
        if !self.answered.contains(&rule) {
            if self.answered.len() >= RULES_MAX {
                return Err(RuleError::TooMany);
            }
            self.answered.push(rule);
        }
        Ok(())
    }

    /// What `deny` rules keep from being read by path, for whoever has to keep it from being read in other ways.
    pub fn hidden(&self) -> HiddenPaths {
        let reads = self.deny.iter().filter(|rule| rule.tool_reads());
        HiddenPaths::new(reads.filter_map(|rule| rule.pattern.as_deref()))
    }

    /// Forgets every answer that lets something leave the sandbox. What a person has written down as a rule stays.
    pub fn end_leaving(&mut self) {
        self.answered
            .retain(|rule| ![LEAVE, SKILL_SAVE].contains(&&*rule.tool) && !rule.tool.starts_with(LEAVE_BY));
    }

    /// Whether a rule allows what is wished.
    pub(crate) fn allows(&self, wish: &Wish<'_>) -> bool {
        self.allow.iter().any(|rule| rule.allows(wish))
    }

    /// Whether a rule allows the very words of what is wished.
    pub(crate) fn names(&self, wish: &Wish<'_>) -> bool {
        self.allow.iter().any(|rule| rule.pattern.is_some() && rule.allows(wish))
    }

    /// Whether a person has said yes to it before.
    pub(crate) fn is_answered(&self, wish: &Wish<'_>) -> bool {
        self.answered.iter().any(|rule| rule.allows(wish))
    }

    /// The rule that wants a person to be asked.
    pub(crate) fn asks(&self, wish: &Wish<'_>) -> Option<String> {
        self.ask.iter().find(|rule| rule.catches(wish)).map(|rule| shortened(&rule.to_string()))
    }

    /// The rule that forbids it.
    pub(crate) fn denies(&self, wish: &Wish<'_>) -> Option<String> {
        self.deny.iter().find(|rule| rule.catches(wish)).map(|rule| shortened(&rule.to_string()))
    }
}

/// The name by which rules speak of what one of Posse's own tools does outside the sandbox, where that is not the tool's.
/// A yes to a note is none to a command, whatever the note says.
pub(crate) fn outside(wish: &Wish<'_>) -> Option<String> {
    match own_name(wish.tool).filter(|_| wish.act == Act::Leave)? {
        SHELL => Some(LEAVE.to_owned()),
        tool => Some(format!("{LEAVE_BY}{tool}")),
    }
}

impl Rule {
    fn read(text: &str) -> Result<Self, RuleError> {
        if text.len() > RULE_BYTES_MAX {
            return Err(RuleError::TooLong { rule: shortened(text) });
        }
        let malformed = || RuleError::Malformed { rule: shortened(text) };
        let text = text.trim();
        let (tool, pattern) = match text.split_once('(') {
            Some((tool, rest)) => (tool.trim(), Some(rest.strip_suffix(')').ok_or_else(malformed)?)),
            None => (text, None),
        };
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':' | '/' | '*');
        if tool.is_empty() || !tool.chars().all(is_name) || pattern.is_some_and(str::is_empty) {
            return Err(malformed());
        }
        let tool = own_name(tool).unwrap_or(tool).to_owned();
        Ok(Self { tool, pattern: pattern.filter(|pattern| *pattern != "*").map(str::to_owned) })
    }

    fn allows(&self, wish: &Wish<'_>) -> bool {
        if let Some(name) = outside(wish) {
            return self.tool == name && self.pattern.as_deref().is_none_or(|pattern| pattern == wish.what);
        }
        if let Act::Obeyed(_) = wish.act {
            return self.tool == OBEYED && self.pattern.as_deref() == Some(&literal(wish.what));
        }
        if !matches(&self.tool, wish.tool) {
            return false;
        }
        let Some(pattern) = self.pattern.as_deref() else { return true };
        match Topic::of(wish) {
            Topic::Command => pattern == wish.what,
            Topic::Address => address::allows(pattern, wish.what),
            Topic::Path => {
                // What leads somewhere else by `..` is only what was named word for word.
                pattern == literal(wish.what)
                    || clean_path(wish.what).is_some_and(|path| matches(dotless(pattern), &path))
            }
            Topic::Other => matches(pattern, wish.what),
        }
    }

    /// Whether it is about reading files: then a name counts at any depth.
    fn tool_reads(&self) -> bool {
        matches(&self.tool, "read_file")
    }

    fn catches(&self, wish: &Wish<'_>) -> bool {
        // Whoever may not edit a file may not overwrite it either.
        let twin = match wish.tool {
            "edit_file" => "write_file",
            "write_file" => "edit_file",
            tool => tool,
        };
        let kind = match wish.act {
            Act::Leave => LEAVE,
            Act::Obeyed(_) => OBEYED,
            _ => wish.tool,
        };
        let outside = outside(wish);
        let names = [wish.tool, twin, kind, outside.as_deref().unwrap_or(kind)];
        if !names.iter().any(|name| matches(&self.tool, name)) {
            return false;
        }
        let Some(pattern) = self.pattern.as_deref() else { return true };
        match Topic::of(wish) {
            Topic::Command => command::catches(pattern, wish.what),
            Topic::Address => address::catches(pattern, wish.what),
            Topic::Path => {
                let pattern = dotless(pattern).trim_end_matches('/');
                let below = format!("{pattern}/*");
                let fits = |path: &str| matches(pattern, path) || matches(&below, path);
                let by_name =
                    self.tool_reads() && HiddenPaths::new([pattern].into_iter()).hides("", wish.what);
                by_name || fits(wish.what) || resolved(wish.what).is_some_and(|path| fits(&path))
            }
            Topic::Other => matches(pattern, wish.what),
        }
    }
}

/// What the words of a wish are.
enum Topic {
    Command,
    Address,
    Path,
    Other,
}

impl Topic {
    fn of(wish: &Wish<'_>) -> Self {
        match (wish.act, own_name(wish.tool)) {
            (Act::Command(_), _) | (_, Some(SHELL)) => Self::Command,
            (_, Some("web_fetch")) => Self::Address,
            (Act::Read | Act::Edit | Act::Obeyed(_), _) | (Act::Leave, Some(_)) => Self::Path,
            (Act::Network | Act::Leave | Act::Outside { .. }, _) => Self::Other,
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.pattern {
            Some(pattern) => write!(f, "{}({pattern})", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

impl TryFrom<Texts> for Rules {
    type Error = RuleError;

    fn try_from(texts: Texts) -> Result<Self, RuleError> {
        let rules = Self::parse(&texts.allow, &texts.ask, &texts.deny)?;
        Ok(Self { answered: read(&texts.answered)?, ..rules })
    }
}

impl From<Rules> for Texts {
    fn from(rules: Rules) -> Self {
        let texts = |rules: Vec<Rule>| rules.iter().map(ToString::to_string).collect();
        Self {
            allow: texts(rules.allow),
            ask: texts(rules.ask),
            deny: texts(rules.deny),
            answered: texts(rules.answered),
        }
    }
}

fn read(texts: &[String]) -> Result<Vec<Rule>, RuleError> {
    if texts.len() > RULES_MAX {
        return Err(RuleError::TooMany);
    }
    texts.iter().map(|text| Rule::read(text)).collect()
}

fn dotless(pattern: &str) -> &str {
    pattern.strip_prefix("./").unwrap_or(pattern)
}

fn shortened(text: &str) -> String {
    clipped(text, SHOWN_CHARS_MAX)
}
