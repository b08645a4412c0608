//! Logs, for finding defects: off unless POSSE_LOG says which, and always to a file, never to the screen.

use std::sync::Mutex;

use anyhow::Context as _;
use posse_engine::record::prepare_data_dir;
use posse_setup::{Paths, append_private};
use tracing_subscriber::EnvFilter;

use crate::surroundings::shown;

/// Starts logging to `posse.log` in the data directory if POSSE_LOG is set, say to `posse_model=debug`.
pub(crate) fn start(paths: &Paths) -> anyhow::Result<()> {
    let wanted = paths.surroundings().text("POSSE_LOG");
    let Some(filter) = wanted.filter(|filter| !filter.is_empty()) else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(filter).with_context(|| format!("POSSE_LOG={filter} cannot be read"))?;
    let path = paths.data_dir.join("posse.log");
    prepare_data_dir(&paths.data_dir)?;
    let file = append_private(&path).with_context(|| format!("cannot write {}", shown(&path)))?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(Mutex::new(file)).with_ansi(false).init();
    Ok(())
}
