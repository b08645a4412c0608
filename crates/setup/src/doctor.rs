//! Looks at everything a session needs, and says what to do about what is missing: for `posse doctor` and every other
//! interface that shows it.

use std::path::Path;
use std::time::Duration;

use posse_engine::Engine;
use posse_model::{ModelConfig, Protocol, list_models_of, missing_model, shown_address};
use posse_protocol::visible::one_line;
use posse_protocol::words::grouped;
use posse_protocol::{ModelError, ModelErrorKind};
use posse_sandbox::{available, support};
use posse_workspace::git;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::ANSWER_MS;
use crate::{
    Config, ModelChoiceError, PROVIDERS, Paths, Surroundings, choose, probe, settle_git, try_writing,
    writing_advice,
};

/// What was found, in the order in which it is told, and what it comes down to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorReport {
    /// What was looked at.
    pub findings: Vec<DoctorFinding>,
    /// The model that is used, and the sandbox, in a few words each.
    pub ready: Vec<String>,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFinding {
    /// How it is.
    pub state: DoctorState,
    /// What it is about, in one word.
    pub what: String,
    /// What was found. It may hold names from files and servers: make it visible before you show it.
    pub text: String,
    /// What to do about it, where something is to be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// How something is that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DoctorState {
    /// As it should be.
    Good,
    /// Missing, but not needed.
    Absent,
    /// To be fixed.
    Bad,
}

impl DoctorReport {
    /// How many things are to be fixed.
    pub fn problems(&self) -> usize {
        self.findings.iter().filter(|finding| finding.state == DoctorState::Bad).count()
    }

    fn add(&mut self, state: DoctorState, what: &str, text: &str, advice: Option<&str>) {
        let (what, text, advice) = (what.to_owned(), text.to_owned(), advice.map(str::to_owned));
        self.findings.push(DoctorFinding { state, what, text, advice });
    }

    fn good(&mut self, what: &str, text: &str) {
        self.add(DoctorState::Good, what, text, None);
    }

    fn absent(&mut self, what: &str, text: &str) {
        self.add(DoctorState::Absent, what, text, None);
    }

    fn bad(&mut self, what: &str, text: &str, advice: &str) {
        self.add(DoctorState::Bad, what, text, Some(advice));
    }
}

/// Looks at everything that a session in this folder needs. `named` is the model that was asked for; `verbose` adds what is
/// only worth knowing for finding faults.
pub async fn examine(paths: &Paths, folder: &Path, named: Option<&str>, verbose: bool) -> DoctorReport {
    let mut findings = DoctorReport::default();
    let surroundings = paths.surroundings();
    // What is wrong with the configuration is told below.
    settle_git(paths, Config::load(paths, folder).ok().as_ref(), folder, true);
    if verbose {
        findings.good("posse", env!("CARGO_PKG_VERSION"));
    }
    let found = match configuration(&mut findings, paths, folder) {
        Some(config) => model(&mut findings, &config, surroundings, named).await,
        None => true,
    };
    // They are of interest where there is no model yet.
    keys(&mut findings, surroundings, verbose || !found);
    if verbose || !found {
        servers(&mut findings, surroundings).await;
    }
    sandbox(&mut findings, verbose);
    git_program(&mut findings, surroundings).await;
    record(&mut findings, paths, verbose);
    findings
}

/// An error with all that led to it.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// What to do about it, and what it means until then.
const NO_GIT: &str = "without it agents have no checkouts of their own";

async fn git_program(findings: &mut DoctorReport, surroundings: &Surroundings) {
    match (git::program(), git::version().await) {
        (Ok(path), Ok(version)) => findings.good("git", &format!("{version}, {}", surroundings.shown(&path))),
        (Err(error), _) => findings.bad("git", &error.to_string(), NO_GIT),
        (_, Err(error)) => findings.bad("git", &error.to_string(), NO_GIT),
    }
}

fn sandbox(findings: &mut DoctorReport, verbose: bool) {
    match available() {
        Ok(()) => {
            findings.ready.push("sandbox on".to_string());
            findings.good("sandbox", "the kernel confines commands to the rights of their agent");
        }
        Err(missing) => findings.bad(
            "sandbox",
            &format!("commands cannot be confined here, so no agent gets a shell: {missing}"),
            "allow unprivileged user namespaces and Landlock, or run with --no-sandbox at your own risk",
        ),
    }
    if !verbose {
        return;
    }
    let support = support();
    let parts = [
        ("user namespaces", &support.user_namespaces),
        ("processes", &support.processes),
        ("network", &support.network),
        ("landlock", &support.landlock),
        ("seccomp", &support.seccomp),
        ("overlay", &support.overlay),
        ("cgroup", &support.cgroup),
    ];
    for (name, finding) in parts {
        let text = format!("{name}: {}", finding.reason);
        if finding.usable { findings.good("  by", &text) } else { findings.absent("  by", &text) }
    }
}

fn record(findings: &mut DoctorReport, paths: &Paths, verbose: bool) {
    let place = paths.surroundings().shown(&paths.data_dir).to_string();
    if let Err(error) = try_writing(&paths.data_dir) {
        let text = format!("{place} cannot be written: {error}");
        findings.bad("record", &text, writing_advice(&error));
        return;
    }
    match Engine::health(&paths.data_dir) {
        Ok(health) if !health.exists => {
            let text = format!("{place} (made at the first run)");
            findings.good("record", &text);
        }
        Ok(health) => {
            let mut text = place;
            if verbose {
                let (version, bytes) = (health.schema_version, grouped(health.bytes));
                text.push_str(&format!(" (version {version}, {bytes} bytes, {})", health.journal_mode));
            }
            match health.problem {
                None => findings.good("record", &text),
                Some(problem) => {
                    findings.bad(
                        "record",
                        &format!("{text}: {problem}"),
                        "move the file aside; a new one is made",
                    );
                }
            }
        }
        Err(error) => {
            findings.bad("record", &error.to_string(), "or keep the record elsewhere: --data-dir, POSSE_HOME")
        }
    }
}

fn configuration(findings: &mut DoctorReport, paths: &Paths, folder: &Path) -> Option<Config> {
    match Config::load(paths, folder) {
        Ok(config) => {
            let sources = config.sources.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            let sources = if sources.is_empty() { "none; defaults are used".to_string() } else { sources };
            findings.good("config", &sources);
            for warning in &config.warnings {
                findings.absent("config", &warning.to_string());
            }
            Some(config)
        }
        Err(error) => {
            findings.bad("config", &in_full(&error), "fix the file, then run posse doctor again");
            None
        }
    }
}

/// `missing`: whether those that are not set are told, too.
fn keys(findings: &mut DoctorReport, surroundings: &Surroundings, missing: bool) {
    for provider in PROVIDERS {
        let Some(variable) = provider.key_env else { continue };
        if provider.key(surroundings).is_some() {
            findings.good("key", &format!("{variable} is set"));
        } else if missing {
            findings.absent("key", &format!("{variable} is not set"));
        }
    }
}

async fn servers(findings: &mut DoctorReport, surroundings: &Surroundings) {
    let local = PROVIDERS.iter().filter(|p| p.key_env.is_none());
    let probes =
        local.map(|provider| (provider, tokio::spawn(probe(provider, provider.endpoint(surroundings)))));
    for (provider, probe) in probes.collect::<Vec<_>>() {
        let place = format!("{} at {}", provider.title, shown_address(&provider.endpoint(surroundings)));
        match probe.await {
            Ok(Ok(model)) => findings.good("server", &format!("{place}: {}", one_line(&model.name, 100))),
            Ok(Err(_)) | Err(_) => findings.absent("server", &format!("{place}: no answer")),
        }
    }
}

/// The model that `posse run` would use, with the same names from the same places. False if there is none.
async fn model(
    findings: &mut DoctorReport,
    config: &Config,
    surroundings: &Surroundings,
    named: Option<&str>,
) -> bool {
    let choice = match choose(config, surroundings, named).await {
        Ok(choice) => choice,
        Err(ModelChoiceError::NoneFound { .. }) => {
            let advice =
                "set one of these keys, start one of these servers, or add [models.NAME] to the config";
            findings.bad("model", "none found", advice);
            return false;
        }
        Err(error) => {
            findings.bad("model", &error.to_string(), "fix the configuration");
            return true;
        }
    };
    let model = &choice.model;
    let place =
        if model.protocol == Protocol::Replay { "a recording".to_string() } else { host(&model.endpoint()) };
    let name = one_line(&model.name, 100);
    findings.ready.push(format!("{name} ({place})"));
    let lean = if model.is_lean() { ", with the lean profile (few tools, short prompt)" } else { "" };
    let uses = format!("{name}{lean}{}", at_once(model));
    match answers(model).await {
        Ok(true) => findings.good("model", &uses),
        Ok(false) => findings.good(
            "model",
            &format!("{uses}; the server does not list its models, so the name was not compared"),
        ),
        Err(error) => {
            let said =
                if error.said.is_empty() { String::new() } else { format!("\nit said: {}", error.said) };
            let advice = "start the server, or fix the model's endpoint and key";
            let advice = if error.advice.is_empty() { advice } else { &error.advice };
            findings.bad("model", &format!("{name}: {}{said}", error.message), advice);
        }
    }
    true
}

/// The machine and port of an address.
fn host(address: &str) -> String {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    rest.split('/').next().unwrap_or(rest).to_string()
}

/// How many requests its endpoint gets at once, where that is a setting.
fn at_once(model: &ModelConfig) -> String {
    match (model.protocol, model.max_concurrent) {
        (Protocol::Replay, _) => String::new(),
        (_, 1) => ", one agent at a time (max_concurrent = 1)".to_string(),
        (_, n) => format!(", up to {n} requests at a time (max_concurrent)"),
    }
}

/// Whether the endpoint is there, takes the key and has the model; false if it does not list its models.
async fn answers(model: &ModelConfig) -> Result<bool, ModelError> {
    use ModelErrorKind::{NotAuthorised, OutOfCredit, Stalled, Unreachable};
    if model.protocol == Protocol::Replay {
        return Ok(true);
    }
    let timeout = Duration::from_millis(ANSWER_MS);
    match list_models_of(model, timeout).await {
        Ok(models) => missing_model(model, &models).map_or(Ok(!models.is_empty()), Err),
        Err(error) if matches!(error.kind, Unreachable | NotAuthorised | OutOfCredit | Stalled) => Err(error),
        Err(_) => Ok(false),
    }
}
