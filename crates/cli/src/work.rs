//! What `posse run` and `posse resume` have in common: from flags and configuration to what a session needs.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use posse_engine::models::{Governors, Model, Models, Recorder};
use posse_engine::{Asking, Lasting, SessionRequest, ToolSettings, project_context};
use posse_protocol::{Approval, Shell};
use posse_setup::{
    Config, ModelChoice, Paths, RoleSources, SetupWarning, Sharing, Time, Trusted, Wishes, add_models,
    check_workspace, hidden_in, is_trusted, main_model, own_skill_folder, settle_git, skill_folders,
};

use crate::args::WorkArgs;
use crate::display::Display;
use crate::output;
use crate::questions;

/// When it is found out whether commands can be confined here.
const SANDBOX_TRIED_AFTER_MS: u64 = 500;
/// What stands for the workspace's path in a cassette.
const WORKSPACE_PLACEHOLDER: &str = "{workspace}";

/// One piece of work in a folder, as flags and configuration describe it.
pub(crate) struct Work<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) folder: &'a Path,
    pub(crate) args: &'a WorkArgs,
    wishes: Wishes,
    pub(crate) config: Config,
    pub(crate) display: Display,
}

impl<'a> Work<'a> {
    /// Reads the configuration for a folder and puts the flags over it.
    pub(crate) fn new(
        paths: &'a Paths,
        folder: &'a Path,
        args: &'a WorkArgs,
        alone: bool,
    ) -> anyhow::Result<Self> {
        check_workspace(folder, args.workspace_is_home, paths.surroundings())?;
        let mut config = Config::load(paths, folder)?;
        let limits = &mut config.limits;
        limits.max_turns = args.max_turns.or(limits.max_turns);
        limits.max_tokens = args.max_tokens.or(limits.max_tokens);
        limits.max_time = args.max_time.map(Time).or(limits.max_time);
        let plan = args.modes.plan.then_some(Approval::Plan);
        config.approval.mode = args.approval.or(plan).or(config.approval.mode);
        let warning = settle_git(paths, Some(&config), folder, !args.no_sandbox);
        config.warnings.extend(warning);
        let display = if args.json {
            Display::Json
        } else if args.quiet {
            Display::Quiet
        } else {
            Display::live()
        };
        let (coordinator, team, surface) = (args.modes.coordinator, args.modes.team, args.modes.surface);
        let wishes = Wishes { alone, coordinator, team, surface, ..Wishes::default() };
        Ok(Self { paths, folder, args, wishes, config, display })
    }

    /// Does nothing without asking that was not done without asking before, unless a flag says so now.
    pub(crate) fn no_more_than(&mut self, before: Approval) {
        if self.args.approval.is_none() && !self.args.modes.plan {
            let mode = self.config.approval.mode.unwrap_or(Approval::Auto);
            self.config.approval.mode = Some(mode.min(before));
        }
    }

    /// The model that is named for the main agent: by a flag, or by its role.
    pub(crate) fn named_model(&self) -> anyhow::Result<Option<String>> {
        let Self { paths, folder, args, wishes, config, .. } = self;
        if args.model.is_some() {
            return Ok(args.model.clone());
        }
        let trusted = Trusted::load(paths)?;
        let sources = RoleSources::of(paths, folder, config, &trusted)?;
        Ok(main_model(config, wishes, &sources, &trusted, paths.surroundings())?)
    }

    /// Whether somebody can be asked while it goes on.
    pub(crate) fn person(&self) -> bool {
        matches!(self.display, Display::Live(_)) && questions::person_is_there()
    }

    /// Puts together what a session needs, and says what the person should know about it.
    pub(crate) fn request(
        &mut self,
        choice: ModelChoice,
        prompt: String,
        recorder: Option<Arc<Recorder>>,
    ) -> anyhow::Result<SessionRequest> {
        let Self { paths, folder, args, wishes, config, .. } = self;
        if config.limits.max_cost_usd.is_some() && choice.prices.is_none() {
            bail!(
                "max_cost_usd cannot be kept: the price of {} is not known; give `price` in [models.NAME]",
                choice.model.name
            );
        }
        let trusted = Trusted::load(paths)?;
        let sources = RoleSources::of(paths, folder, config, &trusted)?;
        let (lean, surroundings) = (choice.model.is_lean(), paths.surroundings());
        let mut sharing = Sharing::of(config, wishes, lean, &sources, &trusted, surroundings)?;
        if sharing.grant.shell != Shell::None && args.no_sandbox {
            sharing.warnings.push(SetupWarning::NoSandbox);
        }
        for warning in config.warnings.iter().chain(&sharing.warnings) {
            self.display.note(&output::one_line(&warning.to_string(), output::NOTE_COLUMNS_MAX))?;
        }
        let mut request = request(paths, config, sharing, choice, folder, prompt, recorder)?;
        request.tools = self.tool_settings();
        request.lasting = Lasting {
            memory: self.config.memory.enabled(),
            skills: skill_folders(self.paths, self.folder),
            own_skills: Some(own_skill_folder(self.paths)),
            trusted: is_trusted(self.paths, self.folder, &trusted),
        };
        request.asking = Asking { rules: self.config.rules()?, person: self.person() };
        Ok(request)
    }

    /// How commands run: confined, unless the person says otherwise.
    fn tool_settings(&self) -> ToolSettings {
        let mut settings = ToolSettings::default();
        settings.sandbox.on = !self.args.no_sandbox;
        settings.sandbox.readable = self.config.readable(self.paths.surroundings());
        let file = &self.config.sandbox;
        let share = &mut settings.sandbox.share;
        share.memory_bytes = file.memory_mb.map(|mb| mb.get().saturating_mul(1 << 20));
        share.processes = file.processes.map(NonZeroU64::get);
        share.disk_free_bytes = file.disk_free_mb.map(|mb| mb.saturating_mul(1 << 20));
        settings.sandbox.hidden.extend(self.paths.own_places());
        settings.sandbox.hidden.extend(hidden_in(self.folder, self.paths.surroundings()));
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
    Some(SetupWarning::NoShell { missing: missing.to_string() }.to_string())
}

/// What stands for this machine's texts in a cassette.
pub(crate) fn substitutions(folder: &Path) -> Vec<(String, String)> {
    vec![(folder.display().to_string(), WORKSPACE_PLACEHOLDER.to_string())]
}

/// What a session needs, with tools and questions as they are by default, and nothing that outlives it.
pub(crate) fn request(
    paths: &Paths,
    config: &Config,
    sharing: Sharing,
    choice: ModelChoice,
    folder: &Path,
    prompt: String,
    recorder: Option<Arc<Recorder>>,
) -> anyhow::Result<SessionRequest> {
    let (ModelChoice { model: mut settings, prices }, governors) = (choice, Governors::default());
    settings.substitutions = substitutions(folder);
    let mut model = Model::new(settings, &governors)?;
    if let Some(recorder) = &recorder {
        model = model.recording(recorder.clone());
    }
    let mut models = Models::new(model, prices);
    if sharing.delegation.is_some() {
        let (surroundings, substitutions) = (paths.surroundings(), substitutions(folder));
        add_models(&mut models, config, surroundings, &substitutions, &governors, recorder.as_ref());
        // One that is configured and cannot be used is told to whoever asks for it.
        for (section, name) in config.models_named() {
            models.check(Some(name), None).map_err(|why| anyhow::anyhow!("{section} model: {why}"))?;
        }
    }
    Ok(SessionRequest {
        workspace: folder.to_path_buf(),
        prompt,
        models,
        grant: sharing.grant,
        budget: sharing.budget,
        tools: ToolSettings::default(),
        project: project_context(folder, config.context_files.as_deref()),
        delegation: sharing.delegation,
        asking: Asking::default(),
        lasting: Lasting::default(),
    })
}
