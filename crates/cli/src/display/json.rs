//! Events as lines of JSON, in the format of the record. Progress is left out: the events hold all of it.

use std::io;

use posse_protocol::{Event, Update};

use crate::output;

pub(super) fn update(update: &Update) -> io::Result<()> {
    match update {
        Update::Event(event) => output::print(&line(event)?),
        Update::Progress(_) => Ok(()),
    }
}

fn line(event: &Event) -> io::Result<String> {
    let mut line = serde_json::to_string(event)?;
    line.push('\n');
    Ok(line)
}
