//! How a running session is shown: live in a terminal, as plain lines, as JSON, or not at all.

mod block;
mod branches;
mod call;
mod crew;
mod labelled;
mod live;
mod live_tree;
mod mark;
pub(crate) mod measured;
mod names;
#[cfg(test)]
pub(crate) mod sample;
mod summary;
mod terminal;
pub(crate) mod tree;

use std::io;

use posse_protocol::{Ending, Event, Failure, Progress, Report, SessionId};
use posse_view::{Folded, SessionView};

use crate::output::{self, Style};

#[cfg(test)]
pub(crate) use live::tests::live_without_terminal;
pub(crate) use live_tree::LiveTree;
pub(crate) use summary::{ending_line, not_covered, read_only_for_commands, short};

/// One way of showing a session.
pub(crate) enum Display {
    /// Text as it comes, a line a tool call, a spinner where there is a terminal.
    Live(Box<live::Live>),
    /// One line of JSON an event.
    Json,
    /// The final answer only.
    Quiet,
}

impl Display {
    pub(crate) fn live() -> Self {
        Self::Live(Box::new(live::Live::new(terminal::Terminal::of_process(), true)))
    }

    /// The same for a session whose folder goes with it: the end does not say what to type next.
    pub(crate) fn live_without_next_steps() -> Self {
        Self::Live(Box::new(live::Live::new(terminal::Terminal::of_process(), false)))
    }

    /// Something that happened, and is in the view by now. `folded` says what it has ended.
    pub(crate) fn event(&mut self, event: &Event, folded: &Folded, view: &SessionView) -> io::Result<()> {
        match self {
            Self::Live(live) => live.event(event, folded, view),
            Self::Json => output::print(&output::event_json(event)?),
            Self::Quiet => Ok(()),
        }
    }

    /// Something worth showing before it is complete; the event that follows holds all of it.
    pub(crate) fn progress(&mut self, progress: &Progress, view: &SessionView) -> io::Result<()> {
        if let Self::Live(live) = self { live.progress(progress, view) } else { Ok(()) }
    }

    /// What was found on record, before a session goes on.
    pub(crate) fn found(&mut self, text: &str) -> io::Result<()> {
        if let Self::Live(live) = self { live.found(text) } else { Ok(()) }
    }

    /// Moves the spinner.
    pub(crate) fn tick(&mut self, view: &SessionView) -> io::Result<()> {
        if let Self::Live(live) = self { live.tick(view) } else { Ok(()) }
    }

    /// Something the person should know that is no event.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Live(live) => live.note(text),
            Self::Json | Self::Quiet => output::print_aside(&format!("{text}\n")),
        }
    }

    /// Shows a question and stays there until another comes or none.
    pub(crate) fn question(&mut self, text: Option<String>, view: &SessionView) -> io::Result<()> {
        if let Self::Live(live) = self { live.question(text, view) } else { Ok(()) }
    }

    /// The end of watching, not of the work: what was said last, and how to go on.
    pub(crate) fn let_go(&mut self, session: SessionId, words: &str, agents: usize) -> io::Result<()> {
        match self {
            Self::Live(live) => live.let_go(session, words, agents),
            Self::Json => Ok(()),
            Self::Quiet => summary::quiet_let_go(session, words, agents),
        }
    }

    /// The end of watching a session that goes on elsewhere, or whose process is gone.
    pub(crate) fn left(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Live(live) => live.left(text),
            Self::Json | Self::Quiet => output::print_aside(&format!("{text}\n")),
        }
    }

    /// Columns and rows there are for a question.
    pub(crate) fn size(&self) -> (usize, usize) {
        if let Self::Live(live) = self { live.size() } else { (0, 0) }
    }

    pub(crate) fn style(&self) -> Style {
        Style::for_stderr()
    }

    /// The end: the answer where it was not shown yet, and what it took.
    pub(crate) fn finish(
        &mut self,
        session: SessionId,
        report: &Report,
        view: &SessionView,
    ) -> io::Result<()> {
        match self {
            Self::Live(live) => live.finish(session, report, view),
            Self::Json => match &report.ending {
                // The one ending that cannot be an event.
                Ending::Failed { failure: failure @ Failure::Internal { .. } } => {
                    output::print_aside(&format!("posse: {}\n", output::visible(&failure.to_string())))
                }
                _ => Ok(()),
            },
            Self::Quiet => summary::quiet(report),
        }
    }
}
