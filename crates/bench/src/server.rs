//! The model that both sides talk to: it runs on a thread of its own and notes when each request came.

use std::sync::{Arc, Mutex, mpsc};
use std::time::Instant;

use posse_testkit::{Captured, FakeModel, Turn};
use serde_json::json;

/// What a request came with.
pub(crate) struct Arrival {
    pub(crate) at: Instant,
    pub(crate) body: Vec<u8>,
}

/// A fake model that wants something done, again and again, and then is done.
pub(crate) struct Server {
    pub(crate) base_url: String,
    pub(crate) model: Arc<FakeModel>,
    arrivals: Arc<Mutex<Vec<Arrival>>>,
}

impl Server {
    /// A server that answers `turns` requests with a call that reads and every one after that with text.
    pub(crate) fn start(turns: usize, keep_bodies: bool) -> anyhow::Result<Self> {
        Self::by(turns, keep_bodies, |n| {
            // Different every time, so that it is no repetition; the text is of a usual length.
            let text = "Reading the next part of the file to see how it goes on from here. ".repeat(3);
            let from = n % 900 + 1;
            let lines = json!({"path": "notes.txt", "start_line": from, "end_line": from + 20});
            Turn::text(text).and_call("read_file", lines)
        })
    }

    /// The same with calls of any kind; they are counted from 1.
    pub(crate) fn by(
        turns: usize,
        keep_bodies: bool,
        call: impl Fn(usize) -> Turn + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let arrivals = Arc::new(Mutex::new(Vec::<Arrival>::new()));
        let noted = Arc::clone(&arrivals);
        let answer = move |request: &Captured| {
            let at = Instant::now();
            let Ok(mut arrivals) = noted.lock() else { return Turn::empty() };
            let body = if keep_bodies { request.body.to_vec() } else { Vec::new() };
            arrivals.push(Arrival { at, body });
            let n = arrivals.len();
            if n % (turns + 1) == 0 {
                return Turn::text("Done.");
            }
            call(n)
        };
        let (told, started) = mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let model = Arc::new(FakeModel::by_rule(answer).await);
                model.capture(false);
                let _ = told.send(model);
                std::future::pending::<()>().await;
            });
            anyhow::Ok(())
        });
        let model: Arc<FakeModel> = started.recv()?;
        Ok(Self { base_url: model.base_url(), model, arrivals })
    }

    /// Takes what has arrived since the last time.
    pub(crate) fn take(&self) -> Vec<Arrival> {
        self.arrivals.lock().map(|mut arrivals| std::mem::take(&mut *arrivals)).unwrap_or_default()
    }
}
