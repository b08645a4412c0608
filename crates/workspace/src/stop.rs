//! A flag that ends long file work: threads cannot be dropped, so they are asked.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Shared between who works and who may call it off. Clones are the same flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the work to end.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to end.
    pub fn stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
