//! What `posse run` and `posse resume` have in common: from flags and configuration to what a session needs.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use posse_engine::models::{Governors, Model, Models, Recorder};
use posse_engine::{Asking, Lasting, SessionRequest, ToolSettings, project_context};
use posse_protocol::{Approval, Shell};
use posse_setup::Paths;

use crate::args::WorkArgs;
use crate::config::{Config, Time, Trusted};
use crate::crew::{self, Setup};
use crate::detect::Choice;
use crate::display::Display;
use crate::homes;
use crate::output;
use crate::own_git;
use crate::questions;
use crate::roles::Sources;
use crate::skills;
use crate::trust;

/// When it is found out whether commands can be confined here.
const SANDBOX_TRIED_AFTER_MS: u64 = 500;
/// What stands for the workspace's path in a cassette.
const WORKSPACE_PLACEHOLDER: &str = "{workspace}";

/// One piece of work in a folder, as flags and configuration describe it.
pub(crate) struct Work<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) folder: &'a Path,
    pub(crate) args: &'a WorkArgs,
    pub(crate) config: Config,
    pub(crate) display: Display,
}

impl<'a> Work<'a> {
    /// Reads the configuration for a folder and puts the flags over it.
    pub(crate) fn new(paths: &'a Paths, folder: &'a Path, args: &'a WorkArgs) -> anyhow::Result<Self> {
        homes::check(folder, args.workspace_is_home)?;
        let mut config = Config::load(paths, folder)?;
        let limits = &mut config.limits;
        limits.max_turns = args.max_turns.or(limits.max_turns);
        limits.max_tokens = args.max_tokens.or(limits.max_tokens);
        limits.max_time = args.max_time.map(Time).or(limits.max_time);
        let plan = args.modes.plan.then_some(Approval::Plan);
        config.approval.mode = args.approval.or(plan).or(config.approval.mode);
        let warning = own_git::settle(paths, Some(&config), folder, !args.no_sandbox);
        config.warnings.extend(warning);
        let display = if args.json {
            Display::Json
        } else if args.quiet {
            Display::Quiet
        } else {
            Display::live()
        };
        Ok(Self { paths, folder, args, config, display })
    }

    /// Does nothing without asking that was not done without asking before, unless a flag says so now.
    pub(crate) fn no_more_than(&mut self, before: Approval) {
        if self.args.approval.is_none() && !self.args.modes.plan {
            let mode = self.config.approval.mode.unwrap_or(Approval::Auto);
            self.config.approval.mode = Some(mode.min(before));
        }
    }

    /// The model that is named for the main agent: by a flag, or by its role.
    pub(crate) fn named_model(&self, alone: bool) -> anyhow::Result<Option<String>> {
        let Self { paths, folder, args, config, .. } = self;
        if args.model.is_some() {
            return Ok(args.model.clone());
        }
        let trusted = Trusted::load(&paths.data_dir)?;
        let sources = Sources::of(paths, folder, config, &trusted)?;
        crew::main_model(config, (!alone).then_some(&args.modes), &sources, &trusted)
    }

    /// Whether somebody can be asked while it goes on.
    pub(crate) fn person(&self) -> bool {
        matches!(self.display, Display::Live(_)) && questions::person_is_there()
    }

    /// Puts together what a session needs, and says what the person should know about it.
    pub(crate) fn request(
        &mut self,
        alone: bool,
        choice: Choice,
        prompt: String,
        recorder: Option<Arc<Recorder>>,
    ) -> anyhow::Result<SessionRequest> {
        let Self { paths, folder, args, config, .. } = self;
        if config.limits.max_cost_usd.is_some() && choice.prices.is_none() {
            bail!(
                "max_cost_usd cannot be kept: the price of {} is not known; give `price` in [models.NAME]",
                choice.model.name
            );
        }
        let trusted = Trusted::load(&paths.data_dir)?;
        let sources = Sources::of(paths, folder, config, &trusted)?;
        let modes = (!alone).then_some(&args.modes);
        let mut setup = Setup::of(config, modes, choice.model.is_lean(), &sources, &trusted)?;
        if setup.grant.shell != Shell::None && args.no_sandbox {
            let text = "--no-sandbox: commands run with all your rights, also those of read-only roles";
            setup.warnings.push(text.to_string());
        }
        for warning in config.warnings.iter().chain(&setup.warnings) {
            self.display.note(&output::one_line(warning, output::NOTE_COLUMNS_MAX))?;
        }
        let mut request = request(config, setup, choice, folder, prompt, recorder)?;
        request.tools = self.tool_settings();
        request.lasting = Lasting {
            memory: self.config.memory.enabled(),
            skills: skills::folders(self.paths, self.folder),
            own_skills: Some(skills::own_folder(self.paths)),
            trusted: trust::is_trusted(self.paths, self.folder, &trusted),
        };
        request.asking = Asking { rules: self.config.rules()?, person: self.person() };
        Ok(request)
    }

    /// How commands run: confined, unless the person says otherwise.
    fn tool_settings(&self) -> ToolSettings {
        let mut settings = ToolSettings::default();
        settings.sandbox.on = !self.args.no_sandbox;
        settings.sandbox.readable = self.config.readable();
        let file = &self.config.sandbox;
        let share = &mut settings.sandbox.share;
        share.memory_bytes = file.memory_mb.map(|mb| mb.get().saturating_mul(1 << 20));
        share.processes = file.processes.map(NonZeroU64::get);
        share.disk_free_bytes = file.disk_free_mb.map(|mb| mb.saturating_mul(1 << 20));
        settings.sandbox.hidden.extend(self.paths.own_places());
        settings.sandbox.hidden.extend(homes::hidden_in(self.folder));
        settings
    }

    /// Something to tell that takes a moment to find out: whether commands can be confined here.
    pub(crate) fn notice(&self, request: &SessionRequest) -> impl Future<Output = Option<String>> + use<> {
        let wanted = request.grant.shell != Shell::None && !self.args.no_sandbox;
        async move { if wanted { missing_sandbox().await } else { None } }
    }
}

/// Finds out, beside everything else, whether commands can be confined, and says so if they cannot.
async fn missing_sandbox() -> Option<String> {
    // Not while the first request is on its way: it has the machine to itself.
    tokio::time::sleep(Duration::from_millis(SANDBOX_TRIED_AFTER_MS)).await;
    let tried = tokio::task::spawn_blocking(posse_engine::machine::available).await;
    let missing = tried.ok()?.err()?;
    Some(format!(
        "no shell: {missing}; `posse doctor` tells more, --no-sandbox runs commands with all your rights"
    ))
}

/// What stands for this machine's texts in a cassette.
pub(crate) fn substitutions(folder: &Path) -> Vec<(String, String)> {
    vec![(folder.display().to_string(), WORKSPACE_PLACEHOLDER.to_string())]
}

/// What a session needs, with tools and questions as they are by default, and nothing that outlives it.
pub(crate) fn request(
    config: &Config,
    setup: Setup,
    choice: Choice,
    folder: &Path,
    prompt: String,
    recorder: Option<Arc<Recorder>>,
) -> anyhow::Result<SessionRequest> {
    let (Choice { model: mut settings, prices }, governors) = (choice, Governors::default());
    settings.substitutions = substitutions(folder);
    let mut model = Model::new(settings, &governors)?;
    if let Some(recorder) = &recorder {
        model = model.recording(recorder.clone());
    }
    let mut models = Models::new(model, prices);
    if setup.delegation.is_some() {
        crew::add_models(&mut models, config, &substitutions(folder), &governors, recorder.as_ref());
        // One that is configured and cannot be used is told to whoever asks for it.
        for (section, name) in config.models_named() {
            models.check(Some(name), None).map_err(|why| anyhow::anyhow!("{section} model: {why}"))?;
        }
    }
    Ok(SessionRequest {
        workspace: folder.to_path_buf(),
        prompt,
        models,
        grant: setup.grant,
        budget: setup.budget,
        tools: ToolSettings::default(),
        project: project_context(folder, config.context_files.as_deref()),
        delegation: setup.delegation,
        asking: Asking::default(),
        lasting: Lasting::default(),
    })
}
