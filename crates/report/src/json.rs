//! A report as JSON: whole, for programs and the record; and within a size, for a model that asked for it so. Text
//! inside a JSON string cannot end it, so no further wrapper is needed there.

use posse_protocol::{Ending, Report};
use serde_json::{Map, Value, json};

use crate::{
    Told, facts_line, limits,
    sections::{details, sections},
    visible,
};

/// The whole report. `files_modified` has every changed file, the new ones among them in `files_created` too.
pub fn to_json(report: &Report) -> Value {
    let receipt = &report.receipt;
    let parts = sections(&report.text);
    let summary = if parts.summary.is_empty() { report.ending.to_string() } else { parts.summary };
    let tests = receipt.tests_in_all().and_then(|tests| tests.counts).unwrap_or_default();
    // Why it did not end well has no field of its own.
    let reason = match &report.ending {
        Ending::Failed { .. } | Ending::Interrupted { .. } => Some(report.ending.to_string()),
        _ => None,
    };
    let warnings: Vec<String> = reason.into_iter().chain(report.warnings.iter().cloned()).collect();
    let files = receipt.files_in_all();
    let created = files.iter().filter(|file| file.created);
    json!({
        "status": report.ending.word(),
        "summary": summary,
        "details": details(&report.text),
        "files_modified": files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(),
        "files_created": created.map(|file| file.path.as_str()).collect::<Vec<_>>(),
        "tests_run": tests.run,
        "tests_passed": tests.passed,
        "warnings": warnings,
        "suggestions": parts.suggestions,
        "iteration_count": receipt.turns,
        "duration_ms": receipt.duration_ms,
        "facts": facts_line(receipt),
        "receipt": receipt,
    })
}

/// The report for a model: always whole JSON, nothing hidden in it, within the size. The details are cut first.
pub fn to_json_text(told: &Told<'_>) -> String {
    let mut value = shown(to_json(told.report));
    let room_bytes = told.room_bytes();
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
    let cuts = limits::JSON_CUTS.iter().map(|(entries, chars)| shortened(report, *entries, *chars));
    let smaller = std::iter::once(report.clone()).chain(cuts).find(|smaller| size(smaller) <= room_bytes);
    let mut report = smaller.unwrap_or_else(|| {
        let status = report.get("status").cloned().unwrap_or_default();
        Map::from_iter([
            ("status".to_owned(), status),
            ("details".to_owned(), Value::String(told.more(chars))),
        ])
    });
    let kept = fitting(&details, room_bytes.saturating_sub(size(&report) + 2));
    let left_out = chars - kept.chars().count();
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

/// A smaller report: shorter lists and texts, and in the receipt no single commands and files.
fn shortened(report: &Map<String, Value>, entries_max: usize, chars_max: usize) -> Map<String, Value> {
    let short = |text: &str| match text.char_indices().nth(chars_max) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    let mut report = report.clone();
    for (key, value) in &mut report {
        match value {
            Value::String(text) if key != "details" => *text = short(text),
            Value::Array(list) => {
                let more = list.len().saturating_sub(entries_max);
                list.truncate(entries_max);
                list.iter_mut().for_each(|entry| *entry = entry.as_str().map(short).into());
                if more > 0 {
                    list.push(Value::String(format!("and {more} more")));
                }
            }
            Value::Object(receipt) => {
                ["commands", "files", "branch", "denied"].iter().for_each(|list| {
                    receipt.shift_remove(*list);
                });
            }
            _ => {}
        }
    }
    report
}

/// The start of a text that takes at most so many bytes within a JSON string.
fn fitting(text: &str, bytes_max: usize) -> &str {
    let mut bytes = 0;
    for (at, c) in text.char_indices() {
        bytes += match c {
            '"' | '\\' | '\n' | '\t' => 2,
            c if c.is_control() => 6,
            c => c.len_utf8(),
        };
        if bytes > bytes_max {
            return &text[..at];
        }
    }
    text
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
