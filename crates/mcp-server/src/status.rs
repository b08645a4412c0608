//! How a task does, in a line, and what its client does next. Pure.

use posse_protocol::visible::one_line;
use posse_view::{AgentView, SessionView, words};

use crate::limits;
use crate::phase::TaskPhase;

/// How a task does: `3 of 5 sub-agents done · 41k tokens`.
pub(crate) fn status_line(state: TaskPhase, view: &SessionView) -> String {
    let mut parts = Vec::new();
    let sub_agents = view.sub_agents().count();
    let done = view.sub_agents().filter(|agent| agent.has_ended()).count();
    if sub_agents > 0 {
        parts.push(format!("{done} of {} done", words::counted(sub_agents as u64, "sub-agent")));
    }
    match (state, view.main()) {
        (TaskPhase::Working, Some(main)) => parts.extend(doing(main)),
        (TaskPhase::Working, None) => parts.push("starting".to_owned()),
        (TaskPhase::InputRequired, _) => {
            parts.push(format!("{} open", words::counted(view.questions.len() as u64, "question")));
        }
        (TaskPhase::Failed, Some(main)) => parts.push(why(main)),
        (TaskPhase::Completed, _) => parts.push("completed".to_owned()),
        (TaskPhase::Cancelled, _) => parts.push("cancelled".to_owned()),
        (TaskPhase::Failed, None) => parts.push("failed".to_owned()),
    }
    parts.extend(view.in_all.usage.total_tokens().map(|tokens| format!("{} tokens", rounded(tokens))));
    parts.join(" · ")
}

/// What the main agent does, if it is not only waiting for others.
fn doing(main: &AgentView) -> Option<String> {
    let doing = one_line(&words::doing(&main.doing), limits::LINE_CHARS_MAX);
    (!doing.is_empty()).then_some(doing)
}

/// Why a task did not end well.
pub(crate) fn why(main: &AgentView) -> String {
    let ending = main.report.as_ref().map(|report| report.ending.to_string());
    let text = main.error.clone().or(ending).unwrap_or_else(|| words::state(main.state).to_owned());
    one_line(&text, limits::LINE_CHARS_MAX)
}

/// A number as people say it: 950, 1.2k, 41k, 3.4M.
fn rounded(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..10_000 => format!("{}.{}k", number / 1_000, number % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", number / 1_000),
        _ => format!("{}.{}M", number / 1_000_000, number % 1_000_000 / 100_000),
    }
}

/// What a client does next.
pub(crate) fn what_next(state: TaskPhase, view: &SessionView) -> String {
    let text = match state {
        TaskPhase::Working => {
            "The task goes on without you. Call status or report with its id later; do not start it again."
        }
        TaskPhase::InputRequired => {
            "Answer the open questions with answer, by their keys; the task waits for that. Ask your user where you are not sure."
        }
        TaskPhase::Completed => "Read the report; its warnings are claims that the facts do not support.",
        TaskPhase::Failed if view.interrupted().is_some() => {
            "Its process is gone. Start a new task, or ask the person to continue this one with posse resume."
        }
        TaskPhase::Failed => {
            "Read the report for what was done so far, then decide whether to start another task."
        }
        TaskPhase::Cancelled => "It was stopped; the report has what was done until then.",
    };
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let cases = [
            (0, "0"),
            (950, "950"),
            (1_250, "1.2k"),
            (41_900, "41k"),
            (999_999, "999k"),
            (3_420_000, "3.4M"),
        ];
        for (number, text) in cases {
            assert_eq!(rounded(number), text);
        }
    }
}
