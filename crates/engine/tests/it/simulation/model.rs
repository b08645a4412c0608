//! What random models say. Knows nothing of the tree.

use fastrand::Rng;
use posse_agent::Input;
use posse_protocol::{CallId, ModelError, ModelErrorKind, Reply, StopReason, ToolCall, Usage};

/// How the models of one seed are.
pub(super) struct Temper {
    /// Of 100 calls, how many start an agent.
    pub(super) delegates: u8,
    /// Of 100 replies, how many are calls.
    pub(super) works: u8,
    /// Whether every reply uses the same number of tokens; otherwise any number, or an unknown one.
    pub(super) steady: Option<u64>,
}

impl Temper {
    pub(super) fn new(rng: &mut Rng) -> Self {
        let steady = rng.bool().then(|| rng.u64(50..2_000));
        Self { delegates: rng.u8(5..70), works: rng.u8(50..97), steady }
    }

    /// How a model call ends by itself.
    pub(super) fn answer(&self, rng: &mut Rng, number: &mut u64) -> Input {
        if rng.u8(0..30) == 0 {
            return Input::ModelFailed(failure(rng));
        }
        let reply = if rng.u8(0..100) < self.works { self.calls(rng, number) } else { words(rng) };
        Input::Replied(Reply { usage: self.usage(rng), ..reply })
    }

    fn usage(&self, rng: &mut Rng) -> Usage {
        let (input, output) = match self.steady {
            Some(tokens) => (Some(tokens - 10), Some(10)),
            None => (rng.bool().then(|| rng.u64(0..3_000)), rng.bool().then(|| rng.u64(0..300))),
        };
        Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
    }

    fn calls(&self, rng: &mut Rng, number: &mut u64) -> Reply {
        let calls = (0..rng.usize(1..4)).map(|_| {
            *number += 1;
            let name = match rng.u8(0..100) {
                roll if roll < self.delegates => ["start", "start", "start", "continue"][rng.usize(0..4)],
                _ => ["read", "edit", "wait all", "wait any", "stop", "tell", "nope"][rng.usize(0..7)],
            };
            let arguments = match rng.u8(0..20) {
                0 => "{\"n\":".to_string(),
                1 => "{}".to_string(),
                _ => format!("{{\"n\":{number}}}"),
            };
            let id = if rng.u8(0..20) == 0 { String::new() } else { format!("c{number}") };
            ToolCall { id: CallId(id), name: name.to_string(), arguments }
        });
        Reply { calls: calls.collect(), stop: StopReason::ToolCalls, ..Reply::default() }
    }
}

fn words(rng: &mut Rng) -> Reply {
    let (text, stop) = match rng.u8(0..12) {
        0 => ("", StopReason::EndTurn),
        1 => ("this is only the first", StopReason::MaxTokens),
        2 => ("ok", StopReason::EndTurn),
        3 => ("I will not do that", StopReason::Refusal),
        4 => ("it went so and so", StopReason::Other("odd".into())),
        _ => ("all of it is done and checked", StopReason::EndTurn),
    };
    Reply { text: text.into(), stop, ..Reply::default() }
}

fn failure(rng: &mut Rng) -> ModelError {
    let kinds = [ModelErrorKind::ContextTooLong, ModelErrorKind::Overloaded, ModelErrorKind::CutOff];
    ModelError { partial: "half a".into(), ..ModelError::new(kinds[rng.usize(0..3)], "it failed") }
}
