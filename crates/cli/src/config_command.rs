//! `posse config`: what is in force here, and where it comes from.

use posse_setup::{Config, PROJECT_FILE, Paths, project_file};

use crate::args::ConfigCommand;
use crate::exit::Exit;
use crate::output;
use crate::surroundings::{shown, whole};

pub(crate) fn run(paths: &Paths, command: ConfigCommand) -> anyhow::Result<Exit> {
    match command {
        ConfigCommand::Show => show(paths)?,
        ConfigCommand::Path => path(paths)?,
    }
    Ok(Exit::Completed)
}

fn show(paths: &Paths) -> anyhow::Result<()> {
    let config = Config::load(paths, paths.surroundings().folder()?)?;
    let mut text = String::new();
    for source in &config.sources {
        text.push_str(&format!("# from {source}\n"));
    }
    if config.sources.is_empty() {
        text.push_str(&format!("# defaults; {} does not exist\n", shown(&paths.config)));
    }
    for warning in &config.warnings {
        text.push_str(&format!("# {}\n", output::one_line(&warning.to_string(), 1000)));
    }
    text.push_str(&output::visible(&config.to_toml()?));
    Ok(output::print(&text)?)
}

fn path(paths: &Paths) -> anyhow::Result<()> {
    let state = |path: &std::path::Path| if path.exists() { "" } else { "  (not there)" };
    let folder = paths.surroundings().folder()?;
    let project = project_file(folder, paths.surroundings())?;
    let project = project.map_or_else(|| folder.join(PROJECT_FILE), |(path, _)| path.path().to_path_buf());
    let text = format!(
        "user     {}{}\nproject  {}{}\ndata     {}{}\n",
        whole(&paths.config),
        state(&paths.config),
        whole(&project),
        state(&project),
        whole(&paths.data_dir),
        state(&paths.data_dir),
    );
    Ok(output::print(&text)?)
}
