//! Folders with work that could not be committed: a few stay as they are, for a person to look at, for a while.

use std::{
    fs,
    time::{Duration, SystemTime},
};

use super::{DepotCheckout, DepotSlots, SlotUse, number_of};
use crate::{
    WorkspaceError,
    git::GitError,
    limits,
    worktree::record::{CheckoutRecord, beside},
};

/// Whether that was so long ago.
pub(in super::super) fn is_past(at: SystemTime, by: Duration) -> bool {
    at.elapsed().is_ok_and(|past| past > by)
}

impl DepotSlots {
    /// Keeps a folder as it is, with its record and its branch.
    pub(in super::super) fn leave(&self, checkout: &DepotCheckout) -> Result<(), WorkspaceError> {
        let number = number_of(&checkout.top).ok_or(GitError::DamagedRecord)?;
        let mut uses = self.lock();
        if uses.values().filter(|used| **used == SlotUse::Left).count() >= limits::DEPOT_LEFT_MAX {
            return Err(WorkspaceError::Busy { what: "every folder for work that is left".to_owned() });
        }
        uses.insert(number, SlotUse::Left);
        Ok(())
    }

    /// Removes folders that were left so long ago.
    pub(in super::super) async fn forget_left(&self, kept_for: Duration) -> Result<(), WorkspaceError> {
        let left: Vec<usize> = {
            let uses = self.lock();
            uses.iter().filter(|(_, used)| **used == SlotUse::Left).map(|(number, _)| *number).collect()
        };
        for number in left {
            let top = self.into.join(number.to_string());
            let written = fs::metadata(beside(&top, "record")?).and_then(|record| record.modified());
            if written.is_ok_and(|written| is_past(written, kept_for)) {
                let branch = CheckoutRecord::read(&top).ok().map(|record| record.branch);
                self.remove(&top, branch.as_deref()).await?;
                self.lock().remove(&number);
            }
        }
        Ok(())
    }
}
