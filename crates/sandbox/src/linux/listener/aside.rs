//! Answers calls that may have to wait beside all others: connections, and pipes that nobody reads yet.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::notices::{Listener, Response};
use crate::limits;

/// How many are being waited for. Copies count together.
#[derive(Clone, Default)]
pub(crate) struct Aside(Arc<AtomicUsize>);

impl Aside {
    /// Has a thread answer a call.
    pub(crate) fn answer(
        &self,
        listener: &Listener,
        id: u64,
        answer: impl FnOnce() -> Response + Send + 'static,
    ) -> Response {
        if self.0.fetch_add(1, Ordering::Relaxed) >= limits::ASIDE_MAX {
            self.0.fetch_sub(1, Ordering::Relaxed);
            return Response::Error(libc::EAGAIN);
        }
        let (listener, waiting) = (listener.clone(), Arc::clone(&self.0));
        let thread = std::thread::Builder::new().stack_size(limits::ASIDE_STACK_BYTES).spawn(move || {
            listener.answer(id, answer());
            waiting.fetch_sub(1, Ordering::Relaxed);
        });
        if thread.is_ok() {
            return Response::Later;
        }
        self.0.fetch_sub(1, Ordering::Relaxed);
        Response::Error(libc::EAGAIN)
    }
}
