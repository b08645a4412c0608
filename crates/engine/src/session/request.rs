//! What a session is started with.

use std::path::PathBuf;
use std::sync::Arc;

use posse_protocol::{Attachment, Budget, Grant, TraceParent, Words};
use posse_tools::{OutsideTools, ToolSettings};

use crate::agents::sub_agents::Delegation;
use crate::hooks::runner::HookSettings;
use crate::knowledge::skill_files::SkillFolder;
use crate::models::choice::Models;
use crate::project::ProjectContext;
use crate::remote::Workers;
use crate::rights::approvals::ApprovalSettings;
use crate::session::watcher::SessionWatcher;

/// What a session is started with.
pub struct SessionRequest {
    /// The folder to work in.
    pub workspace: PathBuf,
    /// What the person wants.
    pub prompt: String,
    /// What the person shows with it.
    pub attachments: Vec<Attachment>,
    /// Who does it, and whom sub-agents may use.
    pub models: Models,
    /// What it may do.
    pub grant: Grant,
    /// What it may spend; with `stay`, what each prompt may spend.
    pub budget: Budget,
    /// Whether the session stays open: the main agent rests after its answer and waits for the next prompt.
    pub stay: bool,
    /// How its tools behave.
    pub tools: ToolSettings,
    /// The project's notes for agents.
    pub project: Option<ProjectContext>,
    /// How it delegates; not at all where `None`.
    pub delegation: Option<Delegation>,
    /// What is asked, and whether somebody answers.
    pub approvals: ApprovalSettings,
    /// What outlives the session.
    pub knowledge: KnowledgeSettings,
    /// Its hooks; none where there are none.
    pub hooks: Option<HookSettings>,
    /// Tools from outside, if there are any.
    pub outside: Option<Arc<dyn OutsideTools>>,
    /// The workers that its sub-agents can run on; none where all run here.
    pub workers: Option<Arc<dyn Workers>>,
    /// The span of whoever asks for it, if they trace what they do.
    pub traceparent: Option<TraceParent>,
    /// Who is told of all that happens, if somebody is.
    pub watcher: Option<Arc<dyn SessionWatcher>>,
}

impl SessionRequest {
    /// What the main agent is told first.
    pub(crate) fn words(&self) -> Words {
        Words { text: self.prompt.clone(), attachments: self.attachments.clone() }
    }
}

/// What agents have of what outlives a session. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeSettings {
    /// Whether they read and make notes.
    pub memory: bool,
    /// Folders with skills; of two skills with one key the first counts.
    pub skills: Vec<SkillFolder>,
    /// Where skills of the person are written.
    pub own_skills: Option<PathBuf>,
    /// Whether the person trusts the repository. Where they do not, notes for all projects ask.
    pub trusted: bool,
}
