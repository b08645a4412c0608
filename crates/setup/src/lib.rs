//! Prepares sessions: reads the configuration, finds a model, and builds the engine's `SessionRequest`.
//!
//! Every interface starts sessions this way, so the same files and wishes give the same session everywhere:
//!
//! 1. [`Surroundings`] are the environment, the home folder and the current folder, as a value. [`Paths::find`] derives
//!    where the person's files are.
//! 2. [`SessionPlan::read`] reads the configuration of a folder and puts the [`Wishes`] of this session over it.
//! 3. [`SessionPlan::choose_model`] finds the model. [`TaskPrompt::must_fit`] says whether it can take the task.
//! 4. [`SessionPlan::terms`] decides what the session may do, and returns what the person should know as
//!    [`SetupWarning`]s.
//! 5. [`SessionTerms::request`] builds the request.
//!
//! This is the only crate that reads the environment and the home folder. It must not know flags, the terminal or
//! exit codes: errors and warnings are values, and the interface shows them.
#![forbid(unsafe_code)]

mod broker_look;
mod catalog;
mod chat_settings;
mod cluster_settings;
mod command_text;
mod config;
mod data_folder;
mod detect;
mod doctor;
mod editor;
mod error;
mod fleet;
mod fleet_error;
mod forget_skill;
mod homes;
mod hook_list;
mod hooks;
mod kept_home;
mod limits;
mod own_git;
mod pager;
mod paths;
mod person_tool;
mod plan;
mod process_fleet;
mod prompt_history;
mod providers;
mod role_fit;
mod roles;
mod servers;
mod sharing;
mod skill_places;
mod ssh_tool;
mod surroundings;
mod task;
mod this_worker;
mod trust;
mod user_commands;
mod warning;
mod wished_role;
mod wishes;
mod worker_about;
mod worker_files;
mod worker_words;

pub use broker_look::{BrokerState, HeardWorker, WorkerAnswer, drain_over_broker, look_at_broker};
pub use catalog::{
    ModelSummary, RoleList, SkillSummary, context_window, model_list, needed_models, role_list, skill_list,
};
pub use chat_settings::{ChatSettings, StatusLine};
pub use cluster_settings::{ClusterSettings, NatsSettings, SshTarget, WorkerEntry, WorkerSettings};
pub use command_text::{ExpandError, ExpandedCommand};
pub use config::{
    ChatNotify, ChatTheme, Config, ListedRule, ModelsAt, PROJECT_FILE, RuleFileError, RuleKind, Trusted,
    list_rules, parse_age_ms, parse_approval, parse_time_ms, project_file, remove_rule, save_role_model,
    save_rule,
};
pub use data_folder::{try_writing, writing_advice};
pub use detect::{ModelChoice, choose, probe};
pub use doctor::{DoctorFinding, DoctorReport, DoctorState, examine};
pub use editor::{ExternalEditor, NoEditor};
pub use error::{AttachedFileError, ConfigError, ModelChoiceError, PrepareError, RolesError};
pub use fleet_error::FleetError;
pub use forget_skill::{ForgetSkillError, forget_skill};
pub use hook_list::{HookListError, ListedHook};
pub use hooks::{FoundHooks, find_hooks};
pub use kept_home::kept_home;
pub use own_git::settle_git;
pub use pager::PersonPager;
pub use paths::{Paths, append_private, create_new_private};
pub use person_tool::person_tool;
pub use plan::{SessionPlan, SessionTerms, substitutions};
pub use prompt_history::PromptHistoryFile;
pub use providers::{PROVIDERS, Provider};
pub use role_fit::RoleFit;
pub use roles::{RoleSources, own_role_folder};
pub use servers::{
    FoundServer, NewServer, NewServerTarget, SERVERS_FILE, ServerFault, ServerFileChoice, ServerFileError,
    ServerPlace, ServerStanding, ServersFound, add_server, remove_server_from, servers_folder, servers_in,
};
pub use skill_places::{own_skill_folder, skill_folders};
pub use ssh_tool::SshTool;
pub use surroundings::{NoFolder, ShownPath, Surroundings};
pub use task::TaskPrompt;
pub use this_worker::{
    ThisWorker, WorkerPlace, WorkerWishes, drain_workers, is_drained, known_models, undrain_workers,
};
pub use trust::{TrustItem, trust_items};
pub use user_commands::{CommandFault, UserCommand, UserCommands, user_commands};
pub use warning::SetupWarning;
pub use wishes::Wishes;
pub use worker_about::{SandboxAbout, WorkerAbout};
pub use worker_files::{
    BrokerAccess, JoinFile, KnownWorker, NatsCredentials, PREFACE_BYTES, SigningSecret, WorkerFileError,
    add_known_worker, known_workers, own_secret, read_credentials, read_or_make_secret, read_secret,
    remove_known_worker, worker_file_faults, write_credentials,
};
