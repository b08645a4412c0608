//! Drives agents: commands in, events out.
//!
//! The only crate that brings everything together: it makes the model calls the `agent` machine asks for, runs the
//! tools it wants, appends every step to the `store` and publishes it. Faces see what is public here and nothing
//! below. It must not know flags, the environment, the terminal, or any wire format.
#![forbid(unsafe_code)]

mod agents;
mod changes;
mod crew;
mod delegation;
mod driver;
mod engine;
mod error;
mod knowledge;
pub mod limits;
pub mod models;
mod project;
pub mod record;
mod rights;
pub mod roles;
mod session;

pub use agents::sub_agents::{Delegation, RecordDetail, SubAgents};
pub use engine::Engine;
pub use engine::undo::{MergeOutcome, UndoExtent, UndoOutcome};
pub use error::EngineError;
pub use project::{ProjectContext, project_context, project_folders, project_of};
pub use record::bus::Updates;
pub use rights::approvals::{AnswerOutcome, ApprovalSettings};
pub use session::{KnowledgeSettings, Session, SessionRequest};

/// What faces need to set up delegation, without knowing the crates behind.
pub mod delegating {
    pub use posse_delegate::{Limits, OverCap};
    pub use posse_surface::Surface;
}

/// What faces need to show reports, without knowing the crate behind.
pub mod reports {
    pub use posse_report::{About, facts, facts_line, files};
}

/// What faces need to tell about the machine and the workspace.
pub mod machine {
    #[cfg(unix)]
    pub use posse_sandbox::home_of;
    pub use posse_sandbox::{Program, Support, available, keep_freed_memory, page, secret_places, support};
    pub use posse_workspace::{Expect, Workspace, WorkspaceError, git};
}

/// What faces need to tell about skills, without knowing the crates behind.
pub mod skills {
    pub use crate::knowledge::skill_drafts::{SkillDraft, SkillDrafts};
    pub use crate::knowledge::skill_files::{FoundSkill, SkillFolder, find_skills, project_skill_folders};
    pub use posse_roles::Skill;
    pub use posse_tools::{LoadedSkill, SavedSkill, SkillFile};
}

/// What faces need to set up approvals, without knowing the crate behind.
pub mod approving {
    pub use posse_policy::{RuleError, Rules, explain, is_tool, meet};
    pub use posse_roles::likely_tool;
}

pub use posse_tools::{Sandbox, ToolSettings};
