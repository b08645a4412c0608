//! A recorded session as people read it, event by event. Pure; it must not know where the events come from.

use std::collections::{BTreeMap, HashMap};

use posse_protocol::{AgentId, Answer, CallId, Event, EventKind, Report, Sender};

use crate::display::{ending_line, measured, not_covered, read_only_for_commands, why_queued};
use crate::output::{Style, counted, duration, one_line, trimmed, visible};

/// Characters of a tool's result, a report or a reason that are shown.
const RESULT_CHARS_MAX: usize = 160;
/// Characters of a message that are shown.
const MESSAGE_CHARS_MAX: usize = 2000;
/// Levels that are indented.
const LEVELS_INDENTED_MAX: u32 = 12;

/// Turns events into text. What a sub-agent did carries its name and is indented by its depth.
pub(crate) struct Steps {
    style: Style,
    /// Names and depths of the sub-agents so far.
    names: HashMap<AgentId, (String, u32)>,
    /// Calls that wait for their result, with which they are shown.
    open: BTreeMap<(AgentId, CallId), String>,
}

impl Steps {
    pub(crate) fn new(style: Style) -> Self {
        Self { style, names: HashMap::new(), open: BTreeMap::new() }
    }

    /// One event; nothing for those that only matter to programs.
    pub(crate) fn lines(&mut self, event: &Event) -> String {
        self.learn(event);
        let text = match event.parent {
            None => self.text(event, None),
            Some(parent) => {
                let name = self.name(event.agent);
                self.text(event, Some((&name, &self.name(parent))))
            }
        };
        self.indented(event.agent, &text)
    }

    /// The calls that never got a result.
    pub(crate) fn unanswered(&mut self) -> String {
        let mut text = String::new();
        for ((agent, _), title) in std::mem::take(&mut self.open) {
            let who = self.names.get(&agent).map(|(name, _)| format!("{name} ")).unwrap_or_default();
            let lines = self.style.dim(&format!("  {who}• {title}\n    … no result\n"));
            text.push_str(&self.indented(agent, &lines));
        }
        text
    }

    fn learn(&mut self, event: &Event) {
        let (name, depth) = match &event.kind {
            EventKind::AgentAdmitted { name, depth, .. } => (name, *depth),
            EventKind::AgentStarted { role, depth, .. } if !self.names.contains_key(&event.agent) => {
                (role, *depth)
            }
            _ => return,
        };
        if event.parent.is_some() {
            self.names.insert(event.agent, (one_line(name, 60), depth));
        }
    }

    fn name(&self, agent: AgentId) -> String {
        self.names.get(&agent).map_or_else(|| "main".to_string(), |(name, _)| name.clone())
    }

    fn indented(&self, agent: AgentId, text: &str) -> String {
        let depth = self.names.get(&agent).map_or(0, |(_, depth)| (*depth).min(LEVELS_INDENTED_MAX));
        let indent = "  ".repeat(usize::try_from(depth).unwrap_or(0));
        if indent.is_empty() {
            return text.to_string();
        }
        text.split_inclusive('\n').map(|line| format!("{indent}{line}")).collect()
    }

    /// `names`: those of the sub-agent it happened to and of its parent; none for the main agent.
    fn text(&mut self, event: &Event, names: Option<(&str, &str)>) -> String {
        let style = self.style;
        let who = names.map(|(name, _)| format!("{name} ")).unwrap_or_default();
        match &event.kind {
            EventKind::CutShort { text, .. } if !text.trim().is_empty() => {
                let label = format!("{}:", names.map_or("agent", |(name, _)| name));
                format!("{} {}\n{}", style.cyan(&label), said(text), style.yellow("  … cut short\n"))
            }
            EventKind::Told { from, text } => words(style, names, *from, text),
            EventKind::Replied { reply, .. } if !reply.text.trim().is_empty() => {
                let label = format!("{}:", names.map_or("agent", |(name, _)| name));
                format!("{} {}\n", style.cyan(&label), said(&reply.text))
            }
            EventKind::ToolStarted { call, title, .. } => {
                self.open.insert((event.agent, call.clone()), one_line(title, 200));
                String::new()
            }
            EventKind::ToolFinished { call, tool, ok, text, duration_ms, .. } => {
                let title = self.open.remove(&(event.agent, call.clone()));
                let title = title.unwrap_or_else(|| one_line(tool, 60));
                let (mark, text) = (if *ok { "→" } else { "✗" }, one_line(trimmed(text), RESULT_CHARS_MAX));
                style.dim(&format!("  {who}• {title}\n    {mark} {text}  ({})\n", duration(*duration_ms)))
            }
            EventKind::Retrying { attempt, reason, .. } => {
                style.yellow(&format!("  {who}retry {attempt}: {}\n", one_line(reason, RESULT_CHARS_MAX)))
            }
            EventKind::ModelFailed { error, .. } => {
                style.red(&format!("  {who}model: {}\n", one_line(&error.to_string(), MESSAGE_CHARS_MAX)))
            }
            EventKind::Compacted { summary, .. } => {
                style.dim(&format!("  {who}shortened: {}\n", one_line(summary, RESULT_CHARS_MAX)))
            }
            EventKind::PersonNeeded { question } => style.yellow(&format!(
                "{who}asks to use {}: {}\n",
                one_line(&question.tool, 60),
                one_line(&question.what, RESULT_CHARS_MAX)
            )),
            EventKind::PersonAnswered { answer, .. } => answered(style, answer),
            EventKind::Merged { branch, changes, conflicts, .. } => style.dim(&format!(
                "  {who}merged {}: {} changed, {} in conflict\n",
                one_line(branch, 100),
                counted(changes.len() as u64, "file"),
                conflicts.len()
            )),
            EventKind::NotCovered { what, read_only } => {
                let lines = [not_covered(what), read_only_for_commands(read_only)];
                lines.iter().flatten().map(|line| style.dim(&format!("  {line}\n"))).collect()
            }
            EventKind::ChangedMeanwhile { changes, .. } => style.yellow(&format!(
                "  {who}{} changed while a command ran, not certain by whom\n",
                counted(changes.len() as u64, "file")
            )),
            EventKind::Undone { what, changes, .. } => style.yellow(&format!(
                "undone: {} ({} changed)\n",
                one_line(what, RESULT_CHARS_MAX),
                counted(changes.len() as u64, "file")
            )),
            EventKind::BackgroundStarted { name, command } => style.dim(&format!(
                "  {who}{} runs beside: {}\n",
                one_line(name, 60),
                one_line(command, RESULT_CHARS_MAX)
            )),
            EventKind::BackgroundEnded { name, exit_code, .. } => {
                let how = exit_code.map_or("stopped".to_string(), |code| format!("exit code {code}"));
                style.dim(&format!("  {who}{} ended: {how}\n", one_line(name, 60)))
            }
            kind => course(style, kind, &who),
        }
    }
}

/// How sessions and agents come and go; `who` is empty for the main agent.
fn course(style: Style, kind: &EventKind, who: &str) -> String {
    match kind {
        EventKind::SessionInterrupted { agents, detached } => interrupted(style, agents.len(), *detached),
        EventKind::SessionResumed { .. } => style.yellow("the session goes on\n"),
        EventKind::AgentResumed { .. } if !who.is_empty() => style.dim(&format!("{who}goes on\n")),
        EventKind::AgentAdmitted { role, title, .. } => {
            style.dim(&format!("{who}({}) is to: {}\n", one_line(role, 60), one_line(title, 200)))
        }
        EventKind::AgentQueued { reason, at } => {
            style.dim(&format!("{who}{}\n", why_queued(*reason, at.as_deref())))
        }
        EventKind::CheckedOut { branch, .. } => {
            style.dim(&format!("{who}works on a branch of its own: {}\n", one_line(branch, 100)))
        }
        EventKind::Closing { ending } => style.yellow(&format!(
            "  {who}has come to a limit ({}) and reports\n",
            one_line(&ending.to_string(), RESULT_CHARS_MAX)
        )),
        EventKind::AgentSettled { report } => settled(style, who, report),
        _ => String::new(),
    }
}

/// How it ended, what was measured, and what does not hold of what it said.
fn settled(style: Style, who: &str, report: &Report) -> String {
    let mut text = format!("{who}{}\n", ending_line(style, report));
    text.push_str(&style.dim(&format!("  measured: {}\n", measured::line(&report.receipt))));
    for warning in measured::warnings(report) {
        text.push_str(&style.yellow(&format!("  warning: {warning}\n")));
    }
    text
}

fn words(style: Style, names: Option<(&str, &str)>, from: Sender, text: &str) -> String {
    match from {
        Sender::Person => format!("{} {}\n", style.bold("you:"), said(text)),
        // What is said to a model is not for the person; the events around it tell them why.
        Sender::Posse => {
            style.dim(&format!("  {} was told how to go on\n", names.map_or("main", |(name, _)| name)))
        }
        Sender::Parent => {
            let (name, parent) = names.unwrap_or(("agent", "parent"));
            format!("{} {}\n", style.bold(&format!("{parent} to {name}:")), said(text))
        }
        // The whole of it was shown where it was said.
        Sender::Reports => style.dim(&format!("reports: {}\n", one_line(trimmed(text), RESULT_CHARS_MAX))),
        Sender::Peer => style.dim(&format!("letter: {}\n", one_line(trimmed(text), RESULT_CHARS_MAX))),
    }
}

/// Words with their further lines indented, so that none of these passes for another event.
fn said(text: &str) -> String {
    visible(trimmed(text)).replace('\n', "\n  ")
}

fn interrupted(style: Style, agents: usize, detached: bool) -> String {
    let open = counted(agents as u64, "agent");
    let what = if detached { "the session was left" } else { "the session was interrupted" };
    style.yellow(&format!("{what} with {open} that had not ended\n"))
}

fn answered(style: Style, answer: &Answer) -> String {
    let text = match answer {
        Answer::Once => "yes, once".to_string(),
        Answer::Session => "yes, in this session".to_string(),
        Answer::Pattern { pattern } => format!("yes, whenever it is {}", one_line(pattern, 200)),
        Answer::No { reason } => format!("no {}", one_line(reason, MESSAGE_CHARS_MAX)).trim_end().to_string(),
        Answer::Nobody => return style.yellow("nobody was there to ask, so it was not done\n"),
        Answer::Withdrawn => return style.dim("nobody had answered when it was taken back\n"),
    };
    format!("{} {text}\n", style.bold("you:"))
}

#[cfg(test)]
mod tests {
    use posse_protocol::Ending;

    use super::*;
    use crate::display::sample::*;

    #[test]
    fn sub_agents_are_named_and_indented() {
        let settled = |text| EventKind::AgentSettled { report: report(Ending::Completed, text) };
        let events = [
            event(1, 0, started(0, None)),
            event(1, 0, told(Sender::Person, "fix it")),
            event(1, 0, tool_started("c", "agent start")),
            event(2, 1, admitted("explore-1", 1, "find it")),
            event(2, 1, queued()),
            event(2, 1, started(1, None)),
            event(2, 1, told(Sender::Parent, "look\nhere")),
            event(2, 1, tool_started("c", "grep Foo")),
            event(3, 2, admitted("explore-2", 2, "deeper")),
            event(3, 2, replied("two\x1b[2J\nlines", 5)),
            event(3, 2, told(Sender::Peer, "hello")),
            event(3, 2, settled("Done.")),
            event(2, 1, tool_finished("c", "3 matches")),
            event(2, 1, asks("rm x")),
            event(2, 1, allowed()),
            event(2, 1, settled("Done.")),
            event(1, 0, EventKind::ReportsDelivered { agents: vec![id(2)] }),
            event(1, 0, told(Sender::Reports, "explore-1\nis done")),
            event(1, 0, replied("Fixed.", 5)),
            event(1, 0, settled("Fixed.")),
        ];
        let mut steps = Steps::new(Style::plain());
        let mut text = events.iter().map(|event| steps.lines(event)).collect::<String>();
        text.push_str(&steps.unanswered());
        let expected = "\
you: fix it
  explore-1 (explore) is to: find it
  explore-1 queued: as many agents run as may (max_running)
  main to explore-1: look
    here
    explore-2 (explore) is to: deeper
    explore-2: two\\u{1b}[2J
      lines
    letter: hello
    explore-2 ✓ completed
      measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; no sub-agents; 1 file changed (+82 -0): tests/auth.rs (+82 lines, new file)
    explore-1 • grep Foo
      → 3 matches  (0.0 s)
  explore-1 asks to use shell: rm x
  you: yes, once
  explore-1 ✓ completed
    measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; no sub-agents; 1 file changed (+82 -0): tests/auth.rs (+82 lines, new file)
reports: explore-1\\nis done
agent: Fixed.
✓ completed
  measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; no sub-agents; 1 file changed (+82 -0): tests/auth.rs (+82 lines, new file)
  • agent start
    … no result
";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_interruption_is_told_in_plain_words() {
        let resumed = EventKind::AgentResumed {
            model: "fake".into(),
            model_id: "fake-model".into(),
            elapsed_ms: 5,
            budget: posse_protocol::Budget::UNLIMITED,
            grant: posse_protocol::Grant::none(),
        };
        let checked_out = EventKind::CheckedOut { branch: "posse/x".into(), base: "abc".into() };
        let again = EventKind::SessionResumed { version: "1".into(), sandboxed: true };
        let events = [
            event(2, 1, admitted("explore-1", 1, "find it")),
            event(2, 1, checked_out),
            event(2, 1, EventKind::CutShort { turn: 1, text: "I was ".into() }),
            event(1, 0, EventKind::SessionInterrupted { agents: vec![id(1), id(2)], detached: false }),
            event(1, 0, again),
            event(1, 0, resumed.clone()),
            event(2, 1, resumed),
            event(2, 1, EventKind::Mailed { from: Sender::Person, text: "hello".into() }),
            event(2, 1, EventKind::Closing { ending: Ending::OutOfTurns }),
            event(1, 0, EventKind::SessionInterrupted { agents: vec![id(2)], detached: true }),
        ];
        let mut steps = Steps::new(Style::plain());
        let text = events.iter().map(|event| steps.lines(event)).collect::<String>();
        let expected = "  explore-1 (explore) is to: find it
  explore-1 works on a branch of its own: posse/x
  explore-1: I was
    … cut short
the session was interrupted with 2 agents that had not ended
the session goes on
  explore-1 goes on
    explore-1 has come to a limit (out of turns) and reports
the session was left with 1 agent that had not ended
";
        assert_eq!(text, expected);
    }
}
