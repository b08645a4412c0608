//! How long leases last, on both sides. Durations only: no clock of one machine is ever compared with another's.

use crate::limits;

/// The durations of a lease. Home and its workers must use the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseTimes {
    /// How long a worker may act after it *sent* a renewal that home answered.
    pub lease_ms: u64,
    /// How often a worker renews.
    pub renew_ms: u64,
    /// What home waits beyond the lease, counted from when the renewal *arrived*.
    pub margin_ms: u64,
    /// How long a worker waits for an answer before it sends again.
    pub answer_ms: u64,
    /// How long a worker tries to claim.
    pub claim_ms_max: u64,
}

impl Default for LeaseTimes {
    fn default() -> Self {
        Self {
            lease_ms: limits::LEASE_MS,
            renew_ms: limits::RENEW_MS,
            margin_ms: limits::LEASE_MARGIN_MS,
            answer_ms: limits::ANSWER_MS,
            claim_ms_max: limits::CLAIM_MS_MAX,
        }
    }
}

impl LeaseTimes {
    /// The usual proportions for a lease of another length.
    pub fn for_lease(lease_ms: u64) -> Self {
        Self {
            lease_ms,
            renew_ms: (lease_ms / 3).max(1),
            margin_ms: (lease_ms / 6).max(1),
            answer_ms: (lease_ms / 10).max(1),
            claim_ms_max: lease_ms.saturating_mul(2),
        }
    }

    /// Whether two clocks that differ by one per cent each keep the promise of the lease, and a renewal can be lost.
    pub fn are_safe(&self) -> bool {
        self.margin_ms.saturating_mul(limits::MARGIN_SHARE_MIN) >= self.lease_ms
            && self.renew_ms.saturating_mul(2) <= self.lease_ms
    }

    /// How long home waits for a holder that is silent and has a lease of this length. When it was granted, another one may have
    /// been configured.
    pub fn patience_ms(&self, lease_ms: u64) -> u64 {
        let lease_ms = lease_ms.min(limits::LEASE_MS_MAX);
        lease_ms.saturating_add(self.margin_ms.max(lease_ms / limits::MARGIN_SHARE_MIN))
    }
}
