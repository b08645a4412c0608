//! One agent file becomes one role. What is odd is told and read as best it can be; rights are never guessed upwards.

use posse_policy::meet;
use posse_protocol::{
    Approval, Budget, Files, Grant, HOME, Isolation, NameRules, Network, PLACE_HINT, PathRules, Role,
    RoleOrigin, Shell,
};

use crate::error::RoleError;
use crate::field::Field;
use crate::fields::take_apart;
use crate::given::Given;
use crate::keys::FieldKey;
use crate::limits::{DESCRIPTION_CHARS_MAX, FILE_BYTES_MAX, LIST_ITEMS_MAX, MODEL_CHARS_MAX, WARNINGS_MAX};
use crate::lookalike::looks_like_a_right;
use crate::name::{folded, shortened, valid_name};
use crate::rights::{Rights, approval, isolation, network, on, paths, report};
use crate::tools::Tools;
use crate::values::Value;
use crate::warning::{Audience, Warning};

/// The word by which a file asks for its parent's model.
pub const INHERIT: &str = "inherit";

/// What a file came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The role, or why it is none.
    pub role: Result<Role, RoleError>,
    /// What a person should look at, by line.
    pub warnings: Vec<Warning>,
    /// Keys that other programs use and Posse does not.
    pub not_used: Vec<Warning>,
    /// Where what is checked against the configuration stands.
    pub lines: Lines,
}

/// The lines of what only makes sense together with the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// The model's.
    pub model: Option<usize>,
    /// That of the list of tools.
    pub tools: Option<usize>,
}

/// Reads the text of an agent file. `path` only serves to name a role that does not name itself.
pub fn parse(text: &str, path: &str, origin: RoleOrigin) -> Parsed {
    let (mut parsed, given) = read(text, path, origin);
    parsed.warnings.extend(given.missing);
    parsed.warnings.sort_by_key(|warning| warning.line);
    parsed
}

/// The same, and what the file says itself: what it leaves out may be a known role's.
pub fn read(text: &str, path: &str, origin: RoleOrigin) -> (Parsed, Given) {
    let mut reading = Reading::default();
    let role = reading.role(text, path, origin);
    reading.parsed(role)
}

/// The role of fields that stand in no front matter, with its prompt.
pub(crate) fn of_fields(fields: Vec<Field>, body: String, origin: RoleOrigin) -> (Parsed, Given) {
    let mut reading = Reading::default();
    let role = reading.of_fields(fields, body, "", origin);
    reading.parsed(role)
}

/// What is left to a role whose file cannot be understood: to look at files.
fn read_access() -> Grant {
    let tools = ["read_file", "list_files", "glob", "grep", "todo", "skill_load", "handle_read"];
    Grant { files: Files::Read, tools: NameRules::only(tools.map(str::to_owned)), ..Grant::none() }
}

/// Whether front matter is that of an agent: pages and commands of other programs have some, too.
fn describes_agent(fields: &[Field]) -> bool {
    let of_command = |field: &Field| folded(&field.key) == "argumenthint";
    // A page may be described, too, and then it has a title instead of a name.
    let titled = fields.iter().any(|field| matches!(folded(&field.key).as_str(), "title" | "layout"));
    let of_role = |field: &Field| match field.kind() {
        Some(FieldKey::Description) => !titled,
        // Workflows of other programs say by `on` when they start.
        Some(FieldKey::Servers | FieldKey::On) => false,
        Some(kind) => kind != FieldKey::NotUsed || is_mode(field),
        None => looks_like_a_right(&field.key),
    };
    !fields.iter().any(of_command) && fields.iter().any(of_role)
}

/// A key `mode` that does not say who starts the agent.
fn is_mode(field: &Field) -> bool {
    let starts = ["primary", "subagent", "all", "default", ""];
    folded(&field.key) == "mode" && !starts.contains(&folded(&field.value.text()).as_str())
}

#[derive(Default)]
struct Reading {
    fields: Vec<Field>,
    warnings: Vec<Warning>,
    not_used: Vec<Warning>,
    /// Whether a key that is not understood meant to hold something back.
    closed: bool,
    given: Given,
}

impl Reading {
    fn parsed(mut self, role: Result<Role, RoleError>) -> (Parsed, Given) {
        self.warnings.sort_by_key(|warning| warning.line);
        let line = |key| self.field(key).map(|field| field.line);
        let lines = Lines { model: line(FieldKey::Model), tools: line(FieldKey::Tools) };
        (Parsed { role, warnings: self.warnings, not_used: self.not_used, lines }, self.given)
    }

    fn role(&mut self, text: &str, path: &str, origin: RoleOrigin) -> Result<Role, RoleError> {
        if text.len() > FILE_BYTES_MAX {
            return Err(RoleError::TooLarge { bytes: text.len() });
        }
        let pieces = take_apart(text)?;
        if !describes_agent(&pieces.fields) {
            return Err(RoleError::Page);
        }
        self.of_fields(pieces.fields, pieces.body, path, origin)
    }

    fn of_fields(
        &mut self,
        fields: Vec<Field>,
        body: String,
        path: &str,
        origin: RoleOrigin,
    ) -> Result<Role, RoleError> {
        self.sort_out(fields)?;
        self.given.keys = self.fields.iter().filter_map(Field::kind).collect();
        (self.given.prompt, self.given.closed) = (!body.is_empty(), self.closed);
        let name = self.name(path, body.is_empty())?;
        let description = self.description();
        if body.is_empty() {
            self.given.missing.push(Warning::new(1, "there is no prompt below the front matter"));
        }
        let role = Role {
            name,
            display_name: self.given(FieldKey::DisplayName).map(|(_, value)| shortened(&value.text())),
            description,
            aliases: self.aliases(),
            prompt: body,
            grant: self.grant(),
            model: self.model(),
            budget: self.budget(),
            max_output_tokens: self
                .number(FieldKey::OutputTokens)
                .and_then(|number| u32::try_from(number).ok()),
            tools_listed_by_task: self.flag(FieldKey::ToolsListedByTask).unwrap_or(false),
            single: self.flag(FieldKey::Single).unwrap_or(false),
            inherit_context_file: self.flag(FieldKey::InheritContextFile),
            inherit_memory: self.read(FieldKey::Memory, Value::memory, "write true or false"),
            isolation: self.isolation(),
            on: self.on(),
            report: self.read(FieldKey::Report, report, "write sections or answer").unwrap_or_default(),
            origin,
        };
        Ok(role)
    }

    /// Keeps the fields that are read, the last of each kind.
    fn sort_out(&mut self, fields: Vec<Field>) -> Result<(), RoleError> {
        for field in fields {
            match field.kind() {
                None if looks_like_a_right(&field.key) => self.close(&field),
                None => self.warn(field.line, format!("the key {:?} is not known", shortened(&field.key))),
                Some(FieldKey::Servers) => {}
                Some(FieldKey::Permissions) => self.permissions(field)?,
                // Elsewhere it says who starts the agent. Whoever writes something else means what it may do.
                Some(FieldKey::NotUsed) if is_mode(&field) => self.close(&field),
                // They are read apart, as they are written.
                Some(FieldKey::NotUsed) if field.key == "hooks" && matches!(field.value, Value::Map(_)) => {}
                Some(FieldKey::NotUsed) if self.not_used.len() >= WARNINGS_MAX => {}
                Some(FieldKey::NotUsed) => {
                    let text = format!("the key {:?} is not used", shortened(&field.key));
                    self.not_used.push(Warning::new(field.line, text));
                }
                Some(kind) => self.keep(kind, field)?,
            }
        }
        Ok(())
    }

    fn keep(&mut self, kind: FieldKey, field: Field) -> Result<(), RoleError> {
        if kind != FieldKey::Description && field.value.entries().len() > LIST_ITEMS_MAX {
            return Err(RoleError::TooMany { line: field.line, key: shortened(&field.key) });
        }
        if let Some(before) = self.fields.iter().position(|f| f.kind() == Some(kind)) {
            let before = self.fields.remove(before);
            let text = format!("{} is also on line {}; this one counts", field.key, before.line);
            self.warn(field.line, text);
        }
        self.fields.push(field);
        Ok(())
    }

    /// `include` and `exclude` below one key are as if they stood alone.
    fn permissions(&mut self, field: Field) -> Result<(), RoleError> {
        let kind = |key: &str| {
            FieldKey::of(key).filter(|kind| matches!(kind, FieldKey::Include | FieldKey::Exclude))
        };
        let pairs: &[(String, String)] = if let Value::Map(pairs) = &field.value { pairs } else { &[] };
        let kinds = pairs.iter().map(|(key, _)| kind(key)).collect::<Option<Vec<_>>>();
        let Some(kinds) = kinds.filter(|kinds| !kinds.is_empty()) else {
            self.close(&field);
            return Ok(());
        };
        for (kind, (key, words)) in kinds.into_iter().zip(pairs) {
            let (key, value) = (key.clone(), Value::Text(words.clone()));
            self.keep(kind, Field { line: field.line, key, value })?;
        }
        Ok(())
    }

    fn warn(&mut self, line: usize, text: impl Into<String>) {
        if self.warnings.len() < WARNINGS_MAX {
            self.warnings.push(Warning::new(line, text));
        }
    }

    /// Leaves the role with read access: what its author wanted to hold back cannot be told.
    fn close(&mut self, field: &Field) {
        self.closed = true;
        let text = format!(
            "the key {:?} is not known and looks like a right or a limit, so this role may only read; correct it or remove it",
            shortened(&field.key)
        );
        // Never left out, however many other warnings there are.
        self.warnings.push(Warning { told: Audience::Everybody, ..Warning::new(field.line, text) });
    }

    fn field(&self, key: FieldKey) -> Option<&Field> {
        self.fields.iter().find(|field| field.kind() == Some(key))
    }

    fn given(&self, key: FieldKey) -> Option<(usize, Value)> {
        self.field(key).filter(|f| f.value != Value::Nothing).map(|f| (f.line, f.value.clone()))
    }

    /// Reads a value by `read`; one that makes no sense is told with `instead`.
    fn read<T>(&mut self, key: FieldKey, read: impl Fn(&Value) -> Option<T>, instead: &str) -> Option<T> {
        let (line, value) = self.given(key)?;
        let read = read(&value);
        if read.is_none() {
            self.warn(line, format!("{:?} is not understood; {instead}", shortened(&value.text())));
        }
        read
    }

    fn flag(&mut self, key: FieldKey) -> Option<bool> {
        self.read(key, Value::flag, "write true or false")
    }

    fn number(&mut self, key: FieldKey) -> Option<u64> {
        self.read(key, Value::count, "write a whole number above zero")
    }

    fn name(&mut self, path: &str, no_body: bool) -> Result<String, RoleError> {
        let (line, name) = match self.given(FieldKey::Name) {
            Some((line, value)) => (line, value.text().split_whitespace().collect::<Vec<_>>().join(" ")),
            None if no_body && self.field(FieldKey::Model).is_none() => return Err(RoleError::Empty),
            None => {
                let file = path.rsplit(['/', '\\']).next().unwrap_or_default();
                let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
                self.warn(
                    1,
                    format!("there is no name:, so it is called {:?} after its file", shortened(stem)),
                );
                (1, stem.to_string())
            }
        };
        match valid_name(&name) {
            Ok(()) => Ok(name),
            Err(why) => Err(RoleError::BadName { line, name: shortened(&name), why }),
        }
    }

    fn description(&mut self) -> String {
        let Some((line, value)) = self.given(FieldKey::Description) else {
            let text = "there is no description:, so no model can tell when to use it";
            self.given.missing.push(Warning::new(1, text));
            return String::new();
        };
        let mut text = value.text();
        if !text.contains('\n') {
            text = text.replace("\\n", "\n").replace("\\t", "\t");
        }
        if let Some((end, _)) = text.char_indices().nth(DESCRIPTION_CHARS_MAX) {
            text.truncate(end);
            self.warn(line, format!("the description is cut after {DESCRIPTION_CHARS_MAX} characters"));
        }
        text.trim().to_string()
    }

    fn aliases(&mut self) -> Vec<String> {
        let Some((line, value)) = self.given(FieldKey::Aliases) else { return Vec::new() };
        let mut aliases = Vec::new();
        for alias in value.entries() {
            match valid_name(&alias) {
                Ok(()) => aliases.push(alias),
                Err(why) => self.warn(line, format!("the alias {:?} is left out: {why}", shortened(&alias))),
            }
        }
        aliases
    }

    fn model(&mut self) -> Option<String> {
        let short = |value: &Value| {
            let text = value.text();
            (text.chars().count() <= MODEL_CHARS_MAX).then_some(text)
        };
        let model = self.read(FieldKey::Model, short, "the parent's model is used")?;
        let inherits = model.eq_ignore_ascii_case(INHERIT);
        (!model.is_empty()).then(|| if inherits { INHERIT.to_string() } else { model })
    }

    fn budget(&mut self) -> Budget {
        let turns = self.number(FieldKey::Turns).map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        let minutes = self.read(FieldKey::Minutes, Value::minutes_ms, "write a number of minutes");
        let time = self.read(FieldKey::Time, Value::time_ms, "write a time such as 90s, 10m or 1h30m");
        let time = time.or(minutes).or_else(|| self.number(FieldKey::DurationMs));
        Budget { turns, tokens: self.number(FieldKey::Tokens), time_ms: time, cost_usd: None }
    }

    fn grant(&mut self) -> Grant {
        let mut tools = Tools::default();
        for (key, read) in [
            (FieldKey::Tools, Tools::allow as fn(&mut Tools, &Value, &mut dyn FnMut(String))),
            (FieldKey::DisallowedTools, Tools::deny),
            (FieldKey::Include, Tools::include),
            (FieldKey::Exclude, Tools::exclude),
            (FieldKey::Permission, Tools::permit),
        ] {
            // `tools:` with nothing behind it is a list of nothing, not the absence of a list.
            let Some(field) = self.field(key) else { continue };
            let (line, value) = (field.line, field.value.clone());
            read(&mut tools, &value, &mut |text| self.warn(line, text));
        }
        let delegates = self.delegates(&tools);
        let rules = tools.rules();
        let mut rights = Rights::of_tools(&rules);
        if tools.excludes_writing() {
            // What its commands write does not last either.
            rights.limit_shell(Shell::Verify);
        }
        self.narrow(&mut rights);
        let approval = self.approval();
        if approval == Approval::Plan {
            rights.limit_files(Files::Read);
            rights.limit_shell(Shell::Inspect);
        }
        let Rights { files, shell, network } = rights;
        let grant = Grant { files, writes: self.writes(), shell, network, tools: rules, delegates, approval };
        if self.closed { meet(&grant, &read_access()) } else { grant }
    }

    /// To whom it may delegate. What is not understood is no; a plain yes is to everybody its parent may.
    fn delegates(&mut self, tools: &Tools) -> NameRules {
        let named = self.field(FieldKey::DelegatesTo).map(|field| field.value.clone());
        let may = self
            .field(FieldKey::CanDelegate)
            .is_some()
            .then(|| self.flag(FieldKey::CanDelegate).unwrap_or(false));
        match (may, named) {
            (Some(false), _) => NameRules::nothing(),
            (Some(true), None) => tools.delegates(Some(&Value::Text("*".to_string()))),
            (_, named) => tools.delegates(named.as_ref()),
        }
    }

    /// Explicit rights. A value that is not understood gives nothing.
    fn narrow(&mut self, rights: &mut Rights) {
        if self.field(FieldKey::Files).is_some() {
            let files =
                self.read(FieldKey::Files, Value::files, "no files are given: write none, read or write");
            rights.limit_files(files.unwrap_or(Files::None));
        }
        if self.field(FieldKey::Shell).is_some() {
            let shell = self.read(
                FieldKey::Shell,
                Value::shell,
                "no shell is given: write none, inspect, verify or full",
            );
            rights.limit_shell(shell.unwrap_or(Shell::None));
        }
        if self.field(FieldKey::Network).is_some() {
            let reach =
                self.read(FieldKey::Network, network, "no network is given: write none, full, or hosts");
            rights.limit_network(reach.unwrap_or(Network::None));
        }
    }

    /// What it may do without asking: everything, unless the file says less. What is not understood asks.
    fn approval(&mut self) -> Approval {
        if self.field(FieldKey::Approval).is_none() {
            return Approval::Full;
        }
        let instead = "it asks before it does anything: write plan, ask, edit, auto or full";
        self.read(FieldKey::Approval, approval, instead).unwrap_or(Approval::Ask)
    }

    /// Where it works. What is not understood works where it disturbs nobody.
    fn isolation(&mut self) -> Option<Isolation> {
        self.field(FieldKey::Isolation)?;
        let instead = "it works in a checkout of its own: write shared or worktree";
        Some(self.read(FieldKey::Isolation, isolation, instead).unwrap_or(Isolation::Worktree))
    }

    /// On which machine. What is not understood stays at home.
    fn on(&mut self) -> Option<String> {
        self.given(FieldKey::On)?;
        let instead = format!("it runs at home: {PLACE_HINT}");
        Some(self.read(FieldKey::On, on, &instead).unwrap_or_else(|| HOME.to_string()))
    }

    /// Where it may write. A root that is not understood is no root; an exception that is not understood is everything.
    fn writes(&mut self) -> PathRules {
        const HINT: &str = "write paths within the project, such as src/api, without * and ..";
        let mut rules = PathRules::default();
        if let Some(field) = self.field(FieldKey::WriteRoots) {
            let (line, (roots, bad)) = (field.line, paths(&field.value));
            for path in bad {
                self.warn(line, format!("{path:?} is left out: {HINT}"));
            }
            rules.roots.insert(roots);
        }
        if let Some(field) = self.field(FieldKey::WriteExcept) {
            let (line, (except, bad)) = (field.line, paths(&field.value));
            rules.except = except;
            for path in bad {
                self.warn(line, format!("{path:?} is not understood, so nothing may be written: {HINT}"));
                rules.except.insert(String::new());
            }
        }
        rules
    }
}
