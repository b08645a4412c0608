//! Loops end (promise T6); work that looks like one does not.

use std::collections::BTreeMap;

use posse_agent::Settings;
use posse_protocol::{Budget, Ending, Failure, Reply};

use crate::drive::{calls, fine, run, says, script, settings};

fn patient() -> Settings {
    Settings { budget: Budget { turns: Some(200), ..Budget::UNLIMITED }, ..settings() }
}

fn check_ends(name: &str, cycle: Vec<Reply>, tool: &str) {
    let mut turn = 0;
    let run = run(
        patient(),
        |_, _| {
            turn += 1;
            Ok(cycle[(turn - 1) % cycle.len()].clone())
        },
        |call| (call.name != "test", format!("{} says the same", call.name)),
    );
    let failure = Failure::RepeatedCall { tool: tool.into() };
    assert_eq!(run.ending, Some(Ending::Failed { failure }), "{name}");
    let mut times = BTreeMap::new();
    for call in &run.ran {
        *times.entry(call).or_insert(0) += 1;
    }
    let most = times.values().max().copied().unwrap_or(0);
    // Once, and at most three repeats.
    assert!(most <= 4, "{name}: {times:?}");
    assert!(!run.posse_said().is_empty(), "{name}: it was told why");
}

#[test]
fn cycles_end() {
    let read = |n: u32| calls(&[("read", &format!(r#"{{"n":{n}}}"#))]);
    let edit = |n: u32| calls(&[("edit", &format!(r#"{{"n":{n}}}"#))]);
    let test = calls(&[("test", "{}")]);
    check_ends("one read", vec![read(1)], "read");
    check_ends("two reads by turns", vec![read(1), read(2)], "read");
    check_ends("five reads by turns", (0..5).map(read).collect(), "read");
    check_ends("one edit", vec![edit(1)], "edit");
    check_ends("two edits by turns", vec![edit(1), edit(2)], "edit");
    check_ends("edit, test, undo, test", vec![edit(1), test.clone(), edit(2), test.clone()], "test");
    check_ends("a failing call", vec![test.clone()], "test");
    check_ends("twice in one reply", vec![calls(&[("read", "{}"), ("read", "{}")])], "read");
}

#[test]
fn testing_after_each_new_edit_is_work() {
    let mut replies = Vec::new();
    for n in 0..20 {
        replies.push(calls(&[("edit", &format!(r#"{{"n":{n}}}"#))]));
        replies.push(calls(&[("test", "{}")]));
    }
    replies.push(says("fixed"));
    let run = run(patient(), script(replies), |c| (c.name != "test", "the same".into()));
    assert_eq!(run.ending, Some(Ending::Completed));
    assert_eq!(run.ran.len(), 40);
}

#[test]
fn the_same_call_with_new_results_is_work() {
    let mut n = 0;
    let replies = (0..10).map(|_| calls(&[("read", "{}")])).chain([says("done")]).collect();
    let run = run(patient(), script(replies), |_| {
        n += 1;
        (true, format!("line {n}"))
    });
    assert_eq!(run.ending, Some(Ending::Completed));
}

#[test]
fn the_third_time_is_said_to_be_the_last() {
    let replies =
        vec![calls(&[("read", "{}")]), calls(&[("read", "{}")]), calls(&[("read", "{}")]), says("ok")];
    let run = run(patient(), script(replies), fine);
    assert_eq!(run.ending, Some(Ending::Completed));
    let told = format!("{:?}", run.agent.conversation().messages());
    assert_eq!(told.matches("will not be run again").count(), 1);
}
