//! Runs agents: commands in, events out.
//!
//! The only crate that brings everything together: it makes the model calls that the `agent` machine asks for, runs the
//! tools it wants, appends every step to the `store` and publishes it. What is public here is the engine's own; of the
//! store and the tree it exports what interfaces need, since they see neither. It must not know flags, the
//! environment, the terminal, or any wire format.
#![forbid(unsafe_code)]

mod agents;
mod changes;
mod crew;
mod delegation;
mod driver;
mod elsewhere;
mod engine;
mod error;
mod hooks;
mod knowledge;
pub mod limits;
pub mod models;
mod project;
pub mod record;
pub mod remote;
mod rights;
pub mod roles;
mod session;

pub use agents::sub_agents::{Delegation, Limits, OverCap, RecordDetail, SubAgents};
pub use crew::mail::Delivery;
pub use engine::Engine;
pub use engine::commands::NextTurnSettings;
pub use engine::context_use::{ContextKind, ContextPart, ContextUse};
pub use engine::queries::{ChangedText, EventDiff, SessionFilter, SessionPage, WaitingQuestion};
pub use engine::review::{ReviewDiff, ReviewHunk};
pub use engine::undo_request::{
    ChangePreview, ChangeRequest, FileHunks, MergeOutcome, UndoExtent, UndoOutcome, UndoRequest,
};
pub use error::EngineError;
pub use hooks::runner::{HookPlace, HookRun, HookRunner, HookSettings};
pub use project::{ProjectContext, project_context, project_folders, project_of};
pub use record::bus::Updates;
pub use rights::approvals::{AnswerOutcome, ApprovalSettings};
pub use session::{
    HookTrial, HostRequest, HostedAgent, HostedUpdate, KnowledgeSettings, MadeUpMoment, Session,
    SessionRequest, SessionWatcher, TriedHook, TypedCommand, TypedOutcome, run_typed,
};

/// How servers with tools are, for whoever shows it.
pub mod outside {
    pub use posse_tools::{OutsideLine, OutsidePrompt, OutsideServer, OutsideState};
}

/// Skills as files, and drafts of skills that wait for a person.
pub mod skills {
    pub use crate::knowledge::skill_drafts::{SkillDraft, SkillDrafts};
    pub use crate::knowledge::skill_files::{FoundSkill, SkillFolder, find_skills, project_skill_folders};
}
