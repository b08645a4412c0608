//! User commands: Markdown files with prompts that a person starts by name. Those of a project are a stranger's: nothing outside
//! the project is read for them, and commands inside them run only if the person has trusted that very content.

use std::collections::BTreeSet;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use posse_engine::project_folders;
use posse_protocol::visible::one_line;
use posse_roles::{CommandPrompt, parse_command};
use posse_workspace::Workspace;

use crate::command_text::{ExpandError, ExpandedCommand, commands_in, expand};
use crate::config::Trusted;
use crate::limits::{
    COMMAND_DEPTH_MAX, COMMAND_ENTRIES_MAX, COMMAND_FILE_BYTES_MAX, COMMAND_FILES_MAX,
    COMMAND_NAME_CHARS_MAX, FAULT_COLUMNS_MAX, FAULTS_MAX,
};
use crate::paths::Paths;
use crate::surroundings::ShownPath;

/// Where a project keeps them; earlier ones win.
const PROJECT_FOLDERS: [&str; 2] = [".posse/commands", ".claude/commands"];
/// Where another program keeps those of a person, in the home folder.
const CLAUDE_FOLDER: &str = ".claude/commands";

/// A prompt that is started by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserCommand {
    /// What is typed behind the slash: `name`, or `folder:name`.
    pub name: String,
    /// What the file says of itself, and its text.
    pub prompt: CommandPrompt,
    /// The file.
    pub file: ShownPath,
    /// Whether it came with the project.
    pub of_project: bool,
    /// Whether the person has trusted this very content.
    pub trusted: bool,
}

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserCommands {
    /// By name; each name once.
    pub commands: Vec<UserCommand>,
    /// Files that cannot be used, as far as they are listed.
    pub faults: Vec<CommandFault>,
}

/// Something wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandFault {
    /// The file.
    pub file: ShownPath,
    /// What is wrong with it, in one line.
    pub fault: String,
}

impl UserCommand {
    /// Puts in what was typed behind its name. Nothing is run.
    pub fn expand(&self, arguments: &str) -> Result<ExpandedCommand, ExpandError> {
        expand(&self.prompt.body, arguments)
    }

    /// Whether the commands inside it may run: it is the person's own, or they have trusted it as it is.
    pub fn may_run(&self) -> bool {
        !self.of_project || self.trusted
    }
}

/// All user commands for somebody who works in a folder, links resolved. The person's own win where names clash, then those closest
/// to the folder.
pub fn user_commands(paths: &Paths, folder: &Path) -> UserCommands {
    let (own, project) = (own_places(paths), project_places(folder));
    let mut search = CommandSearch::new(paths);
    own.iter().chain(&project).for_each(|place| search.place(place));
    let CommandSearch { found, mut faults, .. } = search;
    let trusted = Trusted::load(paths).unwrap_or_else(|error| {
        faults.push(CommandFault { file: paths.shown(&paths.data_dir), fault: error.to_string() });
        Trusted::default()
    });
    let mut commands: Vec<UserCommand> = Vec::new();
    for found in found {
        if commands.iter().any(|known| known.name == found.name) {
            continue;
        }
        let trusted = found.of_project && trusted.holds(found.file.path(), &found.text);
        let CommandFile { name, file, of_project, text } = found;
        commands.push(UserCommand { name, prompt: parse_command(&text), file, of_project, trusted });
    }
    commands.sort_by(|a, b| a.name.cmp(&b.name));
    UserCommands { commands, faults }
}

/// Files of the project with commands inside, each with its text and these commands.
pub(crate) fn commands_of_project(paths: &Paths, folder: &Path) -> Vec<(PathBuf, String, Vec<String>)> {
    let mut search = CommandSearch::new(paths);
    // The home may be a project, too; what is there is the person's own.
    own_places(paths).iter().for_each(|place| search.pass(place));
    project_places(folder).iter().for_each(|place| search.place(place));
    let acting = search.found.into_iter().filter_map(|found| {
        let body = parse_command(&found.text).body;
        let runs: Vec<String> = commands_in(&body).into_iter().map(str::to_owned).collect();
        (!runs.is_empty()).then(|| (found.file.path().to_path_buf(), found.text, runs))
    });
    acting.collect()
}

/// A folder that commands are looked for in.
struct CommandPlace {
    folder: PathBuf,
    /// What links may not lead out of: the top of the project. None for the person's own.
    within: Option<PathBuf>,
}

fn own_places(paths: &Paths) -> Vec<CommandPlace> {
    let claude = paths.surroundings().home().map(|home| home.join(CLAUDE_FOLDER));
    let own = [paths.config.with_file_name("commands")].into_iter().chain(claude);
    own.map(|folder| CommandPlace { folder, within: None }).collect()
}

fn project_places(folder: &Path) -> Vec<CommandPlace> {
    let Some(top) = project_folders(folder).last().map(Path::to_path_buf) else { return Vec::new() };
    let at = |place: &Path, name: &str| CommandPlace { folder: place.join(name), within: Some(top.clone()) };
    project_folders(folder).flat_map(|place| PROJECT_FOLDERS.map(|name| at(place, name))).collect()
}

/// A file as it was found.
struct CommandFile {
    name: String,
    file: ShownPath,
    of_project: bool,
    text: String,
}

struct CommandSearch<'a> {
    paths: &'a Paths,
    found: Vec<CommandFile>,
    faults: Vec<CommandFault>,
    entries_left: usize,
    /// Folders that were looked at, links resolved.
    seen: BTreeSet<PathBuf>,
}

impl<'a> CommandSearch<'a> {
    fn new(paths: &'a Paths) -> Self {
        let (found, faults, seen) = (Vec::new(), Vec::new(), BTreeSet::new());
        Self { paths, found, faults, entries_left: COMMAND_ENTRIES_MAX, seen }
    }

    /// Does not look at a place.
    fn pass(&mut self, place: &CommandPlace) {
        self.seen.extend(place.folder.canonicalize().ok());
    }

    fn place(&mut self, place: &CommandPlace) {
        self.folder(place, &place.folder, "", COMMAND_DEPTH_MAX);
    }

    fn folder(&mut self, place: &CommandPlace, folder: &Path, prefix: &str, depth_left: usize) {
        let Ok(real) = folder.canonicalize() else { return };
        if place.within.as_ref().is_some_and(|top| !real.starts_with(top)) {
            return self.fault(folder, "it leads out of the project");
        }
        if !real.is_dir() || !self.seen.insert(real) {
            return;
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return };
        let mut entries: Vec<PathBuf> =
            entries.flatten().take(self.entries_left).map(|entry| entry.path()).collect();
        self.entries_left -= entries.len();
        entries.sort();
        for path in entries {
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                if depth_left > 1 {
                    self.folder(place, &path, &format!("{prefix}{name}:"), depth_left - 1);
                }
            } else if let Some(stem) = name.strip_suffix(".md") {
                self.file(place, &path, format!("{prefix}{stem}"));
            }
        }
    }

    fn file(&mut self, place: &CommandPlace, path: &Path, name: String) {
        if self.found.len() >= COMMAND_FILES_MAX {
            return self.fault(path, "there are too many commands");
        }
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
        if name.chars().count() > COMMAND_NAME_CHARS_MAX || !name.chars().all(plain) {
            return self.fault(path, "its name can only have letters, digits, -, _ and .");
        }
        let read = match &place.within {
            Some(top) => read_within(top, path),
            None => read_own(path),
        };
        match read {
            Ok(text) => {
                let file = self.paths.shown(path);
                self.found.push(CommandFile { name, file, of_project: place.within.is_some(), text });
            }
            Err(fault) => self.fault(path, &fault),
        }
    }

    fn fault(&mut self, path: &Path, fault: &str) {
        if self.faults.len() < FAULTS_MAX {
            let fault = one_line(fault, FAULT_COLUMNS_MAX);
            self.faults.push(CommandFault { file: self.paths.shown(path), fault });
        }
    }
}

/// A file of the project, without following links out of it.
fn read_within(top: &Path, path: &Path) -> Result<String, String> {
    let project = Workspace::open(top).map_err(|error| error.to_string())?;
    let inside = path.strip_prefix(project.root()).ok().and_then(Path::to_str);
    let inside = inside.ok_or_else(|| "it leads out of the project".to_owned())?;
    let place = project.resolve(inside).map_err(|error| error.to_string())?;
    let (bytes, _) = project.read(&place, COMMAND_FILE_BYTES_MAX).map_err(|error| error.to_string())?;
    String::from_utf8(bytes).map_err(|_| "it is no text".to_owned())
}

fn read_own(path: &Path) -> Result<String, String> {
    // Opening a pipe would wait for somebody who writes.
    if !path.is_file() {
        return Err("it is no file".to_owned());
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    file.take(COMMAND_FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > COMMAND_FILE_BYTES_MAX {
        return Err(format!("it is longer than {COMMAND_FILE_BYTES_MAX} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "it is no text".to_owned())
}
