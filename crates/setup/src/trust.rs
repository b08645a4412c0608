//! What in a project wants to act, and whether the person has trusted that very content. It asks nobody and shows nothing.

use std::path::{Path, PathBuf};

use posse_engine::roles::{RoleServers, load_roles, project_role_places};
use posse_model::shown_address;
use posse_protocol::{Files, Network, Role, RoleOrigin, Shell};
use posse_roles::Team;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::config::{
    ApprovalFile, Config, FileConfig, LimitsFile, RecordFile, RightsFile, RolesFileNamed, SandboxFile,
    SubAgentsFile, Trusted, parse, project_file,
};
use crate::error::PrepareError;
use crate::hooks::{hooks_of_project, wanted_by};
use crate::limits::WANTED_COMMANDS_MAX;
use crate::paths::Paths;
use crate::roles::{own_role_places, read_roles_file};
use crate::servers::{agent_file_wants, configured_wants, shared_file, shared_file_wants};
use crate::user_commands::commands_of_project;

/// A file that wants to act.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustItem {
    /// The file.
    pub path: PathBuf,
    /// Its content.
    pub text: String,
    /// What it would be allowed, the gravest first.
    pub wants: Vec<String>,
}

/// Everything in a folder that wants to act: its configuration, its servers, agent files whose roles may do something, and user commands that
/// run commands.
pub fn trust_items(paths: &Paths, folder: &Path) -> Result<Vec<TrustItem>, PrepareError> {
    let mut items = Vec::new();
    if let Some((path, text)) = project_file(folder, paths.surroundings())? {
        let file = parse(&text, &path)?;
        let servers = configured_wants(&file.mcp, &path, paths.surroundings());
        let wants = servers.into_iter().chain(wants(&file)).collect();
        items.push(TrustItem { path: path.path().to_path_buf(), text, wants });
    }
    items.extend(settings(paths, folder)?);
    if let Some((path, text)) = shared_file(folder, paths.surroundings())? {
        let wants = shared_file_wants(&text, &path, paths.surroundings());
        items.push(TrustItem { path: path.path().to_path_buf(), text, wants });
    }
    let places = own_role_places(paths).into_iter().chain(project_role_places(folder)).collect::<Vec<_>>();
    // Without the team its names are free, so a file has at least the rights that a session could give it.
    let loaded = load_roles(Team::Without, &places);
    for (path, text) in loaded.project_files {
        let of_file = |role: &&Role| matches!(&role.origin, RoleOrigin::Project(from) if *from == path);
        let role = loaded.roles.iter().find(of_file);
        let mut wants = role.map(role_wants).unwrap_or_default();
        let of_file = |servers: &&RoleServers| servers.origin == RoleOrigin::Project(path.clone());
        for servers in loaded.servers.iter().filter(of_file) {
            let shown = paths.shown(Path::new(&path));
            wants.extend(agent_file_wants(servers, &shown, paths.surroundings()));
        }
        let hooks = loaded.hooks.iter().filter(|hooks| hooks.path == path);
        wants.extend(hooks.map(|hooks| wanted_by(&hooks.hooks)).flat_map(|runs| hook_wants(&runs)));
        items.push(TrustItem { path: PathBuf::from(path), text, wants });
    }
    for (path, text, runs) in commands_of_project(paths, folder) {
        let named = runs.iter().take(WANTED_COMMANDS_MAX).map(String::as_str).collect::<Vec<_>>().join("; ");
        let more = runs.len().saturating_sub(WANTED_COMMANDS_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let wants = vec![format!(
            "when you use it in the chat it runs, in the sandbox and without asking: {named}{more}"
        )];
        items.push(TrustItem { path, text, wants });
    }
    for (path, text, runs) in hooks_of_project(paths, folder) {
        items.push(TrustItem { path, text, wants: hook_wants(&runs).into_iter().collect() });
    }
    items.retain(|item| !item.wants.is_empty());
    Ok(items)
}

/// That hooks run, and what they run.
fn hook_wants(runs: &[String]) -> Option<String> {
    let named = runs.iter().take(WANTED_COMMANDS_MAX).map(String::as_str).collect::<Vec<_>>().join("; ");
    let more = runs.len().saturating_sub(WANTED_COMMANDS_MAX);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!runs.is_empty()).then(|| format!("its hooks run in the sandbox and without asking: {named}{more}"))
}

/// The settings file of the project that a configuration names, and the prompts that it names.
fn settings(paths: &Paths, folder: &Path) -> Result<Vec<TrustItem>, PrepareError> {
    let of_project = match project_file(folder, paths.surroundings())? {
        Some((path, text)) => RolesFileNamed::of(&parse(&text, &path)?.sub_agents, Some(path.path()), true),
        None => None,
    };
    let named = match of_project {
        Some(named) => Some(named),
        None => Config::load(paths, folder)?.roles_file,
    };
    let Some(named) = named else { return Ok(Vec::new()) };
    let file = read_roles_file(paths, folder, &named)?;
    if !file.of_project {
        return Ok(Vec::new());
    }
    let names = file.roles.names().collect::<Vec<_>>().join(", ");
    let wants = vec![format!("it says what these roles do, with their models and limits: {names}")];
    let prompts = file.prompts.into_iter().map(|prompt| TrustItem {
        path: PathBuf::from(prompt.path),
        text: prompt.text,
        wants: vec![format!("it is the prompt of the role {:?}", prompt.role)],
    });
    let prompts = prompts.collect::<Vec<_>>();
    let settings = TrustItem { path: PathBuf::from(file.path), text: file.text, wants };
    Ok([settings].into_iter().chain(prompts).collect())
}

/// Whether a person has looked at what a repository wants and trusts all of it as it is. One that wants nothing was never
/// looked at.
pub(crate) fn is_trusted(paths: &Paths, folder: &Path, trusted: &Trusted) -> bool {
    let items = trust_items(paths, folder).unwrap_or_default();
    !items.is_empty() && items.iter().all(|item| trusted.holds(&item.path, &item.text))
}

/// What agents of a role could do without asking.
fn role_wants(role: &Role) -> Vec<String> {
    let grant = &role.grant;
    let mut may = Vec::new();
    if grant.files == Files::Write {
        may.push("change files");
    }
    if grant.shell != Shell::None {
        may.push("run commands in the sandbox");
    }
    if grant.network != Network::None {
        may.push("use the network");
    }
    if may.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "agents of the role {:?} may {} without asking, as far as you may",
        role.name,
        may.join(", ")
    )]
}

/// What a file would be allowed, one line each, the gravest first.
fn wants(file: &FileConfig) -> Vec<String> {
    let mut wants = Vec::new();
    for (name, model) in &file.models {
        let endpoint = model.endpoint.as_deref().map_or_else(|| "a recording".to_string(), shown_address);
        let key =
            model.api_key_env.as_ref().map(|key| format!(", with the key in ${key}")).unwrap_or_default();
        wants.push(format!("the model {name:?} sends your prompts and your code to {endpoint}{key}"));
    }
    if file.rights != RightsFile::default() {
        wants.push("its [rights] take the place of yours".to_string());
    }
    if file.approval != ApprovalFile::default() {
        wants.push("its [approval] takes the place of yours: less may be asked".to_string());
    }
    if file.sandbox != SandboxFile::default() {
        wants.push("commands may read what its [sandbox] names of your home folder".to_string());
    }
    if file.record != RecordFile::default() {
        wants.push("its [record] takes the place of yours".to_string());
    }
    if file.memory.enabled == Some(true) {
        wants.push(
            "agents keep notes here from one session to the next, whatever your [memory] says".to_string(),
        );
    }
    if file.sub_agents != SubAgentsFile::default() {
        wants.push("its [sub_agents] take the place of yours".to_string());
    }
    if file.limits != LimitsFile::default() {
        wants.push("its [limits] take the place of yours, higher ones too".to_string());
    }
    for (name, role) in &file.roles {
        wants.extend(
            role.model.iter().map(|model| format!("agents of the role {name:?} use the model {model:?}")),
        );
    }
    wants.extend(file.model.iter().map(|model| format!("{model:?} is the model that is used here")));
    wants
}
