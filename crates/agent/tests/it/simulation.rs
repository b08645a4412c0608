//! Random models, tools, cancels and clocks: the invariants hold, and the machine survives serialisation at any
//! point. A failure prints the seed that replays it.

use posse_agent::{Agent, Done, Input, Kin, Settings, Step};
use posse_protocol::{
    Budget, CallId, ModelError, ModelErrorKind, Reply, Sender, StopReason, ToolCall, Usage,
};

use crate::drive::{image, settings, well_formed};

const SEEDS: u64 = 1000;
const STEPS_MAX: u64 = 400;

pub(crate) fn reply(rng: &mut fastrand::Rng) -> Reply {
    let calls = (0..rng.usize(0..4))
        .map(|_| ToolCall {
            id: CallId(["", "a", "b", "c", "d"][rng.usize(0..5)].into()),
            name: ["read", "edit", "test", "nope"][rng.usize(0..4)].into(),
            arguments: ["{}", "{\"a\":1}", "{\"a\":", "[]", ""][rng.usize(0..5)].into(),
        })
        .collect();
    let stops =
        [StopReason::EndTurn, StopReason::ToolCalls, StopReason::MaxTokens, StopReason::Other("x".into())];
    let usage = Usage { input_tokens: rng.bool().then(|| rng.u64(0..4000)), ..Usage::default() };
    Reply {
        text: ["", "words"][rng.usize(0..2)].into(),
        calls,
        stop: stops[rng.usize(0..4)].clone(),
        usage,
        ..Reply::default()
    }
}

fn done(rng: &mut fastrand::Rng, calls: &[ToolCall]) -> Vec<Done> {
    let some = calls.iter().filter(|_| rng.u8(0..10) > 0).cloned().collect::<Vec<_>>();
    some.into_iter()
        .map(|call| Done {
            id: call.id,
            ok: rng.bool(),
            text: "x".repeat(rng.usize(0..300)),
            attachments: if rng.u8(0..5) == 0 { vec![image("result.png")] } else { Vec::new() },
            ran: rng.bool(),
            read_only: call.name == "read",
        })
        .collect()
}

pub(crate) fn answer(rng: &mut fastrand::Rng, step: &Step) -> Input {
    match (rng.u8(0..40), step) {
        (0, _) => Input::Told { from: Sender::Person, text: "also".into() },
        (1, Step::CallTools { calls }) => Input::TimeUp { partial: "p".into(), done: done(rng, calls) },
        (1, _) => Input::TimeUp { partial: "p".into(), done: vec![] },
        (2, Step::CallTools { calls }) if rng.bool() => {
            Input::Cancel { partial: "p".into(), done: done(rng, calls) }
        }
        (3, Step::CallModel { .. }) => {
            Input::ModelFailed(ModelError::new(ModelErrorKind::ContextTooLong, "too long"))
        }
        (5, Step::CallTools { calls }) => Input::Interrupted { partial: "p".into(), done: done(rng, calls) },
        (5, _) => Input::Interrupted { partial: ["", "p"][rng.usize(0..2)].into(), done: vec![] },
        (6, Step::CallTools { calls }) => Input::Stop { partial: "p".into(), done: done(rng, calls) },
        (6, _) => Input::Stop { partial: ["", "p"][rng.usize(0..2)].into(), done: vec![] },
        (4, _) if rng.u8(0..5) == 0 => Input::Broken { message: "disk full".into() },
        (_, Step::CallTools { calls }) => Input::ToolsDone(done(rng, calls)),
        _ => Input::Replied(reply(rng)),
    }
}

/// What may happen to an agent that rests. Every session is closed in the end.
pub(crate) fn after_rest(rng: &mut fastrand::Rng, elapsed_ms: u64) -> Input {
    match rng.u8(0..8) {
        _ if elapsed_ms > STEPS_MAX / 2 => Input::Close,
        0 => Input::Close,
        1 => Input::Cancel { partial: String::new(), done: vec![] },
        2 => Input::Stop { partial: String::new(), done: vec![] },
        3 => Input::Compact,
        _ => Input::Told { from: Sender::Person, text: "next".into() },
    }
}

fn simulate(seed: u64) -> usize {
    let mut rng = fastrand::Rng::with_seed(seed);
    let budget = Budget { turns: Some(rng.u32(1..60)), time_ms: Some(300), ..Budget::UNLIMITED };
    let context_window = rng.bool().then(|| rng.u64(400..6000));
    let (sum_up_over, stays) = (rng.bool().then_some(3), rng.bool());
    let mut agent = Agent::new(Settings { budget, context_window, sum_up_over, stays, ..settings() });
    let mut waiting_for = agent.handle(Input::Told { from: Sender::Person, text: "go".into() }, 0).step;
    for elapsed_ms in 1..STEPS_MAX {
        let json = serde_json::to_string(&agent).expect("serialises");
        let mut copy: Agent = serde_json::from_str(&json).expect("deserialises");
        assert_eq!(copy, agent);
        let input = if agent.is_resting() {
            after_rest(&mut rng, elapsed_ms)
        } else if agent.is_idle() {
            Input::Told { from: Sender::Reports, text: "a report".into() }
        } else {
            answer(&mut rng, &waiting_for)
        };
        let kin = Kin { live: usize::from(rng.u8(0..4) == 0), tokens: rng.u64(0..100), cost_usd: 0.0 };
        agent.set_kin(kin);
        copy.set_kin(kin);
        let output = agent.handle(input.clone(), elapsed_ms);
        assert_eq!(copy.handle(input, elapsed_ms), output, "a restored machine does the same");
        match output.step {
            Step::Settle(ending) => {
                assert_eq!(agent.ending(), Some(&ending));
                well_formed(&agent);
                return 1;
            }
            Step::Wait => {}
            Step::Rest(_) => {
                assert!(agent.is_resting() && agent.stays());
                well_formed(&agent);
            }
            step => waiting_for = step,
        }
        if matches!(waiting_for, Step::CallModel { .. }) {
            well_formed(&agent);
        }
    }
    panic!("still running after {STEPS_MAX} steps");
}

#[test]
fn invariants_hold_for_every_seed() {
    let mut settled = 0;
    for seed in 0..SEEDS {
        let result = std::panic::catch_unwind(|| simulate(seed));
        settled += result.unwrap_or_else(|_| panic!("seed {seed} broke an invariant"));
    }
    assert_eq!(settled, SEEDS as usize);
}
