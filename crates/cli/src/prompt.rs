//! What the person wants, from the command line and from standard input.

use std::io::{self, Read as _};
use std::path::PathBuf;
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context as _, bail};
use posse_setup::TaskPrompt;

use crate::limits::{PIPED_WAIT_MS, PROMPT_BYTES_MAX};
use crate::output::{self, grouped};

/// The prompt from the command line, with what is piped in behind it; or from standard input alone. Files go with it.
pub(crate) fn read(words: &[String], files: &[PathBuf]) -> anyhow::Result<TaskPrompt> {
    let from_stdin = words.is_empty() || words == ["-"];
    let (text, attached_bytes) = if from_stdin {
        if output::stdin_is_terminal() {
            bail!("say what to do: posse run \"fix the failing test\"");
        }
        let text = piped()?.recv()??;
        let bytes = text.len();
        (text, bytes)
    } else {
        let prompt = words.join(" ");
        match beside_the_prompt()? {
            Some(text) => (format!("{prompt}\n\n{text}"), text.len()),
            None => (prompt, 0),
        }
    };
    if text.trim().is_empty() {
        bail!("the prompt is empty; say what to do: posse run \"fix the failing test\"");
    }
    let mut task = TaskPrompt { text, attached_bytes, attachments: Vec::new() };
    for file in files {
        task.attach(file)?;
    }
    Ok(task)
}

/// What is piped in beside a prompt. A pipe that stays open and silent is left alone: whoever started posse may not
/// have thought of it.
fn beside_the_prompt() -> anyhow::Result<Option<String>> {
    if output::stdin_is_terminal() {
        return Ok(None);
    }
    match piped()?.recv_timeout(Duration::from_millis(PIPED_WAIT_MS)) {
        Ok(text) => Ok(Some(text?).filter(|text| !text.trim().is_empty())),
        Err(_) => {
            let note = "posse: standard input did not end within a second and is left out; close it (< /dev/null) or pipe into `posse run -`\n";
            output::print_aside(note)?;
            Ok(None)
        }
    }
}

/// Reads standard input on a thread of its own.
fn piped() -> anyhow::Result<mpsc::Receiver<anyhow::Result<String>>> {
    let (told, text) = mpsc::channel();
    std::thread::Builder::new().spawn(move || {
        let read = || {
            let mut bytes = Vec::new();
            io::stdin().lock().take(PROMPT_BYTES_MAX + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > PROMPT_BYTES_MAX {
                bail!(
                    "the piped text is longer than {} bytes; cut it, or put it in a file and let the agent read it",
                    grouped(PROMPT_BYTES_MAX)
                );
            }
            String::from_utf8(bytes).context("the prompt is not UTF-8 text")
        };
        let _ = told.send(read());
    })?;
    Ok(text)
}
