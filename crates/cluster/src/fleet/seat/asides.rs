//! What workers have left that had lost one agent: taken in one at a time of each epoch, and they are told once home has it.

use super::{Aside, DoneBeside, SeatTask};
use crate::bodies::{RunResult, read};
use crate::home_actions::HomeInput;
use crate::limits;
use crate::message::{LeaseHolder, RawBody, RunDown};

impl SeatTask {
    /// What a worker that had lost the agent has left: it is told that home has it once that is so.
    pub(super) async fn aside(&mut self, holder: LeaseHolder, epoch: u64, result: &RawBody) {
        let left: Result<RunResult, String> = read(result);
        let Ok(RunResult { end, bundle: Some(blob) }) = left else {
            // There is nothing to keep.
            return self.taken_aside(holder, epoch).await;
        };
        let (Some(tip), Some((_, way))) = (end.tip, self.letter.clone()) else {
            return self.taken_aside(holder, epoch).await;
        };
        if self.aside_under_way(epoch).is_some() {
            return;
        }
        let known = self.asides.iter().position(|aside| aside.epoch == epoch && aside.holder == holder);
        let place = known.unwrap_or(self.asides.len());
        if known.is_none() {
            if place as u64 >= limits::GRANTS_MAX {
                return;
            }
            self.asides.push(Aside { epoch, holder, way: way.clone(), is_under_way: false, tries: 0 });
        }
        let Some(aside) = self.asides.get_mut(place).filter(|aside| aside.tries < limits::ASIDE_TRIES_MAX)
        else {
            return;
        };
        (aside.is_under_way, aside.tries) = (true, aside.tries + 1);
        let files = self.files.clone();
        self.beside.spawn(async move {
            DoneBeside::Fetched { epoch, tip, blob, bundle: files.fetch(&way, blob).await }
        });
    }

    /// What was left is on a branch, or could not be taken. Then whoever left it keeps it.
    pub(super) async fn aside_done(&mut self, epoch: u64, is_kept: bool) {
        let place = self.asides.iter().position(|aside| aside.epoch == epoch && aside.is_under_way);
        let Some(place) = place else { return };
        if is_kept {
            let aside = self.asides.swap_remove(place);
            self.taken_aside(aside.holder, epoch).await;
        } else {
            self.asides[place].is_under_way = false;
        }
    }

    pub(super) fn aside_under_way(&mut self, epoch: u64) -> Option<&mut Aside> {
        self.asides.iter_mut().find(|aside| aside.epoch == epoch && aside.is_under_way)
    }

    pub(super) async fn taken_aside(&mut self, holder: LeaseHolder, epoch: u64) {
        let now_ms = self.fleet.now_ms();
        for action in self.lease.handle::<RawBody>(now_ms, HomeInput::TakenAside { holder, epoch }) {
            if let Some((holder, said)) = RunDown::of_lease(&action) {
                self.tell(&holder, said).await;
            }
        }
    }
}
