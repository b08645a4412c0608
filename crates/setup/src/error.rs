//! Why a session cannot be prepared, as values to branch on. Their words name files, lines and what to do.

use std::error::Error;
use std::path::PathBuf;

use posse_model::SetupError;
use posse_policy::RuleError;
use posse_protocol::limits::{ATTACHMENTS_DATA_BYTES_MAX, ATTACHMENTS_MAX};
use posse_protocol::visible::one_line;
use posse_protocol::words::grouped;
use posse_protocol::{AttachmentError, ModelError};
use posse_roles::UnknownRole;

use crate::limits::MODEL_COLUMNS_MAX;
use crate::providers::PROVIDERS;
use crate::surroundings::{NoFolder, ShownPath};

/// Whatever a system or a parser said.
type Cause = Box<dyn Error + Send + Sync>;

/// Why a session cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// The configuration, or the list of what is trusted.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The choice of models.
    #[error(transparent)]
    Model(#[from] ModelChoiceError),
    /// The roles of agents.
    #[error(transparent)]
    Roles(#[from] RolesError),
    /// There is no home folder to keep data in.
    #[error("no home folder is known; give --data-dir or set POSSE_HOME")]
    NoHome,
    /// There is no current folder.
    #[error(transparent)]
    NoFolder(#[from] NoFolder),
    /// A variable that names a file or folder is empty.
    #[error("{variable} is empty; set it to a path, or unset it")]
    EmptyVariable {
        /// The variable.
        variable: &'static str,
    },
    /// The workers that its agents can run on.
    #[error("the folder for what travels to workers cannot be used: {0}")]
    Workers(std::io::Error),
    /// A path cannot be made absolute.
    #[error(transparent)]
    Path(std::io::Error),
    /// The task does not fit into the model's context.
    #[error("{}", too_large(*.attached, *.tokens, .model, *.window))]
    TaskTooLarge {
        /// Whether most of it was attached.
        attached: bool,
        /// About how many tokens it is: all of it, or what was attached if that is most of it.
        tokens: u64,
        /// The model.
        model: String,
        /// The tokens of its context.
        window: u64,
    },
    /// A file that goes with the task cannot be used.
    #[error("{}: {fault}", .path.display())]
    AttachedFile {
        /// The file.
        path: PathBuf,
        /// Why.
        fault: AttachedFileError,
    },
    /// The model does not take what goes with the task.
    #[error("{}", cannot_show(.name, *.image, .model, .section.as_deref()))]
    CannotShow {
        /// The name of the file.
        name: String,
        /// Whether it is an image; else it is a PDF document.
        image: bool,
        /// The model.
        model: String,
        /// Where the model is described, such as `[models.NAME]`.
        section: Option<String>,
    },
    /// The folder is a home, holds homes, or holds credentials.
    #[error(
        "{} {what}, and an agent that works there could read and change everything in it. Work in the folder of a project \
         instead: posse run -C DIR. If you mean it, say --workspace-is-home; keys, sign-ins and histories stay hidden even then",
        .folder.display()
    )]
    FolderIsHome {
        /// The folder.
        folder: PathBuf,
        /// What it is.
        what: &'static str,
    },
}

/// Why a file cannot go with a task.
#[derive(Debug, thiserror::Error)]
pub enum AttachedFileError {
    /// It cannot be read.
    #[error("{0}")]
    Unreadable(std::io::Error),
    /// It is a folder, a device or a pipe.
    #[error("not a file; name an image, a PDF document or a text file")]
    NotAFile,
    /// It is no text and cannot be shown.
    #[error("{0}")]
    NotShown(AttachmentError),
    /// It is a text that is too long.
    #[error(
        "a text of {} bytes; at most {} go with a task: let the agent read it",
        grouped(*.bytes),
        grouped(*.bytes_max)
    )]
    TextTooLarge {
        /// How many bytes it has.
        bytes: u64,
        /// How many are taken.
        bytes_max: u64,
    },
    /// One message does not hold so many.
    #[error(
        "one file too many; one message holds {ATTACHMENTS_MAX} images and documents, {} bytes of base64 in all",
        grouped(ATTACHMENTS_DATA_BYTES_MAX as u64)
    )]
    TooMany,
}

/// What is wrong with the configuration, or with the list of what is trusted.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file cannot be read.
    #[error("cannot read {path}")]
    Unreadable {
        /// The file.
        path: ShownPath,
        /// Why.
        source: Cause,
    },
    /// A file cannot be written.
    #[error("cannot write {path}")]
    Unwritable {
        /// The file.
        path: ShownPath,
        /// Why.
        source: Cause,
    },
    /// A line of a file says something that cannot be read: no TOML, an unknown key, a wrong value.
    #[error("{path}, line {line}: {fault}")]
    Line {
        /// The file.
        path: ShownPath,
        /// The line, from 1.
        line: usize,
        /// What is wrong with it.
        fault: String,
    },
    /// A rule is about a tool that there is not.
    #[error("{path}, line {line}: there is no tool {tool:?}{hint}")]
    UnknownTool {
        /// The file.
        path: ShownPath,
        /// The line, from 1.
        line: usize,
        /// What stands there.
        tool: String,
        /// What may be meant.
        hint: String,
    },
    /// A setting names a model that there is not.
    #[error("{path}, line {line}: there is no model {model:?}; {hint}")]
    UnknownModel {
        /// The file.
        path: ShownPath,
        /// The line, from 1.
        line: usize,
        /// What stands there.
        model: String,
        /// What may be meant.
        hint: String,
    },
    /// The git program is not named by an absolute path.
    #[error("{path}: path in [git] must be an absolute path")]
    RelativeGit {
        /// The file.
        path: ShownPath,
    },
    /// A rule of `[approval]` cannot be read.
    #[error("[approval] in the configuration")]
    Rule(#[from] RuleError),
    /// `POSSE_MEMORY` is neither on nor off.
    #[error("POSSE_MEMORY is {said:?}; set it to on or off")]
    MemorySwitch {
        /// What it is.
        said: String,
    },
    /// A path begins with `~`, and no home folder is known.
    #[error("[cluster] {setting} is below ~/, and no home folder is known; write an absolute path")]
    NoHomeFor {
        /// The setting.
        setting: &'static str,
    },
    /// The list of what is trusted cannot be read.
    #[error("{path} is damaged; remove it to trust anew")]
    TrustDamaged {
        /// The list.
        path: ShownPath,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The configuration in force cannot be written as TOML.
    #[error(transparent)]
    NoToml(#[from] toml::ser::Error),
}

/// Why no model can be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelChoiceError {
    /// Nothing is configured, no key is set, no local server answers.
    #[error("{}", nothing_found(.own_file.as_ref()))]
    NoneFound {
        /// Where the person's own configuration is, or would be.
        own_file: Option<ShownPath>,
    },
    /// Several are configured, and none is named.
    #[error(
        "several models are configured ({}); choose one with --model, or with `model = \"NAME\"` in the file",
        .names.join(", ")
    )]
    Several {
        /// Their names.
        names: Vec<String>,
    },
    /// No configured model and no provider has this name.
    #[error("{}", no_such_model(.name, .configured))]
    Unknown {
        /// The name.
        name: String,
        /// The configured names.
        configured: Vec<String>,
    },
    /// A configured model lacks a setting.
    #[error("[models.{name}] needs `{setting}`")]
    Incomplete {
        /// The model.
        name: String,
        /// What it lacks.
        setting: &'static str,
    },
    /// The configuration holds what looks like a key.
    #[error(
        "[models.{name}] api_key_env is the name of a variable, such as MY_KEY; the key itself never goes into a file"
    )]
    KeyInFile {
        /// The model.
        name: String,
    },
    /// The variable with a configured model's key is not set.
    #[error("[models.{name}] takes its key from {variable}, which is not set")]
    KeyNotSet {
        /// The model.
        name: String,
        /// The variable.
        variable: String,
    },
    /// A provider wants a key, and its variable is not set.
    #[error("{provider} needs a key: set {variable}")]
    ProviderKey {
        /// The provider, as people call it.
        provider: &'static str,
        /// The variable.
        variable: &'static str,
    },
    /// A provider has no usual model, and none is named.
    #[error("write {provider}/MODEL")]
    NoUsualModel {
        /// The provider, as in `PROVIDER/MODEL`.
        provider: &'static str,
    },
    /// A local server does not answer, or has no models.
    #[error("{provider}: {error}")]
    NoAnswer {
        /// The provider, as people call it.
        provider: &'static str,
        /// What went wrong.
        error: ModelError,
    },
    /// A limit on cost is set, and the model's price is not known.
    #[error("max_cost_usd cannot be kept: the price of {model} is not known; give `price` in [models.NAME]")]
    NoPrice {
        /// The model.
        model: String,
    },
    /// A model that a section names for sub-agents cannot be used.
    #[error("{section} model: {reason}")]
    ForSubAgents {
        /// The section.
        section: String,
        /// Why.
        reason: String,
    },
    /// A model cannot be set up as configured.
    #[error(transparent)]
    Settings(#[from] SetupError),
}

/// What is wrong with the roles that agents can have.
#[derive(Debug, thiserror::Error)]
pub enum RolesError {
    /// The settings file that a configuration names is not there.
    #[error(
        "{by}: there is no roles_file {name:?} beside it{}; write the path from there",
        if *.by_project { " or at the top of the project" } else { " or in the folder you work in" }
    )]
    NoFile {
        /// The configuration.
        by: ShownPath,
        /// The path as it is written.
        name: String,
        /// Whether the configuration is a project's.
        by_project: bool,
    },
    /// The settings file, or a prompt that it names, cannot be read.
    #[error("{reason}")]
    Unreadable {
        /// Why, with the file.
        reason: String,
    },
    /// A role of the settings file cannot be used.
    #[error("{path}: {fault}")]
    Faulty {
        /// The settings file.
        path: ShownPath,
        /// What is wrong with it.
        fault: String,
    },
    /// `[roles.NAME]` names a role that there is not.
    #[error("[roles.{name}]: {unknown}")]
    Unknown {
        /// The name.
        name: String,
        /// What is known instead.
        unknown: UnknownRole,
    },
    /// A session is to begin in a role that there is not.
    #[error("{0}")]
    NotKnown(UnknownRole),
    /// A session is to begin in a role that a stranger's file describes.
    #[error("the role {name:?} is in {path}, which you have not trusted; look at it first: posse trust")]
    Stranger {
        /// Its name.
        name: String,
        /// The file.
        path: ShownPath,
    },
}

/// What is not shown, and what to set.
fn cannot_show(name: &str, image: bool, model: &str, section: Option<&str>) -> String {
    let (kind, setting) = if image { ("images", "images") } else { ("PDF documents", "documents") };
    let section = section.unwrap_or("a table [models.NAME] of the configuration");
    format!(
        "{name} cannot be shown: {} takes no {kind}. If it does take them, set {setting} = true in {}",
        one_line(model, MODEL_COLUMNS_MAX),
        one_line(section, MODEL_COLUMNS_MAX)
    )
}

/// How large it is, and what to do.
fn too_large(attached: bool, tokens: u64, model: &str, window: u64) -> String {
    // It is an estimate: more digits would say more than is known.
    let tokens = if tokens < 10_000 { tokens } else { (tokens + 500) / 1_000 * 1_000 };
    format!(
        "the {} is about {} tokens, {} takes {}; cut it, or put it in a file and let the agent read it",
        if attached { "piped text" } else { "task" },
        grouped(tokens),
        one_line(model, MODEL_COLUMNS_MAX),
        grouped(window)
    )
}

/// What to do, a line each.
fn nothing_found(own_file: Option<&ShownPath>) -> String {
    let names = |keyed: bool| -> Vec<&str> {
        let of_kind = PROVIDERS.iter().filter(|provider| provider.key_env.is_some() == keyed);
        of_kind.map(|provider| provider.key_env.unwrap_or(provider.title)).collect()
    };
    let keys = names(true);
    let first = keys.first().copied().unwrap_or_default();
    let others: Vec<String> =
        keys.iter().skip(1).map(|key| key.strip_suffix("API_KEY").unwrap_or(key).to_string()).collect();
    let servers: Vec<&str> = names(false).into_iter().filter(|title| *title != "Ollama").collect();
    format!(
        "no model found\n\
         with a key       export {first}=…  (or {})\n\
         on this machine  ollama serve  (or {})\n\
         your own         [models.NAME] in {}\n\
         just look        posse demo",
        others.join(", "),
        servers.join(", "),
        own_file.map_or("the configuration".to_string(), ShownPath::to_string)
    )
}

/// Which names there are.
fn no_such_model(name: &str, configured: &[String]) -> String {
    let known = if configured.is_empty() { "none is configured".to_string() } else { configured.join(", ") };
    let providers = PROVIDERS.map(|p| p.name).join(", ");
    format!(
        "there is no model {name:?}. Configured: {known}. Or name one as PROVIDER/MODEL, with one of: {providers}"
    )
}
