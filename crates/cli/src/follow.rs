//! Watches a session until its end, or until it is let go of: shows it, asks the person, passes on what they say.

use std::io;
use std::time::Duration;

use anyhow::Context as _;
use posse_engine::{AnswerOutcome, Engine, Session};
use posse_protocol::{SessionId, Update};
use posse_view::SessionView;

use crate::display::Display;
use crate::exit::Exit;
use crate::interrupts;
use crate::limits::TICK_MS;
use crate::output;
use crate::questions::{Questions, TypedReply};
use crate::recorded::fold;
use crate::resting::Resting;

/// For how many ticks a main agent has to rest until it is let go of.
const RESTING_TICKS: u32 = 5;

/// What is done while a session is watched.
pub(crate) struct Watching {
    /// The session as far as it was shown.
    view: SessionView,
    /// Questions of agents, where a person answers them.
    questions: Option<Questions>,
    /// Whether the main agent rests, where it is let go of then.
    resting: Option<Resting>,
}

impl Watching {
    /// Goes on from a view: what is in it is known, and not shown.
    pub(crate) fn new(view: SessionView, person: bool, detach: bool) -> Self {
        let questions = person.then(Questions::default);
        let resting = detach.then(|| Resting::after(view.seq));
        Self { view, questions, resting }
    }

    fn rests(&mut self) -> bool {
        self.resting.as_mut().is_some_and(|resting| resting.look(&self.view, RESTING_TICKS))
    }
}

/// Shows a session until its end. Ctrl-C once stops it, twice leaves at once.
///
/// `notice` is something to tell that takes a moment to find out.
pub(crate) async fn follow(
    engine: &Engine,
    mut session: Session,
    mut display: Display,
    mut watching: Watching,
    notice: impl Future<Output = Option<String>>,
) -> anyhow::Result<Exit> {
    // As long as it is shown, other processes can follow and steer it.
    let _listening = posse_api::listen(engine);
    let mut ticker = tokio::time::interval(Duration::from_millis(TICK_MS));
    ticker.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut stopping = interrupts::watch(session.canceller())?;
    let (mut notice, mut noticed) = (std::pin::pin!(notice), false);
    loop {
        let shown = tokio::select! {
            biased;
            Some(()) = stopping.recv() => {
                watching.resting = None;
                display.note("stopping … (Ctrl-C again to leave at once)")
            }
            _ = ticker.tick() => {
                if watching.rests() {
                    let agents = session.detach().await?;
                    if agents > 0 {
                        return let_go(engine, session.id, display, watching, agents).await;
                    }
                    watching.resting = None;
                }
                display.tick(&watching.view)
            }
            update = session.next() => match update {
                Some(update) => shown(&mut display, &mut watching, &update),
                None => break,
            },
            reply = typed(&mut watching.questions) => {
                answered(&session, &mut display, &mut watching, reply)
            }
            text = &mut notice, if !noticed => {
                noticed = true;
                text.map_or(Ok(()), |text| display.note(&output::one_line(&text, crate::limits::NOTE_COLUMNS_MAX)))
            }
        };
        if let Err(error) = shown {
            // Nobody reads any more: stop rather than work unseen.
            session.cancel();
            session.report().await;
            let gone = error.kind() == io::ErrorKind::BrokenPipe;
            return if gone { Ok(Exit::Cancelled) } else { Err(error.into()) };
        }
    }
    let id = session.id;
    let report =
        session.report().await.context("the session ended without a report; this is a defect in posse")?;
    let exit = Exit::from(&report.ending);
    unless_nobody_reads(display.finish(id, &report, &watching.view))?;
    Ok(exit)
}

/// Shows the rest of a session whose agents were left where they are; from the record, for nobody works on it now.
async fn let_go(
    engine: &Engine,
    session: SessionId,
    mut display: Display,
    mut watching: Watching,
    agents: usize,
) -> anyhow::Result<Exit> {
    // Nobody is left who could be asked for somebody.
    watching.questions = None;
    let mut rest = engine.recorded(session, watching.view.seq);
    while let Some(update) = rest.next().await {
        unless_nobody_reads(shown(&mut display, &mut watching, &update))?;
    }
    let words = watching.resting.as_ref().map_or("", Resting::words);
    unless_nobody_reads(display.let_go(session, words, agents))?;
    Ok(Exit::Detached)
}

/// A reader that has gone is no error once there is nothing left to do.
fn unless_nobody_reads(shown: io::Result<()>) -> io::Result<()> {
    match shown {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        shown => shown,
    }
}

fn shown(display: &mut Display, watching: &mut Watching, update: &Update) -> io::Result<()> {
    let event = match update {
        Update::Event(event) => event,
        Update::Progress(progress) => {
            watching.view.note(progress, output::now_ms());
            return display.progress(progress, &watching.view);
        }
    };
    let folded = fold(&mut watching.view, event).map_err(io::Error::other)?;
    display.event(event, &folded, &watching.view)?;
    if let Some(resting) = &mut watching.resting {
        resting.event(event);
    }
    let Some(questions) = watching.questions.as_mut() else { return Ok(()) };
    if !questions.look(&watching.view) {
        return Ok(());
    }
    let text = questions.show(display.style(), display.size());
    display.question(text, &watching.view)?;
    questions.read();
    Ok(())
}

/// Waits for what the person types; for ever where nobody is asked.
async fn typed(questions: &mut Option<Questions>) -> TypedReply {
    match questions {
        Some(questions) => questions.typed().await,
        None => std::future::pending().await,
    }
}

fn answered(
    session: &Session,
    display: &mut Display,
    watching: &mut Watching,
    reply: TypedReply,
) -> io::Result<()> {
    let Some(questions) = &mut watching.questions else { return Ok(()) };
    let (style, size) = (display.style(), display.size());
    let text = match reply {
        TypedReply::Answer(agent, question, answer) => match session.answer(agent, &question.call, answer) {
            // The event that follows takes the question away.
            AnswerOutcome::Accepted | AnswerOutcome::NotOpen => return Ok(()),
            AnswerOutcome::BadPattern => {
                let hint = "that is no pattern for this; one is written like edit_file(src/*)";
                questions.again(style, size, hint)
            }
            AnswerOutcome::WrongKind => questions.again(style, size, "that does not answer this question"),
            AnswerOutcome::BadText => questions.again(style, size, "that is too long, or empty"),
        },
        TypedReply::Again(hint) => questions.again(style, size, hint),
        TypedReply::More => questions.more(style, size),
    };
    display.question(text, &watching.view)?;
    questions.read();
    Ok(())
}
