//! The sub-agents that have not ended, as a person watches them: one line each. Pure; it must not know the terminal or the
//! clock.

use posse_view::{AgentView, SessionView, words};

use super::tree::{TreeLine, arranged};
use crate::limits::{CREW_TITLE_COLUMNS_MIN, WORKER_COLUMNS_MAX};
use crate::output::{columns, counted, duration, one_line};

/// Columns of what an agent does that the other parts leave to it.
const DOING_COLUMNS: usize = 28;

/// One line for an agent of the crew: what leads to it, its name, and the rest.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CrewLine {
    pub(crate) stem: String,
    pub(crate) name: String,
    /// Its place among all agents; none for a line that only counts.
    pub(crate) number: Option<usize>,
    pub(crate) rest: String,
}

impl CrewLine {
    pub(crate) fn columns(&self) -> usize {
        columns(&self.stem) + columns(&self.name) + columns(&self.rest)
    }
}

/// One line for each sub-agent, none of more than `width` columns, and no more than `lines_max` in all. Where there is not room
/// for all, those that wait to begin are only counted.
pub(crate) fn lines(
    view: &SessionView,
    width: usize,
    lines_max: usize,
    now_ms: u64,
    spinner: &str,
) -> Vec<CrewLine> {
    if view.open_sub_agents == 0 {
        return Vec::new();
    }
    let open =
        view.agents.iter().enumerate().filter(|(_, agent)| agent.parent.is_some() && !agent.has_ended());
    let open = open.collect::<Vec<_>>();
    let begun = |(_, agent): &(usize, &AgentView)| agent.started_at_ms.is_some();
    let waiting = open.len() - open.iter().copied().filter(begun).count();
    let all = open.len() <= lines_max;
    let shown = open.iter().copied().filter(|agent| all || begun(agent)).collect::<Vec<_>>();
    let nodes = shown.iter().map(|(_, agent)| (agent.id, agent.parent)).collect::<Vec<_>>();
    let room = if all { lines_max } else { lines_max.saturating_sub(1) };
    let draw = |TreeLine { index, stem }: TreeLine| {
        let (number, agent) = shown[index];
        let mark = if agent.started_at_ms.is_some() { spinner } else { "…" };
        let stem = one_line(&format!("{stem}{mark} "), width);
        let name = one_line(&agent.name, width.saturating_sub(columns(&stem)));
        let room = width.saturating_sub(columns(&stem) + columns(&name));
        let rest = if room < 2 { String::new() } else { format!(" {}", progress(agent, now_ms, room - 1)) };
        CrewLine { stem, name, number: Some(number), rest }
    };
    let mut lines = arranged(&nodes).into_iter().take(room).map(draw).collect::<Vec<_>>();
    let left = open.len() - lines.len();
    if left > 0 && lines_max > 0 {
        let queued = if waiting == 0 { String::new() } else { format!(", {waiting} of them queued") };
        let rest = one_line(&format!("and {left} more{queued}"), width);
        lines.push(CrewLine { stem: String::new(), name: String::new(), number: None, rest });
    }
    lines
}

/// How far an agent is, and what it does, in so many columns. Where room is short the tokens go first, then where it runs,
/// then the most turns there can be, then the title, then the turn.
pub(crate) fn progress(agent: &AgentView, now_ms: u64, room: usize) -> String {
    let doing = words::now(agent, now_ms);
    let title = one_line(agent.title.as_deref().unwrap_or_default(), (room / 3).max(CREW_TITLE_COLUMNS_MIN));
    let titled = |title: &str| if title.is_empty() { String::new() } else { format!("\"{title}\" ") };
    if agent.started_at_ms.is_none() {
        let shown = one_line(&doing, room);
        let left = room.saturating_sub(columns(&shown));
        let title = if left < CREW_TITLE_COLUMNS_MIN { String::new() } else { one_line(&title, left - 3) };
        return format!("{}{shown}", titled(&title));
    }
    let time = duration(agent.worked_ms(now_ms).unwrap_or_default());
    let tokens = agent.own.usage.total_tokens().map(|total| counted(total, "token"));
    let on = words::on(agent).map(|on| one_line(&on, WORKER_COLUMNS_MAX));
    let (turn, short_turn) = (words::turn(agent), format!("turn {}", agent.turn));
    let short_title = one_line(&title, CREW_TITLE_COLUMNS_MIN);
    let parts = |title: &str, parts: &[Option<&String>]| {
        let parts = parts.iter().flatten().map(|part| format!("{part} · ")).collect::<String>();
        format!("{}{parts}", titled(title))
    };
    let forms = [
        parts(&title, &[Some(&turn), Some(&time), tokens.as_ref(), on.as_ref()]),
        parts(&title, &[Some(&turn), Some(&time), on.as_ref()]),
        parts(&title, &[Some(&turn), Some(&time)]),
        parts(&title, &[Some(&short_turn), Some(&time)]),
        parts(&short_title, &[Some(&short_turn), Some(&time)]),
        parts("", &[Some(&short_turn), Some(&time)]),
        parts("", &[Some(&time)]),
        String::new(),
    ];
    let wanted = columns(&doing).min(DOING_COLUMNS);
    let fits = |form: &&String| columns(form) + wanted <= room;
    let form = forms.iter().find(fits).map_or("", String::as_str);
    let text = format!("{form}{}", one_line(&doing, room.saturating_sub(columns(form)).max(1)));
    text.strip_suffix(" · ").unwrap_or(&text).to_string()
}

#[cfg(test)]
mod tests {
    use posse_protocol::{EventKind, ProgressKind};

    use super::super::sample::{progress as progress_of, *};
    use super::*;

    fn crew(events: &[(u32, u32, EventKind)]) -> SessionView {
        view(events.iter().map(|(n, parent, kind)| event(*n, *parent, kind.clone())).collect())
    }

    fn texts(view: &SessionView, width: usize, lines_max: usize, now_ms: u64, spinner: &str) -> Vec<String> {
        let lines = lines(view, width, lines_max, now_ms, spinner);
        lines.iter().map(|line| format!("{}{}{}", line.stem, line.name, line.rest)).collect()
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
        let lines = texts(&crew(&at_work()), 79, 11, STARTED_AT + 12_400, "⠋");
        let expected = [
            "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · 4,120 tokens · grep Foo",
            "⠋ coder-1 \"mend\\nit\" turn 0 · 12 s · starting",
            "├ … tester-1 \"run the tests\" queued: as many agents run as may (max_running)",
            "└ … tester-2 starting",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn what_an_agent_does_is_cut_last() {
        let view = crew(&at_work());
        let cases = [
            (79, "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · 4,120 tokens · grep Foo"),
            (60, "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · grep Foo"),
            (54, "⠋ explore-1 \"find call sit…\" turn 3 · 12 s · grep Foo"),
            (49, "⠋ explore-1 \"find call…\" turn 3 · 12 s · grep Foo"),
            (40, "⠋ explore-1 turn 3 · 12 s · grep Foo"),
            (30, "⠋ explore-1 12 s · grep Foo"),
            (22, "⠋ explore-1 grep Foo"),
        ];
        assert_eq!(cases.len(), 7);
        for (width, expected) in cases {
            assert_eq!(texts(&view, width, 11, STARTED_AT + 12_400, "⠋")[0], expected, "{width}");
        }
    }

    #[test]
    fn where_an_agent_runs_is_told_where_there_is_room() {
        let mut events = at_work();
        events.insert(
            2,
            (
                2,
                1,
                EventKind::AgentPlaced { worker: "gpu-1".into(), epoch: 1, run: String::new(), lease_ms: 0 },
            ),
        );
        let view = crew(&events);
        let cases = [
            (90, "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · 4,120 tokens · on gpu-1 · grep Foo"),
            (79, "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · on gpu-1 · grep Foo"),
            (60, "⠋ explore-1 \"find call sites\" turn 3/50 · 12 s · grep Foo"),
        ];
        for (width, expected) in cases {
            assert_eq!(texts(&view, width, 11, STARTED_AT + 12_400, "⠋")[0], expected, "{width}");
        }
    }

    #[test]
    fn what_an_agent_does_follows_its_news() {
        let mut events = at_work();
        let retrying = EventKind::Retrying {
            attempt: 1,
            attempts_max: 6,
            delay_ms: 500,
            reason: "h: busy (529)".into(),
        };
        let news = [
            (asks("rm x"), "needs you: shell rm x"),
            (allowed(), "going on"),
            (retrying, "h: busy (529) · try 2 of 6 in 0.5 s"),
            (turn(4), "waiting for the model"),
        ];
        assert_eq!(news.len(), 4);
        for (kind, expected) in news {
            events.push((2, 1, kind));
            let line = texts(&crew(&events), 200, 11, STARTED_AT, "⠋").swap_remove(0);
            assert!(line.ends_with(&format!(" · {expected}")), "{line}");
        }
        let mut view = crew(&events);
        view.note(&progress_of(2, ProgressKind::Calling("gr\x1b[2Jep".to_string())), STARTED_AT);
        let line = |ms: u64| texts(&view, 200, 11, STARTED_AT + ms, "⠋").swap_remove(0);
        assert!(line(2_999).ends_with(" · writing a gr\\u{1b}[2Jep call"), "{}", line(2_999));
        assert!(line(4_100).ends_with(" · no answer for 4 s"), "{}", line(4_100));
    }

    #[test]
    fn a_settled_agent_goes() {
        let mut events = at_work();
        let report = report(posse_protocol::Ending::Completed, "Done.");
        for (n, parent, left) in [(4, 3, 3), (5, 3, 2), (3, 1, 1), (2, 1, 0)] {
            events.push((n, parent, EventKind::AgentSettled { report: report.clone() }));
            assert_eq!(texts(&crew(&events), 80, 11, STARTED_AT, "⠋").len(), left);
        }
        events.push((7, 1, turn(1)));
        assert!(texts(&crew(&events), 80, 11, STARTED_AT, "⠋").is_empty(), "one that was never admitted");
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
            let lines = texts(&crew, 80, lines_max, STARTED_AT, "⠋");
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
            for line in texts(&crew, width, 11, STARTED_AT, "⠋") {
                assert!(columns(&line) <= width.max(3), "{width}: {line}");
                assert!(!line.contains(|c: char| c.is_control() || c == '\u{202e}'), "{line:?}");
            }
        }
    }
}
