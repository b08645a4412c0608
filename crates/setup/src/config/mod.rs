//! The configuration: user file, then project file, then flags.
//!
//! A project file comes with a repository, so it is a stranger's. Until the person has trusted that very content
//! it may only choose among the user's models and lower the limits.

mod acp;
mod chat;
mod cluster;
mod concurrency;
mod file;
mod in_force;
mod names;
mod reach;
mod rights;
mod role_models;
mod roles;
mod rule_file;
mod server_edit;
mod servers;
mod sub_agents;
mod times;
mod trusted;
mod written;

use std::collections::BTreeMap;
use std::error::Error;
use std::num::NonZeroUsize;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

use posse_engine::project_folders;
use posse_engine::record::Durability;
use posse_model::Profile;
use posse_policy::Rules;
use posse_protocol::{Approval, Budget, Files, Grant, Network, PathRules, Shell};
use posse_workspace::Workspace;

pub(crate) use acp::AcpFile;
pub(crate) use chat::ChatFile;
pub use chat::{ChatNotify, ChatTheme};
pub use cluster::ModelsAt;
pub(crate) use cluster::{ClusterFile, WorkerEntryFile, WorkerFile, WorkerKey};
pub use file::parse_approval;
pub(crate) use file::{
    ApprovalFile, DurabilityWord, FileConfig, GitFile, HooksFile, LimitsFile, MemoryFile, ModelFile,
    RecordFile, SandboxFile, parse,
};
pub(crate) use rights::{NetworkFile, NetworkWord, RightsFile};
pub use role_models::save_role_model;
pub(crate) use roles::{RoleFile, RolesFileNamed};
pub use rule_file::{ListedRule, RuleFileError, RuleKind, list_rules, remove_rule, save_rule};
pub(crate) use server_edit::{remove_server, save_server};
pub(crate) use servers::{ConfiguredServers, ServerFile, WrittenValue};
pub(crate) use sub_agents::{RoleSet, SubAgentsFile};
pub(crate) use times::Time;
pub use times::{parse_age_ms, parse_time_ms};
pub use trusted::Trusted;

use crate::error::ConfigError;
use crate::limits::CONFIG_BYTES_MAX;
use crate::paths::Paths;
use crate::surroundings::{ShownPath, Surroundings};
use crate::warning::SetupWarning;

/// Where a project keeps its configuration.
pub const PROJECT_FILE: &str = ".posse/config.toml";
/// The variable that turns notes on and off.
const MEMORY_VARIABLE: &str = "POSSE_MEMORY";

/// What the files say, put together.
#[derive(Clone, Debug)]
pub struct Config {
    /// The model to use when none is named.
    pub(crate) model: Option<String>,
    /// The files with a project's notes for agents.
    pub(crate) context_files: Option<Vec<String>>,
    /// How much models are told and offered that do not say so themselves.
    pub(crate) profile: Option<Profile>,
    pub(crate) models: BTreeMap<String, ModelFile>,
    pub(crate) limits: LimitsFile,
    pub(crate) rights: RightsFile,
    pub(crate) approval: ApprovalFile,
    pub(crate) sandbox: SandboxFile,
    pub(crate) git: GitFile,
    pub(crate) record: RecordFile,
    pub(crate) memory: MemoryFile,
    pub(crate) chat: ChatFile,
    pub(crate) acp: AcpFile,
    pub(crate) hooks: HooksFile,
    pub(crate) cluster: ClusterFile,
    pub(crate) workers: BTreeMap<WorkerKey, WorkerEntryFile>,
    pub(crate) worker: WorkerFile,
    pub(crate) sub_agents: SubAgentsFile,
    pub(crate) roles: BTreeMap<String, RoleFile>,
    /// What the files say of servers, the person's own first.
    pub(crate) servers: Vec<ConfiguredServers>,
    /// The settings file with roles, if one is named.
    pub(crate) roles_file: Option<RolesFileNamed>,
    /// Where the person's own configuration is, or would be.
    pub(crate) own_file: Option<ShownPath>,
    /// The files that were read, in order.
    pub sources: Vec<ShownPath>,
    /// What was left out and why; to be shown to the person.
    pub warnings: Vec<SetupWarning>,
}

impl Config {
    /// What is in force where there are no files.
    pub(crate) fn defaults() -> Self {
        Self::from_user(FileConfig::default(), Vec::new())
    }

    fn from_user(user: FileConfig, sources: Vec<ShownPath>) -> Self {
        let FileConfig {
            model,
            context_files,
            profile,
            models,
            limits,
            rights,
            approval,
            sandbox,
            git,
            record,
            memory,
            chat,
            acp,
            hooks,
            cluster,
            workers,
            worker,
            sub_agents,
            roles,
            mcp,
        } = user;
        let warnings = Vec::new();
        let roles_file = RolesFileNamed::of(&sub_agents, sources.first().map(ShownPath::path), false);
        let own = sources.first().cloned().unwrap_or_default();
        let servers = vec![ConfiguredServers { file: own, own: true, trusted: true, servers: mcp }];
        Self {
            servers,
            model,
            context_files,
            profile,
            models,
            limits,
            rights,
            approval,
            sandbox,
            git,
            record,
            memory,
            chat,
            acp,
            hooks,
            cluster,
            workers,
            worker,
            sub_agents,
            roles,
            roles_file,
            own_file: None,
            sources,
            warnings,
        }
    }

    /// Reads the user's file and the one of the project in `folder`.
    pub fn load(paths: &Paths, folder: &Path) -> Result<Self, ConfigError> {
        let surroundings = paths.surroundings();
        let (mut sources, mut named) = (Vec::new(), Vec::new());
        let own_file = paths.shown(&paths.config);
        let user = match std::fs::read_to_string(&paths.config) {
            Ok(text) => {
                sources.push(own_file.clone());
                let user = parse(&text, &own_file)?;
                named.push(names::check(&text, &own_file)?);
                reach::check(&text, &user, &own_file)?;
                if user.git.path.as_ref().is_some_and(|path| !path.is_absolute()) {
                    return Err(ConfigError::RelativeGit { path: own_file });
                }
                user
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !paths.config_named => {
                FileConfig::default()
            }
            Err(error) => return Err(ConfigError::Unreadable { path: own_file, source: error.into() }),
        };
        let mut config = Self::from_user(user, sources);
        config.own_file = Some(own_file);
        if let Some((path, text)) = project_file(folder, surroundings)? {
            let project = parse(&text, &path)?;
            named.push(names::check(&text, &path)?);
            let trusted = Trusted::load(paths)?.holds(path.path(), &text);
            config.sources.push(path.clone());
            config.add_project(project, &path, trusted);
        }
        config.rules()?;
        named.iter().try_for_each(|named| named.check(&config))?;
        concurrency::settle(&mut config.models);
        // What the person says here and now counts more than any file.
        let switch = written::memory_switch(surroundings.text(MEMORY_VARIABLE))?;
        config.memory.enabled = switch.or(config.memory.enabled);
        Ok(config)
    }

    fn add_project(&mut self, project: FileConfig, path: &ShownPath, trusted: bool) {
        self.warnings.extend(never_counts(&project, path));
        let asked = project.mcp.keys().map(|name| format!("mcp.{name:?}")).collect::<Vec<_>>();
        let (file, own) = (path.clone(), false);
        self.servers.push(ConfiguredServers { file, own, trusted, servers: project.mcp });
        if trusted {
            self.model = project.model.or(self.model.take());
            self.context_files = project.context_files.or(self.context_files.take());
            self.profile = project.profile.or(self.profile);
            self.models.extend(project.models);
            self.limits = self.limits.replaced_by(&project.limits);
            self.rights = self.rights.replaced_by(&project.rights);
            self.approval = self.approval.replaced_by(&project.approval);
            self.sandbox = self.sandbox.replaced_by(&project.sandbox);
            self.record.durability = project.record.durability.or(self.record.durability);
            self.memory.enabled = project.memory.enabled.or(self.memory.enabled);
            let roles_file = RolesFileNamed::of(&project.sub_agents, Some(path.path()), true);
            self.roles_file = roles_file.or(self.roles_file.take());
            self.sub_agents = self.sub_agents.replaced_by(&project.sub_agents);
            self.roles.extend(project.roles);
            return;
        }
        let mut asks = project.models.keys().map(|name| format!("models.{name:?}")).collect::<Vec<_>>();
        asks.extend(asked);
        if project.profile.is_some() {
            asks.push("profile".to_string());
        }
        let wanted = self.rights.replaced_by(&project.rights);
        self.rights = self.rights.lowered_by(&project.rights);
        if grant(&self.rights) != grant(&wanted) {
            asks.push("rights".to_string());
        }
        let wanted = self.approval.replaced_by(&project.approval);
        self.approval = self.approval.lowered_by(&project.approval);
        if self.approval != wanted {
            asks.push("approval".to_string());
        }
        if project.sandbox != SandboxFile::default() {
            asks.push("sandbox".to_string());
        }
        // A project may do without notes; that there are some is the person's to say, and so is how they are kept.
        let off = project.memory.enabled == Some(false);
        self.memory.enabled = if off { Some(false) } else { self.memory.enabled };
        if project.memory.enabled == Some(true) && !self.memory.enabled() {
            asks.push("memory".to_string());
        }
        if project.record != RecordFile::default() {
            asks.push("record".to_string());
        }
        // Any file could be told to the model that way.
        if project.context_files.is_some() {
            asks.push("context_files".to_string());
        }
        if project.sub_agents != SubAgentsFile::default() {
            asks.push("sub_agents".to_string());
        }
        for (name, role) in project.roles {
            match &role.model {
                Some(model) if !self.models.contains_key(model) => asks.push(format!("roles.{name:?}")),
                _ => drop(self.roles.insert(name, role)),
            }
        }
        match project.model {
            Some(model) if self.models.contains_key(&model) => self.model = Some(model),
            // Any other name could send the person's code to a provider they did not choose.
            Some(_) => asks.push("model".to_string()),
            None => {}
        }
        if !asks.is_empty() {
            self.warnings.push(SetupWarning::NotTrusted { path: path.clone(), settings: asks });
        }
        self.limits = self.limits.lowered_by(&project.limits);
    }

    /// The models that it names for sub-agents beside the configured ones, and the section that names each.
    pub(crate) fn models_named(&self) -> impl Iterator<Item = (String, &String)> {
        // The main agent's model is chosen before.
        let of_roles = self.roles.iter().filter(|(role, _)| !role.eq_ignore_ascii_case("main"));
        let of_roles =
            of_roles.filter_map(|(role, file)| Some((format!("[roles.{role}]"), file.model.as_ref()?)));
        let of_all = self.sub_agents.model.iter().map(|name| ("[sub_agents]".to_string(), name));
        let named = of_all.chain(of_roles.filter(|(_, name)| !name.eq_ignore_ascii_case("inherit")));
        named.filter(|(_, name)| !self.models.contains_key(*name))
    }

    /// What an agent may spend.
    pub(crate) fn budget(&self) -> Budget {
        Budget {
            turns: Some(self.limits.max_turns.unwrap_or(DEFAULT_TURNS).get()),
            tokens: self.limits.max_tokens.map(NonZeroU64::get),
            time_ms: self.limits.max_time.map(|time| time.0),
            cost_usd: self.limits.max_cost_usd,
        }
    }

    /// What the main agent may do.
    pub(crate) fn grant(&self) -> Grant {
        Grant { approval: self.approval(), ..grant(&self.rights) }
    }

    /// What the main agent does without asking.
    pub fn approval(&self) -> Approval {
        self.approval.mode.unwrap_or(DEFAULT_APPROVAL)
    }

    /// What is allowed, asked and denied whatever the mode.
    pub fn rules(&self) -> Result<Rules, ConfigError> {
        let ApprovalFile { allow, ask, deny, .. } = &self.approval;
        Ok(Rules::parse(allow, ask, deny)?)
    }

    /// What of the home folder commands may read.
    pub(crate) fn readable(&self, surroundings: &Surroundings) -> Vec<PathBuf> {
        let paths = self.sandbox.readable.iter().map(|path| surroundings.expanded(path));
        paths.filter(|path| path.is_absolute()).collect()
    }

    /// What an acknowledged step of a session outlives.
    pub fn durability(&self) -> Durability {
        self.record.durability()
    }

    /// Whether files that a prompt in an editor mentions are read through the editor.
    pub fn client_files(&self) -> bool {
        self.acp.client_files.unwrap_or(false)
    }

    /// The names of the models that are configured.
    pub fn model_names(&self) -> impl Iterator<Item = &str> {
        self.models.keys().map(String::as_str)
    }

    /// How many sub-agents of all sessions of a process run at the same time.
    pub fn running_in_process(&self) -> NonZeroUsize {
        self.sub_agents.running_in_process()
    }

    /// Whether the model that a provider calls so has a price.
    pub fn has_price(&self, id: &str) -> bool {
        self.models.values().any(|model| model.model.as_deref() == Some(id) && model.price.is_some())
    }

    /// The section that sets the model of a role, as it is written: `[roles.NAME]`.
    pub fn role_section(&self, role: &str) -> Option<String> {
        let name = self.roles.keys().find(|name| name.eq_ignore_ascii_case(role))?;
        Some(format!("[roles.{name}]"))
    }
}

/// What a project's file has no say in, trusted or not: programs that Posse runs by itself, and machines that it sends code to.
fn never_counts(project: &FileConfig, path: &ShownPath) -> impl Iterator<Item = SetupWarning> {
    let path = || path.clone();
    let tables = [
        (project.cluster != ClusterFile::default(), "cluster"),
        (!project.workers.is_empty(), "workers"),
        (project.worker != WorkerFile::default(), "worker"),
    ];
    let tables: Vec<_> = tables.into_iter().filter_map(|(sets, table)| sets.then_some(table)).collect();
    let all = [
        (project.git != GitFile::default(), SetupWarning::ProjectNamesGit { path: path() }),
        (project.chat != ChatFile::default(), SetupWarning::ProjectSetsChat { path: path() }),
        (project.acp != AcpFile::default(), SetupWarning::ProjectSetsAcp { path: path() }),
        (project.hooks != HooksFile::default(), SetupWarning::ProjectLetsHooksOut { path: path() }),
        (!tables.is_empty(), SetupWarning::ProjectSetsWorkers { path: path(), tables }),
    ];
    all.into_iter().filter_map(|(sets, warning)| sets.then_some(warning))
}

fn grant(rights: &RightsFile) -> Grant {
    Grant {
        files: rights.files.unwrap_or(Files::Write),
        shell: rights.shell.unwrap_or(Shell::Full),
        network: match &rights.network {
            None | Some(NetworkFile::Word(NetworkWord::None)) => Network::None,
            Some(NetworkFile::Word(NetworkWord::Full)) => Network::Full,
            Some(NetworkFile::Hosts(hosts)) => Network::Hosts(hosts.clone()),
        },
        writes: PathRules {
            roots: rights.write_roots.iter().cloned().collect(),
            except: rights.write_except.iter().flatten().cloned().collect(),
        },
        ..Grant::full()
    }
}

/// What is done without asking when nothing is said: everything inside the sandbox.
const DEFAULT_APPROVAL: Approval = Approval::Auto;

/// Turns of the main agent when nothing is said.
const DEFAULT_TURNS: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// The project's file, the closest one up to the top of the repository. Read without following links out of the
/// project.
pub fn project_file(
    folder: &Path,
    surroundings: &Surroundings,
) -> Result<Option<(ShownPath, String)>, ConfigError> {
    closest_file(folder, PROJECT_FILE, CONFIG_BYTES_MAX, surroundings)
}

/// The same for another file of a project.
pub(crate) fn closest_file(
    folder: &Path,
    name: &str,
    bytes_max: u64,
    surroundings: &Surroundings,
) -> Result<Option<(ShownPath, String)>, ConfigError> {
    let there = |folder: &&Path| std::fs::symlink_metadata(folder.join(name)).is_ok();
    let Some(folder) = project_folders(folder).find(there) else { return Ok(None) };
    let path = surroundings.shown(&folder.join(name));
    let read = || -> Result<String, Box<dyn Error + Send + Sync>> {
        let project = Workspace::open(folder)?;
        let (bytes, _) = project.read(&project.resolve(name)?, bytes_max)?;
        Ok(String::from_utf8(bytes)?)
    };
    match read() {
        Ok(text) => Ok(Some((path, text))),
        Err(source) => Err(ConfigError::Unreadable { path, source }),
    }
}
