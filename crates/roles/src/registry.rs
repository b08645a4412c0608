//! All roles there are, by any of their names.

use posse_policy::{meet, writable_roots};
use posse_protocol::{
    Approval, Budget, Files, Grant, HOME, Isolation, NameRules, Network, Role, RoleOrigin, Shell,
};

use crate::builtin::{Team, builtin};
use crate::error::{Accepted, UnknownRole};
use crate::limits::LIKENESS_MIN;
use crate::limits::ROLES_MAX;
use crate::name::{folded, shortened};
use crate::search::fitting;
use crate::warning::{Audience, Warning};

/// The role of a task that names none.
pub const DEFAULT_ROLE: &str = "general";

/// Every role, by name and alias. Case and separators do not count; a name goes before an alias.
#[derive(Clone, Debug, PartialEq)]
pub struct Roles {
    entries: Vec<Entry>,
    team: Team,
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
    on: Option<String>,
    inherit_memory: Option<bool>,
    budget: Budget,
    max_output_tokens: Option<u32>,
    single: bool,
    prompt: String,
    /// Whose role it was, for messages.
    of_person: bool,
}

impl Roles {
    /// The roles that come with Posse.
    pub fn builtin(team: Team) -> Self {
        let mut roles = Self { entries: Vec::new(), team };
        for role in builtin(team) {
            roles.add(role);
        }
        roles
    }

    /// Adds a role; one of the same name gives way to it. Returns what its author, and who uses it, should know.
    ///
    /// A role of the project is a stranger's: under a name that was known before, it can do and spend at most what that
    /// name stood for, and it takes no alias from another role.
    pub fn add(&mut self, mut role: Role) -> Vec<Warning> {
        let folded = folded(&role.name);
        let at = self.entries.iter().position(|entry| entry.folded == folded);
        if at.is_none() && self.entries.len() >= ROLES_MAX {
            return vec![Warning::new(1, format!("there are {ROLES_MAX} roles already, so it is left out"))];
        }
        let before = at.map(|at| &self.entries[at]);
        let stranger = matches!(role.origin, RoleOrigin::Project(_));
        let ceiling = before.filter(|_| stranger).and_then(Entry::ceiling);
        let mut said = Vec::new();
        if let Some(ceiling) = &ceiling {
            said.extend(ceiling.hold(&mut role));
        }
        said.extend(before.and_then(|entry| same_owner(&entry.role.origin, &role.origin)));
        if stranger {
            said.extend(self.takes_alias(&role, at.is_some()));
            said.extend(self.drop_taken_aliases(&mut role, &folded).map(|text| Warning::new(1, text)));
        }
        let entry = Entry { folded, role, ceiling };
        match at {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
        said
    }

    /// Adds a role of a file that counts as it is written: the person's own, or one that the person has trusted.
    pub(crate) fn add_trusted(&mut self, role: Role) {
        let folded = folded(&role.name);
        let at = self.entries.iter().position(|entry| entry.folded == folded);
        if at.is_none() && self.entries.len() >= ROLES_MAX {
            return;
        }
        // What the project's other files make of the name is held to what it stood for before any of them.
        let ceiling = at.and_then(|at| self.entries[at].ceiling());
        let entry = Entry { folded, role, ceiling };
        match at {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
    }

    /// The role of the main agent, where it leads the delegation team.
    pub fn lead(&self) -> Option<&Role> {
        let mut entries = self.entries.iter().filter(|_| self.team == Team::With);
        entries.find(|entry| entry.folded == "main").map(|entry| &entry.role)
    }

    /// Gives a role another model.
    pub fn set_model(&mut self, name: &str, model: &str) -> Result<(), UnknownRole> {
        let folded = folded(&self.find(name)?.name);
        let inherit = model.eq_ignore_ascii_case("inherit");
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.folded == folded) {
            entry.role.model = (!inherit).then(|| model.to_owned());
        }
        Ok(())
    }

    /// What to say where a new name led to another role so far.
    fn takes_alias(&self, role: &Role, known: bool) -> Option<Warning> {
        let other = self.entry(&role.name).filter(|_| !known)?;
        let text = format!(
            "the name {:?} led to the role {} so far; here it leads to the project's prompt",
            shortened(&role.name),
            shortened(&other.role.name)
        );
        Some(Warning { told: Audience::UntilTrusted, ..Warning::new(1, text) })
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
                missing.push((self.entries[at].role.name.clone(), Warning::new(1, text)));
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
        self.find_among(name, |_| true)
    }

    /// The role of that name or alias. If there is none, only those that `may` be used are told of instead.
    pub fn find_among(&self, name: &str, may: impl Fn(&Role) -> bool) -> Result<&Role, UnknownRole> {
        self.entry(name).map(|entry| &entry.role).ok_or_else(|| {
            let usable = |name: &String| self.entry(name).is_some_and(|entry| may(&entry.role));
            let mut accepted = self.accepted();
            accepted.retain(|one| usable(&one.name));
            let fitting = fitting(name, self.iter().filter(|role| may(role)));
            let likely = self.likely(name).filter(usable);
            UnknownRole { wanted: shortened(name), accepted, likely, fitting }
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
                on: self.role.on.clone(),
                inherit_memory: self.role.inherit_memory,
                budget: self.role.budget,
                max_output_tokens: self.role.max_output_tokens,
                single: self.role.single,
                prompt: self.role.prompt.clone(),
                of_person: matches!(self.role.origin, RoleOrigin::User(_)),
            }),
        }
    }
}

impl Ceiling {
    /// Holds a project's role to it. Says what does not go through, and that the prompt is another.
    fn hold(&self, role: &mut Role) -> Vec<Warning> {
        let mut said = Vec::new();
        let (name, whose) = (shortened(&role.name), if self.of_person { "your" } else { "the built-in" });
        if role.prompt != self.prompt {
            let text = format!("the project's file replaces the prompt of {whose} role {name:?}");
            said.push(Warning { told: Audience::UntilTrusted, ..Warning::new(1, text) });
        }
        let met = meet(&self.grant, &role.grant);
        if claims(&met) != claims(&role.grant) {
            said.push(Warning::new(1, format!(
                "the project's {name:?} keeps at most the rights of the role it replaces; choose another name for one that may do more"
            )));
        }
        role.grant = met;
        let (budget, output) =
            (lower(&self.budget, &role.budget), least(self.max_output_tokens, role.max_output_tokens));
        if raises(&role.budget, &budget)
            || role.max_output_tokens != output && role.max_output_tokens.is_some()
        {
            said.push(Warning::new(1, format!(
                "the project's {name:?} may spend at most what the role it replaces may; lower limits count, higher ones do not"
            )));
        }
        (role.budget, role.max_output_tokens) = (budget, output);
        role.tools_listed_by_task |= self.tools_listed_by_task;
        role.single |= self.single;
        // One that kept to a checkout of its own does not come out of it.
        if self.isolation == Some(Isolation::Worktree) {
            role.isolation = self.isolation;
        }
        // Where the person's code goes is not the project's to say; that it stays at home is.
        if role.on.as_deref() != Some(HOME) {
            if role.on.is_some() && role.on != self.on {
                let text =
                    format!("the project's {name:?} runs where the role that it replaces runs, or at home");
                said.push(Warning::new(1, text));
            }
            role.on.clone_from(&self.on);
        }
        // One that was to know nothing of other sessions still does not.
        if self.inherit_memory == Some(false) {
            role.inherit_memory = self.inherit_memory;
        }
        said
    }
}

/// The lower of two budgets, limit by limit; none is no limit.
fn lower(a: &Budget, b: &Budget) -> Budget {
    Budget {
        turns: least(a.turns, b.turns),
        tokens: least(a.tokens, b.tokens),
        time_ms: least(a.time_ms, b.time_ms),
        cost_usd: least(a.cost_usd, b.cost_usd),
    }
}

fn least<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        (a, b) => a.or(b),
    }
}

/// Whether a budget asks for more than there is.
fn raises(asked: &Budget, given: &Budget) -> bool {
    let more = |asked: Option<u64>, given: Option<u64>| asked.is_some() && asked != given;
    more(asked.turns.map(u64::from), given.turns.map(u64::from))
        || more(asked.tokens, given.tokens)
        || more(asked.time_ms, given.time_ms)
        || (asked.cost_usd.is_some() && asked.cost_usd != given.cost_usd)
}

/// The rights that an author would miss. Lists of names are left out: those of the replaced role are always added.
fn claims(grant: &Grant) -> (Files, Shell, &Network, Vec<String>, Approval) {
    (grant.files, grant.shell, &grant.network, writable_roots(&grant.writes), grant.approval)
}

/// What to say when two files of one owner have the same name.
fn same_owner(before: &RoleOrigin, after: &RoleOrigin) -> Option<Warning> {
    match (before, after) {
        (RoleOrigin::User(path), RoleOrigin::User(_))
        | (RoleOrigin::Project(path), RoleOrigin::Project(_)) => {
            Some(Warning::new(1, format!("it takes the place of {path}, which has the same name")))
        }
        _ => None,
    }
}
