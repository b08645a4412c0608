//! `posse fork`: a new session that takes up the first turns of another's conversation, in the same folder.

use anyhow::bail;
use posse_engine::Engine;
use posse_setup::{Paths, SessionPlan};
use posse_view::SessionView;

use crate::args::ForkArgs;
use crate::background;
use crate::changes::{self, RewindAfter};
use crate::display::short;
use crate::exit::Exit;
use crate::follow::{Watching, follow};
use crate::output::one_line;
use crate::prompt;
use crate::recorded::view_of;
use crate::resume::{as_it_was, folder};
use crate::which_session::session_of;
use crate::work;

pub(crate) async fn run(paths: &Paths, args: ForkArgs) -> anyhow::Result<Exit> {
    if args.preview {
        let Some(turn) = args.turn else { bail!("name the turn whose files are meant: --turn N") };
        let how = RewindAfter { preview: true, protected: args.protected, aside: false };
        return changes::rewind_after(paths, &args.session, turn, how).await;
    }
    if args.work.background {
        return background::start(&args.work);
    }
    let task = prompt::read(&args.prompt, &args.work.images)?;
    let (row, view) = {
        let engine = Engine::open(&paths.data_dir)?;
        let row = session_of(&engine, &args.session)?;
        let view = view_of(&engine, &row).await?;
        (row, view)
    };
    let turns = view.main().map_or(0, |main| main.turn);
    let turn = args.turn.unwrap_or(turns);
    if turn == 0 || turn > turns {
        bail!("the session {} has {turns} turns, so it cannot be forked after turn {turn}", short(row.id));
    }
    let folder = folder(&row)?;
    let mut display = work::display(&args.work);
    let mut wishes = work::wishes(&args.work, &display);
    as_it_was(&mut wishes, &row, &view)?;
    wishes.no_tools = args.no_tools;
    let person = wishes.person;
    let plan = SessionPlan::read(paths, &folder, wishes)?;
    let (choice, note) = plan.choose_model_again(row.model.as_deref()).await?;
    task.must_fit(&choice.model)?;
    if args.files {
        let aside = args.work.in_background;
        let how = RewindAfter { preview: false, protected: args.protected, aside };
        changes::rewind_after(paths, &args.session, turn, how).await?;
    }
    let engine = Engine::open_with(&paths.data_dir, plan.config().durability())?;
    let engine = engine.running_at_most(plan.config().running_in_process());
    let (request, notice) = work::request(plan.terms(choice)?, &mut display, task, None)?;
    let session = engine.fork(row.id, Some(turn), request).await?;
    let from = format!("forked from {} after turn {turn}: {}", short(row.id), short(session.id));
    let files = (!args.files)
        .then(|| "the files are as they are now; --files brings back those of the turn".to_string());
    for note in [from].into_iter().chain(files).chain(note.map(|note| note.to_string())) {
        display.note(&one_line(&note, crate::limits::NOTE_COLUMNS_MAX))?;
    }
    let view = SessionView::default();
    let exit = if args.work.in_background {
        background::attend(paths, &engine, session, view, &args.work, notice).await?
    } else {
        let watching = Watching::new(view, person, args.work.leave_sub_agents);
        follow(&engine, session, display, watching, notice).await?
    };
    engine.leave();
    Ok(exit)
}
