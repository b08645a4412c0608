//! What a folder and the person's files say: models, roles, skills, commands; and what the chat can do there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use posse_engine::TypedOutcome;
use posse_engine::skills::find_skills;
use posse_protocol::Approval;
use posse_setup::{
    Config, DoctorReport, ModelSummary, RoleList, SessionPlan, SkillSummary, Wishes, examine, forget_skill,
    model_list, role_list, skill_folders, skill_list, user_commands,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use crate::call::{Call, Verb, at_most};
use crate::calls::about_folder::about_a_folder;
use crate::calls::served::{TextFound, folder_named};
use crate::failure::{CallError, CallErrorKind};
use crate::hub::Hub;
use crate::limits::{COMPLETIONS_MAX, NAME_BYTES_MAX, QUERY_BYTES_MAX, TEXT_BYTES_MAX, TYPED_COMMAND_MS_MAX};

/// Models that can be named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelList {
    /// The configured ones first.
    pub models: Vec<ModelSummary>,
}

about_a_folder!(
    /// The models that can be named in a folder.
    ListModels, ModelList, "list_models", "/api/models", |paths, folder| {
        let config = Config::load(paths, folder).map_err(CallError::refused)?;
        Ok(ModelList { models: model_list(&config, paths.surroundings()) })
    }
);

/// The roles of a folder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RolesFound {
    /// Every role, and what is wrong with files of roles.
    #[serde(flatten)]
    pub list: RoleList,
}

about_a_folder!(
    /// The roles that agents have in a folder, without their prompts.
    ListRoles, RolesFound, "list_roles", "/api/roles",
    |paths, folder| Ok(RolesFound { list: role_list(paths, folder, true).map_err(CallError::refused)? })
);

/// The skills that agents find.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SkillList {
    /// One for each skill.
    pub skills: Vec<SkillSummary>,
}

about_a_folder!(
    /// The skills that agents find in a folder.
    ListSkills, SkillList, "list_skills", "/api/skills",
    |paths, folder| Ok(SkillList { skills: skill_list(paths, folder) })
);

about_a_folder!(
    /// The configuration in effect in a folder, without keys.
    ShowConfig, TextFound, "show_config", "/api/config", |paths, folder| {
        let config = Config::load(paths, folder).map_err(CallError::refused)?;
        Ok(TextFound { text: config.to_toml().map_err(CallError::refused)? })
    }
);

/// A command of the person or a project, such as `/release`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandFound {
    /// What is typed behind the slash.
    pub name: String,
    /// What it does, in a line.
    pub description: String,
    /// What is typed behind it.
    pub arguments: String,
}

/// Commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandList {
    /// By name.
    pub commands: Vec<CommandFound>,
}

about_a_folder!(
    /// The commands of the person and of a folder that begin with a slash.
    ListCommands, CommandList, "list_commands", "/api/commands", |paths, folder| {
        let one = |command: posse_setup::UserCommand| CommandFound {
            name: command.name,
            description: command.prompt.description,
            arguments: command.prompt.argument_hint.unwrap_or_default(),
        };
        Ok(CommandList { commands: user_commands(paths, folder).commands.into_iter().map(one).collect() })
    }
);

/// The text of a command with what was typed behind it. What it runs is run first, in the sandbox.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExpandCommand {
    /// The folder.
    pub folder: String,
    /// The command's name.
    pub name: String,
    /// What was typed behind it.
    #[serde(default)]
    pub arguments: String,
    /// What runs without asking.
    #[serde(default)]
    pub approval: Option<Approval>,
}

impl Call<Arc<Hub>> for ExpandCommand {
    type Of = ();
    type Answer = TextFound;
    const NAME: &'static str = "expand_command";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/commands/expand";

    fn check(&self) -> Result<(), CallError> {
        folder_named(&self.folder)?;
        at_most(NAME_BYTES_MAX, "The name", &self.name)?;
        at_most(TEXT_BYTES_MAX, "What was typed", &self.arguments)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<TextFound, CallError> {
        let Self { folder, name, arguments, approval } = self;
        let folder_path = hub.folder(&folder).await?;
        let (command, expanded) = {
            let find = move |paths: &posse_setup::Paths, folder: &Path| {
                let found = user_commands(paths, folder).commands.into_iter().find(|one| one.name == name);
                let none =
                    || CallError::new(CallErrorKind::NotFound, format!("There is no command /{name}."));
                let command = found.ok_or_else(none)?;
                let expanded = command.expand(&arguments).map_err(CallError::refused)?;
                Ok((command, expanded))
            };
            hub.files(&folder, find).await?
        };
        if !expanded.commands.is_empty() && !command.may_run() {
            let message = format!(
                "/{} runs commands, and this folder is not trusted: look at what it wants.",
                command.name
            );
            return Err(CallError::refused(message));
        }
        let mut outputs = Vec::new();
        for piece in &expanded.commands {
            let ran = run_typed(&hub, &folder_path, piece, approval).await?;
            outputs.push(ran.output.trim_end().to_owned());
        }
        Ok(TextFound { text: expanded.filled(&outputs) })
    }
}

/// Runs a command that the person typed, through rules and sandbox.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunCommand {
    /// The folder.
    pub folder: String,
    /// The command.
    pub command: String,
    /// What runs without asking.
    #[serde(default)]
    pub approval: Option<Approval>,
}

/// What a command said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CommandRan {
    /// Its output, and how it ended if it failed.
    pub output: String,
    /// Whether it failed.
    pub failed: bool,
}

impl Call<Arc<Hub>> for RunCommand {
    type Of = ();
    type Answer = CommandRan;
    const NAME: &'static str = "run_command";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/run";
    const ANSWER_MS_MAX: u64 = 2 * TYPED_COMMAND_MS_MAX;

    fn check(&self) -> Result<(), CallError> {
        folder_named(&self.folder)?;
        at_most(TEXT_BYTES_MAX, "The command", &self.command)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<CommandRan, CallError> {
        let folder = hub.folder(&self.folder).await?;
        run_typed(&hub, &folder, &self.command, self.approval).await
    }
}

async fn run_typed(
    hub: &Hub,
    folder: &Path,
    command: &str,
    approval: Option<Approval>,
) -> Result<CommandRan, CallError> {
    let wishes = Wishes { person: true, ..Wishes::default() };
    let plan = SessionPlan::read(&hub.paths, folder, wishes).map_err(CallError::refused)?;
    let approval = approval.unwrap_or(Approval::Ask);
    let (deadline, cancel) = (Duration::from_millis(TYPED_COMMAND_MS_MAX), CancellationToken::new());
    let ran = plan.run_typed(command, approval, deadline, &cancel, |_| {}).await;
    match ran.map_err(CallError::refused)? {
        TypedOutcome::Ran { exit_code: Some(0), output, .. } => Ok(CommandRan { output, failed: false }),
        TypedOutcome::Ran { ending, output, .. } => {
            Ok(CommandRan { output: format!("{}\n{ending}", output.trim_end()), failed: true })
        }
        TypedOutcome::Refused(why) => Err(CallError::refused(why)),
        TypedOutcome::Cancelled => Err(CallError::refused("The command was stopped.")),
    }
}

/// Paths of a folder that complete what was typed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteFiles {
    /// The folder.
    pub folder: String,
    /// What was typed.
    #[serde(default)]
    pub typed: String,
}

/// Paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathsFound {
    /// The best first, relative to the folder.
    pub paths: Vec<String>,
}

impl Call<Arc<Hub>> for CompleteFiles {
    type Of = ();
    type Answer = PathsFound;
    const NAME: &'static str = "complete_files";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/files";

    fn check(&self) -> Result<(), CallError> {
        folder_named(&self.folder)?;
        at_most(QUERY_BYTES_MAX, "What was typed", &self.typed)
    }

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<PathsFound, CallError> {
        let folder = hub.folder(&self.folder).await?;
        let rules = hub
            .files(&self.folder, |paths, folder| {
                Config::load(paths, folder).and_then(|config| config.rules()).map_err(CallError::refused)
            })
            .await?;
        let found = hub.engine.complete_files(&folder, &self.typed, COMPLETIONS_MAX, &rules).await?;
        Ok(PathsFound { paths: found.matches.into_iter().map(|found| found.path).collect() })
    }
}

/// Checks model, sandbox, git and record, as `posse doctor` does.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowDoctor {
    /// The folder.
    pub folder: String,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DoctorFound {
    /// What was looked at, and what it comes down to.
    pub report: DoctorReport,
}

impl Call<Arc<Hub>> for ShowDoctor {
    type Of = ();
    type Answer = DoctorFound;
    const NAME: &'static str = "show_doctor";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/doctor";

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<DoctorFound, CallError> {
        let folder = hub.folder(&self.folder).await?;
        Ok(DoctorFound { report: examine(&hub.paths, &folder, None, true).await })
    }
}

/// A skill as agents read it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShowSkill {
    /// The folder.
    pub folder: String,
    /// What the skill is loaded by.
    pub key: String,
}

impl Call<Arc<Hub>> for ShowSkill {
    type Of = ();
    type Answer = TextFound;
    const NAME: &'static str = "show_skill";
    const VERB: Verb = Verb::Get;
    const PATH: &'static str = "/api/skill";

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<TextFound, CallError> {
        let key = self.key;
        let load = move |paths: &posse_setup::Paths, folder: &Path| {
            let found = find_skills(&skill_folders(paths, folder));
            let one = found.iter().find(|one| one.skill.key == key).and_then(|one| one.load(folder));
            let none = || CallError::new(CallErrorKind::NotFound, "There is no such skill.");
            Ok(TextFound { text: one.ok_or_else(none)?.body })
        };
        hub.files(&self.folder, load).await
    }
}

/// Takes a skill of the person away. It is moved aside in the data directory, not deleted.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetSkill {
    /// The folder.
    pub folder: String,
    /// What the skill is loaded by.
    pub key: String,
}

/// Where something is now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedAside {
    /// The path.
    pub path: PathBuf,
}

impl Call<Arc<Hub>> for ForgetSkill {
    type Of = ();
    type Answer = MovedAside;
    const NAME: &'static str = "forget_skill";
    const VERB: Verb = Verb::Post;
    const PATH: &'static str = "/api/skills/forget";

    async fn run(self, (): (), hub: Arc<Hub>) -> Result<MovedAside, CallError> {
        let key = self.key;
        let forget = move |paths: &posse_setup::Paths, folder: &Path| {
            Ok(MovedAside { path: forget_skill(paths, folder, &key).map_err(CallError::refused)? })
        };
        hub.files(&self.folder, forget).await
    }
}
