//! Whatever comes in whatever order on whatever screen: no panic, a region within its bounds, and bounded memory.

use posse_protocol::{
    Answer, Approval, CallId, CallKind, Ending, EventKind, FreeQuestion, MailId, ProgressKind, Purpose,
    QueueReason, Sender, Usage,
};
use posse_terminal::PathIndex;
use posse_tui::{ChatFound, ChatInput, ChatOutcome};

use super::support::*;

/// A small generator of numbers, so that a seed tells the whole run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end.max(1)
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }
}

const TEXTS: [&str; 14] = [
    "",
    "a",
    "hello world",
    "/mode plan",
    "/",
    "@src/ma",
    "!ls -la",
    "語語語語語語",
    "e\u{301}\u{301}\u{301}",
    "👩‍👩‍👧‍👦 family",
    "\x1b[31mred\x07\u{202e}",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n",
    "```rust\nfn main() {\n",
    "a very long line without an end that is wider than every screen ",
];

const KEYS: [&str; 36] = [
    "\r",
    "\t",
    "\x1b",
    "\x1b[Z",
    "\x1b[A",
    "\x1b[B",
    "\x1b[C",
    "\x1b[D",
    "\x1b[1;3A",
    "\x1b[1;3B",
    "\x1b[3~",
    "\x7f",
    "\x01",
    "\x02",
    "\x05",
    "\x07",
    "\x0b",
    "\x0c",
    "\x0f",
    "\x11",
    "\x12",
    "\x14",
    "\x15",
    "\x17",
    "\x19",
    "\x1f",
    "\x1br",
    "\x1b[I",
    "\x1b[O",
    "y",
    "n",
    "s",
    "r",
    "/",
    "@",
    "?",
];

const SIZES: [(u16, u16); 8] = [(0, 0), (1, 1), (2, 2), (1, 50), (500, 3), (40, 24), (80, 24), (500, 200)];

fn text(dice: &mut Dice) -> String {
    let times = dice.one(&[1, 1, 1, 2, 40]);
    dice.one(&TEXTS).repeat(times)
}

fn event(dice: &mut Dice) -> EventKind {
    let call = format!("c{}", dice.below(4));
    match dice.below(24) {
        0 => started(0),
        1 => turn(u32::MAX),
        2 => replied(&text(dice), u64::MAX),
        3 => EventKind::CutShort { turn: 1, text: text(dice) },
        4 => tool_started(&call, &text(dice), dice.one(&[CallKind::Run, CallKind::Edit, CallKind::Other])),
        5 => tool_finished(&call, &text(dice), dice.below(2) == 0),
        6 | 7 => {
            let mut asked = question(&call, &text(dice));
            asked.leaves = dice.below(4) == 0;
            asked.preview = (dice.below(2) == 0).then(|| format!("+{}\n", dice.one(&TEXTS)).repeat(30));
            asked.asks = (dice.below(3) == 0).then(|| FreeQuestion { choices: vec![text(dice); 5] });
            asks(asked)
        }
        8 => answered(&call),
        9 => EventKind::PersonAnswered { call: CallId(call), answer: Answer::No { reason: text(dice) } },
        10 => mailed(dice.below(9) as u64 + 1, &text(dice), dice.below(2) == 0),
        11 => EventKind::MailWithdrawn { id: MailId(dice.below(9) as u64) },
        12 => EventKind::told(dice.one(&[Sender::Person, Sender::Reports]), text(dice)),
        13 => EventKind::AgentQueued { reason: QueueReason::RunningCap, at: None },
        14 => settled(dice.one(&[Ending::Completed, Ending::Cancelled, Ending::OutOfTurns]), &text(dice)),
        15 => EventKind::AgentRested { report: Some(report(Ending::Completed, &text(dice))) },
        16 => EventKind::AgentWoken { elapsed_ms: u64::MAX, budget: posse_protocol::Budget::UNLIMITED },
        17 => EventKind::BackgroundStarted { name: call, command: text(dice) },
        18 => EventKind::BackgroundEnded { name: call, exit_code: None, tail: text(dice) },
        19 => {
            EventKind::Retrying { attempt: u32::MAX, attempts_max: 1, delay_ms: u64::MAX, reason: text(dice) }
        }
        20 => EventKind::SettingsChanged {
            model: text(dice),
            model_id: text(dice),
            effort: Some(text(dice)),
            approval: dice.one(&Approval::ALL),
        },
        21 => EventKind::SessionInterrupted { agents: vec![id(1)], detached: false },
        22 => EventKind::TurnStarted { turn: 1, purpose: dice.one(&[Purpose::Summary, Purpose::LastWord]) },
        _ => EventKind::Changed { turn: 1, changes: Vec::new() },
    }
}

fn outcome(dice: &mut Dice) -> ChatOutcome {
    match dice.below(16) {
        0..3 => ChatOutcome::Begun { session: session(), notes: vec![text(dice)] },
        3 => ChatOutcome::NotBegun { words: posse_tui::PromptWords::default(), why: text(dice) },
        4 => ChatOutcome::Failed(text(dice)),
        5 => ChatOutcome::Note(text(dice)),
        6 => ChatOutcome::Said { command: text(dice), text: text(dice), failed: true, for_model: true },
        7 => ChatOutcome::Expanded(text(dice)),
        8 => ChatOutcome::Output(text(dice)),
        9 => ChatOutcome::Side { question: text(dice), answer: text(dice) },
        10 => ChatOutcome::Edited(text(dice)),
        11 => ChatOutcome::StatusLine(text(dice)),
        12 => {
            let paths: Vec<_> =
                (0..50).map(|n| format!("src/{}{n}.rs", dice.one(&["a", "ma", "語"]))).collect();
            let none: [&String; 0] = [];
            ChatOutcome::Found(ChatFound::Files(Box::new(PathIndex::new(&paths, none))))
        }
        13 => ChatOutcome::CaughtUp,
        14 => ChatOutcome::Followed,
        _ => ChatOutcome::SessionOver { lost: Some("gone.".to_owned()) },
    }
}

fn step(dice: &mut Dice, stage: &mut ChatStage, size: &mut (u16, u16)) {
    match dice.below(20) {
        0..6 => drop(stage.keys(dice.one(&KEYS))),
        6 => drop(stage.keys(&text(dice))),
        7 => {
            // What is pasted into the search of a view has to be found in all its lines, which takes its time.
            let times = if stage.chat.full_screen().is_some() { 1 } else { dice.one(&[1, 1, 500]) };
            stage.paste(&text(dice).repeat(times));
        }
        8 => {
            *size = dice.one(&SIZES);
            stage.input(ChatInput::Resized { columns: size.0, rows: size.1 });
        }
        9 => {
            let n = u32::try_from(dice.below(30)).unwrap() + 2;
            stage.admit(n, 1, &format!("agent-{n}"), &text(dice));
        }
        10..15 => {
            let n = if dice.below(2) == 0 { 1 } else { u32::try_from(dice.below(30)).unwrap() + 2 };
            let kind = event(dice);
            stage.event(n, kind);
        }
        15 | 16 => stage.streams(&text(dice)),
        17 => {
            let call = CallId(format!("c{}", dice.below(4)));
            let kinds = [
                ProgressKind::Reasoning(text(dice)),
                ProgressKind::Output { call, text: text(dice) },
                ProgressKind::Arriving,
            ];
            stage.progress(1, dice.one(&kinds));
        }
        18 => {
            let outcome = outcome(dice);
            stage.outcome(outcome);
        }
        _ => {
            stage.now_ms += dice.one(&[1, 100, 5_000, 1_000_000]);
            stage.input(ChatInput::Tick);
        }
    }
}

#[test]
fn ten_thousand_random_inputs() {
    for seed in [1, 0xfeed_beef] {
        let mut dice = Dice(seed);
        let mut stage = ChatStage::sized(80, 24);
        let (mut size, mut views, mut sessions) = ((80_u16, 24_u16), 0, 0);
        stage.keys("go\r");
        stage.outcome(ChatOutcome::Begun { session: session(), notes: Vec::new() });
        stage.event(1, session_started());
        for number in 0..5_000 {
            step(&mut dice, &mut stage, &mut size);
            let region = stage.region();
            let (columns, rows) = (usize::from(size.0).max(1), usize::from(size.1).max(1));
            let most = (rows / 3).max(5).min(rows.saturating_sub(1).max(1));
            assert!(
                region.lines.len() <= most,
                "seed {seed}, step {number}: {} rows of {most}",
                region.lines.len()
            );
            let widest = region.lines.iter().map(posse_terminal::TextLine::columns).max().unwrap_or(0);
            assert!(
                widest <= columns.saturating_sub(1).max(1),
                "seed {seed}, step {number}: {widest} of {columns}"
            );
            if let Some((row, column)) = region.cursor {
                assert!(
                    row < region.lines.len() && column < columns,
                    "seed {seed}, step {number}: {row}:{column}"
                );
            }
            if let Some(view) = stage.chat.full_screen().filter(|_| number % 8 == 0) {
                view.rows(None, (columns.min(200), rows.min(60)), stage.now_ms);
                views += 1;
            }
            sessions += usize::from(stage.chat.title() != "posse");
            stage.chat.take_printed();
        }
        stage.input(ChatInput::Resized { columns: u16::MAX, rows: u16::MAX });
        assert!(
            stage.region().lines.len() <= usize::from(u16::MAX / 3),
            "a terminal that lies about its size"
        );
        assert!(
            views > 20 && sessions > 1_000,
            "the run went somewhere: {views} views, {sessions} steps in sessions"
        );
    }
}

#[test]
fn fifty_thousand_agents_are_counted_in_a_few_rows() {
    let mut stage = ChatStage::at_work();
    for n in 2..50_002 {
        stage.admit(n, 1, &format!("agent-{n}"), "a task");
        stage.event(n, started(1));
        if n % 2 == 0 {
            stage.event(n, settled(Ending::Completed, "done"));
        }
    }
    let rows = stage.rows();
    assert!(rows.len() <= 8, "{rows:?}");
    assert!(stage.shows("more, ") && stage.shows("of them at work (Ctrl+T)"), "{rows:?}");
    let printed = stage.printed();
    assert!(printed.len() <= 20_001, "{} lines are kept", printed.len());
    assert!(
        printed[0].starts_with("… ") && printed[0].ends_with(" earlier lines (Ctrl+O shows all)"),
        "{}",
        printed[0]
    );
}

#[test]
fn figures_from_strangers_do_not_overflow() {
    let mut stage = ChatStage::at_work();
    let usage = Usage { input_tokens: Some(u64::MAX), output_tokens: Some(u64::MAX), ..Usage::default() };
    let reply = posse_protocol::Reply { usage, ..posse_protocol::Reply::default() };
    stage.event(1, EventKind::Replied { turn: 1, reply, duration_ms: u64::MAX, cost_usd: Some(f64::MAX) });
    assert!(stage.shows("large"), "{:?}", stage.rows());
}
