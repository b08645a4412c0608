//! Events as lines of JSON. Progress is left out: the events hold all of it.

use std::io;

use posse_protocol::Update;

use crate::output;

pub(super) fn update(update: &Update) -> io::Result<()> {
    match update {
        Update::Event(event) => output::print(&output::event_json(event)?),
        Update::Progress(_) => Ok(()),
    }
}
