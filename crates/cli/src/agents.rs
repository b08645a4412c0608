//! `posse agents`: the roles that agents can have, what is wrong with their files, and a new one to fill in.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use posse_engine::roles::{
    INHERIT, LoadedRoles, Problem, RolePlace, Roles, Team, Told, load_roles, template, valid_name,
};
use posse_protocol::{Files, Grant, NameRules, Network, Role, RoleOrigin, Shell};
use posse_setup::{Config, Paths, RoleFit, RoleSources, Trusted, own_role_folder};

use crate::args::AgentsCommand;
use crate::exit::Exit;
use crate::output::{self, Style, columns, counted, duration, grouped, one_line, trimmed, visible};
use crate::surroundings::shown;

/// How many files with the same warning are named one by one.
const SAME_NAMED_MAX: usize = 3;

/// What a new file says where nothing else is given.
const DESCRIPTION: &str = "Say here when to use this agent, for the model that chooses.";

pub(crate) fn run(paths: &Paths, command: AgentsCommand) -> anyhow::Result<Exit> {
    let folder = paths.surroundings().folder()?;
    match command {
        AgentsCommand::List { all, json } => {
            let here = Here::read(paths, folder)?;
            list(&here.load(if all { Team::With } else { Team::Without })?, &here.sources, json)?;
        }
        AgentsCommand::Show { name, json } => show(&Here::read(paths, folder)?, &name, json)?,
        AgentsCommand::Check { paths: named, verbose } => {
            return check(&Here::read(paths, folder)?, &named, verbose);
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

fn list(loaded: &LoadedRoles, sources: &RoleSources, json: bool) -> anyhow::Result<()> {
    let mut text = String::new();
    if json {
        for role in loaded.roles.iter() {
            let mut value = serde_json::to_value(role)?;
            value.as_object_mut().map(|fields| fields.remove("prompt"));
            text.push_str(&output::json_line(&value)?);
        }
        return Ok(output::print(&text)?);
    }
    let widths = [20, 8, 34, 16, 5];
    let rest = output::stdout_width().saturating_sub(widths.iter().map(|width| width + 2).sum()).max(20);
    let row = |cells: [&str; 6]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| {
            let cell = one_line(cell, width);
            format!("{cell}{}", " ".repeat(width.saturating_sub(columns(&cell))))
        });
        format!("{}  {}\n", padded.collect::<Vec<_>>().join("  "), one_line(cells[5], rest))
    };
    let head = row(["name", "from", "may", "model", "turns", "use"]);
    text.push_str(&Style::for_stdout().dim(&head));
    for role in loaded.roles.iter() {
        let from = match role.origin {
            RoleOrigin::BuiltIn => "built-in",
            RoleOrigin::User(_) => "you",
            RoleOrigin::Project(_) => "project",
        };
        let turns = role.budget.turns.map_or_else(|| "-".to_string(), |turns| turns.to_string());
        let model = role.model.as_deref().filter(|model| *model != INHERIT).unwrap_or("-");
        text.push_str(&row([&role.name, from, &rights(&role.grant), model, &turns, &role.description]));
    }
    let told = loaded.problems.iter().filter(|problem| problem.told > Told::WhoChecks && !problem.fatal);
    let told = told.map(|problem| line(problem, "")).collect::<String>();
    if !told.is_empty() {
        text.push_str(&format!("\n{told}"));
    }
    for warning in &sources.warnings {
        text.push_str(&format!("\n{}\n", one_line(&warning.to_string(), 1000)));
    }
    let broken = loaded.problems.iter().filter(|problem| problem.fatal).count();
    if broken > 0 {
        let files = counted(broken as u64, "file");
        text.push_str(&format!("\n{files} could not be used; see: posse agents check\n"));
    }
    Ok(output::print(&text)?)
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
        ("may", rights(&role.grant)),
        ("tools", tools),
        ("delegates", names(&role.grant.delegates, "to every role")),
        ("model", model(role, here)),
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
        text.push_str(&style.dim(&format!("{}: is no agent\n", one_line(&shown(Path::new(page)), 1000))));
    }
    let broken = loaded.problems.iter().filter(|problem| problem.fatal).count();
    let warnings = loaded.problems.len() - broken;
    text.push_str(&format!(
        "{} checked: {broken} broken, {}.{}\n",
        counted(loaded.files as u64, "file"),
        counted(warnings as u64, "warning"),
        match loaded.pages.len() {
            0 => String::new(),
            1 => " 1 other page is no agent.".to_string(),
            n => format!(" {} other pages are no agents.", grouped(n as u64)),
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
    let mut said = format!("{} is there to be filled in; then: posse agents check\n", shown(&path));
    if let Ok(known) = Roles::builtin(Team::Without).find(name) {
        said.push_str(&format!("It takes the place of {}, which is part of Posse.\n", known.name));
    }
    Ok(output::print(&said)?)
}

/// Makes a file that was not there, and the folders on the way.
fn create(path: &Path, text: &str) -> std::io::Result<()> {
    path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
    std::fs::File::create_new(path)?.write_all(text.as_bytes())
}
