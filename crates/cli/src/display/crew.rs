//! The sub-agents that have not settled yet, as a person watches them: fed by events and progress, drawn as lines.
//! Pure; it must not know the terminal or the clock.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use posse_protocol::{AgentId, CallId, Event, EventKind, Progress, ProgressKind, QueueReason, Usage};

use super::tree::{Branch, arranged};
use crate::output::{columns, counted, duration, one_line};

/// Characters of a title or an action that are kept.
const TEXT_CHARS_MAX: usize = 200;
/// A reply that stands still for so long is said to.
const SILENCE_TOLD_AFTER: Duration = Duration::from_secs(3);

/// One sub-agent from its admission to its end.
#[derive(Debug)]
pub(crate) struct Member {
    id: AgentId,
    parent: Option<AgentId>,
    pub(crate) name: String,
    pub(crate) title: String,
    /// 1 for a child of the main agent.
    pub(crate) depth: u32,
    turn: u32,
    turns_max: Option<u32>,
    /// When it began; none while it waits to.
    started_at_ms: Option<u64>,
    usage: Usage,
    /// What it is doing right now.
    doing: String,
    /// When its reply last went on; none while it does not reply.
    heard_at_ms: Option<u64>,
    /// The model that was asked for.
    asked_model: Option<String>,
    /// Titles of its calls under way.
    calls: HashMap<CallId, String>,
}

/// All of them, in the order of their admission.
#[derive(Debug, Default)]
pub(crate) struct Crew {
    members: Vec<Member>,
    /// Models that were asked for and are not there, as far as that was said.
    missed: BTreeSet<String>,
}

impl Crew {
    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn member(&self, id: AgentId) -> Option<&Member> {
        self.members.iter().find(|member| member.id == id)
    }

    /// Takes in what happened to a sub-agent. The title of a call that this ends is given back.
    pub(crate) fn event(&mut self, event: &Event) -> Option<String> {
        match &event.kind {
            EventKind::AgentAdmitted { name, title, depth, requested_model, .. } => {
                self.admit(event, name, title, *depth);
                let member = self.members.last_mut().into_iter();
                member.for_each(|member| member.asked_model.clone_from(requested_model));
            }
            // One that is taken up without having been admitted here.
            EventKind::AgentStarted { role, depth, .. } if self.member(event.agent).is_none() => {
                self.admit(event, role, "", *depth);
            }
            EventKind::AgentSettled { .. } => self.members.retain(|member| member.id != event.agent),
            _ => {}
        }
        self.members.iter_mut().find(|member| member.id == event.agent)?.event(event)
    }

    fn admit(&mut self, event: &Event, name: &str, title: &str, depth: u32) {
        self.members.retain(|member| member.id != event.agent);
        self.members.push(Member {
            id: event.agent,
            parent: event.parent,
            name: one_line(name, TEXT_CHARS_MAX),
            title: one_line(title, TEXT_CHARS_MAX),
            depth,
            turn: 0,
            turns_max: None,
            started_at_ms: None,
            usage: Usage::default(),
            doing: "starting".to_string(),
            heard_at_ms: None,
            asked_model: None,
            calls: HashMap::new(),
        });
    }

    /// What to say of an agent that begins on another model than its file asks for; once for each such model.
    pub(crate) fn stand_in(&mut self, event: &Event) -> Option<String> {
        let EventKind::AgentStarted { model, model_id, .. } = &event.kind else { return None };
        let member = self.members.iter().find(|member| member.id == event.agent)?;
        let asked = member.asked_model.as_ref()?;
        let found = [model, model_id].iter().any(|name| name.eq_ignore_ascii_case(asked));
        if found || !self.missed.insert(asked.clone()) {
            return None;
        }
        let (asked, model) = (one_line(asked, 60), one_line(model, 60));
        Some(format!(
            "{} asks for the model \"{asked}\", which is not configured: it runs on {model}",
            member.name
        ))
    }

    /// Takes in passing news, which came now; whether it was about a sub-agent.
    pub(crate) fn progress(&mut self, progress: &Progress, now_ms: u64) -> bool {
        let Some(member) = self.members.iter_mut().find(|member| member.id == progress.agent) else {
            return false;
        };
        member.heard_at_ms = is_reply(&progress.kind).then_some(now_ms);
        if let Some(doing) = doing(&progress.kind) {
            member.doing = doing;
        }
        true
    }

    /// One line an agent, none of more than `width` columns, and no more than `lines_max` in all. Where there is
    /// not room for all, those that wait to begin are only counted.
    pub(crate) fn render(&self, width: usize, lines_max: usize, now_ms: u64, spinner: &str) -> Vec<String> {
        let begun = self.members.iter().filter(|member| member.started_at_ms.is_some()).count();
        let all = self.members.len() <= lines_max;
        let shown = self.members.iter().filter(|member| all || member.started_at_ms.is_some());
        let shown = shown.collect::<Vec<_>>();
        let nodes = shown.iter().map(|member| (member.id, member.parent)).collect::<Vec<_>>();
        let room = if all { lines_max } else { lines_max.saturating_sub(1) };
        let draw = |Branch { index, stem }: Branch| {
            let room = width.saturating_sub(columns(&stem));
            let text = shown[index].line(now_ms, spinner, room / 3);
            format!("{stem}{}", one_line(&text, room.max(1)))
        };
        let mut lines = arranged(&nodes).into_iter().take(room).map(draw).collect::<Vec<_>>();
        let left = self.members.len() - lines.len();
        if left > 0 && lines_max > 0 {
            let queued = match self.members.len() - begun {
                0 => String::new(),
                queued => format!(", {queued} of them queued"),
            };
            lines.push(one_line(&format!("and {left} more{queued}"), width));
        }
        lines
    }
}

impl Member {
    fn event(&mut self, event: &Event) -> Option<String> {
        self.heard_at_ms = None;
        match &event.kind {
            EventKind::AgentQueued { reason, at } => self.doing = why_queued(*reason, at.as_deref()),
            EventKind::AgentStarted { budget, .. } => {
                self.turns_max = budget.turns;
                self.started_at_ms = Some(event.at_ms);
                self.doing = "starting".to_string();
            }
            EventKind::AgentResumed { elapsed_ms, budget, .. } => {
                self.turns_max = budget.turns;
                // What lies between does not count.
                self.started_at_ms = Some(event.at_ms.saturating_sub(*elapsed_ms));
                self.doing = "going on".to_string();
            }
            EventKind::TurnStarted { turn, .. } => {
                self.turn = *turn;
                self.doing = "waiting for the model".to_string();
            }
            EventKind::Replied { reply, .. } => self.usage.add(reply.usage),
            EventKind::ToolStarted { call, title, .. } => {
                self.doing = one_line(title, TEXT_CHARS_MAX);
                self.calls.insert(call.clone(), self.doing.clone());
            }
            EventKind::ToolFinished { call, tool, .. } => {
                return Some(self.calls.remove(call).unwrap_or_else(|| one_line(tool, 60)));
            }
            EventKind::Retrying { attempt, attempts_max, delay_ms, reason } => {
                self.doing = retrying(*attempt, *attempts_max, *delay_ms, reason);
            }
            EventKind::PersonNeeded { question } => {
                let what = format!("needs you: {} {}", question.tool, question.what);
                self.doing = one_line(&what, TEXT_CHARS_MAX);
            }
            EventKind::PersonAnswered { .. } => self.doing = "going on".to_string(),
            _ => {}
        }
        None
    }

    /// The title gives way first: what an agent does right now is worth more.
    fn line(&self, now_ms: u64, spinner: &str, title_columns_max: usize) -> String {
        let title = one_line(&self.title, title_columns_max.max(1));
        let title = if title.is_empty() { title } else { format!(" \"{title}\"") };
        let Some(started_at_ms) = self.started_at_ms else {
            return format!("… {}{title} {}", self.name, self.doing);
        };
        let mut parts = Vec::new();
        match self.turns_max {
            Some(turns_max) => parts.push(format!("turn {}/{turns_max}", self.turn)),
            None => parts.push(format!("turn {}", self.turn)),
        }
        parts.push(duration(now_ms.saturating_sub(started_at_ms)));
        parts.extend(self.usage.total_tokens().map(|total| counted(total, "token")));
        let silent = self.heard_at_ms.map(|heard| Duration::from_millis(now_ms.saturating_sub(heard)));
        parts.push(silent.and_then(stands_still).unwrap_or_else(|| self.doing.clone()));
        format!("{spinner} {}{title} {}", self.name, parts.join(" · "))
    }
}

/// Why a request is sent again, which time it is, and when.
pub(crate) fn retrying(attempt: u32, attempts_max: u32, delay_ms: u64, reason: &str) -> String {
    let of = if attempts_max > 0 { format!(" of {attempts_max}") } else { String::new() };
    let reason = one_line(reason, TEXT_CHARS_MAX);
    format!("{reason} · try {}{of} in {}", attempt.saturating_add(1), duration(delay_ms))
}

/// Why an agent has not begun, and what to change about it.
pub(crate) fn why_queued(reason: QueueReason, at: Option<&str>) -> String {
    match (reason, at) {
        (QueueReason::RunningCap, _) => "queued: as many agents run as may (max_running)".to_string(),
        (QueueReason::Endpoint, None) => "queued: one at a time at its model (max_concurrent)".to_string(),
        (QueueReason::Endpoint, Some(at)) => {
            format!("queued: one at a time on {} (max_concurrent)", one_line(at, 60))
        }
    }
}

/// Whether this is a part of a reply.
pub(crate) fn is_reply(progress: &ProgressKind) -> bool {
    use ProgressKind::{Arriving, Calling, Reasoning, Text};
    matches!(progress, Text(_) | Reasoning(_) | Calling(_) | Arriving)
}

/// What is said of a reply that has not gone on for so long, once that is worth telling.
pub(crate) fn stands_still(silent: Duration) -> Option<String> {
    (silent >= SILENCE_TOLD_AFTER).then(|| format!("no answer for {} s", silent.as_secs()))
}

/// What an agent does that makes this progress; none if that is what it did before.
pub(crate) fn doing(progress: &ProgressKind) -> Option<String> {
    Some(match progress {
        ProgressKind::Arriving => return None,
        ProgressKind::Text(_) => "writing".to_string(),
        ProgressKind::Reasoning(_) => "thinking".to_string(),
        ProgressKind::Calling(tool) => format!("writing a {} call", one_line(tool, 40)),
        ProgressKind::Queued => "waiting for its turn at the model".to_string(),
        ProgressKind::Served => "waiting for the model".to_string(),
        ProgressKind::Keeping(files) => {
            format!("looking at the workspace before the first command: {}", counted(*files, "file"))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::super::sample::*;
    use super::*;

    fn crew(events: &[(u32, u32, EventKind)]) -> Crew {
        let mut crew = Crew::default();
        for (n, parent, kind) in events {
            crew.event(&event(*n, *parent, kind.clone()));
        }
        crew
    }

    fn at_work() -> Vec<(u32, u32, EventKind)> {
        vec![
            (2, 1, admitted("explore-1", 1, "find call sites")),
            (2, 1, started(1, Some(50))),
            (2, 1, turn(3)),
            (2, 1, replied("hm", 4_120)),
            (2, 1, tool_started("c1", "grep Foo")),
            (3, 1, admitted("coder-1", 1, "mend\nit")),
            (3, 1, started(1, None)),
            (4, 3, admitted("tester-1", 2, "run the tests")),
            (4, 3, queued()),
            (5, 3, admitted("tester-2", 2, "")),
        ]
    }

    #[test]
    fn the_crew_is_drawn_as_a_tree() {
        let lines = crew(&at_work()).render(79, 11, START_MS + 12_400, "⠋");
        let expected = [
            "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · 4,120 tokens · grep Foo",
            "⠋ coder-1 \"mend\\nit\" turn 0 · 12 s · starting",
            "├ … tester-1 \"run the tests\" queued: as many agents run as may (max_running)",
            "└ … tester-2 starting",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_an_agent_does_follows_its_news() {
        let text = |text: &str| text.to_string();
        let news = [
            (ProgressKind::Queued, "waiting for its turn at the model"),
            (ProgressKind::Served, "waiting for the model"),
            (ProgressKind::Reasoning(text("let me see")), "thinking"),
            (ProgressKind::Text(text("I see")), "writing"),
            (ProgressKind::Calling(text("gr\x1b[2Jep")), "writing a gr\\u{1b}[2Jep call"),
            (ProgressKind::Arriving, "writing a gr\\u{1b}[2Jep call"),
        ];
        assert_eq!(news.len(), 6);
        let mut crew = crew(&at_work());
        for (kind, expected) in news {
            let replies = is_reply(&kind);
            assert!(crew.progress(&progress(2, kind), START_MS));
            let line = |ms: u64| crew.render(200, 11, START_MS + ms, "⠋").swap_remove(0);
            assert!(line(2_999).ends_with(&format!(" · {expected}")), "{}", line(2_999));
            let expected = if replies { "no answer for 4 s" } else { expected };
            assert!(line(4_100).ends_with(&format!(" · {expected}")), "{}", line(4_100));
        }
        // More of a call's arguments is part of a reply that goes on.
        crew.progress(&progress(2, ProgressKind::Calling(text("grep"))), START_MS);
        crew.progress(&progress(2, ProgressKind::Arriving), START_MS + 2_500);
        let line = crew.render(200, 11, START_MS + 5_000, "⠋").swap_remove(0);
        assert!(line.ends_with(" · writing a grep call"), "{line}");
        assert!(
            !crew.progress(&progress(1, ProgressKind::Queued), START_MS),
            "the main agent is none of the crew"
        );
        let events = [
            (asks("rm x"), "needs you: shell rm x"),
            (allowed(), "going on"),
            (
                EventKind::Retrying {
                    attempt: 1,
                    attempts_max: 6,
                    delay_ms: 500,
                    reason: "h: busy (529)".into(),
                },
                "h: busy (529) · try 2 of 6 in 0.5 s",
            ),
            (turn(4), "waiting for the model"),
        ];
        assert_eq!(events.len(), 4);
        for (kind, expected) in events {
            assert_eq!(crew.event(&event(2, 1, kind)), None);
            let line = crew.render(200, 11, START_MS, "⠋").swap_remove(0);
            assert!(line.ends_with(&format!(" · {expected}")), "{line}");
        }
    }

    #[test]
    fn a_finished_call_gives_its_title_and_a_settled_agent_goes() {
        let mut crew = crew(&at_work());
        let finished = |call| event(2, 1, tool_finished(call, "3 matches"));
        assert_eq!(crew.event(&finished("c1")), Some("grep Foo".to_string()));
        assert_eq!(crew.event(&finished("c1")), Some("grep".to_string()), "a refused call never started");
        let report = report(posse_protocol::Ending::Completed, "Done.");
        for (n, parent, left) in [(4, 3, 3), (5, 3, 2), (3, 1, 1), (2, 1, 0)] {
            crew.event(&event(n, parent, EventKind::AgentSettled { report: report.clone() }));
            assert_eq!(crew.render(80, 11, START_MS, "⠋").len(), left);
        }
        assert!(crew.is_empty());
        assert_eq!(crew.event(&event(7, 1, turn(1))), None, "one that was never admitted");
        assert!(crew.is_empty());
    }

    #[test]
    fn a_large_crew_keeps_to_its_lines_and_counts_the_rest() {
        let mut events = Vec::new();
        for n in 2..32 {
            events.push((n, 1, admitted(&format!("explore-{n}"), 1, "look")));
            events.push((n, 1, if n < 22 { started(1, None) } else { queued() }));
        }
        let crew = crew(&events);
        let cases = [
            (0, 0, ""),
            (1, 1, "and 30 more, 10 of them queued"),
            (11, 11, "and 20 more, 10 of them queued"),
            (29, 21, "and 10 more, 10 of them queued"),
            (30, 30, "… explore-31 \"look\" queued: as many agents run as may (max_running)"),
            (99, 30, "… explore-31 \"look\" queued: as many agents run as may (max_running)"),
        ];
        assert_eq!(cases.len(), 6);
        for (lines_max, count, last) in cases {
            let lines = crew.render(80, lines_max, START_MS, "⠋");
            let found = (lines.len(), lines.last().map_or("", String::as_str));
            assert_eq!(found, (count, last), "{lines_max}");
        }
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_strangers_cannot_drive_it() {
        let mut events = at_work();
        let title = format!("\x1b]0;x\x07{}\u{202e}", "wide 日本 ".repeat(100));
        events.push((6, 3, admitted("evil\x1b[2J", 2, &title)));
        events.push((6, 3, started(2, None)));
        events.push((6, 3, tool_started("c", &title)));
        let crew = crew(&events);
        for width in [1, 5, 19, 40, 79, 200] {
            for line in crew.render(width, 11, START_MS, "⠋") {
                assert!(columns(&line) <= width.max(3), "{width}: {line}");
                assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
            }
        }
    }
}
