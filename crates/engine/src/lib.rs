//! Drives agents: commands in, events out.
//!
//! The only crate that brings everything together: it makes the model calls the `agent` machine asks for, runs the
//! tools it wants, appends every step to the `store` and publishes it. Faces see what is public here and nothing
//! below. It must not know flags, the environment, the terminal, or any wire format.
#![forbid(unsafe_code)]

mod advice;
mod alive;
mod answers;
mod approvals;
mod bus;
mod checkouts;
mod clock;
mod context;
mod crew;
mod delegation;
mod desk;
mod driver;
mod engine;
mod error;
mod export;
mod facts;
mod finished;
mod found;
mod gate;
mod handles;
mod hidden;
mod history;
mod jobs;
mod journal;
mod launch;
mod library;
pub mod limits;
mod lives;
mod measured;
mod model_choice;
mod model_family;
mod past;
mod permits;
mod project;
mod prompt;
mod receipt;
mod records;
mod resume;
mod role_files;
mod roles_file;
mod routes;
mod session;
mod session_view;
mod shares;
mod shell_rights;
mod site;
mod skill_drafts;
mod skill_files;
mod stage;
mod team;
mod tool_calls;
mod undo;
mod undoable;

pub use approvals::{Asking, Taken};
pub use bus::Updates;
pub use delegation::{Delegation, Record, SubAgents};
pub use engine::Engine;
pub use error::EngineError;
pub use project::{ProjectContext, project_context, project_folders, project_of};
pub use session::{Lasting, Session, SessionRequest};
pub use undo::{Extent, Merging, Undoing};

/// What faces need to set up delegation, without knowing the crates behind.
pub mod delegating {
    pub use posse_delegate::{Limits, OverCap};
    pub use posse_surface::Surface;
}

/// What faces need to show reports, without knowing the crate behind.
pub mod reports {
    pub use posse_report::{About, Told, facts, facts_line, files, summary_block};
}

/// What faces need to set up models, without knowing the crate behind.
pub mod models {
    pub use crate::model_choice::Models;
    pub use crate::model_family::{KnownModel, meant};
    pub use crate::routes::Routes;
    pub use posse_model::{
        CassetteError, Governors, ListedModel, Model, ModelConfig, Profile, Protocol, Recorder, Retry,
        SetupError, Timeouts, ToolCallMode, address_fault, list_models, list_models_of, missing_model,
        shown_address,
    };
    pub use secrecy::SecretString;
}

/// What faces need to tell about the record, without knowing the crate behind.
pub mod record {
    pub use posse_store::{
        AgentRow, DATABASE_FILE, Durability, Health, Hit, HitKind, RoleRecord, SessionRow, Stats, StatsQuery,
        StatsRow, prepare_data_dir,
    };
}

/// What faces need to tell about the machine and the workspace.
pub mod machine {
    #[cfg(unix)]
    pub use posse_sandbox::home_of;
    pub use posse_sandbox::{Support, available, keep_freed_memory, secret_places, support};
    pub use posse_workspace::{Expect, Workspace, WorkspaceError, git};
}

/// What faces need to tell about roles, without knowing the crate behind.
pub mod roles {
    pub use crate::role_files::{LoadedRoles, Problem, RolePlace, load_roles, project_role_places};
    pub use crate::roles_file::{PromptFile, RolesFile, RolesFileAt};
    pub use posse_roles::{
        Accepted, AgentRoles, DEFAULT_ROLE, INHERIT, Lines, NameFault, Roles, Team, Told, UnknownRole,
        template, valid_name,
    };
}

/// What faces need to tell about skills, without knowing the crates behind.
pub mod skills {
    pub use crate::skill_drafts::{SkillDraft, SkillDrafts};
    pub use crate::skill_files::{FoundSkill, SkillFolder, find_skills, project_skill_folders};
    pub use posse_roles::Skill;
    pub use posse_tools::{LoadedSkill, SavedSkill, SkillFile};
}

/// What faces need to set up approvals, without knowing the crate behind.
pub mod approving {
    pub use posse_policy::{RuleError, Rules, explain, is_tool};
    pub use posse_roles::likely_tool;
}

pub use posse_tools::{Sandbox, ToolSettings};
