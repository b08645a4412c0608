//! Workers that gave an agent back: each rests for a while before it gets it again, so that one which cannot run it does not keep it
//! from the others. Pure: the time is an argument.

use std::collections::HashMap;

use posse_protocol::visible::one_line;

use crate::limits;
use crate::names::WorkerName;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct GivenBack {
    /// How often each did so, and until when it rests.
    workers: HashMap<WorkerName, (u32, u64)>,
    /// When the rest of the last one is over.
    rested_at_ms: Option<u64>,
    /// How often that was in a row.
    in_a_row: u32,
    /// Who did it last, and why.
    last: Option<(WorkerName, String)>,
}

impl GivenBack {
    /// A worker gave it back.
    pub(super) fn note(&mut self, worker: &WorkerName, why: &str, now_ms: u64) {
        let (times, until_ms) = self.workers.entry(worker.clone()).or_default();
        let pause_ms =
            limits::GIVEN_BACK_MS_MIN.saturating_mul(1_u64.checked_shl(*times).unwrap_or(u64::MAX));
        *until_ms = now_ms.saturating_add(pause_ms.min(limits::GIVEN_BACK_MS_MAX));
        *times = times.saturating_add(1);
        self.rested_at_ms = Some(*until_ms);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.last = Some((worker.clone(), one_line(why, limits::WHY_CHARS_MAX)));
    }

    /// It does something on a worker, so it can be run.
    pub(super) fn works(&mut self) {
        self.in_a_row = 0;
    }

    /// Whether a worker does not get it now.
    pub(super) fn rests(&self, worker: &WorkerName, now_ms: u64) -> bool {
        self.workers.get(worker).is_some_and(|(_, until_ms)| now_ms < *until_ms)
    }

    /// When it is to be offered again: a worker that rested may have it now.
    pub(super) fn offer_at_ms(&self) -> Option<u64> {
        self.rested_at_ms
    }

    /// Whether that time has come. Once.
    pub(super) fn is_offered_again(&mut self, now_ms: u64) -> bool {
        self.rested_at_ms.take_if(|at| now_ms >= *at).is_some()
    }

    /// Whether nobody can run it.
    pub(super) fn is_too_often(&self) -> bool {
        self.in_a_row >= limits::GIVEN_BACK_MAX
    }

    /// What to tell whoever asks why no worker runs it.
    pub(super) fn reason(&self, lost: u32) -> String {
        let lost = match lost {
            0 => String::new(),
            1 => "1 worker was lost while it had it".to_owned(),
            lost => format!("{lost} workers were lost while they had it"),
        };
        match &self.last {
            None => lost,
            Some((worker, why)) => {
                let comma = if lost.is_empty() { "" } else { ", and " };
                let why = if why.is_empty() { "without a reason" } else { why };
                format!("{lost}{comma}{worker} gave it back: {why}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_rests_longer_each_time_and_the_last_reason_is_told() {
        let (mut given, one, two) =
            (GivenBack::default(), "one".parse::<WorkerName>(), "two".parse::<WorkerName>());
        let (Ok(one), Ok(two)) = (one, two) else { panic!("names") };
        let rests = [(0, 250), (10_000, 500), (20_000, 1_000), (100_000, 2_000)];
        for (at_ms, pause_ms) in rests {
            given.note(&one, "no git\nhere\u{202e}", at_ms);
            assert!(given.rests(&one, at_ms + pause_ms - 1) && !given.rests(&one, at_ms + pause_ms));
            assert!(!given.rests(&two, at_ms), "others are free to take it");
            assert!(
                !given.is_offered_again(at_ms + pause_ms - 1) && given.is_offered_again(at_ms + pause_ms)
            );
            assert!(!given.is_offered_again(at_ms + pause_ms), "once");
        }
        let shown = one_line("no git\nhere\u{202e}", 100);
        assert!(!shown.contains(['\n', '\u{202e}']));
        assert_eq!(given.reason(0), format!("one gave it back: {shown}"));
        let both = format!("2 workers were lost while they had it, and one gave it back: {shown}");
        assert_eq!(given.reason(2), both);
        (0..100).for_each(|_| given.note(&one, "", 0));
        assert!(
            given.rests(&one, limits::GIVEN_BACK_MS_MAX - 1) && !given.rests(&one, limits::GIVEN_BACK_MS_MAX)
        );
        assert!(given.is_too_often());
        given.works();
        assert!(!given.is_too_often());
        assert_eq!(GivenBack::default().reason(1), "1 worker was lost while it had it");
    }
}
