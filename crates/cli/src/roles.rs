//! The roles there are for whoever works in a folder: agent files, the settings file that the configuration names, and
//! the models that it gives to roles.

use std::path::Path;

use anyhow::{anyhow, bail};
use posse_engine::roles::{LoadedRoles, RolePlace, Roles, RolesFile, Team, load_roles, project_role_places};
use posse_setup::Paths;

use crate::agents;
use crate::config::{Config, Trusted};
use crate::surroundings::shown;

/// Where the roles come from.
#[derive(Default)]
pub(crate) struct Sources {
    pub(crate) places: Vec<RolePlace>,
    /// The settings file, where there is one that may be used.
    pub(crate) settings: Option<RolesFile>,
    /// What the person should know.
    pub(crate) warnings: Vec<String>,
}

impl Sources {
    /// The person's files first; later ones win.
    pub(crate) fn of(
        paths: &Paths,
        folder: &Path,
        config: &Config,
        trusted: &Trusted,
    ) -> anyhow::Result<Self> {
        let (mut places, mut project) = (agents::own_places(paths), project_role_places(folder));
        let (mut settings, mut warnings) = (None, Vec::new());
        if let Some(named) = &config.roles_file {
            let file = RolesFile::read(&named.find(folder)?).map_err(|why| anyhow!(why))?;
            if file.of_project && !is_trusted(&file, trusted) {
                let path = shown(Path::new(&file.path));
                warnings.push(format!(
                    "{path} wants to set roles; that is left out until you have looked at it: posse trust"
                ));
            } else {
                let list = if file.of_project { &mut project } else { &mut places };
                list.push(RolePlace::Settings(Box::new(file.clone())));
                settings = Some(file);
            }
        }
        places.append(&mut project);
        Ok(Self { places, settings, warnings })
    }

    /// All roles, with the models that the configuration gives them.
    pub(crate) fn load(&self, team: Team, config: &Config) -> anyhow::Result<LoadedRoles> {
        let mut loaded = load_roles(team, &self.places);
        let settings = self.settings.as_ref().map(|file| file.path.as_str());
        if let Some(wrong) =
            loaded.problems.iter().find(|one| one.fatal && Some(one.path.as_str()) == settings)
        {
            bail!("{}: {}", shown(Path::new(&wrong.path)), wrong.text);
        }
        set_models(&mut loaded.roles, config)?;
        Ok(loaded)
    }
}

/// Whether that very content of a settings file and of every prompt that it names was trusted.
pub(crate) fn is_trusted(file: &RolesFile, trusted: &Trusted) -> bool {
    let prompts = file.prompts.iter().map(|prompt| (&prompt.path, &prompt.text));
    prompts.chain([(&file.path, &file.text)]).all(|(path, text)| trusted.holds(Path::new(path), text))
}

/// Gives roles the models of `[roles.NAME]`.
fn set_models(roles: &mut Roles, config: &Config) -> anyhow::Result<()> {
    for (name, file) in &config.roles {
        let is_there = |roles: &Roles| roles.iter().any(|role| role.name.eq_ignore_ascii_case(name));
        // One of the team, in a session without it; the main agent is there in any case.
        if !is_there(roles) && is_there(&Roles::builtin(Team::With)) {
            continue;
        }
        let model = file.model.as_deref().unwrap_or("inherit");
        if file.model.is_some() {
            roles.set_model(name, model).map_err(|unknown| anyhow!("[roles.{name}]: {unknown}"))?;
        } else {
            roles.find(name).map_err(|unknown| anyhow!("[roles.{name}]: {unknown}"))?;
        }
    }
    Ok(())
}

/// The configured model that a role's word stands for: its name, or the provider's.
fn configured<'a>(config: &'a Config, wanted: &str) -> Option<&'a str> {
    let by_name = config.models.keys().find(|name| name.eq_ignore_ascii_case(wanted));
    let by_id = || {
        let is_that = |id: &String| id.eq_ignore_ascii_case(wanted);
        config.models.iter().find(|(_, file)| file.model.as_ref().is_some_and(is_that)).map(|(name, _)| name)
    };
    by_name.or_else(by_id).map(String::as_str)
}

/// The model that the main agent's role wants: what the configuration says, or what the role's file says where that is
/// configured.
pub(crate) fn main_model(config: &Config, main: Option<&str>) -> Option<String> {
    let said = config.roles.iter().find(|(name, _)| name.eq_ignore_ascii_case("main"));
    let said = said.and_then(|(_, file)| file.model.as_deref());
    match said {
        Some(inherit) if inherit.eq_ignore_ascii_case("inherit") => None,
        Some(said) => Some(configured(config, said).unwrap_or(said).to_owned()),
        None => configured(config, main?).map(str::to_owned),
    }
}
