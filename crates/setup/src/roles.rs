//! The roles that agents in a folder can have: agent files, the settings file that the configuration names, and the
//! models that it gives to roles.

use std::path::{Path, PathBuf};

use posse_engine::roles::{LoadedRoles, RolePlace, RolesFile, load_roles, project_role_places};
use posse_roles::{Roles, Team};

use crate::config::{Config, RolesFileNamed, Trusted};
use crate::error::RolesError;
use crate::paths::Paths;
use crate::surroundings::Surroundings;
use crate::warning::SetupWarning;

/// Where the roles come from. The default has the built-in roles only.
#[derive(Default)]
pub struct RoleSources {
    /// Folders and files with roles; later ones win.
    pub places: Vec<RolePlace>,
    /// The settings file, where there is one that may be used.
    pub(crate) settings: Option<RolesFile>,
    /// What the person should know.
    pub warnings: Vec<SetupWarning>,
}

impl RoleSources {
    /// The person's files first; later ones win.
    pub fn of(paths: &Paths, folder: &Path, config: &Config, trusted: &Trusted) -> Result<Self, RolesError> {
        let (mut places, mut project) = (own_role_places(paths), project_role_places(folder));
        let (mut settings, mut warnings) = (None, Vec::new());
        if let Some(named) = &config.roles_file {
            let file = read_roles_file(paths, folder, named)?;
            if file.of_project && !is_trusted(&file, trusted) {
                let path = paths.shown(Path::new(&file.path));
                warnings.push(SetupWarning::NotTrusted { path, settings: vec!["roles".to_owned()] });
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
    pub fn load(
        &self,
        team: Team,
        config: &Config,
        surroundings: &Surroundings,
    ) -> Result<LoadedRoles, RolesError> {
        let mut loaded = load_roles(team, &self.places);
        let settings = self.settings.as_ref().map(|file| file.path.as_str());
        if let Some(wrong) =
            loaded.problems.iter().find(|one| one.fatal && Some(one.path.as_str()) == settings)
        {
            let path = surroundings.shown(Path::new(&wrong.path));
            return Err(RolesError::Faulty { path, fault: wrong.text.clone() });
        }
        set_models(&mut loaded.roles, config)?;
        Ok(loaded)
    }
}

/// Where the person's own agent files are written.
pub fn own_role_folder(paths: &Paths) -> PathBuf {
    paths.config.with_file_name("agents")
}

/// Where the person's own agent files are looked for; later ones win.
pub(crate) fn own_role_places(paths: &Paths) -> Vec<RolePlace> {
    let claude = paths.surroundings().home().map(|home| RolePlace::User(home.join(".claude/agents")));
    [RolePlace::User(own_role_folder(paths))].into_iter().chain(claude).collect()
}

/// Reads the settings file that a configuration names.
pub(crate) fn read_roles_file(
    paths: &Paths,
    folder: &Path,
    named: &RolesFileNamed,
) -> Result<RolesFile, RolesError> {
    let at = named.find(folder, paths.surroundings())?;
    RolesFile::read(&at).map_err(|reason| RolesError::Unreadable { reason })
}

/// Whether that very content of a settings file and of every prompt that it names was trusted.
fn is_trusted(file: &RolesFile, trusted: &Trusted) -> bool {
    let prompts = file.prompts.iter().map(|prompt| (&prompt.path, &prompt.text));
    prompts.chain([(&file.path, &file.text)]).all(|(path, text)| trusted.holds(Path::new(path), text))
}

/// Gives roles the models of `[roles.NAME]`.
fn set_models(roles: &mut Roles, config: &Config) -> Result<(), RolesError> {
    for (name, file) in &config.roles {
        let is_there = |roles: &Roles| roles.iter().any(|role| role.name.eq_ignore_ascii_case(name));
        // One of the team, in a session without it; the main agent is there in any case.
        if !is_there(roles) && is_there(&Roles::builtin(Team::With)) {
            continue;
        }
        let set = match &file.model {
            Some(model) => roles.set_model(name, model),
            None => roles.find(name).map(|_| ()),
        };
        set.map_err(|unknown| RolesError::Unknown { name: name.clone(), unknown })?;
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
