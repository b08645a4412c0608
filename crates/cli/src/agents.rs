//! `posse agents`: the roles that agents can have, what is wrong with their files, and a new one to fill in.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use posse_engine::roles::{LoadedRoles, Problem, RolePlace, load_roles};
use posse_protocol::{Files, Grant, NameRules, Network, Role, RoleOrigin, Shell};
use posse_roles::{Audience, INHERIT, Roles, Team, template, valid_name};
use posse_setup::{Config, Paths, RoleFit, RoleSources, Trusted, own_role_folder, save_role_model};

use crate::args::AgentsCommand;
use crate::exit::Exit;
use crate::limits::{MAY_COLUMNS_MAX, NAME_COLUMNS_MAX, SAME_NAMED_MAX};
use crate::output::{self, Style, columns, counted, duration, grouped, one_line, trimmed, visible};
use crate::surroundings::shown;

/// What a new file says where nothing else is given.
const DESCRIPTION: &str = "Say here when to use this agent, for the model that chooses.";

pub(crate) fn run(paths: &Paths, command: AgentsCommand) -> anyhow::Result<Exit> {
    let folder = paths.surroundings().folder()?;
    match command {
        AgentsCommand::List { all, json } => {
            let here = Here::read(paths, folder)?;
            list(&here, &here.load(if all { Team::With } else { Team::Without })?, json)?;
        }
        AgentsCommand::Show { name, json } => show(&Here::read(paths, folder)?, &name, json)?,
        AgentsCommand::Check { paths: named, verbose } => {
            return check(&Here::read(paths, folder)?, &named, verbose);
        }
        AgentsCommand::Model { name, model } => {
            give_model(&Here::read(paths, folder)?, paths, &name, &model)?
        }
        AgentsCommand::New { name, user, description } => {
            let description = description.as_deref().unwrap_or(DESCRIPTION);
            new(paths, folder, &name, user, description)?;
        }
    }
    Ok(Exit::Completed)
}

/// Where roles come from in a folder, and the configuration that has a say in them.
struct Here<'a> {
    paths: &'a Paths,
    sources: RoleSources,
    config: Config,
}

impl<'a> Here<'a> {
    fn read(paths: &'a Paths, folder: &Path) -> anyhow::Result<Self> {
        let config = Config::load(paths, folder)?;
        let sources = RoleSources::of(paths, folder, &config, &Trusted::load(paths)?)?;
        Ok(Self { paths, sources, config })
    }

    fn load(&self, team: Team) -> anyhow::Result<LoadedRoles> {
        Ok(self.sources.load(team, &self.config, self.paths.surroundings())?)
    }

    fn fit(&self) -> RoleFit {
        RoleFit::of(&self.config, self.paths.surroundings())
    }
}

fn list(here: &Here<'_>, loaded: &LoadedRoles, json: bool) -> anyhow::Result<()> {
    let mut text = String::new();
    if json {
        for role in loaded.roles.iter() {
            let mut value = serde_json::to_value(role)?;
            value.as_object_mut().map(|fields| fields.remove("prompt"));
            text.push_str(&output::json_line(&value)?);
        }
        return Ok(output::print(&text)?);
    }
    text.push_str(&table(Style::for_stdout(), here, loaded, output::stdout_width()));
    let told = loaded.problems.iter().filter(|problem| problem.told > Audience::WhoChecks && !problem.fatal);
    let told = told.map(|problem| line(problem, "")).collect::<String>();
    if !told.is_empty() {
        text.push_str(&format!("\n{told}"));
    }
    for warning in &here.sources.warnings {
        text.push_str(&format!("\n{}\n", one_line(&warning.to_string(), 1000)));
    }
    let broken = loaded.problems.iter().filter(|problem| problem.fatal).count();
    if broken > 0 {
        let files = counted(broken as u64, "file");
        text.push_str(&format!("\n{files} could not be used; see: posse agents check\n"));
    }
    Ok(output::print(&text)?)
}

/// One line for each role: its name, what it may do here, and what it is for.
fn table(style: Style, here: &Here<'_>, loaded: &LoadedRoles, width: usize) -> String {
    let fit = here.fit();
    let rows = loaded.roles.iter().map(|role| {
        let (name, may) = (one_line(&role.name, NAME_COLUMNS_MAX), rights(&fit.rights(role)));
        [name, one_line(&may, MAY_COLUMNS_MAX), format!("{}{}", particulars(role), role.description)]
    });
    let head = ["name", "may", "use"].map(str::to_string);
    let rows = std::iter::once(head).chain(rows).collect::<Vec<_>>();
    let widest = |n: usize| rows.iter().map(|row| columns(&row[n])).max().unwrap_or(0);
    let widths = [widest(0), widest(1)];
    let mut text = String::new();
    for (n, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell}{}  ", " ".repeat(width - columns(cell))));
        let line = format!("{}\n", output::fitted(&cells.collect::<String>(), &row[2], width));
        text.push_str(&if n == 0 { style.dim(&line) } else { line });
    }
    text
}

/// Where a role comes from, and its model and turns, as far as they are set.
fn particulars(role: &Role) -> String {
    let from = match role.origin {
        RoleOrigin::BuiltIn => None,
        RoleOrigin::User(_) => Some("yours".to_string()),
        RoleOrigin::Project(_) => Some("project".to_string()),
    };
    let model = role.model.as_deref().filter(|model| *model != INHERIT).map(|model| one_line(model, 24));
    let turns = role.budget.turns.map(|turns| counted(turns.into(), "turn"));
    let parts = [from, model, turns].into_iter().flatten().collect::<Vec<_>>();
    if parts.is_empty() { String::new() } else { format!("({}) ", parts.join(", ")) }
}

/// Saves the model of a role that there is.
fn give_model(here: &Here<'_>, paths: &Paths, name: &str, model: &str) -> anyhow::Result<()> {
    let with_team = here.load(Team::With)?.roles;
    let role = with_team.find(name)?.name.clone();
    let changed = save_role_model(paths, &role, model)?;
    let word = if changed { "has" } else { "has already" };
    Ok(output::print(&format!(
        "{} {word} the model {}, in sessions that begin from now on.\n",
        one_line(&role, 60),
        one_line(model, 100)
    ))?)
}

fn show(here: &Here<'_>, name: &str, json: bool) -> anyhow::Result<()> {
    let roles = here.load(Team::Without)?.roles;
    let with_team = here.load(Team::With)?.roles;
    let role = roles.find(name).or_else(|_| with_team.find(name))?;
    if json {
        return Ok(output::print_json(role)?);
    }
    let from = match &role.origin {
        RoleOrigin::BuiltIn => "part of Posse".to_string(),
        RoleOrigin::User(path) | RoleOrigin::Project(path) => shown(Path::new(path)),
    };
    let mut tools = names(&role.grant.tools, "all");
    if role.tools_listed_by_task {
        tools = format!("those that the task lists, of {tools}");
    }
    let mut lines = vec![
        ("called", role.display_name.clone().unwrap_or_default()),
        ("from", from),
        ("use", role.description.clone()),
        ("aliases", aliases(&roles, &with_team, role)),
        ("may", may(role, here)),
        ("tools", tools),
        ("delegates", names(&role.grant.delegates, "to every role")),
        ("model", model(role, here)),
        ("runs on", role.on.clone().unwrap_or_default()),
        ("limits", limits(role)),
    ];
    if role.single {
        lines.push(("single", "one a session, asked again rather than started anew".to_string()));
    }
    let mut text = format!("{}\n", Style::for_stdout().bold(&one_line(&role.name, 100)));
    for (what, value) in lines.iter().filter(|(_, value)| !value.is_empty()) {
        let value = visible(trimmed(value)).replace('\n', "\n             ");
        text.push_str(&format!("  {what:<9}  {value}\n"));
    }
    text.push_str(&format!("\n{}\n", visible(trimmed(&role.prompt))));
    Ok(output::print(&text)?)
}

/// What it may do at most, and what of it holds here.
fn may(role: &Role, here: &Here<'_>) -> String {
    let (most, now) = (rights(&role.grant), rights(&here.fit().rights(role)));
    if most == now { most } else { format!("{now} here; at most {most}") }
}

/// Its model, where that is set if not in its file, and what it means here.
fn model(role: &Role, here: &Here<'_>) -> String {
    let set = here.config.role_section(&role.name);
    let set = set.map(|section| format!(" (set by {section})")).unwrap_or_default();
    match (&role.model, here.fit().stand_in(role)) {
        (Some(wanted), Some(model)) => format!("{wanted}{set} (not configured: runs on {model})"),
        (Some(wanted), None) if wanted != INHERIT => format!("{wanted}{set}"),
        _ => "its parent's".to_string(),
    }
}

/// The other names that lead to a role, where it is found.
fn aliases(roles: &Roles, with_team: &Roles, role: &Role) -> String {
    let find = |roles: &Roles| roles.accepted().into_iter().find(|one| one.name == role.name);
    find(roles).or_else(|| find(with_team)).map(|one| one.aliases.join(", ")).unwrap_or_default()
}

/// Files, shell and network in words.
fn rights(grant: &Grant) -> String {
    let files = match grant.files {
        Files::None => "no files",
        Files::Read => "read",
        Files::Write => "read, write",
    };
    let shell = match grant.shell {
        Shell::None => "",
        Shell::Inspect => ", shell to inspect",
        Shell::Verify => ", shell to verify",
        Shell::Full => ", full shell",
    };
    let network = match &grant.network {
        Network::None => String::new(),
        Network::Full => ", network".to_string(),
        Network::Hosts(hosts) => {
            format!(", {}", Vec::from_iter(hosts.iter().map(|host| one_line(host, 300))).join(", "))
        }
    };
    format!("{files}{shell}{network}")
}

/// Which names pass, in words.
fn names(rules: &NameRules, all: &str) -> String {
    let layers = rules.allow.iter().map(|layer| match layer.is_empty() {
        true => "none".to_string(),
        false => Vec::from_iter(layer.iter().map(|name| one_line(name, 100))).join(", "),
    });
    let allowed = match rules.allow.is_empty() {
        true => all.to_string(),
        false => layers.collect::<Vec<_>>().join("; of these only "),
    };
    match rules.deny.is_empty() {
        true => allowed,
        false => {
            format!(
                "{allowed}, but not {}",
                Vec::from_iter(rules.deny.iter().map(|name| one_line(name, 100))).join(", ")
            )
        }
    }
}

fn limits(role: &Role) -> String {
    let budget = &role.budget;
    let parts = [
        budget.turns.map(|turns| counted(turns.into(), "turn")),
        budget.time_ms.map(duration),
        budget.tokens.map(|tokens| counted(tokens, "token")),
        role.max_output_tokens.map(|tokens| format!("{} tokens a reply", grouped(tokens.into()))),
    ];
    let parts = parts.into_iter().flatten().collect::<Vec<_>>();
    if parts.is_empty() { "the general ones".to_string() } else { parts.join(", ") }
}

fn check(here: &Here<'_>, paths: &[PathBuf], verbose: bool) -> anyhow::Result<Exit> {
    let named = paths.iter().map(|path| {
        std::fs::metadata(path).with_context(|| format!("cannot look at {}", shown(path)))?;
        Ok(RolePlace::User(path.clone()))
    });
    let named = named.collect::<anyhow::Result<Vec<_>>>()?;
    let mut loaded = load_roles(Team::With, if named.is_empty() { &here.sources.places } else { &named });
    loaded.problems.extend(here.fit().problems(&loaded));
    let style = Style::for_stdout();
    let mut text = String::new();
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    for problem in loaded.problems.iter().filter(|problem| !problem.fatal && !verbose) {
        *often.entry(&problem.text).or_default() += 1;
    }
    // What many files have in common is said once: a collection is not wrong in a hundred places.
    often.retain(|_, files| *files > SAME_NAMED_MAX);
    for problem in loaded.problems.iter().filter(|problem| !often.contains_key(problem.text.as_str())) {
        let mark = if problem.fatal { style.red("broken: ") } else { String::new() };
        text.push_str(&line(problem, &mark));
    }
    for (what, files) in &often {
        text.push_str(&format!("{}: {}\n", counted(*files as u64, "file"), one_line(what, 1000)));
    }
    for problem in loaded.not_used.iter().filter(|_| verbose) {
        text.push_str(&style.dim(&line(problem, "")));
    }
    for page in loaded.pages.iter().filter(|_| verbose) {
        text.push_str(&style.dim(&format!("{}: not an agent\n", one_line(&shown(Path::new(page)), 1000))));
    }
    let broken = loaded.problems.iter().filter(|problem| problem.fatal).count();
    let warnings = loaded.problems.len() - broken;
    text.push_str(&format!(
        "{} checked: {broken} broken, {}.{}\n",
        counted(loaded.files as u64, "file"),
        counted(warnings as u64, "warning"),
        match loaded.pages.len() {
            0 => String::new(),
            1 => " 1 other page is not an agent.".to_string(),
            n => format!(" {} other pages are not agents.", grouped(n as u64)),
        }
    ));
    output::print(&text)?;
    Ok(if broken > 0 { Exit::Failed } else { Exit::Completed })
}

fn line(problem: &Problem, mark: &str) -> String {
    let path = one_line(&shown(Path::new(&problem.path)), 1000);
    format!("{path}:{}: {mark}{}\n", problem.line, one_line(&problem.text, 1000))
}

fn new(paths: &Paths, folder: &Path, name: &str, user: bool, description: &str) -> anyhow::Result<()> {
    if let Err(why) = valid_name(name) {
        bail!("{name:?} cannot be a role's name: {why}");
    }
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    if !name.chars().all(plain) {
        bail!("{name:?} cannot be a file's name everywhere; use letters, digits, - and _");
    }
    let text = template(name, description);
    let file = format!("{name}.md");
    let path = if user {
        let path = own_role_folder(paths).join(&file);
        create(&path, &text).with_context(|| format!("cannot write {}", shown(&path)))?;
        path
    } else {
        let path = folder.join(".posse/agents").join(&file);
        // A repository may lead elsewhere by links: nothing is written there in its name.
        for at in [folder.join(".posse"), folder.join(".posse/agents")] {
            if at.symlink_metadata().is_ok_and(|found| found.is_symlink()) {
                bail!("{} is a link that leaves the project; use a real folder", shown(&at));
            }
        }
        match create(&path, &text) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                bail!(".posse/agents/{file} is already there; edit it, or choose another name")
            }
            created => created.with_context(|| format!("cannot write {}", shown(&path)))?,
        }
        path
    };
    let mut said = format!("Wrote {}\n", shown(&path));
    let trust = (!user).then_some(("allow", "posse trust"));
    let steps = [("edit", "say when to use it and how it works"), ("check", "posse agents check")];
    for (label, step) in steps.into_iter().chain(trust) {
        said.push_str(&format!("  {label:<5}  {step}\n"));
    }
    if let Ok(known) = Roles::builtin(Team::Without).find(name) {
        said.push_str(&format!("It replaces {}, which is part of Posse.\n", known.name));
    }
    Ok(output::print(&said)?)
}

/// Makes a file that was not there, and the folders on the way.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::File::create_new(path)?.write_all(text.as_bytes())
}
