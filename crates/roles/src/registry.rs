//! All roles there are, by any of their names.

use std::fmt;

use posse_policy::{meet, writable_roots};
use posse_protocol::{Approval, Files, Grant, Isolation, NameRules, Network, Role, RoleOrigin, Shell};

use crate::builtin::{Team, builtin};
use crate::error::UnknownRole;
use crate::limits::ROLES_MAX;
use crate::name::{folded, shortened};
use crate::parse::Warning;

/// The role of a task that names none.
pub const DEFAULT_ROLE: &str = "general";

/// How like a wrong name must be to be suggested, from 0 to 1.
const LIKENESS_MIN: f64 = 0.75;

/// Every role, by name and alias. Case and separators do not count; a name goes before an alias.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    folded: String,
    role: Role,
    /// The most that a file of the project may make of this name: what it could do before the project was looked at.
    ceiling: Option<Ceiling>,
}

#[derive(Clone, Debug, PartialEq)]
struct Ceiling {
    grant: Grant,
    tools_listed_by_task: bool,
    isolation: Option<Isolation>,
    inherit_memory: Option<bool>,
}

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

impl Roles {
    /// The roles that come with Posse.
    pub fn builtin(team: Team) -> Self {
        let mut roles = Self { entries: Vec::new() };
        for role in builtin(team) {
            roles.add(role);
        }
        roles
    }

    /// Adds a role; one of the same name gives way to it. Returns what its author should know.
    ///
    /// A role of the project is a stranger's: under a name that was known before, it can do at most what that name
    /// stood for, and it takes no alias from another role.
    pub fn add(&mut self, mut role: Role) -> Option<Warning> {
        let folded = folded(&role.name);
        let at = self.entries.iter().position(|entry| entry.folded == folded);
        if at.is_none() && self.entries.len() >= ROLES_MAX {
            return warning(format!("there are {ROLES_MAX} roles already, so it is left out"));
        }
        let before = at.map(|at| &self.entries[at]);
        let stranger = matches!(role.origin, RoleOrigin::Project(_));
        let ceiling = before.filter(|_| stranger).and_then(Entry::ceiling);
        let mut said = before.and_then(|entry| same_owner(&entry.role.origin, &role.origin));
        if let Some(ceiling) = &ceiling {
            let met = meet(&ceiling.grant, &role.grant);
            if claims(&met) != claims(&role.grant) {
                said = Some(format!(
                    "the project's {:?} keeps at most the rights of the role it replaces; choose another name for one that may do more",
                    shortened(&role.name)
                ));
            }
            role.grant = met;
            role.tools_listed_by_task |= ceiling.tools_listed_by_task;
            // One that kept to a checkout of its own does not come out of it.
            if ceiling.isolation == Some(Isolation::Worktree) {
                role.isolation = ceiling.isolation;
            }
            // One that was to know nothing of other sessions still does not.
            if ceiling.inherit_memory == Some(false) {
                role.inherit_memory = ceiling.inherit_memory;
            }
        }
        if stranger {
            let taken = self.drop_taken_aliases(&mut role, &folded);
            said = said.or(taken);
        }
        let entry = Entry { folded, role, ceiling };
        match at {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
        said.and_then(warning)
    }

    fn drop_taken_aliases(&self, role: &mut Role, own: &str) -> Option<String> {
        let belongs = |alias: &str| self.entry(alias).is_some_and(|entry| entry.folded != own);
        let (taken, free): (Vec<_>, Vec<_>) =
            std::mem::take(&mut role.aliases).into_iter().partition(|alias| belongs(alias));
        role.aliases = free;
        (!taken.is_empty()).then(|| {
            format!("other roles are called that, so these aliases are left out: {}", taken.join(", "))
        })
    }

    /// Writes the names in every `delegates_to` as the roles write them themselves. Call it when all are added; says
    /// which role names one that is not there.
    pub fn link(&mut self) -> Vec<(String, Warning)> {
        let mut missing = Vec::new();
        for at in 0..self.entries.len() {
            let rules = &self.entries[at].role.grant.delegates;
            let linked = NameRules {
                allow: rules
                    .allow
                    .iter()
                    .map(|layer| layer.iter().map(|n| self.linked(n)).collect())
                    .collect(),
                deny: rules.deny.iter().map(|name| self.linked(name)).collect(),
            };
            for name in linked.allow.iter().flatten().filter(|n| !n.contains('*') && self.find(n).is_err()) {
                let text = format!("it may delegate to {:?}, and there is no such role", shortened(name));
                missing.push((self.entries[at].role.name.clone(), Warning { line: 1, text }));
            }
            self.entries[at].role.grant.delegates = linked;
        }
        missing
    }

    fn linked(&self, name: &str) -> String {
        self.entry(name).map_or_else(|| name.to_string(), |entry| entry.role.name.clone())
    }

    /// The role of that name or alias.
    pub fn find(&self, name: &str) -> Result<&Role, UnknownRole> {
        self.entry(name).map(|entry| &entry.role).ok_or_else(|| UnknownRole {
            wanted: shortened(name),
            accepted: self.accepted(),
            likely: self.likely(name),
        })
    }

    fn entry(&self, name: &str) -> Option<&Entry> {
        let wanted = folded(name);
        let by_alias = |entry: &&Entry| entry.role.aliases.iter().any(|alias| folded(alias) == wanted);
        let by_name = self.entries.iter().find(|entry| entry.folded == wanted);
        by_name.or_else(|| self.entries.iter().rev().find(by_alias))
    }

    fn likely(&self, wanted: &str) -> Option<String> {
        let wanted = folded(&shortened(wanted));
        let names = self.entries.iter().flat_map(|entry| {
            let alike = move |name: &String| (name.clone(), entry.role.name.clone());
            [&entry.role.name].into_iter().chain(&entry.role.aliases).map(alike)
        });
        let scored = names.map(|(name, role)| (strsim::jaro_winkler(&folded(&name), &wanted), role));
        let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.0 >= LIKENESS_MIN).then_some(best.1)
    }

    /// All of them: the built-in ones first, then in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Role> {
        self.entries.iter().map(|entry| &entry.role)
    }

    /// Every name that [`Roles::find`] knows.
    pub fn accepted(&self) -> Vec<Accepted> {
        let accepted = |entry: &Entry| {
            let leads_here =
                |alias: &&String| self.entry(alias).is_some_and(|found| found.folded == entry.folded);
            let aliases = entry.role.aliases.iter().filter(leads_here).cloned().collect();
            Accepted { name: entry.role.name.clone(), aliases }
        };
        self.entries.iter().map(accepted).collect()
    }
}

impl Entry {
    /// What a project's file of this name is held to.
    fn ceiling(&self) -> Option<Ceiling> {
        match self.role.origin {
            RoleOrigin::Project(_) => self.ceiling.clone(),
            RoleOrigin::BuiltIn | RoleOrigin::User(_) => Some(Ceiling {
                grant: self.role.grant.clone(),
                tools_listed_by_task: self.role.tools_listed_by_task,
                isolation: self.role.isolation,
                inherit_memory: self.role.inherit_memory,
            }),
        }
    }
}

/// The rights that an author would miss. Lists of names are left out: those of the replaced role are always added.
fn claims(grant: &Grant) -> (Files, Shell, &Network, Vec<String>, Approval) {
    (grant.files, grant.shell, &grant.network, writable_roots(&grant.writes), grant.approval)
}

/// What to say when two files of one owner have the same name.
fn same_owner(before: &RoleOrigin, after: &RoleOrigin) -> Option<String> {
    match (before, after) {
        (RoleOrigin::User(path), RoleOrigin::User(_))
        | (RoleOrigin::Project(path), RoleOrigin::Project(_)) => {
            Some(format!("it takes the place of {path}, which has the same name"))
        }
        _ => None,
    }
}

fn warning(text: String) -> Option<Warning> {
    Some(Warning { line: 1, text })
}
