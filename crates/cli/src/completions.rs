//! Completion scripts, made from the same tree as the help, and the names they ask for while somebody types.

use clap_complete::Shell;
use posse_engine::Engine;
use posse_roles::Team;
use posse_setup::{Config, Paths, RoleSources, Trusted};

use crate::args::{self, Names};
use crate::display::short;
use crate::exit::Exit;
use crate::limits::COMPLETED_COLUMNS_MAX;
use crate::output::{self, one_line};
use crate::which_session::sessions_here;

pub(crate) fn run(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "posse", &mut script);
    let names = match shell {
        Shell::Bash => include_str!("../completions/posse.bash"),
        Shell::Zsh => include_str!("../completions/posse.zsh"),
        Shell::Fish => include_str!("../completions/posse.fish"),
        _ => "",
    };
    output::print(&format!("{}{names}", String::from_utf8_lossy(&script)))?;
    Ok(Exit::Completed)
}

/// The names of one kind, one on each line.
pub(crate) fn names(paths: &Paths, what: Names) -> anyhow::Result<Exit> {
    let names = match what {
        Names::Models => models(paths)?,
        Names::Sessions => sessions(paths)?,
        Names::Roles => roles(paths)?,
        Names::Workers => crate::workers::names(paths)?,
    };
    let lines = names.iter().map(|name| format!("{}\n", one_line(name, COMPLETED_COLUMNS_MAX)));
    output::print(&lines.collect::<String>())?;
    Ok(Exit::Completed)
}

fn models(paths: &Paths) -> anyhow::Result<Vec<String>> {
    let config = Config::load(paths, paths.surroundings().folder()?)?;
    let providers = posse_setup::PROVIDERS.iter().map(|provider| format!("{}/", provider.name));
    Ok(config.model_names().map(str::to_owned).chain(providers).collect())
}

fn sessions(paths: &Paths) -> anyhow::Result<Vec<String>> {
    let sessions = sessions_here(&Engine::open(&paths.data_dir)?)?;
    let ids = sessions.iter().map(|session| short(session.id));
    Ok(std::iter::once("last".to_string()).chain(ids).collect())
}

fn roles(paths: &Paths) -> anyhow::Result<Vec<String>> {
    let folder = paths.surroundings().folder()?;
    let config = Config::load(paths, folder)?;
    let sources = RoleSources::of(paths, folder, &config, &Trusted::load(paths)?)?;
    let loaded = sources.load(Team::With, &config, paths.surroundings())?;
    Ok(loaded.roles.iter().map(|role| role.name.clone()).collect())
}
