//! One configuration file as it is written. Unknown keys are errors, with a suggestion.

use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::{Path, PathBuf};

use posse_engine::record::Durability;
use posse_model::{Profile, Protocol, ToolCallMode};
use posse_protocol::{Approval, Prices};
use serde::{Deserialize, Serialize};

use super::acp::AcpFile;
use super::chat::ChatFile;
use super::cluster::{self, ClusterFile, WorkerEntryFile, WorkerFile, WorkerKey};
use super::rights::RightsFile;
use super::roles::RoleFile;
use super::servers::ServerFile;
use super::sub_agents::SubAgentsFile;
use super::times::Time;
use super::written;
use crate::error::ConfigError;
use crate::surroundings::ShownPath;

/// A whole file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct FileConfig {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The files with a project's notes for agents; in each folder the first that is there counts.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "written::file_names")]
    pub(crate) context_files: Option<Vec<String>>,
    /// How much models are told and offered, unless their own section says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<Profile>,
    pub(crate) limits: LimitsFile,
    pub(crate) rights: RightsFile,
    pub(crate) approval: ApprovalFile,
    pub(crate) sandbox: SandboxFile,
    pub(crate) git: GitFile,
    pub(crate) record: RecordFile,
    pub(crate) memory: MemoryFile,
    pub(crate) chat: ChatFile,
    pub(crate) acp: AcpFile,
    pub(crate) hooks: HooksFile,
    #[serde(deserialize_with = "cluster::cluster", skip_serializing_if = "is_default")]
    pub(crate) cluster: ClusterFile,
    /// Machines that agents run on beside this one.
    #[serde(deserialize_with = "cluster::workers", skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) workers: BTreeMap<WorkerKey, WorkerEntryFile>,
    #[serde(skip_serializing_if = "is_default")]
    pub(crate) worker: WorkerFile,
    #[serde(alias = "subagents")]
    pub(crate) sub_agents: SubAgentsFile,
    pub(crate) roles: BTreeMap<String, RoleFile>,
    pub(crate) models: BTreeMap<String, ModelFile>,
    /// Servers whose tools agents may call.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) mcp: BTreeMap<String, ServerFile>,
}

/// `[models.NAME]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelFile {
    /// `http://127.0.0.1:8080/v1`; not needed for `replay`.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "written::address")]
    pub(crate) endpoint: Option<String>,
    #[serde(default = "chat")]
    pub(crate) protocol: Protocol,
    /// The provider's name of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The variable that holds the key. The key itself is never in a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) api_key_env: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) context_window: Option<u64>,
    /// `lean` or `full`; without it, windows up to 16k are lean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) profile: Option<Profile>,
    /// Whether it takes images; without it, it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) images: Option<bool>,
    /// Whether it takes PDF documents; without it, by its images and its protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) documents: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_output_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_concurrent: Option<usize>,
    #[serde(default)]
    pub(crate) tool_calls: ToolCallMode,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reasoning_effort: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) temperature: Option<f64>,
    /// The cassette that `replay` plays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) cassette: Option<PathBuf>,
    /// Silence after which a stream is given up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) idle_timeout: Option<Time>,
    /// US dollars for a million tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price: Option<Prices>,
}

/// Whether nothing is written in a table.
fn is_default<T: Default + PartialEq>(table: &T) -> bool {
    *table == T::default()
}

fn chat() -> Protocol {
    Protocol::Chat
}

/// `[hooks]`: only the person's own file has a say in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HooksFile {
    /// Hooks that run outside the sandbox although agents could change them, by their exact text.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) outside: Vec<String>,
}

/// `[limits]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitsFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_turns: Option<NonZeroU32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<NonZeroU64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_time: Option<Time>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_cost_usd: Option<f64>,
}

impl LimitsFile {
    pub(crate) fn replaced_by(&self, other: &Self) -> Self {
        Self {
            max_turns: other.max_turns.or(self.max_turns),
            max_tokens: other.max_tokens.or(self.max_tokens),
            max_time: other.max_time.or(self.max_time),
            max_cost_usd: other.max_cost_usd.or(self.max_cost_usd),
        }
    }

    /// The tighter of the two, limit by limit.
    pub(crate) fn lowered_by(&self, other: &Self) -> Self {
        fn tighter<T: PartialOrd>(a: Option<T>, b: Option<T>) -> Option<T> {
            match (a, b) {
                (Some(a), Some(b)) => Some(if b < a { b } else { a }),
                (a, b) => a.or(b),
            }
        }
        Self {
            max_turns: tighter(self.max_turns.or(Some(super::DEFAULT_TURNS)), other.max_turns),
            max_tokens: tighter(self.max_tokens, other.max_tokens),
            max_time: tighter(self.max_time, other.max_time),
            max_cost_usd: tighter(self.max_cost_usd, other.max_cost_usd),
        }
    }
}

/// `[approval]`: what is done without asking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ApprovalFile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) mode: Option<Approval>,
    /// Rules such as `edit_file(docs/*)` that spare a question.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) allow: Vec<String>,
    /// What asks, whatever the mode.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) ask: Vec<String>,
    /// What is never done.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deny: Vec<String>,
}

impl ApprovalFile {
    /// Both files' rules; the other's mode.
    pub(crate) fn replaced_by(&self, other: &Self) -> Self {
        let allow = [self.allow.as_slice(), &other.allow].concat();
        Self { mode: other.mode.or(self.mode), allow, ..self.lowered_by(other) }
    }

    /// The stricter mode, and the rules that only make it stricter.
    pub(crate) fn lowered_by(&self, other: &Self) -> Self {
        let mode = self.mode.unwrap_or(super::DEFAULT_APPROVAL);
        Self {
            mode: other.mode.map(|wanted| wanted.min(mode)).or(self.mode),
            allow: self.allow.clone(),
            ask: [self.ask.as_slice(), &other.ask].concat(),
            deny: [self.deny.as_slice(), &other.deny].concat(),
        }
    }
}

/// `[sandbox]`: what commands see.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SandboxFile {
    /// Files and folders that commands may read although they are in the home folder; `~/` is the home folder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) readable: Vec<PathBuf>,
    /// Memory that all commands of a session may use together, in MiB; without it, a share of the machine's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory_mb: Option<NonZeroU64>,
    /// Processes and threads that they may have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) processes: Option<NonZeroU64>,
    /// What they leave free on the disk of the workspace, in MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) disk_free_mb: Option<u64>,
}

impl SandboxFile {
    /// Both files' folders; the other's numbers.
    pub(crate) fn replaced_by(&self, other: &Self) -> Self {
        Self {
            readable: [self.readable.as_slice(), &other.readable].concat(),
            memory_mb: other.memory_mb.or(self.memory_mb),
            processes: other.processes.or(self.processes),
            disk_free_mb: other.disk_free_mb.or(self.disk_free_mb),
        }
    }
}

/// `[git]`: the program that Posse itself calls. Only the person's own file has a say in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GitFile {
    /// An absolute path; without one, git is looked for outside the workspace and the home folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) path: Option<PathBuf>,
}

/// `[record]`: how sessions are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RecordFile {
    /// What an acknowledged step outlives.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) durability: Option<DurabilityWord>,
}

impl RecordFile {
    pub(crate) fn durability(&self) -> Durability {
        match self.durability {
            Some(DurabilityWord::Power) => Durability::Power,
            Some(DurabilityWord::Process) | None => Durability::Process,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum DurabilityWord {
    /// The end of the process, however it ends.
    Process,
    /// A power cut as well.
    Power,
}

/// `[memory]`: notes that agents keep from one session to the next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MemoryFile {
    /// Whether agents read and make them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) enabled: Option<bool>,
}

impl MemoryFile {
    pub(crate) fn enabled(&self) -> bool {
        self.enabled.unwrap_or(true)
    }
}

/// Reads the name of an approval mode.
pub fn parse_approval(text: &str) -> Result<Approval, String> {
    let known = [
        ("plan", Approval::Plan),
        ("ask", Approval::Ask),
        ("edit", Approval::Edit),
        ("auto", Approval::Auto),
        ("full", Approval::Full),
    ];
    let found = known.iter().find(|(name, _)| *name == text).map(|(_, mode)| *mode);
    found.ok_or_else(|| format!("{text:?} is no approval mode; there are plan, ask, edit, auto and full"))
}

/// Reads a file's text. Errors name the file, the line, and for a misspelt key the likely one. A cassette is looked for
/// beside the file that names it, wherever posse is started.
pub(crate) fn parse(text: &str, path: &ShownPath) -> Result<FileConfig, ConfigError> {
    let mut file: FileConfig = toml::from_str(text).map_err(|error| {
        let line =
            error.span().map_or(0, |span| text[..span.start.min(text.len())].matches('\n').count() + 1);
        let message = error.message();
        let hint = suggestion(message).map(|key| format!(" — did you mean `{key}`?")).unwrap_or_default();
        ConfigError::Line { path: path.clone(), line, fault: format!("{message}{hint}") }
    })?;
    let folder = path.path().parent().unwrap_or(Path::new(""));
    for cassette in file.models.values_mut().filter_map(|model| model.cassette.as_mut()) {
        *cassette = folder.join(&*cassette);
    }
    Ok(file)
}

/// The known key closest to the unknown one that serde's message names first.
fn suggestion(message: &str) -> Option<String> {
    if !message.starts_with("unknown field") && !message.starts_with("unknown variant") {
        return None;
    }
    let mut names = message.split('`').skip(1).step_by(2);
    let wrong = names.next()?;
    let closest =
        names.max_by(|a, b| strsim::jaro_winkler(wrong, a).total_cmp(&strsim::jaro_winkler(wrong, b)))?;
    (strsim::jaro_winkler(wrong, closest) > 0.75).then(|| closest.to_string())
}

#[cfg(test)]
mod tests {
    use super::parse;
    use crate::surroundings::ShownPath;

    #[test]
    fn a_cassette_is_beside_the_file_that_names_it() {
        let cases = [
            ("tape.jsonl", "/conf/tape.jsonl"),
            ("tapes/one.jsonl", "/conf/tapes/one.jsonl"),
            ("/tapes/one.jsonl", "/tapes/one.jsonl"),
        ];
        for (written, want) in cases {
            let text = format!("[models.a]\nprotocol = \"replay\"\ncassette = \"{written}\"");
            let file = parse(&text, &ShownPath::in_full("/conf/config.toml")).unwrap();
            assert_eq!(file.models["a"].cassette.as_deref(), Some(std::path::Path::new(want)));
        }
    }

    #[test]
    fn mistakes_are_named_with_line_and_suggestion() {
        let cases = [
            ("modle = \"x\"", "line 1: unknown field `modle`", "did you mean `model`?"),
            (
                "\n[models.a]\nendpiont = \"http://x\"",
                "line 3: unknown field `endpiont`",
                "did you mean `endpoint`?",
            ),
            ("[limits]\nmax_turn = 3", "line 2: unknown field `max_turn`", "did you mean `max_turns`?"),
            ("[models.a]\nprotocol = \"chta\"", "unknown variant `chta`", "did you mean `chat`?"),
            ("[rights]\nnetwork = 3", "line 2", "a list of host names"),
            ("[record]\ndurability = \"powr\"", "unknown variant `powr`", "did you mean `power`?"),
            ("[memory]\nenable = true", "unknown field `enable`", "did you mean `enabled`?"),
            (
                "[sub_agents]\nshow_records = true",
                "unknown field `show_records`",
                "did you mean `show_record`?",
            ),
            ("[limits]\nmax_time = \"soon\"", "line 2", "write it like 90s"),
            ("x = ", "line 1", ""),
        ];
        for (text, start, end) in cases {
            let error = parse(text, &ShownPath::in_full("/c.toml")).map_err(|e| e.to_string());
            let error = error.expect_err(text);
            assert!(error.starts_with("/c.toml, line") && error.contains(start), "{error}");
            assert!(error.contains(end), "{error}");
        }
    }
}
