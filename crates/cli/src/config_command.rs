//! `posse config`: what is in force here, and where it comes from.

use posse_engine::models::shown_address;
use posse_setup::Paths;

use crate::args::ConfigCommand;
use crate::config::{Config, FileConfig, PROJECT_FILE, project_file};
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
    let config = Config::load(paths, &std::env::current_dir()?)?;
    let mut text = String::new();
    for source in &config.sources {
        text.push_str(&format!("# from {}\n", shown(source)));
    }
    if config.sources.is_empty() {
        text.push_str(&format!("# defaults; {} does not exist\n", shown(&paths.config)));
    }
    for warning in &config.warnings {
        text.push_str(&format!("# {}\n", output::one_line(warning, 1000)));
    }
    let mut limits = config.limits.clone();
    limits.max_turns = config.budget().turns.and_then(std::num::NonZeroU32::new);
    let grant = config.grant();
    let mut rights = config.rights.clone();
    (rights.files, rights.shell) = (Some(grant.files), Some(grant.shell));
    rights.network.get_or_insert(crate::config::NetworkFile::NONE);
    let mut approval = config.approval.clone();
    approval.mode = Some(grant.approval);
    let Config {
        model,
        context_files,
        profile,
        mut models,
        sandbox,
        git,
        mut record,
        mut memory,
        mut sub_agents,
        roles,
        ..
    } = config;
    // What is printed here ends up in reports of defects: passwords and keys in addresses do not.
    let addresses = models.values_mut().filter_map(|model| model.endpoint.as_mut());
    let routed = sub_agents.endpoint.iter_mut().chain(sub_agents.endpoints.iter_mut().flatten());
    for address in addresses.chain(routed) {
        let shown = shown_address(address);
        if shown != address.trim_end_matches('/') {
            *address = shown;
        }
    }
    record.durability.get_or_insert(crate::config::DurabilityWord::Process);
    memory.enabled.get_or_insert(true);
    let sub_agents = sub_agents.in_force();
    let file = FileConfig {
        model,
        context_files,
        profile,
        limits,
        rights,
        approval,
        sandbox,
        git,
        record,
        memory,
        sub_agents,
        roles,
        models,
    };
    text.push_str(&output::visible(&toml::to_string(&file)?));
    Ok(output::print(&text)?)
}

fn path(paths: &Paths) -> anyhow::Result<()> {
    let state = |path: &std::path::Path| if path.exists() { "" } else { "  (not there)" };
    let folder = std::env::current_dir()?;
    let project = project_file(&folder)?.map_or_else(|| folder.join(PROJECT_FILE), |(path, _)| path);
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
