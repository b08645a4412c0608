//! Watches a session until its end, or until it is let go of: shows it, asks the person, passes on what they say.

use std::io;
use std::time::Duration;

use anyhow::Context as _;
use posse_engine::{Engine, Session};
use posse_protocol::{SessionId, Update};
use posse_view::SessionView;

use crate::display::Display;
use crate::exit::Exit;
use crate::interrupts;
use crate::limits::TICK_MS;
use crate::output;
use crate::questions::TypedReply;
use crate::resting::Resting;
use crate::watched::WatchedSession;

/// For how many ticks a main agent has to rest until it is let go of.
const RESTING_TICKS: u32 = 5;

/// A session of this process that is watched.
pub(crate) struct Watching {
    watched: WatchedSession,
    /// Whether the main agent rests, where it is let go of then.
    resting: Option<Resting>,
}

impl Watching {
    /// Goes on from a view: what is in it is known, and not shown.
    pub(crate) fn new(view: SessionView, person: bool, leave_sub_agents: bool) -> Self {
        let resting = leave_sub_agents.then(|| Resting::after(view.seq));
        Self { watched: WatchedSession::new(view, person), resting }
    }

    fn rests(&mut self) -> bool {
        self.resting.as_mut().is_some_and(|resting| resting.look(&self.watched.view, RESTING_TICKS))
    }

    fn show(&mut self, display: &mut Display, update: &Update) -> io::Result<()> {
        self.watched.show(display, update)?;
        if let (Some(resting), Update::Event(event)) = (&mut self.resting, update) {
            resting.event(event);
        }
        Ok(())
    }

    /// Passes on what the person typed.
    fn reply(&mut self, display: &mut Display, session: &Session, reply: TypedReply) -> io::Result<()> {
        let Some(given) = self.watched.read(display, reply)? else { return Ok(()) };
        let outcome = session.answer(given.agent, &given.call, given.answer.clone());
        self.watched.sent(display, given, outcome)
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
                display.tick(&watching.watched.view)
            }
            update = session.next() => match update {
                Some(update) => watching.show(&mut display, &update),
                None => break,
            },
            reply = watching.watched.typed() => watching.reply(&mut display, &session, reply),
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
    unless_nobody_reads(display.finish(id, &report, &watching.watched.view))?;
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
    watching.watched.ask_no_more();
    let mut rest = engine.recorded(session, watching.watched.view.seq);
    while let Some(update) = rest.next().await {
        unless_nobody_reads(watching.show(&mut display, &update))?;
    }
    let words = watching.resting.as_ref().map_or("", Resting::words);
    unless_nobody_reads(display.let_go(session, words, agents))?;
    Ok(Exit::Detached)
}

/// A reader that has gone is no error once there is nothing left to do.
pub(crate) fn unless_nobody_reads(shown: io::Result<()>) -> io::Result<()> {
    match shown {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        shown => shown,
    }
}
