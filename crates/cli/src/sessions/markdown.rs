//! A session as a text to read: its tree, what was said, what was done, what it came to. Pure; it must not know where
//! the events come from. What strangers wrote is quoted line by line or fenced, so that it cannot pass for the rest.

use std::collections::HashMap;

use posse_protocol::{AgentId, Event, EventKind, Receipt, Report, Sender};
use posse_report::{facts_line, files};
use posse_view::{FoldError, OpenCall, SessionView, words};

use crate::display::{measured, tree};
use crate::limits::{FILE_LINES_MAX, RESULT_CHARS_MAX};
use crate::output::{Style, counted, duration, local_time, one_line, trimmed, visible};
use crate::recorded::fold;

/// Columns of the tree.
const TREE_COLUMNS: usize = 120;
/// Files that a line names.
const FILES_A_LINE: usize = 10;

/// What stands above the conversation.
pub(super) fn head(view: &SessionView) -> String {
    let title = one_line(view.title.as_deref().unwrap_or("A session"), 120);
    let (all, id) = (view.in_all, view.session.map(|id| id.to_string()).unwrap_or_default());
    let facts = [
        ("session", code(&id)),
        ("started", local_time(view.started_at_ms)),
        ("workspace", code(&view.workspace)),
        ("model", code(view.model.as_deref().unwrap_or("?"))),
        ("status", words::state(view.state).to_string()),
        ("took", format!("{}, {}", counted(all.turns, "turn"), words::tokens(all.usage))),
        ("cost", all.cost_usd.map_or_else(|| "not known".to_string(), |usd| words::cost(usd, false))),
    ];
    let mut text = format!("# {}\n\n", escaped(&title));
    for (what, value) in facts {
        text.push_str(&format!("- {what}: {value}\n"));
    }
    let tree = tree::agents(Style::plain(), view, TREE_COLUMNS, crate::output::now_ms());
    text.push_str(&format!("\n## Agents\n\n{}\n## What happened\n", fenced(&tree)));
    text
}

/// Turns events into Markdown, one after the other.
#[derive(Default)]
pub(super) struct MarkdownTranscript {
    view: SessionView,
    /// What each agent said last.
    last: HashMap<AgentId, String>,
}

impl MarkdownTranscript {
    /// One event; nothing for those that only matter to programs.
    pub(super) fn event(&mut self, event: &Event) -> Result<String, FoldError> {
        let call = fold(&mut self.view, event)?.call;
        let text = self.text(event, call);
        Ok(if text.is_empty() { text } else { format!("\n{text}") })
    }

    /// `call`: the one that it ends.
    fn text(&mut self, event: &Event, call: Option<OpenCall>) -> String {
        let who = self.name(event.agent);
        match &event.kind {
            EventKind::SessionInterrupted { agents, detached } => {
                let told = words::was_interrupted(agents.len() as u64, *detached);
                format!("*{}.*\n", told.replacen("the", "The", 1))
            }
            EventKind::SessionResumed { .. } => "*The session goes on.*\n".to_string(),
            EventKind::AgentAdmitted { role, title, .. } => {
                format!(
                    "**{who}** ({}) task: {}\n",
                    escaped(&one_line(role, 60)),
                    escaped(&one_line(title, 300))
                )
            }
            EventKind::AgentPlaced { worker, epoch, .. } => {
                let told = words::placed(&one_line(worker, 100), *epoch);
                format!("*{who} {}.*\n", escaped(&told))
            }
            EventKind::Told { from, text, attachments, .. } => {
                let said = words::said_and_shown(text, attachments);
                format!("**{}:**\n\n{}", speaker(*from, &who), quoted(&said))
            }
            EventKind::Replied { turn, reply, .. } => {
                self.last.insert(event.agent, reply.text.clone());
                let said = quoted(&reply.text);
                let head = format!("**{who}** (turn {turn}, {}):\n\n", words::tokens(reply.usage));
                if said.is_empty() { said } else { format!("{head}{said}") }
            }
            EventKind::CutShort { text, .. } if !text.trim().is_empty() => {
                format!("**{who}**, cut short:\n\n{}", quoted(text))
            }
            EventKind::ToolFinished { tool, ok, text, duration_ms, .. } => {
                let title = call.map_or_else(|| one_line(tool, 60), |call| one_line(&call.title, 300));
                let how = if *ok { "" } else { "failed, " };
                let result = fenced(&shortened(text));
                format!("**{who}** {} ({how}{}):\n\n{result}", code(&title), duration(*duration_ms))
            }
            EventKind::ModelFailed { error, .. } => {
                format!("**{who}**: the model failed:\n\n{}", quoted(&error.message))
            }
            EventKind::Compacted { .. } => format!("*The conversation of {who} was shortened.*\n"),
            EventKind::Undone { what, .. } => format!("*Undone: {}.*\n", escaped(&one_line(what, 300))),
            EventKind::AgentSettled { report } => self.settled(event.agent, &who, report),
            _ => String::new(),
        }
    }

    /// The calls that never got a result.
    pub(super) fn unanswered(&self) -> String {
        let mut text = String::new();
        for agent in &self.view.agents {
            for call in &agent.calls {
                let title = code(&one_line(&call.title, 300));
                text.push_str(&format!("\n**{}** {title}: no result\n", self.name(agent.id)));
            }
        }
        text
    }

    /// The name of an agent, ready to be written.
    fn name(&self, agent: AgentId) -> String {
        let name = self.view.agents.get(agent).map_or("main", |agent| agent.name.as_str());
        escaped(&one_line(name, 60))
    }

    fn settled(&mut self, agent: AgentId, who: &str, report: &Report) -> String {
        let mut text = format!("### {who}: {}\n", escaped(&one_line(&report.outcome(), 300)));
        // Its last words stand above already, if those are the report.
        let said = self.last.remove(&agent).unwrap_or_default();
        if said.trim() != report.text.trim() {
            text.push_str(&format!("\n{}", quoted(&report.text)));
        }
        text.push_str(&format!("\n{}", receipt(&report.receipt)));
        for warning in report.remarks() {
            text.push_str(&format!("- warning: {}\n", escaped(&one_line(warning, 300))));
        }
        text
    }
}

/// What was measured.
fn receipt(receipt: &Receipt) -> String {
    let mut text = format!("- took: {}\n", words::spent(receipt).join(", "));
    text.push_str(&format!("- measured: {}\n", escaped(&measured::line(&facts_line(receipt)))));
    // The first of them were named there.
    for more in receipt.files_in_all().chunks(FILES_A_LINE).skip(1).take(FILE_LINES_MAX) {
        text.push_str(&format!("- also changed: {}\n", escaped(&files(more))));
    }
    for denial in &receipt.denied {
        let what = code(&one_line(&format!("{} {}", denial.tool, denial.what), 200));
        text.push_str(&format!("- denied: {what} ({})\n", escaped(&one_line(&denial.reason, 200))));
    }
    text
}

fn speaker(from: Sender, who: &str) -> String {
    match from {
        Sender::Person => format!("you to {who}"),
        Sender::Posse => format!("posse to {who}"),
        Sender::Parent => format!("the task of {who}"),
        Sender::Reports => format!("reports to {who}"),
        Sender::Peer => format!("a letter to {who}"),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(RESULT_CHARS_MAX) {
        Some((at, _)) => format!("{}\n… {} more bytes", &text[..at], text.len() - at),
        None => text.to_string(),
    }
}

/// Every line behind a mark.
fn quoted(text: &str) -> String {
    visible(trimmed(text)).lines().map(|line| format!("> {line}\n")).collect()
}

/// A block of text as it is, with a fence that it does not hold.
fn fenced(text: &str) -> String {
    let text = visible(text.trim_end_matches(['\n', ' ']));
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}\n")
}

/// A piece of a line as it is.
fn code(text: &str) -> String {
    let text = one_line(text, 400);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if fence.len() > 1 { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Words of a stranger within a line of ours.
fn escaped(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for c in visible(text).chars() {
        if matches!(c, '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '\\' | '|') {
            kept.push('\\');
        }
        kept.push(c);
    }
    kept
}

/// The conversation as it is exported, without its head.
#[cfg(test)]
pub(crate) fn markdown_of(events: &[Event]) -> String {
    let mut transcript = MarkdownTranscript::default();
    let mut text = events.iter().map(|event| transcript.event(event).unwrap()).collect::<String>();
    text.push_str(&transcript.unanswered());
    text
}

#[cfg(test)]
mod tests {
    use posse_protocol::Ending;

    use super::*;
    use crate::display::sample::*;

    #[test]
    fn a_session_reads_from_top_to_bottom() {
        let settled = |text| EventKind::AgentSettled { report: report(Ending::Completed, text) };
        let events = [
            event(1, 0, started(0, None)),
            event(1, 0, told(Sender::Person, "fix it\n# now")),
            event(2, 1, admitted("explore-1", 1, "find *it*")),
            event(2, 1, tool_started("c", "grep `Foo`")),
            event(2, 1, tool_finished("c", "```\n3 matches\n```")),
            event(2, 1, replied("Found.", 5)),
            event(2, 1, settled("Found.")),
            event(1, 0, tool_started("d", "shell sleep 9")),
            event(1, 0, EventKind::SessionInterrupted { agents: vec![id(1)], detached: false }),
        ];
        let mut transcript = MarkdownTranscript::default();
        let events = numbered(events.to_vec());
        let mut text = events.iter().map(|event| transcript.event(event).unwrap()).collect::<String>();
        text.push_str(&transcript.unanswered());
        let expected = "
**you to main:**

> fix it
> # now

**explore-1** (explore) task: find \\*it\\*

**explore-1** `` grep `Foo` `` (0.0 s):

````text
```
3 matches
```
````

**explore-1** (turn 1, 5 tokens):

> Found.

### explore-1: completed

- took: 6 turns, 8 tool calls, tokens not reported, 34 s
- measured: no commands run; tests failed: \\`cargo test\\` (exit code 101, 4 of 5 passed); no commits; no sub-agents; 1 file changed (+82 -0): tests/auth.rs (+82 lines, new file)

*The session was interrupted with 1 agent that had not ended.*

**main** `shell sleep 9`: no result
";
        assert_eq!(text, expected);
    }

    #[test]
    fn every_changed_file_is_named_once() {
        let mut many = report(Ending::Completed, "").receipt;
        let file = many.files[0].clone();
        many.files = (1..=23)
            .map(|n| posse_protocol::FileChange { path: format!("f{n}.rs"), ..file.clone() })
            .collect();
        let text = receipt(&many);
        for n in 1..=23 {
            assert_eq!(text.matches(&format!(" f{n}.rs (")).count(), 1, "f{n}.rs\n{text}");
        }
    }

    #[test]
    fn long_results_are_cut_and_say_so() {
        let text = shortened(&"日".repeat(RESULT_CHARS_MAX + 5));
        assert!(text.ends_with("日\n… 15 more bytes"), "{text}");
        assert_eq!(shortened("short"), "short");
    }
}
