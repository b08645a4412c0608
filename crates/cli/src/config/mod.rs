//! The configuration: user file, then project file, then flags.
//!
//! A project file comes with a repository, so it is a stranger's. Until the person has trusted that very content
//! it may only choose among the user's models and lower the limits.

mod concurrency;
mod file;
mod names;
mod roles;
mod sub_agents;
mod trusted;
mod written;

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use posse_engine::approving::Rules;
use posse_engine::machine::Workspace;
use posse_engine::models::Profile;
use posse_engine::project_folders;
use posse_protocol::{Approval, Budget, Files, Grant, Network, PathRules, Shell};
use posse_setup::Paths;

pub(crate) use file::{
    ApprovalFile, DurabilityWord, FileConfig, GitFile, LimitsFile, MemoryFile, ModelFile, NetworkFile,
    RecordFile, RightsFile, SandboxFile, Time, parse, parse_age_ms, parse_approval, parse_time_ms,
};
pub(crate) use roles::{RoleFile, RolesFileNamed};
pub(crate) use sub_agents::{RoleSet, SubAgentsFile};
pub(crate) use trusted::Trusted;

use crate::surroundings::shown;

/// Where a project keeps its configuration.
pub(crate) const PROJECT_FILE: &str = ".posse/config.toml";
/// The largest configuration file that is read.
const FILE_BYTES_MAX: u64 = 256 * 1024;

/// What the files say, put together.
#[derive(Clone, Debug)]
pub(crate) struct Config {
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
    pub(crate) sub_agents: SubAgentsFile,
    pub(crate) roles: BTreeMap<String, RoleFile>,
    /// The settings file with roles, if one is named.
    pub(crate) roles_file: Option<RolesFileNamed>,
    /// Where the person's own configuration is, or would be.
    pub(crate) own_file: Option<PathBuf>,
    /// The files that were read, in order.
    pub(crate) sources: Vec<PathBuf>,
    /// What was left out and why; to be shown to the person.
    pub(crate) warnings: Vec<String>,
}

impl Config {
    /// What is in force where there are no files.
    pub(crate) fn defaults() -> Self {
        Self::from_user(FileConfig::default(), Vec::new())
    }

    fn from_user(user: FileConfig, sources: Vec<PathBuf>) -> Self {
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
            sub_agents,
            roles,
        } = user;
        let warnings = Vec::new();
        let roles_file = RolesFileNamed::of(&sub_agents, sources.first(), false);
        Self {
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
            sub_agents,
            roles,
            roles_file,
            own_file: None,
            sources,
            warnings,
        }
    }

    /// Reads the user's file and the one of the project in `folder`.
    pub(crate) fn load(paths: &Paths, folder: &Path) -> anyhow::Result<Self> {
        let mut sources = Vec::new();
        let mut named = Vec::new();
        let user = match std::fs::read_to_string(&paths.config) {
            Ok(text) => {
                sources.push(paths.config.clone());
                let user = parse(&text, &paths.config)?;
                named.push(names::check(&text, &paths.config)?);
                if user.git.path.as_ref().is_some_and(|path| !path.is_absolute()) {
                    bail!("{}: path in [git] must be an absolute path", shown(&paths.config));
                }
                user
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !paths.config_named => {
                FileConfig::default()
            }
            Err(error) => bail!("cannot read {}: {error}", shown(&paths.config)),
        };
        let mut config = Self::from_user(user, sources);
        config.own_file = Some(paths.config.clone());
        if let Some((path, text)) = project_file(folder)? {
            let project = parse(&text, &path)?;
            named.push(names::check(&text, &path)?);
            let trusted = Trusted::load(&paths.data_dir)?.holds(&path, &text);
            config.sources.push(path.clone());
            config.add_project(project, &path, trusted);
        }
        config.rules()?;
        named.iter().try_for_each(|named| named.check(&config))?;
        concurrency::settle(&mut config.models);
        // What the person says here and now counts more than any file.
        let said = std::env::var("POSSE_MEMORY").ok();
        let switch = written::memory_switch(said.as_deref()).map_err(anyhow::Error::msg)?;
        config.memory.enabled = switch.or(config.memory.enabled);
        Ok(config)
    }

    fn add_project(&mut self, project: FileConfig, path: &Path, trusted: bool) {
        // A program that Posse runs by itself is nothing a repository has a say in, trusted or not.
        if project.git != GitFile::default() {
            let path = shown(path);
            self.warnings.push(format!("{path} wants to set git; only your own configuration can: left out"));
        }
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
            let roles_file = RolesFileNamed::of(&project.sub_agents, Some(&path.to_path_buf()), true);
            self.roles_file = roles_file.or(self.roles_file.take());
            self.sub_agents = self.sub_agents.replaced_by(&project.sub_agents);
            self.roles.extend(project.roles);
            return;
        }
        let mut asks = project.models.keys().map(|name| format!("models.{name:?}")).collect::<Vec<_>>();
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
            let (path, asks) = (shown(path), asks.join(", "));
            self.warnings.push(format!(
                "{path} wants to set {asks}; that is left out until you have looked at it: posse trust"
            ));
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
        Grant { approval: self.approval.mode.unwrap_or(DEFAULT_APPROVAL), ..grant(&self.rights) }
    }

    /// What is allowed, asked and denied whatever the mode.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        let ApprovalFile { allow, ask, deny, .. } = &self.approval;
        Rules::parse(allow, ask, deny).context("[approval] in the configuration")
    }

    /// What of the home folder commands may read.
    pub(crate) fn readable(&self) -> Vec<PathBuf> {
        let home = std::env::home_dir();
        let whole = |path: &PathBuf| match (path.strip_prefix("~"), &home) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.clone(),
        };
        self.sandbox.readable.iter().map(whole).filter(|path| path.is_absolute()).collect()
    }
}

fn grant(rights: &RightsFile) -> Grant {
    Grant {
        files: rights.files.unwrap_or(Files::Write),
        shell: rights.shell.unwrap_or(Shell::Full),
        network: match &rights.network {
            None | Some(NetworkFile::Word(file::NetworkWord::None)) => Network::None,
            Some(NetworkFile::Word(file::NetworkWord::Full)) => Network::Full,
            Some(NetworkFile::Hosts(hosts)) => Network::Hosts(hosts.clone()),
        },
        writes: PathRules {
            roots: rights
                .write_roots
                .iter()
                .map(|roots| roots.iter().map(|at| folder(at)).collect())
                .collect(),
            except: rights.write_except.iter().flatten().map(|at| folder(at)).collect(),
        },
        ..Grant::full()
    }
}

/// A path as rules know it.
fn folder(written: &str) -> String {
    written.trim_start_matches("./").trim_end_matches('/').to_string()
}

/// What is done without asking when nothing is said: everything inside the sandbox.
const DEFAULT_APPROVAL: Approval = Approval::Auto;

/// Turns of the main agent when nothing is said.
const DEFAULT_TURNS: NonZeroU32 = NonZeroU32::new(200).unwrap();

/// The project's file, the closest one up to the top of the repository. Read without following links out of the
/// project.
pub(crate) fn project_file(folder: &Path) -> anyhow::Result<Option<(PathBuf, String)>> {
    let there = |folder: &&Path| std::fs::symlink_metadata(folder.join(PROJECT_FILE)).is_ok();
    let Some(folder) = project_folders(folder).find(there) else { return Ok(None) };
    let path = folder.join(PROJECT_FILE);
    let read = || -> anyhow::Result<String> {
        let project = Workspace::open(folder)?;
        let (bytes, _) = project.read(&project.resolve(PROJECT_FILE)?, FILE_BYTES_MAX)?;
        Ok(String::from_utf8(bytes)?)
    };
    let text = read().with_context(|| format!("cannot read {}", shown(&path)))?;
    Ok(Some((path, text)))
}
