//! The display of `posse run`: the main agent's text as it comes, one dimmed line a tool call, and below them a block
//! that is drawn again while work goes on: what the main agent does, and one line a sub-agent. Without a terminal the
//! same lines, plain, and no block.
//!
//! The answer goes to standard output, everything else to standard error, so that a pipe gets the answer alone.

use std::collections::HashMap;
use std::io;
use std::time::Instant;

use posse_protocol::visible::Visible;
use posse_protocol::{
    AgentId, Answer, CallId, Ending, Event, EventKind, Progress, ProgressKind, Report, SessionId, Update,
    Usage,
};

use super::block::{Block, Line};
use super::branches::Branches;
use super::call::{call_text, last_lines};
use super::crew::{Crew, doing, is_reply, retrying, stands_still, why_queued};
use super::summary::{left, not_covered, read_only_for_commands, settled_line, sub_agent_block, summary};
use super::terminal::Terminal;
use crate::output::{self, Style, columns, duration, now_ms, one_line, trimmed, visible};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Columns of a call in a log.
const LOGGED_CALL_COLUMNS_MAX: usize = 100;
/// Lines of the block, the main agent's included.
const BLOCK_LINES_MAX: usize = 12;
/// Lines of the terminal that the block leaves to the text above it.
const LINES_LEFT_ABOVE: usize = 4;
/// Columns that a line of the block leaves free: terminals write `^C` where the cursor is, and a line must not break.
const ECHO_COLUMNS: usize = 3;
/// Lines of sub-agents that wait for the end of a line of the main agent's text.
const HELD_LINES_MAX: usize = 500;

/// Shows one session. Ends with it.
pub(crate) struct Live {
    terminal: Terminal,
    style: Style,
    started: Instant,
    frame: usize,
    turn: u32,
    usage: Usage,
    /// What the main agent is doing right now.
    doing: String,
    /// Titles of the main agent's calls under way.
    running: HashMap<CallId, String>,
    /// The sub-agents that have not settled.
    crew: Crew,
    /// What sub-agents did in checkouts of their own.
    branches: Branches,
    /// This turn's text as far as it was shown.
    shown: String,
    /// How it goes on.
    visible: Visible,
    /// Whether the cursor stands in the middle of a line of text.
    mid_line: bool,
    /// Lines that came while it did, in order.
    held: Vec<String>,
    /// The sub-agent under whose name the last line stands.
    heading: Option<AgentId>,
    block: Block,
    /// When the main agent's reply last went on; none while it does not reply.
    heard: Option<Instant>,
    /// What was asked, as long as it is not answered.
    asked: HashMap<(AgentId, CallId), String>,
    /// While a question is open nothing else is written: what happens waits here.
    waiting: Option<Vec<Update>>,
}

impl Live {
    pub(crate) fn new(terminal: Terminal) -> Self {
        Self {
            style: terminal.style,
            terminal,
            started: Instant::now(),
            frame: 0,
            turn: 0,
            usage: Usage::default(),
            doing: "starting".to_string(),
            running: HashMap::new(),
            crew: Crew::default(),
            branches: Branches::default(),
            shown: String::new(),
            visible: Visible::default(),
            mid_line: false,
            held: Vec::new(),
            heading: None,
            block: Block::default(),
            heard: None,
            asked: HashMap::new(),
            waiting: None,
        }
    }

    pub(crate) fn update(&mut self, update: &Update) -> io::Result<()> {
        if let Some(waiting) = &mut self.waiting {
            // Progress may be lost; the event that follows holds all of it.
            if matches!(update, Update::Event(_)) {
                waiting.push(update.clone());
            }
            return Ok(());
        }
        if let Update::Event(event) = update {
            self.branches.event(event);
        }
        match update {
            Update::Event(event) if event.parent.is_some() => {
                self.asked(event);
                self.sub_agent_event(event)?;
            }
            Update::Event(event) => {
                self.asked(event);
                self.event(event)?;
            }
            Update::Progress(progress) => self.progress(progress)?,
        }
        self.draw()
    }

    pub(crate) fn tick(&mut self) -> io::Result<()> {
        self.frame = (self.frame + 1) % FRAMES.len();
        // Text that stops in the middle of a line leaves its line, so that there is room to say so.
        if self.mid_line && self.terminal.spins && self.silent().is_some() {
            self.end_line()?;
        }
        self.draw()
    }

    /// Shows a question below everything else; with none, goes on with what happened meanwhile.
    pub(crate) fn question(&mut self, text: Option<String>) -> io::Result<()> {
        let waited = self.waiting.take();
        match text {
            Some(text) => {
                self.end_line()?;
                self.clear()?;
                self.heading = None;
                self.terminal.aside(&text)?;
                // Behind the question and before the mark: whatever is typed from here on was typed in sight of it.
                output::forget_typed();
                self.terminal.aside("> ")?;
                self.waiting = Some(waited.unwrap_or_default());
            }
            None => waited.into_iter().flatten().try_for_each(|update| self.update(&update))?,
        }
        Ok(())
    }

    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        let text = self.style.yellow(text);
        self.line(&text)
    }

    pub(crate) fn finish(&mut self, session: SessionId, report: &Report) -> io::Result<()> {
        self.end_line()?;
        self.clear()?;
        if !self.terminal.streams && !report.text.trim().is_empty() {
            self.terminal.text(&format!("{}\n", visible(trimmed(&report.text))))?;
        }
        let text = summary(self.style, session, report, &self.branches);
        self.terminal.aside(&format!("\n{text}"))
    }

    /// What is said in place of the end where agents were left to be resumed.
    pub(crate) fn let_go(&mut self, session: SessionId, words: &str, agents: usize) -> io::Result<()> {
        self.end_line()?;
        self.clear()?;
        if !self.terminal.streams && !words.trim().is_empty() {
            self.terminal.text(&format!("{}\n", visible(trimmed(words))))?;
        }
        let text = format!("{} {}", self.style.yellow("‖"), left(session, agents));
        self.terminal.aside(&format!("\n{text}\n"))
    }

    /// Takes in what happened before this process: who the agents are, and what they have used.
    pub(crate) fn recall(&mut self, event: &Event) {
        self.branches.event(event);
        if event.parent.is_some() {
            self.crew.event(event);
            return;
        }
        match &event.kind {
            EventKind::TurnStarted { turn, .. } => self.turn = *turn,
            EventKind::Replied { reply, .. } => self.usage.add(reply.usage),
            EventKind::ToolStarted { call, title, .. } => {
                self.running.insert(call.clone(), one_line(title, 200));
            }
            EventKind::ToolFinished { call, .. } => drop(self.running.remove(call)),
            _ => {}
        }
    }

    /// What was found on record.
    pub(crate) fn found(&mut self, text: &str) -> io::Result<()> {
        self.line(text.trim_end())
    }

    /// That a reply has begun and does not go on, once that is worth telling.
    fn silent(&self) -> Option<String> {
        stands_still(self.heard?.elapsed())
    }

    fn progress(&mut self, progress: &Progress) -> io::Result<()> {
        // A sub-agent's words are not shown as they come: only one agent can write to one place.
        if self.crew.progress(progress, now_ms()) {
            return Ok(());
        }
        self.heard = is_reply(&progress.kind).then(Instant::now);
        if let Some(doing) = doing(&progress.kind) {
            self.doing = doing;
        }
        if let ProgressKind::Text(text) = &progress.kind { self.text(text) } else { Ok(()) }
    }

    /// Something that happened to the main agent.
    fn event(&mut self, event: &Event) -> io::Result<()> {
        self.heard = None;
        match &event.kind {
            EventKind::AgentStarted { model, .. } => {
                let text = self.style.dim(&format!("model: {}", one_line(model, 100)));
                self.line(&text)
            }
            EventKind::TurnStarted { turn, .. } => {
                self.turn = *turn;
                self.show_anew();
                self.doing = "waiting for the model".to_string();
                Ok(())
            }
            EventKind::Replied { reply, .. } => {
                self.usage.add(reply.usage);
                self.replied(&reply.text, reply.calls.is_empty())?;
                if reply.calls.is_empty() && !self.crew.is_empty() {
                    self.doing = "waiting for sub-agents".to_string();
                }
                Ok(())
            }
            EventKind::AgentResumed { .. } => {
                self.doing = "going on".to_string();
                Ok(())
            }
            EventKind::ToolStarted { call, title, .. } => {
                self.running.insert(call.clone(), one_line(title, 200));
                self.doing = one_line(title, 200);
                Ok(())
            }
            EventKind::ToolFinished { call, tool, .. } => {
                let title = self.running.remove(call).unwrap_or_else(|| one_line(tool, 60));
                self.call_done(&title, &event.kind)
            }
            EventKind::Retrying { attempt, attempts_max, delay_ms, reason } => {
                self.doing = retrying(*attempt, *attempts_max, *delay_ms, reason);
                // What was shown of the reply is not part of the one that is to come.
                let broke_off = !self.shown.is_empty();
                self.end_line()?;
                self.show_anew();
                self.retry_line("", *attempt, reason, broke_off)
            }
            EventKind::Compacted { bytes_before, bytes_after, .. } => {
                let text =
                    format!("the conversation was shortened from {bytes_before} to {bytes_after} bytes");
                let text = self.style.dim(&text);
                self.line(&text)
            }
            EventKind::Closing { ending } => {
                let text = self.style.dim(&one_line(&closing_text(ending), self.width().saturating_sub(3)));
                self.line(&text)
            }
            EventKind::PersonNeeded { .. } => {
                self.doing = "waiting for you".to_string();
                Ok(())
            }
            EventKind::PersonAnswered { call, answer } => self.answered(event.agent, "main", call, answer),
            EventKind::BackgroundEnded { name, exit_code, .. } => {
                let how = exit_code.map_or("stopped".to_string(), |code| format!("exit code {code}"));
                let text = self.style.dim(&format!("  {} ended: {how}", one_line(name, 60)));
                self.aside(text)
            }
            EventKind::NotCovered { what, read_only } => {
                let lines = [not_covered(what), read_only_for_commands(read_only)];
                lines.iter().flatten().try_for_each(|line| self.aside(self.style.dim(line)))
            }
            _ => Ok(()),
        }
    }

    /// A call of the main agent, and below one that failed what it printed last.
    fn call_done(&mut self, title: &str, finished: &EventKind) -> io::Result<()> {
        let room = self.width().saturating_sub(3);
        let mut text = format!("  {}", self.style.dim(&call_text(title, finished, room)));
        text.push_str(&self.printed(finished, "      ", room));
        self.line(&text)
    }

    /// What a command that failed printed last, each line behind this.
    fn printed(&self, finished: &EventKind, before: &str, room: usize) -> String {
        let lines = last_lines(finished, room.saturating_sub(4));
        lines.iter().map(|line| format!("\n{before}{}", self.style.dim(line))).collect()
    }

    /// Something that happened to a sub-agent.
    fn sub_agent_event(&mut self, event: &Event) -> io::Result<()> {
        let known = self.crew.member(event.agent).map(|member| (member.name.clone(), member.title.clone()));
        let call = self.crew.event(event);
        let member = self.crew.member(event.agent);
        let Some((name, title)) = member.map(|member| (member.name.clone(), member.title.clone())).or(known)
        else {
            return Ok(());
        };
        match &event.kind {
            EventKind::AgentQueued { reason, at } if !self.terminal.spins => {
                self.said(&name, &format!("{}: {title}", why_queued(*reason, at.as_deref())))
            }
            EventKind::AgentStarted { model, .. } => {
                if let Some(text) = self.crew.stand_in(event) {
                    let text = self.style.yellow(&text);
                    self.aside(text)?;
                }
                match self.terminal.spins {
                    true => Ok(()),
                    false => self.said(&name, &format!("started on {}: {title}", one_line(model, 100))),
                }
            }
            EventKind::AgentResumed { .. } if !self.terminal.spins => {
                self.said(&name, &format!("goes on: {title}"))
            }
            EventKind::ToolFinished { tool, .. } => {
                let title = call.unwrap_or_else(|| one_line(tool, 60));
                self.call_of(event.agent, &title, &event.kind)
            }
            EventKind::Retrying { attempt, reason, .. } => {
                self.retry_line(&format!("[{name}] "), *attempt, reason, false)
            }
            EventKind::PersonAnswered { call, answer } => self.answered(event.agent, &name, call, answer),
            EventKind::AgentSettled { report } if self.terminal.spins => {
                let text = sub_agent_block(self.style, &name, &title, report);
                self.aside(text.trim_end().to_string())
            }
            EventKind::AgentSettled { report } => self.said(&name, &settled_line(self.style, report)),
            _ => Ok(()),
        }
    }

    /// That a request is sent again: the block shows it, so a line is needed only where there is no block, once, and where
    /// words on the screen no longer count.
    fn retry_line(&mut self, who: &str, attempt: u32, reason: &str, broke_off: bool) -> io::Result<()> {
        let reason = one_line(reason, 160);
        let text = match (broke_off, self.terminal.spins) {
            (true, _) => format!("{who}{reason}; it is asked for once more"),
            (false, false) if attempt == 1 => format!("{who}{reason}; trying again"),
            (false, _) => return Ok(()),
        };
        let text = self.style.yellow(&text);
        self.aside(text)
    }

    fn asked(&mut self, event: &Event) {
        if let EventKind::PersonNeeded { question } = &event.kind {
            let what = one_line(&format!("{} {}", question.tool, question.what), LOGGED_CALL_COLUMNS_MAX);
            self.asked.insert((event.agent, question.call.clone()), what);
        }
    }

    /// What came of a question, where nobody could be asked.
    fn answered(&mut self, agent: AgentId, name: &str, call: &CallId, answer: &Answer) -> io::Result<()> {
        let what = self.asked.remove(&(agent, call.clone())).unwrap_or_default();
        if *answer != Answer::Nobody {
            return Ok(());
        }
        let text = self.style.yellow(&format!("[{name}] not allowed, for nobody is there to ask: {what}"));
        self.aside(text)
    }

    /// A plain line that names its agent, for logs.
    fn said(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.aside(format!("[{name}] {text}"))
    }

    /// A sub-agent's call, under its name.
    fn call_of(&mut self, agent: AgentId, title: &str, finished: &EventKind) -> io::Result<()> {
        let Some(member) = self.crew.member(agent) else { return Ok(()) };
        if !self.terminal.spins {
            let call = call_text(title, finished, LOGGED_CALL_COLUMNS_MAX);
            let before = format!("[{}]   ", member.name);
            let printed = self.printed(finished, &before, LOGGED_CALL_COLUMNS_MAX);
            let text = format!("[{}] {call}{printed}", member.name);
            return self.aside(text);
        }
        let indent = "  ".repeat(usize::try_from(member.depth.clamp(1, 12)).unwrap_or(1));
        let room = self.width().saturating_sub(indent.len() + 3);
        let mut text = String::new();
        if self.heading != Some(agent) {
            let heading = one_line(&format!("{} ▸", member.name), room);
            text = format!("{indent}{}\n", self.style.dim(&heading));
        }
        text.push_str(&format!("{indent}  {}", self.style.dim(&call_text(title, finished, room))));
        text.push_str(&self.printed(finished, &format!("{indent}      "), room));
        self.aside(text)?;
        self.heading = Some(agent);
        Ok(())
    }

    /// A line that can wait until the main agent's line of text is complete.
    fn aside(&mut self, text: String) -> io::Result<()> {
        if self.mid_line && self.held.len() < HELD_LINES_MAX {
            self.heading = None;
            self.held.push(text);
            return Ok(());
        }
        self.line(&text)
    }

    /// Text as it comes.
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.doing = "writing".to_string();
        if !self.terminal.streams {
            return Ok(());
        }
        let text = if self.shown.is_empty() { text.trim_start_matches([' ', '\n', '\t']) } else { text };
        if text.is_empty() {
            return Ok(());
        }
        self.clear()?;
        let visible = self.visible.text(text);
        self.terminal.text(&visible)?;
        self.shown.push_str(text);
        self.mid_line = !text.ends_with('\n');
        self.heading = None;
        if self.mid_line { Ok(()) } else { self.release() }
    }

    /// A whole reply: shown now if it was not, or not all of it. The last one is shown by `finish` where nothing streams.
    fn replied(&mut self, text: &str, last: bool) -> io::Result<()> {
        let missing = trimmed(text) != trimmed(&self.shown);
        if missing && self.terminal.streams {
            self.end_line()?;
            self.show_anew();
            self.text(text)?;
        } else if missing && !last {
            self.line(&visible(trimmed(text)))?;
        }
        self.end_line()
    }

    fn show_anew(&mut self) {
        self.shown.clear();
        self.visible = Visible::default();
    }

    /// A line of its own on standard error.
    fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_line()?;
        self.clear()?;
        self.heading = None;
        self.terminal.aside(&format!("{text}\n"))
    }

    fn end_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.mid_line) {
            self.terminal.text("\n")?;
            self.release()?;
        }
        Ok(())
    }

    /// Writes what was held back.
    fn release(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        held.iter().try_for_each(|text| self.terminal.aside(&format!("{text}\n")))
    }

    fn draw(&mut self) -> io::Result<()> {
        if !self.terminal.spins || self.mid_line || self.waiting.is_some() {
            return Ok(());
        }
        let (width, height) = self.terminal.size();
        let elapsed = duration(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX));
        let spent = match self.usage.total_tokens() {
            Some(_) => format!(" · {}", posse_view::words::tokens(self.usage)),
            None => String::new(),
        };
        let spinner = FRAMES[self.frame];
        let doing = self.silent().unwrap_or_else(|| self.doing.clone());
        let main = format!("turn {} · {elapsed}{spent} · {doing}", self.turn);
        let main = one_line(&main, width.saturating_sub(2 + ECHO_COLUMNS));
        let main_columns = columns(&main) + 2;
        let painted = format!("{} {}", self.style.cyan(spinner), self.style.dim(&main));
        let mut lines = vec![Line { painted, columns: main_columns }];
        if !self.crew.is_empty() {
            let lines_max = BLOCK_LINES_MAX.min(height.saturating_sub(LINES_LEFT_ABOVE)).saturating_sub(1);
            let crew = self.crew.render(width.saturating_sub(2 + ECHO_COLUMNS), lines_max, now_ms(), spinner);
            lines.extend(crew.into_iter().map(|line| Line {
                columns: columns(&line) + 2,
                painted: format!("  {}", self.style.dim(&line)),
            }));
        }
        self.block.draw(&lines, width, self.terminal.block())
    }

    fn clear(&mut self) -> io::Result<()> {
        let width = self.width();
        self.block.clear(width, self.terminal.block())
    }

    /// Columns and rows there are for a question.
    pub(crate) fn size(&self) -> (usize, usize) {
        self.terminal.size()
    }

    fn width(&self) -> usize {
        self.terminal.size().0
    }
}

/// What is said when only a last report is left.
fn closing_text(ending: &Ending) -> String {
    format!("· {ending}: asked for a last report")
}

#[cfg(test)]
mod tests;
