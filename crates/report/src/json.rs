//! A report as JSON: whole, for programs and the record; and within a size, for a model that asked for it so. Text
//! inside a JSON string cannot end it, so no further wrapper is needed there.

use posse_protocol::{Ending, Receipt, Report};
use serde_json::{Map, Value, json};

use crate::{
    ToldReport, cut, facts_line, limits,
    sections::{details, sections},
    told::words,
    visible,
};

/// What it came to, in the agent's own words where there are any: its section of that name, or its first paragraph.
pub fn summary(report: &Report) -> String {
    let summary = sections(&report.text).summary;
    if summary.is_empty() { report.ending.to_string() } else { summary }
}

/// The whole report. `files_modified` has every changed file, the new ones among them in `files_created` too.
pub fn to_json(report: &Report) -> Value {
    let receipt = &report.receipt;
    let parts = sections(&report.text);
    let tests = receipt.tests_in_all().and_then(|tests| tests.counts).unwrap_or_default();
    // Why it did not end well has no field of its own.
    let reason = match &report.ending {
        Ending::Failed { .. } | Ending::Interrupted { .. } => Some(report.ending.to_string()),
        _ => None,
    };
    let warnings: Vec<String> = reason.into_iter().chain(report.remarks().cloned()).collect();
    let files = receipt.files_in_all();
    let created = files.iter().filter(|file| file.created);
    json!({
        "status": status(report),
        "facts": facts_line(receipt),
        "summary": summary(report),
        "details": details(&report.text),
        "files_modified": files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        "files_created": created.map(|file| file.path.as_str()).collect::<Vec<_>>(),
        "tests_run": tests.run,
        "tests_passed": tests.passed,
        "warnings": warnings,
        "suggestions": parts.suggestions,
        "iteration_count": receipt.turns,
        "duration_ms": receipt.duration_ms,
        "receipt": receipt,
    })
}

/// What was measured and no other key tells, in few words; the whole receipt is behind the handle.
fn short_receipt(receipt: &Receipt) -> Value {
    let mut short = Map::new();
    let mut put = |key: &str, value: Value| short.insert(key.to_owned(), value);
    put("tool_calls", receipt.tool_calls.into());
    put("commands", receipt.commands_total.into());
    put("tokens", receipt.tokens_in_all().into());
    if let Some(usd) = receipt.cost_in_all() {
        put("cost_usd", usd.into());
    }
    if receipt.below.agents > 0 {
        put("sub_agents", receipt.below.agents.into());
    }
    if let Some(branch) = &receipt.branch {
        put("branch", branch.name.as_str().into());
    }
    let denied = receipt.denied.iter().take(limits::DENIALS_TOLD_MAX);
    let denied: Vec<String> =
        denied.map(|one| format!("{} to {}: {} ({})", one.tool, one.agent, one.what, one.reason)).collect();
    if !denied.is_empty() {
        put("denied", denied.into());
    }
    let uncertain = receipt.files_not_certain.iter().take(limits::FILES_NAMED_MAX);
    let uncertain: Vec<&str> = uncertain.map(|file| file.path.as_str()).collect();
    if !uncertain.is_empty() {
        put("files_not_certain", uncertain.into());
    }
    Value::Object(short)
}

/// The report for a model: always whole JSON, nothing hidden in it, within the size, with a short receipt. The details
/// are cut first.
pub fn to_json_text(told: &ToldReport<'_>) -> String {
    let mut value = to_json(told.report);
    value["receipt"] = short_receipt(&told.report.receipt);
    if told.report.short.is_some() {
        value["details"] = Value::String(format!("{}\n{}", details(&words(told.report)), told.whole()));
    }
    let mut value = shown(value);
    let room_bytes = told.room_bytes();
    if let Some(Value::String(facts)) = value.get_mut("facts") {
        // As much of the room as they have in a report that is text.
        *facts = clipped(facts, room_bytes / 3);
    }
    let whole = value.to_string();
    if whole.len() <= room_bytes {
        return whole;
    }
    let Value::Object(report) = &mut value else { return whole };
    let details = match report.get_mut("details").map(Value::take) {
        Some(Value::String(details)) => details,
        _ => String::new(),
    };
    let chars = details.chars().count();
    report.insert("details".to_owned(), Value::String(told.more(chars)));
    let mut smaller = report.clone();
    for (entries_max, chars_max) in limits::JSON_CUTS {
        if size(&smaller) <= room_bytes {
            break;
        }
        smaller = shortened(report, entries_max, chars_max);
    }
    let mut report = smaller;
    let (kept, left_out) = fitting(&details, room_bytes.saturating_sub(size(&report) + 2));
    let cut = match (left_out, kept.is_empty()) {
        (0, _) => details,
        (_, true) => told.more(left_out),
        (_, false) => format!("{kept}\n{}", told.more(left_out)),
    };
    report.insert("details".to_owned(), Value::String(cut));
    Value::Object(report).to_string()
}

fn size(report: &Map<String, Value>) -> usize {
    // A map always can be written.
    serde_json::to_string(report).map_or(usize::MAX, |text| text.len())
}

/// A smaller report: shorter lists and texts, and in the receipt no lists. The facts stay, and what does not hold of the
/// words stays readable.
fn shortened(report: &Map<String, Value>, entries_max: usize, chars_max: usize) -> Map<String, Value> {
    let short = |text: &str, chars_max: usize| match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    let mut report = report.clone();
    for (key, value) in &mut report {
        match value {
            Value::String(text) if key != "details" && key != "facts" => *text = short(text, chars_max),
            Value::Array(list) => {
                let chars_min = if key == "warnings" { limits::JSON_WARNING_CHARS_MIN } else { 0 };
                let short = |text: &str| short(text, chars_max.max(chars_min));
                let more = list.len().saturating_sub(entries_max);
                list.truncate(entries_max);
                list.iter_mut().for_each(|entry| *entry = entry.as_str().map(short).into());
                if more > 0 {
                    list.push(Value::String(format!("and {more} more")));
                }
            }
            Value::Object(receipt) => {
                receipt.retain(|_, value| !value.is_array() && !value.is_string());
            }
            _ => {}
        }
    }
    report
}

/// As much of a text as takes so many bytes within a JSON string.
fn clipped(text: &str, bytes_max: usize) -> String {
    if escaped_bytes(text) <= bytes_max {
        return text.to_owned();
    }
    let mut room = bytes_max.saturating_sub('…'.len_utf8());
    let fits = |c: &char| {
        let left = room.checked_sub(escaped_bytes(c.encode_utf8(&mut [0; 4])));
        room = left.unwrap_or(0);
        left.is_some()
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{kept}…")
}

/// What of a text fits into so many bytes of a JSON string, cut inside its sections, and how many characters do not.
fn fitting(text: &str, bytes_max: usize) -> (String, usize) {
    let mut room = bytes_max;
    for _ in 0..limits::CUT_TRIES_MAX {
        let (kept, left_out) = cut::within(text, room);
        let bytes = escaped_bytes(&kept);
        if bytes <= bytes_max {
            return (kept, left_out);
        }
        room = (room * bytes_max / bytes).min(room.saturating_sub(bytes - bytes_max));
    }
    (String::new(), text.chars().count())
}

/// What a text takes within a JSON string.
fn escaped_bytes(text: &str) -> usize {
    let bytes = |c: char| match c {
        '"' | '\\' | '\n' | '\t' => 2,
        c if c.is_control() => 6,
        c => c.len_utf8(),
    };
    text.chars().map(bytes).sum()
}

/// How it ended. What was in the way is part of it: a program must not take that for a plain success.
fn status(report: &Report) -> &'static str {
    match report.ending {
        Ending::Completed if report.blocked => "completed_with_blockers",
        // As those who read this shape of report call it.
        Ending::TimedOut => "timeout",
        _ => report.ending.word(),
    }
}

/// The same value with nothing hidden in any of its texts.
fn shown(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(visible::text(&text)),
        Value::Array(list) => Value::Array(list.into_iter().map(shown).collect()),
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(key, value)| (key, shown(value))).collect())
        }
        other => other,
    }
}
