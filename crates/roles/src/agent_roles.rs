//! Roles as a program keeps them in its settings: the section `AgentRoles` of a JSON file, with limits for all of them
//! and a list of roles whose prompts are files beside it.
//!
//! A role that is known keeps what the file does not say, its rights above all; the file can only narrow those. What
//! cannot be understood is an error: whoever names such a file wants all of it. It must not know where the file is.

use posse_protocol::{NameRules, Role, RoleOrigin};
use serde_json::{Map, Value as Json};

use crate::builtin::{Team, builtin};
use crate::completed::over;
use crate::error::RoleError;
use crate::field::Field;
use crate::fields::{cut, plain};
use crate::given::Given;
use crate::keys::FieldKey;
use crate::limits::LIKENESS_MIN;
use crate::limits::{FILE_BYTES_MAX, ROLES_MAX};
use crate::name::{folded, shortened};
use crate::registry::Roles;
use crate::values::Value;
use crate::{json_text, parse};

/// The keys of the section, as people write them.
const SECTION_KEYS: [&str; 4] = ["MaxDepth", "DefaultMaxIterations", "DefaultMaxDurationMs", "Roles"];
/// The keys of a role, as people write them; those of agent files count too.
const ROLE_KEYS: [&str; 9] = [
    "RoleId",
    "DisplayName",
    "Description",
    "ModelId",
    "SystemPromptFile",
    "CanDelegate",
    "AllowedDelegations",
    "MaxIterations",
    "MaxDurationMs",
];
const PROMPT_FILE: &str = "systempromptfile";

/// What is wrong with the file, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AgentRolesError(String);

/// The section.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentRoles {
    /// How deep the tree may grow.
    pub max_depth: Option<u32>,
    /// Turns of an agent whose role does not say.
    pub max_turns: Option<u32>,
    /// Time of an agent whose role does not say.
    pub max_time_ms: Option<u64>,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// As the file writes it.
    name: String,
    fields: Vec<Field>,
    prompt_file: Option<String>,
}

impl AgentRoles {
    /// Reads the text of a settings file.
    pub fn parse(text: &str) -> Result<Self, AgentRolesError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(AgentRolesError(RoleError::TooLarge { bytes: text.len() }.to_string()));
        }
        let json = json_text::read(text).map_err(AgentRolesError)?;
        let missing = || AgentRolesError("there is no object \"AgentRoles\" in it".to_string());
        let file = json.as_object().ok_or_else(missing)?;
        let section = file.iter().find(|(key, _)| folded(key) == "agentroles");
        let section = section.and_then(|(_, section)| section.as_object()).ok_or_else(missing)?;
        known_keys(
            section,
            "AgentRoles",
            |key| SECTION_KEYS.iter().any(|known| folded(known) == folded(key)),
            &SECTION_KEYS,
        )?;
        let list =
            get(section, "Roles").ok_or_else(|| AgentRolesError("AgentRoles has no Roles".to_string()))?;
        let list =
            list.as_array().ok_or_else(|| AgentRolesError("AgentRoles.Roles is not a list".to_string()))?;
        if list.len() > ROLES_MAX {
            return Err(AgentRolesError(format!("AgentRoles.Roles has more than {ROLES_MAX} roles")));
        }
        let entries = list.iter().enumerate().map(|(at, role)| Entry::read(at, role));
        let roles = Self {
            max_depth: number(section, "MaxDepth", 0)?.and_then(|depth| u32::try_from(depth).ok()),
            max_turns: number(section, "DefaultMaxIterations", 1)?
                .and_then(|turns| u32::try_from(turns).ok()),
            max_time_ms: number(section, "DefaultMaxDurationMs", 1)?,
            entries: entries.collect::<Result<_, _>>()?,
        };
        roles.each_once()?;
        Ok(roles)
    }

    fn each_once(&self) -> Result<(), AgentRolesError> {
        for (at, entry) in self.entries.iter().enumerate() {
            if self.entries[..at].iter().any(|before| folded(&before.name) == folded(&entry.name)) {
                return Err(AgentRolesError(format!(
                    "there are two roles {:?} in AgentRoles.Roles",
                    entry.name
                )));
            }
        }
        Ok(())
    }

    /// The files that hold the prompts, as they are written, each with the role it is for.
    pub fn prompt_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().filter_map(|entry| Some((entry.prompt_file.as_deref()?, entry.name.as_str())))
    }

    /// What the roles are called.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Adds the roles to those that are there. `prompt` has the text of a prompt's file.
    pub fn add_to<'a>(
        &self,
        roles: &mut Roles,
        origin: &RoleOrigin,
        prompt: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<(), AgentRolesError> {
        for entry in &self.entries {
            let body = entry.prompt_file.as_deref().and_then(&prompt).map(body).unwrap_or_default();
            let role = self.role(entry, body, origin, roles)?;
            roles.add_trusted(role);
        }
        let main_is_known = self.names().any(|name| folded(name) == "main");
        if !main_is_known {
            roles.let_main_delegate_to(self.names());
        }
        self.entries.iter().try_for_each(|entry| entry.delegates_are_known(roles))
    }

    fn role(
        &self,
        entry: &Entry,
        body: String,
        origin: &RoleOrigin,
        roles: &Roles,
    ) -> Result<Role, AgentRolesError> {
        let (mut role, given) = entry.parsed(body, origin.clone())?;
        role.budget.turns = role.budget.turns.or(self.max_turns);
        role.budget.time_ms = role.budget.time_ms.or(self.max_time_ms);
        let same = |known: &&Role| folded(&known.name) == folded(&role.name);
        let known = roles.iter().find(same).cloned();
        let known = known.or_else(|| builtin(Team::With).find(|known| same(&known)));
        match known {
            Some(known) => Ok(over(&known, role, &given)),
            None if role.prompt.is_empty() => {
                let likely = roles.find(&role.name).err().and_then(|unknown| unknown.likely);
                let likely = likely.map(|likely| format!("; did you mean {likely}?")).unwrap_or_default();
                Err(entry
                    .wrong(format!("it has no SystemPromptFile, and there is no role of that name{likely}")))
            }
            None => {
                if role.description.is_empty() {
                    role.description = role.display_name.clone().unwrap_or_else(|| role.name.clone());
                }
                Ok(role)
            }
        }
    }
}

impl Entry {
    fn read(at: usize, json: &Json) -> Result<Self, AgentRolesError> {
        let place = format!("AgentRoles.Roles[{at}]");
        let role = json.as_object().ok_or_else(|| AgentRolesError(format!("{place} is not an object")))?;
        let is_known = |key: &str| {
            folded(key) == PROMPT_FILE || FieldKey::of(key).is_some_and(|kind| kind != FieldKey::NotUsed)
        };
        let name = role
            .iter()
            .find(|(key, _)| FieldKey::of(key) == Some(FieldKey::Name))
            .and_then(|(_, name)| name.as_str());
        let place = name.map_or_else(|| place.clone(), |name| format!("{place} ({})", shortened(name)));
        known_keys(role, &place, is_known, &ROLE_KEYS)?;
        let name = name.ok_or_else(|| AgentRolesError(format!("{place} has no RoleId")))?.to_string();
        let mut fields = Vec::new();
        for (key, json) in role.iter().filter(|(key, json)| folded(key) != PROMPT_FILE && !json.is_null()) {
            let value = value(json).ok_or_else(|| {
                AgentRolesError(format!("{place}: {key} has a value that is not understood"))
            })?;
            fields.push(Field { line: 1, key: key.clone(), value });
        }
        let prompt_file = match role.iter().find(|(key, _)| folded(key) == PROMPT_FILE).map(|(_, file)| file)
        {
            None | Some(Json::Null) => None,
            Some(Json::String(file)) if !file.trim().is_empty() => Some(file.trim().to_string()),
            Some(_) => {
                return Err(AgentRolesError(format!("{place}: SystemPromptFile is not a file's name")));
            }
        };
        let entry = Self { name, fields, prompt_file };
        entry.parsed(String::new(), RoleOrigin::BuiltIn)?;
        Ok(entry)
    }

    /// The role as far as the file tells it. What would be odd in an agent file is wrong here.
    fn parsed(&self, body: String, origin: RoleOrigin) -> Result<(Role, Given), AgentRolesError> {
        let (parsed, given) = parse::of_fields(self.fields.clone(), body, origin);
        if let Some(odd) = parsed.warnings.first() {
            return Err(self.wrong(&odd.text));
        }
        parsed.role.map(|role| (role, given)).map_err(|error| self.wrong(error.to_string()))
    }

    fn delegates_are_known(&self, roles: &Roles) -> Result<(), AgentRolesError> {
        let named = self.fields.iter().filter(|field| field.kind() == Some(FieldKey::DelegatesTo));
        for name in named.flat_map(|field| field.value.entries()).filter(|name| !name.contains('*')) {
            if let Err(unknown) = roles.find(&name)
                && !builtin(Team::With).any(|known| folded(&known.name) == folded(&name))
            {
                let likely =
                    unknown.likely.map(|likely| format!("; did you mean {likely}?")).unwrap_or_default();
                return Err(self.wrong(format!(
                    "it may delegate to {:?}, and there is no such role{likely}",
                    unknown.wanted
                )));
            }
        }
        Ok(())
    }

    fn wrong(&self, what: impl AsRef<str>) -> AgentRolesError {
        AgentRolesError(format!("the role {:?}: {}", shortened(&self.name), what.as_ref()))
    }
}

impl Roles {
    /// The leader that comes with Posse may hand work to these too.
    fn let_main_delegate_to<'a>(&mut self, names: impl Iterator<Item = &'a str>) {
        let Ok(main) = self.find("main") else { return };
        if main.origin != RoleOrigin::BuiltIn {
            return;
        }
        let mut main = main.clone();
        let all = main.grant.delegates.allow.iter().flatten().cloned().chain(names.map(str::to_owned));
        main.grant.delegates = NameRules::only(all.collect::<Vec<_>>());
        self.add_trusted(main);
    }
}

/// A prompt's file may be an agent file: then its prompt is below the front matter.
fn body(text: &str) -> String {
    let text = plain(text);
    cut(&text).map_or_else(|_| text.trim().to_string(), |(_, body, _)| body)
}

fn get<'a>(object: &'a Map<String, Json>, key: &str) -> Option<&'a Json> {
    object
        .iter()
        .find(|(written, _)| folded(written) == folded(key))
        .map(|(_, value)| value)
        .filter(|v| !v.is_null())
}

fn number(section: &Map<String, Json>, key: &str, least: u64) -> Result<Option<u64>, AgentRolesError> {
    let Some(value) = get(section, key) else { return Ok(None) };
    let number = value.as_u64().filter(|number| *number >= least);
    let wrong =
        || AgentRolesError(format!("AgentRoles.{key} is {value}; write a whole number, at least {least}"));
    number.map(Some).ok_or_else(wrong)
}

fn known_keys(
    object: &Map<String, Json>,
    place: &str,
    is_known: impl Fn(&str) -> bool,
    known: &[&str],
) -> Result<(), AgentRolesError> {
    let Some(wrong) = object.keys().find(|key| !is_known(key)) else { return Ok(()) };
    let scored = known.iter().map(|key| (strsim::jaro_winkler(&folded(key), &folded(wrong)), *key));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness >= LIKENESS_MIN);
    let hint = match best {
        Some((_, key)) => format!("did you mean {key}?"),
        None => format!("there are {}", known.join(", ")),
    };
    Err(AgentRolesError(format!("{place} has an unknown key {:?}; {hint}", shortened(wrong))))
}

fn value(json: &Json) -> Option<Value> {
    match json {
        Json::String(text) => Some(Value::Text(text.clone())),
        Json::Bool(_) | Json::Number(_) => Some(Value::Text(json.to_string())),
        Json::Array(items) => {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>().map(Value::List)
        }
        Json::Null | Json::Object(_) => None,
    }
}
