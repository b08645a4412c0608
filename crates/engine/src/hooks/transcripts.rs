//! The conversation in a file, for hooks that want to read it. It is written when one is about to hear of the end of a turn.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use posse_hooks::transcript_line;
use posse_protocol::Message;

use crate::limits::HOOK_TRANSCRIPT_BYTES_MAX;

/// Writes a conversation to a file that only the person can read. What is too long loses its beginning.
pub(super) fn write(
    file: &Path,
    messages: &[Arc<Message>],
    session: &str,
    folder: &str,
) -> std::io::Result<()> {
    if let Some(parent) = file.parent() {
        std::fs::create_dir_all(parent)?;
    }
    let lines = messages.iter().rev().map(|message| transcript_line(message, session, folder).to_string());
    let (mut kept, mut bytes) = (Vec::new(), 0);
    for line in lines {
        bytes += line.len() + 1;
        if bytes > HOOK_TRANSCRIPT_BYTES_MAX {
            break;
        }
        kept.push(line);
    }
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut out = std::io::BufWriter::new(options.open(file)?);
    for line in kept.iter().rev() {
        writeln!(out, "{line}")?;
    }
    out.flush()
}

/// Where the conversation of an agent is written.
pub(super) fn file(folder: &Path, session: &str, agent: Option<&str>) -> PathBuf {
    match agent {
        Some(agent) => folder.join(format!("{session}-{agent}.jsonl")),
        None => folder.join(format!("{session}.jsonl")),
    }
}

/// Removes one.
pub(super) fn remove(file: &Path) {
    let _ = std::fs::remove_file(file);
}
