//! What a person sees of a session with sub-agents: in a terminal, read back by `vt100`, and without one.

use std::cell::RefCell;
use std::rc::Rc;

use posse_protocol::{Budget, CallId, Ending, Grant, Seq};

use super::*;
use crate::display::sample::*;

/// Bytes that several hands write.
#[derive(Clone, Default)]
struct Paper(Rc<RefCell<Vec<u8>>>);

impl io::Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Paper {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }

    fn screen(&self) -> String {
        let mut parser = vt100::Parser::new(24.try_into().unwrap(), 100.try_into().unwrap(), 0);
        parser.process(self.text().replace('\n', "\r\n").as_bytes());
        let screen = parser.screen().contents();
        screen.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// A display and the view that it shows.
struct WatchedLive {
    live: Live,
    view: SessionView,
}

impl WatchedLive {
    fn new(out: &Paper, err: &Paper, is_terminal: bool) -> Self {
        let terminal = Terminal::of_test(Box::new(out.clone()), Box::new(err.clone()), is_terminal);
        Self { live: Live::new(terminal, true), view: SessionView::default() }
    }

    /// Takes in an event without showing it.
    fn fold(&mut self, mut event: Event) -> (Event, Folded) {
        event.seq = Seq(self.view.seq.0 + 1);
        let folded = self.view.fold(&event).unwrap();
        (event, folded)
    }

    fn show(&mut self, events: Vec<Event>) {
        for event in events {
            let (event, folded) = self.fold(event);
            self.live.event(&event, &folded, &self.view).unwrap();
        }
    }

    fn stream(&mut self, agent: u32, text: &str) {
        let progress = progress(agent, ProgressKind::Text(text.to_string()));
        self.view.note(&progress, now_ms());
        self.live.progress(&progress, &self.view).unwrap();
    }

    fn tick(&mut self) {
        self.live.tick(&self.view).unwrap();
    }

    fn question(&mut self, text: Option<&str>) {
        self.live.question(text.map(str::to_string), &self.view).unwrap();
    }
}

fn settled(text: &str) -> EventKind {
    let mut report = report(Ending::Completed, text);
    report.receipt.files.clear();
    report.receipt.tests = None;
    EventKind::AgentSettled { report }
}

/// Two sub-agents at work, one of them with one of its own.
fn at_work() -> Vec<Event> {
    vec![
        event(1, 0, started(0, None)),
        event(1, 0, turn(1)),
        event(2, 1, admitted("explore-1", 1, "find it")),
        event(2, 1, started(1, Some(50))),
        event(2, 1, turn(1)),
        event(3, 1, admitted("explore-2", 1, "find more")),
        event(3, 1, queued()),
        event(4, 2, admitted("explore-3", 2, "deeper")),
        event(4, 2, started(2, None)),
        event(2, 1, tool_started("a", "grep Foo")),
        event(2, 1, tool_finished("a", "3")),
        event(2, 1, tool_started("b", "grep Bar")),
        event(2, 1, tool_finished("b", "3")),
        event(4, 2, tool_started("a", "read_file x")),
        event(4, 2, tool_finished("a", "3")),
        event(2, 1, tool_started("c", "glob *.rs")),
        event(2, 1, tool_finished("c", "3")),
    ]
}

/// The screen without what depends on the clock.
fn timeless(screen: &str) -> String {
    let line = |line: &str| match line.split_once(" · ") {
        Some((before, after)) if before.contains("turn ") => {
            let doing = after.rsplit_once(" · ").map_or("", |(_, doing)| doing);
            format!("{before} · {doing}\n")
        }
        _ => format!("{line}\n"),
    };
    screen.lines().map(line).collect()
}

/// The facts of an agent that did nothing.
const NOTHING: &str = "no commands run; no tests run; no commits; no sub-agents; no files changed";

#[test]
fn a_terminal_shows_the_crew_at_work_below_what_is_done() {
    let paper = Paper::default();
    let mut watched = WatchedLive::new(&paper, &paper, true);
    watched.show(at_work());
    // A sub-agent's words are not shown as they come.
    watched.stream(2, "secret musings");
    watched.tick();
    let at_work = "\
model: fake
explore-1  • grep Foo
explore-1  • grep Bar
explore-3  • read_file x
explore-1  • glob *.rs
⠙ turn 1 · waiting for the model
  ⠙ explore-1 \"find it\" turn 1/50 · writing
  └ ⠙ explore-3 \"deeper\" turn 0 · read_file x
  … explore-2 \"find more\" queued: as many agents run as may (max_running)
";
    assert_eq!(timeless(&paper.screen()), at_work);
    watched.show(vec![event(4, 2, settled("Deep.")), event(2, 1, settled("Found\nit.\n\nMore."))]);
    watched.show(vec![event(3, 1, settled(""))]);
    let settled = "\
explore-1  • glob *.rs
explore-3  ✓ deeper · 6 turns · 8 tool calls · 34 s
             NOTHING
             Deep.
explore-1  ✓ find it · 6 turns · 8 tool calls · 34 s
             NOTHING
             Found it.
explore-2  ✓ find more · 6 turns · 8 tool calls · 34 s
             NOTHING
⠙ turn 1 · waiting for the model
";
    let screen = timeless(&paper.screen());
    assert!(screen.ends_with(&settled.replace("NOTHING", NOTHING)), "{screen}");
}

#[test]
fn sub_agents_do_not_break_into_a_line_of_text() {
    let paper = Paper::default();
    let mut watched = WatchedLive::new(&paper, &paper, true);
    watched.show(at_work().into_iter().take(4).collect());
    watched.stream(1, "While they ");
    watched.show(vec![event(2, 1, tool_started("a", "grep Foo")), event(2, 1, tool_finished("a", ""))]);
    watched.tick();
    assert!(paper.screen().ends_with("While they\n"), "{}", paper.screen());
    watched.stream(1, "look, I wait.\n");
    watched.show(vec![event(2, 1, tool_finished("b", ""))]);
    watched.stream(1, "And wait. ");
    let expected = "\
model: fake
While they look, I wait.
explore-1  • grep Foo
explore-1  • grep
And wait.
";
    assert_eq!(paper.screen(), expected);
}

#[test]
fn without_a_terminal_each_line_names_its_agent() {
    let (out, err) = (Paper::default(), Paper::default());
    let mut watched = WatchedLive::new(&out, &err, false);
    watched.show(at_work());
    let retrying = |attempt| EventKind::Retrying {
        attempt,
        attempts_max: 6,
        delay_ms: 500,
        reason: "h: busy (529)".to_string(),
    };
    let nobody =
        EventKind::PersonAnswered { call: CallId("c".to_string()), answer: posse_protocol::Answer::Nobody };
    let asking =
        [event(4, 2, retrying(1)), event(4, 2, retrying(2)), event(2, 1, asks("rm x")), event(2, 1, nobody)];
    watched.show(asking.to_vec());
    watched.show(vec![event(2, 1, settled("Found it."))]);
    watched.stream(1, "All is found.");
    watched.tick();
    let begun = "\
model: fake
[explore-1] started on fake: find it
[explore-2] queued: as many agents run as may (max_running): find more
";
    let expected = "\
[explore-3] started on fake: deeper
[explore-1] • grep Foo
[explore-1] • grep Bar
[explore-3] • read_file x
[explore-1] • glob *.rs
[explore-3] h: busy (529); trying again
[explore-1] denied, because nobody can be asked: shell rm x
[explore-1] ✓ completed · 6 turns · 8 tool calls · tokens not reported · 34 s · NOTHING
";
    assert_eq!(err.text(), format!("{begun}{}", expected.replace("NOTHING", NOTHING)));
    assert_eq!(out.text(), "");
}

#[test]
fn who_was_at_work_before_is_known_and_what_they_did_is_not_shown_again() {
    let paper = Paper::default();
    let mut watched = WatchedLive::new(&paper, &paper, true);
    for event in at_work() {
        watched.fold(event);
    }
    assert_eq!(paper.text(), "");
    watched.live.found("session 01a1  fix it\n").unwrap();
    let resumed = EventKind::AgentResumed {
        model: "fake".into(),
        model_id: "fake-model".into(),
        elapsed_ms: 9_000,
        budget: Budget::UNLIMITED,
        grant: Grant::none(),
    };
    watched.show(vec![
        event(1, 0, resumed.clone()),
        event(2, 1, resumed),
        event(2, 1, tool_finished("z", "4")),
    ]);
    let expected = "\
session 01a1  fix it
explore-1  • grep
⠋ turn 1 · going on
  ⠋ explore-1 \"find it\" turn 1 · going on
  └ ⠋ explore-3 \"deeper\" turn 0 · read_file x
  … explore-2 \"find more\" queued: as many agents run as may (max_running)
";
    assert_eq!(timeless(&paper.screen()), expected);
    watched.show(vec![event(1, 0, replied("They are at it.", 5))]);
    assert!(timeless(&paper.screen()).contains("They are at it.\n⠋ turn 1 · waiting for sub-agents\n"));
}

#[test]
fn what_is_let_go_of_says_how_to_go_on() {
    for (agents, words) in
        [(2, "1 sub-agent is left where it is"), (4, "3 sub-agents are left where they are")]
    {
        let (out, err) = (Paper::default(), Paper::default());
        let mut watched = WatchedLive::new(&out, &err, false);
        let session = event(1, 0, turn(1)).session;
        watched.live.let_go(session, "They are\x1b[2J at it. ", agents).unwrap();
        assert_eq!(out.text(), "They are\\u{1b}[2J at it.\n");
        assert_eq!(err.text(), format!("\n‖ not done: {words}; go on with: posse resume 00000099\n"));
    }
}

#[test]
fn while_a_question_is_open_nothing_else_is_written() {
    let paper = Paper::default();
    let mut watched = WatchedLive::new(&paper, &paper, true);
    watched.show(at_work().into_iter().take(4).collect());
    watched.stream(1, "I would ");
    watched.show(vec![event(2, 1, asks("rm x"))]);
    watched.question(Some("? explore-1 wants to run rm x\n"));
    let asked = "model: fake\nI would\n? explore-1 wants to run rm x\n>\n";
    assert_eq!(paper.screen(), asked);
    watched.stream(1, "like to ");
    watched.show(vec![event(2, 1, tool_started("a", "grep Foo")), event(2, 1, tool_finished("a", ""))]);
    watched.show(vec![event(1, 0, replied("I would like to know.", 5))]);
    watched.tick();
    assert_eq!(paper.screen(), asked);
    watched.live.note("stopping …").unwrap();
    assert!(paper.screen().ends_with("> stopping …\n"), "this cannot wait: {}", paper.screen());
    watched.show(vec![event(2, 1, allowed())]);
    watched.question(None);
    let expected = "\
> stopping …
explore-1  • grep Foo
I would like to know.
⠙ turn 1 · waiting for sub-agents
  ⠙ explore-1 \"find it\" turn 0/50 · going on
";
    assert!(timeless(&paper.screen()).ends_with(expected), "{}", paper.screen());
}

/// What `posse run` writes of a session where there is no terminal: the answer, and everything else.
pub(crate) fn live_without_terminal(events: &[Event], report: Option<&Report>) -> String {
    let (out, err) = (Paper::default(), Paper::default());
    let mut watched = WatchedLive::new(&out, &err, false);
    watched.show(events.to_vec());
    if let Some((event, report)) = events.first().zip(report) {
        watched.live.finish(event.session, report, &watched.view).unwrap();
    }
    format!("{}-- answer\n{}", err.text(), out.text())
}
