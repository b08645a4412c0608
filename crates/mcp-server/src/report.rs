//! The checked report of a task: as JSON and as text, within a size. Pure.

use posse_protocol::{Event, EventKind, Report};
use posse_report::{ToldReport, to_json, to_json_text, to_text};
use serde_json::{Map, Value};

use crate::limits;

/// How much of a report an answer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReportSize {
    /// What fits beside other things in a client's context.
    Short,
    /// All of it, up to a limit.
    Whole,
}

/// The last report among an agent's events.
pub(crate) fn last_report(events: Vec<Event>) -> Option<Report> {
    events.into_iter().rev().find_map(|event| match event.kind {
        EventKind::AgentRested { report: Some(report) } | EventKind::AgentSettled { report } => Some(report),
        _ => None,
    })
}

/// A report as JSON.
pub(crate) fn as_json(report: &Report, task: &str, size: ReportSize) -> Option<Map<String, Value>> {
    let whole = to_json(report);
    let bytes = whole.to_string().len();
    let value = match size {
        ReportSize::Whole if bytes <= limits::WHOLE_REPORT_BYTES_MAX => whole,
        ReportSize::Whole => told(report, task, limits::WHOLE_REPORT_BYTES_MAX, to_json_text)?,
        ReportSize::Short => told(report, task, limits::REPORT_BYTES, to_json_text)?,
    };
    match value {
        Value::Object(fields) => Some(fields),
        _ => None,
    }
}

fn told(
    report: &Report,
    task: &str,
    bytes_max: usize,
    tell: impl Fn(&ToldReport<'_>) -> String,
) -> Option<Value> {
    serde_json::from_str(&within(report, task, bytes_max, tell)).ok()
}

fn within(report: &Report, task: &str, bytes_max: usize, tell: impl Fn(&ToldReport<'_>) -> String) -> String {
    let handle = format!("the tool report, task {task}");
    tell(&ToldReport { name: "main", role: "main", title: "the task", report, bytes_max, handle: &handle })
}

/// A report as text.
pub(crate) fn as_text(report: &Report, task: &str, size: ReportSize) -> String {
    let bytes_max = match size {
        ReportSize::Short => limits::REPORT_BYTES,
        ReportSize::Whole => limits::WHOLE_REPORT_BYTES_MAX,
    };
    within(report, task, bytes_max, to_text)
}
