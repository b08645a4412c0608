//! Who commits, as the person has told git. The one call that reads the person's own configuration: reading it starts
//! nothing, and its answer is two lines of text.

use std::{path::Path, time::Duration};

use posse_sandbox::{Command, Exit};

use crate::limits;

/// The name and the address that git would use in a folder; none where the person has not set both.
pub async fn identity(folder: &Path) -> Option<(String, String)> {
    let words =
        ["git", "--no-pager", "config", "--includes", "--null", "--get-regexp", "^user\\.(name|email)$"];
    let command = Command::argv(words, folder, Duration::from_millis(limits::GIT_TIME_MS_MAX));
    let finished = posse_sandbox::run(command).await.ok()?;
    if finished.exit != Exit::Code(0) || !finished.output.complete() {
        return None;
    }
    let said = String::from_utf8(finished.output.bytes()).ok()?;
    // Later entries win, as for git.
    let last = |key: &str| {
        let mut values = said.rsplit('\0').filter_map(|entry| entry.split_once('\n'));
        values.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
    };
    Some((last("user.name")?, last("user.email")?))
}
