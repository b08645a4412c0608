//! `posse trust`: shows what in a project wants to act, and allows that very content.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use posse_engine::models::shown_address;
use posse_engine::roles::{RolesFile, Team, load_roles, project_role_places};
use posse_protocol::{Files, Network, Role, RoleOrigin, Shell};
use posse_setup::Paths;

use crate::agents;
use crate::args::TrustArgs;
use crate::config::{
    ApprovalFile, Config, FileConfig, LimitsFile, PROJECT_FILE, RecordFile, RightsFile, RolesFileNamed,
    SandboxFile, SubAgentsFile, Trusted, parse, project_file,
};
use crate::exit::Exit;
use crate::output::{self, Style, visible};
use crate::questions::person_agrees;
use crate::surroundings::shown;

/// Columns of what a file wants.
const WANT_COLUMNS_MAX: usize = 1000;

/// A file that wants to act.
struct Item {
    path: PathBuf,
    text: String,
    /// What it would be allowed, the gravest first.
    wants: Vec<String>,
}

pub(crate) fn run(paths: &Paths, args: &TrustArgs) -> anyhow::Result<Exit> {
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    let mut trusted = Trusted::load(&paths.data_dir)?;
    let items = items(paths, &folder)?;
    if args.revoke {
        return revoke(&mut trusted, &folder, &items);
    }
    let asleep = asleep(&folder);
    let (known, new): (Vec<_>, Vec<_>) =
        items.into_iter().partition(|item| trusted.holds(&item.path, &item.text));
    for item in &known {
        output::print(&format!("{} is trusted as it is.\n", shown(&item.path)))?;
    }
    output::print(&asleep)?;
    if new.is_empty() {
        if known.is_empty() {
            output::print(&format!("Nothing in {} needs trust.\n", shown(&folder)))?;
        }
        return Ok(Exit::Completed);
    }
    for item in &new {
        show(item, trusted.before(&item.path))?;
    }
    // Last, so that it stands beside the question however long the files are.
    output::print(&told(&new))?;
    if !args.yes && !person_agrees("Trust this?", "trust it")? {
        output::print("Nothing was changed.\n")?;
        return Ok(Exit::Failed);
    }
    for item in &new {
        trusted.add(&item.path, &item.text)?;
    }
    output::print(
        "Trusted. Any change to what was shown asks again; `posse trust --revoke` takes it back.\n",
    )?;
    Ok(Exit::Completed)
}

fn revoke(trusted: &mut Trusted, folder: &Path, items: &[Item]) -> anyhow::Result<Exit> {
    // Also of a configuration that is gone, or does not ask for anything now.
    let config = project_file(folder)?.map_or_else(|| folder.join(PROJECT_FILE), |(path, _)| path);
    let mut was = trusted.revoke(&config)?;
    for item in items {
        was |= trusted.revoke(&item.path)?;
    }
    output::print(if was { "No longer trusted.\n" } else { "It was not trusted.\n" })?;
    Ok(Exit::Completed)
}

/// Everything in a folder that wants to act: its configuration, and agent files whose roles may do something.
fn items(paths: &Paths, folder: &Path) -> anyhow::Result<Vec<Item>> {
    let mut items = Vec::new();
    if let Some((path, text)) = project_file(folder)? {
        let wants = wants(&parse(&text, &path)?);
        items.push(Item { path, text, wants });
    }
    items.extend(settings(paths, folder)?);
    let places = agents::own_places(paths).into_iter().chain(project_role_places(folder)).collect::<Vec<_>>();
    // Without the team its names are free, so a file has at least the rights that a session could give it.
    let loaded = load_roles(Team::Without, &places);
    for (path, text) in loaded.project_files {
        let of_file = |role: &&Role| matches!(&role.origin, RoleOrigin::Project(from) if *from == path);
        let role = loaded.roles.iter().find(of_file);
        let wants = role.map(role_wants).unwrap_or_default();
        items.push(Item { path: PathBuf::from(path), text, wants });
    }
    items.retain(|item| !item.wants.is_empty());
    Ok(items)
}

/// The settings file of the project that a configuration names, and the prompts that it names.
fn settings(paths: &Paths, folder: &Path) -> anyhow::Result<Vec<Item>> {
    let of_project = match project_file(folder)? {
        Some((path, text)) => RolesFileNamed::of(&parse(&text, &path)?.sub_agents, Some(&path), true),
        None => None,
    };
    let named = match of_project {
        Some(named) => Some(named),
        None => Config::load(paths, folder)?.roles_file,
    };
    let Some(named) = named else { return Ok(Vec::new()) };
    let file = RolesFile::read(&named.find(folder)?).map_err(|why| anyhow!(why))?;
    if !file.of_project {
        return Ok(Vec::new());
    }
    let names = file.roles.names().collect::<Vec<_>>().join(", ");
    let wants = vec![format!("it says what these roles do, with their models and limits: {names}")];
    let prompts = file.prompts.into_iter().map(|prompt| Item {
        path: PathBuf::from(prompt.path),
        text: prompt.text,
        wants: vec![format!("it is the prompt of the role {:?}", prompt.role)],
    });
    let prompts = prompts.collect::<Vec<_>>();
    let settings = Item { path: PathBuf::from(file.path), text: file.text, wants };
    Ok([settings].into_iter().chain(prompts).collect())
}

/// Whether a person has looked at what a repository wants and trusts all of it as it is. One that wants nothing was never
/// looked at.
pub(crate) fn is_trusted(paths: &Paths, folder: &Path, trusted: &Trusted) -> bool {
    let items = items(paths, folder).unwrap_or_default();
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

/// What other programs would start here and Posse does not.
fn asleep(folder: &Path) -> String {
    let found = [".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".envrc"]
        .iter()
        .filter(|name| folder.join(name).symlink_metadata().is_ok());
    found.map(|name| format!("{name} can start programs elsewhere; Posse starts none of them.\n")).collect()
}

fn show(item: &Item, before: Option<&str>) -> io::Result<()> {
    let style = Style::for_stdout();
    let changed = if before.is_some() { " It has changed since you trusted it." } else { "" };
    let mut text = format!("{}{changed}\n\n", style.bold(&shown(&item.path)));
    for line in visible(&item.text).lines() {
        text.push_str(&format!("  {line}\n"));
    }
    text.push('\n');
    output::print(&text)
}

/// What all of them would be allowed.
fn told(items: &[Item]) -> String {
    let style = Style::for_stdout();
    let mut text = String::new();
    for item in items {
        text.push_str(&format!("If you trust {}:\n", shown(&item.path)));
        for want in &item.wants {
            text.push_str(&format!("  - {}\n", style.yellow(&output::one_line(want, WANT_COLUMNS_MAX))));
        }
    }
    text.push('\n');
    text
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
