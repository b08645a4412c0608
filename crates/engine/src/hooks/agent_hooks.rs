//! The hooks of a session as one agent meets them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use posse_hooks::{HookContext, HookEvent, HookMoment};
use posse_protocol::{AgentId, Approval, Grant, Message};

use crate::changes::site::Site;
use crate::hooks::runner::HookPlace;
use crate::hooks::session_hooks::{HookScene, HooksHeard, SessionHooks};
use crate::hooks::transcripts;
use crate::record::journal::Journal;

/// Lives as long as its agent.
pub(crate) struct AgentHooks {
    hooks: Arc<SessionHooks>,
    id: String,
    role: String,
    is_main: bool,
    grant: Grant,
    /// Skills that it has loaded: some bring hooks along.
    skills: Mutex<Vec<String>>,
    spare: Journal,
    /// How many prompts it has had.
    pub(crate) prompts: u32,
    /// How often in a row hooks have kept it working.
    pub(crate) kept: u32,
    /// Why its conversation is being shortened.
    pub(crate) shortens: Option<&'static str>,
}

impl AgentHooks {
    /// None where the session has no hooks.
    pub(crate) fn new(
        hooks: Option<&Arc<SessionHooks>>,
        (id, role, is_main): (AgentId, &str, bool),
        grant: &Grant,
        journal: &Journal,
    ) -> Option<Self> {
        Some(Self {
            hooks: Arc::clone(hooks?),
            id: id.to_string(),
            role: role.to_owned(),
            is_main,
            grant: grant.clone(),
            skills: Mutex::default(),
            spare: journal.beside(),
            prompts: 0,
            kept: 0,
            shortens: None,
        })
    }

    /// Whether anything could run at such a moment.
    pub(crate) fn hears(&self, event: HookEvent) -> bool {
        self.hooks.hears(event)
    }

    /// It has loaded a skill.
    pub(crate) fn loaded(&self, skill: &str) {
        let mut skills = self.skills.lock().unwrap_or_else(PoisonError::into_inner);
        if !skills.iter().any(|known| known == skill) {
            skills.push(skill.to_owned());
        }
    }

    /// Where its conversation is written for hooks.
    pub(crate) fn transcript(&self) -> PathBuf {
        let agent = (!self.is_main).then_some(self.id.as_str());
        transcripts::file(&self.hooks.folder, &self.hooks.session, agent)
    }

    /// Writes its conversation down, if a hook of this event could read it.
    pub(crate) async fn write_transcript(&self, event: HookEvent, messages: &[Arc<Message>], site: &Site) {
        if !self.hears(event) {
            return;
        }
        let (file, session, folder) = (self.transcript(), self.hooks.session.clone(), site.folder.clone());
        let messages = messages.to_vec();
        let written =
            tokio::task::spawn_blocking(move || transcripts::write(&file, &messages, &session, &folder))
                .await;
        if let Ok(Err(error)) = written {
            tracing::warn!(%error, "a transcript for hooks could not be written");
        }
    }

    /// Removes what was written for hooks.
    pub(crate) fn forget_transcript(&self) {
        transcripts::remove(&self.transcript());
    }

    /// Lets hooks hear of a moment.
    pub(crate) async fn hear(
        &self,
        moment: &HookMoment<'_>,
        site: &Arc<Site>,
        approval: Approval,
    ) -> HooksHeard {
        if !self.hears(moment.event()) {
            return HooksHeard::default();
        }
        let transcript = self.transcript();
        let context = HookContext {
            session_id: self.hooks.session.clone(),
            prompt_id: format!("{}-{}", self.id, self.prompts.max(1)),
            transcript_path: transcript.display().to_string(),
            cwd: site.workspace.root().display().to_string(),
            approval: Some(approval),
            effort: None,
            sub_agent: (!self.is_main).then(|| (self.id.clone(), self.role.clone())),
        };
        let place = HookPlace {
            workspace: site.workspace.clone(),
            grant: Grant { approval, ..self.grant.clone() },
            transcript: Some(transcript),
        };
        let skills = self.skills.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let scene = HookScene { site, place, context, role: &self.role, skills, spare: &self.spare };
        self.hooks.hear(moment, scene).await
    }
}
