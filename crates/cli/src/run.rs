//! `posse run`: one task, from the prompt to the exit code.

use std::sync::Arc;

use anyhow::{Context as _, bail};
use posse_engine::Engine;
use posse_engine::models::Recorder;
use posse_setup::{Paths, PrepareError, choose};
use posse_view::SessionView;

use crate::args::RunArgs;
use crate::exit::Exit;
use crate::follow::{Watching, follow};
use crate::prompt;
use crate::surroundings::shown;
use crate::work::{Work, substitutions};

pub(crate) async fn run(paths: &Paths, args: RunArgs) -> anyhow::Result<Exit> {
    let folder = std::fs::canonicalize(&args.dir)
        .with_context(|| format!("cannot open the folder {}", shown(&args.dir)))?;
    let mut work = Work::new(paths, &folder, &args.work, args.no_agents)?;
    let prompt = prompt::read(&args.prompt)?;
    let named = work.named_model()?;
    let choice = choose(&work.config, paths.surroundings(), named.as_deref()).await;
    let choice = choice.map_err(PrepareError::from)?;
    prompt.must_fit(&choice.model)?;
    if let Some(path) = args.record.as_deref().filter(|path| path.exists()) {
        bail!("{} is already there; record to a new file, or remove it first", shown(path));
    }
    let engine = Engine::open_with(&paths.data_dir, work.config.durability())?;
    let recorder = match &args.record {
        Some(path) => Some(Arc::new(Recorder::create(path, substitutions(&folder))?)),
        None => None,
    };
    let request = work.request(choice, prompt.text, recorder.clone())?;
    let (notice, watching) =
        (work.notice(&request), Watching::new(SessionView::default(), work.person(), args.work.detach));
    let exit = follow(&engine, engine.start(request)?, work.display, watching, notice).await?;
    engine.leave();
    if let Some(failure) = recorder.and_then(|recorder| recorder.failure()) {
        bail!("the cassette is not complete: {failure}");
    }
    Ok(exit)
}
