//! What each command prints of the sessions in `crates/view/fixtures`, whole: a change of words is seen here.

use std::path::PathBuf;

use posse_protocol::{Event, EventKind, Report};
use posse_view::SessionView;

use crate::display::live_without_terminal;
use crate::output::Style;
use crate::sessions::markdown_of;
use crate::steps::{Showing, Steps};
use crate::tasks;

/// Columns of a terminal.
const WIDTH: usize = 120;
/// How long after the last event somebody looks.
const LATER: u64 = 5_000;

fn events(name: &str) -> Vec<Event> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../view/fixtures");
    let text = std::fs::read_to_string(folder.join(format!("{name}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn view(events: &[Event]) -> SessionView {
    let mut view = SessionView::default();
    for event in events {
        view.fold(event).unwrap();
    }
    view
}

/// What the main agent came to, where it has ended.
fn report(events: &[Event]) -> Option<&Report> {
    events.iter().find_map(|event| match &event.kind {
        EventKind::AgentSettled { report } if event.parent.is_none() => Some(report),
        _ => None,
    })
}

fn steps(events: &[Event]) -> String {
    let mut steps = Steps::new(Showing::plain());
    let mut text = events.iter().map(|event| steps.lines(event).unwrap()).collect::<String>();
    text.push_str(&steps.unanswered());
    text
}

/// Everything that is printed of a session.
fn printed(name: &str) -> String {
    let events = events(name);
    let view = view(&events);
    let tasks = tasks::told(Style::plain(), &view, WIDTH, view.last_at_ms + LATER);
    let run = live_without_terminal(&events, report(&events));
    let (show, export) = (steps(&events), markdown_of(&events));
    format!(
        "== posse run\n{run}\n== posse tasks\n{tasks}\n== posse sessions show\n{show}\n== posse sessions export\n{export}"
    )
}

macro_rules! printed {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            insta::assert_snapshot!(printed(stringify!($name)));
        }
    )*};
}

printed! { alone parallel question failure resumed branches fork placed }
