//! A session as a text to read: its tree, what was said, what was done, what it came to. Pure; it must not know where
//! the events come from. What strangers wrote is quoted line by line or fenced, so that it cannot pass for the rest.

use std::collections::{BTreeMap, HashMap};

use posse_engine::record::{AgentRow, SessionRow};
use posse_engine::reports::files;
use posse_protocol::{AgentId, CallId, Event, EventKind, Receipt, Report, Sender};

use crate::display::{measured, tokens, tree};
use crate::output::{Style, counted, duration, local_time, one_line, trimmed, visible};

/// Characters of a tool's result that are kept.
const RESULT_CHARS_MAX: usize = 2000;
/// Columns of the tree.
const TREE_COLUMNS: usize = 120;
/// Files that a line names.
const FILES_A_LINE: usize = 10;
/// Lines of files beside what was measured.
const FILE_LINES_MAX: usize = 4;

/// Turns events into Markdown, one after the other.
#[derive(Default)]
pub(super) struct Transcript {
    names: HashMap<AgentId, String>,
    /// Calls that wait for their result, with which they are shown.
    open: BTreeMap<(AgentId, CallId), String>,
    /// What each agent said last.
    last: HashMap<AgentId, String>,
}

impl Transcript {
    /// What stands above the conversation.
    pub(super) fn head(&mut self, session: &SessionRow, agents: &[AgentRow]) -> String {
        let title = one_line(session.title.as_deref().unwrap_or("A session"), 120);
        let cost = session.cost_usd.map_or_else(|| "not known".to_string(), |cost| format!("${cost:.4}"));
        let facts = [
            ("session", code(&session.id.to_string())),
            ("started", local_time(session.started_at_ms)),
            ("workspace", code(&session.workspace)),
            ("model", code(session.model.as_deref().unwrap_or("?"))),
            ("status", session.status.clone()),
            ("took", format!("{}, {}", counted(session.turns, "turn"), tokens(session.usage))),
            ("cost", cost),
        ];
        let mut text = format!("# {}\n\n", escaped(&title));
        for (what, value) in facts {
            text.push_str(&format!("- {what}: {value}\n"));
        }
        text.push_str(&format!(
            "\n## Agents\n\n{}",
            fenced(&tree::agents(Style::plain(), agents, TREE_COLUMNS, crate::output::now_ms()))
        ));
        text.push_str("\n## What happened\n");
        text
    }

    /// One event; nothing for those that only matter to programs.
    pub(super) fn event(&mut self, event: &Event) -> String {
        let who = self.learn(event);
        let text = match &event.kind {
            EventKind::SessionInterrupted { agents, detached } => {
                let how = if *detached { "left" } else { "interrupted" };
                let open = counted(agents.len() as u64, "agent");
                format!("*The session was {how} with {open} that had not ended.*\n")
            }
            EventKind::SessionResumed { .. } => "*The session goes on.*\n".to_string(),
            EventKind::AgentAdmitted { role, title, .. } => {
                format!(
                    "**{who}** ({}) is to: {}\n",
                    escaped(&one_line(role, 60)),
                    escaped(&one_line(title, 300))
                )
            }
            EventKind::Told { from, text } => format!("**{}:**\n\n{}", speaker(*from, &who), quoted(text)),
            EventKind::Replied { turn, reply, .. } => {
                self.last.insert(event.agent, reply.text.clone());
                let words = quoted(&reply.text);
                if words.is_empty() {
                    return String::new();
                }
                format!("**{who}** (turn {turn}, {}):\n\n{words}", tokens(reply.usage))
            }
            EventKind::CutShort { text, .. } if !text.trim().is_empty() => {
                format!("**{who}**, cut short:\n\n{}", quoted(text))
            }
            EventKind::ToolStarted { call, title, .. } => {
                self.open.insert((event.agent, call.clone()), one_line(title, 300));
                return String::new();
            }
            EventKind::ToolFinished { call, tool, ok, text, duration_ms, .. } => {
                let title = self.open.remove(&(event.agent, call.clone()));
                let title = title.unwrap_or_else(|| one_line(tool, 60));
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
            _ => return String::new(),
        };
        format!("\n{text}")
    }

    /// The calls that never got a result.
    pub(super) fn unanswered(&mut self) -> String {
        let mut text = String::new();
        for ((agent, _), title) in std::mem::take(&mut self.open) {
            let who = self.names.get(&agent).map_or("main", String::as_str);
            text.push_str(&format!("\n**{who}** {}: no result\n", code(&title)));
        }
        text
    }

    /// The name of the agent that something happened to, ready to be written.
    fn learn(&mut self, event: &Event) -> String {
        if let EventKind::AgentAdmitted { name, .. } = &event.kind {
            self.names.insert(event.agent, escaped(&one_line(name, 60)));
        }
        self.names.get(&event.agent).cloned().unwrap_or_else(|| "main".to_string())
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
    let cost = receipt.cost_usd.map(|cost| format!(", ${cost:.4}")).unwrap_or_default();
    let mut text = format!(
        "- took: {}, {}, {}{cost}, {}\n",
        counted(receipt.turns.into(), "turn"),
        counted(receipt.tool_calls.into(), "tool call"),
        tokens(receipt.usage),
        duration(receipt.duration_ms),
    );
    text.push_str(&format!("- measured: {}\n", escaped(&measured::line(receipt))));
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

#[cfg(test)]
mod tests {
    use posse_protocol::Ending;

    use super::*;
    use crate::display::sample::*;

    #[test]
    fn a_session_reads_from_top_to_bottom() {
        let settled = |text| EventKind::AgentSettled { report: report(Ending::Completed, text) };
        let events = [
            event(1, 0, told(Sender::Person, "fix it\n# now")),
            event(2, 1, admitted("explore-1", 1, "find *it*")),
            event(2, 1, tool_started("c", "grep `Foo`")),
            event(2, 1, tool_finished("c", "```\n3 matches\n```")),
            event(2, 1, replied("Found.", 5)),
            event(2, 1, settled("Found.")),
            event(1, 0, tool_started("d", "shell sleep 9")),
            event(1, 0, EventKind::SessionInterrupted { agents: vec![id(1)], detached: false }),
        ];
        let mut transcript = Transcript::default();
        let mut text = events.iter().map(|event| transcript.event(event)).collect::<String>();
        text.push_str(&transcript.unanswered());
        let expected = "
**you to main:**

> fix it
> # now

**explore-1** (explore) is to: find \\*it\\*

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
