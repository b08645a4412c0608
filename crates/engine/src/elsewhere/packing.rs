//! An agent is put together for a worker: its files as a bundle, its task as data, and what another worker had told of it.

use std::path::Path;

use posse_protocol::{EventKind, KeptFile, Words};

use super::{RemoteDriver, late_work};
use crate::changes::travelling::SentWork;
use crate::record::reading::read_events_of;
use crate::remote::{
    HostedModel, HostedTask, HostedWork, PlacedTask, SeatCommand, WorkerRun, kept_of, travels,
};

impl RemoteDriver {
    /// Gives the agent to a worker: that is on record when this returns.
    pub(super) async fn place(
        &mut self,
        worker: &WorkerRun,
        epoch: u64,
        has: &[String],
    ) -> Result<PlacedTask, String> {
        let bundle = self.kept.beside(&format!("{epoch}.bundle")).map_err(|error| error.to_string())?;
        let (sent, bytes) = self.send_work(has, &bundle).await?;
        let (so_far, kept) = self.so_far().await?;
        let contents = self.kept.get(&kept).await?.into_iter().collect();
        let task = self.hosted_task(&sent, so_far, kept);
        let WorkerRun { worker, run, lease_ms } = worker.clone();
        self.journal.note(EventKind::AgentPlaced { worker, epoch, run, lease_ms });
        self.journal.durable().await.map_err(|error| format!("the record cannot be written: {error}"))?;
        Ok(PlacedTask { epoch, task, bundle: (bytes > 0).then_some(bundle), contents })
    }

    /// What workers have of it: as it was sent, or as it is on record if another process had sent it.
    pub(super) fn sent_work(&self) -> Option<SentWork> {
        let on_record = || self.branch.as_ref().map(SentWork::on_record);
        self.sent.clone().or_else(on_record)
    }

    /// Its files as they are the first time that a worker wants it, in a bundle for one that has these commits. Says how long
    /// that is.
    async fn send_work(&mut self, has: &[String], bundle: &Path) -> Result<(SentWork, u64), String> {
        let checkouts = &self.crew.checkouts;
        let cannot = |error| format!("its files cannot be sent: {error}");
        if let Some(sent) = &self.sent {
            let again = checkouts.send_again(&self.crew.site.workspace, sent, (has, bundle)).await;
            return Ok((sent.clone(), again.map_err(cannot)?));
        }
        let workspace = self.crew.site(self.who.id).workspace.clone();
        let sent = checkouts.send(&workspace, &self.who.name, self.branch.as_ref(), (has, bundle)).await;
        let (sent, bytes) = sent.map_err(cannot)?;
        if self.branch.is_none() {
            let (branch, base) = (sent.branch.clone(), sent.base.clone());
            self.journal.note(EventKind::CheckedOut { branch, base });
        }
        self.sent = Some(sent.clone());
        Ok((sent, bytes))
    }

    /// What workers have told of it so far.
    pub(super) async fn so_far(&self) -> Result<(Vec<EventKind>, Vec<KeptFile>), String> {
        if self.mirror.count == 0 {
            return Ok((Vec::new(), Vec::new()));
        }
        let (store, session, agent) = (self.crew.store.clone(), self.crew.session, self.who.id);
        let read = tokio::task::spawn_blocking(move || read_events_of(&store, session, agent)).await;
        let events = read.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
        let own: Vec<EventKind> = events.into_iter().map(|event| event.kind).collect();
        let kept = kept_of(own.iter());
        Ok((own.into_iter().filter(travels).collect(), kept))
    }

    fn hosted_task(&self, sent: &SentWork, so_far: Vec<EventKind>, kept: Vec<KeptFile>) -> HostedTask {
        let delegation = self.crew.delegation.as_ref();
        let model = &self.mirror.conversation.model;
        let at_home = self.workers.models_at_home(&self.on);
        let mut words = self.task.told.as_ref().map(|(_, words)| words.clone()).unwrap_or_default();
        if !sent.not_sent.is_empty() {
            let missing = sent.not_sent.join(" ");
            words = Words {
                text: format!("{}\n\n(You work on another machine. {missing})", words.text),
                ..words
            };
        }
        HostedTask {
            session: self.crew.session,
            agent: self.who.id,
            name: self.who.name.clone(),
            title: self.who.title.clone(),
            depth: self.who.depth,
            role: self.who.role.clone(),
            grant: self.grant.clone(),
            budget: self.budget,
            model: HostedModel::of(model.model.config(), model.prices, at_home),
            max_output_tokens: self.mirror.conversation.max_output_tokens,
            system: self.mirror.conversation.system.clone(),
            tools: self.mirror.tools().to_vec(),
            known: self.known.clone(),
            words,
            context_files: self.task.context_files.clone(),
            deliverables: self.task.deliverables.clone(),
            rules: self.crew.approvals.rules(),
            person: self.crew.approvals.has_person(),
            surface: delegation.map(|delegation| delegation.surface.to_string()).unwrap_or_default(),
            team: delegation.is_some_and(|delegation| delegation.team),
            sum_up_over: self.crew.sum_up_over(self.who.depth),
            work: HostedWork {
                base: sent.base.clone(),
                start: sent.start.clone(),
                inside: sent.inside.clone(),
                sha256: sent.sha256,
                repository: sent.repository.clone(),
                kept,
            },
            so_far,
            worked_ms: u64::try_from(self.signals.clock.elapsed().as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Keeps what a worker had done that had lost the agent to another: on a branch beside its own.
    pub(super) async fn take_aside(&mut self, epoch: u64, tip: &str, bundle: &Path) {
        let Some(sent) = self.sent_work() else { return };
        let taken =
            late_work::take(&self.crew.checkouts, &self.crew.site.workspace, &sent, epoch, (tip, bundle));
        let (note, is_kept) = taken.await;
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        let _ = self.seat.commands.send(SeatCommand::AsideDone { epoch, is_kept });
    }
}
