//! One set of words for what is shown of a session, wherever it is shown.
//!
//! The words of numbers come from `protocol`, since reports use them as well. What agents and models wrote stands in these
//! texts as they wrote it.

pub use posse_protocol::words::{counted, duration, grouped, plural};

use std::borrow::Cow;

use posse_protocol::{Answer, Attachment, HookDecision, QueueReason, Receipt, Usage};

use crate::{Activity, AgentView, Figures};
use posse_protocol::AgentState;

/// How an agent or a session does.
pub fn state(state: AgentState) -> &'static str {
    match state {
        AgentState::NeedsPerson => "needs you",
        AgentState::Cancelled => "stopped",
        AgentState::TimedOut => "out of time",
        AgentState::OutOfTurns => "out of turns",
        AgentState::OutOfTokens => "out of tokens",
        AgentState::OutOfMoney => "out of money",
        state => state.word(),
    }
}

/// The same in one character. `blocked`: it says that something was in its way, so it is no plain success.
pub fn mark(state: AgentState, blocked: bool) -> &'static str {
    match state {
        AgentState::Completed if blocked => "!",
        AgentState::Completed => "✓",
        AgentState::Cancelled => "■",
        AgentState::Running => "●",
        AgentState::Resting => "○",
        AgentState::Interrupted => "‖",
        AgentState::NeedsPerson => "?",
        AgentState::Pending | AgentState::Queued => "…",
        _ => "✗",
    }
}

/// What an agent does right now; empty if nothing.
pub fn doing(doing: &Activity) -> String {
    match doing {
        Activity::Starting => "starting".to_owned(),
        Activity::Queued { reason, at } => why_queued(*reason, at.as_deref()),
        Activity::GoingOn => "going on".to_owned(),
        Activity::WaitingForTurn => "waiting for its turn at the model".to_owned(),
        Activity::WaitingForModel => "waiting for the model".to_owned(),
        Activity::Retrying { attempt, attempts_max, delay_ms, reason } => {
            let of = if *attempts_max > 0 { format!(" of {attempts_max}") } else { String::new() };
            format!("{reason} · try {}{of} in {}", attempt.saturating_add(1), duration(*delay_ms))
        }
        Activity::Thinking => "thinking".to_owned(),
        Activity::Writing => "writing".to_owned(),
        Activity::WritingCall { tool } => format!("writing a {tool} call"),
        Activity::LookingAtFiles { files } => {
            format!("looking at the workspace before the first command: {}", counted(*files, "file"))
        }
        Activity::Calling { title } => title.clone(),
        Activity::AskingPerson { tool, what } => format!("needs you: {tool} {what}"),
        Activity::AskingQuestion { question } => format!("asks you: {question}"),
        Activity::WaitingForSubAgents => "waiting for sub-agents".to_owned(),
        Activity::Nothing => String::new(),
    }
}

/// What an agent does now, or for how long its reply has stood still, once that is worth telling.
pub fn now(agent: &AgentView, now_ms: u64) -> String {
    match agent.silent_ms(now_ms) {
        Some(silent_ms) => format!("no answer for {} s", silent_ms / 1000),
        None => doing(&counted_down(&agent.doing, now_ms.saturating_sub(agent.last_at_ms))),
    }
}

/// The same activity some time later: what is waited for comes nearer.
fn counted_down(doing: &Activity, later_ms: u64) -> Cow<'_, Activity> {
    match doing {
        Activity::Retrying { attempt, attempts_max, delay_ms, reason } => Cow::Owned(Activity::Retrying {
            attempt: *attempt,
            attempts_max: *attempts_max,
            delay_ms: delay_ms.saturating_sub(later_ms),
            reason: reason.clone(),
        }),
        doing => Cow::Borrowed(doing),
    }
}

/// Why an agent has not begun, and what to change about it.
pub fn why_queued(reason: QueueReason, at: Option<&str>) -> String {
    match (reason, at) {
        (QueueReason::RunningCap, _) => "queued: as many agents run as may (max_running)".to_owned(),
        (QueueReason::ProcessCap, _) => {
            "queued: as many agents run in this process as may (max_running_in_process)".to_owned()
        }
        (QueueReason::Endpoint, None) => "queued: one at a time at its model (max_concurrent)".to_owned(),
        (QueueReason::Endpoint, Some(at)) => format!("queued: one at a time on {at} (max_concurrent)"),
    }
}

/// Where an agent runs; none if at home.
pub fn on(agent: &AgentView) -> Option<String> {
    agent.on.as_ref().map(|worker| format!("on {worker}"))
}

/// That a worker runs an agent from now on. It was moved if another had it before.
pub fn placed(worker: &str, epoch: u64) -> String {
    match epoch {
        0 | 1 => format!("runs on {worker}"),
        _ => format!("moved to {worker}: the worker before was lost"),
    }
}

/// What a hook came to, if that is worth a line: most say nothing.
pub fn hook_ran(hook: &str, event: &str, decision: HookDecision, message: &str) -> Option<String> {
    let did = match decision {
        HookDecision::Nothing if message.is_empty() => return None,
        HookDecision::Nothing => "says",
        HookDecision::Context => "told the model something",
        HookDecision::Rewrite => "changed the call or its result",
        HookDecision::Allow => "allowed it",
        HookDecision::Ask => "wants you to be asked",
        HookDecision::Deny => "said no",
        HookDecision::Stop => "stopped everything",
        HookDecision::Failed => "failed",
    };
    let message = if message.is_empty() { String::new() } else { format!(": {message}") };
    Some(format!("hook {hook} ({event}) {did}{message}"))
}

/// The turn an agent is in: `turn 3`, or `turn 3/50` where its turns are limited.
pub fn turn(agent: &AgentView) -> String {
    match agent.budget.turns {
        Some(turns_max) => format!("turn {}/{turns_max}", agent.turn),
        None => format!("turn {}", agent.turn),
    }
}

/// Tokens, as far as reported.
pub fn tokens(usage: Usage) -> String {
    match (usage.total_tokens(), usage.cached_tokens) {
        (None, _) => "tokens not reported".to_owned(),
        (Some(total), Some(cached)) if cached > 0 => {
            format!("{} ({} cached)", counted(total, "token"), grouped(cached))
        }
        (Some(total), _) => counted(total, "token"),
    }
}

/// The tokens of an agent, and of all below it where those are others.
pub fn tokens_in_all(own: Usage, in_all: Usage) -> String {
    let own_total = own.total_tokens();
    let text = own_total.map_or_else(|| tokens(own), |total| counted(total, "token"));
    match in_all.total_tokens().filter(|in_all| Some(*in_all) != own_total) {
        Some(in_all) => format!("{text} ({} in all)", grouped(in_all)),
        None => text,
    }
}

/// What something cost; at least, where not all of it is known.
pub fn cost(usd: f64, more: bool) -> String {
    format!("{}${usd:.4}", if more { "≥ " } else { "" })
}

/// The cost of an agent, and of all below it where that is another; none where nothing is known.
pub fn cost_in_all(own: &Figures, in_all: &Figures) -> Option<String> {
    let text = |figures: &Figures| figures.cost_usd.map(|usd| cost(usd, figures.cost_unknown > 0));
    let own = text(own);
    let in_all = text(in_all).filter(|in_all| Some(in_all) != own.as_ref());
    match (own, in_all.map(|in_all| format!("{in_all} in all"))) {
        (Some(own), Some(in_all)) => Some(format!("{own} ({in_all})")),
        (own, in_all) => own.or(in_all),
    }
}

/// What an agent took, part by part: turns, calls, tokens, cost, sub-agents, time.
pub fn spent(receipt: &Receipt) -> Vec<String> {
    let mut parts = vec![
        counted(receipt.turns.into(), "turn"),
        counted(receipt.tool_calls.into(), "tool call"),
        tokens(receipt.usage),
    ];
    parts.extend(receipt.cost_usd.map(|usd| cost(usd, false)));
    if receipt.below.agents > 0 {
        let agents = counted(receipt.below.agents.into(), "sub-agent");
        let tokens = receipt.tokens_in_all().map(|total| format!(": {} in all", counted(total, "token")));
        let usd = receipt.below.cost_usd.and_then(|_| receipt.cost_in_all());
        let usd = usd.map(|usd| format!(", {}", cost(usd, false))).unwrap_or_default();
        parts.push(format!("{agents}{}{usd}", tokens.unwrap_or_default()));
    }
    parts.push(duration(receipt.duration_ms));
    parts
}

/// That agents do not run, because their session was interrupted.
pub fn interrupted(agents: u64) -> String {
    let verb = if agents == 1 { "does" } else { "do" };
    format!("interrupted: {} {verb} not run now", counted(agents, "agent"))
}

/// That a session was interrupted, or left by the person, at some time.
pub fn was_interrupted(agents: u64, detached: bool) -> String {
    let how = if detached { "left" } else { "interrupted" };
    format!("the session was {how} with {} that had not ended", counted(agents, "agent"))
}

/// That an agent works on another model than was asked for.
pub fn missing_model(name: &str, asked: &str, model: &str) -> String {
    format!("{name} asks for the model \"{asked}\", which is not configured: it runs on {model}")
}

/// How a command ended that ran beside the agents.
pub fn command_ended(exit_code: Option<i32>) -> String {
    exit_code.map_or_else(|| "stopped".to_owned(), |code| format!("exit code {code}"))
}

/// What a person answered; none where nobody did.
pub fn answer(answer: &Answer) -> Option<String> {
    match answer {
        Answer::Once => Some("yes, once".to_owned()),
        Answer::Session => Some("yes, in this session".to_owned()),
        Answer::Pattern { pattern } => Some(format!("yes, whenever it is {pattern}")),
        Answer::No { reason } => Some(format!("no {reason}").trim_end().to_owned()),
        Answer::Said { text } => Some(text.clone()),
        Answer::Nobody | Answer::Withdrawn => None,
    }
}
/// What somebody said, and the names of what they showed with it.
pub fn said_and_shown<'a>(text: &'a str, attachments: &[Attachment]) -> Cow<'a, str> {
    if attachments.is_empty() {
        return Cow::Borrowed(text);
    }
    let shown = attachments.iter().map(|attachment| format!("\n[{attachment}]"));
    Cow::Owned(format!("{}{}", text.trim_end(), shown.collect::<String>()))
}

/// What fills a context window, a line each: how full it is, then its parts with their tokens and a bar. The parts are given as
/// what they are, the tool they are of, and their tokens.
pub fn context_lines<'a>(
    used: u64,
    window: Option<u64>,
    parts: impl IntoIterator<Item = (&'a str, Option<&'a str>, u64)>,
) -> Vec<String> {
    let parts: Vec<_> = parts.into_iter().collect();
    let all = parts.iter().map(|(_, _, tokens)| *tokens).sum::<u64>().max(1);
    let full = window.map(|window| {
        let percent = used.saturating_mul(100) / window.max(1);
        format!(" of {} ({percent}%)", grouped(window))
    });
    let mut lines = vec![format!("{} tokens{}", grouped(used), full.unwrap_or_default())];
    for (what, tool, tokens) in parts {
        let width = usize::try_from(tokens.saturating_mul(20).div_ceil(all)).unwrap_or(0).min(20);
        let name = tool.map_or_else(|| what.to_owned(), |tool| format!("{what}: {tool}"));
        lines.push(format!("{:<20} {:>9}  {name}", "█".repeat(width), grouped(tokens)));
    }
    lines
}
