//! The display of `posse run`: the model's text as it comes, one dimmed line a tool call, and a status line that
//! spins while nothing else is being written. Without a terminal the same lines, plain, and no spinner.
//!
//! The answer goes to standard output, everything else to standard error, so that a pipe gets the answer alone.

use std::collections::HashMap;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Instant;

use posse_protocol::{
    CallId, Effect, Event, EventKind, ProgressKind, Report, Sender, SessionId, Update, Usage,
};

use super::summary::{summary, tokens};
use crate::output::{self, Style, duration, harmless, one_line};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const WIDTH_WITHOUT_TERMINAL: usize = 100;

/// Shows one session. Ends with it.
pub(crate) struct Live {
    style: Style,
    /// Whether standard output is a terminal: then text is shown as it comes.
    streams: bool,
    /// Whether standard error is one: then there is a status line.
    spins: bool,
    started: Instant,
    frame: usize,
    turn: u32,
    usage: Usage,
    /// What is being done right now.
    doing: String,
    /// Titles of the calls under way.
    running: HashMap<CallId, String>,
    /// This turn's text as far as it was shown.
    shown: String,
    /// Whether the cursor stands in the middle of a line of text.
    mid_line: bool,
    status_shown: bool,
}

impl Live {
    pub(crate) fn new() -> Self {
        Self {
            style: Style::for_stderr(),
            streams: io::stdout().is_terminal(),
            spins: io::stderr().is_terminal(),
            started: Instant::now(),
            frame: 0,
            turn: 0,
            usage: Usage::default(),
            doing: "starting".to_string(),
            running: HashMap::new(),
            shown: String::new(),
            mid_line: false,
            status_shown: false,
        }
    }

    pub(crate) fn update(&mut self, update: &Update) -> io::Result<()> {
        match update {
            Update::Event(event) => self.event(event)?,
            Update::Progress(progress) => match &progress.kind {
                ProgressKind::Text(text) => self.text(text)?,
                ProgressKind::Reasoning(_) => self.doing = "thinking".to_string(),
                ProgressKind::Calling(tool) => self.doing = format!("writing a {} call", one_line(tool, 40)),
                ProgressKind::Queued => self.doing = "waiting for its turn at the model".to_string(),
            },
        }
        self.status()
    }

    pub(crate) fn tick(&mut self) -> io::Result<()> {
        self.frame = (self.frame + 1) % FRAMES.len();
        self.status()
    }

    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        let text = self.style.yellow(text);
        self.line(&text)
    }

    pub(crate) fn finish(&mut self, session: SessionId, report: &Report) -> io::Result<()> {
        self.end_line()?;
        self.clear_status()?;
        if !self.streams && !report.text.trim().is_empty() {
            output::print(&format!("{}\n", harmless(report.text.trim_end())))?;
        }
        write!(io::stderr(), "\n{}", summary(self.style, session, report))
    }

    fn event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::AgentStarted { model, .. } => {
                let text = self.style.dim(&format!("model: {}", one_line(model, 100)));
                self.line(&text)
            }
            EventKind::TurnStarted { turn } => {
                self.turn = *turn;
                self.shown.clear();
                self.doing = "waiting for the model".to_string();
                Ok(())
            }
            EventKind::Replied { reply, .. } => {
                self.usage.add(reply.usage);
                self.replied(&reply.text, reply.calls.is_empty())
            }
            EventKind::ToolStarted { call, title, .. } => {
                self.running.insert(call.clone(), one_line(title, 200));
                self.doing = one_line(title, 200);
                Ok(())
            }
            EventKind::ToolFinished { call, tool, ok, text, effects, duration_ms } => {
                let title = self.running.remove(call).unwrap_or_else(|| one_line(tool, 60));
                self.call_line(&title, *ok, text, effects, *duration_ms)
            }
            EventKind::Retrying { attempt, delay_ms, reason } => {
                self.doing = "waiting to try again".to_string();
                let text = format!("retry {attempt} in {}: {}", duration(*delay_ms), one_line(reason, 160));
                let text = self.style.yellow(&text);
                self.line(&text)
            }
            EventKind::Compacted { bytes_before, bytes_after, .. } => {
                let text =
                    format!("the conversation was shortened from {bytes_before} to {bytes_after} bytes");
                let text = self.style.dim(&text);
                self.line(&text)
            }
            EventKind::Told { from: Sender::Posse, text } => {
                let text =
                    self.style.dim(&format!("posse: {}", one_line(text, self.width().saturating_sub(10))));
                self.line(&text)
            }
            _ => Ok(()),
        }
    }

    /// Text as it comes.
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.doing = "writing".to_string();
        if !self.streams {
            return Ok(());
        }
        let text = harmless(text);
        let text = if self.shown.is_empty() { text.trim_start() } else { &text };
        if text.is_empty() {
            return Ok(());
        }
        self.clear_status()?;
        output::print(text)?;
        self.shown.push_str(text);
        self.mid_line = !text.ends_with('\n');
        Ok(())
    }

    /// A whole reply: shown now if it was not, or not all of it. The last one is shown by `finish` where nothing streams.
    fn replied(&mut self, text: &str, last: bool) -> io::Result<()> {
        let whole = harmless(text);
        let missing = whole.trim() != self.shown.trim_end();
        if missing && self.streams {
            self.end_line()?;
            self.shown.clear();
            self.text(text)?;
        } else if missing && !last {
            self.line(whole.trim())?;
        }
        self.end_line()
    }

    fn call_line(
        &mut self,
        title: &str,
        ok: bool,
        text: &str,
        effects: &[Effect],
        duration_ms: u64,
    ) -> io::Result<()> {
        let mut facts = Vec::new();
        for effect in effects {
            match effect {
                Effect::File(change) => {
                    facts.push(format!("+{} −{}", change.lines_added, change.lines_removed))
                }
                Effect::Command(run) => match run.exit_code {
                    Some(0) | None => {}
                    Some(code) => facts.push(format!("exit {code}")),
                },
                Effect::Todo { .. } => {}
            }
        }
        if !ok && facts.is_empty() {
            facts.push(one_line(text, 120));
        }
        if duration_ms >= 1000 {
            facts.push(duration(duration_ms));
        }
        let mark = if ok { "•" } else { "✗" };
        let facts = if facts.is_empty() { String::new() } else { format!("  ({})", facts.join(", ")) };
        let line = one_line(&format!("{mark} {title}{facts}"), self.width().saturating_sub(3));
        let line = format!("  {}", self.style.dim(&line));
        self.line(&line)
    }

    /// A line of its own on standard error.
    fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.clear_status()?;
        writeln!(io::stderr(), "{text}")
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.mid_line) { output::print("\n") } else { Ok(()) }
    }

    fn status(&mut self) -> io::Result<()> {
        if !self.spins || self.mid_line {
            return Ok(());
        }
        let elapsed = duration(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        let spent = match self.usage.total_tokens() {
            Some(_) => format!(" · {}", tokens(self.usage)),
            None => String::new(),
        };
        let text = format!("turn {} · {elapsed}{spent} · {}", self.turn, self.doing);
        let text = one_line(&text, self.width().saturating_sub(4));
        let mut err = io::stderr();
        write!(err, "\r\x1b[2K{} {}", self.style.cyan(FRAMES[self.frame]), self.style.dim(&text))?;
        self.status_shown = true;
        err.flush()
    }

    fn clear_status(&mut self) -> io::Result<()> {
        if !std::mem::take(&mut self.status_shown) {
            return Ok(());
        }
        let mut err = io::stderr();
        write!(err, "\r\x1b[2K")?;
        err.flush()
    }

    fn width(&self) -> usize {
        match terminal_size::terminal_size_of(io::stderr()) {
            Some((width, _)) => usize::from(width.0).max(20),
            None => WIDTH_WITHOUT_TERMINAL,
        }
    }
}
