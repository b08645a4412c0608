//! How long a tab's main thread was held up, by its own account and by the browser's trace.

use serde_json::{Value, json};

use super::page::Page;

/// A task of 50 ms or more, as the page's own `PerformanceObserver` saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct LongTask {
    /// Since the document began.
    pub start_ms: f64,
    /// How long it took.
    pub duration_ms: f64,
}

/// A task of the main thread, as the browser's trace has it.
#[derive(Clone, Debug, PartialEq)]
pub struct MainThreadTask {
    /// Since the trace began.
    pub start_ms: f64,
    /// By the clock; on a busy machine the thread may have waited for a processor.
    pub duration_ms: f64,
    /// What of it the thread computed; none if the browser did not say.
    pub cpu_ms: Option<f64>,
}

impl Page {
    /// The tasks of 50 ms or more of the present document since it was first drawn. Of those before, the browser misses some:
    /// `main_thread_tasks` has them all.
    #[track_caller]
    pub fn long_tasks(&self) -> Vec<LongTask> {
        let tasks: Vec<(f64, f64)> = self.eval("__longTasks()");
        tasks.into_iter().map(|(start_ms, duration_ms)| LongTask { start_ms, duration_ms }).collect()
    }

    /// The tasks of the main thread while `during` runs, however short, in order. Only one tab of a browser can do this at a time.
    ///
    /// # Panics
    /// If the browser gives no trace.
    #[track_caller]
    pub fn main_thread_tasks(&self, during: impl FnOnce()) -> Vec<MainThreadTask> {
        self.seen.with(|said| (said.trace_complete, said.trace) = (false, Vec::new()));
        let categories = ["disabled-by-default-devtools.timeline", "__metadata"];
        let wish = json!({
            "transferMode": "ReportEvents",
            "traceConfig": {"recordMode": "recordUntilFull", "includedCategories": categories},
        });
        self.call("Tracing.start", wish);
        during();
        // What runs when the trace ends is not in it.
        self.eval::<()>("new Promise((done) => setTimeout(done))");
        self.call("Tracing.end", json!({}));
        let done =
            self.seen.wait("the trace", |said| said.trace_complete.then(|| std::mem::take(&mut said.trace)));
        let events = done.unwrap_or_else(|problem| panic!("{problem}"));
        tasks(&events, self.frame())
    }
}

fn tasks(events: &[Value], frame: &str) -> Vec<MainThreadTask> {
    let began = events.iter().find(|event| event["name"] == "TracingStartedInBrowser").expect("a beginning");
    let frames = began["args"]["data"]["frames"].as_array().expect("frames");
    let own = frames.iter().find(|one| one["frame"] == frame).expect("this tab's frame");
    let process = &own["processId"];
    let is_main = |event: &&Value| {
        event["name"] == "thread_name"
            && event["pid"] == *process
            && event["args"]["name"] == "CrRendererMain"
    };
    let thread = &events.iter().find(is_main).expect("the main thread")["tid"];
    let zero = began["ts"].as_f64().unwrap_or_default();
    let is_task = |event: &&Value| {
        event["ph"] == "X"
            && event["pid"] == *process
            && event["tid"] == *thread
            && event["name"] == "RunTask"
    };
    let mut tasks: Vec<MainThreadTask> = events
        .iter()
        .filter(is_task)
        .map(|event| MainThreadTask {
            start_ms: (event["ts"].as_f64().unwrap_or_default() - zero) / 1e3,
            duration_ms: event["dur"].as_f64().unwrap_or_default() / 1e3,
            cpu_ms: event["tdur"].as_f64().map(|micros| micros / 1e3),
        })
        .collect();
    tasks.sort_by(|a, b| a.start_ms.total_cmp(&b.start_ms));
    tasks
}
