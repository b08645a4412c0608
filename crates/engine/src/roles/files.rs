//! Agent files on disk become roles: finds them, reads them within bounds, and tells what is wrong with which.
//!
//! One bad file never stops the others. A project's files are a stranger's: nothing outside the project is read for
//! them, whatever links say. Must not know the home folder or the configuration: it is told where to look.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use posse_protocol::RoleOrigin;
use posse_roles::limits::FILE_BYTES_MAX;
use posse_roles::{Audience, Lines, RoleError, Roles, Team, Warning, read, servers_in};
use posse_workspace::{Kind, Stop, Workspace, WorkspaceError, WorkspacePath};

use crate::limits::{ROLE_DEPTH_MAX, ROLE_ENTRIES_MAX, ROLE_TEXT_BYTES_MAX};
use crate::project::project_folders;
use crate::roles::reading::{read_own, read_within};
use crate::roles::settings::RolesFile;

/// Where a project keeps agent files; later ones win.
const PROJECT_FOLDERS: [&str; 2] = [".claude/agents", ".posse/agents"];
/// Folders of collections that hold something else: commands are written like agents and are none.
const OTHER_FOLDERS: [&str; 3] = ["commands", "hooks", "node_modules"];
/// What makes a folder a skill. All that is in it belongs to the skill.
const SKILL: &str = "SKILL.md";

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
    /// How many agent files there are, those that are broken included.
    pub files: usize,
    /// Markdown files that are no agents: pages, commands.
    pub pages: Vec<String>,
    /// Where in these files stands what is checked against the configuration.
    pub lines: BTreeMap<String, Lines>,
    /// What is wrong, by file.
    pub problems: Vec<Problem>,
    /// Keys that other programs use and Posse does not, by file.
    pub not_used: Vec<Problem>,
    /// The project's files that are roles: path and text, as they were read.
    pub project_files: Vec<(String, String)>,
    /// What these files, and those of the person's own, say of servers.
    pub servers: Vec<RoleServers>,
    /// The hooks of agent files.
    pub hooks: Vec<RoleHooks>,
}

/// What an agent file says of servers.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleServers {
    /// The file.
    pub origin: RoleOrigin,
    /// Servers by name or a list of names, as it is written; or why it cannot be read.
    pub servers: Result<serde_json::Value, &'static str>,
}

/// The hooks that an agent file has for agents of its role.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoleHooks {
    /// The role.
    pub role: String,
    /// The file.
    pub path: String,
    /// The text of a project's file, which has to be trusted; none for the person's own.
    pub of_project: Option<String>,
    /// The hooks as they are written.
    pub hooks: serde_json::Value,
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
    pub told: Audience,
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
            pages: Vec::new(),
            lines: BTreeMap::new(),
            problems: Vec::new(),
            not_used: Vec::new(),
            project_files: Vec::new(),
            servers: Vec::new(),
            hooks: Vec::new(),
        },
        seen: BTreeSet::new(),
        bytes: 0,
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
    /// How much text was read.
    bytes: usize,
}

/// A Markdown file that may be an agent's.
struct Candidate<'a> {
    path: &'a str,
    origin: RoleOrigin,
    /// Whether the person named this very file.
    named: bool,
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
            RolePlace::User(path) if path.is_file() => self.own_file(path, true),
            RolePlace::Settings(_) => {}
            RolePlace::User(path) => self.user(path, ROLE_DEPTH_MAX, &mut 0),
            RolePlace::Project { root, folder } => {
                if let Err(error) = self.project(root, folder) {
                    self.problem(&path.display().to_string(), 1, error.to_string(), true);
                }
            }
        }
    }

    /// The person's own files; links are followed, and no folder is read twice.
    fn user(&mut self, path: &Path, depth_left: usize, entries: &mut usize) {
        let Ok(folder) = std::fs::read_dir(path) else { return };
        let mut names = Vec::new();
        for entry in folder.flatten() {
            *entries += 1;
            if *entries > ROLE_ENTRIES_MAX {
                self.too_much(&path.display().to_string());
                break;
            }
            names.push(entry.file_name());
        }
        if depth_left < ROLE_DEPTH_MAX && names.iter().any(|name| name.eq_ignore_ascii_case(SKILL)) {
            return;
        }
        names.sort();
        for name in names {
            let path = path.join(&name);
            let name = name.to_string_lossy();
            if name.starts_with('.') {
            } else if is_agent_file(&name) && path.is_file() {
                self.own_file(&path, false);
            } else if depth_left > 1 && !is_other(&name) && path.is_dir() {
                let real = path.canonicalize();
                if real.is_ok_and(|real| self.seen.insert(real)) {
                    self.user(&path, depth_left - 1, entries);
                }
            }
        }
    }

    fn own_file(&mut self, path: &Path, named: bool) {
        let shown = path.display().to_string();
        let origin = RoleOrigin::User(shown.clone());
        self.file(&Candidate { path: &shown, origin, named }, || read_own(path));
    }

    /// A project's files, through a workspace that cannot be left.
    fn project(&mut self, root: &Path, folder: &str) -> Result<(), WorkspaceError> {
        let workspace = Workspace::open(root)?;
        let start = workspace.resolve(folder)?;
        let found = workspace.list(&start, ROLE_DEPTH_MAX, ROLE_ENTRIES_MAX, u64::MAX, &Stop::default())?;
        if found.cut.is_some() || !found.left_out.is_empty() {
            self.too_much(&root.join(folder).display().to_string());
        }
        let is_skill = |path: &&WorkspacePath| path.name().eq_ignore_ascii_case(SKILL);
        let skills = found.entries.iter().map(|entry| &entry.path).filter(is_skill);
        let skills = skills.map(WorkspacePath::parent).collect::<BTreeSet<_>>();
        for entry in &found.entries {
            let above = || ancestors(&entry.path, &start);
            let other = above().any(|folder| is_other(folder.name()) || skills.contains(&folder));
            let is_file = matches!(entry.kind, Kind::File | Kind::Link) && is_agent_file(entry.path.name());
            if is_file && !other {
                let shown = root.join(entry.path.as_str()).display().to_string();
                let origin = RoleOrigin::Project(shown.clone());
                let candidate = Candidate { path: &shown, origin, named: false };
                self.file(&candidate, || read_within(&workspace, &entry.path));
            }
        }
        Ok(())
    }

    fn file(&mut self, file: &Candidate<'_>, read: impl FnOnce() -> Result<Vec<u8>, String>) {
        let bytes = match read() {
            Ok(bytes) => bytes,
            Err(why) => return self.broken(file.path, 1, why),
        };
        if !file.named && !begins_front_matter(&bytes) {
            return self.loaded.pages.push(file.path.to_string());
        }
        if bytes.len() > FILE_BYTES_MAX {
            return self.broken(file.path, 1, too_large());
        }
        self.bytes += bytes.len();
        if self.bytes > ROLE_TEXT_BYTES_MAX {
            let text = "there is too much text in all agent files, so this one is left out".to_string();
            return self.broken(file.path, 1, text);
        }
        match text_of(bytes) {
            Some(text) => self.role(file, &text),
            None => self.broken(file.path, 1, "it is not UTF-8 text; save it as UTF-8".to_string()),
        }
    }

    fn role(&mut self, file: &Candidate<'_>, text: &str) {
        let path = file.path;
        let (parsed, given) = read(text, path, file.origin.clone());
        if !file.named && parsed.role.as_ref().is_err_and(RoleError::is_page) {
            return self.loaded.pages.push(path.to_string());
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
                self.loaded.files += 1;
                self.loaded.lines.insert(path.to_string(), parsed.lines);
                for warning in missing {
                    self.warn(path, warning);
                }
                // It is about a role that is not among these.
                let Some(role) = role else { return };
                if matches!(file.origin, RoleOrigin::Project(_)) {
                    self.loaded.project_files.push((path.to_string(), text.to_string()));
                }
                if let Some(servers) = servers_in(text) {
                    self.loaded.servers.push(RoleServers { origin: file.origin.clone(), servers });
                }
                self.loaded.hooks.extend(posse_roles::front_matter_hooks(text).map(|hooks| RoleHooks {
                    role: role.name.clone(),
                    path: path.to_string(),
                    of_project: matches!(file.origin, RoleOrigin::Project(_)).then(|| text.to_string()),
                    hooks,
                }));
                for warning in self.loaded.roles.add(role) {
                    self.warn(path, warning);
                }
            }
            Err(error) => self.broken(path, error.line(), error.to_string()),
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
            "there is too much in this folder, and not all of it was looked at; keep fewer than {ROLE_ENTRIES_MAX} files in it"
        );
        self.problem(folder, 1, text, false);
    }

    /// A file that was to be an agent's and cannot be.
    fn broken(&mut self, path: &str, line: usize, text: String) {
        self.loaded.files += 1;
        self.problem(path, line, text, true);
    }

    fn problem(&mut self, path: &str, line: usize, text: String, fatal: bool) {
        let told = if fatal { Audience::Everybody } else { Audience::WhoChecks };
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
    let is_markdown = |extension: &std::ffi::OsStr| extension.eq_ignore_ascii_case("md");
    Path::new(name).extension().is_some_and(is_markdown) && !name.eq_ignore_ascii_case(SKILL)
}

fn is_other(folder: &str) -> bool {
    OTHER_FOLDERS.iter().any(|other| other.eq_ignore_ascii_case(folder))
}

/// The folders that a file is in, below `top`.
fn ancestors(path: &WorkspacePath, top: &WorkspacePath) -> impl Iterator<Item = WorkspacePath> {
    let levels = path.as_str().matches('/').count().saturating_sub(top.as_str().matches('/').count() + 1);
    std::iter::successors(Some(path.parent()), |path| Some(path.parent())).take(levels)
}

/// Whether a file begins as agent files do, however it is encoded.
fn begins_front_matter(bytes: &[u8]) -> bool {
    let mut signs = bytes.iter().filter(|byte| !matches!(byte, 0 | 0xef | 0xbb | 0xbf | 0xfe | 0xff));
    signs.by_ref().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'-')
        && signs.next() == Some(&b'-')
        && signs.next() == Some(&b'-')
}

/// The text of a file. Some editors write UTF-16, and say so by its first two bytes.
fn text_of(bytes: Vec<u8>) -> Option<String> {
    let wide = |read: fn([u8; 2]) -> u16| {
        let pairs = bytes[2..].chunks(2).map(|pair| <[u8; 2]>::try_from(pair).map(read));
        String::from_utf16(&pairs.collect::<Result<Vec<_>, _>>().ok()?).ok()
    };
    match bytes.get(..2) {
        Some([0xff, 0xfe]) => wide(u16::from_le_bytes),
        Some([0xfe, 0xff]) => wide(u16::from_be_bytes),
        _ => String::from_utf8(bytes).ok(),
    }
}

fn too_large() -> String {
    format!("it is larger than {FILE_BYTES_MAX} bytes; move details into files that the agent can read")
}
