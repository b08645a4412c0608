//! `posse doctor`: looks at everything a session needs, and says what to do about what is missing.

use std::time::Duration;

use posse_engine::Engine;
use posse_engine::machine::{available, git, support};
use posse_engine::models::{ModelConfig, Protocol, list_models, shown_address};
use posse_protocol::{ModelError, ModelErrorKind};

use crate::config::Config;
use crate::data_folder;
use crate::detect;
use crate::exit::Exit;
use crate::output::{self, Style, grouped, one_line, visible};
use crate::own_git;
use crate::paths::{Paths, shown};
use crate::providers::{PROVIDERS, Provider};

/// How long the chosen model's endpoint has to answer.
const ANSWER_MS: u64 = 5000;

/// What was found, line by line.
struct Findings {
    style: Style,
    text: String,
    problems: u32,
}

/// Its lines below one another, none of which passes for a finding.
fn lined(text: &str) -> String {
    visible(text).replace('\n', "\n             ")
}

impl Findings {
    fn good(&mut self, what: &str, text: &str) {
        let mark = self.style.green("✓");
        self.text.push_str(&format!("{mark} {what:<10} {}\n", lined(text)));
    }

    /// Missing, but not needed.
    fn absent(&mut self, what: &str, text: &str) {
        let line = self.style.dim(&format!("· {what:<10} {}", lined(text)));
        self.text.push_str(&format!("{line}\n"));
    }

    fn bad(&mut self, what: &str, text: &str, advice: &str) {
        self.problems += 1;
        let mark = self.style.red("✗");
        self.text.push_str(&format!("{mark} {what:<10} {}\n{:13}→ {advice}\n", lined(text), ""));
    }
}

pub(crate) async fn run(paths: &Paths) -> anyhow::Result<Exit> {
    let style = Style::for_stdout();
    let mut findings = Findings { style, text: String::new(), problems: 0 };
    let folder = std::env::current_dir()?;
    // What is wrong with the configuration is told below.
    own_git::settle(paths, Config::load(paths, &folder).ok().as_ref(), &folder, true);
    git_program(&mut findings).await;
    sandbox(&mut findings);
    record(&mut findings, paths);
    let config = configuration(&mut findings, paths);
    keys(&mut findings);
    servers(&mut findings).await;
    if let Some(config) = config {
        model(&mut findings, &config).await;
    }
    let end = match findings.problems {
        0 => "Everything is there. Try: posse run \"what does this project do?\"\n".to_string(),
        1 => "One thing is missing; see → above. `posse demo` works without a model.\n".to_string(),
        n => format!("{n} things are missing; see → above. `posse demo` works without a model.\n"),
    };
    output::print(&format!("posse {}\n\n{}\n{end}", env!("CARGO_PKG_VERSION"), findings.text))?;
    Ok(if findings.problems == 0 { Exit::Completed } else { Exit::Failed })
}

/// What to do about it, and what it means until then.
const NO_GIT: &str = "without it agents have no checkouts of their own";

async fn git_program(findings: &mut Findings) {
    match (git::program(), git::version().await) {
        (Ok(path), Ok(version)) => findings.good("git", &format!("{version}, {}", shown(&path))),
        (Err(error), _) => findings.bad("git", &error.to_string(), NO_GIT),
        (_, Err(error)) => findings.bad("git", &error.to_string(), NO_GIT),
    }
}

fn sandbox(findings: &mut Findings) {
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
        if finding.usable { findings.good("sandbox", &text) } else { findings.absent("sandbox", &text) }
    }
    match available() {
        Ok(()) => {
            findings.good("shell", "commands are confined by the kernel, as the rights of their agent say")
        }
        Err(missing) => findings.bad(
            "shell",
            &format!("commands cannot be confined here, so no agent gets a shell: {missing}"),
            "allow unprivileged user namespaces and Landlock, or run with --no-sandbox at your own risk",
        ),
    }
}

fn record(findings: &mut Findings, paths: &Paths) {
    if let Err(error) = data_folder::try_writing(&paths.data_dir) {
        let text = format!("{} cannot be written: {error}", shown(&paths.data_dir));
        findings.bad("record", &text, data_folder::advice(&error));
        return;
    }
    match Engine::health(&paths.data_dir) {
        Ok(health) if !health.exists => {
            let text = format!("{} (made at the first run)", shown(&paths.data_dir));
            findings.good("record", &text);
        }
        Ok(health) => {
            let text = format!(
                "{} (version {}, {} bytes, {})",
                shown(&paths.data_dir),
                health.schema_version,
                grouped(health.bytes),
                health.journal_mode
            );
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

fn configuration(findings: &mut Findings, paths: &Paths) -> Option<Config> {
    let folder = std::env::current_dir().ok()?;
    match Config::load(paths, &folder) {
        Ok(config) => {
            let sources = config.sources.iter().map(|path| shown(path)).collect::<Vec<_>>().join(", ");
            let sources = if sources.is_empty() { "none; defaults are used".to_string() } else { sources };
            findings.good("config", &sources);
            for warning in &config.warnings {
                findings.absent("config", warning);
            }
            Some(config)
        }
        Err(error) => {
            findings.bad("config", &format!("{error:#}"), "mend the file, then look again");
            None
        }
    }
}

fn keys(findings: &mut Findings) {
    for provider in PROVIDERS {
        let Some(variable) = provider.key_env else { continue };
        if provider.key().is_some() {
            findings.good("key", &format!("{variable} is set"));
        } else {
            findings.absent("key", &format!("{variable} is not set"));
        }
    }
}

async fn servers(findings: &mut Findings) {
    let local = PROVIDERS.iter().filter(|p| p.key_env.is_none());
    let probes = local.map(|provider: &'static Provider| (provider, tokio::spawn(detect::probe(provider))));
    for (provider, probe) in probes.collect::<Vec<_>>() {
        let place = format!("{} at {}", provider.title, shown_address(&provider.endpoint()));
        match probe.await {
            Ok(Ok(model)) => findings.good("server", &format!("{place}: {}", one_line(&model.name, 100))),
            Ok(Err(_)) | Err(_) => findings.absent("server", &format!("{place}: no answer")),
        }
    }
}

async fn model(findings: &mut Findings, config: &Config) {
    match detect::choose(config, None).await {
        Ok(choice) => match answers(&choice.model).await {
            Ok(()) => {
                let lean = if choice.model.is_lean() {
                    " with the lean profile: few tools, short prompt"
                } else {
                    ""
                };
                findings.good("model", &format!("`posse run` uses {}{lean}", choice.model.name));
            }
            Err(error) => {
                let text = format!("`posse run` uses {}, but: {error}", choice.model.name);
                findings.bad("model", &text, "start the server, or mend the model's endpoint and key");
            }
        },
        Err(_) if config.model.is_none() && config.models.is_empty() => findings.bad(
            "model",
            "none found",
            "set one of the keys above, start one of the servers above, or add [models.NAME] to the config",
        ),
        Err(error) => findings.bad("model", &error.to_string(), "mend the configuration"),
    }
}

/// Whether the endpoint is there and takes the key. One that cannot list its models may still do.
async fn answers(model: &ModelConfig) -> Result<(), ModelError> {
    if model.protocol == Protocol::Replay {
        return Ok(());
    }
    let timeout = Duration::from_millis(ANSWER_MS);
    match list_models(&model.base_url, model.api_key.as_ref(), model.protocol, timeout).await {
        Err(error) if matches!(error.kind, ModelErrorKind::Unreachable | ModelErrorKind::NotAuthorised) => {
            Err(error)
        }
        _ => Ok(()),
    }
}
