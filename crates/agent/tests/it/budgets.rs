//! Turns, tokens, time and money run out with one last turn to report.

use posse_agent::{Agent, Input, Settings, Step};
use posse_protocol::{Budget, Ending, ModelError, ModelErrorKind, Prices, Purpose, Sender};

use crate::drive::{calls, fine, run, says, settings, used};

fn with(budget: Budget) -> Settings {
    let prices = Prices { input: 1.0, cached: None, cache_write: None, output: 10.0 };
    Settings { budget, prices: Some(prices), ..settings() }
}

/// A model that works as long as it may: a new call every turn, and a report when it is asked for one.
fn busy(turn: u32, agent: &Agent) -> Result<posse_protocol::Reply, ModelError> {
    let last = agent.conversation().messages().last().map(|m| format!("{m:?}")).unwrap_or_default();
    if last.contains("You have to stop here") {
        return Ok(used(says("this is how far I got"), 1000, 100));
    }
    Ok(used(calls(&[("read", &format!(r#"{{"n":{turn}}}"#))]), 1000, 100))
}

#[test]
fn each_budget_ends_in_its_own_way() {
    let none = Budget::UNLIMITED;
    let cases = [
        (Budget { turns: Some(3), ..none }, Ending::OutOfTurns, 4, "your turns are used up"),
        (Budget { turns: Some(1), ..none }, Ending::OutOfTurns, 2, "your turns are used up"),
        (Budget { tokens: Some(3000), ..none }, Ending::OutOfTokens, 3, "your tokens are used up"),
        (
            Budget { cost_usd: Some(0.0039), ..none },
            Ending::OutOfMoney,
            3,
            "the money for this task is used up",
        ),
        (Budget { time_ms: Some(5), ..none }, Ending::TimedOut, 4, "your time is over"),
    ];
    for (budget, ending, turns, reason) in cases {
        let run = run(with(budget), busy, fine);
        assert_eq!(run.ending, Some(ending), "{budget:?}");
        assert_eq!(run.agent.last_words(), "this is how far I got", "{budget:?}");
        assert_eq!(run.agent.spent().turns, turns, "{budget:?}");
        assert!(run.posse_said().iter().any(|t| t.contains(reason)), "{:?}", run.posse_said());
    }
}

#[test]
fn a_task_that_fits_its_budget_exactly_is_completed() {
    let budget = Budget { turns: Some(2), ..Budget::UNLIMITED };
    let mut first = true;
    let run = run(
        with(budget),
        |_, _| Ok(if std::mem::take(&mut first) { calls(&[("read", "{}")]) } else { says("ok") }),
        fine,
    );
    assert_eq!((run.ending, run.agent.spent().turns), (Some(Ending::Completed), 2));
}

#[test]
fn the_last_turn_runs_no_tools() {
    let budget = Budget { turns: Some(2), ..Budget::UNLIMITED };
    let run = run(with(budget), |turn, _| Ok(calls(&[("read", &format!(r#"{{"n":{turn}}}"#))])), fine);
    assert_eq!(run.ending, Some(Ending::OutOfTurns));
    assert_eq!(run.ran.len(), 2);
}

#[test]
fn a_failing_last_turn_keeps_the_ending() {
    let budget = Budget { turns: Some(1), ..Budget::UNLIMITED };
    let model = |turn: u32, _: &Agent| match turn {
        1 => Ok(calls(&[("read", "{}")])),
        _ => Err(ModelError::new(ModelErrorKind::Overloaded, "529")),
    };
    assert_eq!(run(with(budget), model, fine).ending, Some(Ending::OutOfTurns));
}

#[test]
fn tokens_that_are_not_reported_are_estimated_for_the_budget_but_stay_unknown() {
    let budget = Budget { tokens: Some(2000), ..Budget::UNLIMITED };
    let run = run(with(budget), |turn, _| Ok(calls(&[("read", &format!(r#"{{"n":{turn}}}"#))])), fine);
    assert_eq!(run.ending, Some(Ending::OutOfTokens));
    assert_eq!(run.agent.spent().usage.total_tokens(), None);
    assert_eq!(run.agent.spent().cost_usd, None);
}

#[test]
fn time_up_in_the_middle_of_a_reply_leaves_a_last_turn_and_then_none() {
    let mut agent = Agent::new(with(Budget { time_ms: Some(10), ..Budget::UNLIMITED }));
    agent.handle(Input::Told { from: Sender::Person, text: "go".into() }, 0);
    let time_up = |partial: &str| Input::TimeUp { partial: partial.into(), done: vec![] };
    let output = agent.handle(time_up("half a sent"), 10);
    assert_eq!(output.step, Step::CallModel { turn: 2, purpose: Purpose::LastWord });
    let output = agent.handle(time_up("I found"), 40);
    assert_eq!(output.step, Step::Settle(Ending::TimedOut));
    assert_eq!(agent.last_words(), "I found");
}
