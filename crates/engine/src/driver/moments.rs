//! The moments of an agent's life that hooks hear of, except for its calls: it begins, gets a prompt, wants to end, is shortened,
//! rests, ends. Without hooks each of these does nothing.

use posse_agent::{Done, Input, Mail};
use posse_hooks::limits::KEPT_WORKING_MAX;
use posse_hooks::{CombinedAnswer, HookEvent, HookMoment, HookVerdict};
use posse_protocol::{EventKind, MailId, Purpose, Sender};

use super::Driver;
use super::waiting::{Waited, wait};
use crate::agents::start::AgentStart;
use crate::hooks::session_hooks::HooksHeard;
use crate::hooks::told::{self, HookWords};

/// How a session began, as hooks are told.
pub(super) fn source(start: &AgentStart) -> &'static str {
    match (start.interrupted.is_some(), start.forked.is_empty()) {
        (true, _) => "resume",
        (false, false) => "fork",
        (false, true) => "startup",
    }
}

/// The summary that an event tells of, if it says that the conversation was shortened.
pub(super) fn summary_of(kind: &EventKind) -> Option<String> {
    match kind {
        EventKind::Compacted { summary, .. } => Some(summary.clone()),
        _ => None,
    }
}

impl Driver {
    fn is_main(&self) -> bool {
        self.who.id == self.crew.main
    }

    fn hears(&self, event: HookEvent) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.hears(event))
    }

    /// Lets hooks hear of a moment, and puts on record what came of it. What is cancelled meanwhile says nothing.
    async fn hear(&mut self, moment: HookMoment<'_>) -> CombinedAnswer {
        let Some(hooks) = self.hooks.as_ref().filter(|hooks| hooks.hears(moment.event())) else {
            return CombinedAnswer::default();
        };
        let hearing = hooks.hear(&moment, &self.workplace.site, self.gate.approval);
        let HooksHeard { answer, ran, found } = match moment.event() {
            // They hear of the end whatever was cancelled, within a deadline of their own.
            HookEvent::SessionEnd => hearing.await,
            _ => match wait(hearing, &self.signals.cancel, &self.time, None).await {
                Waited::Done(heard) => heard,
                Waited::Cancelled | Waited::TimeUp | Waited::Interrupted => return CombinedAnswer::default(),
            },
        };
        ran.into_iter().for_each(|event| self.journal.note(event));
        self.crew.approvals.note_written(&found.effects, &found.written);
        if self.effects.add(&found.effects, self.crew.edits(self.who.id)) {
            self.crew.note_edit(self.who.id);
        }
        found.into_events(self.agent.spent().turns).for_each(|kind| self.journal.note(kind));
        answer
    }

    async fn write_transcript(&self, event: HookEvent) {
        if let Some(hooks) = &self.hooks {
            hooks.write_transcript(event, self.agent.conversation().messages(), &self.workplace.site).await;
        }
    }

    /// It is about to get its task. Gives back what hooks want the model to know; the error is what happens instead.
    pub(super) async fn before_task(&mut self, prompt: &str) -> Result<HookWords, Input> {
        if self.hooks.is_none() {
            return Ok(Vec::new());
        }
        if !self.is_main() {
            let (id, role) = (self.who.id.to_string(), self.who.role.name.clone());
            let answer = self.hear(HookMoment::SubagentStart { agent: &id, role: &role }).await;
            return Ok(answer.context);
        }
        let started = self.begin_session().await;
        if let Some(stop) = started.stop {
            return Err(self.stopped_by_hook(stop, Vec::new()));
        }
        let asked = self.submit(prompt).await.map_err(|reasons| self.prompt_refused(&reasons))?;
        Ok(started.context.into_iter().chain(asked).collect())
    }

    async fn begin_session(&mut self) -> CombinedAnswer {
        let (source, model) = (self.source, self.conversation.model.model.config().name.clone());
        self.hear(HookMoment::SessionStart { source, model: &model }).await
    }

    /// Its session goes on in another process.
    pub(super) async fn resumed(&mut self) {
        if self.is_main() && self.hears(HookEvent::SessionStart) {
            let answer = self.begin_session().await;
            if !answer.context.is_empty() {
                self.agent.hear(MailId::default(), Sender::Posse, told::said(&answer.context));
            }
        }
    }

    /// Shows hooks a prompt. Gives back what they add to it; the error is why it is not sent.
    async fn submit(&mut self, prompt: &str) -> Result<HookWords, HookWords> {
        if let Some(hooks) = &mut self.hooks {
            (hooks.prompts, hooks.kept) = (hooks.prompts + 1, 0);
        }
        self.write_transcript(HookEvent::UserPromptSubmit).await;
        let answer = self.hear(HookMoment::UserPromptSubmit { prompt }).await;
        let title =
            answer.title.as_deref().and_then(|title| posse_protocol::typed_title(title).ok()).flatten();
        if let Some(title) = title {
            self.journal.note(EventKind::SessionNamed { title, by: Sender::Posse });
        }
        match (answer.stop, answer.verdict) {
            (Some(stop), _) => Err(vec![stop]),
            (None, Some(HookVerdict::Deny)) => Err(answer.reasons),
            _ => Ok(answer.context),
        }
    }

    /// The first prompt is not sent to the model.
    fn prompt_refused(&mut self, reasons: &[(String, String)]) -> Input {
        self.notes.push(format!("a hook refused the prompt ({})", told::in_one_line(reasons)));
        Input::Stop { partial: String::new(), done: Vec::new() }
    }

    /// Shows hooks the next prompt. What they refuse is taken back, and the agent rests on.
    pub(super) async fn before_prompt(&mut self, mut prompt: Vec<Mail>) -> Vec<Mail> {
        let is_from_person = |mail: &&mut Mail| mail.from == Sender::Person;
        if self.hooks.is_none() || !prompt.iter_mut().any(|mail| is_from_person(&mail)) {
            return prompt;
        }
        let texts =
            prompt.iter().filter(|mail| mail.from == Sender::Person).map(|mail| mail.words.text.as_str());
        let text = texts.collect::<Vec<_>>().join("\n\n");
        match self.submit(&text).await {
            Ok(words) => {
                if let Some(last) = prompt.iter_mut().rfind(is_from_person) {
                    let text = std::mem::take(&mut last.words.text);
                    last.words.text = told::with_words(text, &words);
                }
                prompt
            }
            Err(_) => {
                for mail in &prompt {
                    self.journal.note(EventKind::MailWithdrawn { id: mail.id });
                }
                self.journal.send();
                Vec::new()
            }
        }
    }

    /// Its last words are here: hooks may want it to go on, a few times in a row.
    pub(super) async fn before_end(&mut self, input: &Input) {
        let event = if self.is_main() { HookEvent::Stop } else { HookEvent::SubagentStop };
        let Input::Replied(reply) = input else { return };
        if !self.hears(event) || !self.agent.would_end(reply) {
            return;
        }
        self.write_transcript(event).await;
        let kept = self.hooks.as_ref().map_or(0, |hooks| hooks.kept);
        let (id, role) = (self.who.id.to_string(), self.who.role.name.clone());
        let (is_kept, last_words) = (kept > 0, reply.text.as_str());
        let transcript = self.hooks.as_ref().map(|hooks| hooks.transcript().display().to_string());
        let transcript = transcript.unwrap_or_default();
        let moment = match event {
            HookEvent::Stop => HookMoment::Stop { is_kept, last_words, in_background: &[] },
            _ => {
                let (agent, role) = (id.as_str(), role.as_str());
                HookMoment::SubagentStop { is_kept, last_words, agent, role, transcript: &transcript }
            }
        };
        let answer = self.hear(moment).await;
        if answer.stop.is_some() || answer.verdict != Some(HookVerdict::Deny) {
            return;
        }
        if kept >= KEPT_WORKING_MAX {
            self.notes.push(format!(
                "a hook wanted it to go on for more than {KEPT_WORKING_MAX} times in a row and was not heeded"
            ));
            return;
        }
        self.hooks.iter_mut().for_each(|hooks| hooks.kept += 1);
        self.agent.hear(MailId::default(), Sender::Posse, told::kept(&answer.reasons));
    }

    /// A hook wants everything to stop.
    pub(super) fn stopped_by_hook(&mut self, (name, why): (String, String), done: Vec<Done>) -> Input {
        self.notes.push(format!("a hook stopped it ({})", told::in_one_line(&[(name, why)])));
        Input::Stop { partial: String::new(), done }
    }

    /// Whether hooks let the person's wish be done that the conversation be shortened.
    pub(super) async fn may_shorten(&mut self) -> bool {
        if !self.hears(HookEvent::PreCompact) && !self.hears(HookEvent::PostCompact) {
            return true;
        }
        self.write_transcript(HookEvent::PreCompact).await;
        let answer = self.hear(HookMoment::PreCompact { trigger: "manual" }).await;
        self.hooks.iter_mut().for_each(|hooks| hooks.shortens = Some("manual"));
        self.journal.send();
        answer.verdict != Some(HookVerdict::Deny) && answer.stop.is_none()
    }

    /// The conversation does not fit any more. Hooks hear of it; without shortening it could not go on.
    pub(super) async fn before_shortening(&mut self, purpose: Purpose) {
        let is_known = self.hooks.as_ref().is_none_or(|hooks| hooks.shortens.is_some());
        if purpose != Purpose::Summary || is_known {
            return;
        }
        self.write_transcript(HookEvent::PreCompact).await;
        self.hear(HookMoment::PreCompact { trigger: "auto" }).await;
        self.hooks.iter_mut().for_each(|hooks| hooks.shortens = Some("auto"));
    }

    /// The conversation was shortened, if there is a summary.
    pub(super) async fn has_shortened(&mut self, summary: Option<String>) {
        let Some(summary) = summary.filter(|_| self.hooks.is_some()) else { return };
        let trigger = self.hooks.as_mut().and_then(|hooks| hooks.shortens.take()).unwrap_or("auto");
        self.hear(HookMoment::PostCompact { trigger, summary: &summary }).await;
    }

    /// It waits for the next prompt.
    pub(super) async fn is_idle(&mut self) {
        if self.hears(HookEvent::Notification) {
            let message = "Posse waits for your next prompt.";
            self.hear(HookMoment::Notification { kind: "idle_prompt", message }).await;
        }
    }

    /// It is about to end.
    pub(super) async fn before_settling(&mut self) {
        if self.is_main() {
            self.write_transcript(HookEvent::SessionEnd).await;
            self.hear(HookMoment::SessionEnd { reason: "other" }).await;
        } else if self.hears(HookEvent::Notification) {
            let message = format!("{} has ended.", self.who.name);
            self.hear(HookMoment::Notification { kind: "agent_completed", message: &message }).await;
        }
        self.hooks.iter().for_each(|hooks| hooks.forget_transcript());
    }
}
