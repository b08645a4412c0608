//! How an agent begins, or goes on where it was interrupted.

use std::sync::Arc;

use posse_agent::{Input, Next};
use posse_protocol::{EventKind, Isolation, Message, Words};
use posse_workspace::WorkspaceError;

use super::{Driver, broken, cancelled};
use crate::agents::context;
use crate::agents::start::AgentStart;
use crate::changes::site::Site;
use crate::crew::Crew;
use crate::hooks::told::with_words;

impl Driver {
    /// What an agent begins with, or goes on with.
    pub(super) async fn first_input(&mut self) -> Input {
        let set_out = self.set_out().await;
        if self.workplace.resumed {
            // Those below may wait for it, whatever came of it.
            self.crew.set_site(self.who.id, Arc::clone(&self.workplace.site));
        }
        match (set_out, self.next.take()) {
            (Err(input), _) => input,
            (Ok(()), None | Some(Next::Begin)) => self.task().await,
            (Ok(()), Some(next)) => {
                self.resumed().await;
                self.go_on(next).await
            }
        }
    }

    /// Gets it to its place. A sub-agent's admission is on record before anything of it runs.
    async fn set_out(&mut self) -> Result<(), Input> {
        if self.who.id != self.crew.main || self.next.is_some() {
            self.journal.durable().await.map_err(|error| broken(&error))?;
        }
        let cancel = self.signals.cancel.clone();
        if self.workplace.resumed {
            let (crew, signals) = (Arc::clone(&self.crew), self.signals.clone());
            let site = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled(String::new(), Vec::new())),
                site = crew.parent_site(self.who.id, &signals) => site,
            };
            self.toolbox = self.toolbox.moved_to(&site.workspace);
            self.workplace.site = site;
        }
        if self.workplace.isolation == Isolation::Worktree {
            tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(cancelled(String::new(), Vec::new())),
                made = self.check_out() => made.map_err(|message| Input::Broken { message })?,
            }
        }
        Ok(())
    }

    async fn task(&mut self) -> Input {
        match self.task.told.take() {
            Some((from, Words { text, attachments })) => {
                let words = match self.before_task(&text).await {
                    Ok(words) => words,
                    Err(input) => return input,
                };
                let text = with_words(self.with_files(text).await, &words);
                Input::Told { from, text: Words { text, attachments } }
            }
            None => Input::Broken { message: "the agent was given no task".to_string() },
        }
    }

    /// Goes on where the record ends: nothing that is on record is done again.
    async fn go_on(&mut self, next: Next) -> Input {
        // A reply whose calls are open is not part of the request that it answers.
        let open = matches!(next, Next::CallTools { .. });
        let conversation = self.agent.conversation();
        let answers = |message: &Arc<Message>| matches!(**message, Message::Assistant { .. });
        let reply = conversation.messages().last().filter(|last| open && answers(last)).is_some();
        let sent = conversation.messages().len() - usize::from(reply);
        let known = self.conversation.messages().len().min(sent);
        self.conversation.extend(&conversation.messages()[known..sent]);
        match next {
            Next::TakeIn(input) => *input,
            Next::CallModel { turn, purpose } => self.call_model(turn, purpose).await,
            Next::CallTools { calls, begun, done } => self.call_tools(&calls, begun, done).await,
            Next::Begin => self.task().await,
            Next::Rest => self.rest_again().await,
            // It says itself how it ends.
            Next::Settled(_) => Input::GoOn,
        }
    }

    /// Gives it a checkout of its own. Where there is no repository it works in its parent's files, and everybody is told.
    async fn check_out(&mut self) -> Result<(), String> {
        let made = self.crew.checkouts.make(
            &self.workplace.site.workspace,
            &self.who.name,
            self.workplace.branch.as_ref(),
        );
        match made.await {
            Ok((checkout, workspace, left)) => {
                self.notes.extend(left);
                self.toolbox = self.toolbox.moved_to(&workspace);
                self.workplace.site = Arc::new(Site::own(workspace, &self.crew.checkouts.kept()));
                self.crew.set_site(self.who.id, Arc::clone(&self.workplace.site));
                let (branch, base) = (checkout.branch.clone(), checkout.base.clone());
                self.journal.note(EventKind::CheckedOut { branch, base });
                self.workplace.checkout = Some(checkout);
            }
            Err(error @ WorkspaceError::NotARepository) => {
                let note = format!("No checkout of its own: {error}. It works in the shared folder.");
                if let Some((_, words)) = &mut self.task.told {
                    words.text.push_str(&format!("\n\n({note} That is {}.)", self.workplace.site.folder));
                }
                self.notes.push(note);
            }
            Err(error) => return Err(format!("no checkout of its own could be made: {error}")),
        }
        Ok(())
    }

    /// The words with the contents of the files that go with them.
    async fn with_files(&mut self, text: String) -> String {
        let paths = std::mem::take(&mut self.task.context_files);
        if paths.is_empty() {
            return text;
        }
        let workspace = self.workplace.site.workspace.clone();
        let read = tokio::task::spawn_blocking(move || context::files(&workspace, &paths));
        format!("{text}\n\n{}", read.await.unwrap_or_default())
    }
}

/// The event that says that an agent begins, and with what.
pub(crate) fn begun(crew: &Crew, start: &AgentStart) -> EventKind {
    if let Some(past) = &start.interrupted {
        let elapsed_ms = u64::try_from(past.worked.as_millis()).unwrap_or(u64::MAX);
        let config = start.conversation.model.model.config();
        return EventKind::AgentResumed {
            model: config.name.clone(),
            model_id: config.model.clone(),
            elapsed_ms,
            budget: start.budget,
            grant: start.grant.clone(),
        };
    }
    let config = start.conversation.model.model.config();
    let apart = start.isolation == Isolation::Worktree && start.on.is_none();
    EventKind::AgentStarted {
        role: start.who.role.name.clone(),
        depth: start.who.depth,
        model: config.name.clone(),
        model_id: config.model.clone(),
        budget: start.budget,
        grant: start.grant.clone(),
        system: start.conversation.system.clone(),
        checkout: apart
            .then(|| crew.checkouts.folder(crew.site(start.who.id).workspace.root(), &start.who.name)),
    }
}
