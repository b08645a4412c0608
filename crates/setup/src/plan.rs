//! One session, from files and wishes to the request that the engine starts it with. Every interface goes this way.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_engine::models::Models;
use posse_engine::roles::RoleHooks;
use posse_engine::{
    ApprovalSettings, HookSettings, KnowledgeSettings, SessionRequest, TypedCommand, TypedOutcome,
    project_context, run_typed,
};
use posse_mcp::{ServerEntry, Servers};
use posse_model::{Governors, Model, Recorder};
use posse_protocol::{Approval, Budget, Grant, HOME, Shell, TraceParent};
use posse_tools::{OutsidePlace, OutsideTools, ToolSettings};
use posse_workspace::{Workspace, WorkspaceError};
use tokio_util::sync::CancellationToken;

use crate::cluster_settings::ClusterSettings;
use crate::config::{Config, Time, Trusted};
use crate::detect::{self, ModelChoice};
use crate::error::{ConfigError, ModelChoiceError, PrepareError};
use crate::homes;
use crate::hooks::{FoundHooks, find_hooks};
use crate::kept_home::why_kept_home;
use crate::limits::SANDBOX_TRIED_AFTER_MS;
use crate::own_git::settle_git;
use crate::paths::Paths;
use crate::process_fleet::FleetPlan;
use crate::roles::RoleSources;
use crate::servers::{find_servers, servers_folder};
use crate::sharing::{self, Sharing};
use crate::skill_places::{own_skill_folder, skill_folders};
use crate::task::TaskPrompt;
use crate::trust;
use crate::warning::SetupWarning;
use crate::wished_role::WishedRole;
use crate::wishes::Wishes;

/// What stands for the workspace's path in a cassette.
const WORKSPACE_PLACEHOLDER: &str = "{workspace}";

/// The variable in which whoever starts this process names the span that it belongs to.
const TRACEPARENT: &str = "TRACEPARENT";

/// A session in a folder, as files and wishes describe it. Its model is not chosen yet.
pub struct SessionPlan<'a> {
    pub(crate) paths: &'a Paths,
    pub(crate) folder: &'a Path,
    wishes: Wishes,
    pub(crate) config: Config,
    /// Whether the person's and the project's files count, also those with roles, skills and notes.
    with_files: bool,
    /// Private files that the person's configuration names. They are hidden also where it does not count.
    private_files: Vec<PathBuf>,
}

impl<'a> SessionPlan<'a> {
    /// Reads the configuration for a folder, links resolved, and puts the wishes over it.
    pub fn read(paths: &'a Paths, folder: &'a Path, wishes: Wishes) -> Result<Self, PrepareError> {
        homes::check(folder, wishes.workspace_is_home, paths.surroundings())?;
        let mut config = Config::load(paths, folder)?;
        let limits = &mut config.limits;
        limits.max_turns = wishes.max_turns.or(limits.max_turns);
        limits.max_tokens = wishes.max_tokens.or(limits.max_tokens);
        limits.max_time = wishes.max_time_ms.map(Time).or(limits.max_time);
        limits.max_cost_usd = wishes.max_cost_usd.or(limits.max_cost_usd);
        config.approval.mode = wishes.approval.or(config.approval.mode);
        if let (None, Some(most)) = (wishes.approval, wishes.approval_max) {
            let mode = config.approval.mode.unwrap_or(Approval::Auto);
            config.approval.mode = Some(mode.min(most));
        }
        let warning = settle_git(paths, Some(&config), folder, !wishes.no_sandbox);
        config.warnings.extend(warning);
        let private_files = config.private_files(paths);
        Ok(Self { paths, folder, wishes, config, with_files: true, private_files })
    }

    /// A session for which no file counts: it is the same for everybody. Only git is the person's.
    pub fn without_files(paths: &'a Paths, folder: &'a Path, wishes: Wishes) -> Self {
        let config = Config::load(paths, folder).ok();
        settle_git(paths, config.as_ref(), folder, !wishes.no_sandbox);
        let private_files = config.map(|config| config.private_files(paths)).unwrap_or_default();
        Self { paths, folder, wishes, config: Config::defaults(), with_files: false, private_files }
    }

    /// The configuration, with the wishes over it.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The machines that its agents may run on beside this one.
    pub fn cluster(&self) -> Result<ClusterSettings, ConfigError> {
        self.config.cluster(self.paths)
    }

    /// What the main agent may spend, as files and wishes say; its role may say less.
    pub fn budget(&self) -> Budget {
        self.config.budget()
    }

    /// Finds the model of a new session: the wished one, the one of the main agent's role, or the usual one.
    pub async fn choose_model(&self) -> Result<ModelChoice, PrepareError> {
        let named = match self.wished_model() {
            Some(name) => Some(name.to_owned()),
            None => self.model_of_role()?,
        };
        Ok(detect::choose(&self.config, self.paths.surroundings(), named.as_deref()).await?)
    }

    /// Finds the model of a session that continues: the wished one, else the one it had. If that one cannot be used
    /// any more, it is the usual one, with a warning.
    pub async fn choose_model_again(
        &self,
        recorded: Option<&str>,
    ) -> Result<(ModelChoice, Option<SetupWarning>), PrepareError> {
        let (config, surroundings) = (&self.config, self.paths.surroundings());
        let Some(recorded) = recorded.filter(|_| self.wished_model().is_none()) else {
            return Ok((detect::choose(config, surroundings, self.wished_model()).await?, None));
        };
        match detect::choose(config, surroundings, Some(recorded)).await {
            Ok(choice) => Ok((choice, None)),
            Err(_) => {
                let choice = detect::choose(config, surroundings, None).await?;
                let (recorded, model) = (recorded.to_owned(), choice.model.name.clone());
                Ok((choice, Some(SetupWarning::ModelReplaced { recorded, model })))
            }
        }
    }

    fn wished_model(&self) -> Option<&str> {
        self.wishes.model.as_deref().or_else(|| detect::named_model(self.paths.surroundings()))
    }

    /// The span of whoever asks for the session. A variable that names none is nobody's business.
    fn traceparent(&self) -> Option<TraceParent> {
        let of_process = || self.paths.surroundings().text(TRACEPARENT)?.trim().parse().ok();
        self.wishes.traceparent.or_else(of_process)
    }

    fn model_of_role(&self) -> Result<Option<String>, PrepareError> {
        let (trusted, sources) = self.roles()?;
        let surroundings = self.paths.surroundings();
        Ok(sharing::main_model(&self.config, &self.wishes, &sources, &trusted, surroundings)?)
    }

    /// What is trusted, and where roles come from.
    fn roles(&self) -> Result<(Trusted, RoleSources), PrepareError> {
        if !self.with_files {
            return Ok((Trusted::default(), RoleSources::default()));
        }
        let trusted = Trusted::load(self.paths)?;
        let sources = RoleSources::of(self.paths, self.folder, &self.config, &trusted)?;
        Ok((trusted, sources))
    }

    /// Decides what the session may do and spend with this model, and how it delegates.
    pub fn terms(&self, choice: ModelChoice) -> Result<SessionTerms<'_>, PrepareError> {
        let Self { paths, wishes, config, .. } = self;
        if config.limits.max_cost_usd.is_some() && choice.prices.is_none() {
            return Err(ModelChoiceError::NoPrice { model: choice.model.name }.into());
        }
        let (trusted, sources) = self.roles()?;
        let lean = choice.model.is_lean();
        let mut sharing = Sharing::of(config, wishes, lean, &sources, &trusted, paths.surroundings())?;
        if let Some(name) = &wishes.role {
            let role = WishedRole::find(name, config, &sources, &trusted, paths.surroundings())?;
            sharing = sharing.in_role(&role);
        }
        let mut warnings = config.warnings.clone();
        warnings.append(&mut sharing.warnings);
        if sharing.grant.shell != Shell::None && wishes.no_sandbox {
            warnings.push(SetupWarning::NoSandbox);
        }
        let servers = self.servers(&trusted, &sharing, &mut warnings);
        let faults = paths.telemetry_faults.iter();
        warnings.extend(faults.map(|fault| SetupWarning::Telemetry { fault: fault.clone() }));
        let hooks = self.hooks(&trusted, &sharing.role_hooks);
        warnings.extend(hooks.warnings);
        let fleet = self.fleet(sharing.delegation.is_some(), &mut warnings)?;
        // Who asks for a worker in a task or a role is told so there.
        if fleet.is_some() && config.sub_agents.on.as_ref().is_some_and(|on| on != HOME) {
            let why = why_kept_home(self.folder, !hooks.settings.set.is_idle(), !wishes.no_sandbox);
            warnings.extend(why.map(|why| SetupWarning::NoWorkers { why: why.to_owned() }));
        }
        Ok(SessionTerms {
            plan: self,
            choice,
            trusted,
            sharing,
            servers,
            fleet,
            hooks: hooks.settings,
            warnings,
        })
    }

    /// The workers that its agents can run on. Where they cannot be used, the session goes on without them.
    fn fleet(
        &self,
        delegates: bool,
        warnings: &mut Vec<SetupWarning>,
    ) -> Result<Option<FleetPlan>, PrepareError> {
        if !delegates || !self.with_files {
            return Ok(None);
        }
        match FleetPlan::read(self.paths, self.folder, &self.cluster()?) {
            Ok(plan) => Ok(plan),
            Err(error) => {
                warnings.push(SetupWarning::NoWorkers { why: error.to_string() });
                Ok(None)
            }
        }
    }

    /// The servers whose tools agents may call, and what the person should know of them.
    fn servers(
        &self,
        trusted: &Trusted,
        sharing: &Sharing,
        warnings: &mut Vec<SetupWarning>,
    ) -> Vec<ServerEntry> {
        if !self.with_files || self.wishes.no_tools {
            return Vec::new();
        }
        let found = find_servers(self.paths, self.folder, &self.config, trusted, &sharing.servers);
        warnings.extend(found.warnings());
        found.entries()
    }

    /// What agents reach these servers through.
    fn outside(&self, servers: Vec<ServerEntry>) -> Option<Arc<dyn OutsideTools>> {
        if servers.is_empty() {
            return None;
        }
        Some(Arc::new(Servers::new(servers, servers_folder(self.paths))))
    }

    /// Where a server is tried, and confined as in a session.
    pub fn outside_place(&self) -> Result<OutsidePlace, WorkspaceError> {
        let workspace = Workspace::open(self.folder)?;
        Ok(OutsidePlace { workspace, sandbox: self.tool_settings().sandbox })
    }

    /// How commands run: confined, unless it is wished otherwise.
    pub(crate) fn tool_settings(&self) -> ToolSettings {
        let (mut settings, surroundings) = (ToolSettings::default(), self.paths.surroundings());
        settings.sandbox.on = !self.wishes.no_sandbox;
        settings.sandbox.readable = self.config.readable(surroundings);
        let file = &self.config.sandbox;
        let share = &mut settings.sandbox.share;
        share.memory_bytes = file.memory_mb.map(|mb| mb.get().saturating_mul(1 << 20));
        share.processes = file.processes.map(NonZeroU64::get);
        share.disk_free_bytes = file.disk_free_mb.map(|mb| mb.saturating_mul(1 << 20));
        settings.sandbox.hidden.extend(self.paths.own_places());
        settings.sandbox.hidden.extend(self.private_files.iter().cloned());
        settings.sandbox.hidden.extend(homes::hidden_in(self.folder, surroundings));
        settings
    }

    /// Runs a command that the person typed, as the main agent of such a session would in this mode: the same rules, rights,
    /// sandbox and environment. What would only be asked is allowed; it never leaves the sandbox. Undo does not know of it.
    pub async fn run_typed(
        &self,
        command: &str,
        approval: Approval,
        deadline: Duration,
        cancel: &CancellationToken,
        on_output: impl FnMut(String),
    ) -> Result<TypedOutcome, PrepareError> {
        let typed = TypedCommand {
            command: command.to_owned(),
            workspace: self.folder.to_path_buf(),
            grant: sharing::in_mode(Grant { approval, ..self.config.grant() }),
            tools: self.tool_settings(),
            rules: self.config.rules()?,
            skills: if self.with_files { skill_folders(self.paths, self.folder) } else { Vec::new() },
            deadline_ms: u64::try_from(deadline.as_millis()).unwrap_or(u64::MAX),
        };
        Ok(run_typed(typed, cancel, on_output).await)
    }

    /// The hooks of the session.
    fn hooks(&self, trusted: &Trusted, roles: &[RoleHooks]) -> FoundHooks {
        if !self.with_files {
            return FoundHooks::default();
        }
        find_hooks(self.paths, self.folder, &self.config, trusted, roles)
    }

    /// What outlives the session.
    fn knowledge(&self, trusted: &Trusted) -> KnowledgeSettings {
        if !self.with_files {
            return KnowledgeSettings::default();
        }
        KnowledgeSettings {
            memory: self.config.memory.enabled(),
            skills: skill_folders(self.paths, self.folder),
            own_skills: Some(own_skill_folder(self.paths)),
            trusted: trust::is_trusted(self.paths, self.folder, trusted),
        }
    }

    fn approvals(&self) -> Result<ApprovalSettings, ConfigError> {
        Ok(ApprovalSettings { rules: self.config.rules()?, person: self.wishes.person })
    }
}

/// What a session may do with the model that was chosen, and what the person should know before it starts.
pub struct SessionTerms<'a> {
    plan: &'a SessionPlan<'a>,
    choice: ModelChoice,
    trusted: Trusted,
    sharing: Sharing,
    /// The servers whose tools its agents may call.
    pub servers: Vec<ServerEntry>,
    fleet: Option<FleetPlan>,
    hooks: HookSettings,
    /// To be shown before the session starts.
    pub warnings: Vec<SetupWarning>,
}

impl SessionTerms<'_> {
    /// Finds out whether commands can be confined here, and says so if they cannot. It takes a moment; the session does
    /// not wait for it.
    pub fn shell_warning(&self) -> impl Future<Output = Option<SetupWarning>> + use<> {
        let wanted = self.sharing.grant.shell != Shell::None && !self.plan.wishes.no_sandbox;
        async move { if wanted { missing_shell().await } else { None } }
    }

    /// Builds what the engine starts or resumes the session with. `recorder` writes every exchange with a model to a
    /// cassette.
    pub fn request(
        self,
        task: impl Into<TaskPrompt>,
        recorder: Option<&Arc<Recorder>>,
    ) -> Result<SessionRequest, PrepareError> {
        let Self { plan, choice, trusted, sharing, servers, fleet, hooks, .. } = self;
        let mut task = task.into();
        if let Some(text) = &sharing.role_text {
            task.text.push_str(text);
        }
        let models = models(plan, choice, sharing.delegation.is_some(), recorder)?;
        let workers = fleet.map(|fleet| plan.paths.fleet().get(fleet)).transpose();
        Ok(SessionRequest {
            workspace: plan.folder.to_path_buf(),
            prompt: task.text,
            attachments: task.attachments,
            models,
            grant: sharing.grant,
            budget: sharing.budget,
            stay: plan.wishes.stay,
            tools: plan.tool_settings(),
            project: project_context(plan.folder, plan.config.context_files.as_deref()),
            delegation: sharing.delegation,
            approvals: plan.approvals()?,
            knowledge: plan.knowledge(&trusted),
            hooks: (!hooks.set.is_idle()).then_some(hooks),
            outside: plan.outside(servers),
            workers: workers.map_err(PrepareError::Workers)?,
            traceparent: plan.traceparent(),
            watcher: plan.paths.telemetry().watcher(),
        })
    }
}

/// The main agent's model, and with delegation those that sub-agents may use.
pub(crate) fn models(
    plan: &SessionPlan<'_>,
    choice: ModelChoice,
    delegates: bool,
    recorder: Option<&Arc<Recorder>>,
) -> Result<Models, ModelChoiceError> {
    let (ModelChoice { model: mut settings, prices }, governors) = (choice, Governors::default());
    let substitutions = substitutions(plan.folder);
    settings.substitutions.clone_from(&substitutions);
    let mut model = Model::new(settings, &governors)?;
    if let Some(recorder) = recorder {
        model = model.recording(recorder.clone());
    }
    let mut models = Models::new(model, prices);
    if delegates {
        let (config, surroundings) = (&plan.config, plan.paths.surroundings());
        sharing::add_models(&mut models, config, surroundings, &substitutions, &governors, recorder);
        // One that is configured and cannot be used is told to whoever asks for it.
        for (section, name) in config.models_named() {
            let checked = models.check(Some(name), None);
            checked.map_err(|reason| ModelChoiceError::ForSubAgents { section, reason })?;
        }
    }
    Ok(models)
}

/// What stands for this machine's texts in a cassette.
pub fn substitutions(folder: &Path) -> Vec<(String, String)> {
    vec![(folder.display().to_string(), WORKSPACE_PLACEHOLDER.to_string())]
}

/// Finds out, beside everything else, whether commands can be confined.
async fn missing_shell() -> Option<SetupWarning> {
    // Not while the first request is on its way: it has the machine to itself.
    tokio::time::sleep(Duration::from_millis(SANDBOX_TRIED_AFTER_MS)).await;
    let tried = tokio::task::spawn_blocking(posse_sandbox::available).await;
    Some(SetupWarning::NoShell { missing: tried.ok()?.err()?.to_string() })
}
