//! Long texts go through the person's pager, where somebody reads them on a terminal.

use std::path::Path;

use posse_sandbox::page;
use posse_setup::{Paths, PersonPager};

use crate::output::{self, Style, guarded};

/// Prints a text about a folder: page by page where it is longer than the terminal.
pub(crate) fn print(paths: &Paths, folder: &Path, text: &str) -> anyhow::Result<()> {
    let rows = output::prose_width().and_then(|_| output::stdout_rows());
    let Some(pager) =
        rows.filter(|rows| text.lines().count() >= *rows).and_then(|_| PersonPager::of(paths, folder))
    else {
        return Ok(output::print(text)?);
    };
    // Ctrl-C is for the pager.
    #[cfg(unix)]
    let _ours = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?;
    let text = guarded(text, Style::for_stdout().has_colours());
    match page(&pager.program, &pager.arguments, &pager.settings, &text) {
        Ok(()) => Ok(()),
        // What cannot be started shows nothing.
        Err(_) => Ok(output::print(&text)?),
    }
}
