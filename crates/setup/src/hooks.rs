//! The hooks of a session: those of the person's own settings, and those of the project, which run only if the person has trusted
//! that very content. Nothing outside the project is read for the latter.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use posse_engine::roles::RoleHooks;
use posse_engine::skills::find_skills;
use posse_engine::{HookSettings, project_folders};
use posse_hooks::{
    Hook, HookOrigin, HookOwner, HookScope, HookSet, HookWarning, read_front_matter, read_settings,
};
use posse_roles::front_matter_hooks;
use posse_workspace::Workspace;

use crate::config::{Config, Trusted};
use crate::limits::CONFIG_BYTES_MAX;
use crate::paths::Paths;
use crate::skill_places::skill_folders;
use crate::warning::SetupWarning;

/// The person's settings, in the home folder.
const OWN_FILE: &str = ".claude/settings.json";
/// The project's. What is local to a checkout lies where agents write, so it is the project's, too.
const PROJECT_FILES: [&str; 2] = [".claude/settings.json", ".claude/settings.local.json"];
/// What a skill is in.
const SKILL_FILE: &str = "SKILL.md";

/// The hooks that were found, and what the person should know about them.
#[derive(Debug, Default)]
pub struct FoundHooks {
    /// The hooks and what running them takes.
    pub settings: HookSettings,
    /// What is wrong, and what is not trusted.
    pub warnings: Vec<SetupWarning>,
}

/// A file of a project that has hooks.
pub(crate) struct HookFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
    scope: HookScope,
}

struct HookSearch<'a> {
    paths: &'a Paths,
    trusted: &'a Trusted,
    hooks: Vec<Hook>,
    warnings: Vec<SetupWarning>,
}

/// Finds the hooks of a session in a folder. `roles` are those of agent files.
pub fn find_hooks(
    paths: &Paths,
    folder: &Path,
    config: &Config,
    trusted: &Trusted,
    roles: &[RoleHooks],
) -> FoundHooks {
    let surroundings = paths.surroundings();
    let mut search = HookSearch { paths, trusted, hooks: Vec::new(), warnings: Vec::new() };
    if search.own_settings() {
        return FoundHooks { warnings: search.warnings, ..FoundHooks::default() };
    }
    for file in own_skills(paths, folder) {
        search.front_matter(&file, HookOwner::Person);
    }
    for role in roles.iter().filter(|role| role.of_project.is_none()) {
        search.role(role, HookOwner::Person);
    }
    search.project(folder, roles);
    let HookSearch { hooks, warnings, .. } = search;
    let settings = HookSettings {
        set: HookSet { hooks },
        outside: config.hooks.outside.clone(),
        environment: surroundings.all_texts(),
        home: surroundings.home().map(Path::to_path_buf),
        places: vec![folder.to_path_buf(), paths.data_dir.clone()],
    };
    FoundHooks { settings, warnings }
}

impl HookSearch<'_> {
    fn origin(&self, path: &Path, owner: HookOwner, scope: HookScope) -> HookOrigin {
        HookOrigin { file: self.paths.shown(path).to_string(), owner, scope }
    }

    fn add(&mut self, hooks: Vec<Hook>, warnings: Vec<HookWarning>) {
        self.hooks.extend(hooks);
        let warnings = warnings.into_iter().map(|warning| SetupWarning::Hook { fault: warning.to_string() });
        self.warnings.extend(warnings);
    }

    /// Those of the person. True if they have switched all hooks off.
    fn own_settings(&mut self) -> bool {
        let surroundings = self.paths.surroundings();
        let Some(file) = surroundings.home().map(|home| home.join(OWN_FILE)) else { return false };
        let text = match read_own(&file) {
            Ok(Some(text)) => text,
            Ok(None) => return false,
            Err(fault) => {
                let fault = format!("{}: {fault}; none of its hooks run", self.paths.shown(&file));
                self.warnings.push(SetupWarning::Hook { fault });
                return false;
            }
        };
        let variable = |name: &str| surroundings.text(name).map(str::to_owned);
        let origin = self.origin(&file, HookOwner::Person, HookScope::Session);
        let (hooks, warnings, disabled) = read_settings(&text, &origin, &variable);
        self.add(hooks, warnings);
        disabled
    }

    fn role(&mut self, role: &RoleHooks, owner: HookOwner) {
        let origin = self.origin(Path::new(&role.path), owner, HookScope::Role(role.role.clone()));
        let (hooks, warnings) = read_front_matter(&role.hooks, &origin);
        self.add(hooks, warnings);
    }

    fn front_matter(&mut self, file: &HookFile, owner: HookOwner) {
        let Some(hooks) = front_matter_hooks(&file.text) else { return };
        let origin = self.origin(&file.path, owner, file.scope.clone());
        let (hooks, warnings) = read_front_matter(&hooks, &origin);
        self.add(hooks, warnings);
    }

    /// Those of the project. One that switches hooks off switches off its own.
    fn project(&mut self, folder: &Path, roles: &[RoleHooks]) {
        let before = self.hooks.len();
        let mut disabled = false;
        for file in project_settings(self.paths, folder) {
            let owner = self.owner(&file.path, &file.text);
            let origin = self.origin(&file.path, owner, HookScope::Session);
            let (hooks, warnings, off) = read_settings(&file.text, &origin, &|_| None);
            disabled |= off;
            self.tell_untrusted(&file.path, owner, hooks.len());
            self.add(hooks, warnings);
        }
        for role in roles {
            let Some(text) = &role.of_project else { continue };
            let (path, known) = (PathBuf::from(&role.path), self.hooks.len());
            let owner = self.owner(&path, text);
            self.role(role, owner);
            self.tell_untrusted(&path, owner, self.hooks.len() - known);
        }
        for file in project_skills(self.paths, folder) {
            let (owner, known) = (self.owner(&file.path, &file.text), self.hooks.len());
            self.front_matter(&file, owner);
            self.tell_untrusted(&file.path, owner, self.hooks.len() - known);
        }
        if disabled {
            self.hooks.truncate(before);
        }
    }

    fn owner(&self, path: &Path, text: &str) -> HookOwner {
        HookOwner::Project { trusted: self.trusted.holds(path, text) }
    }

    fn tell_untrusted(&mut self, path: &Path, owner: HookOwner, count: usize) {
        if count > 0 && owner == (HookOwner::Project { trusted: false }) {
            self.warnings.push(SetupWarning::HooksNotTrusted { path: self.paths.shown(path), count });
        }
    }
}

/// Files of a project with hooks that want to run, and what each runs, in words.
pub(crate) fn hooks_of_project(paths: &Paths, folder: &Path) -> Vec<(PathBuf, String, Vec<String>)> {
    let of_settings = |file: &HookFile| {
        let origin = HookOrigin {
            file: String::new(),
            owner: HookOwner::Project { trusted: true },
            scope: HookScope::Session,
        };
        read_settings(&file.text, &origin, &|_| None).0
    };
    let settings =
        project_settings(paths, folder).into_iter().map(|file| (wanted(&of_settings(&file)), file));
    let skills = project_skills(paths, folder).into_iter().map(|file| {
        (front_matter_hooks(&file.text).map(|hooks| wanted_by(&hooks)).unwrap_or_default(), file)
    });
    let all = settings.chain(skills).filter(|(wants, _)| !wants.is_empty());
    all.map(|(wants, file)| (file.path, file.text, wants)).collect()
}

/// What the hooks of front matter run.
pub(crate) fn wanted_by(hooks: &serde_json::Value) -> Vec<String> {
    let owner = HookOwner::Project { trusted: true };
    let origin = HookOrigin { file: String::new(), owner, scope: HookScope::Session };
    wanted(&read_front_matter(hooks, &origin).0)
}

fn wanted(hooks: &[Hook]) -> Vec<String> {
    hooks.iter().map(|hook| format!("{}: {}", hook.event, hook.action.text())).collect()
}

/// The settings files of a project, the top of the repository first. The home may be a project, too; what is there is the
/// person's own.
fn project_settings(paths: &Paths, folder: &Path) -> Vec<HookFile> {
    let own = paths.surroundings().home().and_then(|home| home.join(OWN_FILE).canonicalize().ok());
    let mut found = Vec::new();
    for folder in project_folders(folder) {
        for name in PROJECT_FILES {
            let path = folder.join(name);
            if path.symlink_metadata().is_err() || own.is_some() && path.canonicalize().ok() == own {
                continue;
            }
            let Some(text) = read_inside(folder, name) else { continue };
            found.push(HookFile { path, text, scope: HookScope::Session });
        }
    }
    found.reverse();
    found
}

/// The skills of the person, or of the project, that may have hooks.
fn skills(paths: &Paths, folder: &Path, of_project: bool) -> Vec<HookFile> {
    let folders = skill_folders(paths, folder);
    let there = folders.into_iter().filter(|one| one.within.is_some() == of_project && one.path.is_dir());
    let there = there.collect::<Vec<_>>();
    let found = find_skills(&there).into_iter().filter_map(|found| {
        let first = found.folders.first()?;
        let path = first.path.join(SKILL_FILE);
        let text = match &first.within {
            Some(top) => read_inside(top, path.strip_prefix(top).ok()?.to_str()?)?,
            None => read_own(&path).ok()??,
        };
        Some(HookFile { path, text, scope: HookScope::Skill(found.skill.key) })
    });
    found.collect()
}

fn own_skills(paths: &Paths, folder: &Path) -> Vec<HookFile> {
    skills(paths, folder, false)
}

fn project_skills(paths: &Paths, folder: &Path) -> Vec<HookFile> {
    skills(paths, folder, true)
}

/// A file of a project, without following links out of it.
fn read_inside(folder: &Path, name: &str) -> Option<String> {
    let project = Workspace::open(folder).ok()?;
    let (bytes, _) = project.read(&project.resolve(name).ok()?, CONFIG_BYTES_MAX).ok()?;
    String::from_utf8(bytes).ok()
}

/// A file of the person; none if it is not there.
fn read_own(file: &Path) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    match std::fs::File::open(file) {
        Ok(open) => {
            open.take(CONFIG_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.to_string()),
    };
    if bytes.len() as u64 > CONFIG_BYTES_MAX {
        return Err("it is too long".to_owned());
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "it is not UTF-8 text".to_owned())
}
