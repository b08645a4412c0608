//! How a task does, in words: what a client shows that does not look at structured content. Pure.

use crate::look::{LookedAgent, TaskLook};
use crate::phase::TaskPhase;

/// A look, and the text of its report where there is one.
pub(crate) fn described(look: &TaskLook, report: Option<&str>) -> String {
    let mut lines = vec![format!("Task {} is {}: {}", look.task, state(look.state), look.status)];
    if look.agents.len() > 1 || !look.state.has_ended() {
        lines.extend(look.agents.iter().map(agent));
        if look.agents_more > 0 {
            lines.push(format!("  and {} more agents", look.agents_more));
        }
    }
    for open in &look.questions {
        let verb = if open.permission { "asks to be allowed" } else { "asks" };
        lines.push(format!("Question {}: {} {verb}: {}", open.key, open.agent, open.question));
        if !open.why.is_empty() {
            lines.push(format!("  ({})", open.why));
        }
        if !open.choices.is_empty() {
            lines.push(format!("  Proposed answers: {}", open.choices.join(" | ")));
        }
        if open.leaves_sandbox {
            lines.push("  It would leave the sandbox: it can only be refused here.".to_owned());
        }
    }
    lines.extend(look.notes.iter().map(|note| format!("Note: {note}")));
    lines.extend(report.map(|report| format!("\n{report}\n")));
    lines.push(look.next.clone());
    lines.join("\n")
}

fn state(state: TaskPhase) -> &'static str {
    match state {
        TaskPhase::Working => "working",
        TaskPhase::InputRequired => "waiting for an answer",
        TaskPhase::Completed => "completed",
        TaskPhase::Failed => "failed",
        TaskPhase::Cancelled => "cancelled",
    }
}

fn agent(agent: &LookedAgent) -> String {
    let indent = "  ".repeat(usize::try_from(agent.depth).unwrap_or(0).min(10) + 1);
    let title = agent.title.as_ref().map(|title| format!(" \"{title}\"")).unwrap_or_default();
    let doing = if agent.doing.is_empty() { String::new() } else { format!(": {}", agent.doing) };
    let on = agent.on.as_ref().map(|on| format!(" on {on}")).unwrap_or_default();
    format!("{indent}{} ({}){title} {}{on}{doing}", agent.name, agent.role, agent.state)
}
