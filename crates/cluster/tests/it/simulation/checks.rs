//! What must be true of a world, watched from outside both sides.

use std::collections::BTreeMap;

use super::worker::RunName;

/// One item: who made it and a number that no other item has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Work {
    pub(super) nonce: u64,
}

/// What one agent's disk at home holds. It survives crashes of home.
#[derive(Clone, Debug, Default)]
pub(super) struct Disk {
    pub(super) epoch: u64,
    pub(super) holder: Option<RunName>,
    pub(super) lease_ms: u64,
    /// The items in order, with the epoch that they were accepted in.
    pub(super) items: Vec<(u64, Work)>,
    pub(super) settled: Vec<Settlement>,
    pub(super) aside: Vec<(RunName, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Settlement {
    Result(u64),
    Lost,
}

/// What each epoch's run did, whether or not home heard of it.
#[derive(Debug, Default)]
pub(super) struct Deeds {
    /// By epoch: the run, how many items it found on record, and its own.
    runs: BTreeMap<u64, (RunName, u64, Vec<Work>)>,
}

impl Deeds {
    pub(super) fn begin(&mut self, epoch: u64, run: RunName, recorded: u64) -> Result<(), String> {
        match self.runs.insert(epoch, (run, recorded, Vec::new())) {
            None => Ok(()),
            Some((other, ..)) => Err(format!("runs {other} and {run} both have epoch {epoch}")),
        }
    }

    pub(super) fn push(&mut self, epoch: u64, work: Work) {
        if let Some((_, _, items)) = self.runs.get_mut(&epoch) {
            items.push(work);
        }
    }

    /// The record is what the accepted epochs sent: each a beginning of its own items, one after the other.
    pub(super) fn must_match(&self, disk: &Disk) -> Result<(), String> {
        let mut before = 0;
        for (place, (epoch, work)) in disk.items.iter().enumerate() {
            let Some((_, base, items)) = self.runs.get(epoch) else {
                return Err(format!("item {place} is not what its epoch sent: no run had epoch {epoch}"));
            };
            if *epoch < before {
                return Err(format!("item {place} of epoch {epoch} follows one of {before}"));
            }
            let own = (place as u64).checked_sub(*base).and_then(|at| items.get(at as usize));
            if own != Some(work) {
                return Err(format!("item {place} is not what its epoch sent: {work:?}, not {own:?}"));
            }
            before = *epoch;
        }
        Ok(())
    }
}
