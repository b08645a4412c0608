//! One set of words.

use posse_protocol::AgentState;
use posse_protocol::{Answer, Ending, Failure, ProgressKind, QueueReason, Usage};
use posse_view::{Activity, words};

use crate::sample::*;

#[test]
fn every_state_has_a_word_for_programs_and_one_for_people() {
    let told = AgentState::ALL.map(|state| (state.word(), words::state(state), words::mark(state, false)));
    let expected = [
        ("pending", "pending", "…"),
        ("queued", "queued", "…"),
        ("running", "running", "●"),
        ("needs_person", "needs you", "?"),
        ("resting", "resting", "○"),
        ("interrupted", "interrupted", "‖"),
        ("completed", "completed", "✓"),
        ("failed", "failed", "✗"),
        ("cancelled", "stopped", "■"),
        ("timed_out", "out of time", "✗"),
        ("out_of_turns", "out of turns", "✗"),
        ("out_of_tokens", "out of tokens", "✗"),
        ("out_of_money", "out of money", "✗"),
        ("refused", "refused", "✗"),
    ];
    assert_eq!(told, expected);
    for state in AgentState::ALL {
        assert_eq!(state.word().parse(), Ok(state));
        assert_eq!(serde_json::to_value(state).unwrap(), state.word());
    }
    assert!("gone".parse::<AgentState>().is_err());
    let endings = [
        Ending::Completed,
        Ending::Failed { failure: Failure::EmptyReply },
        Ending::Cancelled,
        Ending::Interrupted { reason: String::new() },
        Ending::TimedOut,
        Ending::OutOfTurns,
        Ending::OutOfTokens,
        Ending::OutOfMoney,
        Ending::Refused,
    ];
    for ending in endings {
        let state = AgentState::from(&ending);
        assert_eq!(state.word(), ending.word(), "as the record has it");
        assert_eq!(words::state(state), ending.in_a_word(), "as reports say it");
    }
    assert_eq!(words::mark(AgentState::Completed, true), "!");
}

#[test]
fn what_an_agent_does_in_words() {
    let text = |text: &str| text.to_owned();
    let cases = [
        (Activity::Starting, "starting"),
        (
            Activity::Queued { reason: QueueReason::RunningCap, at: None },
            "queued: as many agents run as may (max_running)",
        ),
        (
            Activity::Queued { reason: QueueReason::ProcessCap, at: None },
            "queued: as many agents run in this process as may (max_running_in_process)",
        ),
        (
            Activity::Queued { reason: QueueReason::Endpoint, at: None },
            "queued: one at a time at its model (max_concurrent)",
        ),
        (
            Activity::Queued { reason: QueueReason::Endpoint, at: Some(text("box")) },
            "queued: one at a time on box (max_concurrent)",
        ),
        (
            Activity::Retrying { attempt: 1, attempts_max: 6, delay_ms: 500, reason: text("h: busy (529)") },
            "h: busy (529) · try 2 of 6 in 0.5 s",
        ),
        (
            Activity::Retrying { attempt: 2, attempts_max: 0, delay_ms: 61_000, reason: text("h: gone") },
            "h: gone · try 3 in 1 min 1 s",
        ),
        (
            Activity::LookingAtFiles { files: 1_200 },
            "looking at the workspace before the first command: 1,200 files",
        ),
        (Activity::AskingPerson { tool: text("shell"), what: text("rm x") }, "needs you: shell rm x"),
        (Activity::WritingCall { tool: text("grep") }, "writing a grep call"),
        (Activity::Nothing, ""),
    ];
    assert_eq!(cases.len(), 11);
    for (doing, expected) in cases {
        assert_eq!(words::doing(&doing), expected);
    }
}

#[test]
fn where_an_agent_runs_in_words() {
    let mut script = EventScript::new();
    script.add(1, started(0)).admit(2, 1, "ann", 1);
    let on = |script: &EventScript| words::on(script.view().agents.get(id(2)).unwrap());
    assert_eq!(on(&script), None);
    script.add(2, placed("gpu-1", 1));
    assert_eq!(on(&script).as_deref(), Some("on gpu-1"));
    assert_eq!(words::placed("gpu-1", 1), "runs on gpu-1");
    assert_eq!(words::placed("gpu-2", 2), "moved to gpu-2: the worker before was lost");
}

#[test]
fn a_reply_that_stands_still_is_told_once_that_is_worth_telling() {
    let news = [
        (ProgressKind::Queued, "waiting for its turn at the model", false),
        (ProgressKind::Served, "waiting for the model", false),
        (ProgressKind::Reasoning("hm".to_owned()), "thinking", true),
        (ProgressKind::Text("I see".to_owned()), "writing", true),
        (ProgressKind::Calling("grep".to_owned()), "writing a grep call", true),
        (ProgressKind::Arriving, "writing a grep call", true),
    ];
    assert_eq!(news.len(), 6);
    let mut script = EventScript::new();
    script.add(1, started(0)).add(1, turn(1));
    let mut view = script.view();
    for (kind, expected, replies) in news {
        view.note(&posse_protocol::Progress { agent: id(1), kind }, START_MS);
        let main = view.main().unwrap();
        assert_eq!(words::now(main, START_MS + 2_999), expected);
        let later = if replies { "no answer for 4 s" } else { expected };
        assert_eq!(words::now(main, START_MS + 4_100), later);
    }
    // News of somebody who is not there.
    view.note(&posse_protocol::Progress { agent: id(7), kind: ProgressKind::Arriving }, START_MS);
    script.add(1, tool_started("c", "shell make"));
    view.fold(script.events.last().unwrap()).unwrap();
    assert_eq!(words::now(view.main().unwrap(), START_MS + 9_000), "shell make", "an event ends the silence");
}

#[test]
fn tokens_and_costs() {
    let usage = |input: Option<u64>, cached| Usage {
        input_tokens: input,
        cached_tokens: cached,
        output_tokens: input.map(|_| 20),
        ..Usage::default()
    };
    assert_eq!(words::tokens(usage(None, None)), "tokens not reported");
    assert_eq!(words::tokens(usage(Some(1_000), Some(300))), "1,020 tokens (300 cached)");
    let (own, all) = (usage(Some(1_000), Some(300)), usage(Some(6_000), None));
    assert_eq!(words::tokens_in_all(own, all), "1,020 tokens (6,020 in all)");
    assert_eq!(words::tokens_in_all(own, own), "1,020 tokens");
    assert_eq!(words::tokens_in_all(usage(None, None), all), "tokens not reported (6,020 in all)");
    assert_eq!((words::cost(0.5, false), words::cost(0.5, true)), ("$0.5000".into(), "≥ $0.5000".into()));
    let figures =
        |cost_usd, cost_unknown| posse_view::Figures { cost_usd, cost_unknown, ..Default::default() };
    let cases = [
        (figures(None, 1), figures(None, 1), None),
        (figures(Some(0.1), 0), figures(Some(0.1), 0), Some("$0.1000")),
        (figures(Some(0.1), 0), figures(Some(0.3), 1), Some("$0.1000 (≥ $0.3000 in all)")),
        (figures(None, 0), figures(Some(0.3), 0), Some("$0.3000 in all")),
    ];
    for (own, all, expected) in cases {
        assert_eq!(words::cost_in_all(&own, &all).as_deref(), expected);
    }
}

#[test]
fn interruptions_and_answers() {
    assert_eq!(words::interrupted(1), "interrupted: 1 agent does not run now");
    assert_eq!(words::interrupted(3), "interrupted: 3 agents do not run now");
    let left = "the session was left with 1 agent that had not ended";
    assert_eq!(words::was_interrupted(1, true), left);
    let interrupted = "the session was interrupted with 2 agents that had not ended";
    assert_eq!(words::was_interrupted(2, false), interrupted);
    assert_eq!(
        (words::command_ended(Some(3)), words::command_ended(None)),
        ("exit code 3".into(), "stopped".into())
    );
    let pattern = Answer::Pattern { pattern: "edit_file(src/*)".to_owned() };
    let cases = [
        (Answer::Once, Some("yes, once")),
        (Answer::Session, Some("yes, in this session")),
        (pattern, Some("yes, whenever it is edit_file(src/*)")),
        (Answer::No { reason: String::new() }, Some("no")),
        (Answer::No { reason: "use that".to_owned() }, Some("no use that")),
        (Answer::Said { text: "this one".to_owned() }, Some("this one")),
        (Answer::Nobody, None),
        (Answer::Withdrawn, None),
    ];
    for (answer, expected) in cases {
        assert_eq!(words::answer(&answer).as_deref(), expected);
    }
}

#[test]
fn the_time_until_a_request_is_sent_again_runs_down() {
    let mut log = EventScript::new();
    let retrying = posse_protocol::EventKind::Retrying {
        attempt: 1,
        attempts_max: 6,
        delay_ms: 20_000,
        reason: "h: busy (429)".to_owned(),
    };
    log.add(1, started(0)).add(1, retrying);
    let (view, at) = (log.view(), log.now_ms());
    let cases = [(0, "20 s"), (5_000, "15 s"), (19_500, "0.5 s"), (60_000, "0.0 s")];
    for (later, left) in cases {
        let told = words::now(view.main().unwrap(), at + later);
        assert_eq!(told, format!("h: busy (429) · try 2 of 6 in {left}"));
    }
}
