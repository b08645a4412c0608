//! Why a file is no role, and why a name is none.

use std::fmt;

use crate::limits::{FILE_BYTES_MAX, LIST_ITEMS_MAX, NAME_CHARS_MAX, ROLES_ACCEPTED_MAX, ROLES_LISTED_MAX};

/// A file that cannot be a role.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoleError {
    /// It is too large.
    #[error(
        "the file has {bytes} bytes, and {FILE_BYTES_MAX} is the limit; move details into files that the agent can read"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It does not begin with front matter.
    #[error(
        "there is no front matter; begin the file with a line ---, then name: and description:, then another line ---"
    )]
    NoFrontMatter,
    /// Its front matter says nothing about an agent.
    #[error("its front matter says nothing about an agent; add name: and description:")]
    Page,
    /// Its front matter has no end.
    #[error("the front matter that begins here has no end; close it with a line ---")]
    Unclosed {
        /// Where it begins.
        line: usize,
    },
    /// It says neither what it is called nor what it does.
    #[error("there is neither a name: nor a text below the front matter; write both")]
    Empty,
    /// It has no prompt, and there is no role of its name whose prompt it could keep.
    #[error(
        "there is no text below the front matter, and no role {name:?} whose prompt it could keep{}; write the prompt, or name a role that is there",
        .likely.as_ref().map(|likely| format!(" (did you mean {likely}?)")).unwrap_or_default()
    )]
    NothingToChange {
        /// The name, shortened.
        name: String,
        /// The name that is most like it, if one is.
        likely: Option<String>,
    },
    /// Its name cannot be one.
    #[error("{name:?} cannot be a role's name: {why}")]
    BadName {
        /// Where it stands.
        line: usize,
        /// The name, shortened.
        name: String,
        /// What is wrong with it.
        why: NameFault,
    },
    /// A list is too long.
    #[error("{key} has more than {LIST_ITEMS_MAX} entries; use patterns such as mcp__*")]
    TooMany {
        /// Where it stands.
        line: usize,
        /// Its key.
        key: String,
    },
}

impl RoleError {
    /// Whether the file is no agent at all, rather than one that is wrong.
    pub fn is_page(&self) -> bool {
        matches!(self, Self::NoFrontMatter | Self::Page)
    }

    /// The line it is about, from 1.
    pub fn line(&self) -> usize {
        match self {
            Self::TooLarge { .. }
            | Self::NoFrontMatter
            | Self::Page
            | Self::Empty
            | Self::NothingToChange { .. } => 1,
            Self::Unclosed { line } | Self::BadName { line, .. } | Self::TooMany { line, .. } => *line,
        }
    }
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// There is no letter or digit in it.
    #[error("it needs a letter or a digit")]
    Blank,
    /// It looks like a flag.
    #[error("it may not begin with -")]
    Dash,
    /// It has a character that means something else.
    #[error("it may not have : or * or control characters in it")]
    Character,
    /// It is too long.
    #[error("it is longer than {NAME_CHARS_MAX} characters")]
    Long,
}

/// No role is called that. Says which there are, so that a model can choose again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRole {
    /// What was asked for, shortened.
    pub wanted: String,
    /// Every role and its other names.
    pub accepted: Vec<Accepted>,
    /// The name that is most like it, if one is.
    pub likely: Option<String>,
    /// Those that its words fit, best first: name and what it is for.
    pub fitting: Vec<(String, String)>,
}

impl fmt::Display for UnknownRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no role {:?}", self.wanted)?;
        match &self.likely {
            Some(likely) => write!(f, "; did you mean {likely}?")?,
            None => f.write_str(".")?,
        }
        if !self.fitting.is_empty() {
            f.write_str(" These may fit:")?;
            for (name, about) in &self.fitting {
                write!(f, "\n- {name}: {about}")?;
            }
            if self.accepted.len() > ROLES_ACCEPTED_MAX {
                return Ok(());
            }
            f.write_str("\n")?;
        } else {
            f.write_str(" ")?;
        }
        f.write_str("Accepted: ")?;
        for (index, one) in self.accepted.iter().take(ROLES_LISTED_MAX).enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{one}")?;
        }
        match self.accepted.len().saturating_sub(ROLES_LISTED_MAX) {
            0 => f.write_str("."),
            more => write!(f, ", and {more} more; words instead of a name tell which ones fit."),
        }
    }
}

impl std::error::Error for UnknownRole {}

/// A role's name and the other names that lead to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Its name.
    pub name: String,
    /// Other names, without those that another role has.
    pub aliases: Vec<String>,
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.aliases.is_empty() { Ok(()) } else { write!(f, " ({})", self.aliases.join(", ")) }
    }
}
