//! A crash behind any event of sessions that reach beyond their record: commands, background commands, questions to a
//! person.

use std::path::Path;

use posse_engine::ApprovalSettings;
use posse_protocol::{Answer, Approval, CallId, Event, EventKind, Sender};
use posse_testkit::Turn;
use serde_json::json;

use super::crashing::{Same, in_flight, written};
use super::every_step::{blocking, blocks, read, write};
use crate::crew::REPORT;
use crate::follow::sh;

/// How many crashes each scenario has at least; each asserts its own.
const COMMANDS: usize = 30;
const QUESTIONS: usize = 25;
const FREE_QUESTIONS: usize = 10;
const BACKGROUND: usize = 24;

/// The log as the commands on record left it. Of those in flight every second one had done its work.
fn log(folder: &Path, events: &[Event]) {
    let lines = |wanted: fn(&EventKind) -> bool| events.iter().filter(|e| wanted(&e.kind)).count();
    let finished = lines(|kind| matches!(kind, EventKind::ToolFinished { tool, .. } if tool == "shell"));
    let begun = lines(|kind| matches!(kind, EventKind::ToolStarted { tool, .. } if tool == "shell"));
    let done = if events.len().is_multiple_of(2) { begun } else { finished };
    std::fs::write(folder.join("log"), "line\n".repeat(done)).unwrap();
}

/// A command that was in flight is not run again: whoever asked for it is told that nobody knows.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_run_once() {
    let line = |nth: u32| sh(&format!("echo line >> log; : {nth}"));
    let main = vec![line(1), Turn::call("agent", blocks("one", "Log it")), line(4), Turn::text("Logged.")];
    let one = vec![line(2), line(3), Turn::text(REPORT)];
    let mut scenario = blocking([("main", main), ("one", one)]).await;
    scenario.files = log;
    scenario.also = |folder, before, _| {
        let lines = std::fs::read_to_string(folder.join("log")).unwrap().lines().count();
        let unknown = in_flight(before).len();
        assert!(lines <= 4 && lines + unknown >= 4, "{lines} lines, {unknown} unknown, {}", before.len());
    };
    scenario.crash_everywhere(COMMANDS).await;
}

/// Questions that are open: asked and not answered.
fn open_questions(events: &[Event]) -> Vec<CallId> {
    let mut open = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::PersonNeeded { question } => open.push(question.call.clone()),
            EventKind::PersonAnswered { call, .. } => open.retain(|other| other != call),
            _ => {}
        }
    }
    open
}

/// A question that was open is withdrawn and asked again, once; what was answered and run is not asked again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_are_asked_again_once() {
    let main = vec![
        write("new-main.txt"),
        Turn::call("agent", blocks("one", "Write it")),
        Turn::text("It is written."),
    ];
    let one = vec![write("new-one.txt").and_call("read_file", json!({"path": "a.txt"})), Turn::text(REPORT)];
    let mut scenario = blocking([("main", main), ("one", one)]).await;
    scenario.play.stage.grant.approval = Approval::Ask;
    scenario.play.stage.approvals = ApprovalSettings { person: true, ..ApprovalSettings::default() };
    scenario.files = written;
    scenario.also = |_, before, all| {
        let after = &all[before.len()..];
        let asked = |events: &[Event]| {
            events.iter().filter(|e| matches!(e.kind, EventKind::PersonNeeded { .. })).count()
        };
        let ran = before.iter().filter(|event| match &event.kind {
            EventKind::ToolStarted { tool, .. } => tool == "write_file",
            _ => false,
        });
        assert_eq!(asked(after), 2 - ran.count(), "after {}", before.len());
        let withdrawn = after.iter().filter_map(|event| match &event.kind {
            EventKind::PersonAnswered { call, answer: Answer::Withdrawn } => Some(call.clone()),
            _ => None,
        });
        assert_eq!(withdrawn.collect::<Vec<_>>(), open_questions(before), "after {}", before.len());
        assert_eq!(open_questions(all), [], "after {}", before.len());
    };
    scenario.crash_everywhere(QUESTIONS).await;
}

/// A question in words is asked again until its answer is on record, and the call is answered once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn free_questions_are_answered_once() {
    let question = json!({"question": "Which one?", "choices": ["this, and no other", "that"]});
    let main = vec![
        Turn::call("ask_person", question).and_call("read_file", json!({"path": "a.txt"})),
        write("new-main.txt"),
        Turn::text("It is this one."),
    ];
    let mut scenario = blocking([("main", main)]).await;
    scenario.play.stage.approvals = ApprovalSettings { person: true, ..ApprovalSettings::default() };
    scenario.files = written;
    scenario.also = |_, before, all| {
        let after = &all[before.len()..];
        let asked = after.iter().filter(|e| matches!(e.kind, EventKind::PersonNeeded { .. })).count();
        let results = |events: &[Event]| {
            let results = events.iter().filter_map(|event| match &event.kind {
                EventKind::ToolFinished { tool, text, .. } if tool == "ask_person" => Some(text.clone()),
                _ => None,
            });
            results.collect::<Vec<_>>()
        };
        assert_eq!(asked, 1 - results(before).len(), "after {}", before.len());
        assert_eq!(results(all), ["this, and no other"], "after {}", before.len());
        assert_eq!(open_questions(all), [], "after {}", before.len());
    };
    scenario.crash_everywhere(FREE_QUESTIONS).await;
}

/// A background command does not outlive its process. Whoever goes on is told, once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn background_commands_have_ended() {
    let background = json!({"command": "sleep 300", "background": true});
    let main = vec![
        read("b.txt"),
        Turn::call("shell", background),
        read("a.txt"),
        Turn::call("agent", blocks("one", "Look at it")),
        Turn::text("Done."),
    ];
    let one = vec![read("a.txt"), Turn::text(REPORT)];
    let mut scenario = blocking([("main", main), ("one", one)]).await;
    scenario.same = Same::AtAnyPaceWithNews;
    scenario.also = |_, before, all| {
        let news = |events: &[Event]| {
            let told = events.iter().filter_map(|event| match &event.kind {
                EventKind::Told { from: Sender::Posse, text, .. } => Some(text.clone()),
                _ => None,
            });
            told.filter(|text| text.starts_with("cmd-1 ")).count()
        };
        let count = |events: &[Event], wanted: fn(&EventKind) -> bool| {
            events.iter().filter(|event| wanted(&event.kind)).count()
        };
        let started = |events: &[Event]| count(events, |k| matches!(k, EventKind::BackgroundStarted { .. }));
        let ended = |events: &[Event]| count(events, |k| matches!(k, EventKind::BackgroundEnded { .. }));
        assert_eq!(started(all), ended(all), "after {}", before.len());
        let ran = started(before) - ended(before);
        assert_eq!(news(&all[before.len()..]), ran, "after {}", before.len());
    };
    scenario.crash_everywhere(BACKGROUND).await;
}
