//! What home says to the workers of one agent: letters, commands and offers, and by which way.

use super::SeatTask;
use crate::bodies::{OfferNeeds, write};
use crate::courier::PostedOffer;
use crate::fleet::seat_files::Way;
use crate::message::{CLUSTER_VERSION, Down, LeaseHolder, RunAbout, RunDown, TaskOffer};

impl SeatTask {
    /// Hears the letters of its workers.
    pub(super) async fn answer(&self) {
        for courier in &self.fleet.parts.couriers {
            if let Err(error) = courier.answer_to(&self.home).await {
                tracing::warn!(%error, agent = %self.start.agent, "its workers cannot be heard");
            }
        }
    }

    /// How the holder is reached; whoever had it when this process began may not have been heard yet.
    pub(super) fn way(&self) -> Option<Way> {
        let holder = self.lease.current()?;
        Some(Way { courier: self.courier?, worker: holder.worker.clone() })
    }

    pub(super) async fn send_commands(&mut self) {
        let epoch = self.lease.epoch();
        while let Some(way) = self.way() {
            let Some(command) = self.commands.next() else { break };
            match self.files.carry(&way, &command).await {
                Ok(body) => self.commands.send(body),
                Err(why) => self.no_worker(format!("it cannot be told something: {why}")).await,
            }
        }
        for (series, number, body) in self.commands.tick(self.fleet.now_ms()) {
            self.tell_holder(RunDown::Command { epoch, series, number, body }).await;
        }
    }

    pub(super) async fn tell_holder(&self, said: RunDown) {
        if let Some(holder) = self.lease.holder().cloned() {
            self.tell(&holder, said).await;
        }
    }

    pub(super) async fn tell(&self, holder: &LeaseHolder, said: RunDown) {
        let wrote = self.letter.as_ref().filter(|(wrote, _)| wrote == holder).map(|(_, way)| way.courier);
        let claimed =
            self.claims.iter().find(|(claimed, _, _)| claimed == holder).map(|(_, courier, _)| *courier);
        if let Some(courier) = wrote.or(claimed).or(self.courier) {
            return self.tell_by(courier, holder, said).await;
        }
        // One of them leads to it.
        for courier in 0..self.fleet.parts.couriers.len() {
            self.tell_by(courier, holder, said.clone()).await;
        }
    }

    pub(super) async fn tell_by(&self, courier: usize, holder: &LeaseHolder, said: RunDown) {
        let about = RunAbout {
            home: self.home.clone(),
            session: self.start.session,
            agent: self.start.agent,
            run: holder.run.clone(),
        };
        let down = Down::run(holder.worker.clone(), about, said);
        let sealed = self.fleet.parts.seal.seal_down(&down);
        let (Ok(letter), Some(courier)) = (sealed, self.fleet.parts.couriers.get(courier)) else { return };
        if let Err(error) = courier.tell(&holder.worker, letter).await {
            tracing::debug!(%error, worker = %holder.worker, "a worker could not be told");
        }
    }

    pub(super) async fn offer(&mut self, epoch: u64, attempt: u64) {
        self.answer().await;
        let parts = &self.fleet.parts;
        let needs = OfferNeeds { model: self.start.model.clone(), repository: self.start.repository.clone() };
        let Some(needs) = write(&needs) else { return };
        let offer = TaskOffer {
            version: CLUSTER_VERSION,
            owner: parts.seal.owner().clone(),
            home: self.home.clone(),
            session: self.start.session,
            agent: self.start.agent,
            epoch,
            attempt,
            wants: self.wants.clone(),
            needs,
        };
        let Ok(bytes) = parts.seal.seal_offer(&offer) else { return };
        for courier in &parts.couriers {
            let (wants, bytes) = (self.wants.clone(), bytes.clone());
            let posted = PostedOffer { agent: self.start.agent, epoch, attempt, wants, bytes };
            if let Err(error) = courier.offer(posted).await {
                tracing::warn!(%error, agent = %self.start.agent, "an agent could not be offered");
            }
        }
    }
}
