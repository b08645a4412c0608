//! What events and progress print: the main agent's words as they come, its calls, and one block at the end of each sub-agent.

use posse_protocol::{
    Answer, CallKind, Ending, Event, EventKind, Progress, ProgressKind, Purpose, Report, Sender, Seq, Update,
    words::counted,
};
use posse_terminal::{Ink, Look, Markdown, TextLine, columns};
use posse_view::{Folded, SessionView, words};

use super::streamed::Streamed;
use super::{ChatTranscript, aside, cut, ended, finished_call, keep_end, number_of, settled};
use crate::limits::{COPIES_MAX, COPY_BYTES_MAX, PROMPT_LINES_MAX, REASONING_BYTES_MAX};

impl ChatTranscript {
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
    pub(super) fn end_text(&mut self) {
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
