//! What a worker tells of its agent goes on record here, and only then counts. It must not decide how the agent goes on.

use posse_protocol::{AgentId, EventKind};

use super::{Course, EarlyRequest, RemoteDriver, ends};
use crate::limits::{RECORDED_AT_ONCE_BYTES_MAX, RECORDED_AT_ONCE_MAX};
use crate::remote::{HostedItem, SeatCommand};

impl RemoteDriver {
    /// Puts on record what a worker tells, then says so.
    pub(super) async fn record(
        &mut self,
        items: Vec<HostedItem>,
        contents: Vec<(String, Vec<u8>)>,
    ) -> Course {
        self.parked = None;
        let mut untold = Vec::new();
        let recorded = match self.kept.put(contents).await {
            Ok(()) => self.record_items(items, &mut untold).await,
            Err(why) => Err(why),
        };
        if let Err(why) = recorded {
            return ends(why);
        }
        self.mirror.tell_spent(&self.crew, self.who.id, self.requests.spent(), &self.budget);
        let _ = self.seat.commands.send(SeatCommand::Recorded(self.mirror.count));
        self.tell_again(untold);
        let count = self.mirror.count;
        let (ready, early): (Vec<EarlyRequest>, _) =
            std::mem::take(&mut self.early).into_iter().partition(|(_, after, _)| *after <= count);
        self.early = early;
        for (id, _, request) in ready {
            if let end @ Course::End(_) = self.asked(id, request) {
                return end;
            }
        }
        Course::On
    }

    /// All of it is on record when this returns. However much comes at once, it leaves room in the queue of the record, which it shares
    /// with all other agents.
    async fn record_items(
        &mut self,
        items: Vec<HostedItem>,
        untold: &mut Vec<AgentId>,
    ) -> Result<(), String> {
        let mut bytes = 0;
        for (number, item) in items.into_iter().enumerate() {
            let item = self.as_home_knows(item)?;
            let (HostedItem { kind, kept }, of_item) = self.mirror.take_in(&self.who.name, item)?;
            if !kept.is_empty() {
                self.kept.count(kept.len())?;
                self.has_kept = true;
                self.journal.note(EventKind::WorkKept { files: kept });
            }
            self.heed(&kind, untold);
            self.journal.note(kind);
            bytes += of_item;
            if (number + 1) % RECORDED_AT_ONCE_MAX == 0 || bytes > RECORDED_AT_ONCE_BYTES_MAX {
                bytes = 0;
                self.on_record().await?;
            }
        }
        self.on_record().await
    }

    async fn on_record(&mut self) -> Result<(), String> {
        self.journal.durable().await.map_err(|error| format!("the record cannot be written: {error}"))
    }

    /// What an event of the agent means here.
    fn heed(&mut self, kind: &EventKind, untold: &mut Vec<AgentId>) {
        match kind {
            EventKind::Told { mail, .. } => {
                self.mail.retain(|(sent, _)| sent.id != *mail || mail.is_unknown())
            }
            EventKind::ReportsDelivered { agents } => {
                untold.retain(|id| !agents.contains(id));
                self.reports.retain(|(_, ids)| !ids.iter().all(|id| agents.contains(id)));
            }
            EventKind::ToolFinished { call, .. } => {
                untold.extend(self.requests.finished(call));
                self.questions.close(call);
                self.moves.retain(|(moving, _)| moving != call);
            }
            EventKind::BackgroundStarted { name, .. } if !self.moves.is_empty() => {
                let (_, moved) = self.moves.remove(0);
                let _ = moved.send(name.clone());
            }
            EventKind::PersonNeeded { question } => {
                self.questions.open(&self.crew, self.who.id, question.clone(), self.answer.clone());
            }
            EventKind::PersonAnswered { call, .. } => self.questions.close(call),
            _ => {}
        }
    }

    /// Reports that an answer held which the agent did not take in are told once more.
    fn tell_again(&mut self, untold: Vec<AgentId>) {
        let finished: Vec<_> = untold.into_iter().filter_map(|id| self.crew.finished(id)).collect();
        self.word_reports(&finished);
    }
}
