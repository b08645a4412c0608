//! Writes a bundle of one commit, without what the other side has.

use std::{io::Write as _, path::Path};

use super::{head::BundleHead, scratch::Scratch};
use crate::{WorkspaceError, git::plain, limits, repository::Repository, shadow::failed};

/// Writes a bundle of `tip` to a file that is there only once it is whole, and says how long it is. What is reachable from
/// the commits of `known`, all of which this repository has, is left out; if that is all, nothing is written and the length
/// is 0.
pub(super) async fn write(
    repository: &Repository,
    tip: &str,
    known: &[String],
    to: &Path,
) -> Result<u64, WorkspaceError> {
    if known.iter().any(|commit| commit == tip) {
        return Ok(0);
    }
    let without: String = known.iter().map(|commit| format!("^{commit}\n")).collect();
    let revisions = format!("{tip}\n{without}").into_bytes();
    let (scratch, mut file) = Scratch::beside(to)?;
    file.write_all(BundleHead::text(repository.format, known, tip).as_bytes()).map_err(failed)?;
    let words = ["pack-objects", "--revs", "--stdout", "--delta-base-offset", "-q"];
    let (more, compression): (&[&str], u64) = match known.is_empty() {
        // What is alike in packs is known already. To look for more takes minutes where much was never packed.
        true => (&["--window=0"], 1),
        // The second has git consider the files of all these commits as known, not only those that history leads to.
        false => (&["--thin", "--shallow"], 6),
    };
    let setting = |name: &str, value: u64| (name.to_owned(), value.to_string());
    let settings = [
        setting("pack.windowMemory", limits::BUNDLE_WINDOW_BYTES),
        setting("pack.threads", 2),
        setting("pack.compression", compression),
    ];
    let git = repository.git().large().settings(&settings).time_ms_max(limits::BUNDLE_TIME_MS_MAX);
    let bytes = git.flow_into(&[&words, more].concat(), revisions, file).await?;
    let mut written =
        plain::open_file(scratch.path()).ok_or_else(|| failed(std::io::ErrorKind::NotFound.into()))?;
    if BundleHead::read(&mut written)?.objects == 0 {
        return Ok(0);
    }
    scratch.rename(to)?;
    Ok(bytes)
}
