//! What a session prints: events become finished lines, each printed once and in order. What the main agent writes is
//! printed as it streams, block by block; sub-agents print one block at their end. Pure.

mod asides;
mod calls;
mod reports;
mod streamed;

use std::collections::VecDeque;

use posse_protocol::{
    AgentId, Answer, CallId, CallKind, Ending, Event, EventKind, Progress, ProgressKind, Purpose, Report,
    Sender, Seq, Update, words::counted,
};
use posse_terminal::diff_lines;
use posse_terminal::{Ink, Look, Markdown, TextLine, columns};
use posse_view::{Folded, SessionView, words};

use self::streamed::Streamed;
use crate::limits::{
    COPIES_MAX, COPY_BYTES_MAX, DIFF_LINES_MAX, DIFF_WAIT_MS, HELD_BYTES_MAX, HELD_LINES_MAX,
    NOTE_COLUMNS_MAX, PROMPT_LINES_MAX, REASONING_BYTES_MAX, REPLAYED_LINES_MAX,
};

pub(crate) use self::asides::aside;
pub(crate) use self::calls::finished_call;
pub(crate) use self::reports::{ended, settled};

/// Something that is to be printed at its place.
#[derive(Debug)]
enum Piece {
    Line(TextLine),
    /// The diff of an event, which is being fetched; what follows waits for it for a while.
    Diff {
        seq: Seq,
        since_ms: u64,
    },
}

/// Turns what happens into lines.
#[derive(Debug)]
pub(crate) struct ChatTranscript {
    width: usize,
    markdown: Markdown,
    streamed: Streamed,
    /// Whether a reply is on its way.
    in_turn: bool,
    /// Whether the main agent has rested since, and that was told.
    rests: bool,
    /// What the main agent thinks right now; its end.
    reasoning: String,
    /// Whether reasoning is printed, too.
    pub(crate) shows_reasoning: bool,
    pieces: VecDeque<Piece>,
    /// Changes whose call has no result yet.
    changed: Vec<(Seq, Option<Vec<TextLine>>)>,
    /// Bytes of the lines among the pieces.
    held_bytes: usize,
    /// The call of the main agent that the person said no to: that was told already.
    refused: Option<CallId>,
    /// How the model failed, as it was told.
    failure: Option<String>,
    /// Whether the last line was empty, or there was none.
    after_gap: bool,
    /// Whether the main agent writes notes that replace its conversation, which are not for the person.
    sums_up: bool,
    /// Whether the record is read, so that only the last lines are worth printing.
    replaying: bool,
    /// How many lines were left out.
    left_out: usize,
    /// The newest replies of the main agent as they were written, for `/copy`.
    replies: VecDeque<Option<String>>,
}

impl ChatTranscript {
    pub(crate) fn new(width: usize) -> Self {
        Self {
            width,
            markdown: Markdown::new(width),
            streamed: Streamed::default(),
            in_turn: false,
            rests: false,
            reasoning: String::new(),
            shows_reasoning: false,
            pieces: VecDeque::new(),
            changed: Vec::new(),
            held_bytes: 0,
            refused: None,
            failure: None,
            after_gap: true,
            sums_up: false,
            replaying: false,
            left_out: 0,
            replies: VecDeque::new(),
        }
    }

    pub(crate) fn resize(&mut self, width: usize) {
        self.width = width;
        self.markdown.set_width(width);
    }

    /// Begins to read the record: only its last lines will be printed.
    pub(crate) fn replay(&mut self) {
        self.replaying = true;
    }

    /// The record was read to its end.
    pub(crate) fn caught_up(&mut self) {
        self.end_text();
        self.replaying = false;
    }

    /// The session is let go of: what was being written ends here.
    pub(crate) fn end(&mut self) {
        self.end_text();
    }

    /// Prints a line of the chat's own.
    pub(crate) fn line(&mut self, line: TextLine) {
        self.after_gap = line.is_empty();
        self.held_bytes = self.held_bytes.saturating_add(bytes(&line));
        self.pieces.push_back(Piece::Line(line));
        let lines_max = if self.replaying { REPLAYED_LINES_MAX } else { HELD_LINES_MAX };
        while self.pieces.len() > lines_max || self.held_bytes > HELD_BYTES_MAX {
            match self.pieces.pop_front() {
                Some(Piece::Line(line)) => {
                    self.held_bytes = self.held_bytes.saturating_sub(bytes(&line));
                    self.left_out += 1;
                }
                Some(Piece::Diff { .. }) => {}
                None => break,
            }
        }
    }

    pub(crate) fn lines(&mut self, lines: impl IntoIterator<Item = TextLine>) {
        lines.into_iter().for_each(|line| self.line(line));
    }

    /// Prints lines that are not for copying: broken at words, and what follows begins below their text.
    fn wrapped(&mut self, lines: impl IntoIterator<Item = TextLine>, indent: usize) {
        let width = self.width;
        let rows = lines.into_iter().flat_map(|line| line.wrapped(width, indent));
        rows.for_each(|row| self.line(row.trimmed_end()));
    }

    /// An empty line between two blocks.
    pub(crate) fn gap(&mut self) {
        if !self.after_gap {
            self.line(TextLine::default());
        }
    }

    /// What can be printed now. Nothing is printed before a diff that belongs before it, unless that takes too long.
    pub(crate) fn take(&mut self, now_ms: u64) -> Vec<TextLine> {
        let mut lines = Vec::new();
        if self.replaying {
            return lines;
        }
        if self.left_out > 0 {
            let left = counted(std::mem::take(&mut self.left_out) as u64, "earlier line");
            lines.push(TextLine::of(&format!("… {left} (Ctrl+O shows all)"), Ink::Quiet));
        }
        while let Some(piece) = self.pieces.pop_front() {
            match piece {
                Piece::Line(line) => {
                    self.held_bytes = self.held_bytes.saturating_sub(bytes(&line));
                    lines.push(line);
                }
                Piece::Diff { since_ms, .. } if now_ms.saturating_sub(since_ms) >= DIFF_WAIT_MS => {}
                diff @ Piece::Diff { .. } => {
                    self.pieces.push_front(diff);
                    break;
                }
            }
        }
        lines
    }

    /// Whether lines wait for a diff.
    pub(crate) fn waits(&self) -> bool {
        !self.pieces.is_empty()
    }

    /// A diff has come; if its place is still there, it is printed.
    pub(crate) fn diff(&mut self, seq: Seq, diff: &str) {
        let rows = diff_rows(diff);
        if let Some((_, early)) = self.changed.iter_mut().find(|(one, _)| *one == seq) {
            *early = Some(rows);
            return;
        }
        let wanted = |piece: &Piece| matches!(piece, Piece::Diff { seq: one, .. } if *one == seq);
        let Some(at) = self.pieces.iter().position(wanted) else { return };
        let mut rest = self.pieces.split_off(at);
        rest.pop_front();
        self.pieces.extend(rows.into_iter().map(Piece::Line));
        self.pieces.append(&mut rest);
    }

    /// Prints what a call changed, or keeps the place for it.
    fn print_changes(&mut self, now_ms: u64) {
        for (seq, rows) in std::mem::take(&mut self.changed) {
            match rows {
                Some(rows) => self.lines(rows),
                None => self.pieces.push_back(Piece::Diff { seq, since_ms: now_ms }),
            }
        }
    }

    /// What is being written, for the live region.
    pub(crate) fn tail(&self) -> Vec<TextLine> {
        self.markdown.tail()
    }

    /// The last lines of what the main agent thinks.
    pub(crate) fn reasoning_tail(&self) -> Option<&str> {
        Some(self.reasoning.trim()).filter(|text| !text.is_empty())
    }

    /// A reply of the main agent as it was written: 1 is the last.
    /// Inside none for one that was too long to be kept.
    pub(crate) fn reply(&self, number: usize) -> Option<Option<&str>> {
        self.replies.iter().rev().nth(number.checked_sub(1)?).map(Option::as_deref)
    }

    /// Takes in an update that is in the view by now. Says which diff is wanted.
    pub(crate) fn update(
        &mut self,
        update: &Update,
        folded: &Folded,
        view: &SessionView,
        now_ms: u64,
    ) -> Option<Seq> {
        match update {
            Update::Event(event) => self.event(event, folded, view, now_ms),
            Update::Progress(progress) => {
                self.progress(progress, view);
                None
            }
        }
    }

    fn progress(&mut self, progress: &Progress, view: &SessionView) {
        if self.sums_up || view.main().is_none_or(|main| main.id != progress.agent) {
            return;
        }
        match &progress.kind {
            ProgressKind::Text(text) => self.streams(text),
            ProgressKind::TextSoFar(text) => {
                if let Some(rest) = self.streamed.rest(text).map(str::to_owned) {
                    self.streams(&rest);
                }
            }
            ProgressKind::Reasoning(text) => {
                self.reasoning.push_str(text);
                keep_end(&mut self.reasoning, REASONING_BYTES_MAX);
            }
            _ => {}
        }
    }

    /// More of the reply's text. What comes without a turn is of one that is over.
    fn streams(&mut self, text: &str) {
        if !self.in_turn {
            return;
        }
        self.end_reasoning();
        self.begin_text(text);
        self.streamed.push(text);
        let finished = self.markdown.push(text);
        self.written(finished);
    }

    /// Leaves a line free above the text of a reply.
    fn begin_text(&mut self, text: &str) {
        if !self.streamed.is_open() && !text.trim().is_empty() {
            self.gap();
        }
    }

    /// Prints lines of a reply, which cannot be taken back.
    fn written(&mut self, lines: Vec<TextLine>) {
        self.streamed.has_lines |= !lines.is_empty();
        self.lines(lines);
    }

    fn end_reasoning(&mut self) {
        let thought = std::mem::take(&mut self.reasoning);
        if self.shows_reasoning && !thought.trim().is_empty() {
            self.think(thought.trim());
        }
    }

    fn think(&mut self, thought: &str) {
        const MARK: &str = "  ┊ ";
        let look = Look::of(Ink::Quiet).italic();
        let width = self.width.saturating_sub(columns(MARK)).max(1);
        let lines = thought.lines().filter(|line| !line.trim().is_empty());
        let rows = lines.flat_map(|line| TextLine::of(line, look).wrapped(width, 0));
        let marked = rows.map(|row| {
            let mut line = TextLine::of(MARK, look);
            line.append(row);
            line
        });
        self.lines(marked.collect::<Vec<_>>());
    }

    fn event(&mut self, event: &Event, folded: &Folded, view: &SessionView, now_ms: u64) -> Option<Seq> {
        match event.parent {
            None => self.main_event(event, folded, now_ms),
            Some(_) => {
                self.sub_agent_event(event, folded, view);
                None
            }
        }
    }

    fn main_event(&mut self, event: &Event, folded: &Folded, now_ms: u64) -> Option<Seq> {
        match &event.kind {
            EventKind::Told { from: Sender::Person, text, attachments, .. } => {
                self.end_text();
                self.person(&words::said_and_shown(text, attachments));
            }
            EventKind::TurnStarted { purpose, .. } => {
                self.break_off();
                self.sums_up = *purpose == Purpose::Summary;
                (self.in_turn, self.rests) = (true, false);
                self.streamed = Streamed::default();
            }
            EventKind::Retrying { reason, .. } => self.again(reason),
            EventKind::Replied { .. } if self.sums_up => {}
            EventKind::Replied { reply, .. } => self.replied(&reply.text),
            EventKind::CutShort { .. } if self.sums_up => {}
            EventKind::CutShort { text, .. } => {
                // Of a long reply less is on record than was printed.
                if self.streamed.bytes() < text.len() {
                    self.replied(text);
                }
                self.end_text();
                self.quiet("  … stopped here");
            }
            EventKind::ToolFinished { call, tool, ok, text, duration_ms, effects, .. } => {
                self.end_text();
                let told = folded.call.as_ref();
                let was_asked = *ok && told.is_some_and(|call| call.kind == CallKind::Ask);
                // What the person answered is printed already.
                if !was_asked && self.refused.take().as_ref() != Some(call) {
                    self.wrapped(finished_call(told, tool, *ok, text, *duration_ms, effects), 4);
                }
                // What it changed was on record before its result.
                self.print_changes(now_ms);
            }
            EventKind::Changed { .. } if !self.replaying => {
                self.changed.push((event.seq, None));
                return Some(event.seq);
            }
            // It was told when it rested, and nothing has happened since.
            EventKind::AgentSettled { report } if self.rests && report.ending == Ending::Completed => {}
            EventKind::AgentRested { report: Some(report) } | EventKind::AgentSettled { report } => {
                self.end_text();
                self.end_report(report);
                self.rests = true;
            }
            kind => {
                match kind {
                    EventKind::PersonAnswered { call, answer: Answer::No { .. } } => {
                        self.refused = Some(call.clone());
                    }
                    EventKind::ModelFailed { error, .. } => self.failure = Some(error.to_string()),
                    _ => {}
                }
                self.aside(kind, "", folded);
            }
        }
        None
    }

    /// How a prompt or the session ended. Why the model failed is told once.
    fn end_report(&mut self, report: &Report) {
        let mut lines = ended(report);
        if let Ending::Failed { failure } = &report.ending
            && self.failure.take() == Some(failure.to_string())
        {
            let again = TextLine::of(&format!("  {failure}"), Ink::Bad);
            lines.retain(|line| *line != again);
        }
        self.wrapped(lines, 2);
        self.gap();
    }

    /// The rest of a reply, whose beginning was printed as it came.
    fn replied(&mut self, text: &str) {
        self.end_reasoning();
        match self.streamed.rest(text) {
            Some(rest) => {
                self.begin_text(rest);
                let finished = self.markdown.push(rest);
                self.written(finished);
            }
            None => {
                // Pieces were lost on the way. What is not printed yet is left out; if something was printed, the whole
                // reply is printed again, since half of it would mislead.
                self.markdown = Markdown::new(self.width);
                if self.streamed.has_lines {
                    self.gap();
                    self.quiet("  parts were lost; the reply again, whole:");
                }
                let finished = self.markdown.push(text);
                self.written(finished);
            }
        }
        self.end_text();
        (self.streamed, self.in_turn) = (Streamed::default(), false);
        if !text.trim().is_empty() {
            if self.replies.len() == COPIES_MAX {
                self.replies.pop_front();
            }
            self.replies.push_back((text.len() <= COPY_BYTES_MAX).then(|| text.to_owned()));
        }
    }

    /// The model is asked again: what came of its reply is no part of the one that is to come.
    fn again(&mut self, reason: &str) {
        self.reasoning.clear();
        self.markdown = Markdown::new(self.width);
        if self.streamed.has_lines {
            self.gap();
            self.quiet(&format!("· {}: the reply begins again", cut(reason)));
        }
        self.streamed = Streamed::default();
    }

    /// Nobody writes on: what there is of a reply is printed, and the next one begins anew.
    pub(crate) fn break_off(&mut self) {
        if self.streamed.is_open() {
            self.end_text();
            self.quiet("  … the reply broke off here");
        }
        self.reasoning.clear();
        (self.streamed, self.in_turn) = (Streamed::default(), false);
    }

    /// Ends what was being written, and leaves a line free below it.
    fn end_text(&mut self) {
        let rest = self.markdown.finish();
        let wrote = !rest.is_empty() || self.streamed.is_open();
        self.written(rest);
        if wrote {
            self.gap();
            self.streamed.close();
        }
    }

    fn person(&mut self, text: &str) {
        self.gap();
        for (number, line) in text.lines().take(PROMPT_LINES_MAX).enumerate() {
            let mark = if number == 0 { "› " } else { "  " };
            let line = cut(line);
            self.line(TextLine::of(mark, Look::of(Ink::Person).bold()).with(&line, Look::of(Ink::Person)));
        }
        if let Some(more @ 1..) = text.lines().count().checked_sub(PROMPT_LINES_MAX) {
            self.quiet(&format!("  … {}", counted(more as u64, "more line")));
        }
        self.gap();
    }

    fn quiet(&mut self, text: &str) {
        self.line(TextLine::of(text, Ink::Quiet));
    }

    /// Prints a block of a sub-agent. What the main agent is writing goes on below it: a paragraph is printed when it is
    /// whole, and a block of code stays one.
    fn between(&mut self, lines: Vec<TextLine>) {
        let is_inside = self.streamed.is_open();
        if is_inside {
            self.gap();
        }
        self.wrapped(lines, 4);
        if is_inside {
            self.gap();
        }
    }

    fn sub_agent_event(&mut self, event: &Event, folded: &Folded, view: &SessionView) {
        let Some(agent) = view.agents.get(event.agent) else { return };
        let number = number_of(view, event.agent);
        match &event.kind {
            EventKind::AgentSettled { report } => self.between(settled(agent, number, report)),
            EventKind::AgentStarted { .. } => {
                if let Some(asked) = agent.missing_model() {
                    let model = agent.model.as_deref().unwrap_or_default();
                    self.warn(&words::missing_model(&agent.name, asked, model));
                }
            }
            EventKind::Told { from: Sender::Person, text, .. } => {
                let line = TextLine::of(&format!("› to {}: ", agent.name), Look::of(Ink::Person).bold());
                self.line(line.with(&cut(text).replace('\n', " "), Ink::Person));
            }
            kind => self.aside(kind, &format!("{}: ", agent.name), folded),
        }
    }

    fn warn(&mut self, text: &str) {
        self.line(TextLine::of(&format!("! {}", cut(text)), Ink::Warning));
    }

    /// What is told in one line, whoever it happened to.
    fn aside(&mut self, kind: &EventKind, who: &str, folded: &Folded) {
        let asked = folded.question.as_ref().map(|open| open.question.what.as_str());
        if let Some(line) = aside(kind, who, asked) {
            if matches!(kind, EventKind::ModelFailed { .. }) && who.is_empty() {
                self.end_text();
            }
            self.wrapped([line], 2);
        }
    }
}

/// The beginning of a diff, below the call that made it.
fn diff_rows(diff: &str) -> Vec<TextLine> {
    let shown = diff_lines(diff, DIFF_LINES_MAX);
    let indented = shown.lines.into_iter().map(|line| {
        let mut row = TextLine::plain("    ");
        row.append(line);
        row
    });
    let mut rows: Vec<TextLine> = indented.collect();
    if shown.hidden > 0 {
        let more = counted(shown.hidden as u64, "more line");
        rows.push(TextLine::of(&format!("    … {more} (/diff shows all)"), Ink::Quiet));
    }
    rows
}

/// Keeps the last bytes of a text that grows.
pub(crate) fn keep_end(text: &mut String, bytes_max: usize) {
    let over = text.len().saturating_sub(bytes_max);
    let cut = (over..text.len()).find(|at| text.is_char_boundary(*at));
    text.drain(..cut.unwrap_or(0));
}

/// Which of the agents it is, for its colour.
pub(crate) fn number_of(view: &SessionView, id: AgentId) -> u8 {
    let place = view.agents.iter().rposition(|agent| agent.id == id).unwrap_or(0);
    u8::try_from(place % 6).unwrap_or(0)
}

/// The beginning of a text that may be long; where it is cut, it says so.
fn cut(text: &str) -> String {
    match text.char_indices().nth(NOTE_COLUMNS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn bytes(line: &TextLine) -> usize {
    line.spans().iter().map(|span| span.text().len()).sum()
}
