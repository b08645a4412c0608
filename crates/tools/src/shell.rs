//! shell: one command line, within a deadline. What the model sees of it holds no times and no places outside the
//! workspace, so that the same command gives the same text.

use std::{io::Read as _, path::PathBuf, sync::Arc, time::Duration};

use posse_policy::Act;
use posse_protocol::{CallKind, CommandRun, Effect, Files, Grant, Needs, RanTests, Shell, ToolOutcome};
use posse_sandbox::{Command, CommandExit, Level, OutputLimits, SandboxProfile, Touched};
use posse_workspace::{Workspace, WorkspaceError};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    confine::{committer, hint, level},
    context::Context,
    denied_files,
    failure::{ToolFailure, crashed},
    jobs::{Job, can_change},
    limits,
    output_text::shown,
    running::{CommandCourse, MoveTerms},
    tests_run::{Ended, Looked, Understood, understood},
    tool::Tool,
};

/// Run a shell command in the workspace folder, in a sandbox. No terminal, no input. Processes end with it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShellCommand {
    command: String,
    timeout_ms: Option<u64>,
    /// The same in seconds, for models that think in these terms.
    #[schemars(skip)]
    timeout_s: Option<u64>,
    /// You are told when it ends; see jobs.
    background: Option<bool>,
    /// Only if it cannot work inside: asks the person.
    outside_sandbox: Option<bool>,
}

impl Tool for ShellCommand {
    const NAME: &'static str = "shell";
    const KIND: CallKind = CallKind::Run;
    const NEEDS: Needs = Needs { files: Files::None, shell: Shell::Inspect, network: false };
    const ALIASES: &'static [(&'static str, &'static str)] = &[
        ("cmd", "command"),
        ("script", "command"),
        ("code", "command"),
        ("timeout", "timeout_ms"),
        ("timeout_seconds", "timeout_s"),
        ("timeout_s", "timeout_s"),
        ("run_in_background", "background"),
    ];

    fn about(&self) -> String {
        self.command.clone()
    }

    fn act(&self, grant: &Grant) -> Act {
        if self.outside_sandbox == Some(true) { Act::Leave } else { Act::Command(level(grant)) }
    }

    fn goes_on(&self) -> bool {
        self.background == Some(true)
    }

    async fn run(self, context: Context) -> Result<ToolOutcome, ToolFailure> {
        if self.command.trim().is_empty() {
            return Err(ToolFailure("command is empty; give a command line".to_owned()));
        }
        let mut profile = self.profile(&context)?;
        if let Some(profile) = &mut profile {
            profile.hidden.extend(denied(&context).await?);
        }
        if self.background == Some(true) {
            return self.start(&context, profile).await;
        }
        let understood = Arc::new(self.understood(&context).await?);
        let deadline_ms = self.deadline_ms(&context);
        let mut command = self.to_run(&context, deadline_ms).await;
        command.confinement.clone_from(&profile);
        let terms = MoveTerms {
            jobs: context.jobs.clone(),
            command: self.command.clone(),
            understood: Arc::clone(&understood),
            owner: context.owner,
            can_change: can_change(profile.as_ref()),
            leaves: self.outside_sandbox == Some(true),
        };
        let finished = match context.running.run(command, terms).await? {
            CommandCourse::Ended(finished) => *finished,
            CommandCourse::Moved(job) => return Ok(self.moved(&job)),
        };
        let (ending, exit_code) = match finished.exit {
            CommandExit::Code(code) => (format!("exit code {code}"), Some(code)),
            CommandExit::Signal(signal) => (format!("ended by signal {signal}"), None),
            CommandExit::DeadlineExceeded => {
                (format!("stopped: not done within {deadline_ms} ms (timeout_ms can be longer)"), None)
            }
        };
        let output = shown(&finished.output);
        let full = profile.as_ref().is_some_and(|profile| profile.level == Level::Full);
        let (workspace, whole) = (context.workspace.clone(), finished.output.complete());
        let touched = finished.touched.complete.then_some(finished.touched).filter(|_| full);
        let (output, work, tests) = tokio::task::spawn_blocking(move || {
            let understood = Arc::unwrap_or_clone(understood);
            let work = understood.work();
            let tests = tests_of(understood, &workspace, &output, whole, touched.as_ref());
            (output, work, tests)
        })
        .await
        .map_err(|_| crashed())?;
        let mut text = format!("{ending}\n{output}");
        let hint = profile.filter(|_| exit_code != Some(0)).and_then(|profile| hint(&profile, &output));
        for note in finished.notes.iter().map(String::as_str).chain(hint) {
            text.push_str(&format!("\n({note})"));
        }
        let run = CommandRun { command: self.command, exit_code, tests, work };
        Ok(ToolOutcome { ok: exit_code == Some(0), ..ToolOutcome::ok(text).with(Effect::Command(run)) })
    }
}

impl ShellCommand {
    /// What confines it. Only an agent with a whole shell may leave the sandbox, whatever a person says.
    fn profile(&self, context: &Context) -> Result<Option<SandboxProfile>, ToolFailure> {
        if self.outside_sandbox != Some(true) {
            return Ok(context.settings.sandbox.profile(&context.grant, &context.workspace));
        }
        if level(&context.grant) == Shell::Full {
            return Ok(None);
        }
        Err(ToolFailure("this agent may not leave the sandbox; leave outside_sandbox out".to_owned()))
    }

    /// What it does, by its words and the files they name as they are now.
    async fn understood(&self, context: &Context) -> Result<Understood, ToolFailure> {
        let (command, workspace) = (self.command.clone(), context.workspace.clone());
        let look = move || understood(&command, &|path| looked(&workspace, path));
        tokio::task::spawn_blocking(look).await.map_err(|_| crashed())
    }

    fn deadline_ms(&self, context: &Context) -> u64 {
        let asked_ms = self.timeout_ms.or_else(|| self.timeout_s.map(|s| s.saturating_mul(1_000)));
        // Models send 0 for "as usual".
        let asked_ms = asked_ms.filter(|ms| *ms > 0).map(|ms| ms.max(limits::SHELL_TIMEOUT_MIN_MS));
        let settings = &context.settings;
        asked_ms.unwrap_or(settings.shell_timeout_ms).min(settings.shell_timeout_max_ms)
    }

    async fn to_run(&self, context: &Context, deadline_ms: u64) -> Command {
        let (settings, deadline) = (&context.settings, Duration::from_millis(deadline_ms));
        let folder = context.workspace.root();
        let mut command = Command::shell(&self.command, folder, deadline);
        command.env.clone_from(context.committer.get_or_init(|| committer(folder)).await);
        command.output =
            OutputLimits { head_bytes: settings.shell_head_bytes, tail_bytes: settings.shell_tail_bytes };
        let sandbox = &settings.sandbox;
        if sandbox.on && self.outside_sandbox == Some(true) {
            // What a person let out is not to find a program that an agent has put on its way.
            let all = [folder.to_path_buf()].into_iter().chain(sandbox.denied_in.clone());
            command.distrusted = all.chain(sandbox.hidden.clone()).collect();
        }
        command
    }

    /// What the agent is told if a person moved it to the background.
    fn moved(self, job: &Job) -> ToolOutcome {
        let text = format!(
            "The person moved it to the background as {}, where it goes on. You are told when it ends; see its output with \
             jobs. So far:\n{}",
            job.name,
            shown(&job.output())
        );
        ToolOutcome {
            ok: true,
            text,
            attachments: Vec::new(),
            effects: vec![Effect::Background { command: self.command }],
        }
    }

    async fn start(
        self,
        context: &Context,
        profile: Option<SandboxProfile>,
    ) -> Result<ToolOutcome, ToolFailure> {
        let mut command = self.to_run(context, limits::JOB_TIME_MS_MAX).await;
        command.confinement = profile;
        let side = limits::JOB_OUTPUT_SIDE_BYTES;
        command.output = OutputLimits { head_bytes: side, tail_bytes: side };
        let leaves = self.outside_sandbox == Some(true);
        let understood = self.understood(context).await?;
        let job = context.jobs.start(command, &self.command, understood, context.owner, leaves).await?;
        let text = format!(
            "{} runs in the background. You are told when it ends; see its output with jobs.",
            job.name
        );
        Ok(ToolOutcome::ok(text).with(Effect::Background { command: self.command }))
    }
}

/// What a command that went on beside the agents has done.
pub fn background_run(workspace: &Workspace, job: &Job, exit_code: Option<i32>) -> CommandRun {
    let (understood, output) = (Understood::clone(&job.understood), job.output());
    let work = understood.work();
    let touched = Some(job.touched()).filter(|touched| touched.complete && job.can_change);
    let tests = tests_of(understood, workspace, &shown(&output), output.complete(), touched.as_ref());
    CommandRun { command: job.command.clone(), exit_code, tests, work }
}

/// What became of the tests of a command. `touched` is what it named to change, if all of that was seen and is kept.
fn tests_of(
    understood: Understood,
    workspace: &Workspace,
    output: &str,
    whole: bool,
    touched: Option<&Touched>,
) -> Option<RanTests> {
    let is_touched = touched.map(|touched| |path: &str| touched.names(&workspace.root().join(path)));
    let touched = is_touched.as_ref().map(|is_touched| is_touched as &dyn Fn(&str) -> bool);
    understood.tests(&Ended { output, whole, lookup: &|path| looked(workspace, path), touched })
}

/// What is at a path of the workspace, for whoever wants to know what a command runs.
fn looked(workspace: &Workspace, path: &str) -> Looked {
    let Ok(place) = workspace.resolve(path) else { return Looked::Missing };
    let opened = match workspace.open_file(&place) {
        Ok(opened) => opened,
        Err(
            WorkspaceError::Missing { .. }
            | WorkspaceError::NotAFile { .. }
            | WorkspaceError::NotAFolder { .. },
        ) => {
            return Looked::Missing;
        }
        Err(WorkspaceError::LinkOutside { .. }) => {
            let target = workspace.real_path(&place);
            return target.map_or(Looked::Closed, |target| Looked::Leads(target.display().to_string()));
        }
        Err(_) => return Looked::Closed,
    };
    let stamp = opened.file.metadata().ok().and_then(|metadata| {
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some((metadata.modified().ok()?, number))
    });
    let mut bytes = Vec::new();
    match opened.file.take(limits::TEST_SCRIPT_BYTES_MAX).read_to_end(&mut bytes) {
        Ok(_) => Looked::File { bytes, stamp },
        Err(_) => Looked::Closed,
    }
}

/// The files that rules hide from commands, as they are now.
async fn denied(context: &Context) -> Result<Vec<PathBuf>, ToolFailure> {
    let (top, settings) = (context.workspace.root().to_path_buf(), Arc::clone(&context.settings));
    if settings.sandbox.denied.is_empty() {
        return Ok(Vec::new());
    }
    let found = tokio::task::spawn_blocking(move || {
        let sandbox = &settings.sandbox;
        let mut found = denied_files::find(&top, &sandbox.denied)?;
        for other in sandbox.denied_in.iter().filter(|other| **other != top) {
            found.extend(denied_files::find(other, &sandbox.denied)?);
        }
        Ok(found)
    });
    found.await.unwrap_or_else(|_| Err(crashed()))
}
