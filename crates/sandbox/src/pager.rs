//! A program that the person chose to read long texts with, on their own terminal. It has the person's rights, as whatever they
//! start themselves; no agent can start it, and it is a [`Program`], never a name that a workspace could answer to.

#![allow(clippy::disallowed_types)] // this is the crate the ban points to

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Program;

/// Shows a text with a program and waits until the person has left it. `settings` are variables that it has beside the person's
/// own. It works in the top folder, so that nothing in a workspace counts for it.
pub fn page(
    program: &Program,
    arguments: &[String],
    settings: &[(&str, &str)],
    text: &str,
) -> io::Result<()> {
    let mut command = Command::new(program.path());
    command.args(arguments).envs(settings.iter().copied()).current_dir(Path::new("/")).stdin(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // Who leaves before the end has read enough.
        match stdin.write_all(text.as_bytes()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => return Err(error),
            _ => {}
        }
    }
    child.wait().map(drop)
}
