//! `posse attach`: shows a session that another process runs, as `posse run` shows its own: what is on record first, then
//! what happens. Leaving does not stop it.

use std::ffi::OsString;
use std::time::Duration;

use posse_api::calls::steering::AnswerQuestion;
use posse_api::{CallError, Following, Handle};
use posse_engine::Engine;
use posse_engine::record::SessionRow;
use posse_protocol::{AgentState, EventKind, Report, Seq, Update};
use posse_setup::Paths;
use posse_view::SessionView;
use tokio::sync::mpsc;

use crate::args::AttachArgs;
use crate::chat;
use crate::display::{Display, short};
use crate::exit::Exit;
use crate::follow::unless_nobody_reads;
use crate::interrupts::Signals;
use crate::limits::{TICK_MS, TITLE_CHARS_MAX, UPDATES_AHEAD_MAX};
use crate::output::{self, Style, one_line};
use crate::questions::{self, TypedReply};
use crate::running::{Reached, is_gone, reach, told};
use crate::watched::WatchedSession;

pub(crate) async fn run(paths: Paths, flags: Vec<OsString>, args: AttachArgs) -> anyhow::Result<Exit> {
    let engine = Engine::open(&paths.data_dir)?;
    let Reached { row, handle } = reach(&engine, args.session.as_deref()).await?;
    if !args.json && !args.plain && chat::is_possible() {
        return chat::open_session(paths, flags, &row).await;
    }
    let following = handle.follow(row.id, Seq(0)).await.map_err(|error| told(&engine, &row, error))?;
    let mut display = if args.json { Display::Json } else { Display::live() };
    display.found(&heading(&row))?;
    let person = !args.json && questions::person_is_there();
    let watched = WatchedSession::new(SessionView::default(), person);
    let attached = Attached { row, handle, display, watched, report: None, told_to_rest: false };
    attached.follow(&engine, following).await
}

fn heading(row: &SessionRow) -> String {
    let title = one_line(row.title.as_deref().unwrap_or_default(), TITLE_CHARS_MAX);
    format!("{} {}  {title}", Style::for_stderr().bold("session"), short(row.id))
}

/// A session that is shown here and runs elsewhere.
struct Attached {
    row: SessionRow,
    handle: Handle,
    display: Display,
    watched: WatchedSession,
    /// What the main agent came to, once it has.
    report: Option<Report>,
    /// Whether it was said that the session rests.
    told_to_rest: bool,
}

impl Attached {
    async fn follow(mut self, engine: &Engine, following: Following) -> anyhow::Result<Exit> {
        let mut signals = Signals::new()?;
        let mut ticker = tokio::time::interval(Duration::from_millis(TICK_MS));
        ticker.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut updates = read_ahead(following);
        let ended = loop {
            let shown = tokio::select! {
                biased;
                () = signals.next() => return self.leave(),
                _ = ticker.tick() => self.tick(),
                update = updates.recv() => match update {
                    Some(Ok(update)) => self.show(&update),
                    Some(Err(error)) => break Err(error),
                    None => break Ok(()),
                },
                reply = self.watched.typed() => self.reply(engine, reply).await?,
            };
            if let Err(error) = shown {
                // Nobody reads any more. The session does not need us.
                unless_nobody_reads(Err(error))?;
                return Ok(Exit::Completed);
            }
        };
        self.end(engine, ended).await
    }

    fn show(&mut self, update: &Update) -> std::io::Result<()> {
        if let Update::Event(event) = update {
            match (&event.kind, event.parent) {
                (EventKind::AgentSettled { report }, None) => self.report = Some(report.clone()),
                // It goes on after an end, too.
                (EventKind::SessionResumed { .. }, _) => self.report = None,
                _ => {}
            }
        }
        self.watched.show(&mut self.display, update)
    }

    /// Also says that the session rests. Here and not with the event: what is on record may have gone on since.
    fn tick(&mut self) -> std::io::Result<()> {
        let rests = self.watched.view.main().is_some_and(|main| main.state == AgentState::Resting);
        if std::mem::replace(&mut self.told_to_rest, rests) != rests && rests {
            let id = short(self.row.id);
            self.display.note(&format!("resting: posse tell {id} \"…\" says what to do next"))?;
        }
        self.display.tick(&self.watched.view)
    }

    async fn reply(&mut self, engine: &Engine, reply: TypedReply) -> anyhow::Result<std::io::Result<()>> {
        let given = match self.watched.read(&mut self.display, reply) {
            Ok(Some(given)) => given,
            Ok(None) => return Ok(Ok(())),
            Err(error) => return Ok(Err(error)),
        };
        let call =
            AnswerQuestion { agent: given.agent, call: given.call.clone(), answer: given.answer.clone() };
        let answered = self.handle.call(self.row.id, call).await;
        let answered = answered.map_err(|error| told(engine, &self.row, error))?;
        Ok(self.watched.sent(&mut self.display, given, answered.outcome))
    }

    /// The person leaves.
    fn leave(mut self) -> anyhow::Result<Exit> {
        let id = short(self.row.id);
        self.watched.ask_no_more();
        unless_nobody_reads(self.display.left(&format!(
            "left; the session {id} goes on: posse attach {id} follows it again, posse stop {id} ends it"
        )))?;
        Ok(Exit::Completed)
    }

    /// The session is over, or its process is gone.
    async fn end(mut self, engine: &Engine, ended: Result<(), CallError>) -> anyhow::Result<Exit> {
        self.watched.ask_no_more();
        // What was recorded and not heard of.
        let mut rest = engine.recorded(self.row.id, self.watched.view.seq);
        while let Some(update) = rest.next().await {
            unless_nobody_reads(self.show(&update))?;
        }
        if let Some(report) = self.report.take() {
            unless_nobody_reads(self.display.finish(self.row.id, &report, &self.watched.view))?;
            return Ok(Exit::from(&report.ending));
        }
        let id = short(self.row.id);
        let why = match ended {
            Err(error) if !is_gone(engine, self.row.id) => error.message,
            _ => format!("the process that ran the session is gone; posse resume {id} continues it"),
        };
        unless_nobody_reads(self.display.left(&output::visible(&why)))?;
        Ok(Exit::Failed)
    }
}

/// Reads updates on a task of its own, so that silence is noticed whatever else happens here.
fn read_ahead(mut following: Following) -> mpsc::Receiver<Result<Update, CallError>> {
    let (tell, updates) = mpsc::channel(UPDATES_AHEAD_MAX);
    tokio::spawn(async move {
        while let Some(update) = following.next().await.transpose() {
            let over = update.is_err();
            if tell.send(update).await.is_err() || over {
                return;
            }
        }
    });
    updates
}
