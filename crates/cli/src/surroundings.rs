//! What the terminal program needs of its surroundings at every place where it writes: colours, and how paths are shown.
//! `main` sets it once, before anything is written.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context as _;
use posse_setup::Surroundings;

static SURROUNDINGS: OnceLock<Surroundings> = OnceLock::new();

/// Says what the surroundings are. The first call counts.
pub(crate) fn set(surroundings: Surroundings) {
    let _ = SURROUNDINGS.set(surroundings);
}

/// A path as people write it, in one line: the home folder as `~`.
pub(crate) fn shown(path: &Path) -> String {
    match SURROUNDINGS.get() {
        Some(surroundings) => surroundings.shown(path).to_string(),
        None => whole(path),
    }
}

/// A whole path in one line, whatever its bytes.
pub(crate) fn whole(path: &Path) -> String {
    posse_protocol::visible::name(path.as_os_str().as_encoded_bytes())
}

/// The current folder, links resolved.
pub(crate) fn real_folder() -> anyhow::Result<PathBuf> {
    let surroundings = SURROUNDINGS.get().context("the surroundings are not set")?;
    let folder = surroundings.folder().context("cannot open this folder")?;
    std::fs::canonicalize(folder).context("cannot open this folder")
}

/// NO_COLOR (any non-empty value) and TERM=dumb turn colours off.
pub(crate) fn colour_wanted() -> bool {
    let unwanted = SURROUNDINGS.get().and_then(|surroundings| surroundings.variable("NO_COLOR"));
    unwanted.is_none_or(|value| value.is_empty()) && can_draw()
}

/// Whether a terminal does more than print what it is sent. TERM=dumb says that it does not.
pub(crate) fn can_draw() -> bool {
    let terminal = SURROUNDINGS.get().and_then(|surroundings| surroundings.variable("TERM"));
    terminal.is_none_or(|terminal| terminal != "dumb")
}
