//! Agent files on disk become roles: finds them, reads them within bounds, and tells what is wrong with which.
//!
//! One bad file never stops the others. A project's files are a stranger's: nothing outside the project is read for
//! them, whatever links say. Must not know the home folder or the configuration: it is told where to look.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use posse_protocol::RoleOrigin;
use posse_roles::limits::FILE_BYTES_MAX;
use posse_roles::{RoleError, Roles, Team, Told, Warning, read};
use posse_workspace::{Kind, Stop, Workspace, WorkspaceError, WorkspacePath};

use crate::project::project_folders;
use crate::roles_file::RolesFile;

/// How many folders deep agent files are looked for.
const DEPTH_MAX: usize = 4;
/// How many agent files are read in all.
const FILES_MAX: usize = 500;
/// How many entries of one place are looked at.
const ENTRIES_MAX: usize = 5_000;
/// Where a project keeps agent files; later ones win.
const PROJECT_FOLDERS: [&str; 2] = [".claude/agents", ".posse/agents"];
/// Pages that lie about in collections and are no agents.
const PAGES: [&str; 8] =
    ["README", "AGENTS", "CLAUDE", "CHANGELOG", "CONTRIBUTING", "LICENSE", "SECURITY", "CODE_OF_CONDUCT"];

/// Where to look for agent files.
#[derive(Clone, Debug, PartialEq)]
pub enum RolePlace {
    /// A folder or a file of the person's own.
    User(PathBuf),
    /// A folder of a project.
    Project {
        /// The top of the project.
        root: PathBuf,
        /// The folder, relative to the top.
        folder: String,
    },
    /// A settings file that may be used.
    Settings(Box<RolesFile>),
}

/// What was found.
#[derive(Clone, Debug)]
pub struct LoadedRoles {
    /// Every role, the built-in ones included.
    pub roles: Roles,
    /// How many files were read.
    pub files: usize,
    /// What is wrong, by file.
    pub problems: Vec<Problem>,
    /// Keys that other programs use and Posse does not, by file.
    pub not_used: Vec<Problem>,
    /// The project's files that are roles: path and text, as they were read.
    pub project_files: Vec<(String, String)>,
}

/// Something wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// What it is and what to do.
    pub text: String,
    /// Whether the file is no role because of it.
    pub fatal: bool,
    /// Who is told.
    pub told: Told,
}

/// The places of the project that `folder` is in, from its top down to the folder.
pub fn project_role_places(folder: &Path) -> Vec<RolePlace> {
    let mut folders = project_folders(folder).collect::<Vec<_>>();
    folders.reverse();
    let Some(root) = folders.first().map(|top| top.to_path_buf()) else { return Vec::new() };
    let places = folders.iter().flat_map(|folder| {
        let inside = folder.strip_prefix(&root).unwrap_or(Path::new(""));
        PROJECT_FOLDERS.map(|name| RolePlace::Project {
            root: root.clone(),
            folder: inside.join(name).to_string_lossy().into_owned(),
        })
    });
    places.collect()
}

/// Reads all agent files of these places, in this order, on top of the built-in roles; later ones win.
pub fn load_roles(team: Team, places: &[RolePlace]) -> LoadedRoles {
    let mut loading = Loading {
        loaded: LoadedRoles {
            roles: Roles::builtin(team),
            files: 0,
            problems: Vec::new(),
            not_used: Vec::new(),
            project_files: Vec::new(),
        },
        seen: BTreeSet::new(),
    };
    for place in places {
        loading.place(place);
    }
    loading.link();
    loading.loaded
}

struct Loading {
    loaded: LoadedRoles,
    /// Places read already: the person's folder may be a project's too.
    seen: BTreeSet<PathBuf>,
}

impl Loading {
    fn place(&mut self, place: &RolePlace) {
        if let RolePlace::Settings(file) = place {
            self.loaded.files += 1;
            if let Err(why) = file.add_to(&mut self.loaded.roles) {
                self.problem(&file.path, 1, why, true);
            }
            return;
        }
        let path = place.path();
        let Ok(real) = path.canonicalize() else { return };
        if !self.seen.insert(real) {
            return;
        }
        match place {
            RolePlace::Settings(_) => {}
            RolePlace::User(path) => self.user(path, DEPTH_MAX, &mut 0),
            RolePlace::Project { root, folder } => {
                if let Err(error) = self.project(root, folder) {
                    self.problem(&path.display().to_string(), 1, error.to_string(), true);
                }
            }
        }
    }

    /// The person's own files; links are followed, as far as the depth goes.
    fn user(&mut self, path: &Path, depth_left: usize, entries: &mut usize) {
        let shown = path.display().to_string();
        let Ok(metadata) = std::fs::metadata(path) else { return };
        if metadata.is_file() {
            return self.file(&shown, RoleOrigin::User(shown.clone()), || read_own(path));
        }
        let Ok(folder) = std::fs::read_dir(path) else { return };
        let mut names = Vec::new();
        for entry in folder.flatten() {
            *entries += 1;
            if *entries > ENTRIES_MAX {
                self.too_much(&shown);
                break;
            }
            names.push(entry.file_name());
        }
        names.sort();
        for name in names {
            let path = path.join(&name);
            let is_folder = || depth_left > 1 && path.is_dir();
            let name = name.to_string_lossy();
            if !name.starts_with('.') && (is_agent_file(&name) && path.is_file() || is_folder()) {
                self.user(&path, depth_left - 1, entries);
            }
        }
    }

    /// A project's files, through a workspace that cannot be left.
    fn project(&mut self, root: &Path, folder: &str) -> Result<(), WorkspaceError> {
        let workspace = Workspace::open(root)?;
        let start = workspace.resolve(folder)?;
        let found = workspace.list(&start, DEPTH_MAX, ENTRIES_MAX, u64::MAX, &Stop::default())?;
        if found.cut.is_some() || !found.left_out.is_empty() {
            self.too_much(&root.join(folder).display().to_string());
        }
        for entry in found.entries {
            if matches!(entry.kind, Kind::File | Kind::Link) && is_agent_file(entry.path.name()) {
                let shown = root.join(entry.path.as_str()).display().to_string();
                let origin = RoleOrigin::Project(shown.clone());
                self.file(&shown, origin, || read_within(&workspace, &entry.path));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &str, origin: RoleOrigin, read: impl FnOnce() -> Result<Vec<u8>, String>) {
        if self.loaded.files >= FILES_MAX {
            let text = format!("{FILES_MAX} agent files were read already, so this one is left out");
            return self.problem(path, 1, text, false);
        }
        self.loaded.files += 1;
        let text = read().and_then(|bytes| {
            String::from_utf8(bytes).map_err(|_| "it is not UTF-8 text; save it as UTF-8".to_string())
        });
        match text {
            Ok(text) => self.role(path, origin, &text),
            Err(why) => self.problem(path, 1, why, true),
        }
    }

    fn role(&mut self, path: &str, origin: RoleOrigin, text: &str) {
        let of_project = matches!(origin, RoleOrigin::Project(_));
        let (parsed, given) = read(text, path, origin);
        if parsed.role == Err(RoleError::NoFrontMatter) && is_page(path) {
            return;
        }
        for warning in parsed.warnings {
            self.warn(path, warning);
        }
        for warning in parsed.not_used {
            self.loaded.not_used.push(Problem::of(path, warning));
        }
        let completed = parsed.role.and_then(|role| self.loaded.roles.completed(role, &given));
        match completed {
            Ok((role, missing)) => {
                for warning in missing {
                    self.warn(path, warning);
                }
                // It is about a role that is not among these.
                let Some(role) = role else { return };
                if of_project {
                    self.loaded.project_files.push((path.to_string(), text.to_string()));
                }
                for warning in self.loaded.roles.add(role) {
                    self.warn(path, warning);
                }
            }
            Err(error) => self.problem(path, error.line(), error.to_string(), true),
        }
    }

    fn link(&mut self) {
        for (name, warning) in self.loaded.roles.link() {
            let origin = self.loaded.roles.find(&name).map(|role| role.origin.clone());
            if let Ok(RoleOrigin::User(path) | RoleOrigin::Project(path)) = origin {
                self.warn(&path, warning);
            }
        }
    }

    fn too_much(&mut self, folder: &str) {
        let text = format!(
            "there is too much in this folder, and not all of it was looked at; keep fewer than {ENTRIES_MAX} files in it"
        );
        self.problem(folder, 1, text, false);
    }

    fn problem(&mut self, path: &str, line: usize, text: String, fatal: bool) {
        let told = if fatal { Told::Everybody } else { Told::WhoChecks };
        self.loaded.problems.push(Problem { path: path.to_string(), line, text, fatal, told });
    }

    fn warn(&mut self, path: &str, warning: Warning) {
        self.loaded.problems.push(Problem::of(path, warning));
    }
}

impl Problem {
    fn of(path: &str, Warning { line, text, told }: Warning) -> Self {
        Self { path: path.to_string(), line, text, fatal: false, told }
    }
}

impl RolePlace {
    fn path(&self) -> PathBuf {
        match self {
            Self::User(path) => path.clone(),
            Self::Project { root, folder } => root.join(folder),
            Self::Settings(file) => PathBuf::from(&file.path),
        }
    }
}

fn is_agent_file(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("md"))
}

fn is_page(path: &str) -> bool {
    let stem = Path::new(path).file_stem().unwrap_or_default().to_string_lossy();
    PAGES.iter().any(|page| page.eq_ignore_ascii_case(&stem))
}

pub(crate) fn read_own(path: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("it cannot be read: {error}");
    let mut bytes = Vec::new();
    // One byte more than allowed tells that there is more.
    let limit = FILE_BYTES_MAX as u64 + 1;
    std::fs::File::open(path).map_err(failed)?.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() > FILE_BYTES_MAX { Err(too_large()) } else { Ok(bytes) }
}

pub(crate) fn read_within(workspace: &Workspace, path: &WorkspacePath) -> Result<Vec<u8>, String> {
    match workspace.read(path, FILE_BYTES_MAX as u64) {
        Ok((bytes, _)) => Ok(bytes),
        Err(WorkspaceError::TooLarge { .. }) => Err(too_large()),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}

fn too_large() -> String {
    format!("it is larger than {FILE_BYTES_MAX} bytes; move details into files that the agent can read")
}
