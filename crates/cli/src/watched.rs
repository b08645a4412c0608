//! What is done while a session is watched, in this process or another: it is shown, its questions are put to the person,
//! and what they type is read. It must not know where the session runs.

use std::io;

use posse_engine::AnswerOutcome;
use posse_protocol::{AgentId, Answer, CallId, Event, EventKind, Update};
use posse_view::{SessionView, words};

use crate::display::Display;
use crate::limits::STEPS_RESULT_CHARS_MAX;
use crate::output::{self, one_line};
use crate::questions::{Questions, TypedReply};
use crate::recorded::fold;

/// A session that is watched.
pub(crate) struct WatchedSession {
    /// The session as far as it was shown.
    pub(crate) view: SessionView,
    /// Questions of agents, where a person answers them.
    questions: Option<Questions>,
    /// The last answer that was given here.
    given: Option<GivenAnswer>,
}

/// An answer of the person, and the question that it was typed for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenAnswer {
    pub(crate) agent: AgentId,
    pub(crate) call: CallId,
    pub(crate) answer: Answer,
}

impl GivenAnswer {
    /// Whether this answer has closed a question. A wide one also closes others that it covers.
    fn closed(&self, agent: AgentId, call: &CallId, answer: &Answer) -> bool {
        let wide = matches!(answer, Answer::Session | Answer::Pattern { .. });
        (self.agent == agent && self.call == *call) || (wide && self.answer == *answer)
    }
}

impl WatchedSession {
    /// Goes on from a view: what is in it is known, and not shown.
    pub(crate) fn new(view: SessionView, person: bool) -> Self {
        Self { view, questions: person.then(Questions::default), given: None }
    }

    /// Asks nobody any more.
    pub(crate) fn ask_no_more(&mut self) {
        self.questions = None;
    }

    /// Shows an update, and the question that is the first one then.
    pub(crate) fn show(&mut self, display: &mut Display, update: &Update) -> io::Result<()> {
        let event = match update {
            Update::Event(event) => event,
            Update::Progress(progress) => {
                self.view.note(progress, output::now_ms());
                return display.progress(progress, &self.view);
            }
        };
        let folded = fold(&mut self.view, event).map_err(io::Error::other)?;
        display.event(event, &folded, &self.view)?;
        self.show_question(display, event)
    }

    fn show_question(&mut self, display: &mut Display, event: &Event) -> io::Result<()> {
        let elsewhere = self.answered_elsewhere(event);
        let Some(questions) = self.questions.as_mut() else { return Ok(()) };
        let was_shown = questions.is_shown();
        if !questions.look(&self.view) {
            return Ok(());
        }
        if let Some(answer) = elsewhere.filter(|_| was_shown) {
            // Behind the mark where the person would have typed.
            display.note(&format!("answered elsewhere: {answer}"))?;
        }
        let text = questions.show(display.style(), display.size());
        display.question(text, &self.view)?;
        questions.read();
        Ok(())
    }

    /// The answer of a person at another terminal, if this is one.
    fn answered_elsewhere(&self, event: &Event) -> Option<String> {
        let EventKind::PersonAnswered { call, answer } = &event.kind else { return None };
        if self.given.as_ref().is_some_and(|given| given.closed(event.agent, call, answer)) {
            return None;
        }
        words::answer(answer).map(|text| one_line(&text, STEPS_RESULT_CHARS_MAX))
    }

    /// Waits for what the person types; for ever where nobody is asked.
    pub(crate) async fn typed(&mut self) -> TypedReply {
        match &mut self.questions {
            Some(questions) => questions.typed().await,
            None => std::future::pending().await,
        }
    }

    /// Shows what a line came to. Gives back an answer that is to be sent.
    pub(crate) fn read(
        &mut self,
        display: &mut Display,
        reply: TypedReply,
    ) -> io::Result<Option<GivenAnswer>> {
        let Some(questions) = &mut self.questions else { return Ok(None) };
        let (style, size) = (display.style(), display.size());
        let text = match reply {
            TypedReply::Answer(agent, question, answer) => {
                return Ok(Some(GivenAnswer { agent, call: question.call, answer }));
            }
            TypedReply::Again(hint) => questions.again(style, size, hint),
            TypedReply::More => questions.more(style, size),
        };
        display.question(text, &self.view)?;
        questions.read();
        Ok(None)
    }

    /// Shows what came of an answer that was sent.
    pub(crate) fn sent(
        &mut self,
        display: &mut Display,
        given: GivenAnswer,
        outcome: AnswerOutcome,
    ) -> io::Result<()> {
        let Some(questions) = &mut self.questions else { return Ok(()) };
        match refusal(outcome) {
            // The event that follows takes the question away.
            None => {
                self.given = (outcome == AnswerOutcome::Accepted).then_some(given);
                Ok(())
            }
            Some(hint) => {
                let text = questions.again(display.style(), display.size(), hint);
                display.question(text, &self.view)?;
                questions.read();
                Ok(())
            }
        }
    }
}

/// Why an answer was not taken, where the question is still open.
pub(crate) fn refusal(outcome: AnswerOutcome) -> Option<&'static str> {
    match outcome {
        AnswerOutcome::Accepted | AnswerOutcome::NotOpen => None,
        AnswerOutcome::BadPattern => {
            Some("that is no pattern for this; one is written like edit_file(src/*)")
        }
        AnswerOutcome::WrongKind => Some("that does not answer this question"),
        AnswerOutcome::BadText => Some("that is too long, or empty"),
    }
}
