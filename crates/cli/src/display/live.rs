//! The display of `posse run`: the main agent's text as it comes, one dimmed line a tool call, and below them a block
//! that is drawn again while work goes on: what the main agent does, and one line a sub-agent. Without a terminal the
//! same lines, plain, and no block.
//!
//! The answer goes to standard output, everything else to standard error, so that a pipe gets the answer alone.

use std::collections::BTreeSet;
use std::io;

use posse_protocol::visible::Visible;
use posse_protocol::{
    AgentId, AgentState, Answer, CallId, Ending, Event, EventKind, Progress, ProgressKind, Report, Sender,
    SessionId,
};
use posse_view::{AgentView, Folded, SessionView, words};

use super::block::{Block, Line};
use super::call::{call_text, last_lines, title};
use super::crew;
use super::names;
use super::summary::{
    ended, left, not_covered, read_only_for_commands, settled_line, sub_agent_block, summary,
};
use super::terminal::Terminal;
use crate::limits::{BLOCK_LINES_MAX, HELD_LINES_MAX, LOGGED_CALL_COLUMNS_MAX, TEXT_COLUMNS_MAX};
use crate::output::{self, Style, columns, now_ms, one_line, trimmed, visible};
use crate::prose::{Prose, hanging};

const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// Lines of the terminal that the block leaves to the text above it.
const LINES_LEFT_ABOVE: usize = 4;
/// Columns that a line of the block leaves free: terminals write `^C` where the cursor is, and a line must not break.
const ECHO_COLUMNS: usize = 3;

/// Shows one session. Ends with it.
pub(crate) struct Live {
    terminal: Terminal,
    style: Style,
    frame: usize,
    /// This turn's text as far as it was shown.
    shown: String,
    /// How it goes on.
    visible: Visible,
    /// How it is drawn.
    prose: Prose,
    /// Lines that came in the middle of it, in order.
    held: Vec<String>,
    /// The calls that started agents, which tell the rest themselves.
    delegations: BTreeSet<(AgentId, CallId)>,
    block: Block,
    /// Whether the end says what to type next.
    next_steps: bool,
    /// Models that were asked for and are not there, as far as that was said.
    missing_models: BTreeSet<String>,
    /// Whether the last answer was shown when the session began to rest.
    answer_shown: bool,
}

impl Live {
    pub(crate) fn new(terminal: Terminal, next_steps: bool) -> Self {
        let prose = terminal.prose();
        Self {
            style: terminal.style,
            terminal,
            frame: 0,
            shown: String::new(),
            visible: Visible::default(),
            prose,
            held: Vec::new(),
            delegations: BTreeSet::new(),
            next_steps,
            block: Block::default(),
            missing_models: BTreeSet::new(),
            answer_shown: false,
        }
    }

    pub(crate) fn event(&mut self, event: &Event, folded: &Folded, view: &SessionView) -> io::Result<()> {
        if self.is_told_by_its_agents(event) {
            return self.draw(view);
        }
        match (event.parent, view.agents.get(event.agent)) {
            (None, _) => self.main_event(event, folded)?,
            (Some(_), Some(agent)) => self.sub_agent_event(event, folded, view, agent)?,
            (Some(_), None) => {}
        }
        self.draw(view)
    }

    pub(crate) fn progress(&mut self, progress: &Progress, view: &SessionView) -> io::Result<()> {
        // A sub-agent's words are not shown as they come: only one agent can write to one place. While a question is
        // open nobody's are; the event that follows holds all of them.
        let is_main = view.main().is_some_and(|main| main.id == progress.agent);
        let more = match &progress.kind {
            ProgressKind::Text(text) => Some(text.as_str()),
            ProgressKind::TextSoFar(text) => text.strip_prefix(self.shown.as_str()),
            _ => None,
        };
        if let Some(text) = more.filter(|_| is_main && !self.terminal.holds()) {
            self.text(text)?;
        }
        self.draw(view)
    }

    pub(crate) fn tick(&mut self, view: &SessionView) -> io::Result<()> {
        self.frame = (self.frame + 1) % FRAMES.len();
        // Text that stops in the middle of a line leaves its line, so that there is room to say so.
        let silent = view.main().is_some_and(|main| main.silent_ms(now_ms()).is_some());
        if self.prose.is_mid_row() && self.terminal.spins && silent {
            let mut text = String::new();
            self.prose.pause(&mut text, self.terminal.text_width());
            self.terminal.text(&text)?;
        }
        self.draw(view)
    }

    /// Shows a question below everything else; with none, goes on with what happened meanwhile.
    pub(crate) fn question(&mut self, text: Option<String>, view: &SessionView) -> io::Result<()> {
        let Some(text) = text else {
            self.terminal.release()?;
            return self.draw(view);
        };
        self.end_line()?;
        self.clear()?;
        self.terminal.aside_now(&text)?;
        // Behind the question and before the mark: whatever is typed from here on was typed in sight of it.
        output::forget_typed();
        self.terminal.aside_now("> ")?;
        self.terminal.hold();
        Ok(())
    }

    /// Something the person is told at once, whatever is open.
    pub(crate) fn note(&mut self, text: &str) -> io::Result<()> {
        let rows = hanging("", text, self.wrap_width());
        let text = rows.iter().map(|row| self.style.yellow(row)).collect::<Vec<_>>().join("\n");
        if self.terminal.holds() {
            return self.terminal.aside_now(&format!("{text}\n"));
        }
        self.line(&text)
    }

    pub(crate) fn finish(
        &mut self,
        session: SessionId,
        report: &Report,
        view: &SessionView,
    ) -> io::Result<()> {
        self.terminal.release()?;
        self.last_words(if self.answer_shown { "" } else { &report.text })?;
        let session = self.next_steps.then_some(session);
        let text = summary(self.style, session, report, view, self.wrap_width());
        self.terminal.aside(&format!("\n{text}"))
    }

    /// Makes room below everything, and shows an answer where it was not shown as it came.
    fn last_words(&mut self, words: &str) -> io::Result<()> {
        self.end_line()?;
        self.clear()?;
        if self.terminal.streams || words.trim().is_empty() {
            return Ok(());
        }
        self.terminal.text(&format!("{}\n", visible(trimmed(words))))
    }

    /// What is said in place of the end where agents were left to be resumed.
    pub(crate) fn let_go(&mut self, session: SessionId, words: &str, agents: usize) -> io::Result<()> {
        self.terminal.release()?;
        self.last_words(words)?;
        let text = format!("{} {}", self.style.yellow("‖"), left(session, agents));
        self.terminal.aside(&format!("\n{text}\n"))
    }

    /// What is said in place of the end where the session is not over, or nobody knows how it ended.
    pub(crate) fn left(&mut self, text: &str) -> io::Result<()> {
        self.terminal.release()?;
        self.last_words("")?;
        let text = hanging("", text, self.wrap_width()).join("\n");
        self.terminal.aside(&format!("\n{}\n", self.style.yellow(&text)))
    }

    /// What was found on record.
    pub(crate) fn found(&mut self, text: &str) -> io::Result<()> {
        self.line(text.trim_end())
    }

    /// Whether an event only says that a call has started agents, whose own lines say more.
    fn is_told_by_its_agents(&mut self, event: &Event) -> bool {
        match (&event.kind, event.parent) {
            (EventKind::AgentAdmitted { brief: Some(brief), .. }, Some(parent)) => {
                self.delegations.extend(brief.call.clone().map(|call| (parent, call)));
                false
            }
            (EventKind::ToolFinished { call, ok, .. }, _) => {
                self.delegations.remove(&(event.agent, call.clone())) && *ok
            }
            _ => false,
        }
    }

    /// Something that happened to the main agent.
    fn main_event(&mut self, event: &Event, folded: &Folded) -> io::Result<()> {
        match &event.kind {
            EventKind::AgentStarted { model, .. } => {
                let text = self.style.dim(&format!("model: {}", one_line(model, 100)));
                self.line(&text)
            }
            EventKind::TurnStarted { .. } => {
                self.show_anew();
                Ok(())
            }
            EventKind::Replied { reply, .. } => self.replied(&reply.text, reply.calls.is_empty()),
            EventKind::ToolFinished { .. } => self.call_done(&title(event, folded), &event.kind),
            EventKind::Retrying { attempt, reason, .. } => {
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
            EventKind::PersonAnswered { answer, .. } => self.answered("main", answer, folded),
            EventKind::AgentRested { report: Some(report) } => self.rested(report),
            // The first prompt has no number: whoever reads this has typed it.
            EventKind::Told { mail, from: Sender::Person, text, .. } if !mail.is_unknown() => {
                self.answer_shown = false;
                let text = format!("{} {}", self.style.bold("you:"), visible(trimmed(text)));
                self.line(&text)
            }
            EventKind::BackgroundEnded { name, exit_code, .. } => {
                let how = words::command_ended(*exit_code);
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

    /// The answer to one prompt of a session that stays open, where it was not shown yet, and what it took.
    fn rested(&mut self, report: &Report) -> io::Result<()> {
        self.last_words(&report.text)?;
        self.answer_shown = true;
        let text = ended(self.style, report, self.wrap_width());
        self.terminal.aside(&format!("{}\n", text.trim_end()))
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
    fn sub_agent_event(
        &mut self,
        event: &Event,
        folded: &Folded,
        view: &SessionView,
        agent: &AgentView,
    ) -> io::Result<()> {
        let name = one_line(&agent.name, TEXT_COLUMNS_MAX);
        let task = one_line(agent.title.as_deref().unwrap_or_default(), TEXT_COLUMNS_MAX);
        match &event.kind {
            EventKind::AgentQueued { reason, at } if !self.terminal.spins => {
                let why = one_line(&words::why_queued(*reason, at.as_deref()), TEXT_COLUMNS_MAX);
                self.said(&name, &format!("{why}: {task}"))
            }
            EventKind::AgentStarted { model, .. } => {
                self.missing_model(&name, agent)?;
                match self.terminal.spins {
                    true => Ok(()),
                    false => self.said(&name, &format!("started on {}: {task}", one_line(model, 100))),
                }
            }
            EventKind::AgentPlaced { worker, epoch, .. } if *epoch > 1 || !self.terminal.spins => {
                self.said(&name, &words::placed(&one_line(worker, TEXT_COLUMNS_MAX), *epoch))
            }
            EventKind::AgentResumed { .. } if !self.terminal.spins => {
                self.said(&name, &format!("goes on: {task}"))
            }
            EventKind::ToolFinished { .. } => self.call_of(view, agent, &title(event, folded), &event.kind),
            EventKind::Retrying { attempt, reason, .. } => {
                self.retry_line(&format!("[{name}] "), *attempt, reason, false)
            }
            EventKind::PersonAnswered { answer, .. } => self.answered(&name, answer, folded),
            EventKind::AgentSettled { report } if self.terminal.spins => {
                let name = names::column(self.style, view, agent);
                let text = sub_agent_block(self.style, &name, agent, report, self.wrap_width());
                self.aside(text.trim_end().to_string())
            }
            EventKind::AgentSettled { report } => self.said(&name, &settled_line(self.style, report)),
            _ => Ok(()),
        }
    }

    /// That an agent begins on another model than its file asks for; once for each such model.
    fn missing_model(&mut self, name: &str, agent: &AgentView) -> io::Result<()> {
        let Some(asked) = agent.missing_model() else { return Ok(()) };
        if !self.missing_models.insert(asked.to_string()) {
            return Ok(());
        }
        let model = one_line(agent.model.as_deref().unwrap_or_default(), 60);
        let text = self.style.yellow(&words::missing_model(name, &one_line(asked, 60), &model));
        self.aside(text)
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

    /// What came of a question, where nobody could be asked.
    fn answered(&mut self, name: &str, answer: &Answer, folded: &Folded) -> io::Result<()> {
        if *answer != Answer::Nobody {
            return Ok(());
        }
        let asked = folded.question.as_ref().map(|open| &open.question);
        let (how, what) = match asked {
            Some(asked) if asked.asks.is_some() => ("asks, and nobody is here to answer", asked.what.clone()),
            Some(asked) => ("denied, because nobody can be asked", format!("{} {}", asked.tool, asked.what)),
            None => ("denied, because nobody can be asked", String::new()),
        };
        let what = one_line(&what, LOGGED_CALL_COLUMNS_MAX);
        let text = self.style.yellow(&format!("[{name}] {how}: {what}"));
        self.aside(text)
    }

    /// A plain line that names its agent, for logs.
    fn said(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.aside(format!("[{name}] {text}"))
    }

    /// A sub-agent's call, behind its name.
    fn call_of(
        &mut self,
        view: &SessionView,
        agent: &AgentView,
        title: &str,
        finished: &EventKind,
    ) -> io::Result<()> {
        if !self.terminal.spins {
            let name = one_line(&agent.name, TEXT_COLUMNS_MAX);
            let call = call_text(title, finished, LOGGED_CALL_COLUMNS_MAX);
            let printed = self.printed(finished, &format!("[{name}]   "), LOGGED_CALL_COLUMNS_MAX);
            return self.aside(format!("[{name}] {call}{printed}"));
        }
        let name = names::column(self.style, view, agent);
        let room = self.width().saturating_sub(name.columns + 1);
        let mut text = format!("{}{}", name.painted, self.style.dim(&call_text(title, finished, room)));
        text.push_str(&self.printed(finished, &" ".repeat(name.columns + 2), room));
        self.aside(text)
    }

    /// A line that can wait until the main agent's line of text is complete.
    fn aside(&mut self, text: String) -> io::Result<()> {
        if self.prose.is_open() && self.held.len() < HELD_LINES_MAX {
            self.held.push(text);
            return Ok(());
        }
        self.line(&text)
    }

    /// Text as it comes.
    fn text(&mut self, text: &str) -> io::Result<()> {
        if !self.terminal.streams {
            return Ok(());
        }
        let text = if self.shown.is_empty() { text.trim_start_matches([' ', '\n', '\t']) } else { text };
        if text.is_empty() {
            return Ok(());
        }
        self.clear()?;
        let visible = self.visible.text(text);
        let drawn = self.prose.push(&visible, self.terminal.text_width());
        self.terminal.text(&drawn)?;
        self.shown.push_str(text);
        if self.prose.is_open() { Ok(()) } else { self.release() }
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
        self.terminal.aside(&format!("{text}\n"))
    }

    fn end_line(&mut self) -> io::Result<()> {
        if !self.prose.is_open() {
            return Ok(());
        }
        self.clear()?;
        let rest = self.prose.finish(self.terminal.text_width());
        self.terminal.text(&rest)?;
        self.release()
    }

    /// Writes what was held back.
    fn release(&mut self) -> io::Result<()> {
        let held = std::mem::take(&mut self.held);
        held.iter().try_for_each(|text| self.terminal.aside(&format!("{text}\n")))
    }

    fn draw(&mut self, view: &SessionView) -> io::Result<()> {
        if !self.terminal.spins || self.prose.is_mid_row() || self.terminal.holds() {
            return Ok(());
        }
        // Nothing happens until the next prompt.
        if view.state == AgentState::Resting {
            return self.clear();
        }
        let (width, height) = self.terminal.size();
        let (spinner, now_ms) = (FRAMES[self.frame], now_ms());
        let room = width.saturating_sub(2 + ECHO_COLUMNS);
        let main =
            view.main().map_or_else(|| "starting".to_string(), |main| crew::progress(main, now_ms, room));
        let main_columns = columns(&main) + 2;
        let painted = format!("{} {}", self.style.cyan(spinner), self.style.dim(&main));
        let mut lines = vec![Line { painted, columns: main_columns }];
        let lines_max = BLOCK_LINES_MAX.min(height.saturating_sub(LINES_LEFT_ABOVE)).saturating_sub(1);
        let crew = crew::lines(view, room, lines_max, now_ms, spinner);
        lines.extend(crew.into_iter().map(|line| Line {
            columns: line.columns() + 2,
            painted: format!(
                "  {}{}{}",
                self.style.dim(&line.stem),
                line.number.map_or_else(String::new, |number| names::painted(self.style, number, &line.name)),
                self.style.dim(&line.rest)
            ),
        }));
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

    /// Columns that lines are broken at; without a terminal they are not.
    fn wrap_width(&self) -> usize {
        if self.terminal.spins { self.width().saturating_sub(1) } else { usize::MAX }
    }
}

/// What is said when only a last report is left.
fn closing_text(ending: &Ending) -> String {
    format!("· {ending}: asked for a last report")
}

#[cfg(test)]
pub(crate) mod tests;
