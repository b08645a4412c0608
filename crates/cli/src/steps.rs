//! A recorded session as people read it, event by event. Pure; it must not know where the events come from.

use posse_protocol::{AgentId, Answer, Event, EventKind, Report, Sender};
use posse_report::facts_line;
use posse_view::{FoldError, Folded, SessionView, words};

use crate::display::{ending_line, measured, not_covered, read_only_for_commands};
use crate::limits::{
    LINE_COLUMNS_MAX, MESSAGE_CHARS_MAX, RESULT_LINES_MAX, STEPS_LEVELS_INDENTED_MAX, STEPS_RESULT_CHARS_MAX,
};
use crate::output::{Style, counted, duration, one_line, trimmed, visible};
use crate::prose::{self, hanging};
use crate::recorded::fold;

/// How steps are shown.
#[derive(Clone, Copy)]
pub(crate) struct Showing {
    pub(crate) style: Style,
    /// Columns of the terminal; none where lines are not broken and Markdown stays as it is written.
    pub(crate) width: Option<usize>,
    /// Whether results are shown whole.
    pub(crate) full: bool,
}

impl Showing {
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { style: Style::plain(), width: None, full: false }
    }
}

/// Turns events into text. What a sub-agent did carries its name and is indented by its depth.
pub(crate) struct Steps {
    style: Style,
    showing: Showing,
    view: SessionView,
}

impl Steps {
    pub(crate) fn new(showing: Showing) -> Self {
        Self { style: showing.style, showing, view: SessionView::default() }
    }

    /// One event; nothing for those that only matter to programs.
    pub(crate) fn lines(&mut self, event: &Event) -> Result<String, FoldError> {
        let folded = fold(&mut self.view, event)?;
        let name = self.name(event.agent);
        let parent = event.parent.map(|parent| self.name(parent));
        let names = parent.as_ref().map(|parent| (name.as_str(), parent.as_str()));
        Ok(self.indented(event.agent, &self.text(event, names, folded)))
    }

    /// The calls that never got a result.
    pub(crate) fn unanswered(&self) -> String {
        let mut text = String::new();
        for agent in &self.view.agents {
            let who = agent.parent.map(|_| format!("{} ", self.name(agent.id))).unwrap_or_default();
            for call in &agent.calls {
                let title = one_line(&call.title, 200);
                let lines = self.style.dim(&format!("  {who}• {title}\n    … no result\n"));
                text.push_str(&self.indented(agent.id, &lines));
            }
        }
        text
    }

    fn name(&self, agent: AgentId) -> String {
        one_line(self.view.agents.get(agent).map_or("main", |agent| agent.name.as_str()), 60)
    }

    /// The levels that an agent's lines are indented by.
    fn levels(&self, agent: AgentId) -> usize {
        let agent = self.view.agents.get(agent).filter(|agent| agent.parent.is_some());
        usize::try_from(agent.map_or(0, |agent| agent.depth.min(STEPS_LEVELS_INDENTED_MAX))).unwrap_or(0)
    }

    /// Columns of its lines; as many as they need where lines are not broken.
    fn room(&self, agent: AgentId) -> usize {
        self.showing.width.map_or(usize::MAX, |width| width.saturating_sub(2 * self.levels(agent) + 1))
    }

    fn indented(&self, agent: AgentId, text: &str) -> String {
        let indent = "  ".repeat(self.levels(agent));
        if indent.is_empty() {
            return text.to_string();
        }
        text.split_inclusive('\n').map(|line| format!("{indent}{line}")).collect()
    }

    /// `names`: those of the sub-agent it happened to and of its parent; none for the main agent. `folded`: what it
    /// ends.
    fn text(&self, event: &Event, names: Option<(&str, &str)>, folded: Folded) -> String {
        let style = self.style;
        let who = names.map(|(name, _)| format!("{name} ")).unwrap_or_default();
        match &event.kind {
            EventKind::CutShort { text, .. } if !text.trim().is_empty() => {
                let label = format!("{}:", names.map_or("agent", |(name, _)| name));
                let said = self.said(&style.cyan(&label), text);
                format!("{said}{}", style.yellow("  … cut short\n"))
            }
            EventKind::Told { from, text, attachments, .. } => {
                self.message(names, *from, &words::said_and_shown(text, attachments))
            }
            EventKind::Replied { reply, .. } if !reply.text.trim().is_empty() => {
                let label = format!("{}:", names.map_or("agent", |(name, _)| name));
                self.said(&style.cyan(&label), &reply.text)
            }
            EventKind::ToolFinished { tool, ok, text, duration_ms, .. } => {
                let title = folded.call.map_or_else(|| one_line(tool, 60), |call| one_line(&call.title, 200));
                let head = style.dim(&format!("  {who}• {title}  ({})\n", duration(*duration_ms)));
                format!("{head}{}", self.result(if *ok { "→" } else { "✗" }, text))
            }
            EventKind::Retrying { attempt, reason, .. } => style
                .yellow(&format!("  {who}retry {attempt}: {}\n", one_line(reason, STEPS_RESULT_CHARS_MAX))),
            EventKind::ModelFailed { error, .. } => {
                style.red(&format!("  {who}model: {}\n", one_line(&error.to_string(), MESSAGE_CHARS_MAX)))
            }
            EventKind::Compacted { summary, .. } => {
                style.dim(&format!("  {who}shortened: {}\n", one_line(summary, STEPS_RESULT_CHARS_MAX)))
            }
            EventKind::PersonNeeded { question } if question.asks.is_some() => {
                let said = one_line(&question.what, STEPS_RESULT_CHARS_MAX);
                style.yellow(&format!("{who}asks: {said}\n"))
            }
            EventKind::PersonNeeded { question } => style.yellow(&format!(
                "{who}asks to use {}: {}\n",
                one_line(&question.tool, 60),
                one_line(&question.what, STEPS_RESULT_CHARS_MAX)
            )),
            EventKind::PersonAnswered { answer, .. } => {
                let is_free = folded.question.is_some_and(|open| open.question.asks.is_some());
                answered(style, answer, is_free)
            }
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
            EventKind::BackgroundStarted { name, command } => style.dim(&format!(
                "  {who}{} runs beside: {}\n",
                one_line(name, 60),
                one_line(command, STEPS_RESULT_CHARS_MAX)
            )),
            EventKind::BackgroundEnded { name, exit_code, .. } => {
                let how = words::command_ended(*exit_code);
                style.dim(&format!("  {who}{} ended: {how}\n", one_line(name, 60)))
            }
            kind => course(style, kind, &who, self.room(event.agent)),
        }
    }
}

impl Steps {
    fn message(&self, names: Option<(&str, &str)>, from: Sender, text: &str) -> String {
        let style = self.style;
        match from {
            Sender::Person => self.said(&style.bold("you:"), text),
            // What is said to a model is not for the person; the events around it tell them why.
            Sender::Posse => {
                style.dim(&format!("  {} was told how to continue\n", names.map_or("main", |(name, _)| name)))
            }
            Sender::Parent => {
                let (name, parent) = names.unwrap_or(("agent", "parent"));
                self.said(&style.bold(&format!("{parent} to {name}:")), text)
            }
            // The whole of it was shown where it was said.
            Sender::Reports => {
                let first = trimmed(text).lines().next().unwrap_or_default();
                style.dim(&format!("reports: {}\n", one_line(first, STEPS_RESULT_CHARS_MAX)))
            }
            Sender::Peer => self.said(&style.dim("message:"), text),
        }
    }

    /// Words behind a label. Their further lines are indented, so that none of these passes for another event.
    fn said(&self, label: &str, text: &str) -> String {
        let text = visible(trimmed(text));
        let Some(width) = self.showing.width else {
            return format!("{label} {}\n", text.replace('\n', "\n  "));
        };
        let shown = prose::shown(self.style, &text, width.saturating_sub(3));
        let lines = shown.lines().map(|line| format!("  {line}").trim_end().to_string());
        format!("{label}\n{}\n", lines.collect::<Vec<_>>().join("\n"))
    }

    /// The first lines of what a tool answered, or all of them.
    fn result(&self, mark: &str, text: &str) -> String {
        let lines = trimmed(text).lines().collect::<Vec<_>>();
        let (lines_max, columns_max) =
            if self.showing.full { (usize::MAX, usize::MAX) } else { (RESULT_LINES_MAX, LINE_COLUMNS_MAX) };
        let mut out = String::new();
        for (n, line) in lines.iter().take(lines_max).enumerate() {
            let mark = if n == 0 { mark } else { " " };
            let line = one_line(line, columns_max);
            out.push_str(&self.style.dim(&format!("    {mark} {line}")));
            out.push('\n');
        }
        if let Some(more @ 1..) = lines.len().checked_sub(lines_max) {
            let more = counted(more as u64, "more line");
            out.push_str(&self.style.dim(&format!("      … {more}: --full\n")));
        }
        out
    }
}

/// How sessions and agents come and go; `who` is empty for the main agent.
fn course(style: Style, kind: &EventKind, who: &str, room: usize) -> String {
    match kind {
        EventKind::SessionInterrupted { agents, detached } => {
            let told = words::was_interrupted(agents.len() as u64, *detached);
            style.yellow(&format!("{told}\n"))
        }
        EventKind::SessionResumed { .. } => style.yellow("the session goes on\n"),
        EventKind::Undone { what, changes, .. } => style.yellow(&format!(
            "undone: {} ({} changed)\n",
            one_line(what, STEPS_RESULT_CHARS_MAX),
            counted(changes.len() as u64, "file")
        )),
        EventKind::Reviewed { hunks, reviewed } => {
            let how = if *reviewed { "reviewed" } else { "to be reviewed again" };
            style.dim(&format!("{how}: {}\n", counted(hunks.len() as u64, "hunk")))
        }
        EventKind::HookRan { hook, hook_event, decision, message, .. } => {
            let told = words::hook_ran(hook, hook_event, *decision, message);
            told.map(|told| style.dim(&format!("  {who}{}\n", one_line(&told, STEPS_RESULT_CHARS_MAX))))
                .unwrap_or_default()
        }
        EventKind::SessionNamed { title, by: _ } if title.is_empty() => {
            style.dim("renamed: the title is made of the prompt again\n")
        }
        EventKind::SessionNamed { title, by: _ } => {
            style.dim(&format!("renamed: {}\n", one_line(title, STEPS_RESULT_CHARS_MAX)))
        }
        EventKind::AgentResumed { .. } if !who.is_empty() => style.dim(&format!("{who}goes on\n")),
        EventKind::AgentAdmitted { role, title, .. } => {
            style.dim(&format!("{who}({}) task: {}\n", one_line(role, 60), one_line(title, 200)))
        }
        EventKind::AgentQueued { reason, at } => style.dim(&format!(
            "{who}{}\n",
            one_line(&words::why_queued(*reason, at.as_deref()), STEPS_RESULT_CHARS_MAX)
        )),
        EventKind::AgentPlaced { worker, epoch, .. } => {
            let told = words::placed(&one_line(worker, 100), *epoch);
            if *epoch > 1 {
                style.yellow(&format!("{who}{told}\n"))
            } else {
                style.dim(&format!("{who}{told}\n"))
            }
        }
        EventKind::CheckedOut { branch, .. } => {
            style.dim(&format!("{who}works on a branch of its own: {}\n", one_line(branch, 100)))
        }
        EventKind::Closing { ending } => style.yellow(&format!(
            "  {who}has come to a limit ({}) and reports\n",
            one_line(&ending.to_string(), STEPS_RESULT_CHARS_MAX)
        )),
        EventKind::AgentSettled { report } => settled(style, who, report, room),
        _ => String::new(),
    }
}

/// How it ended, what was measured, and what does not hold of what it said.
fn settled(style: Style, who: &str, report: &Report, room: usize) -> String {
    let mut text = format!("{who}{}\n", ending_line(style, report));
    for row in hanging("  measured: ", &measured::line(&facts_line(&report.receipt)), room) {
        text.push_str(&style.dim(&format!("{row}\n")));
    }
    for warning in measured::warnings(report.remarks()) {
        for row in hanging("  warning: ", &warning, room) {
            text.push_str(&style.yellow(&format!("{row}\n")));
        }
    }
    text
}

/// `is_free`: whether the question was one in words.
fn answered(style: Style, answer: &Answer, is_free: bool) -> String {
    match (words::answer(answer), answer) {
        (Some(text), Answer::No { .. }) if is_free => {
            let text = one_line(text.trim_start_matches("no").trim_start(), MESSAGE_CHARS_MAX);
            format!("{} {}\n", style.bold("you:"), format!("(no answer) {text}").trim_end())
        }
        (None, Answer::Nobody) if is_free => style.yellow("nobody was there to answer\n"),
        (Some(text), _) => format!("{} {}\n", style.bold("you:"), one_line(&text, MESSAGE_CHARS_MAX)),
        (None, Answer::Nobody) => style.yellow("nobody was there to ask, so it was not done\n"),
        (None, _) => style.dim("nobody had answered when it was taken back\n"),
    }
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
        let mut steps = Steps::new(Showing::plain());
        let mut text =
            numbered(events.to_vec()).iter().map(|event| steps.lines(event).unwrap()).collect::<String>();
        text.push_str(&steps.unanswered());
        let expected = "\
you: fix it
  explore-1 (explore) task: find it
  explore-1 queued: as many agents run as may (max_running)
  main to explore-1: look
    here
    explore-2 (explore) task: deeper
    explore-2: two\\u{1b}[2J
      lines
    message: hello
    explore-2 ✓ completed
      measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; no sub-agents; 1 file changed (+82 -0): tests/auth.rs (+82 lines, new file)
    explore-1 • grep Foo  (0.0 s)
      → 3 matches
  explore-1 asks to use shell: rm x
  you: yes, once
  explore-1 ✓ completed
    measured: no commands run; tests failed: `cargo test` (exit code 101, 4 of 5 passed); no commits; no sub-agents; 1 file changed (+82 -0): tests/auth.rs (+82 lines, new file)
reports: explore-1
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
        let again = EventKind::SessionResumed { version: "1".into(), sandboxed: true, traceparent: None };
        let events = [
            event(2, 1, admitted("explore-1", 1, "find it")),
            event(2, 1, checked_out),
            event(2, 1, EventKind::CutShort { turn: 1, text: "I was ".into() }),
            event(1, 0, EventKind::SessionInterrupted { agents: vec![id(1), id(2)], detached: false }),
            event(1, 0, again),
            event(1, 0, resumed.clone()),
            event(2, 1, resumed),
            event(2, 1, EventKind::mailed(Sender::Person, "hello")),
            event(2, 1, EventKind::Closing { ending: Ending::OutOfTurns }),
            event(1, 0, EventKind::SessionInterrupted { agents: vec![id(2)], detached: true }),
        ];
        let mut steps = Steps::new(Showing::plain());
        let text =
            numbered(events.to_vec()).iter().map(|event| steps.lines(event).unwrap()).collect::<String>();
        let expected = "  explore-1 (explore) task: find it
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

    #[test]
    fn what_is_damaged_is_passed_over_and_the_rest_is_told() {
        let mut events = numbered(vec![
            event(1, 0, started(0, None)),
            event(1, 0, told(Sender::Person, "fix it")),
            event(1, 0, replied("Fixed.", 5)),
        ]);
        events.remove(1);
        let mut steps = Steps::new(Showing::plain());
        let text = events.iter().map(|event| steps.lines(event).unwrap()).collect::<String>();
        assert_eq!(text, "agent: Fixed.\n");
    }
}
