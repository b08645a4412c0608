//! `posse run`: one task, from the prompt to the exit code.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use posse_engine::Engine;
use posse_model::Recorder;
use posse_setup::{Paths, SessionPlan, substitutions};
use posse_view::SessionView;

use crate::args::RunArgs;
use crate::background;
use crate::exit::Exit;
use crate::follow::{Watching, follow};
use crate::prompt;
use crate::surroundings::shown;
use crate::work;

pub(crate) async fn run(paths: &Paths, args: RunArgs) -> anyhow::Result<Exit> {
    if args.work.background {
        return background::start(&args.work);
    }
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    let mut display = work::display(&args.work);
    let mut wishes = work::wishes(&args.work, &display);
    wishes.alone = args.no_agents;
    let person = wishes.person;
    let plan = SessionPlan::read(paths, &folder, wishes)?;
    let task = prompt::read(&args.prompt, &args.work.images)?;
    let choice = plan.choose_model().await?;
    task.must_fit(&choice.model)?;
    if let Some(path) = args.record.as_deref().filter(|path| path.exists()) {
        bail!("{} is already there; record to a new file, or remove it first", shown(path));
    }
    let engine = Engine::open_with(&paths.data_dir, plan.config().durability())?;
    let engine = engine.running_at_most(plan.config().running_in_process());
    let recorder = match &args.record {
        Some(path) => Some(Arc::new(Recorder::create(path, substitutions(&folder))?)),
        None => None,
    };
    let terms = plan.terms(choice)?;
    let (request, notice) = work::request(terms, &mut display, task, recorder.as_ref())?;
    let session = engine.start(request)?;
    let exit = if args.work.in_background {
        background::attend(paths, &engine, session, SessionView::default(), &args.work, notice).await?
    } else {
        let watching = Watching::new(SessionView::default(), person, args.work.leave_sub_agents);
        follow(&engine, session, display, watching, notice).await?
    };
    engine.leave();
    if let Some(failure) = recorder.and_then(|recorder| recorder.failure()) {
        bail!("the cassette is not complete: {failure}");
    }
    Ok(exit)
}
