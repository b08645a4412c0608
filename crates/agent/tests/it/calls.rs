//! Malformed calls are never run, and the model is told what to fix (promise M2).

use posse_agent::{Agent, Input, Step};
use posse_protocol::{CallId, Ending, EventKind, Failure, Reply, Sender, StopReason, ToolCall};

use crate::drive::{call, calls, fine, run, says, script, settings};

/// What a single reply's calls lead to: those that would run, and the texts of those refused.
fn sorted(calls: Vec<ToolCall>) -> (Vec<ToolCall>, Vec<String>) {
    let mut agent = Agent::new(settings());
    agent.handle(Input::Told { from: Sender::Person, text: "go".into() }, 0);
    let reply = Reply { calls, stop: StopReason::MaxTokens, ..Reply::default() };
    let output = agent.handle(Input::Replied(reply), 1);
    let refused = output.record.iter().filter_map(|e| match e {
        EventKind::ToolFinished { text, ok: false, .. } => Some(text.clone()),
        _ => None,
    });
    let refused = refused.collect();
    match output.step {
        Step::CallTools { calls } => (calls, refused),
        _ => (Vec::new(), refused),
    }
}

#[test]
fn cut_at_every_byte_nothing_runs_until_it_is_whole() {
    let whole = r#"{"path":"src/main.rs","text":"héllo \"you\"\n","lines":[1,2],"all":true}"#;
    let mut cases = 0;
    for end in (0..whole.len()).filter(|&i| whole.is_char_boundary(i)) {
        let (run, refused) = sorted(vec![call("a", "edit", &whole[..end])]);
        assert_eq!(run, [], "cut at {end} was run");
        assert!(refused[0].contains("Make the call again"), "{refused:?}");
        cases += 1;
    }
    assert!(cases >= 60, "only {cases} cuts were tried");
    assert_eq!(sorted(vec![call("a", "edit", whole)]).0.len(), 1);
}

#[test]
fn what_cannot_be_read_is_refused_with_what_to_fix() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let deep_object = format!("{{\"a\":{deep}}}");
    let cases = [
        ("read", "{'path':'a'}", "not valid JSON"),
        ("read", "{\"a\":1} and more", "not valid JSON"),
        ("read", "{\"a\":NaN}", "not valid JSON"),
        ("read", deep_object.as_str(), "not valid JSON"),
    ];
    for (name, arguments, want) in cases {
        let (run, refused) = sorted(vec![call("a", name, arguments)]);
        assert_eq!(run, [], "{name} {arguments:.40}");
        assert!(refused[0].contains(want), "{refused:?} lacks {want:?}");
    }
}

#[test]
fn good_calls_run_beside_bad_ones() {
    let (run, refused) =
        sorted(vec![call("a", "read", "{}"), call("b", "read", "{"), call("c", "nope", "nope")]);
    assert_eq!(run, [call("a", "read", "{}")]);
    assert_eq!(refused.len(), 2);
}

#[test]
fn the_same_call_twice_in_one_reply_runs_once() {
    let (run, refused) =
        sorted(vec![call("a", "read", "{}"), call("b", "read", "{}"), call("c", "test", "{}")]);
    assert_eq!(run, [call("a", "read", "{}"), call("c", "test", "{}")]);
    assert_eq!(refused, ["not run: the same call stands earlier in this reply"]);
}

#[test]
fn ids_are_made_distinct_and_a_duplicate_does_not_run() {
    let (run, refused) = sorted(vec![call("a", "read", "{}"), call("a", "edit", "{}")]);
    assert_eq!(run, [call("a", "read", "{}")]);
    assert!(refused[0].contains("same id"), "{refused:?}");

    let (run, _) = sorted(vec![call("", "read", "{}"), call("", "edit", "{}")]);
    let ids = run.iter().map(|c| c.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids, [CallId("call_1_0".into()), CallId("call_1_1".into())]);
}

#[test]
fn a_flood_of_calls_is_cut_to_the_limit() {
    let flood = (0..100).map(|i| call(&format!("c{i}"), "read", &format!(r#"{{"n":{i}}}"#))).collect();
    let (run, refused) = sorted(flood);
    assert_eq!((run.len(), refused.len()), (64, 36));
}

#[test]
fn a_model_that_cannot_write_calls_is_ended() {
    let mut n = 0;
    let model = move |_: u32, agent: &Agent| {
        n += 1;
        let last = agent.conversation().messages().last().map(|m| format!("{m:?}")).unwrap_or_default();
        let done = last.contains("You have to stop here");
        Ok(if done { says("I could not") } else { calls(&[("read", &"{".repeat(n))]) })
    };
    let run = run(settings(), model, fine);
    assert_eq!(run.ending, Some(Ending::Failed { failure: Failure::MalformedCalls }));
    assert_eq!(run.ran, Vec::<String>::new());
    assert_eq!(run.agent.spent().turns, 6);
    assert_eq!(run.agent.last_words(), "I could not");
}

#[test]
fn a_model_that_mends_its_call_goes_on() {
    let replies = vec![calls(&[("read", "{\"path\":")]), calls(&[("read", "{}")]), says("done")];
    let run = run(settings(), script(replies), fine);
    assert_eq!((run.ending, run.ran.len()), (Some(Ending::Completed), 1));
}
